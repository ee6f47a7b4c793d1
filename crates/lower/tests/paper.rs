//! The DPIA paper's own programs through every stage, as golden files: `UPDATE_EXPECT=1` writes them anew. Where the
//! paper's text slips, the files hold the corrected form; `docs/papers.md` lists each correction.

#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_imp::interp::run_entry;
use almach_lower::{Lowered, lower};
use almach_value::{ArrayValue, Buffer, Scalar, Value};
use expect_test::expect_file;

fn lowered(text: &str) -> Lowered {
    let program =
        almach_core::parse::parse_program(text, FileId(0)).unwrap_or_else(|error| panic!("{}", error.title));
    let checked = almach_core::check::check(program, "test")
        .unwrap_or_else(|error| panic!("{}", error.diagnostic.title));
    lower(&checked, &["main"]).unwrap_or_else(|errors| panic!("{}", errors[0].title))
}

fn floats(values: impl IntoIterator<Item = f32>) -> Value {
    Value::array(ArrayValue::scalars(Buffer::F32(values.into_iter().collect())))
}

fn dot_is(lowered: &Lowered, size: usize, expected: f32) {
    let arguments = [
        floats((0..size).map(|x| (x % 7) as f32)),
        floats((0..size).map(|x| (x % 3) as f32)),
    ];
    let result = run_entry(&lowered.imp, &lowered.entries[0], &arguments).unwrap();
    assert_eq!(result.as_scalar(), Some(Scalar::F32(expected)));
}

fn reference(size: usize) -> f32 {
    (0..size).map(|x| (x % 7) as f32 * (x % 3) as f32).sum()
}

/// Expression (1), section 2.1: parallel map, sequential reduce. Section 2.2 shows its stages.
const DOT_1: &str = r"
fun main {n} (xs: [n]f32, ys: [n]f32): f32 =
  let ps: [n]f32 = map@par (\(x: f32, y: f32): f32 -> let p: f32 = x * y in p) xs ys
  let s: f32 = reduceSeq (\(a: f32, b: f32): f32 -> let c: f32 = a + b in c) 0.0f32 ps
  in s
entry main = main (xs: [n]f32, ys: [n]f32): f32
";

#[test]
fn dot_product_1() {
    let lowered = lowered(DOT_1);
    expect_file!["golden/dot1.dpia"].assert_eq(&lowered.dpia.program().to_string());
    expect_file!["golden/dot1.loops.dpia"].assert_eq(&lowered.loops.program().to_string());
    expect_file!["golden/dot1.imp"].assert_eq(&lowered.imp.program().to_string());
    dot_is(&lowered, 1000, reference(1000));
}

/// Expression (2), section 2.1, for chunks of 4 by 3 elements: work-groups of local threads that each reduce a part.
const DOT_2: &str = r"
fun main {k} (xs: [12*k]f32, ys: [12*k]f32): f32 =
  let zs: [12*k](f32, f32) = zip xs ys
  let groups: [k][12](f32, f32) = split 12i64 zs
  let parts: [k][3]f32 = map@group (\(zs1: [12](f32, f32)): [3]f32 ->
    let rows: [3][4](f32, f32) = split 4i64 zs1
    let sums: [3]f32 = map@local (\(zs2: [4](f32, f32)): f32 ->
      let s: f32 = reduceSeq (\(a: f32, x: (f32, f32)): f32 ->
        let l: f32 = x.0
        let r: f32 = x.1
        let p: f32 = l * r
        let c: f32 = p + a
        in c) 0.0f32 zs2
      in s) rows
    in sums) groups
  let joined: [3*k]f32 = join parts
  let s: f32 = reduceSeq (\(a: f32, b: f32): f32 -> let c: f32 = a + b in c) 0.0f32 joined
  in s
fun padded {n} (xs: [n]f32, ys: [n]f32): f32 =
  let k: i64 = n / 12i64
  let as: [12*k]f32 = xs :> [12*k]f32
  let bs: [12*k]f32 = ys :> [12*k]f32
  let s: f32 = main {k} (as, bs)
  in s
entry main = padded (xs: [n]f32, ys: [n]f32): f32
";

#[test]
fn dot_product_2() {
    let lowered = lowered(DOT_2);
    expect_file!["golden/dot2.dpia"].assert_eq(&lowered.dpia.program().to_string());
    expect_file!["golden/dot2.loops.dpia"].assert_eq(&lowered.loops.program().to_string());
    expect_file!["golden/dot2.imp"].assert_eq(&lowered.imp.program().to_string());
    dot_is(&lowered, 96, reference(96));
}

