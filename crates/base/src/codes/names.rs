//! `E02xx, W02xx`: names, imports and modules.

codes! {
    UNKNOWN_NAME = "E0201", "an unknown name", "
The name is neither bound around this place, nor defined in this file, an import or the prelude, nor built in. The
message offers the nearest name where one is near.

Erroneous:

    def mean [n] (xs: [n]f64): f64 = summ xs / f64 n

Write instead:

    def mean [n] (xs: [n]f64): f64 = sum xs / f64 n
";
    UNKNOWN_TYPE = "E0202", "an unknown type", "
No data type, type alias or scalar type has this name. Type variables start with a quote: `'a`.

Erroneous:

    def f (x: Float): Float = x

Write instead:

    def f (x: f32): f32 = x
";
    DUPLICATE_DEFINITION = "E0203", "a name is declared twice in one file", "
All top-level definitions of a file see each other, so each name can have one meaning only. The same holds for types and
for constructors, also those of different types.

Erroneous:

    def area r = r * r
    def area w h = w * h

Rename one of them.
";
    AMBIGUOUS_NAME = "E0204", "a name comes from several imports", "
Two files imported without `as` define the name. Definitions of the file itself hide imported ones, and imported ones hide
the prelude's, but between imports there is no order. With two files that both define `dot`:

    import \"vec2\"
    import \"vec3\"
    def f a b = dot a b

one of them needs a name:

    import \"vec2\"
    import \"vec3\" as V
    def f a b = V.dot a b
";
    IMPORT_CYCLE = "E0205", "files import each other in a circle", "
A file's imports are checked before the file itself, so the imports of a program cannot go round in a circle. The message
shows the way round.

Move the definitions that both files need into a third file, and import that from both.
";
    RECURSION_WITHOUT_REC = "E0206", "a recursive definition without `rec`", "
A definition that uses itself, directly or through others, says so with `rec`. Each definition of a mutually recursive
group says it.

Erroneous:

    def fact (n: i64): i64 = if n == 0 then 1 else n * fact (n - 1)

Write instead:

    def rec fact (n: i64): i64 = if n == 0 then 1 else n * fact (n - 1)
";
    UNKNOWN_MODULE = "E0207", "a name is qualified by no import", "
`M.name` is a name of the file imported as `M`.

    import \"lib/vec3\"
    def f a b = V.dot a b

is mended by

    import \"lib/vec3\" as V
    def f a b = V.dot a b
";
    UNKNOWN_CONSTRUCTOR = "E0208", "an unknown constructor", "
Names that start with a capital letter are constructors of data types (or imports, before a point). No data type in sight
has a constructor of this name.

Erroneous:

    def f m = case m of | Just x -> x | None -> 0

Write instead:

    def f m = case m of | Some x -> x | None -> 0
";
    DUPLICATE_BINDING = "E0209", "a name is bound twice in one place", "
The parameters of one function, or the parts of one pattern, must have different names.

Erroneous:

    def f (x, x) = x

Use another name, or `_` for a part that is not needed.
";
    ALIAS_CYCLE = "E0210", "a type alias means itself", "
`type` gives another name to a type; expanding this one never ends.

Erroneous:

    type Tree = (i32, Tree)

A type that contains itself is declared with `data`:

    data Tree = Leaf | Node i32 Tree
";
    UNKNOWN_SIZE = "E0211", "an unknown size", "
A name between the brackets of an array type is a size bound by `[n]` before the parameters, an `i64` variable in scope,
or an `i64` constant.

Erroneous:

    def f (xs: [n]f32): [n]f32 = map (+ 1) xs

Write instead:

    def f [n] (xs: [n]f32): [n]f32 = map (+ 1) xs
";
}
