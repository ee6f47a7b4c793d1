//! The border: arguments in, results out.

use crate::{fails, interpreter, run};
use almach_value::{Value, same};

const TWO: &str = "
fun f {n, m} (xs: [n]f32, ys: [n]f32, zss: [n][m]i32, k: i64, ws: [k + 1]i32): (i64, i64) =
  let t: (i64, i64) = (n, m)
  in t
entry main = f (xs: [n]f32, ys: [n]f32, zss: [n][m]i32, k: i64, ws: []i32): (i64, i64)";

#[test]
fn sizes_are_solved_from_arguments() {
    assert_eq!(
        run(
            TWO,
            &["[1, 2]", "[3, 4]", "[[1, 2, 3], [4, 5, 6]]", "1", "[1, 2]"]
        ),
        "(2, 3)"
    );
    assert_eq!(run(TWO, &["[]", "[]", "[]", "0", "[1]"]), "(0, 0)");
}

#[test]
fn disagreeing_sizes_name_the_argument() {
    let interpreter = interpreter(TWO);
    let args = |ys: Vec<f32>, ws: Vec<i32>| {
        let rows =
            almach_value::parse("[[1], [2]]", &interpreter.entry("main").unwrap().params[2].1).unwrap();
        vec![vec![1.0f32, 2.0].into(), ys.into(), rows, 1i64.into(), ws.into()]
    };
    let error = interpreter.call("main", args(vec![1.0], vec![1, 2])).unwrap_err();
    assert_eq!(error.code.0, "E0805");
    assert_eq!(error.message, "argument `ys` has size 1 where 2 is expected");
    assert_eq!(error.notes, ["`n` is 2 by argument `xs`"]);
    let error = interpreter
        .call("main", args(vec![1.0, 2.0], vec![1]))
        .unwrap_err();
    assert_eq!(error.message, "argument `ws` has size 1 where 2 is expected");
}

#[test]
fn rows_that_are_not_there_take_the_size_of_others() {
    let text = "
fun f {n, m} (xss: [n][m]i32, ys: [m]i32): [m][n]i32 =
  let t: [m][n]i32 = transpose xss
  in t
entry main = f (xss: [][m]i32, ys: [m]i32): [][]i32";
    assert_eq!(run(text, &["[]", "[1, 2]"]), "[[], []]");
}

#[test]
fn results_are_one_value() {
    let text = "
fun f (x: i32): <i32, bool> =
  let y: i32 = x + 1i32
  in <y, true>
entry main = f (x: i32): {next: i32, fine: bool}";
    assert_eq!(run(text, &["1"]), "{next = 2, fine = true}");
    let none = "
fun f (x: i32): () =
  let u: () = ()
  in u
entry main = f (x: i32): ()";
    assert_eq!(run(none, &["1"]), "()");
}

#[test]
fn wrong_calls() {
    let interpreter = interpreter(TWO);
    assert_eq!(
        interpreter.call("other", vec![]).unwrap_err().message,
        "there is no entry `other`"
    );
    let error = interpreter.call("main", vec![]).unwrap_err();
    assert_eq!(
        (error.code.0, error.message.as_str()),
        ("E0906", "`main` takes 5 arguments, found 0")
    );
    let id = "
fun f {n} (xs: [n]f32): [n]f32 = xs
entry main = f (xs: []f32): []f32";
    let interpreter = crate::interpreter(&id.replace("= xs\n", "=\n  let ys: [n]f32 = xs\n  in ys\n"));
    let error = interpreter.call("main", vec![vec![1i32].into()]).unwrap_err();
    assert_eq!(error.code.0, "E0907");
    assert_eq!(
        error.message,
        "argument `xs` is not of type `[]f32`: expected elements of type f32, found elements of type i32"
    );
    let arg: Value = vec![f32::NAN, -0.0].into();
    assert!(same(&interpreter.call("main", vec![arg.clone()]).unwrap(), &arg));
}

#[test]
fn a_program_runs_again_and_again() {
    let text = "
fun f {n} (xs: [n]i32): [n]i32 =
  let ys: [n]i32 = xs with [0i64] = 5i32
  in ys
entry main = f (xs: []i32): []i32";
    let interpreter = interpreter(text);
    let arg: Value = vec![1i32, 2].into();
    for _ in 0..3 {
        let value = interpreter.call("main", vec![arg.clone()]).unwrap();
        assert!(same(&value, &vec![5i32, 2].into()));
    }
    assert!(same(&arg, &vec![1i32, 2].into()), "arguments stay");
    assert_eq!(
        fails(text, &["[]"]),
        "E0801: index 0 is out of bounds for an array of size 0"
    );
}
