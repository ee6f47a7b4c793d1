//! `E04xx, W04xx`: sizes of arrays.

codes! {
    SIZE_MISMATCH = "E0401", "two sizes are not known to be equal", "
`map` over two arrays, `zip` and others need arrays of one size, and an annotation `[n]t` says a size. Here the two sizes are
different, or cannot be proved equal. The message names both and where each came from.

Erroneous:

    def add [n] [m] (xs: [n]f32) (ys: [m]f32) = map (+) xs ys

Say that they are equal, if they always are, by giving them one name; or check it at run time:

    def add [n] [m] (xs: [n]f32) (ys: [m]f32) = map (+) xs (ys :> [n]f32)
";
    UNSOLVED_SIZE = "E0402", "not enough is known about a size", "
At the end of the definition an equation between sizes is left that nothing decides: a size variable is found where it stands
alone or with known terms added, or as `n*m = k` with `m` known.

Write the sizes in a type annotation, or check them at run time with `:>`.
";
    SIZE_NOT_I64 = "E0403", "a size that is not an i64", "
Sizes are `i64` values. Variables of other types cannot be used between the brackets of an array type.

Erroneous:

    def f (n: i32): [n]i32 = replicate (i64 n) 0

Write instead:

    def f (n: i64): [n]i32 = replicate n 0
";
    SIZE_OF_NOTHING = "E0404", "a listed size that no parameter has", "
`[n]` before the parameters binds the size of a parameter. Where no parameter has it, nobody could tell its value.

Erroneous:

    def zeros [n] (x: f32): [n]f32 = replicate n x

Write instead:

    def zeros (n: i64) (x: f32): [n]f32 = replicate n x
";
    JAGGED_MISMATCH = "E0405", "rows of one size and rows of their own sizes", "
`[n][m]t` is a regular array, `[n][?]t` a jagged one, and a size variable never stands for `?`. A regular array becomes jagged by
itself where a jagged one is expected; elsewhere write `jagged xs`. The other way is `:>`, checked at run time.

Erroneous:

    def f [n] (xss: [n][?]i32) = transpose xss

Write instead:

    def f [n] (m: i64) (xss: [n][?]i32) = transpose (xss :> [n][m]i32)
";
    PARAMETER_ORDER = "E0406", "a size that a later parameter holds", "
The type of a parameter may mention `i64` parameters that stand before it, not after it.

Erroneous:

    def f (xs: []f32) (n: i64) = map (+) xs (replicate n 1)

Write instead:

    def f (n: i64) (xs: [n]f32) = map (+) xs (replicate n 1)
";
    SIZE_ESCAPES = "E0407", "a size is not known outside of where it is bound", "
The size of an array made inside a function, a loop or a branch has no name outside of it, so values from outside cannot have
that size. In the function below `x` would have to have a size that depends on `n`.

Erroneous:

    def f c x ns = map (\\n -> if c then x else iota n) ns

Say that the size is not known:

    def f c (x: [?]i64) ns = map (\\n -> if c then x else iota n) ns
";
    SIZE_BY_ZERO = "E0408", "a size is divided by zero", "
`/` on sizes rounds down and needs a divisor that is not zero.

Erroneous:

    def f [n] (xs: [n]f32): [n/0]f32 = xs
";
}
