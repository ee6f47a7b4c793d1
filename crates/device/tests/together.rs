//! What iterations do together: stencils away from their edges, rounds of loops, local memory that is used again.
#![allow(clippy::unwrap_used)]

use almach_device::place;
use almach_imp::interp::{Passed, run};
use almach_imp::{Checked, check, parse};
use almach_value::Scalar;
use expect_test::expect;
use std::collections::HashSet;

fn parsed(text: &str) -> Checked {
    check(parse(text).unwrap()).unwrap()
}

fn placed(imp: &Checked) -> Checked {
    place(imp, &[], &HashSet::new()).unwrap().imp
}

/// Runs a program that writes its last argument, as it is and with kernels.
fn agrees(imp: &Checked, arguments: &[Passed]) {
    let [plain, kernels] = [imp, &placed(imp)].map(|imp| run(imp, "main", arguments.to_vec()).unwrap());
    assert_eq!(plain, kernels);
}

fn numbers(count: i64, number: impl Fn(i64) -> i64) -> Passed {
    Passed::Buffer((0..count).map(|i| Some(Scalar::I64(number(i)))).collect())
}

fn size(count: i64) -> Passed {
    Passed::Value(Scalar::I64(count))
}

fn unwritten(count: i64) -> Passed {
    Passed::Buffer(vec![None; count as usize])
}

