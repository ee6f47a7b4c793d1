//! `E06xx, W06xx`: what cannot be made concrete (monomorphic, first-order) during elaboration.

codes! {
    ENDLESS_SPECIALISATION = "E0601", "a definition needs endlessly many versions", "
A definition becomes one function per combination of types and functions it is used with: generated code has neither
type variables nor functions as values. A recursive definition that calls itself at a new type, or with a new function
wrapped around the old one, would need a version of its own for every depth of the recursion.

Erroneous:

    def rec depth (n: i64) (x: 'a): i64 = if n == 0 then 0 else 1 + depth (n - 1) (x, x)

    def rec count (n: i64) (f: i64 -> i64): i64 = if n == 0 then f 0 else count (n - 1) (\\x -> f (x + 1))

Write instead the recursion over values: a `data` type where the types grow, numbers where the functions do.

    def rec count (n: i64) (steps: i64): i64 = if n == 0 then steps else count (n - 1) (steps + 1)
";
    FUNCTION_FROM_RECURSION = "E0602", "a recursive definition gives functions inside a tuple or record", "
Which code runs must be known when the program is compiled. A recursive definition whose result is a function is
fine: it waits for the function's arguments as well. Functions inside a tuple or record that a recursion gives would
have to be kept apart for every depth.

Erroneous:

    def rec both (n: i64): (i64 -> i64, i64 -> i64) =
      if n == 0 then (\\x -> x, \\x -> x) else let (f, g) = both (n - 1) in (\\x -> f x + 1, \\x -> g x - 1)

Write instead two definitions, each with the functions' arguments as parameters:

    def rec up (n: i64) (x: i64): i64 = if n == 0 then x else up (n - 1) x + 1
    def rec down (n: i64) (x: i64): i64 = if n == 0 then x else down (n - 1) x - 1
";
    FUNCTION_IN_LOOP = "E0603", "a loop makes a new function in every iteration", "
A loop may carry functions in its state, exchange them for others, and what they captured may change. But there must be
finitely many: a function wrapped around the one of the iteration before would grow while the program runs.

Erroneous:

    def f (n: i64): i64 =
      let g = loop (g = \\x -> x) for i < n do \\x -> g (x + 1) in g 0

Write instead a state of values:

    def f (n: i64): i64 = loop (x = 0) for i < n do x + 1
";
    LITERAL_OUT_OF_RANGE = "E0604", "a literal does not fit the type a definition is used at", "
A definition without types works at every number type, and a literal in it has the type it is used at. Here that type
is too small for the literal.

Erroneous:

    def scale x = x * 1000
    entry main (x: i8): i8 = scale x

Write instead a conversion to a type that is large enough, or the types of the definition:

    def scale (x: i32): i32 = x * 1000
    entry main (x: i8): i32 = scale (i32 x)
";
    ENDLESS_DATA = "E0605", "a data type contains itself at ever larger types", "
A data type becomes one type of the generated code per combination of arguments it is used at. One whose fields mention it
at larger arguments than its own would need endlessly many.

Erroneous:

    data Nest 'a = Nil | More 'a (Nest ('a, 'a))

Write instead the same arguments on both sides, and what grows as a value:

    data Tree 'a = Leaf 'a | Pair (Tree 'a) (Tree 'a)
    data Nest 'a = Nil | More (Tree 'a) (Nest 'a)
";
    FOREIGN_NAME = "E0606", "a foreign function has a name that C cannot use", "
A foreign function is called by its name in C, which must be an identifier of C that neither the language, nor its standard library,
nor the generated code gives another meaning.

Erroneous:

    foreign exp : f64 -> f64

Write instead a function with a name of its own, that calls the other one:

    foreign my_exp : f64 -> f64
";
    UPDATE_COPIES = "E0607", "an update that must be in place would copy", "
`a with! [i] = e` promises to write into the memory of `a`. That is not possible where the old value is needed afterwards, where
the memory is the caller's, or where all iterations of a parallel operation share it. The note says which, and `almach explain`
says the same of `with`, which copies where it must.

Erroneous:

    entry main (n: i64): ([]i64, i64) =
      let a = scan (+) 0 (iota n)
      let b = a with! [0] = 7
      in (b, a[0])

Write instead what needs the old value before the update:

    entry main (n: i64): ([]i64, i64) =
      let a = scan (+) 0 (iota n)
      let first = a[0]
      in (a with! [0] = 7, first)
";
    NOT_COMPILED_YET = "E0690", "a construct is not yet compiled", "
The compiled back ends (C, OpenMP) do not translate everything yet. The interpreter runs every program, so use
`--backend interp`; `almach run` does so by itself and says it did.
";
}
