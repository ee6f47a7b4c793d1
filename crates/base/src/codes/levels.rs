//! `E07xx, W07xx`: levels, effects and other annotations.

codes! {
    NOT_ANNOTATABLE = "E0701", "an annotation where it has no meaning", "
Levels (`@seq`, `@par`, …) and effects (`@S`, `@D`, `@E`) are written on primitive operations, and not all of them take both: a
view such as `split` has no level, since nothing runs; `length` makes no array, so it has no effect, and `reduce` always computes, so
`@E` is the only one it takes. A chunk (`@4096`) is for `reduce`, `reduce_comm`, `scan`, `scan_exclusive`,
`scan_rows`, `scan_rows_exclusive`, `filter`, `partition` and `reduce_by_index`.

Erroneous:

    def f [n] (xs: [n]f32) = sum@par xs

Write them on the operation inside:

    def f [n] (xs: [n]f32) = reduce@par (+) 0 xs
";
    LEVEL_INSIDE_LEVEL = "E0702", "a level inside one that cannot start it", "
Threads run lanes, the work-items of a grid run lanes, a group runs the work-items of `@local`, and those lanes. Nothing else nests:
a thread starts no threads, a lane starts nothing. `@seq` and loops stand anywhere. Levels are checked where they meet, so a function
that is right by itself may be wrong where it is called.

Erroneous:

    entry main (xss: [][]i32): [][]i32 = map@par (\\xs -> map@par (+ 1) xs) xss

Let one of them be in order, or leave it to the compiler:

    entry main (xss: [][]i32): [][]i32 = map@par (\\xs -> map (+ 1) xs) xss
";
    DIMENSION_ORDER = "E0703", "dimensions of a level in the wrong order", "
The dimensions of a grid (or of groups, or of the work-items in a group) nest from the largest to the smallest, each once: neighbours in
dimension 0 are neighbours in memory, so it is the innermost.

Erroneous:

    entry main (xss: [][]i32): [][]i32 = map@grid.0 (map@grid.1 (+ 1)) xss

Turn them round:

    entry main (xss: [][]i32): [][]i32 = map@grid.1 (map@grid.0 (+ 1)) xss
";
    LOCAL_OUTSIDE_A_GROUP = "E0704", "work-items of a group without a group", "
`@local` distributes over the work-items of one group, so a `@group` must be around it, in the same function or at the call.

Erroneous:

    entry main (xs: []i32): []i32 = map@local (+ 1) xs

Without groups, write `@grid`; or split the array and run a group on each part:

    entry main (xs: []i32): []i32 = join (map@group (map@local (+ 1)) (split 64 xs))
";
    LOCAL_MEMORY_OUTSIDE_A_GROUP = "E0705", "local memory outside of a group", "
Local memory belongs to a work-group: outside of `@group` there is none.

Erroneous:

    entry main (xs: []f32): []f32 = toLocal (map (* 2)) xs

Use it inside a group, or another memory:

    entry main (xs: []f32): []f32 = toGlobal (map (* 2)) xs
";
    DESTINATION_OVER_SOURCE = "E0706", "a destination view over a source view", "
`@D` makes an operation a view into the place where its result goes: what it views is written through it. `@S` makes an operation a view
for those who read it: it is never written. So the one cannot view the other.

Erroneous:

    entry main (xs: []i32): []i32 = reverse@D (map@S (+ 1) xs)

Leave one of the two to the compiler, or store the inner array:

    entry main (xs: []i32): []i32 = reverse@D (map@E (+ 1) xs)
";
    SOURCE_FUNCTION_WRITES = "E0707", "a source view whose function writes", "
`@S` makes `map` a view: each element is computed wherever it is read, in the middle of an expression. There is no memory for what its
function would write, and no place for a loop. Scalar operators, views and `if` are expressions; `reduce`, arrays, `case`, and what is
written `@E` or `@D` are not.

Erroneous:

    entry main (xss: [][]i32): []i32 = map@S (\\xs -> reduce (+) 0 xs) xss

Compute the array once, or leave it to the compiler:

    entry main (xss: [][]i32): []i32 = map@E (\\xs -> reduce (+) 0 xs) xss
";
}
