//! The dot product through every stage.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use almach_base::FileId;
use almach_imp::interp::{Passed, run};
use almach_lower::lower;
use almach_value::Scalar;

const DOT: &str = r"
fun dot {n} (xs: [n]f32, ys: [n]f32): f32 =
  let ps: [n]f32 = map@par (\(x: f32, y: f32): f32 ->
    let p: f32 = x * y
    in p) xs ys
  let s: f32 = reduce (\(a: f32, b: f32): f32 -> let c: f32 = a + b in c) 0.0f32 ps
  in s
entry dot = dot (xs: [n]f32, ys: [n]f32): f32
";

#[test]
fn dot_product_goes_through_every_stage() {
    let program = almach_core::parse::parse_program(DOT, FileId(0)).unwrap();
    let checked = almach_core::check::check(program, "test").unwrap();
    let lowered = lower(&checked, &["dot"]).unwrap_or_else(|errors| panic!("{errors:?}"));
    println!(
        "{}\n{}\n{}",
        lowered.dpia.program(),
        lowered.loops.program(),
        lowered.imp.program()
    );
    let floats = |values: &[f32]| Passed::Buffer(values.iter().map(|v| Some(Scalar::F32(*v))).collect());
    let size = || Passed::Value(Scalar::I64(3));
    let arguments = vec![
        size(),
        floats(&[1.0, 2.0, 3.0]),
        size(),
        floats(&[4.0, 5.0, 6.0]),
        Passed::Out(None),
    ];
    let results =
        run(&lowered.imp, &lowered.entries[0].proc, arguments).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(results[4], Passed::Out(Some(Scalar::F32(32.0))));
}