#[test]
fn a_stencil_asks_for_its_edges_once_for_a_group() {
    let imp = parsed(
        "
proc main(n: i64, xs: read i64, ys: write i64) {
  par for i < n {
    if ({i} == 0i64) | ({i} == {n - 1}) {
      ys[i] = xs[i]
    } else {
      let before: i64 = max({i - 1}, 0i64)
      ys[i] = xs[before] + xs[i + 1]
    }
  }
}
",
    );
    let expected = expect![[r#"
        proc main(n: i64, xs: read i64, ys: write i64) {
          kernel main_1 {
            par for group < (n + 1023)/1024 {
              items for item: i32 < 256 {
                if ((({1024*group + 1024} <= {n}) & ({0} < {1024*group})) & ({1024*group + 1023} < {n - 1})) & ({0} < {1024*group - 1}) {
                  let at: i64 = {1024*group + item}
                  let load: i64 = xs[at - 1]
                  let load_2: i64 = xs[at + 1]
                  let load_3: i64 = xs[at + 255]
                  let load_4: i64 = xs[at + 257]
                  let load_5: i64 = xs[at + 511]
                  let load_6: i64 = xs[at + 513]
                  let load_7: i64 = xs[at + 767]
                  let load_8: i64 = xs[at + 769]
                  ys[at] = load + load_2
                  ys[at + 256] = load_3 + load_4
                  ys[at + 512] = load_5 + load_6
                  ys[at + 768] = load_7 + load_8
                } else {
                  for each: i32 < 4 {
                    let i_2: i64 = {256*each + 1024*group + item}
                    if i_2 < {n} {
                      if ({i_2} == 0i64) | ({i_2} == {n - 1}) {
                        ys[i_2] = xs[i_2]
                      } else {
                        let before_6: i64 = max({i_2 - 1}, 0i64)
                        ys[i_2] = xs[before_6] + xs[i_2 + 1]
                      }
                    }
                  }
                }
              }
            }
          }
        }
    "#]];
    expected.assert_eq(&placed(&imp).program().to_string());
    for count in [1, 2, 1023, 1024, 1025, 2049, 5000] {
        let arguments = [size(count), numbers(count, |i| i * i), unwritten(count)];
        agrees(&imp, &arguments);
    }
}

#[test]
fn a_grid_of_three_dimensions_has_tiles_of_its_planes() {
    let imp = parsed(
        "
proc main(n: i64, m: i64, k: i64, xs: read i64, ys: write i64) {
  par for h < n {
    items for i < m {
      items for j < k {
        if (({h} == 0i64) | ({i} == 0i64)) | ({j} == {k - 1}) {
          ys[h*m*k + i*k + j] = {j}
        } else {
          ys[h*m*k + i*k + j] = (xs[h*m*k - m*k + i*k + j] + xs[h*m*k + i*k - k + j]) + xs[h*m*k + i*k + j + 1]
        }
      }
    }
  }
}
",
    );
    let text = placed(&imp).program().to_string();
    assert!(text.contains("to_u32(group) / to_u32(tiles)"), "{text}");
    for [n, m, k] in [[2, 8, 16], [3, 70, 97], [4, 33, 64], [2, 3, 4]] {
        let count = n * m * k;
        let arguments = [
            size(n),
            size(m),
            size(k),
            numbers(count, |i| i * 7),
            unwritten(count),
        ];
        agrees(&imp, &arguments);
    }
}

#[test]
fn rounds_of_a_loop_are_done_eight_at_a_time() {
    let imp = parsed(
        "
proc main(n: i64, xs: read i64, ys: write i64) {
  par for i < n {
    var x: i64 = 0i64
    var k: i32 = 0i32
    var next: i64
    var go: bool = true
    while go {
      go = (k < 50i32) & (x < (xs[0] + {i}))
      if go {
        next = x + 3i64
        x = next
        k = k + 1i32
      }
    }
    if k > 0i32 {
      x = x + next
    }
    ys[i] = x
  }
}
",
    );
    // A condition that reads memory is none to ask too often.
    let reading = placed(&imp).program().to_string();
    assert!(!reading.contains("_before"), "{reading}");
    let text = imp.program().to_string().replace("xs[0] + {i}", "{i} + 0i64");
    let imp = parsed(&text);
    let expected = expect![[r#"
        proc main(n: i64, xs: read i64, ys: write i64) {
          kernel main_1 {
            par for i < n {
              var x: i64 = 0i64
              var k: i32 = 0i32
              var next: i64
              var go: bool = true
              while go {
                let k_before: i32 = k
                let x_before: i64 = x
                var all: bool = (k < 50i32) & (x < ({i} + 0i64))
                let next_2: i64 = x + 3i64
                x = next_2
                k = k + 1i32
                all = all & (x < ({i} + 0i64))
                let next_3: i64 = x + 3i64
                x = next_3
                k = k + 1i32
                all = all & (x < ({i} + 0i64))
                let next_4: i64 = x + 3i64
                x = next_4
                k = k + 1i32
                all = all & (x < ({i} + 0i64))
                let next_5: i64 = x + 3i64
                x = next_5
                k = k + 1i32
                all = all & (x < ({i} + 0i64))
                let next_6: i64 = x + 3i64
                x = next_6
                k = k + 1i32
                all = all & (x < ({i} + 0i64))
                let next_7: i64 = x + 3i64
                x = next_7
                k = k + 1i32
                all = all & (x < ({i} + 0i64))
                let next_8: i64 = x + 3i64
                x = next_8
                k = k + 1i32
                all = (all & (k < 50i32)) & (x < ({i} + 0i64))
                let next_9: i64 = x + 3i64
                x = next_9
                k = k + 1i32
                if not(all) {
                  k = k_before
                  x = x_before
                  while go {
                    go = (k < 50i32) & (x < ({i} + 0i64))
                    if go {
                      next = x + 3i64
                      x = next
                      k = k + 1i32
                    }
                  }
                } else {
                  next = next_9
                }
              }
              if k > 0i32 {
                x = x + next
              }
              ys[i] = x
            }
          }
        }
    "#]];
    expected.assert_eq(&placed(&imp).program().to_string());
    agrees(&imp, &[size(200), numbers(1, |_| 0), unwritten(200)]);
}

#[test]
fn local_memory_is_used_again_behind_a_barrier() {
    let imp = parsed(
        "
proc main(n: i64, xs: read i64, ys: write i64) {
  par for g < n {
    buffer a: i64
    alloc a[16]
    items for l < 16 {
      a[l] = xs[16*g + l]
    }
    buffer b: i64
    alloc b[8]
    items for l2 < 8 {
      b[l2] = a[l2] + a[l2 + 8]
    }
    buffer c: i64
    alloc c[4]
    items for l3 < 4 {
      c[l3] = b[l3] + b[l3 + 4]
    }
    ys[g] = (c[0] + c[1]) + (c[2] + c[3])
    free c
    free b
    free a
  }
}
",
    );
    let text = placed(&imp).program().to_string();
    assert_eq!(text.matches("buffer ").count(), 2, "{text}");
    agrees(&imp, &[size(3), numbers(48, |i| i * i), unwritten(3)]);
}
