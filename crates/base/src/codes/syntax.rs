//! `E01xx, W01xx`: what the lexer and the parsers refuse.

codes! {
    UNEXPECTED = "E0101", "something else was expected here", "
The text does not follow the language's grammar at this place. The message says what could stand here and what was
found; where a word or symbol of another language was found, it also says how Almach writes it.

Erroneous:

    def f x = x +

Write instead:

    def f x = x + 1
";
    UNKNOWN_CHARACTER = "E0102", "a character is not part of the language", "
Outside comments and strings, programs are written in ASCII: letters, digits, `_`, `'`, and the operators and brackets
of the language.

Erroneous:

    def f x y = x × y

Write instead:

    def f x y = x * y
";
    UNTERMINATED_COMMENT = "E0103", "a comment never ends", "
A comment that starts with `{-` ends with `-}`. Such comments nest, so that a piece of program that contains comments can be
put inside one; every `{-` inside needs its own `-}`.

Erroneous:

    {- a note
    def f x = x

Write instead:

    {- a note -}
    def f x = x
";
    UNTERMINATED_STRING = "E0104", "a string never ends", "
A string ends with `\"` on the line on which it starts. A line break inside a string is written `\\n`, a quote `\\\"`.

Erroneous:

    def greeting = \"hello

Write instead:

    def greeting = \"hello\"
";
    BAD_NUMBER = "E0105", "a number is not well formed", "
Numbers are written `12`, `1_000`, `0xff`, `0b101`, `0o17`, `0.5`, `1e-7`, with an optional suffix that gives their type: `i8 i16
i32 i64 u8 u16 u32 u64 f32 f64`. A float has digits on both sides of its point.

Erroneous:

    def n = 12i65

Write instead:

    def n = 12i64
";
    INTEGER_TOO_LARGE = "E0106", "an integer is out of range for every type", "
The largest integer type is `u64`, up to 18446744073709551615. Larger numbers can only be floats.

Erroneous:

    def n = 1000000000000000000000000000000000000000

Write instead:

    def n = 1e39
";
    BAD_ESCAPE = "E0107", "an escape in a string is not known", "
In strings and characters a backslash starts an escape: `\\n` (line break), `\\t`, `\\r`, `\\0`, `\\\\`, `\\\"`, `\\'`, `\\x7f` (a byte), `\\u{1f600}` (a
character by number). A backslash itself is written `\\\\`. Messages, labels and paths must be valid UTF-8.

Erroneous:

    def path = \"a\\b\"

Write instead:

    def path = \"a\\\\b\"
";
    BAD_CHARACTER = "E0108", "a character does not fit in one byte", "
A character literal is one byte, of type `u8`: an ASCII character or an escape. Longer text is a string, which is an array
of bytes.

Erroneous:

    def c = 'é'

Write instead:

    def c = \"é\"
";
    UNCLOSED_BRACKET = "E0109", "a bracket is never closed", "
A bracket was opened and the definition, or an outer bracket, ends before it is closed. The message shows where it was
opened and where the closing one was missed first.

Erroneous:

    def f x = (x + 1

Write instead:

    def f x = (x + 1)
";
    STRAY_BRACKET = "E0110", "a closing bracket closes nothing", "
There is a closing bracket without an opening one.

Erroneous:

    def f x = x + 1)

Write instead:

    def f x = (x + 1)
";
    NESTING_TOO_DEEP = "E0111", "the program is nested too deeply", "
Expressions, types and patterns may be nested 5,000 levels deep. A chain of operators counts one level per operator; a
chain of `let`s, the elements of an array or tuple and the arguments of a call do not add levels. Programs that come near
the limit are usually generated: let the generator name inner parts with `let`, or build an array and reduce it.
";
    MISSING_IN = "E0112", "a `let` has no `in`", "
`let x = e` is followed by `in` and the expression that uses `x`, or by another `let`. A chain of `let`s ends with one `in`.

Erroneous:

    def f x =
      let y = x + 1
      y * y

Write instead:

    def f x =
      let y = x + 1
      in y * y
";
    EQUALS_IN_CONDITION = "E0113", "`=` stands in a condition", "
`=` binds a name to a value. Two values are compared with `==`.

Erroneous:

    def is_zero x = if x = 0 then true else false

Write instead:

    def is_zero x = if x == 0 then true else false
";
    CHAINED = "E0114", "operators that do not chain are chained", "
Comparisons and ranges do not chain, and `|>` does not mix with `<|`: what such a chain means is not clear. Compare in pairs or
add parentheses.

Erroneous:

    def inside x = 0 < x < 10

Write instead:

    def inside x = 0 < x && x < 10
";
    UNCLEAR_SECTION = "E0115", "an operator section has an unclear operand", "
In a section such as `(2 *)` or `(+ 1)` the operand must bind at least as tightly as the section's operator, so that it is
clear what the section means.

Erroneous:

    def f = map (* 1 + 2)

Write instead:

    def f = map (* (1 + 2))
";
    BAD_ANNOTATION = "E0116", "an annotation is not known", "
Behind an operation's name may stand one level, `@seq @vec @par @grid @group @local`, one chunk, as in `scan@par@4096`, and one effect, `@S @D @E`. The
levels `@grid`, `@group` and `@local` have dimensions 0, 1 and 2, as in `map@grid.1`.

Erroneous:

    def f xs = map@parallel (+ 1) xs

Write instead:

    def f xs = map@par (+ 1) xs
";
    RESERVED_NAME = "E0117", "a name is another spelling of an annotated operation", "
`mapSeq mapVec mapPar mapGlobal mapWorkgroup mapLocal reducePar scanSeq` are the papers' spellings of `map@seq`, `reduce@par` and so on,
wherever they stand. Nothing else can have these names.

Erroneous:

    def mapPar f xs = map f xs

Write instead:

    def parallel_map f xs = map f xs
";
    OTHER_LANGUAGE = "E0118", "a word of another language", "
This word means something in another language; Almach writes it differently. Definitions at the top of a file start with
`def` (or `entry`), function values are written `\\x -> e`.

Erroneous:

    fun f x = x + 1

Write instead:

    def f x = x + 1
";
    FILE_TOO_LARGE = "E0119", "a file is too large", "
Source files may have up to 4 GiB. Large data belongs in a file that the program is given as an argument.
";

    NOVA_FORM = "E0170", "a form of NOVA is not well formed", "
A form of a `.nova` file does not have the parts that it should have, or they do not stand in this order. The forms are those
of the NOVA paper's Figure 3; docs/nova.md lists them all.

Erroneous:

    ((n : int))
    (if (< n 2) then 1)

Write instead:

    ((n : int))
    (if (< n 2) then 1 else n)
";
    NOVA_TYPE = "E0171", "a type of NOVA is not well formed", "
Types are `int`, `float` and the other basic ones, `unit`, tuples `(int, float)`, vectors `vector t` and `vector#2 t`, type variables
`'a`, functions `t -> u`, and names of the `types` section, with their arguments in brackets: `(List int)`. A sum has its name
there too.

Erroneous:

    ((x : (+ (A : int) (B : unit))))
    x

Write instead:

    ((x : T))
    (types (T : (+ (A : int) (B : unit))))
    (case x (A n n) (B u 0))
";
    NOVA_SECTION = "E0172", "a section of a NOVA program is missing or out of place", "
A program of NOVA is a list of its inputs with their types, a section `types` and a section `foreign` where it needs them, and
one expression.

Erroneous:

    ((x : int))
    (types (Size : int))

Write instead:

    ((x : int))
    (types (Size : int))
    (+ x 1)
";
    NOVA_NAME = "E0173", "a name is not one that NOVA allows here", "
A name starts with a letter or `_`, goes on with letters, digits and `_`, and is none of NOVA's own words. The names of types and
constructors start with a capital letter, because values are written and printed in Almach's syntax outside of the program.

Erroneous:

    ((x : int))
    (let (case x) in 1)

Write instead:

    ((x : int))
    (let (it x) in it)
";
    NOVA_CONSTRUCTOR = "E0174", "a constructor is not used as NOVA wants it", "
A constructor is declared in the `types` section and takes one value; several are one tuple. A constructor of `unit` may stand
alone or take `nil`.

Erroneous:

    ((x : int))
    (types (IntList : (+ (Nil : unit) (Cons : (int, IntList)))))
    (Cons x Nil)

Write instead:

    ((x : int))
    (types (IntList : (+ (Nil : unit) (Cons : (int, IntList)))))
    (Cons (x, Nil))
";
    NOVA_MU = "E0175", "a recursive function is not a `mu` of a `lambda`", "
`(mu (f : t) e)` is `e`, in which `f` means the same again. NOVA wants `e` to be a `lambda`, so that it is known which
function `f` is, with no more parameters than its type says.

Erroneous:

    ((n : int))
    (mu (f : int -> int) (+ 1))

Write instead:

    ((n : int))
    ((mu (f : int -> int) (lambda (n : int) : int (if (< n 1) then 0 else (f (- n 1))))) n)
";
    IR_TEXT = "E0190", "the text of an intermediate stage cannot be read", "
Programs can be printed at any stage of the compiler (`almach emit --stage core`), edited, and read back. The text that
was to be read does not follow the syntax of its stage at the place shown.

Erroneous:

    fun f (x: i32): i32 =
      let y: i32 = x +
      in y

Write instead:

    fun f (x: i32): i32 =
      let y: i32 = x + 1i32
      in y

Printing the program again with `almach emit` shows the syntax that is expected.
";
}
