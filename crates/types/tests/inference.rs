//! What is inferred, as `almach check --types` shows it.
#![allow(clippy::unwrap_used)]

mod support;

use expect_test::{Expect, expect};
use support::check;

fn types(text: &str, expected: Expect) {
    let outcome = check(text);
    assert!(outcome.result.diagnostics.is_empty(), "{}", outcome.rendered());
    assert!(outcome.result.program.is_some());
    expected.assert_eq(&outcome.types());
}

#[test]
fn numbers() {
    types(
        "def sq x = x * x
def mean [n] (xs: [n]f64) = sum xs / f64 n
def low x = x & 1
def half x = x / 2.0
def less a b = a < b
def same a b = a == b
def one = 1
def third = 1 / 3.0
def big: u64 = 18446744073709551615
def to_float x = f32 x
def bits x = to_bits (x: f32)
",
        expect![[r#"
            sq : 'a -> 'a  -- 'a is a number
            mean [n] : [n]f64 -> f64
            low : 'a -> 'a  -- 'a is an integer
            half : 'a -> 'a  -- 'a is a float
            less : 'a -> 'a -> bool  -- 'a has an order
            same : 'a -> 'a -> bool  -- 'a has equality
            one : i32
            third : f64
            big : u64
            to_float : 'a -> f32  -- 'a is a number or bool
            bits : f32 -> u32
        "#]],
    );
}

#[test]
fn functions() {
    types(
        "def compose f g x = f (g x)
def twice f x = f (f x)
def apply_pair (f, g) x = (f x, g x)
def pick c f g = if c then f else g
def add3 a b c = a + b + c
def inc = add3 1 0
def local x = let id y = y in (id x, id true)
def curried = \\x -> \\y -> x + y + 1i64
def flip f a b = f b a
def pipe x = x |> (+ 1) |> (* 2)
",
        expect![[r#"
            compose : ('a -> 'b) -> ('c -> 'a) -> 'c -> 'b
            twice : ('a -> 'a) -> 'a -> 'a
            apply_pair : ('a -> 'b, 'a -> 'c) -> 'a -> ('b, 'c)
            pick : bool -> 'a -> 'a -> 'a
            add3 : 'a -> 'a -> 'a -> 'a  -- 'a is a number
            inc : 'a -> 'a  -- 'a is a number
            local : 'a -> ('a, bool)
            curried : i64 -> i64 -> i64
            flip : ('a -> 'b -> 'c) -> 'b -> 'a -> 'c
            pipe : 'a -> 'a  -- 'a is a number
        "#]],
    );
}

#[test]
fn sizes() {
    types(
        "def add (xs: []f32) (ys: []f32) = map (+) xs ys
def both xs ys = zip xs ys
def append xs ys = xs ++ ys
def twice xs = xs ++ xs
def rows xss = map (reduce (+) 0) xss
def matrix n m = replicate n (replicate m 0i32)
def count_up (n: i64) = iota (n + 1)
def square n = split n (iota (n * n))
def middle [n] (xs: [n]f32) = xs[1:n - 1]
def evens xs = xs[::2]
def windows [n] (xs: [n + 2]f32) = slide 3 1 xs
def windows_of_any xs = slide 3 1 xs
def kept xs = filter (> 0i32) xs
def lengths = let k = 3 in (iota k, replicate (k + 1) true)
def text = \"hello\"
def padded xs = pad 1 2 0i32 xs
def pairs [n] (xs: [2 * n]i32) = split 2 xs
def joined [n] [m] (xss: [n][m]i32) = join xss
def fixed = map (* 2) [1, 2, 3]
def with_literal xs = map (+) xs [1, 2, 3]
def by_length xs = map (\\i -> i) (iota (length xs))
def later xs = let n = length xs in map (+) xs (iota n)
def half_size xs = take (length xs / 2) xs
",
        expect![[r#"
            add [n] : [n]f32 -> [n]f32 -> [n]f32
            both [n] : [n]'a -> [n]'b -> [n]('a, 'b)
            append [n] [m] : [n]'a -> [m]'a -> [n + m]'a
            twice [n] : [n]'a -> [2*n]'a
            rows [n] [m] : [n][m]'a -> [n]'a  -- 'a is a number
            matrix : (n: i64) -> (m: i64) -> [n][m]i32
            count_up : (n: i64) -> [n + 1]i64
            square : (n: i64) -> [n][n]i64
            middle [n] : [n]f32 -> [n - 2]f32
            evens [n] : [n]'a -> [(n + 1)/2]'a
            windows [n] : [n + 2]f32 -> [n][3]f32
            windows_of_any [n] : [n]'a -> [?][3]'a
            kept [n] : [n]i32 -> [?]i32
            lengths : ([3]i64, [4]bool)
            text : [5]u8
            padded [n] : [n]i32 -> [n + 3]i32
            pairs [n] : [2*n]i32 -> [n][2]i32
            joined [n] [m] : [n][m]i32 -> [n*m]i32
            fixed : [3]i32
            with_literal : [3]'a -> [3]'a  -- 'a is a number
            by_length [n] : [n]'a -> [n]i64
            later [n] : [n]i64 -> [n]i64
            half_size [n] : [n]'a -> [n/2]'a
        "#]],
    );
}

#[test]
fn unknown_sizes_and_jagged_arrays() {
    types(
        "def rows_of ns = map iota ns
def triangle n = map (\\i -> iota (i + 1)) (iota n)
def kept_rows (xss: [][?]i32) = map (filter even) xss
def row_sums (xss: [][?]f32) = map sum xss
def nested (xsss: [][?][?]i32) = map (map (reduce (+) 0)) xsss
def one_of c (xs: []i32) (ys: []i32) = if c then xs else ys
def either c = if c then iota 3 else iota 4
def grow n = loop (xs = [1]) for i < n do xs ++ [i32 i]
def keep n = loop (xs = iota n) for i < 10 do map (+ 1) xs
def swap_state n = loop ((a, b) = (iota n, replicate n 0)) for i < 3 do (b, a)
def filtered (xss: [][?]i32) = filter (\\row -> length row > 0) xss
def parts xs = partition even xs
def map_parts xss = map (\\xs -> partition even xs) xss
def folded (xs: []i32) = foldl (\\acc x -> if x > 0 then acc ++ [x] else acc) [] xs
def all_rows [n] [m] (xss: [n][m]i32) = reduce (++) [] xss
def composed (xs: []i32) = compose length (filter even) xs
def first_row (xss: [][?]i32) = xss[0]
def held (m: Maybe ([]i32)) = case m of | Some xs -> map (+ 1) xs | None -> []
",
        expect![[r#"
            rows_of [n] : [n]i64 -> [n][?]i64
            triangle : (n: i64) -> [n][?]i64
            kept_rows [n] : [n][?]i32 -> [n][?]i32
            row_sums [n] : [n][?]f32 -> [n]f32
            nested [n] : [n][?][?]i32 -> [n][?]i32
            one_of [n] [m] : bool -> [n]i32 -> [m]i32 -> [?]i32
            either : bool -> [?]i64
            grow : 'a -> [?]i32  -- 'a is an integer
            keep : (n: i64) -> [n]i64
            swap_state : (n: i64) -> ([n]i64, [n]i64)
            filtered [n] : [n][?]i32 -> [?][?]i32
            parts [n] : [n]'a -> ([?]'a, [?]'a)  -- 'a is a number
            map_parts [n] [m] : [n][m]'a -> [n]([?]'a, [?]'a)  -- 'a is a number
            folded [n] : [n]i32 -> [?]i32
            all_rows [n] [m] : [n][m]i32 -> [?]i32
            composed [n] : [n]i32 -> i64
            first_row [n] : [n][?]i32 -> [?]i32
            held : Maybe ([?]i32) -> [?]i32
        "#]],
    );
}

#[test]
fn recursion() {
    types(
        "def rec fact n = if n == 0 then 1 else n * fact (n - 1)
def rec quicksort (xs: []'a): []'a =
  if length xs <= 1 then xs
  else let p = xs[0] in quicksort (filter (< p) xs) ++ filter (== p) xs ++ quicksort (filter (> p) xs)
def rec is_even n = if n == 0 then true else is_odd (n - 1)
def rec is_odd n = if n == 0 then false else is_even (n - 1)
def rec len (l: List 'a): i64 = case l of | Nil -> 0 | Cons _ t -> 1 + len t
def rec steps [n] (xs: [n]f32) (k: i64): [n]f32 = if k == 0 then xs else steps (map (* 2) xs) (k - 1)
def local n = let rec go i acc = if i == 0 then acc else go (i - 1) (acc * i) in go n 1
",
        expect![[r#"
            fact : 'a -> 'a  -- 'a is a number
            quicksort [n] : [n]'a -> [?]'a  -- 'a has an order
            is_even : 'a -> bool  -- 'a is a number
            is_odd : 'a -> bool  -- 'a is a number
            len : List 'a -> i64
            steps [n] : [n]f32 -> i64 -> [n]f32
            local : 'a -> 'a  -- 'a is a number
        "#]],
    );
}

#[test]
fn data() {
    types(
        "data Tree 'a = Leaf | Fork 'a (Tree 'a) (Tree 'a)
data Shape = Circle f64 | Rect {w: f64, h: f64} | Poly ([](f64, f64))
type Point = {x: f64, y: f64}
def rec fold f e t = case t of | Leaf -> e | Fork x l r -> f x (fold f e l) (fold f e r)
def area s = case s of | Circle r -> pi * r * r | Rect {w, h} -> w * h | Poly ps -> f64 (length ps)
def norm (p: Point) = sqrt (p.x * p.x + p.y * p.y)
def points n = tabulate n (\\i -> {x = f64 i, y = 0})
def norms ps = map norm ps
def xs_of (ps: []Point) = map (\\p -> p.x) ps
def other_order (p: {y: f64, x: f64}): Point = if p.x > 0 then {y = 1, x = 2} else p
def swap_fields ({x, y}: Point): Point = {y = x, x = y}
def map_tree f t =
  foreach node in t with new, old do
    case node of
    | #Leaf -> #Leaf
    | #Fork x l r -> #Fork (f x) (new l) (new r)
def depth_one t =
  foreach node in (t: Tree i32) with new, old do
    case node of
    | #Leaf -> #Nil
    | #Fork x l _ ->
      case old l of
      | #Leaf -> #Cons x (new l)
      | #Fork y _ _ -> #Cons (x + y) (new l)
def chain n = build n 0 (\\i ref -> if i == n - 1 then #Nil else #Cons i (ref (i + 1)))
def table (t: Tree i32) = nodes t
def again (t: Tree i32) = from_nodes (root_of t) (nodes t)
def firsts (t: Tree i32) = map (\\node -> case node of | #Leaf -> 0 - 1 | #Fork _ l _ -> l) (nodes t)
",
        expect![[r#"
            fold : ('a -> 'b -> 'b -> 'b) -> 'b -> Tree 'a -> 'b
            area : Shape -> f64
            norm : {x: f64, y: f64} -> f64
            points : (n: i64) -> [n]{x: f64, y: 'a}  -- 'a is a number
            norms [n] : [n]{x: f64, y: f64} -> [n]f64
            xs_of [n] : [n]{x: f64, y: f64} -> [n]f64
            other_order : {x: f64, y: f64} -> {x: f64, y: f64}
            swap_fields : {x: f64, y: f64} -> {x: f64, y: f64}
            map_tree : ('a -> 'b) -> Tree 'a -> Tree 'b
            depth_one : Tree i32 -> List i32
            chain : i64 -> List i64
            table : Tree i32 -> [?](#Tree i32 over i64)
            again : Tree i32 -> Tree i32
            firsts : Tree i32 -> [?]i64
        "#]],
    );
}
