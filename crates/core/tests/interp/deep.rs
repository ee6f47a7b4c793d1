//! Depth and size: recursion to a million, in place updates, memory limits.

use crate::{fails, interpreter, run};
use almach_core::interp::Limits;
use almach_value::Value;

const SUM: &str = "
fun total (n: i64): i64 =
  let z: bool = n == 0i64
  let r: i64 = if z: i64 then
      0i64
    else
      let m: i64 = n - 1i64
      let s: i64 = total (m)
      let t: i64 = s + n
      in t
  in r
";

#[test]
fn recursion_to_a_million() {
    let plain = format!("{SUM}entry main = total (n: i64): i64");
    assert_eq!(run(&plain, &["1000000"]), "500000500000");
    let in_map = format!(
        "{SUM}
fun f {{n}} (xs: [n]i64): [n]i64 =
  let ys: [n]i64 = map (\\(x: i64): i64 -> let y: i64 = total (x) in y) xs
  in ys
entry main = f (xs: []i64): []i64"
    );
    assert_eq!(
        run(&in_map, &["[1000000, 3, 1000000]"]),
        "[500000500000, 6, 500000500000]"
    );
    // A map inside the recursion, with arrays alive in every frame.
    let through_map = "
fun f (n: i64): i64 =
  let z: bool = n == 0i64
  let r: i64 = if z: i64 then
      0i64
    else
      let m: i64 = n - 1i64
      let xs: [1]i64 = array i64 [m]
      let ys: [1]i64 = map (\\(x: i64): i64 -> let y: i64 = f (x) in y) xs
      let y: i64 = ys[0i64]
      let w: i64 = xs[0i64]
      let s: i64 = y + w
      in s
  in r
entry main = f (n: i64): i64";
    assert_eq!(run(through_map, &["200000"]), "19999900000");
}

#[test]
fn tail_calls_need_no_frames() {
    let text = "
fun count (n: i64, s: i64): i64 =
  let z: bool = n == 0i64
  let r: i64 = if z: i64 then
      s
    else
      let m: i64 = n - 1i64
      let t: i64 = s + 2i64
      let r: i64 = count (m, t)
      in r
  in r
entry main = count (n: i64, s: i64): i64";
    let interpreter = interpreter(text).with_limits(Limits {
        depth: 10,
        ..Limits::default()
    });
    let value = interpreter
        .call("main", vec![3_000_000i64.into(), 0i64.into()])
        .unwrap();
    assert_eq!(value.as_i64(), Some(6_000_000));
}

#[test]
fn the_depth_is_a_setting() {
    let plain = format!("{SUM}entry main = total (n: i64): i64");
    let limited = interpreter(&plain).with_limits(Limits {
        depth: 1000,
        ..Limits::default()
    });
    assert_eq!(
        limited.call("main", vec![999i64.into()]).unwrap().as_i64(),
        Some(499_500)
    );
    let error = limited.call("main", vec![5000i64.into()]).unwrap_err();
    assert_eq!(error.code.0, "E0813");
    assert_eq!(error.message, "recursion deeper than 1000");
    assert_eq!(
        error.notes,
        ["called by way of total < total < total < total < total < total < total < total < 993 more"]
    );
    // Without end, but for memory.
    let endless = "
fun f (n: i64): i64 =
  let m: i64 = n + 1i64
  let r: i64 = f (m)
  let s: i64 = r + 1i64
  in s
entry main = f (n: i64): i64";
    let limited = interpreter(endless).with_limits(Limits {
        stack_bytes: 64 << 20,
        ..Limits::default()
    });
    assert_eq!(
        limited.call("main", vec![0i64.into()]).unwrap_err().code.0,
        "E0813"
    );
}

#[test]
fn a_long_list_is_built_walked_and_freed() {
    let text = "
data rec List = Nil | Cons i64 List
fun up (n: i64): List =
  let e: List = new List Nil ()
  let l: List = loop (l: List = e) for i: i64 < n do
    let c: List = new List Cons (i, l)
    in c
  in l
fun total (l: List): i64 =
  let s: i64 = case l: i64 of
    | Nil () -> 0i64
    | Cons (h: i64, t: List) ->
      let r: i64 = total (t)
      let s: i64 = h + r
      in s
    end
  in s
fun f (n: i64): (i64, i64) =
  let l: List = up (n)
  let s: i64 = total (l)
  let {c} table: [c]#List = nodes l
  let t: (i64, i64) = (s, c)
  in t
entry main = f (n: i64): (i64, i64)";
    assert_eq!(run(text, &["1000000"]), "(499999500000, 1000001)");
}

