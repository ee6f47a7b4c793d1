//! Arrays of rows of their own lengths in blocks: where they begin, and their elements. As golden files (`UPDATE_EXPECT=1` writes them
//! anew), checked by the rules, run on blocks and by value, printed and read back, and broken on purpose.

#![allow(clippy::unwrap_used)]

use almach_base::FileId;
use almach_core::check::check as check_core;
use almach_core::parse::parse_program;
use almach_mem::check::{check, check_final};
use almach_mem::heap::{Heap, Validity};
use almach_mem::passes::{Log, STANDARD, run};
use almach_mem::{Annotated, annotated_to_string, introduce, parse_annotated};
use almach_value::{ArrayValue, Buffer, Elements, RowLengths, Scalar, Value};
use expect_test::expect_file;
use std::sync::Arc;

const ROWS: &str = "
fun rows {n} (c: bool, xss: [n][?]i64): {t} <[n][?]i64, [t]i64> =
  let yss: [n][?]i64 = map@par (\\{k} (xs: [k]i64): {q} [q]i64 ->
    let {taken} ys: [taken]i64 = filter@seq (\\(x: i64): bool -> let p: bool = x > 1i64 in p) xs
    in {taken} ys) xss
  let zss: [n][?]i64 = if c: [n][?]i64 then xss else yss
  let {total} flat: [total]i64 = flatten zss
  let offsets: [n + 1]i64 = segments zss
  let more: [total]i64 = map@par (\\(x: i64): i64 -> let y: i64 = x + 1i64 in y) flat
  let wss: [n][?]i64 = unflatten offsets more
  let {count} all: [count]i64 = flatten yss
  let some: [count]i64 = all with [0i64] = 7i64
  in {count} <wss, some>
entry main = rows (c: bool, xss: [n][?]i64): ([n][?]i64, []i64)
";

fn argument() -> Value {
    let cells = ArrayValue::scalars(Buffer::I64(vec![1, 2, 3, 4, 0, 6]));
    Value::array(ArrayValue {
        len: 3,
        elements: Elements::Jagged {
            lengths: RowLengths {
                offsets: vec![0, 3, 3, 6],
            },
            inner: Arc::new(cells),
        },
    })
}

fn introduced(text: &str) -> Annotated {
    let core = parse_program(text, FileId(0)).unwrap();
    introduce(check_core(core, "test").unwrap().into_inner())
}

fn planned(text: &str) -> Annotated {
    run(introduced(text), STANDARD, &mut Log::default()).unwrap()
}

/// Why a plan is wrong: a rule, or a run of it.
fn fault(program: &Annotated) -> Option<String> {
    if let Err(broken) = check(program).and_then(|()| check_final(program)) {
        return Some(broken.rule.to_string());
    }
    let heap = Heap::new(program).unwrap();
    [true, false].into_iter().find_map(|condition| {
        let arguments = vec![Value::Scalar(Scalar::Bool(condition)), argument()];
        match heap.validity("main", arguments, 10_000) {
            Validity::Valid(_) => None,
            other => Some(format!("{other:?}")),
        }
    })
}

#[test]
fn rows_have_places() {
    let program = introduced(ROWS);
    assert_eq!(fault(&program), None);
    expect_file!["golden/rows.mem"].assert_eq(&annotated_to_string(&program));
}

#[test]
fn what_is_printed_is_read_back() {
    for program in [introduced(ROWS), planned(ROWS)] {
        let text = annotated_to_string(&program);
        let again =
            parse_annotated(&text, FileId(0)).unwrap_or_else(|error| panic!("{}\n{text}", error.title));
        assert_eq!(annotated_to_string(&again), text);
        assert_eq!(fault(&again), None);
    }
}

/// `flatten`, `segments` and `unflatten` make nothing, and the elements of rows that are dead are updated in place.
#[test]
fn elements_are_updated_where_the_rows_had_them() {
    let program = planned(ROWS);
    assert_eq!(fault(&program), None);
    let text = annotated_to_string(&program);
    assert!(text.contains("some: [count]i64 @ yss_mem -> 0"), "{text}");
    assert!(text.contains("wss: [n][?]i64 @ rows zss_segments"), "{text}");
}

fn breaks(expected: &str, changes: &[(&str, &str)]) {
    let mut text = annotated_to_string(&introduced(ROWS));
    for (from, to) in changes {
        assert!(text.contains(from), "`{from}` is not in\n{text}");
        text = text.replace(from, to);
    }
    let program = parse_annotated(&text, FileId(0)).unwrap_or_else(|error| panic!("{}\n{text}", error.title));
    let found = fault(&program).unwrap_or_default();
    assert!(found.contains(expected), "{expected}: {found}\n{text}");
}

#[test]
fn faults_of_rows_are_caught() {
    // One number too few for where rows begin.
    breaks(
        "MEM-03",
        &[(
            "rows yss_segments -> 0 + {(n + 1 : 1)}",
            "rows yss_segments -> 0 + {(n : 1)}",
        )],
    );
    // Rows that do not begin where their block does.
    breaks(
        "MEM-03",
        &[(
            "of (yss_mem -> 0 + {(yss_total : 1)})",
            "of (yss_mem -> 1 + {(yss_total : 1)})",
        )],
    );
    // Segments of other rows.
    breaks(
        "MEM-05",
        &[(
            "offsets: [n + 1]i64 @ zss_segments",
            "offsets: [n + 1]i64 @ yss_segments",
        )],
    );
    // Elements of other rows.
    breaks(
        "MEM-05",
        &[("flat: [total]i64 @ zss_mem", "flat: [total]i64 @ yss_mem")],
    );
    // Where rows begin, for one branch only.
    breaks(
        "MEM-07",
        &[(
            "zss_segments: i64 = xss_segments | yss_segments",
            "zss_segments: i64 = xss_segments",
        )],
    );
    // The elements of one branch with the number of the other.
    breaks(
        "Invalid",
        &[(
            "zss_total = xss_total | yss_total",
            "zss_total = yss_total | yss_total",
        )],
    );
}

/// The old elements of rows that are needed afterwards are overwritten.
#[test]
fn rows_that_are_needed_are_not_overwritten() {
    let text = ROWS
        .replace("  in {count} <wss, some>", "  let again: [n][?]i64 = map@par (\\{k} (xs: [k]i64): {q} [q]i64 -> let ys: [k]i64 = xs in {k} ys) yss\n  in {count} <again, some>");
    let text = annotated_to_string(&introduced(&text));
    let change = |from: &str, to: &str, text: &str| {
        assert!(text.contains(from), "`{from}` is not in\n{text}");
        text.replace(from, to)
    };
    let text = change("  let some_mem: mem = alloc i64 (count)\n", "", &text);
    let text = change("some_mem", "yss_mem", &text);
    let program = parse_annotated(&text, FileId(0)).unwrap_or_else(|error| panic!("{}\n{text}", error.title));
    assert_eq!(fault(&program).as_deref(), Some("MEM-12"), "{text}");
}
