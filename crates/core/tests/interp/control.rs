//! Branches, loops, calls.

use crate::run;

#[test]
fn loops_carry_state() {
    let fib = "
fun fib (n: i32): i32 =
  let <a: i32, b: i32> = loop (a: i32 = 0i32, b: i32 = 1i32) for i: i32 < n do
    let c: i32 = a + b
    in <b, c>
  in a
entry main = fib (n: i32): i32";
    assert_eq!(run(fib, &["10"]), "55");
    assert_eq!(run(fib, &["0"]), "0");
    assert_eq!(run(fib, &["-5"]), "0");
    let swap = "
fun f {n, m} (xs: [n]i32, ys: [m]i32, k: u8): {a, b} ([a]i32, [b]i32) =
  let {a, b} <p: [a]i32, q: [b]i32> = loop {a = n, b = m} (p: [a]i32 = xs, q: [b]i32 = ys) for i: u8 < k do
    {b, a} <q, p>
  let t: ([a]i32, [b]i32) = (p, q)
  in {a, b} t
entry main = f (xs: []i32, ys: []i32, k: u8): ([]i32, []i32)";
    assert_eq!(run(swap, &["[1]", "[2, 3]", "3"]), "([2, 3], [1])");
    assert_eq!(run(swap, &["[1]", "[2, 3]", "200"]), "([1], [2, 3])");
}

#[test]
fn while_loops_test_first() {
    let text = "
fun f {n} (xs: [n]f32, limit: i64): {m} [m]f32 =
  let {m} ys: [m]f32 = loop {k = n} (ys: [k]f32 = xs) while
      let l: i64 = length ys
      let b: bool = l < limit
      in b
    do
      let zs: [2*k]f32 = concat ys ys
      let k2: i64 = k + k
      in {k2} zs
  in {m} ys
entry main = f (xs: []f32, limit: i64): []f32";
    assert_eq!(
        run(text, &["[1, 2]", "5"]),
        "[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]"
    );
    assert_eq!(run(text, &["[1, 2]", "2"]), "[1.0, 2.0]");
}

#[test]
fn branches_give_sizes() {
    let text = "
fun f {n} (xs: [n]i32, c: bool): {m} ([m]i32, i64) =
  let {m} <ys: [m]i32, t: i64> = if c: {k} <[k]i32, i64> then
      {n} <xs, 1i64>
    else
      let {k2} zs: [k2]i32 = filter (\\(x: i32): bool -> let b: bool = x > 1i32 in b) xs
      in {k2} <zs, k2>
  let u: ([m]i32, i64) = (ys, t)
  in {m} u
entry main = f (xs: []i32, c: bool): ([]i32, i64)";
    assert_eq!(run(text, &["[1, 2, 3]", "true"]), "([1, 2, 3], 1)");
    assert_eq!(run(text, &["[1, 2, 3]", "false"]), "([2, 3], 2)");
}

#[test]
fn an_updated_array_leaves_the_old_one_alone() {
    let text = "
fun f {n} (xs: [n]i32): ([n]i32, [n]i32) =
  let ys: [n]i32 = xs with [0i64] = 9i32
  let zs: [n]i32 = ys with [1i64] = 8i32
  let t: ([n]i32, [n]i32) = (xs, zs)
  in t
entry main = f (xs: []i32): ([]i32, []i32)";
    assert_eq!(run(text, &["[1, 2, 3]"]), "([1, 2, 3], [9, 8, 3])");
    let kept_in_a_loop = "
fun f {n} (xs: [n]i32): ([n]i32, [n]i32) =
  let <a: [n]i32, b: [n]i32> = loop (a: [n]i32 = xs, b: [n]i32 = xs) for i: i64 < n do
    let v: i32 = b[i]
    let w: i32 = v * 10i32
    let a2: [n]i32 = a with [i] = w
    in <a2, a>
  let t: ([n]i32, [n]i32) = (a, b)
  in t
entry main = f (xs: []i32): ([]i32, []i32)";
    assert_eq!(run(kept_in_a_loop, &["[1, 2, 3]"]), "([10, 20, 30], [10, 20, 3])");
    let in_one_branch = "
fun f {n} (xs: [n]i32): [n]i32 =
  let a: [n]i32 = loop (a: [n]i32 = xs) for i: i64 < n do
    let x: i32 = a[i]
    let big: bool = x > 1i32
    let r: [n]i32 = if big: [n]i32 then
        let b: [n]i32 = a with [i] = 0i32
        in b
      else
        a
    in r
  in a
entry main = f (xs: []i32): []i32";
    assert_eq!(run(in_one_branch, &["[1, 2, 3, 1]"]), "[1, 0, 0, 1]");
}

