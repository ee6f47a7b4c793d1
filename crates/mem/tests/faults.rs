//! Plans that are broken on purpose, as text: each is caught by the rule that is there for it, or, where no rule can see it, by the
//! comparison of the two semantics.

#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_core::check::check as check_core;
use almach_core::parse::parse_program;
use almach_mem::check::{check, check_final};
use almach_mem::heap::{Heap, Validity};
use almach_mem::{Annotated, annotated_to_string, introduce, parse_annotated};
use almach_value::{ArrayValue, Buffer, Scalar, Value};
use std::sync::Arc;

const FIGURE_7: &str = include_str!("golden/figure_7.mem");
const CPU: &str = include_str!("golden/expansion_cpu.mem");
const GPU: &str = include_str!("golden/expansion_gpu.mem");

fn broken(text: &str, changes: &[(&str, &str)]) -> Annotated {
    let mut text = text.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "`{from}` is not in\n{text}");
        text = text.replace(from, to);
    }
    parse_annotated(&text, FileId(0)).unwrap_or_else(|error| panic!("{}\n{text}", error.title))
}

/// The first rule that a plan breaks.
fn rule(program: &Annotated) -> Option<String> {
    let found = check(program).and_then(|()| check_final(program));
    found.err().map(|broken| broken.rule.to_string())
}

#[track_caller]
fn breaks(expected: &str, text: &str, changes: &[(&str, &str)]) {
    assert_eq!(rule(&broken(text, &[])), None, "the plan is right before");
    assert_eq!(rule(&broken(text, changes)).as_deref(), Some(expected));
}

#[test]
fn each_rule_catches_its_fault() {
    // A block of one branch is handed on by the other.
    breaks("MEM-01", FIGURE_7, &[("x_mem | y_mem", "y_mem | y_mem")]);
    // One block for two branches.
    breaks("MEM-07", FIGURE_7, &[("= x_mem | y_mem", "= x_mem")]);
    // A descriptor of another shape.
    breaks("MEM-03", FIGURE_7, &[("0 + {(xsize : 1)}", "0 + {(ysize : 1)}")]);
    // A block of other scalars.
    breaks("MEM-04", FIGURE_7, &[("alloc i64 (xsize)", "alloc i32 (xsize)")]);
    // A reversal that is where its operand is, the same way round.
    breaks("MEM-05", CPU, &[("m*i + m - 1 + {(m : -1)}", "m*i + {(m : 1)}")]);
    // Rows that begin one cell later than they do.
    breaks(
        "MEM-06",
        CPU,
        &[("xss_mem -> m*i + {(m : 1)}", "xss_mem -> m*i + 1 + {(m : 1)}")],
    );
    // A block that is too small.
    breaks("MEM-08", CPU, &[("alloc f32 (n*m)", "alloc f32 (n*m - 1)")]);
    // All elements in one cell.
    breaks(
        "MEM-09",
        CPU,
        &[("zs_mem -> 0 + {(n : 1)}", "zs_mem -> 0 + {(n : 0)}")],
    );
}

#[test]
fn iterations_that_meet_are_caught() {
    // All iterations have the first part.
    let same = [
        ("t_mem -> m*i + {", "t_mem -> 0 + {"),
        ("t_mem -> m*i + m - 1 + {", "t_mem -> m - 1 + {"),
    ];
    breaks("MEM-10", CPU, &same);
    // Parts that overlap by one cell.
    let overlapping = [
        ("alloc f32 (n*m)", "alloc f32 (n*m + n)"),
        ("t_mem -> m*i + {", "t_mem -> m*i - i + {"),
        ("t_mem -> m*i + m - 1 + {", "t_mem -> m*i - i + m - 1 + {"),
    ];
    breaks("MEM-10", CPU, &overlapping);
    // Interleaved with the stride of a part.
    let stride = [
        ("t_mem -> i + {(m : n)}", "t_mem -> i + {(m : 1)}"),
        (
            "t_mem -> n*m - n + i + {(m : -n)}",
            "t_mem -> m - 1 + i + {(m : -1)}",
        ),
    ];
    assert!(rule(&broken(GPU, &stride)).is_some());
}

/// The plan of a program before any pass, as text.
fn planned(text: &str) -> String {
    let core = check_core(parse_program(text, FileId(0)).unwrap(), "test").unwrap();
    annotated_to_string(&introduce(core.into_inner()))
}

