//! Deep, long and empty inputs.
#![allow(clippy::unwrap_used)]

mod support;
use almach_corpus::on_large_stack;
use almach_syntax::{
    ERROR_LIMIT, NESTING_LIMIT, format_file, parse_expr, parse_file, parse_type, print_expr,
};
use support::{FILE, errors};

const DEEP: usize = 100_000;

fn repeated(before: &str, middle: &str, after: &str, times: usize) -> String {
    format!("{}{middle}{}", before.repeat(times), after.repeat(times))
}

/// Every way to nest, by what is repeated before, in the middle and behind.
const NESTINGS: &[(&str, &str, &str)] = &[
    ("(", "1", ")"),
    ("(", "", ""),
    ("[", "1", "]"),
    ("[", "", ""),
    ("{x = ", "1", "}"),
    ("- ", "1", ""),
    ("!", "x", ""),
    ("1 + ", "1", ""),
    ("1 ** ", "1", ""),
    ("f <| ", "x", ""),
    ("x |> ", "f", ""),
    ("x && y || ", "z", ""),
    ("\\x -> ", "x", ""),
    ("let x = ", "1", " in x"),
    ("if a then b else ", "c", ""),
    ("if ", "c", " then a else b"),
    ("case x of | A -> ", "1", ""),
    ("loop (x = 1) for i < n do ", "x", ""),
    ("loop (x = ", "1", ") for i < n do x"),
    ("assert c, \"t\" in ", "x", ""),
    ("foreach x in e with f, d do ", "x", ""),
    ("(f ", "x", ")"),
    ("f (1 + ", "x", ")"),
    ("a[", "0", "]"),
    ("a", "", "[0]"),
    ("a", "", ".0"),
    ("a", "", " with [0] = 1"),
    ("a", "", " :> [n]f32"),
    ("trace \"x\" (", "1", ")"),
    ("(1 +", "", ")"),
    ("(+ ", "1", ")"),
];

#[test]
fn nesting_beyond_the_limit_is_one_error() {
    on_large_stack(|| {
        for (before, middle, after) in NESTINGS {
            let head = if before.len() == 1 && before.starts_with('a') {
                "a"
            } else {
                ""
            };
            let text = if head.is_empty() {
                repeated(before, middle, after, DEEP)
            } else {
                format!("a{}", after.repeat(DEEP))
            };
            let (_, diagnostics) = parse_expr(FILE, &text);
            let codes: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.code.0).collect();
            assert_eq!(codes, ["E0111"], "{before}…{after}: {:?}", diagnostics.first());
        }
    });
}

/// Deep programs that parse are formatted, printed and compared without trouble.
#[test]
fn what_is_nested_deeply_is_formatted() {
    on_large_stack(|| {
        for (before, middle, after) in NESTINGS.iter().filter(|(_, middle, _)| !middle.is_empty()) {
            let text = format!("def x = {}", repeated(before, middle, after, 600));
            let formatted = format_file(FILE, &text).unwrap();
            assert_eq!(format_file(FILE, &formatted).unwrap(), formatted, "{before}");
            let (tree, _) = parse_expr(FILE, &repeated(before, middle, after, 600));
            assert!(parse_expr(FILE, &print_expr(&tree)).1.is_empty(), "{before}");
        }
    });
}

#[test]
fn nested_types_and_patterns_are_limited_too() {
    on_large_stack(|| {
        for (before, middle, after) in [
            ("(", "i32", ")"),
            ("[n]", "i32", ""),
            ("i32 -> ", "i32", ""),
            ("Maybe (", "i32", ")"),
            ("{x: ", "i32", "}"),
            ("[n + ", "1", "]i32"),
            ("[", "", ""),
        ] {
            let (_, diagnostics) = parse_type(FILE, &repeated(before, middle, after, DEEP));
            assert_eq!(diagnostics.len(), 1, "{before}: {:?}", diagnostics.first());
        }
        let chain = format!("[{}n]i32", "n + ".repeat(DEEP));
        assert_eq!(parse_type(FILE, &chain).1.first().unwrap().code.0, "E0111");
        let parens = format!("[{}n{}]i32", "(".repeat(DEEP), ")".repeat(DEEP));
        assert_eq!(parse_type(FILE, &parens).1.first().unwrap().code.0, "E0111");
        let pattern = format!("def f {} = 1", repeated("(", "x", ")", DEEP));
        assert_eq!(errors(&pattern).len(), 1);
    });
}

