//! `E05xx, W05xx`: patterns and cases.

codes! {
    NON_EXHAUSTIVE = "E0501", "a case that does not cover every value", "
Every value must match a pattern. The message shows one that matches none. A pattern with `if` may fail, so it does not count.

Erroneous:

    def f m = case m of | Some x -> x

Write instead:

    def f m = case m of | Some x -> x | None -> 0
";
    REFUTABLE = "E0502", "a pattern that can fail where it must not", "
Patterns of parameters, `let`, loops and `foreach` have no other case to go on with, so they must match every value.

Erroneous:

    def f m = let Some x = m in x

Write instead:

    def f m = case m of | Some x -> x | None -> 0
";
    REDUNDANT = "W0501", "a case that is never reached", "
Everything the pattern matches is matched by those before it.

Erroneous:

    def f (n: i32) = case n of | _ -> 0 | 1 -> 1

Cases are tried from top to bottom: put the special ones first.
";
}