const SHIFTED: &str = "
fun shifted {n} (k: i64, xs: [n]i64): {m} [m]i64 =
  let a: [n]i64 = scan@seq (\\(x: i64, y: i64): i64 -> let s: i64 = x + y in s) 0i64 xs
  let l: i64 = n - 1i64
  let b: [n - 1]i64 = slice a[1i64:l:1i64]
  let c: [n - 1]i64 = map@par (\\(x: i64): i64 -> let y: i64 = x * 2i64 in y) b
  in {l} c
entry main = shifted (k: i64, xs: [n]i64): []i64
";

fn numbers() -> Vec<Value> {
    let xs = ArrayValue::scalars(Buffer::I64(vec![3, 1, 2, 5]));
    vec![Value::Scalar(Scalar::I64(0)), Value::Array(Arc::new(xs))]
}

/// Each iteration writes the cell that the one before it reads: no statement alone is wrong.
#[test]
fn a_write_over_a_neighbours_read_is_caught() {
    let text = planned(SHIFTED);
    let changes = [
        ("out_mem: i64 = c_mem", "out_mem: i64 = alloc (n - 1)"),
        ("@ c_mem", "@ a_mem"),
    ];
    breaks("MEM-11", &text, &changes);
    let program = broken(&text, &changes);
    let validity = Heap::new(&program).unwrap().validity("main", numbers(), 1000);
    assert!(matches!(validity, Validity::Invalid(_)), "{validity:?}");
    // Each in its own cell, which it reads before it writes.
    let changes = [
        ("out_mem: i64 = c_mem", "out_mem: i64 = alloc (n - 1)"),
        ("@ c_mem -> 0 +", "@ a_mem -> 1 +"),
    ];
    assert_eq!(rule(&broken(&text, &changes)), None);
}

const LIVE: &str = "
fun live {n} (k: i64, xs: [n]i64): i64 =
  let a: [n]i64 = scan@seq (\\(x: i64, y: i64): i64 -> let s: i64 = x + y in s) 0i64 xs
  let b: [n]i64 = scan@seq (\\(x: i64, y: i64): i64 -> let s: i64 = x * y in s) 1i64 xs
  let s: i64 = reduce@seq (\\(x: i64, y: i64): i64 -> let s: i64 = x + y in s) 0i64 a
  let t: i64 = reduce@seq (\\(x: i64, y: i64): i64 -> let s: i64 = x + y in s) s b
  in t
entry main = live (k: i64, xs: [n]i64): i64
";

/// Blocks that are merged while both are needed: caught by the rule, and by the heap.
#[test]
fn a_merge_past_a_live_read_is_caught() {
    let text = planned(LIVE);
    let changes = [("@ b_mem", "@ a_mem")];
    breaks("MEM-12", &text, &changes);
    is_invalid(&text, &changes);
}

/// A plan whose value the heap finds wrong, or whose run it stops.
#[track_caller]
fn is_invalid(text: &str, changes: &[(&str, &str)]) {
    let validity = |program: &Annotated| Heap::new(program).unwrap().validity("main", numbers(), 1000);
    let right = validity(&broken(text, &[]));
    assert!(matches!(right, Validity::Valid(_)), "{right:?}");
    let wrong = validity(&broken(text, changes));
    assert!(matches!(wrong, Validity::Invalid(_)), "{wrong:?}");
}

/// `a`, and then what `statement` makes of it, of which `then` is the value.
fn after_a(statement: &str, then: &str) -> String {
    planned(&format!(
        "
fun after {{n}} (k: i64, xs: [n]i64): i64 =
  let a: [n]i64 = scan@seq (\\(x: i64, y: i64): i64 -> let s: i64 = x + y in s) 0i64 xs
  {statement}
  {then}
entry main = after (k: i64, xs: [n]i64): i64
"
    ))
}

const SUM_OF_B: &str = "let t: i64 = reduceSeq (\\(x: i64, y: i64): i64 -> let s: i64 = x + y in s) k b
  in t";
const B_AND_A: &str = "let u: i64 = a[k]
  let v: i64 = b[k]
  let t: i64 = u + v
  in t";