/// The dot product of section 6.3, as far as a CPU has it: short vectors, work-groups, local threads.
const DOT_VECTORS: &str = r"
fun main {k} (xs: [24*k]f32, ys: [24*k]f32): [4*k*2]f32 =
  let vs: [6*k]vec 4 f32 = asVector 4i64 xs
  let ws: [6*k]vec 4 f32 = asVector 4i64 ys
  let zs: [6*k](vec 4 f32, vec 4 f32) = zip vs ws
  let groups: [k][6](vec 4 f32, vec 4 f32) = split 6i64 zs
  let parts: [k][2]vec 4 f32 = map@group (\(zs1: [6](vec 4 f32, vec 4 f32)): [2]vec 4 f32 ->
    let rows: [2][3](vec 4 f32, vec 4 f32) = split 3i64 zs1
    let sums: [2]vec 4 f32 = map@local (\(zs2: [3](vec 4 f32, vec 4 f32)): vec 4 f32 ->
      let first: vec 4 f32 = vs[0i64]
      let zero: vec 4 f32 = first - first
      let s: vec 4 f32 = reduceSeq (\(a: vec 4 f32, x: (vec 4 f32, vec 4 f32)): vec 4 f32 ->
        let l: vec 4 f32 = x.0
        let r: vec 4 f32 = x.1
        let p: vec 4 f32 = l * r
        let c: vec 4 f32 = p + a
        in c) zero zs2
      in s) rows
    in sums) groups
  let joined: [2*k]vec 4 f32 = join parts
  let scalars: [8*k]f32 = asScalar joined
  in scalars
fun checked {n} (xs: [n]f32, ys: [n]f32): f32 =
  let k: i64 = n / 24i64
  let as: [24*k]f32 = xs :> [24*k]f32
  let bs: [24*k]f32 = ys :> [24*k]f32
  let parts: [8*k]f32 = main {k} (as, bs)
  let s: f32 = reduceSeq (\(a: f32, b: f32): f32 -> let c: f32 = a + b in c) 0.0f32 parts
  in s
entry main = checked (xs: [n]f32, ys: [n]f32): f32
";

#[test]
fn dot_product_of_vectors() {
    let lowered = lowered(DOT_VECTORS);
    expect_file!["golden/dot_vectors.loops.dpia"].assert_eq(&lowered.loops.program().to_string());
    expect_file!["golden/dot_vectors.imp"].assert_eq(&lowered.imp.program().to_string());
    dot_is(&lowered, 96, reference(96));
}

/// The two programs of section 6.4, before and after hoisting an allocation out of a parallel loop: they check and agree.
#[test]
fn hoisting_of_section_6_4() {
    use almach_dpia::interp::{Block, Step, run};
    use almach_dpia::{check_program, parse_program};
    let before = include_str!("golden/hoisting_before.dpia");
    let after = include_str!("golden/hoisting_after.dpia");
    let filled = |count: i64| {
        let mut block = Block::default();
        for at in 0..count {
            block.set(&[Step::At(at)], Scalar::F32((at % 5) as f32)).unwrap();
        }
        block
    };
    let results: Vec<_> = [before, after]
        .into_iter()
        .map(|text| {
            let checked =
                check_program(parse_program(text).unwrap()).unwrap_or_else(|error| panic!("{error}"));
            run(&checked, "dots", &[3], &[filled(24), filled(24)]).unwrap_or_else(|error| panic!("{error}"))
        })
        .collect();
    assert_eq!(results[0], results[1]);
}

/// FUNMEM, Figure 13: Figure 7 (`mem/tests/golden/figure_7.mem`) in Imp. What the paper calls `zmem` and `zsize` is the result that the
/// caller gets; each branch makes its own block, and nothing is copied.
#[test]
fn figure_13_of_funmem() {
    let text = include_str!("../../mem/tests/golden/figure_2.core");
    let lowered = lowered(text);
    expect_file!["golden/figure_13.imp"].assert_eq(&lowered.imp.program().to_string());
    for (condition, size) in [(true, 3), (false, 5)] {
        let arguments = [
            Value::Scalar(Scalar::Bool(condition)),
            Value::Scalar(Scalar::I64(3)),
            Value::Scalar(Scalar::I64(5)),
        ];
        let result = run_entry(&lowered.imp, &lowered.entries[0], &arguments).unwrap();
        let expected = Value::array(ArrayValue::scalars(Buffer::I64((0..size).collect())));
        assert!(almach_value::same(&result, &expected));
    }
}
