//! What runs where, on small programs of Imp.
#![allow(clippy::unwrap_used)]

use almach_device::{Place, Placed, place};
use almach_imp::interp::{Passed, run};
use almach_imp::{check, parse};
use almach_value::Scalar;
use expect_test::{Expect, expect};
use std::collections::HashSet;

fn placed(text: &str) -> Placed {
    let functions = HashSet::from(["halve".into()]);
    place(&check(parse(text).unwrap()).unwrap(), &[], &functions).unwrap()
}

fn becomes(text: &str, expected: Expect) {
    let placed = placed(text);
    expected.assert_eq(&placed.imp.program().to_string());
    // What it prints, the parser reads back.
    let again = check(parse(&placed.imp.program().to_string()).unwrap()).unwrap();
    assert_eq!(again.program().to_string(), placed.imp.program().to_string());
}

fn floats(values: &[f32]) -> Vec<Option<Scalar>> {
    values.iter().map(|value| Some(Scalar::F32(*value))).collect()
}

#[test]
fn parallel_loops_are_kernels_and_what_follows_them_is_one_work_item() {
    let text = "
proc main(n: i64, xs: read f32, out: out f32) {
  buffer tmp: f32
  alloc tmp[n]
  par for i < n {
    tmp[i] = xs[i] * xs[i]
  }
  var acc: f32 = 0.0f32
  for j < n {
    acc = acc + tmp[j]
  }
  free tmp
  out = acc
}
";
    becomes(
        text,
        expect![[r#"
            proc main(n: i64, xs: read f32, out: out f32) {
              buffer tmp: f32
              alloc tmp[n]
              fresh tmp
              kernel main_1 {
                par for group < (n + 1023)/1024 {
                  items for item: i32 < 256 {
                    if {1024*group + 1024} <= {n} {
                      let at: i64 = {1024*group + item}
                      let load: f32 = xs[at]
                      let load_2: f32 = xs[at + 256]
                      let load_3: f32 = xs[at + 512]
                      let load_4: f32 = xs[at + 768]
                      tmp[at] = load * load
                      tmp[at + 256] = load_2 * load_2
                      tmp[at + 512] = load_3 * load_3
                      tmp[at + 768] = load_4 * load_4
                    } else {
                      for each: i32 < 4 {
                        let i_2: i64 = {256*each + 1024*group + item}
                        if i_2 < {n} {
                          tmp[i_2] = xs[i_2] * xs[i_2]
                        }
                      }
                    }
                  }
                }
              }
              var acc: f32 = 0.0f32
              kernel main_2 {
                for j < n {
                  acc = acc + tmp[j]
                }
                out = acc
              }
              free tmp
            }
        "#]],
    );
    let xs = Passed::Buffer(floats(&[1.0, 2.0, 3.0]));
    let results = run(
        &placed(text).imp,
        "main",
        vec![Passed::Value(Scalar::I64(3)), xs, Passed::Out(None)],
    );
    assert_eq!(results.unwrap().pop(), Some(Passed::Out(Some(Scalar::F32(14.0)))));
}

#[test]
fn memory_of_iterations_is_allocated_for_all_of_them() {
    becomes(
        "
proc main(n: i64, m: i64, out: write f32) {
  par for i < n {
    buffer row: f32
    alloc row[m]
    for j < m {
      row[j] = 1.0f32
    }
    copy out[i*m] = row[0] for m
    free row
  }
}
",
        expect![[r#"
            proc main(n: i64, m: i64, out: write f32) {
              buffer row: global f32
              let row_cells: i64 = max({m*n}, 0i64)
              alloc row[row_cells]
              fresh row
              kernel main_1 {
                par for i < n {
                  for j < m {
                    row[j*n + i] = 1.0f32
                  }
                  for cell < m {
                    out[i*m + cell] = row[cell*n + i]
                  }
                }
              }
              free row
            }
        "#]],
    );
}

/// Sizes that differ between iterations, also of a loop inside: all have as much as the largest, which is found before.
#[test]
fn memory_that_varies_is_as_much_as_the_largest() {
    let text = r#"
proc main(n: i64, ns: read i64, out: write i64) {
  par for i < n {
    let m: i64 = ns[i]
    check m >= 0i64 else E0806("negative size {}" 0:0-0, m)
    var acc: i64 = 0i64
    for j < m {
      buffer row: i64
      alloc row[i + j]
      for k < i + j {
        row[k] = {k + m}
      }
      for l < i + j {
        acc = acc + row[l]
      }
      free row
    }
    out[i] = acc
  }
}
"#;
    let placed = placed(text);
    let hosts = placed
        .placements
        .iter()
        .filter(|one| matches!(one.place, Place::Host(_)));
    assert_eq!(hosts.count(), 0, "{}", placed.imp.program());
    let text = placed.imp.program().to_string();
    assert!(text.contains("{n*row_cells}"), "{text}");
    let numbers = |values: &[i64]| -> Vec<Option<Scalar>> {
        values.iter().map(|value| Some(Scalar::I64(*value))).collect()
    };
    let arguments = vec![
        Passed::Value(Scalar::I64(4)),
        Passed::Buffer(numbers(&[2, 0, 3, 1])),
        Passed::Buffer(vec![None; 4]),
    ];
    let mut results = run(&placed.imp, "main", arguments).unwrap();
    assert_eq!(results.pop(), Some(Passed::Buffer(numbers(&[2, 0, 37, 6]))));
}

/// What an iteration writes itself is not known before it runs.
#[test]
fn a_size_that_an_iteration_makes_is_the_hosts() {
    let text = "
proc main(n: i64, out: write i64) {
  par for i < n {
    buffer few: i64
    alloc few[2]
    few[0] = {i}
    let m: i64 = few[0]
    buffer row: i64
    alloc row[m]
    for k < m {
      row[k] = {k}
    }
    out[i] = select(m < 1i64, 0i64, row[m - 1])
    free row
    free few
  }
}
";
    let placed = placed(text);
    let varies =
        |place: &Place| matches!(place, Place::Host(why) if why.to_string().contains("size of its own"));
    assert!(
        placed.placements.iter().any(|one| varies(&one.place)),
        "{}",
        placed.imp.program()
    );
}

#[test]
fn chains_run_in_phases() {
    becomes(
        "
proc main(n: i64, xs: read i32, prefix: write i32, flag: write i32, out: write i32) {
  chain for c < n {
    var total: i32 = 0i32
    for j < 8 {
      total = total + xs[8*c + j]
    }
    var before: i32 = 0i32
    if c > 0i64 {
      await flag[c - 1], 1i32
      before = prefix[c - 1]
    }
    prefix[c] = before + total
    atomic release store flag[c], 1i32
    out[c] = before
  }
}
",
        expect![[r#"
            proc main(n: i64, xs: read i32, prefix: write i32, flag: write i32, out: write i32) {
              buffer total_saved: global i32
              let total_saved_cells: i64 = max({n}, 0i64)
              alloc total_saved[total_saved_cells]
              fresh total_saved
              buffer before_saved: global i32
              let before_saved_cells: i64 = max({n}, 0i64)
              alloc before_saved[before_saved_cells]
              fresh before_saved
              kernel main_1 {
                par for c_2 < n {
                  var total: i32 = 0i32
                  for j < 8 {
                    total = total + xs[8*c_2 + j]
                  }
                  total_saved[c_2] = total
                }
              }
              kernel main_2 {
                for c_3 < n {
                  let total_2: i32 = total_saved[c_3]
                  var before: i32 = 0i32
                  if c_3 > 0i64 {
                    before = prefix[c_3 - 1]
                  }
                  prefix[c_3] = before + total_2
                  before_saved[c_3] = before
                }
              }
              kernel main_3 {
                par for group < (n + 1023)/1024 {
                  items for item: i32 < 256 {
                    if {1024*group + 1024} <= {n} {
                      let at: i64 = {1024*group + item}
                      let before_2_2: i32 = before_saved[at]
                      out[at] = before_2_2
                      let before_2_3: i32 = before_saved[at + 256]
                      out[at + 256] = before_2_3
                      let before_2_4: i32 = before_saved[at + 512]
                      out[at + 512] = before_2_4
                      let before_2_5: i32 = before_saved[at + 768]
                      out[at + 768] = before_2_5
                    } else {
                      for each: i32 < 4 {
                        let c_4_2: i64 = {256*each + 1024*group + item}
                        if c_4_2 < {n} {
                          let before_2_6: i32 = before_saved[c_4_2]
                          out[c_4_2] = before_2_6
                        }
                      }
                    }
                  }
                }
              }
              free total_saved
              free before_saved
            }
        "#]],
    );
}

#[test]
fn the_host_fetches_what_it_works_on() {
    let text = "
proc twice(n: i64, xs: write f32) {
  for i < n {
    xs[i] = xs[i] + xs[i]
  }
}

proc main(n: i64, xs: read f32, out: write f32) {
  par for i < n {
    out[i] = xs[i]
  }
  call twice(n, buffer out[0])
}
";
    becomes(
        text,
        expect![[r#"
            proc twice(n: i64, xs: write f32) {
              for i < n {
                xs[i] = xs[i] + xs[i]
              }
            }

            proc main(n: i64, xs: read f32, out: write f32) {
              kernel main_1 {
                par for group < (n + 1023)/1024 {
                  items for item: i32 < 256 {
                    if {1024*group + 1024} <= {n} {
                      let at: i64 = {1024*group + item}
                      let load: f32 = xs[at]
                      let load_2: f32 = xs[at + 256]
                      let load_3: f32 = xs[at + 512]
                      let load_4: f32 = xs[at + 768]
                      out[at] = load
                      out[at + 256] = load_2
                      out[at + 512] = load_3
                      out[at + 768] = load_4
                    } else {
                      for each: i32 < 4 {
                        let i_2: i64 = {256*each + 1024*group + item}
                        if i_2 < {n} {
                          out[i_2] = xs[i_2]
                        }
                      }
                    }
                  }
                }
              }
              fetch write out
              call twice(n, buffer out[0])
            }
        "#]],
    );
    let hosts = placed(text);
    let on_host = hosts
        .placements
        .iter()
        .filter(|one| matches!(one.place, Place::Host(_)));
    assert_eq!(on_host.count(), 1);
}

#[test]
fn a_program_without_parallel_loops_has_no_kernels() {
    let text = "\
proc main(n: i64, xs: read f32, out: write f32) {
  for i < n {
    out[i] = xs[i]
  }
}
";
    assert_eq!(placed(text).imp.program().to_string(), text);
}

#[test]
fn memory_of_a_size_that_a_kernel_computes_waits_for_it() {
    becomes(
        "
proc main(n: i64, xs: read i64, out: write i64) {
  par for i < n {
    out[i] = xs[i]
  }
  let m: i64 = xs[0]
  for j < n {
    buffer tmp: i64
    alloc tmp[m]
    tmp[0] = xs[j]
    out[j] = tmp[0]
    free tmp
  }
}
",
        expect![[r#"
            proc main(n: i64, xs: read i64, out: write i64) {
              kernel main_1 {
                par for group < (n + 1023)/1024 {
                  items for item: i32 < 256 {
                    if {1024*group + 1024} <= {n} {
                      let at: i64 = {1024*group + item}
                      let load: i64 = xs[at]
                      let load_2: i64 = xs[at + 256]
                      let load_3: i64 = xs[at + 512]
                      let load_4: i64 = xs[at + 768]
                      out[at] = load
                      out[at + 256] = load_2
                      out[at + 512] = load_3
                      out[at + 768] = load_4
                    } else {
                      for each: i32 < 4 {
                        let i_2: i64 = {256*each + 1024*group + item}
                        if i_2 < {n} {
                          out[i_2] = xs[i_2]
                        }
                      }
                    }
                  }
                }
              }
              var m: i64
              kernel main_2 {
                m = xs[0]
              }
              buffer tmp: global i64
              let tmp_cells: i64 = max({m}, 0i64)
              alloc tmp[tmp_cells]
              fresh tmp
              kernel main_3 {
                for j < n {
                  tmp[0] = xs[j]
                  out[j] = tmp[0]
                }
              }
              free tmp
            }
        "#]],
    );
}

#[test]
fn procedures_that_a_kernel_calls_become_a_part_of_it() {
    becomes(
        "
proc row(i: i64, m: i64, xs: read f32, to: write f32, total: out f32) {
  var sum: f32 = 0.0f32
  for j < m {
    var h: f32
    call half(xs[j], out h)
    to[j] = xs[j] * 1.0f32
    sum = sum + h
  }
  total = sum
}
proc half(x: f32, out: out f32) {
  out = x / 2.0f32
}
proc main(n: i64, m: i64, xs: read f32, ys: write f32, sums: write f32) {
  par for i < n {
    var t: f32
    call row(i, m, buffer xs[m*i], buffer ys[m*i], out t)
    sums[i] = t
  }
}
",
        expect![[r#"
            proc row(i: i64, m: i64, xs: read f32, to: write f32, total: out f32) {
              var sum: f32 = 0.0f32
              for j < m {
                var h: f32
                call half(xs[j], out h)
                to[j] = xs[j] * 1.0f32
                sum = sum + h
              }
              total = sum
            }

            proc half(x: f32, out: out f32) {
              out = x / 2.0f32
            }

            proc main(n: i64, m: i64, xs: read f32, ys: write f32, sums: write f32) {
              kernel main_1 {
                par for i < n {
                  var t: f32
                  let xs_from: i64 = {i*m}
                  let to_from: i64 = {i*m}
                  var sum: f32 = 0.0f32
                  for j < m {
                    var h: f32
                    let x: f32 = xs[j + xs_from]
                    h = x / 2.0f32
                    ys[j + to_from] = xs[j + xs_from] * 1.0f32
                    sum = sum + h
                  }
                  t = sum
                  sums[i] = t
                }
              }
            }
        "#]],
    );
}

#[test]
fn procedures_that_call_themselves_are_the_hosts() {
    let text = "
proc down(n: i64, out: out i64) {
  if n < 1i64 {
    out = 0i64
  } else {
    var r: i64
    call down(n - 1i64, out r)
    out = r + 1i64
  }
}
proc main(n: i64, out: write i64) {
  par for i < n {
    var r: i64
    call down(i, out r)
    out[i] = r
  }
  par for j < n {
    out[j] = 1i64
  }
}
";
    let placements = placed(text).placements;
    let why = placements.iter().find_map(|one| match &one.place {
        Place::Host(why) => Some(why.to_string()),
        _ => None,
    });
    assert_eq!(why.unwrap(), "it calls `down`, which calls itself");
}

#[test]
fn kernels_call_the_c_functions_that_they_have() {
    let text = "
proc main(n: i64, xs: read f64, out: write f64) {
  par for i < n {
    var r: f64
    foreign \"(f64) -> f64\" halve(xs[i], out r)
    out[i] = r
  }
}
";
    let imp = placed(text).imp.program().to_string();
    assert!(imp.contains("kernel main_1"), "{imp}");
    let placed = placed(&text.replace("halve", "double"));
    let Some(Place::Host(why)) = placed.placements.first().map(|one| &one.place) else {
        panic!("{:?}", placed.placements);
    };
    assert!(why.to_string().contains("no version for kernels"));
}

#[test]
fn loops_for_work_items_are_a_group_that_meets_at_barriers() {
    let text = r"proc main(n: i64, xs: read f32, out: write f32) {
  par for g < n {
    buffer acc: f32
    alloc acc[8]
    buffer half: f32
    alloc half[4]
    items for i < 8 {
      acc[i] = xs[8*g + i]
    }
    for k < 3 {
      items for i_2 < 8 {
        acc[i_2] = acc[i_2] + 1.0f32
      }
    }
    items for i_3 < 4 {
      half[i_3] = acc[i_3] + acc[i_3 + 4]
    }
    free acc
    out[g] = half[0]
    free half
  }
}
";
    becomes(
        text,
        expect![[r#"
            proc main(n: i64, xs: read f32, out: write f32) {
              kernel main_1 {
                par for g < n {
                  buffer acc: local f32
                  alloc acc[8]
                  buffer half: local f32
                  alloc half[4]
                  items for item: i32 < 8 {
                    acc[item] = xs[8*g + item]
                    for k < 3 {
                      acc[item] = acc[item] + 1.0f32
                    }
                    barrier
                    if {item} < {4} {
                      half[item] = acc[item] + acc[item + 4]
                    }
                    barrier
                    if {item} == 0i64 {
                      out[g] = half[0]
                    }
                  }
                  free acc
                  free half
                }
              }
            }
        "#]],
    );
}

#[test]
fn a_buffer_of_own_cells_is_a_variable_and_nested_loops_are_one() {
    let text = r"proc main(n: i64, m: i64, xs: read f32, out: write f32) {
  par for g < n {
    buffer own: f32
    alloc own[8]
    items for i < 8 {
      own[i] = xs[8*g + i]
    }
    items for i_2 < 8 {
      out[8*g + i_2] = own[i_2]
    }
    free own
  }
  par for r < n {
    items for c < m {
      for k < 9 {
        out[m*r + c] = xs[m*r + c]
      }
    }
  }
}
";
    becomes(
        text,
        expect![[r#"
            proc main(n: i64, m: i64, xs: read f32, out: write f32) {
              kernel main_1 {
                par for g < n {
                  items for item: i32 < 8 {
                    var own: f32
                    own = xs[8*g + item]
                    out[8*g + item] = own
                  }
                }
              }
              kernel main_2 {
                par for cell < m*n {
                  for k < 9 {
                    out[cell] = xs[cell]
                  }
                }
              }
            }
        "#]],
    );
}
