//! `E08xx`: errors of a running program.

codes! {
    INDEX_OUT_OF_BOUNDS = "E0801", "an index is out of bounds", "
Every index of an array of size `n` is at least 0 and less than `n`. There are no negative indices.

Fails when it runs:

    entry main (xs: []f32): f32 = xs[length xs]

Write instead:

    entry main (xs: []f32): f32 = xs[length xs - 1]
";
    DIVISION_BY_ZERO = "E0802", "an integer is divided by zero", "
`/` and `%` on integers need a divisor that is not zero. (On floats the result is infinite or not a number, as IEEE 754
says.)

Fails when it runs:

    entry main (x: i32): i32 = 10 / (x - x)

Test the divisor first:

    entry main (x: i32): i32 = if x == 0 then 0 else 10 / x
";
    NEGATIVE_SHIFT = "E0803", "a shift count is negative", "
Shifting by the width of the type or more is defined (the result is 0, or all sign bits), but a negative count is an
error: it most likely means that the other direction was wanted.
";
    NEGATIVE_EXPONENT = "E0804", "an integer is raised to a negative power", "
`**` on integers needs an exponent that is not negative. Convert to a float first where a fraction is wanted.
";
    SIZE_MISMATCH = "E0805", "sizes that must be equal are not", "
A size that the types could not prove was checked when the program ran, and was another: at `:>`, where an entry was
called with arrays whose sizes must agree, or where an operation needs two arrays of one size.
";
    NEGATIVE_SIZE = "E0806", "a size is negative", "
`iota`, `replicate`, `take` and other operations that make an array of a given size need one that is not negative.
";
    NOT_DIVISIBLE = "E0807", "a size is not divisible", "
`split m` and `asVector m` need an array whose size is a multiple of `m`.
";
    SLICE_OUT_OF_BOUNDS = "E0808", "a slice reaches outside its array", "
Every element of a slice `a[b:e:s]` must be an element of `a`; `take` and `drop` likewise. An empty slice is fine.
";
    SCATTER_CONFLICT = "E0809", "two different values are written to one place", "
`scatter` writes to every cell at most once, unless the values are equal: otherwise the result would depend on who is
last. Use `reduce_by_index` to combine values that go to one place.
";
    NOT_A_PERMUTATION = "E0810", "indices are not a permutation", "
`permute is xs` needs every index from 0 to the size of `xs` exactly once. Use `scatter` or `gather` otherwise.
";
    ASSERTION_FAILED = "E0811", "an assertion does not hold", "
The condition of an `assert` (in the program or in the prelude) was false; its text says what was expected.
";
    OUT_OF_MEMORY = "E0812", "there is not enough memory", "
An array of the size that the program asked for could not be allocated.
";
    RECURSION_TOO_DEEP = "E0813", "a recursion is too deep", "
Recursion is limited to a depth of ten million calls, and to two gigabytes of memory for them, unless the setting says
otherwise. A function that calls itself as its last action runs as a loop and has no such limit.
";
    EMPTY_ARRAY = "E0814", "an array is empty where an element is needed", "
`pad_edge` repeats the first and the last element, so it needs at least one.
";
    BAD_REFERENCE = "E0815", "a reference is to no node", "
`build n root f` makes nodes `0` to `n - 1`; the root and every reference in them must be one of these.
";
    BAD_OFFSETS = "E0816", "offsets do not describe rows", "
`unflatten offsets xs` needs offsets that start at 0, never decrease, and end at the size of `xs`.
";
    FOREIGN_FAILED = "E0817", "a foreign function cannot be called", "
The program calls a C function (`foreign`) that could not be found or loaded. Give the file or library that defines it with
`--link`.
";
    FOREIGN_RESULT = "E0818", "a foreign function gave a result that is none", "
A C function (`foreign`) that gives an array writes its size, which is not negative, and a pointer to memory from `malloc`, which is
not NULL where there are elements.
";
    DEVICE_FAILED = "E0819", "the device cannot run the program", "
The program was compiled for a device (`--backend opencl` or `cuda`) that is not there, or that failed: the message says what it said.
Choose another one with `--device` (its number, or a part of its name), or run the program on the CPU (`--backend openmp`).
";
}