#[test]
fn functions_call_each_other() {
    let text = "
fun is_even (n: i32): bool =
  let z: bool = n == 0i32
  let r: bool = if z: bool then
      true
    else
      let m: i32 = n - 1i32
      let r: bool = is_odd (m)
      in r
  in r

fun is_odd (n: i32): bool =
  let z: bool = n == 0i32
  let r: bool = if z: bool then
      false
    else
      let m: i32 = n - 1i32
      let r: bool = is_even (m)
      in r
  in r

entry main = is_even (n: i32): bool";
    assert_eq!(run(text, &["7"]), "false");
    assert_eq!(run(text, &["1000000"]), "true");
}

#[test]
fn nested_loops_and_maps() {
    let text = "
fun mm {n, m, k} (a: [n][m]f32, b: [m][k]f32): [n][k]f32 =
  let bt: [k][m]f32 = transpose b
  let c: [n][k]f32 = map (\\(row: [m]f32): [k]f32 ->
    let r: [k]f32 = map (\\(col: [m]f32): f32 ->
      let ps: [m]f32 = map (\\(x: f32, y: f32): f32 -> let p: f32 = x * y in p) row col
      let s: f32 = reduce (\\(a: f32, b: f32): f32 -> let c: f32 = a + b in c) 0.0f32 ps
      in s) bt
    in r) a
  in c
entry main = mm (a: [n][m]f32, b: [m][k]f32): [n][k]f32";
    assert_eq!(
        run(text, &["[[1, 2], [3, 4], [5, 6]]", "[[1, 0, 2], [0, 1, 3]]"]),
        "[[1.0, 2.0, 8.0], [3.0, 4.0, 18.0], [5.0, 6.0, 28.0]]"
    );
    assert_eq!(run(text, &["[]", "[[1, 0, 2], [0, 1, 3]]"]), "[]");
}

#[test]
fn traces_go_to_the_host() {
    use almach_core::interp::Host;
    use almach_value::{Extent, Value, ValueType, print};
    struct Log(Vec<String>);
    impl Host for Log {
        fn trace(&mut self, label: &str, value: &Value, ty: &ValueType) {
            self.0
                .push(format!("{label}: {}", print(value, ty, Extent::Full)));
        }
    }
    let text = "
data rec List = Nil | Cons i32 List
fun f {n} (xs: [n]i32): i32 =
  let ys: [n]i32 = map (\\(x: i32): i32 -> let y: i32 = trace \"x\" x in y) xs
  let e: List = new List Nil ()
  let l: List = new List Cons (1i32, e)
  let m: List = trace \"list\" l
  let p: ([n]i32, List) = (ys, m)
  let q: ([n]i32, List) = trace \"pair\" p
  in 0i32
entry main = f (xs: []i32): i32";
    let mut log = Log(Vec::new());
    crate::call_with(text, &["[1, 2]"], &mut log).unwrap();
    assert_eq!(
        log.0,
        ["x: 1", "x: 2", "list: Cons 1 Nil", "pair: ([1, 2], Cons 1 Nil)"]
    );
}

#[test]
fn foreign_functions_go_to_the_host() {
    use almach_core::ForeignDef;
    use almach_core::interp::{ForeignError, Host};
    use almach_value::Value;
    struct Blur;
    impl Host for Blur {
        fn foreign(&mut self, function: &ForeignDef, args: Vec<Value>) -> Result<Vec<Value>, ForeignError> {
            assert_eq!(function.name.as_str(), "chosen");
            let n = args.first().and_then(Value::as_i64).unwrap();
            Ok(vec![Value::from(vec![0.5f32; n as usize + 1])])
        }
    }
    let text = "
foreign chosen (n: i64): [?]f32
fun f (n: i64): i64 =
  let {k} zs: [k]f32 = ccall chosen (n)
  let l: i64 = length zs
  let s: i64 = l + k
  in s
entry main = f (n: i64): i64";
    let (_, value) = crate::call_with(text, &["4"], &mut Blur).unwrap();
    assert_eq!(value.as_i64(), Some(10));
    assert_eq!(
        crate::fails(text, &["4"]),
        "E0817: the foreign function `chosen` is not linked"
    );
}
