//! How the formatter lays things out, as one file before and after.
#![allow(clippy::unwrap_used)]

mod support;
use almach_syntax::format_file;
use expect_test::expect_file;
use support::FILE;

#[test]
fn a_messy_file_is_formatted() {
    let formatted = format_file(FILE, include_str!("format/messy.alm")).unwrap();
    expect_file!["format/neat.alm"].assert_eq(&formatted);
    assert_eq!(format_file(FILE, &formatted).unwrap(), formatted);
}

#[test]
fn lines_stay_within_the_width_where_they_can_be_broken() {
    let formatted = format_file(FILE, include_str!("format/messy.alm")).unwrap();
    for line in formatted.lines() {
        assert!(line.chars().count() <= almach_syntax::WIDTH, "{line}");
    }
}

#[test]
fn empty_files_stay_empty_and_comments_alone_stay() {
    assert_eq!(format_file(FILE, "").unwrap(), "");
    assert_eq!(format_file(FILE, "\n\n  \n").unwrap(), "");
    assert_eq!(
        format_file(FILE, "\n\n-- a\n\n\n\n{- b -}").unwrap(),
        "-- a\n\n{- b -}\n"
    );
}

#[test]
fn a_file_with_errors_is_not_formatted() {
    let errors = format_file(FILE, "def f = (\ndef g = )").unwrap_err();
    assert_eq!(errors.len(), 2);
}
