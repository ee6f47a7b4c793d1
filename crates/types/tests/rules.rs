//! Rules of the language, each by programs that keep it and programs that break it.
#![allow(clippy::unwrap_used)]

mod support;

use support::check;

fn accepted(programs: &[&str]) {
    let mut wrong = String::new();
    for text in programs {
        let outcome = check(text);
        if outcome.result.program.is_none() {
            wrong.push_str(&format!("--- refused:\n{text}\n{}", outcome.rendered()));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn refused(programs: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (code, text) in programs {
        let outcome = check(text);
        // Several places may break the rule.
        if outcome.codes().is_empty() || outcome.codes().iter().any(|found| found != code) {
            let found = if outcome.codes().is_empty() {
                format!("accepted:\n{}", outcome.types())
            } else {
                outcome.rendered()
            };
            wrong.push_str(&format!("--- {code} expected:\n{text}\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

const FOREACH: &str = "foreach x in l with new, old do case x of | #Nil -> #Nil | #Cons h t ->";

#[test]
fn references_stay_in_their_table() {
    let programs: Vec<(&str, String)> = vec![
        ("E0311", format!("def f (l: List i32) = {FOREACH} #Cons t (new t)\n")),
        ("E0311", format!("def f (l: List i32) = {FOREACH} #Cons (h, t) (new t)\n")),
        ("E0311", format!("def f (l: List i32) = {FOREACH} #Cons (new t) (new t)\n")),
        ("E0311", format!("def f (l: List i32) = {FOREACH} #Cons [t] (new t)\n")),
        ("E0311", format!("def f (l: List i32) = {FOREACH} #Cons (Some t) (new t)\n")),
        ("E0301", format!("def f (l: List i32) = {FOREACH} #Cons h t\n")),
        ("E0301", format!("def f (l: List i32) = {FOREACH} #Cons h (new (new t))\n")),
        ("E0301", format!("def f (l: List i32) = {FOREACH} old (new t)\n")),
        ("E0301", format!("def f (l: List i32) = {FOREACH} #Cons h (new 0)\n")),
        ("E0301", format!("def f (l: List i32) = {FOREACH} #Cons h (new h)\n")),
        ("E0301", format!("def f (l: List i32) = {FOREACH} #Cons h 0i64\n")),
        ("E0301", format!("def f (l: List i32) = {FOREACH} Cons h l\n")),
        ("E0301", format!("def f (l: List i32) = {FOREACH} #Cons h l\n")),
        ("E0301", format!("def f (l: List i32) = {FOREACH} case t of | Nil -> #Nil | Cons _ _ -> #Nil\n")),
        ("E0303", format!("def f (l: List i32) = {FOREACH} if t == t then #Nil else #Nil\n")),
        ("E0303", format!("def f (l: List i32) = {FOREACH} #Cons (t + 1) (new t)\n")),
        ("E0301", "def rec len (l: List i32): i64 = case l of | Nil -> 0 | Cons _ t -> 1 + len t\n\
          def f (l: List i32) = foreach x in l with new, old do (case x of | #Nil -> #Nil | #Cons h t -> #Cons (len t) (new t))\n".into()),
        ("E0301", "def f (l: List i32) = case l of | #Nil -> 0 | #Cons h _ -> h\n".into()),
        ("E0301", "def f (n: i64) = build n 0 (\\i ref -> #Cons i (ref true))\n".into()),
        ("E0312", "def f (n: i64) = build n 0 (\\i ref -> i)\n".into()),
        ("E0311", "def f (n: i64) = build n 0 (\\i ref -> #Cons (ref i) (ref i))\n".into()),
        ("E0312", "def f (n: i64) = build n 0 (\\i ref -> Cons i Nil)\n".into()),
        ("E0312", "def f (xs: []i32) = foreach x in xs with new, old do x\n".into()),
        ("E0312", "def f (x: i32) = root_of x\n".into()),
        ("E0301", "data Other = End | More i32 Other\n\
          def f (l: List i32) = foreach x in l with new, old do (case x of | #End -> #Nil | #More h t -> #Nil)\n".into()),
    ];
    let programs: Vec<(&str, &str)> = programs
        .iter()
        .map(|(code, text)| (*code, text.as_str()))
        .collect();
    refused(&programs);
}

#[test]
fn recursive_data_in_parallel() {
    accepted(&[
        "def f (l: List i32) = foreach x in l with new, old do (case x of | #Nil -> #Nil | #Cons h t -> #Cons (h + 1) (new t))\n",
        "def f (l: List i32) = foreach x in l with new, old do x |> (\\y -> case y of | #Nil -> #Nil | #Cons h t -> #Cons h (new t))\n",
        "def step new node = case node of | #Nil -> #Nil | #Cons h t -> #Cons (h * 2) (new t)\n\
         def f (l: List i32) = foreach x in l with new, old do step new x\n",
        // Inside other sums there are references too, but data inside other recursive types.
        "data State 'r = Open 'r | Shut i32\ndata P = P (State P) (State P)\n\
         def to new s = case s of | Open r -> Open (new r) | Shut k -> Shut k\n\
         def f (p: P) = foreach x in p with new, old do (case x of | #P a b -> #P (to new b) (to new a))\n",
        "data P = P i32 (List P)\n\
         def f (p: P) = foreach x in p with new, old do (case x of | #P k ps -> #P (k + 1) ps)\n",
        "data Rose = Rose i32 ([]Rose)\n\
         def f (r: Rose) = foreach x in r with new, old do (case x of | #Rose v kids -> #Rose (v + i32 (length kids)) (map new kids))\n",
        "data Even = Zero | FromOdd Odd\ndata Odd = FromEven Even\n\
         def f (e: Even) = foreach x in e with new, old do (case x of | #Zero -> #Zero | #FromOdd o -> #FromOdd o)\n",
        "def f (l: List (List i32)) = foreach x in l with new, old do (case x of | #Nil -> #Nil | #Cons inner t -> \
           #Cons (foreach y in inner with new2, old2 do (case y of | #Nil -> #Nil | #Cons a b -> #Cons (a + 1) (new2 b))) (new t))\n",
        "def values (l: List i32) = filter (> 0) (map (\\n -> case n of | #Nil -> 0 | #Cons h _ -> h) (nodes l))\n",
        "def same (a: List i32) (b: List i32) = a == b\n",
    ]);
}

#[test]
fn sizes_that_agree() {
    accepted(&[
        "def f [n] (xs: [n]i32): [2 * n]i32 = xs ++ xs\n",
        "def f [n] [m] (a: [n][m]f32) (b: [m][n]f32) = map (\\r -> map (\\c -> sum (map (*) r c)) (transpose b)) a\n",
        "def f [n] [m] (xs: [n * m]i32) (ys: [n]bool) = length xs\ndef g = f [1, 2, 3, 4, 5, 6] [true, false]\n",
        "def f (n: i64) (xs: [n]f32): [n]f32 = map (+) xs (replicate n 1)\n",
        "def f [n] (xs: [n]f32): [n]f32 = let m = n in map (+) xs (replicate m 1)\n",
        "def f [n] (xs: [n]f32) = let (a, k) = (1, n + 1) in map (+) (xs ++ [1]) (replicate k 1)\n",
        "def f [n] (xs: [n]f32): [n]f32 = xs[0:n]\n",
        "def f [n] (xs: [n]f32): [n]f32 = reverse (rotate 3 xs)\n",
        "def f [n] (xs: [n]f32): [n]f32 = tail (0 |> (\\z -> [z] ++ xs))\n",
        "def f [n] (xs: [n + 1]f32): [n]f32 = map (-) (tail xs) (init xs)\n",
        "def f (xs: []f32) (ys: []f32) = map (+) xs ys\ndef g [n] (zs: [n]f32): [n]f32 = f zs zs\n",
        "def f c (xs: []f32) (ys: []f32): []f32 = if c then xs else ys\n",
        "def f [n] (xs: [n]f32): [n]f32 = if n > 3 then map (+ 1) xs else xs\n",
        "def f [n] (xs: [n]f32): [n]f32 = loop (ys = xs) for i < 3 do map (+) ys xs\n",
        "def f [n] (xs: [n]f32): ([n]f32, i64) = loop ((ys, k) = (xs, 0)) while k < 3 do (map (+ 1) ys, k + 1)\n",
        "def f [n] (xs: [n]f32) = loop (ys = xs) for i < 3 do filter (> f32 i) ys\n",
        "def f (k: i64) = loop ((a, b) = (iota k, iota k)) for i < 3 do (map (+) a b, b)\n",
        "def f [n] (xs: [n]f32) = map (+) xs (filter (> 0) xs :> [n]f32)\n",
        "def f [n] (xss: [n][n]f32): [n][n]f32 = transpose xss\n",
        "def f [n] (xs: [n]i32) = let ys = filter even xs in map (+) ys ys\n",
        "def f [n] (xs: [n]i32) = let ys = filter even xs let k = length ys in map (+) ys (replicate k 1)\n",
        "def f [n] (xs: [n]i32) = let ys = filter even xs in map (\\y -> map (+) ys ys) ys\n",
        "def width: i64 = 4\ndef f (xs: [width]f32): [4]f32 = xs\n",
        "def f [n] (xs: [n]i32): [n](i32, i64) = zip xs (iota n)\n",
        "def f [n] (xs: [n]i32) = scatter xs (iota n) (map (* 2) xs)\n",
        "def id_ x = x\ndef f [n] (xs: [n]i32): [n]i32 = id_ (id_ xs)\n",
        "def f [n] (g: [n]i32 -> [n]i32) (xs: [n]i32): [n]i32 = g (g xs)\n",
        "def f (g: (n: i64) -> [n]i32): [3]i32 = g 3\ndef h = f (\\n -> replicate n 0)\ndef k = f (\\n -> map i32 (iota n))\n",
        "def f (xs: []i32) = xs == xs[1:]\n",
        "def f (xss: [][]f32) = map (\\r -> r[0]) xss\n",
        "def f [n] (xs: [n]f32): [n]f32 = let g ys = map (+) xs ys in g xs\n",
        "def f [n] (xs: [n]f32) = let g [m] (ys: [m]f32): [m + n]f32 = ys ++ xs in (g xs, g [1, 2])\n",
        "def f [n] (xs: [n]f32): [n]f32 = map sum (slide 3 1 (pad 1 1 0 xs))\n",
        "def f [n] [m] (xss: [n][m]f32): [n * m]f32 = join xss\ndef g [n] (xs: [n]f32): [n / 4][4]f32 = split 4 xs\n",
        "def f (xs: []i32) = let n = length xs in tabulate2 n n (\\i j -> xs[i] * xs[j])\n",
    ]);
}

#[test]
fn sizes_that_do_not() {
    refused(&[
        ("E0401", "def f [n] (xs: [n]i32): [n]i32 = xs ++ xs\n"),
        ("E0401", "def f [n] (xs: [n]i32): [n]i32 = filter even xs\n"),
        ("E0401", "def f [n] (xs: [n]i32): [n]i32 = tail xs\n"),
        ("E0401", "def f (xs: [3]i32) = xs\ndef g = f [1, 2]\n"),
        ("E0401", "def f [n] [m] (xs: [n]i32) (ys: [m]i32) = zip xs ys\n"),
        ("E0401", "def f (n: i64) (m: i64) = map (+) (iota n) (iota m)\n"),
        (
            "E0401",
            "def f (xs: []i32) = map (+) (filter even xs) (filter even xs)\n",
        ),
        (
            "E0401",
            "def f [n] (xs: [n]f32): [n]f32 = loop (ys = xs) for i < 3 do ys ++ [1]\n",
        ),
        (
            "E0401",
            "def f [n] (xs: [n]f32) = loop (ys = xs) for i < 3 do map (+) (tail ys) xs\n",
        ),
        (
            "E0401",
            "def f [n] c (xs: [n]f32): [n]f32 = if c then xs else tail xs\n",
        ),
        (
            "E0401",
            "def f c (xs: []f32) (ys: []f32) = map (+) xs (if c then xs else ys)\n",
        ),
        (
            "E0401",
            "def f [n] (g: [n]i32 -> i32) (xs: [n]i32) = g (tail xs)\n",
        ),
        ("E0401", "def f (g: (n: i64) -> [n]i32): [3]i32 = g 4\n"),
        (
            "E0401",
            "def f (n: i64) = map (\\i -> map (+) (iota i) (iota n)) (iota n)\n",
        ),
        (
            "E0401",
            "def f [n] (xs: [n]f32): [n]f32 = let g [m] (ys: [m]f32): [m]f32 = map (+) xs ys in g xs\n",
        ),
        ("E0405", "def f (xss: [][?]i32): [][]i32 = xss\n"),
        ("E0405", "def f (xss: [][?]i32) = join xss\n"),
        ("E0404", "def f [n] (x: i32) = x\n"),
        ("E0404", "def f [n] (m: Maybe ([n]i32)) = 0\n"),
        ("E0211", "def f (xs: [n]i32) = 0\n"),
        ("E0403", "def f (n: f32) (xs: [n]i32) = 0\n"),
        ("E0320", "def f (n: i64) (xs: []f32) = asVector n xs\n"),
    ]);
}

#[test]
fn jagged_and_regular() {
    accepted(&[
        "def f (xss: [][?]i32): [][?]i32 = map (map (+ 1)) xss\n",
        "def f (xss: [][]i32): [][?]i32 = xss\n",
        "def f (xss: [][]i32): [][?]i32 = map (filter even) xss\n",
        "def g (xss: [][?]i32) = map sum xss\ndef f (xss: [][]i32) = g xss\ndef h = g [[1, 2], [3]]\n",
        "def f c (xss: [][?]i32) (yss: [][]i32) = if c then xss else yss\n",
        "def f (xss: [][?]i32) = xss ++ [[1, 2, 3]]\n",
        "def f (xss: [][?]i32) = flatten (map (\\r -> r ++ r) xss)\n",
        "def f [n] [m] (xss: [n][m]i32) = segments xss\n",
        "def f (xss: [][?]i32) = map (\\r -> map (\\x -> x + i32 (length r)) r) xss\n",
        "def f (xss: [][?]i32) (ys: []i32) = map (\\r y -> map (+ y) r) xss ys\n",
        "def f (xss: [][?]i32) = map (\\r -> zip r (iota (length r))) xss\n",
        "def f (xss: [][?]i32) = filter (\\r -> sum r > 0) xss |> map length\n",
        "def f (xss: [][?]i32) (i: i64) = let r = xss[i] in map (+) r r\n",
        "def f (xss: [][?]i32) = let g r = (r, length r) in map g xss\n",
        "def f (xss: [][?]i32) = map (scan (+) 0) xss |> map (reduce max 0)\n",
        "def f (ns: []i64) = map (\\n -> loop (xs = iota n) for i < 3 do map (+ 1) xs) ns\n",
        "def f (xsss: [][?][?]f32) = map (map (map (* 2))) xsss\n",
    ]);
}

#[test]
fn values_in_data_have_sizes_of_their_own() {
    accepted(&[
        "def rec lists (n: i64): List ([]i64) = if n == 0 then Nil else Cons (iota n) (lists (n - 1))\n",
        "def f = Cons [1] (Cons [1, 2] (Cons [1, 2, 3] (Cons [] Nil)))\n",
        "def push x l = Cons x l\ndef f (l: List ([]i32)) = push [1, 2] (push [3] l)\n",
        "def f (xs: []i32) (m: Maybe ([]i32)) = from_maybe xs m\n",
        "def f c = if c then Some [1, 2] else Some [3]\n",
        "def f c = if c then None else Some [3]\n",
        "def f = [Some [1, 2], Some [3], None]\n",
        "def f (xss: [][?]i32) = map Some xss\n",
        "def f (m: Maybe ([]i32)) = map_maybe (map (+ 1)) m\n",
        "def f (r: Result ([]i32) ([]u8)) = case r of | Ok xs -> length xs | Err e -> length e\n",
        "def f (l: List ([]i32)) = foreach x in l with new, old do (case x of | #Nil -> #Nil | #Cons h t -> #Cons (filter even h) (new t))\n",
    ]);
    refused(&[
        (
            "E0401",
            "def f (m: Maybe ([]i32)) (xs: []i32) = case m of | Some ys -> map (+) xs ys | None -> xs\n",
        ),
        (
            "E0401",
            "def f (m: Maybe ([]i32)) = map (+) (from_maybe [1, 2] m) [1, 2]\n",
        ),
    ]);
}

#[test]
fn numbers_and_literals() {
    accepted(&[
        "def f (x: f32) = 2 * x + 1\n",
        "def f (n: i64) = f32 (n * 2) / 3\n",
        "def x: i8 = -128\ndef y: u64 = 0xffff_ffff_ffff_ffff\n",
        "def f x = if x > 0 then 1 else -1\ndef g = f 2.5\n",
        "def f (b: bool) = (i32 b, f64 b, b & true)\n",
        "def f (x: u8) = (x << 1) ^ (x >> 2) | 3\n",
        "def f (xs: []f32) = asScalar (map (* 2) (asVector 4 xs))\n",
        "def f (v: vec 4 f32) = v * 2 + v\n",
        "def f (x: f64) = from_bits (to_bits x)\n",
        "def f x y = min x (max y 0)\n",
    ]);
    refused(&[
        ("E0307", "def x: i8 = 128\n"),
        ("E0307", "def x: u8 = -1\n"),
        ("E0307", "def x = 2147483648\n"),
        ("E0301", "def x: i32 = 1.5\n"),
        ("E0303", "def f (x: f32) = x << 1\n"),
        ("E0303", "def f (x: f32) = ~x\n"),
        ("E0301", "def f (x: f32) = !x\n"),
        ("E0303", "def f (xs: []f32) = f64 xs\n"),
        ("E0301", "def f (x: i32) (y: i64) = x < y\n"),
        ("E0303", "def rec g (x: bool): bool = g (x * x)\n"),
    ]);
}

#[test]
fn names_and_scopes() {
    accepted(&[
        "def sum x = x\ndef f = sum 3\n",
        "data Maybe 'a = Nothing | Just 'a\ndef f m = case m of | Nothing -> 0 | Just x -> x\n",
        "def map f x = f x\ndef g = map sqrt 2.0\n",
        "def f x = let x = x + 1 let x = x * 2 in x\n",
        "def g x = h x\ndef h x = x + 1\n",
        "def f = let f x = x + 1 in f 2\n",
        "def rec f (x: i64): i64 = let g y = f (y - 1) in if x == 0 then 0 else g x\n",
        "def length xs = 3\ndef f = length [1]\n",
        "def f (x: {a: i32, b: (f32, bool)}) = x.b.1\n",
        "def f r = let g (p: {a: i32}) = p.a in g r + r.a\n",
    ]);
    refused(&[
        ("E0201", "def f x = y\n"),
        ("E0206", "def f x = f x\n"),
        ("E0206", "def sum xs = sum xs\n"),
        ("E0201", "def f x = let g y = g y in g x\n"),
        ("E0209", "def f x x = x\n"),
        ("E0209", "def f p = let (a, a) = p in a\n"),
        ("E0203", "def f = 1\nforeign f : i32 -> i32\n"),
    ]);
}

#[test]
fn polymorphism() {
    accepted(&[
        "def f x = let pair y = (y, y) in (pair x, pair 1, pair true)\n",
        "def f [n] (xs: [n]'a) (g: 'a -> 'b): [n]'b = map g xs\ndef h = (f [1, 2] (+ 1), f [true] not)\n",
        "def rec nest (k: i64) (x: 'a): i64 = if k == 0 then 0 else nest (k - 1) (x, x)\n",
        "def empty: List 'a = Nil\ndef f = (Cons 1 empty, Cons true empty)\n",
        "def f (xs: []'a) = sort xs\ndef g = f [[2, 1], [1, 2]]\n",
        "def f (xs: []i32) = reduce (\\a b -> filter even (a ++ b)) [1] [xs]\n",
        "def k x _ = x\ndef f = k 1 (\\x -> x)\n",
        "def f = let rec g (n: i64) (x: 'b): 'b = if n == 0 then x else g (n - 1) x in (g 3 1, g 2 true)\n",
    ]);
    refused(&[
        ("E0301", "def f (g: 'a -> 'a) = (g 1i32, g 2)\n"),
        ("E0303", "def f (x: 'a): 'a = x + x\ndef g = f true\n"),
        (
            "E0303",
            "def rec f (n: i64) (x: 'a): 'a = if n == 0 then x + x else f (n - 1) x\ndef g = f 1 true\n",
        ),
        ("E0303", "def f = sort [sin, cos]\n"),
        ("E0303", "def f = let g = \\x -> x in (g 1, g true)\n"),
    ]);
}
