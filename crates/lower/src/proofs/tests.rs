#![allow(clippy::unwrap_used)]

use super::simplify;

/// How many checks and branches are left in the body of a procedure.
fn left(body: &str) -> (usize, usize) {
    let text = format!("proc p(n: i64, m: i64, k: i64, xs: read f32, out: write f32) {{\n{body}\n}}");
    let mut program = almach_imp::parse(&text).unwrap();
    simplify(&mut program.procs, &[]);
    let text = program.to_string();
    almach_imp::check(program).unwrap();
    (text.matches("check ").count(), text.matches("if ").count())
}

const ELSE: &str = r#"else E0801("index {} is out of bounds" 0:0-0, k)"#;

#[test]
fn a_loop_bounds_its_index() {
    let body = format!("for i < n {{\ncheck (i >= 0i64) & (i < n) {ELSE}\nout[i] = xs[i]\n}}");
    assert_eq!(left(&body), (0, 0));
}

#[test]
fn a_neighbour_is_checked_where_no_test_excludes_the_end() {
    let neighbour = format!("let at: i64 = i + 1i64\ncheck (at >= 0i64) & (at < n) {ELSE}\nout[i] = xs[at]");
    assert_eq!(left(&format!("for i < n {{\n{neighbour}\n}}")), (1, 0));
    let tested = format!("let last: i64 = n - 1i64\nif i == last {{\n}} else {{\n{neighbour}\n}}");
    assert_eq!(left(&format!("for i < n {{\n{tested}\n}}")), (0, 1));
}

#[test]
fn a_condition_with_a_name_is_seen_through() {
    let body = format!(
        "for i < n {{\nlet edge: bool = i == 0i64\nif edge {{\n}} else {{\nlet at: i64 = i - 1i64\n\
         check (at >= 0i64) & (at < n) {ELSE}\nout[i] = xs[at]\n}}\n}}"
    );
    assert_eq!(left(&body), (0, 1));
}

#[test]
fn a_sum_that_may_wrap_is_no_index() {
    // For the largest m, m + 1 is the smallest number.
    let body = format!("let at: i64 = m + 1i64\ncheck at > m {ELSE}");
    assert_eq!(left(&body), (1, 0));
}

#[test]
fn nothing_is_known_of_a_variable_that_changes() {
    let body = format!("var x: i64 = 0i64\nfor i < n {{\ncheck x == 0i64 {ELSE}\nx = x + 1i64\n}}");
    assert_eq!(left(&body), (1, 0));
}

#[test]
fn a_check_holds_after_itself_and_not_before() {
    let check = format!("check k < n {ELSE}");
    assert_eq!(left(&format!("{check}\n{check}")), (1, 0));
    let inside = format!("if m > 0i64 {{\n{check}\n}}\n{check}");
    assert_eq!(left(&inside), (2, 1));
}

#[test]
fn a_parameter_may_be_negative() {
    let body = format!("check k >= 0i64 {ELSE}\ncheck k >= 0i64 {ELSE}");
    assert_eq!(left(&body), (1, 0));
}

#[test]
fn digits_of_a_joined_index_need_no_division() {
    let body = "for i < n {\nfor j < m {\nout[(i*m + j)/m*m + (i*m + j)%m] = 1.0f32\n}\n}";
    let text = format!("proc p(n: i64, m: i64, out: write f32) {{\n{body}\n}}");
    let mut program = almach_imp::parse(&text).unwrap();
    simplify(&mut program.procs, &[]);
    assert!(program.to_string().contains("out[i*m + j]"), "{program}");
}

#[test]
fn an_index_that_wraps_around_is_inside() {
    let body = |block: &str| {
        format!(
            "buffer a: f32\n{block}\nfor i < n {{\nfor j < m {{\nlet at: i64 = ((i - 1i64) + n) % n\n\
             check (at >= 0i64) & (at < n) {ELSE}\nout[at] = xs[at]\n}}\n}}\nfree a"
        )
    };
    assert_eq!(left(&body("alloc a[9*n*m]")), (0, 0));
    // Nothing says that n + n is an i64.
    assert_eq!(left(&body("alloc a[9]")), (1, 0));
    assert_eq!(left(&body("alloc a[m]")), (1, 0));
}

#[test]
fn a_remainder_below_twice_the_divisor_is_a_choice() {
    let body = "buffer a: f32\nalloc a[n]\nfor i < n {\nlet at: i64 = ((i + 1i64) + n) % n\nout[at] = xs[i]\n}\nfree a";
    let text = format!("proc p(n: i64, xs: read f32, out: write f32) {{\n{body}\n}}");
    let mut program = almach_imp::parse(&text).unwrap();
    simplify(&mut program.procs, &[]);
    let text = program.to_string();
    assert!(!text.contains('%'), "{text}");
}
