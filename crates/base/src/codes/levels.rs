//! `E07xx, W07xx`: levels, effects and other annotations.

codes! {
    NOT_ANNOTATABLE = "E0701", "an annotation where it has no meaning", "
Levels (`@seq`, `@par`, …) and effects (`@S`, `@D`, `@E`) are written on primitive operations, and not all of them take both: a
view such as `split` has no level, since nothing runs; `length` makes no array, so it has no effect.

Erroneous:

    def f [n] (xs: [n]f32) = sum@par xs

Write them on the operation inside:

    def f [n] (xs: [n]f32) = reduce@par (+) 0 xs
";
}
