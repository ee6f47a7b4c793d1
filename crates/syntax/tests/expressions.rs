//! What expressions mean, as fully bracketed shapes.
#![allow(clippy::unwrap_used)]

mod support;
use support::{shape, type_shape_of};

#[test]
fn operators_bind_as_the_design_lists_them() {
    for (text, expected) in [
        ("a + b * c", "(+ a (* b c))"),
        ("a * b + c", "(+ (* a b) c)"),
        ("a - b - c", "(- (- a b) c)"),
        ("a ** b ** c", "(** a (** b c))"),
        ("-a ** b", "(** (neg a) b)"),
        ("a ** -b", "(** a (neg b))"),
        ("a * -b", "(* a (neg b))"),
        ("- f x", "(neg (f x))"),
        ("f -x", "(- f x)"),
        ("!a && b", "(&& (not a) b)"),
        ("~a & b", "(& (complement a) b)"),
        ("a << b + c", "(<< a (+ b c))"),
        ("a & b << c", "(& a (<< b c))"),
        ("a ^ b & c", "(^ a (& b c))"),
        ("a | b ^ c", "(| a (^ b c))"),
        ("a ++ b | c", "(++ a (| b c))"),
        ("a ++ b ++ c", "(++ (++ a b) c)"),
        ("a ++ b :> [n]f32", "((++ a b) :> [n]f32)"),
        ("a :> [n]f32 == b", "(== (a :> [n]f32) b)"),
        ("a == b && c < d", "(&& (== a b) (< c d))"),
        ("a || b && c", "(|| a (&& b c))"),
        ("a..<b || c", "(..< a (|| b c))"),
        ("0..<n |> f", "(|> (..< 0 n) f)"),
        ("xs |> f 1 |> g", "(|> (|> xs (f 1)) g)"),
        ("f <| g <| x", "(<| f (<| g x))"),
        ("a % b / c", "(/ (% a b) c)"),
        ("a >> b << c", "(<< (>> a b) c)"),
        (
            "a != b || c >= d || e <= f || g > h",
            "(|| (|| (|| (!= a b) (>= c d)) (<= e f)) (> g h))",
        ),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn a_glued_bracket_indexes_and_a_spaced_one_is_an_argument() {
    assert_eq!(shape("a[i, j]"), "a[i j]");
    assert_eq!(shape("f [i, j]"), "(f [i j])");
    assert_eq!(shape("f a[i] b"), "(f a[i] b)");
    assert_eq!(shape("(f x)[i][j]"), "(f x)[i][j]");
    assert_eq!(shape("[1, 2][0]"), "[1 2][0]");
    assert_eq!(shape("r.xs[i].y"), "r.xs[i].y");
    assert_eq!(shape("a[f x + 1]"), "a[(+ (f x) 1)]");
}

#[test]
fn slices_may_leave_parts_out() {
    assert_eq!(shape("a[b:e:s]"), "a[b:e:s]");
    assert_eq!(shape("a[:]"), "a[::]");
    assert_eq!(shape("a[::2]"), "a[::2]");
    assert_eq!(shape("a[1:]"), "a[1::]");
    assert_eq!(shape("a[:n - 1, :, 3]"), "a[:(- n 1): :: 3]");
    assert_eq!(shape("a[::(-1)]"), "a[::(neg 1)]");
    assert_eq!(shape("a[::-1]"), "a[::(neg 1)]");
}

#[test]
fn projections_are_not_floats() {
    assert_eq!(shape("t.0.1"), "t.0.1");
    assert_eq!(shape("t.0.1.x"), "t.0.1.x");
    assert_eq!(shape("(f t).10"), "(f t).10");
    assert_eq!(shape("t.0..<t.1"), "(..< t.0 t.1)");
    assert_eq!(shape("0..<n"), "(..< 0 n)");
    assert_eq!(shape("1.5..<n"), "(..< 1.5f n)");
}

#[test]
fn numbers() {
    for (text, expected) in [
        ("1", "1"),
        ("1i64", "1i64"),
        ("0xFFu8", "255u8"),
        ("0b1010", "10"),
        ("0o17", "15"),
        ("1_000_000", "1000000"),
        ("0.5f32", "0.5ff32"),
        ("1e-7", "1e-7f"),
        ("1.5E+10f64", "1.5E+10ff64"),
        ("2f32", "2ff32"),
        ("0x1f32", "7986"),
        (
            "340282366920938463463374607431768211455",
            "340282366920938463463374607431768211455",
        ),
        ("'a'", "97u8"),
        ("'\\n'", "10u8"),
        ("'\\xff'", "255u8"),
        ("'''", "39u8"),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn strings_and_their_escapes() {
    assert_eq!(
        shape(r#""a\n\t\"\\ \x41 \u{e9} -- no comment""#),
        r#""a\n\t\"\\ A é -- no comment""#
    );
    assert_eq!(shape(r#""""#), r#""""#);
}

#[test]
fn sections() {
    for (text, expected) in [
        ("(+ 1)", "(right + 1)"),
        ("(2 *)", "(left 2 *)"),
        ("(+)", "(op +)"),
        ("(-)", "(op -)"),
        ("(- 1)", "(neg 1)"),
        ("(x -)", "(left x -)"),
        ("(* 2 ** 3)", "(right * (** 2 3))"),
        ("(f x * 2 +)", "(left (* (f x) 2) +)"),
        ("(&&)", "(op &&)"),
        ("(|> f)", "(right |> f)"),
        ("(== 0)", "(right == 0)"),
        ("(++)", "(op ++)"),
        ("map (|) xs", "(map (op |) xs)"),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn lets_chain_with_one_in_or_several() {
    let chained = "(let x=1; fun f [n] (xs : [n]f32) y : f32 = (+ y xs[0]); (tuple a b)=(f x); in (+ a b))";
    assert_eq!(
        shape("let x = 1\nlet f [n] (xs: [n]f32) y: f32 = y + xs[0]\nlet (a, b) = f x\nin a + b"),
        chained
    );
    assert_eq!(
        shape("let x = 1 in let f [n] (xs: [n]f32) y: f32 = y + xs[0] in let (a, b) = f x in a + b"),
        chained
    );
    assert_eq!(shape("let x: i64 = 1 in x"), "(let (x : i64)=1; in x)");
    assert_eq!(
        shape("let rec even n = odd (n - 1) and odd n = even (n - 1) in even 3"),
        "(let fun rec even n = (odd (- n 1)) fun rec odd n = (even (- n 1)); in (even 3))"
    );
    assert_eq!(
        shape("let {x, y = (a, _)} = r in x"),
        "(let {x=x y=(tuple a _)}=r; in x)"
    );
    assert_eq!(shape("let Some x = y in x"), "(let (Some x)=y; in x)");
}

#[test]
fn case_arms_and_their_bars() {
    assert_eq!(
        shape("case m of | Some x if x > 0 -> (x | 1) | Some (-1) -> 2 | None -> 0"),
        "(case m | (Some x) if (> x 0) -> (| x 1) | (Some -1) -> 2 | None -> 0)"
    );
    assert_eq!(
        shape("case m of | A -> case n of | B -> 1 | C -> 2"),
        "(case m | A -> (case n | B -> 1 | C -> 2))"
    );
    assert_eq!(
        shape("case m of | -1.5 -> a | 'x' -> b"),
        "(case m | -1.5f -> a | 120u8 -> b)"
    );
    assert_eq!(
        shape("case l of | #Cons hd (M.Some tl) -> hd | #Nil -> 0"),
        "(case l | (#Cons hd (M.Some tl)) -> hd | (#Nil ) -> 0)"
    );
    assert_eq!(
        shape("(case a of | x -> [x | 1]) | b"),
        "(| (case a | x -> [(| x 1)]) b)"
    );
}

#[test]
fn forms() {
    for (text, expected) in [
        ("\\x (y: f32) _ -> x + y", "(\\x (y : f32) _ -> (+ x y))"),
        ("xs |> \\x -> x |> f", "(|> xs (\\x -> (|> x f)))"),
        ("1 + if c then a else b + 2", "(+ 1 (if c a (+ b 2)))"),
        (
            "loop (acc = 0) for i < n do acc + i",
            "(loop acc = 0 for i n (+ acc i))",
        ),
        (
            "loop ((a, b): (i32, i32) = (0, 1)) while a < 10 do (b, a + b)",
            "(loop ((tuple a b) : (tuple i32 i32)) = (tuple 0 1) while (< a 10) (tuple b (+ a b)))",
        ),
        (
            "loop (a, b) for i < n do (b, a)",
            "(loop (tuple a b) for i n (tuple b a))",
        ),
        (
            "loop (a, b) = (0, 1) for i < n do (b, a)",
            "(loop (tuple a b) = (tuple 0 1) for i n (tuple b a))",
        ),
        (
            "loop x = 1 while x < 9 do x * 2",
            "(loop x = 1 while (< x 9) (* x 2))",
        ),
        ("a with [i] = x + 1", "(with a [i] (+ x 1))"),
        ("a with! [i, 2:3] = x", "(with! a [i 2:3:] x)"),
        ("a with [0] = 1 with [1] = 2", "(with (with a [0] 1) [1] 2)"),
        ("f x |> g with [0] = 1", "(with (|> (f x) g) [0] 1)"),
        ("assert x > 0, \"pos\" in x", "(assert (> x 0) \"pos\" x)"),
        ("trace \"x\" xs[0] + 1", "(+ (trace \"x\" xs[0]) 1)"),
        (
            "foreach x in e with f, d do case x of | #Cons hd r -> #Cons (hd + 1) (f r)",
            "(foreach x e f d (case x | (#Cons hd r) -> (#Cons (+ hd 1) (f r))))",
        ),
        ("(x : f32)", "(x : f32)"),
        ("{x = 1.0, y = f 2}", "{x=1.0f y=(f 2)}"),
        ("M.f M.Some x.y", "(M.f M.Some x.y)"),
        ("()", "(tuple)"),
        ("(a, b, c,)", "(tuple a b c)"),
        ("[]", "[]"),
        ("[[1], [2, 3],]", "[[1] [2 3]]"),
        ("f x' _y data type entry", "(f x' _y data type entry)"),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn annotations_and_the_papers_names() {
    for (text, expected) in [
        ("map@par f xs", "(map@par f xs)"),
        ("map@grid.1@D f xs", "(map@grid.1@D f xs)"),
        ("concat@D a b", "(concat@D a b)"),
        ("reduce_by_index@par", "reduce_by_index@par"),
        ("mapSeq f", "(map@seq f)"),
        ("mapVec@S f", "(map@vec@S f)"),
        ("mapGlobal f", "(map@grid f)"),
        ("mapGlobal1 f", "(map@grid.1 f)"),
        ("mapWorkgroup0 f", "(map@group f)"),
        ("mapLocal2 f", "(map@local.2 f)"),
        ("reducePar f", "(reduce@par f)"),
        ("scanSeq f", "(scan@seq f)"),
        ("reduceSeq f", "(reduceSeq f)"),
        ("M.map@par f", "(M.map@par f)"),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn comments_are_space() {
    assert_eq!(shape("a {- b {- c -} d -} + -- e\n f"), "(+ a f)");
    assert_eq!(shape("a{-x-}[0]"), "(a [0])");
}

#[test]
fn types() {
    for (text, expected) in [
        ("f32 -> i64 -> bool", "(f32 -> (i64 -> bool))"),
        ("(f32 -> i64) -> bool", "((f32 -> i64) -> bool)"),
        ("[n][m]f32", "[n][m]f32"),
        ("[][?]'a", "[][?]'a"),
        ("[n * m + 1]f32", "[(+ (* n m) 1)]f32"),
        ("[(n + 1) / 2]f32", "[(/ (+ n 1) 2)]f32"),
        ("(n: i64) -> [n]i64", "(n:i64 -> [n]i64)"),
        (
            "(w: i64) -> [k]'a -> [k / w](vec w 'a)",
            "(w:i64 -> ([k]'a -> [(/ k w)](vec w 'a)))",
        ),
        ("vec 4 f32", "(vec 4 f32)"),
        ("[n]Tree f32", "[n](Tree f32)"),
        ("Pair [n]f32 (M.Tree 'a)", "(Pair [n]f32 (M.Tree 'a))"),
        ("()", "(tuple )"),
        ("(f32, i32)", "(tuple f32 i32)"),
        ("{x: f32, y: [n]f32}", "{x:f32 y:[n]f32}"),
    ] {
        assert_eq!(type_shape_of(text), expected, "{text}");
    }
}

#[test]
fn every_primitive_has_a_type_that_parses() {
    for prim in almach_prim::Prim::ALL {
        type_shape_of(prim.info().ty);
    }
}