#[test]
fn what_is_just_below_the_limit_parses() {
    on_large_stack(|| {
        let depth = NESTING_LIMIT as usize - 2;
        for text in [repeated("(", "1", ")", depth), "1 + ".repeat(depth) + "1"] {
            let (_, diagnostics) = parse_expr(FILE, &text);
            assert!(diagnostics.is_empty(), "{:?}", diagnostics.first());
        }
    });
}

#[test]
fn long_chains_that_are_not_deep_have_no_limit() {
    let lets = "let x = 1 in ".repeat(DEEP) + "x";
    let chain = "let x = 1 ".repeat(DEEP) + "in x";
    let call = "f ".repeat(DEEP);
    let array = format!("[{}]", "1, ".repeat(DEEP));
    let arms = format!("case x of {}", "| A -> 1 ".repeat(DEEP));
    let products = format!("f {}", "(a * b + c) ".repeat(DEEP));
    for text in [lets, chain, call, array, arms, products] {
        let (_, diagnostics) = parse_expr(FILE, &text);
        assert!(diagnostics.is_empty(), "{:?}", diagnostics.first());
    }
}

#[test]
fn a_limit_hit_in_one_place_hides_no_earlier_error() {
    on_large_stack(|| {
        let text = format!("def f = )\ndef g = {}", "(".repeat(DEEP));
        assert_eq!(errors(&text).len(), 2);
    });
}

/// The time is not asserted; a quadratic parser would never return.
fn parses_large(size: usize, pieces: &'static [(&str, &str, &str)]) {
    on_large_stack(move || {
        for (before, piece, after) in pieces {
            let times = (size - before.len() - after.len()) / piece.len();
            let text = format!("{before}{}{after}", piece.repeat(times));
            let parsed = parse_file(FILE, &text);
            assert!(parsed.diagnostics.len() <= ERROR_LIMIT, "{before}{piece}");
        }
    });
}

#[test]
fn ten_megabytes_on_one_line() {
    parses_large(
        10 << 20,
        &[
            ("def x = [", "1, ", "]"),
            ("def x = \"", "abc\\n", "\""),
            ("def x = f ", "(", ""),
        ],
    );
}

#[test]
fn a_megabyte_of_nonsense() {
    parses_large(
        1 << 20,
        &[
            ("def x = f ", ")", ""),
            ("def x = f ", "(]", ""),
            ("def x = ", "[(", ""),
            ("def x = ", "let y = ) ", "in y"),
            ("def x = ", "é", ""),
            ("def x = ", "$ ", ""),
            ("def x = \"", "\\u{", "\""),
            ("def x = ", "9", ""),
            ("def x = ", "1e1", ""),
            ("def x = ", "a", ""),
            ("def x = ", "{-", ""),
            ("def x = ", "a.", ""),
            ("def x = ", "' ", ""),
            ("def x = ", "fun x ", ""),
            ("def x = case y of ", "| A -> = ", ""),
            ("", "def ", ""),
            ("-- ", "> ", ""),
            ("", "-- >\n", ""),
            ("", " ", ""),
        ],
    );
}

#[test]
fn empty_files_are_fine() {
    for text in [
        "",
        "\n",
        "  \t\r\n",
        "-- only a comment",
        "{- and this -}",
        "\u{feff}",
        "\u{feff}def x = 1",
    ] {
        assert!(errors(text).is_empty(), "{text:?}");
    }
}
