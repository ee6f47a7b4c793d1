//! Stores: text, rules, and what the interpreter finds.

#![allow(clippy::unwrap_used)]

use almach_imp::interp::{Passed, RunError, run};
use almach_imp::{check, parse};
use almach_value::Scalar;

const HEAD: &str = "store List(List$tag: u32, List$table: settled i64, List$0: i64)\n";

fn program(body: &str) -> String {
    format!("{HEAD}proc main(n: i64, out: out i64) {{ {body} }}")
}

fn run_main(body: &str, n: i64) -> Result<Scalar, RunError> {
    let checked = check(parse(&program(body)).unwrap()).unwrap();
    let passed = vec![Passed::Value(Scalar::I64(n)), Passed::Out(None)];
    match run(&checked, "main", passed)?.as_slice() {
        [_, Passed::Out(Some(result))] => Ok(*result),
        other => panic!("{other:?}"),
    }
}

#[test]
fn programs_read_back_as_they_print() {
    let text = program("reserve a = List[n + 1] List$0[a + n] = 3i64 out = List$0[a + n]");
    let parsed = parse(&text).unwrap();
    assert_eq!(parse(&parsed.to_string()).unwrap(), parsed);
}

#[test]
fn rows_are_new_and_zero() {
    let body =
        "reserve a = List[n] reserve b = List[2] List$0[b] = 5i64 out = List$0[b] + (List$0[b + 1] + b)";
    assert_eq!(run_main(body, 3), Ok(Scalar::I64(8)));
}

#[test]
fn rules_of_stores() {
    let broken = |text: &str| check(parse(text).unwrap()).unwrap_err().rule;
    assert_eq!(broken(&program("reserve a = Tree[1] out = a")), "IMP-19");
    assert_eq!(broken("store List(List$0: i64, List$0: i64)"), "IMP-19");
    assert_eq!(broken("store List(head: i64)"), "IMP-19");
    assert_eq!(broken(&program("out = List$1[0]")), "IMP-01");
    assert_eq!(
        broken(&program("reserve a = List[1] List$0[a] = 1.0f32 out = a")),
        "IMP-04"
    );
    assert_eq!(
        broken(&program("reserve a = List[1] alloc List$0[3] out = a")),
        "IMP-07"
    );
}

#[test]
fn rows_that_are_not_there_are_found() {
    let error = run_main("reserve a = List[n] out = List$0[a + n]", 3).unwrap_err();
    assert!(matches!(error, RunError::OutOfBounds { .. }), "{error}");
}

#[test]
fn iterations_that_write_one_row_race() {
    let body = "reserve a = List[1] par for i < n { List$0[a] = i } out = a";
    assert!(matches!(run_main(body, 2), Err(RunError::Race { .. })));
    let body = "reserve a = List[1] par for i < n { reserve b = List[1] List$0[b] = List$0[a] } out = a";
    assert_eq!(run_main(body, 2), Ok(Scalar::I64(0)));
}

/// What was written before a cell was settled can be read by who reads that cell, and by nobody else.
#[test]
fn settled_cells_publish() {
    let make = "reserve a = List[1] par for i < n { if List$table[a] == 0i64 { reserve b = List[1] List$0[b] = 7i64 \
                List$table[a] = {b + 1} }";
    let good = format!("{make} let t: i64 = List$table[a] let x: i64 = List$0[t - 1] }} out = a");
    assert_eq!(run_main(&good, 3), Ok(Scalar::I64(0)));
    let bad = "reserve a = List[2] par for i < n { if i == 2i64 { List$0[a + 1] = 7i64 List$table[a] = 2i64 } \
               let x: i64 = List$0[a + 1] } out = a";
    assert!(matches!(run_main(bad, 3), Err(RunError::Race { .. })));
}

#[test]
fn settled_cells_keep_their_first_value() {
    let body = "reserve a = List[1] par for i < n { List$table[a] = {i + 1} } out = List$table[a]";
    // Parallel loops run backwards here.
    assert_eq!(run_main(body, 4), Ok(Scalar::I64(4)));
}

#[test]
fn the_host_says_which_rows_of_a_kernel_it_uses() {
    let kernel = "reserve a = List[n] kernel k { par for i < n { List$0[a + i] = i } }";
    let fetched = format!("{kernel} fetch read List$0[a + 1] out = List$0[a + 1]");
    let parsed = parse(&program(&fetched)).unwrap();
    assert_eq!(parse(&parsed.to_string()).unwrap(), parsed);
    assert_eq!(run_main(&fetched, 3), Ok(Scalar::I64(1)));
    assert_eq!(
        run_main(&format!("{kernel} fetch read List$0 out = List$0[a + 2]"), 3),
        Ok(Scalar::I64(2))
    );
    let other = format!("{kernel} fetch read List$0[a + 1] out = List$0[a]");
    assert!(matches!(run_main(&other, 3), Err(RunError::Broken(_))));
    // What was fetched before a kernel is not there after it.
    let again = format!("fetch read List$0[0] {kernel} out = List$0[0]");
    assert!(matches!(run_main(&again, 3), Err(RunError::Broken(_))));
}

#[test]
fn only_columns_are_fetched_by_cells() {
    let text = "buffer xs: i64 alloc xs[n] fetch read xs[0] free xs out = n";
    assert_eq!(check(parse(&program(text)).unwrap()).unwrap_err().rule, "IMP-23");
    let rows = "kernel k { reserve a = List[1] List$0[a] = 1i64 } out = n";
    assert_eq!(check(parse(&program(rows)).unwrap()).unwrap_err().rule, "IMP-22");
}