#[test]
fn updates_in_a_loop_are_in_place() {
    // Quadratic copying of a million elements would take hours.
    let text = "
fun f (n: i64): i64 =
  let zero: [n]i64 = replicate n 0i64
  let a: [n]i64 = loop (a: [n]i64 = zero) for i: i64 < n do
    let even: i64 = i % 2i64
    let c: bool = even == 0i64
    let b: [n]i64 = if c: [n]i64 then
        let v: i64 = a[i]
        let w: i64 = v + i
        let b: [n]i64 = a with [i] = w
        in b
      else
        let b: [n]i64 = a with [i] = 1i64
        in b
    in b
  let s: i64 = reduce (\\(a: i64, b: i64): i64 -> let c: i64 = a + b in c) 0i64 a
  in s
entry main = f (n: i64): i64";
    assert_eq!(run(text, &["1000000"]), "250000000000");
    let through_calls = "
fun put {n} (a: [n]i64, i: i64): [n]i64 =
  let b: [n]i64 = a with [i] = i
  in b
fun f (n: i64): i64 =
  let zero: [n]i64 = replicate n 0i64
  let <a: [n]i64, k: i64> = loop (a: [n]i64 = zero, k: i64 = 0i64) while
      let c: bool = k < n
      in c
    do
      let b: [n]i64 = put {n} (a, k)
      let j: i64 = k + 1i64
      in <b, j>
  let l: i64 = n - 1i64
  let x: i64 = a[l]
  in x
entry main = f (n: i64): i64";
    assert_eq!(run(through_calls, &["300000"]), "299999");
    let matrix = "
fun f (n: i64): i64 =
  let row: [n]i64 = replicate n 0i64
  let zero: [n][n]i64 = replicate n row
  let a: [n][n]i64 = loop (a: [n][n]i64 = zero) for i: i64 < n do
    let b: [n][n]i64 = loop (b: [n][n]i64 = a) for j: i64 < n do
      let x: i64 = i * j
      let c: [n][n]i64 = b with [i, j] = x
      in c
    in b
  let l: i64 = n - 1i64
  let x: i64 = a[l, l]
  in x
entry main = f (n: i64): i64";
    assert_eq!(run(matrix, &["500"]), "249001");
}

#[test]
fn huge_sizes_are_refused_before_anything_is_touched() {
    let iota = "
fun f (n: i64): i64 =
  let xs: [n]i64 = iota n
  let l: i64 = length xs
  in l
entry main = f (n: i64): i64";
    assert_eq!(
        fails(iota, &["1152921504606846976"]),
        "E0812: not enough memory for 1152921504606846976 elements"
    );
    let map = "
fun f {n} (m: i64, xs: [n]i64): i64 =
  let yss: [n][m]i64 = map (\\(x: i64): [m]i64 -> let r: [m]i64 = replicate m x in r) xs
  let l: i64 = length yss
  in l
entry main = f (m: i64, xs: []i64): i64";
    assert_eq!(
        fails(map, &["4611686018427387904", "[1, 2]"]),
        "E0812: not enough memory for 2 elements"
    );
    let jagged = "
fun f {n} (xs: [n]i64): i64 =
  let yss: [n][?]i64 = map (\\(x: i64): [x]i64 -> let r: [x]i64 = replicate x 0i64 in r) xs
  let l: i64 = length yss
  in l
entry main = f (xs: []i64): i64";
    let limited = interpreter(jagged).with_limits(Limits {
        array_bytes: 1 << 20,
        ..Limits::default()
    });
    let arg = Value::from(vec![100_000i64, 100_000]);
    assert_eq!(limited.call("main", vec![arg]).unwrap_err().code.0, "E0812");
}

#[test]
fn deeply_nested_branches() {
    // Lowering recurses over nesting; the compiler's threads have the stack for it.
    let depth = 2000;
    let mut text = String::from("fun f (x: i32): i32 =\n");
    for level in 0..depth {
        text.push_str(&format!("let c{level}: bool = x == {level}i32\nlet r{level}: i32 = if c{level}: i32 then {level}i32 else\n"));
    }
    text.push_str("-1i32\n");
    for level in (0..depth).rev() {
        text.push_str(&format!("in r{level}\n"));
    }
    text.push_str("entry main = f (x: i32): i32");
    let run_it = move || {
        assert_eq!(run(&text, &["1999"]), "1999");
        assert_eq!(run(&text, &["7"]), "7");
        assert_eq!(run(&text, &["-3"]), "-1");
    };
    std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(run_it)
        .unwrap()
        .join()
        .unwrap();
}
