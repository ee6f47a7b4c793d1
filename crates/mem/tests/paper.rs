//! The paper's examples (FUNMEM), in our notation.

#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_core::check::check as check_core;
use almach_core::parse::parse_program;
use almach_mem::check::check;
use almach_mem::passes::{Layout, Log, expand};
use almach_mem::{Annotated, annotated_to_string, introduce};
use expect_test::{Expect, expect};

fn introduced(text: &str) -> Annotated {
    let core = parse_program(text, FileId(0)).unwrap();
    let core = check_core(core, "test").unwrap();
    introduce(core.into_inner())
}

fn shows(program: &Annotated, expected: &Expect) {
    check(program).unwrap();
    expected.assert_eq(&annotated_to_string(program));
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
";

#[test]
fn figure_7_is_figure_2_with_memory() {
    shows(
        &introduced(FIGURE_2),
        &expect![[r#"
        fun figure @{out out_mem: i64 = zarr_mem} (zcond: bool, xsize: i64, ysize: i64): {n} [n]i64 =
          let @{zarr_mem: i64 = x_mem | y_mem} {zsize} zarr: [zsize]i64 @ zarr_mem -> 0 + {(zsize : 1)} = if zcond: {m} [m]i64 then
            let x_mem: mem = alloc i64 (xsize)
            let x: [xsize]i64 @ x_mem -> 0 + {(xsize : 1)} = iota@E xsize
            in {xsize} x
          else
            let y_mem: mem = alloc i64 (ysize)
            let y: [ysize]i64 @ y_mem -> 0 + {(ysize : 1)} = iota@E ysize
            in {ysize} y
          in {zsize} zarr
    "#]],
    );
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
";
    shows(
        &introduced(text),
        &expect![[r#"
        fun layouts @{xss_mem: f32, xss_offset, xss_stride, xss_stride_10, yss_mem: f32, yss_offset, yss_stride, yss_stride_14, out out_mem: f32 = alloc (n*m)} {n, m} (c: bool, xss: [n][m]f32 @ xss_mem -> xss_offset + {(n : xss_stride), (m : xss_stride_10)}, yss: [m][n]f32 @ yss_mem -> yss_offset + {(m : yss_stride), (n : yss_stride_14)}): [n][m]f32 =
          let @{zss_mem: f32 = xss_mem | yss_mem, zss_offset = xss_offset | yss_offset, zss_stride = xss_stride | yss_stride_14, zss_stride_18 = xss_stride_10 | yss_stride} zss: [n][m]f32 @ zss_mem -> zss_offset + {(n : zss_stride), (m : zss_stride_18)} = if c: [n][m]f32 then xss
          else
            let t: [n][m]f32 @ yss_mem -> yss_offset + {(n : yss_stride_14), (m : yss_stride)} = transpose yss
            in t
          in zss
    "#]],
    );
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
";

#[test]
fn expansion_keeps_each_iteration_together() {
    let program = expand(introduced(EXPANSION), Layout::Apart, &mut Log::default());
    shows(
        &program,
        &expect![[r#"
        fun kernel @{xss_mem: f32, xss_offset, xss_stride, xss_stride_17, out out_mem: f32 = zs_mem} {n, m} (xss: [n][m]f32 @ xss_mem -> xss_offset + {(n : xss_stride), (m : xss_stride_17)}): [n]f32 =
          let zs_mem: mem = alloc f32 (n)
          let t_mem: mem = alloc f32 (n*m)
          let @{for i} zs: [n]f32 @ zs_mem -> 0 + {(n : 1)} = map@par (\(xs: [m]f32 @ xss_mem -> xss_stride*i + xss_offset + {(m : xss_stride_17)}): f32 ->
            let @{for i_19} t: [m]f32 @ t_mem -> m*i + {(m : 1)} = scan@seq (\(a: f32, b: f32): f32 ->
              let c: f32 = a + b
              in c) 0.0f32 xs
            let u: [m]f32 @ t_mem -> m*i + m - 1 + {(m : -1)} = reverse t
            let @{for i_21} z: f32 = reduce@seq (\(a_11: f32, b_12: f32): f32 ->
              let c_13: f32 = a_11 * b_12
              in c_13) 1.0f32 u
            in z) xss
          in zs
    "#]],
    );
}

#[test]
fn expansion_interleaves_iterations() {
    let program = expand(introduced(EXPANSION), Layout::Interleaved, &mut Log::default());
    shows(
        &program,
        &expect![[r#"
        fun kernel @{xss_mem: f32, xss_offset, xss_stride, xss_stride_17, out out_mem: f32 = zs_mem} {n, m} (xss: [n][m]f32 @ xss_mem -> xss_offset + {(n : xss_stride), (m : xss_stride_17)}): [n]f32 =
          let zs_mem: mem = alloc f32 (n)
          let t_mem: mem = alloc f32 (n*m)
          let @{for i} zs: [n]f32 @ zs_mem -> 0 + {(n : 1)} = map@par (\(xs: [m]f32 @ xss_mem -> xss_stride*i + xss_offset + {(m : xss_stride_17)}): f32 ->
            let @{for i_19} t: [m]f32 @ t_mem -> i + {(m : n)} = scan@seq (\(a: f32, b: f32): f32 ->
              let c: f32 = a + b
              in c) 0.0f32 xs
            let u: [m]f32 @ t_mem -> n*m - n + i + {(m : -n)} = reverse t
            let @{for i_21} z: f32 = reduce@seq (\(a_11: f32, b_12: f32): f32 ->
              let c_13: f32 = a_11 * b_12
              in c_13) 1.0f32 u
            in z) xss
          in zs
    "#]],
    );
}
