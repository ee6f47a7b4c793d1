//! Rows of stores: which kernels work on them, and which of them the host gets.
#![allow(clippy::unwrap_used)]

use almach_device::{Place, Placed, Why, place};
use almach_imp::interp::{Passed, run};
use almach_imp::{check, parse};
use almach_value::Scalar;
use expect_test::{Expect, expect};
use std::collections::HashSet;

fn placed(text: &str) -> Placed {
    place(&check(parse(text).unwrap()).unwrap(), &[], &HashSet::new()).unwrap()
}

fn becomes(text: &str, expected: Expect) {
    let program = placed(text).imp.program().to_string();
    expected.assert_eq(&program);
    // What it prints, the parser reads back.
    let again = check(parse(&program).unwrap()).unwrap();
    assert_eq!(again.program().to_string(), program);
}

fn numbers(values: &[i64]) -> Passed {
    Passed::Buffer(values.iter().map(|value| Some(Scalar::I64(*value))).collect())
}

/// What `main` makes of some numbers.
fn result(text: &str, xs: &[i64]) -> Passed {
    let length = Passed::Value(Scalar::I64(xs.len() as i64));
    let arguments = vec![length, numbers(xs), Passed::Out(None)];
    run(&placed(text).imp, "main", arguments).unwrap().pop().unwrap()
}

const FILLED: &str = "
store S(S$tag: u32, S$table: settled i64, S$0: i64)

proc main(n: i64, xs: read i64, out: out i64) {
  reserve first = S[n]
  par for i < n {
    S$table[first + i] = 1i64
    S$0[first + i] = xs[i]
  }
  out = S$0[first + 1] + S$table[first]
}
";

#[test]
fn rows_are_written_by_kernels_and_the_host_gets_single_ones() {
    becomes(
        FILLED,
        expect![[r#"
        store S(S$tag: u32, S$table: settled i64, S$0: i64)

        proc main(n: i64, xs: read i64, out: out i64) {
          reserve first = S[n]
          kernel main_1 {
            par for group < (n + 1023)/1024 {
              items for item: i32 < 256 {
                if {1024*group + 1024} <= {n} {
                  for each: i32 < 4 {
                    let i: i64 = {256*each + 1024*group + item}
                    S$table[first + i] = 1i64
                    S$0[first + i] = xs[i]
                  }
                } else {
                  for each_2: i32 < 4 {
                    let i_2: i64 = {256*each_2 + 1024*group + item}
                    if i_2 < {n} {
                      S$table[first + i_2] = 1i64
                      S$0[first + i_2] = xs[i_2]
                    }
                  }
                }
              }
            }
          }
          fetch read S$0[first + 1]
          fetch read S$table[first]
          out = S$0[first + 1] + S$table[first]
        }
    "#]],
    );
    assert_eq!(result(FILLED, &[5, 6, 7]), Passed::Out(Some(Scalar::I64(7))));
}

const MADE: &str = "
store S(S$tag: u32, S$table: settled i64, S$0: i64)

proc main(n: i64, xs: read i64, out: out i64) {
  buffer made: i64
  alloc made[n]
  par for i < n {
    var row: i64 = 0i64
    if xs[i] > 0i64 {
      reserve cell = S[2]
      S$0[cell] = xs[i]
      S$0[cell + 1] = i
      row = cell
    } else {
      reserve other = S[1]
      S$0[other] = xs[i] * 2i64
      row = other
    }
    for j < 3 {
      reserve more = S[1]
      S$0[more] = j
    }
    made[i] = row
  }
  let last: i64 = made[n - 1]
  out = S$0[last]
  free made
}
";

#[test]
fn rows_that_iterations_make_are_reserved_before() {
    becomes(
        MADE,
        expect![[r#"
        store S(S$tag: u32, S$table: settled i64, S$0: i64)

        proc main(n: i64, xs: read i64, out: out i64) {
          buffer made: i64
          alloc made[n]
          fresh made
          let cell_rows_count: i64 = max({2*n}, 0i64)
          reserve cell_rows = S[cell_rows_count]
          let other_rows_count: i64 = max({n}, 0i64)
          reserve other_rows = S[other_rows_count]
          let more_rows_count: i64 = max({3*n}, 0i64)
          reserve more_rows = S[more_rows_count]
          kernel main_1 {
            par for i < n {
              var row: i64 = 0i64
              if xs[i] > 0i64 {
                S$0[cell_rows + 2*i] = xs[i]
                S$0[cell_rows + 2*i + 1] = i
                row = {cell_rows + 2*i}
              } else {
                S$0[i + other_rows] = xs[i] * 2i64
                row = {i + other_rows}
              }
              for j < 3 {
                S$0[3*i + j + more_rows] = j
              }
              made[i] = row
            }
          }
          var last: i64
          kernel main_2 {
            last = made[n - 1]
          }
          fetch read S$0[last]
          out = S$0[last]
          free made
        }
    "#]],
    );
    assert_eq!(result(MADE, &[-1, 8]), Passed::Out(Some(Scalar::I64(8))));
    assert_eq!(result(MADE, &[8, -1]), Passed::Out(Some(Scalar::I64(-2))));
}

#[test]
fn rows_of_unknown_number_and_tables_are_the_hosts() {
    let varying = "
store S(S$0: i64)

proc main(n: i64, xs: read i64, out: out i64) {
  par for i < n {
    let m: i64 = xs[i]
    reserve first = S[m]
    for j < m {
      S$0[first + j] = i
    }
  }
  out = n
}
";
    let tables = "
store S(S$table: settled i64)

proc main(n: i64, xs: read i64, out: out i64) {
  par for i < n {
    let row: i64 = xs[i]
    S$table[row] = 1i64
  }
  out = n
}
";
    let walk = "
store S(S$0: i64)

proc main(n: i64, xs: read i64, out: out i64) {
  reserve first = S[n]
  par for i < n {
    S$0[first + i] = first + xs[i]
  }
  var at: i64 = first
  for j < n {
    at = S$0[at]
  }
  out = at - first
}
";
    for (text, why) in [
        (varying, Why::MakesCells),
        (tables, Why::MakesTables),
        (walk, Why::Walks),
    ] {
        let placements = placed(text).placements;
        assert!(
            placements.iter().any(|one| one.place == Place::Host(why.clone())),
            "{placements:?}"
        );
    }
    assert_eq!(result(walk, &[2, 0, 1]), Passed::Out(Some(Scalar::I64(0))));
}
