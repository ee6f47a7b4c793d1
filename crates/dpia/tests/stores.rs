//! Recursive data: rows of stores.

#![allow(clippy::unwrap_used)]

use almach_dpia::interp::run;
use almach_dpia::{check_program, parse_program};
use almach_value::Scalar;

const HEAD: &str = "store List(i64, i64) [] [1] constant 0\n";

fn program(body: &str) -> String {
    format!("{HEAD}proc main : acc[i64] ->p comm = \\out: acc[i64]. {body}")
}

fn result(body: &str) -> Scalar {
    let text = program(body);
    let checked = check_program(parse_program(&text).unwrap_or_else(|e| panic!("{e}"))).unwrap();
    run(&checked, "main", &[], &[]).unwrap()[0].get(&[]).unwrap()
}

/// `Cons 7 (Cons 8 Nil)`, then what is done with it.
fn with_list(rest: &str) -> String {
    format!(
        r"new{{i64}} (\a: var[i64]. new{{i64}} (\b: var[i64].
            construct<List,1,0:i64,1:i64> #8i64 #0i64 a.1;
            construct<List,1,0:i64,1:i64> #7i64 a.2 b.1; {rest}))"
    )
}

#[test]
fn programs_read_back_as_they_print() {
    let newest = r"newTable<par,List,i64,i64>[3] (\first: exp[i64]. \i: exp[idx[3]]. \o: acc[(u32, i64, i64)].
        tupleAcc<0,3>{u32}{i64}{i64} o := {u32} #0u32) out";
    for body in [with_list("out := {i64} b.2"), newest.to_string()] {
        let parsed = parse_program(&program(&body)).unwrap();
        assert_eq!(parse_program(&parsed.to_string()).unwrap(), parsed);
    }
}

#[test]
fn cells_are_read_as_they_were_made() {
    let second = with_list("out := {i64} (column<List,0,i64> (column<List,1,i64> b.2))");
    assert_eq!(result(&second), Scalar::I64(8));
    let tag = with_list("out := {i64} (select{i64} (eq<u32> (tag<List> b.2) #1u32) #1i64 #0i64)");
    assert_eq!(result(&tag), Scalar::I64(1));
}

#[test]
fn a_cell_gets_a_table_of_what_it_reaches() {
    let count = with_list(
        r"new{(i64, i64)} (\t: var[(i64, i64)]. tableOf<List> b.2 t.1; out := {i64} (get<1,2>{i64}{i64} t.2))",
    );
    assert_eq!(result(&count), Scalar::I64(3));
    let head = with_list(
        r"new{(i64, i64)} (\t: var[(i64, i64)]. tableOf<List> b.2 t.1;
          out := {i64} (column<List,0,i64> (add<i64> (get<0,2>{i64}{i64} t.2) #1i64)))",
    );
    assert_eq!(result(&head), Scalar::I64(8));
}

/// Making rows interferes with nothing, so parallel iterations may.
#[test]
fn parallel_iterations_make_rows() {
    let body = r"new{4.i64} (\rows: var[4.i64].
        parfor<par>[4]{i64} rows.1 (\i: exp[idx[4]]. \o: acc[i64].
          construct<List,1,0:i64,1:i64> (ofIndex[4] i) #0i64 o);
        out := {i64} (column<List,0,i64> (idx[4]{i64} rows.2 (toIndex[4] #2i64))))";
    assert_eq!(result(body), Scalar::I64(2));
}

#[test]
fn what_does_not_fit_the_store_is_refused() {
    let rule = |body: &str| {
        check_program(parse_program(&program(body)).unwrap())
            .unwrap_err()
            .rule
    };
    assert_eq!(rule("out := {i64} (column<Tree,0,i64> #0i64)"), "DPIA-12");
    assert_eq!(rule("out := {i64} (column<List,2,i64> #0i64)"), "DPIA-12");
    assert_eq!(rule("construct<List,5,0:i64> #0i64 out"), "DPIA-12");
    assert_eq!(rule("construct<List,1,0:f32> #0.0f32 out"), "DPIA-12");
    // A row that iterations fill does not write the result.
    let body = r"newTable<par,List,i64,i64>[3] (\first: exp[i64]. \i: exp[idx[3]]. \o: acc[(u32, i64, i64)].
        out := {i64} first) out";
    assert_eq!(rule(body), "DPIA-06");
}
