//! The paper's examples (FUNMEM), in our notation, as golden files: `UPDATE_EXPECT=1` writes them anew. Each is checked by the rules,
//! and run on blocks and by value. Figure 13, which is Imp, is in `lower/tests/paper.rs`. Where the paper slips, the files hold
//! the corrected form; `docs/papers.md` lists each correction.

#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_core::Program;
use almach_core::check::check as check_core;
use almach_core::parse::parse_program;
use almach_core::print::{Spans, program_to_string};
use almach_mem::check::{check, check_final};
use almach_mem::heap::{Heap, Validity};
use almach_mem::passes::{Layout, Log, expand};
use almach_mem::{Annotated, annotated_to_string, introduce};
use almach_value::{ArrayValue, Buffer, Scalar, Value};
use expect_test::{ExpectFile, expect_file};
use std::sync::Arc;

fn introduced(text: &str) -> Annotated {
    let core = parse_program(text, FileId(0)).unwrap();
    let core = check_core(core, "test").unwrap();
    introduce(core.into_inner())
}

/// The text of a program, which keeps the rules and is valid for these arguments (Definition 3.1).
fn shows(program: &Annotated, arguments: &[Value], expected: &ExpectFile) {
    check(program).unwrap();
    let heap = Heap::new(program).unwrap();
    let validity = heap.validity("main", arguments.to_vec(), 10_000);
    assert!(matches!(validity, Validity::Valid(_)), "{validity:?}");
    expected.assert_eq(&annotated_to_string(program));
}

fn core_text(program: &Program) -> String {
    program_to_string(program, Spans::Omit)
}

fn int(value: i64) -> Value {
    Value::Scalar(Scalar::I64(value))
}

fn vector(count: usize) -> Value {
    let cells = (0..count).map(|at| (at % 5) as f32);
    Value::array(ArrayValue::scalars(Buffer::F32(cells.collect())))
}

fn matrix(rows: usize, row: usize) -> Value {
    let cells = (0..rows * row).map(|at| (at % 5) as f32);
    let cells = ArrayValue::scalars(Buffer::F32(cells.collect()));
    Value::array(ArrayValue::rows(rows, row, Arc::new(cells)).unwrap())
}

/// Figure 2. (The paper binds `x` in both branches, and returns `y` from the second.)
const FIGURE_2: &str = "
fun figure (zcond: bool, xsize: i64, ysize: i64): {n} [n]i64 =
  let {zsize} zarr: [zsize]i64 = if zcond: {m} [m]i64 then
    let x: [xsize]i64 = iota@E xsize
    in {xsize} x
  else
    let y: [ysize]i64 = iota@E ysize
    in {ysize} y
  in {zsize} zarr
entry main = figure (zcond: bool, xsize: i64, ysize: i64): []i64
";

#[test]
fn figure_7_is_figure_2_with_memory() {
    let program = introduced(FIGURE_2);
    expect_file!["golden/figure_2.core"].assert_eq(&core_text(&program.core));
    for condition in [true, false] {
        let arguments = [Value::Scalar(Scalar::Bool(condition)), int(3), int(5)];
        shows(&program, &arguments, &expect_file!["golden/figure_7.mem"]);
    }
    // Figure 9: without its memory it is Figure 2 again.
    expect_file!["golden/figure_2.core"].assert_eq(&core_text(&program.erase()));
}

/// Branches that differ in layout: the parts of the descriptor are handed on.
#[test]
fn branches_of_different_layouts() {
    let text = "
fun layouts {n, m} (c: bool, xss: [n][m]f32, yss: [m][n]f32): [n][m]f32 =
  let zss: [n][m]f32 = if c: [n][m]f32 then xss
    else
      let t: [n][m]f32 = transpose yss
      in t
  in zss
entry main = layouts (c: bool, xss: [n][m]f32, yss: [m][n]f32): [n][m]f32
";
    for condition in [true, false] {
        let arguments = [Value::Scalar(Scalar::Bool(condition)), matrix(2, 3), matrix(3, 2)];
        shows(&introduced(text), &arguments, &expect_file!["golden/layouts.mem"]);
    }
}

/// Section 5.
const EXPANSION: &str = "
fun kernel {n, m} (xss: [n][m]f32): [n]f32 =
  let zs: [n]f32 = map@par (\\(xs: [m]f32): f32 ->
    let t: [m]f32 = scan@seq (\\(a: f32, b: f32): f32 -> let c: f32 = a + b in c) 0.0f32 xs
    let u: [m]f32 = reverse t
    let z: f32 = reduce@seq (\\(a: f32, b: f32): f32 -> let c: f32 = a * b in c) 1.0f32 u
    in z) xss
  in zs