/// A statement that reads cells after it has overwritten them.
#[test]
fn a_statement_that_reads_what_it_overwrites_is_caught() {
    let in_a = [("@ b_mem", "@ a_mem")];
    let scan = "let b: [n]i64 = scan@seq (\\(x: i64, y: i64): i64 -> let s: i64 = x + y in s) 0i64 a";
    breaks("MEM-12", &after_a(scan, SUM_OF_B), &in_a);
    let backwards = "let r: [n]i64 = reverse a
  let b: [n]i64 = map@seq (\\(x: i64): i64 -> let y: i64 = x * 3i64 in y) r";
    breaks("MEM-12", &after_a(backwards, SUM_OF_B), &in_a);
    is_invalid(&after_a(backwards, SUM_OF_B), &in_a);
    let at_once = backwards.replace("map@seq", "map@par");
    breaks("MEM-11", &after_a(&at_once, SUM_OF_B), &in_a);
    let view = "let r: [n]i64 = rotate k a
  let b: [n]i64 = map@seq (\\(x: i64): i64 -> let y: i64 = x * 3i64 in y) r";
    breaks("MEM-12", &after_a(view, SUM_OF_B), &in_a);
    let first = "let b: [n]i64 = map@seq (\\(x: i64): i64 -> let f: i64 = a[k] let y: i64 = x * f in y) a";
    breaks("MEM-12", &after_a(first, SUM_OF_B), &in_a);
    is_invalid(&after_a(first, SUM_OF_B), &in_a);
    // Each element is read before it is overwritten.
    let each = "let b: [n]i64 = map@seq (\\(x: i64): i64 -> let y: i64 = x * 3i64 in y) a";
    assert_eq!(rule(&broken(&after_a(each, SUM_OF_B), &in_a)), None);
    // But not where the old ones are needed later.
    breaks("MEM-12", &after_a(each, B_AND_A), &in_a);
    is_invalid(&after_a(each, B_AND_A), &in_a);
}

/// What is derived from an array has its elements from when that was made, not from when it was derived.
#[test]
fn a_write_before_a_derivation_is_caught() {
    let text = after_a(
        "let b: [n]i64 = map@seq (\\(x: i64): i64 -> let y: i64 = x * 3i64 in y) a
  let r: [n]i64 = reverse a",
        "let u: i64 = r[k]
  let v: i64 = b[k]
  let t: i64 = u + v
  in t",
    );
    let in_a = [("@ b_mem", "@ a_mem")];
    breaks("MEM-12", &text, &in_a);
    is_invalid(&text, &in_a);
}

/// A view is where the arrays are that it looks at: what is written beside them leaves it alone.
#[test]
fn a_view_is_where_its_arrays_are() {
    let text = after_a(
        "let w: [2*n]i64 = concat@seq@S a a
  let b: [3*n]i64 = concat@seq w a",
        SUM_OF_B,
    );
    let behind = ("a_mem -> 0 + {(n : 1)}", "b_mem -> 2*n + {(n : 1)}");
    let alloc = ("  let b_mem: mem = alloc i64 (3*n)\n", "");
    let first = (
        "let a_mem: mem = alloc i64 (n)",
        "let b_mem: mem = alloc i64 (3*n)",
    );
    assert_eq!(rule(&broken(&text, &[alloc, first, behind])), None);
    let before = (behind.0, "b_mem -> n + {(n : 1)}");
    breaks("MEM-12", &text, &[alloc, first, before]);
}

/// An update in place, of something that is read later: only of the cells that it leaves alone.
#[test]
fn an_update_past_a_live_read_is_caught() {
    let update = "let b: [n]i64 = a with [k] = 7i64";
    let in_a = [("@ b_mem", "@ a_mem")];
    let text = after_a(update, B_AND_A);
    breaks("MEM-12", &text, &in_a);
    is_invalid(&text, &in_a);
    let others = B_AND_A.replace("a[k]", "a[l]");
    let text = after_a(&format!("let l: i64 = k + 1i64\n  {update}"), &others);
    assert_eq!(rule(&broken(&text, &in_a)), None);
}

/// What an update leaves as it is must still be there: something else, which starts where the new part does, is written before.
#[test]
fn a_write_over_what_an_update_leaves_is_caught() {
    let text = after_a(
        "let c: [n]i64 = map@seq (\\(x: i64): i64 -> let y: i64 = x * 3i64 in y) xs
  let q: [1]i64 = slice xs[0i64:1i64:1i64]
  let p: [1]i64 = map@seq (\\(x: i64): i64 -> let y: i64 = x * 5i64 in y) q
  let b: [n]i64 = a with [0i64:1i64:1i64] = p",
        SUM_OF_B,
    );
    let in_a = [("@ b_mem", "@ a_mem")];
    assert_eq!(rule(&broken(&text, &in_a)), None);
    let over = [("@ b_mem", "@ a_mem"), ("@ c_mem", "@ a_mem")];
    breaks("MEM-12", &text, &over);
    is_invalid(&text, &over);
}