entry main = kernel (xss: [n][m]f32): [n]f32
";

#[test]
fn expansion_keeps_each_iteration_together_or_interleaves_them() {
    let program = introduced(EXPANSION);
    expect_file!["golden/expansion.core"].assert_eq(&core_text(&program.core));
    let arguments = [matrix(3, 4)];
    shows(&program, &arguments, &expect_file!["golden/expansion_before.mem"]);
    for (layout, expected) in [
        (Layout::Apart, expect_file!["golden/expansion_cpu.mem"]),
        (Layout::Interleaved, expect_file!["golden/expansion_gpu.mem"]),
    ] {
        let expanded = expand(program.clone(), layout, &mut Log::default());
        shows(&expanded, &arguments, &expected);
    }
}

/// Section 5 for sizes that vary by iteration, which the paper leaves out: each has room for the one that needs the most.
const VARYING: &str = "
fun triangle {n} (xs: [n]f32): [n]f32 =
  let is: [n]i64 = iota n
  let zs: [n]f32 = map@par (\\(i: i64): f32 ->
    let m: i64 = i + 1i64
    let ys: [m]f32 = take m xs
    let t: [m]f32 = scan@seq (\\(a: f32, b: f32): f32 -> let c: f32 = a + b in c) 0.0f32 ys
    let z: f32 = reduce@seq (\\(a: f32, b: f32): f32 -> let c: f32 = a * b in c) 1.0f32 t
    in z) is
  in zs
entry main = triangle (xs: [n]f32): [n]f32
";

#[test]
fn iterations_of_several_sizes_have_room_for_the_largest() {
    let program = introduced(VARYING);
    let arguments = [vector(5)];
    shows(&program, &arguments, &expect_file!["golden/varying_before.mem"]);
    for (layout, expected) in [
        (Layout::Apart, expect_file!["golden/varying_cpu.mem"]),
        (Layout::Interleaved, expect_file!["golden/varying_gpu.mem"]),
    ] {
        let expanded = expand(program.clone(), layout, &mut Log::default());
        shows(&expanded, &arguments, &expected);
        check_final(&expanded).unwrap();
        let text = annotated_to_string(&expanded);
        assert!(text.contains("let t_mem: mem = alloc f32 (n*n)"), "{text}");
    }
}

/// DPIA, section 6.4 (8 elements for the paper's 1024): `tmp` inside the parallel loop becomes `n` rows outside, and the uses of it
/// row `i`. That is expansion with the layout of CPUs. As Dpia, the two are `lower/tests/golden/hoisting_*.dpia`.
const HOISTING: &str = "
fun dots {k} (xs: [k]f32, ys: [k]f32): {m} [m]f32 =
  let n: i64 = k / 8i64
  let as: [8*n]f32 = xs :> [8*n]f32
  let bs: [8*n]f32 = ys :> [8*n]f32
  let xss: [n][8]f32 = split 8i64 as
  let yss: [n][8]f32 = split 8i64 bs
  let out: [n]f32 = map@grid (\\(x: [8]f32, y: [8]f32): f32 ->
    let tmp: [8]f32 = map@seq (\\(a: f32, b: f32): f32 -> let c: f32 = a * b in c) x y
    let accum: f32 = reduce@seq (\\(a: f32, b: f32): f32 -> let c: f32 = a + b in c) 0.0f32 tmp
    in accum) xss yss
  in {n} out
entry main = dots (xs: [k]f32, ys: [k]f32): []f32
";

#[test]
fn hoisting_of_dpia_is_expansion() {
    let program = introduced(HOISTING);
    let arguments = [vector(24), vector(24)];
    shows(&program, &arguments, &expect_file!["golden/hoisting_before.mem"]);
    let hoisted = expand(program, Layout::Apart, &mut Log::default());
    shows(&hoisted, &arguments, &expect_file!["golden/hoisting_after.mem"]);
    // `newGlobal (n × 1024).num tmp'` and `idx tmp' i`, where n is k/8.
    let text = annotated_to_string(&hoisted);
    assert!(text.contains("let tmp_mem: mem = alloc f32 (8*(k/8))"), "{text}");
    assert!(
        text.contains("tmp: [8]f32 @ tmp_mem -> 8*i + {(8 : 1)}"),
        "{text}"
    );
}
