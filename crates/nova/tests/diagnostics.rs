//! Every error of the reader with its exact rendering. `UPDATE_EXPECT=1 cargo test` writes the files anew.
#![allow(clippy::unwrap_used)]

use almach_base::render::{Style, to_text};
use almach_base::{SourceMap, codes};
use almach_nova::read_file;
use expect_test::expect_file;
use std::collections::HashSet;

/// By the name of the file with the rendering. One mistake is one error.
const MISTAKES: &[(&str, &str)] = &[
    ("unknown_character", "((x : int))\n(+ x ¿)\n"),
    ("unknown_quote", "((x : ' a))\nx\n"),
    (
        "operator_of_another_language",
        "((x : int))\n(if (== x 1) then 2 else 3)\n",
    ),
    ("unclosed_bracket", "((x : int))\n(let (y (+ x 1)\n in (* y y))\n"),
    ("unclosed_brackets", "((x : int))\n(let (y (+ x 1\n in (* y y)\n"),
    ("stray_bracket", "((x : int))\n(+ x 1))\n"),
    ("number_with_a_bad_suffix", "((x : int))\n(+ x 1q)\n"),
    ("integer_suffix_on_a_fraction", "((x : int))\n(+ x 1.5i32)\n"),
    ("number_that_is_none", "((x : int))\n(+ x 1_0)\n"),
    ("exponent_without_digits", "((x : float))\n(+ x 1e)\n"),
    ("integer_too_large", "((x : int))\n(+ x 99999999999999999999)\n"),
    ("empty_file", "; nothing\n"),
    ("no_expression", "((x : int))\n(types (Size : int))\n"),
    ("two_expressions", "((x : int))\n(+ x 1)\n(+ x 2)\n"),
    ("two_inputs", "((x : int))\n((y : int))\n(+ x y)\n"),
    ("section_behind", "((x : int))\n(+ x 1)\n(types (Size : int))\n"),
    ("input_without_type", "((x int))\n(+ x 1)\n"),
    ("input_that_is_no_name", "((3 : int))\n(+ 1 1)\n"),
    ("foreign_without_type", "((x : int))\n(foreign f)\n(f x)\n"),
    (
        "foreign_that_is_no_name",
        "((x : int))\n(foreign (3 : int -> int))\nx\n",
    ),
    (
        "arm_that_binds_no_name",
        "((x : T))\n(types (T : (+ (A : int) (B : unit))))\n(case x (A 3 1) (B 2))\n",
    ),
    ("name_that_is_a_form", "((x : int))\n(let ((+ x 1) 2) in x)\n"),
    ("reserved_name", "((x : int))\n(let (case x) in 1)\n"),
    ("small_type", "((x : int))\n(types (size : int))\nx\n"),
    (
        "small_constructor",
        "((x : int))\n(types (T : (+ (some : int) (None : unit))))\nx\n",
    ),
    ("type_without_colon", "((x : int))\n(types (T int))\nx\n"),
    ("type_without_brackets", "((x : int))\n(types T)\nx\n"),
    (
        "type_with_a_bad_parameter",
        "((x : int))\n(types (T a : int))\nx\n",
    ),
    (
        "constructor_without_type",
        "((x : int))\n(types (T : (+ A)))\nx\n",
    ),
    ("sum_without_constructors", "((x : int))\n(types (T : (+)))\nx\n"),
    ("sum_without_name", "((x : (+ (A : int) (B : unit))))\nx\n"),
    ("sum_without_brackets", "((x : vector + (A : int)))\nx\n"),
    ("type_missing", "((x : ))\nx\n"),
    ("type_with_more_behind", "((x : List int))\nx\n"),
    ("type_that_is_none", "((x : 3))\nx\n"),
    ("type_that_is_a_word", "((x : lambda))\nx\n"),
    ("vector_without_dimensions", "((x : vector#0 int))\nx\n"),
    ("vector_without_a_number", "((x : vector# int))\nx\n"),
    ("if_without_then", "((x : int))\n(if (< x 1) 2 else 3)\n"),
    ("if_without_else", "((x : int))\n(if (< x 1) then 2)\n"),
    ("if_without_condition", "((x : int))\n(if then 2 else 3)\n"),
    ("case_of_nothing", "((x : int))\n(case)\n"),
    ("case_without_arms", "((x : int))\n(case x)\n"),
    ("case_with_a_word", "((x : int))\n(case x Some)\n"),
    ("empty_arm", "((x : int))\n(case x ())\n"),
    (
        "arm_without_expression",
        "((x : T))\n(types (T : (+ (A : int))))\n(case x (A))\n",
    ),
    ("arm_of_no_constructor", "((x : int))\n(case x (Several y y))\n"),
    (
        "constructor_with_two_arguments",
        "((x : int))\n(types (T : (+ (A : (int, int)))))\n(A x x)\n",
    ),
    ("let_without_body", "((x : int))\n(let (y x) in)\n"),
    ("let_of_nothing", "((x : int))\n(let in x)\n"),
    ("let_without_brackets", "((x : int))\n(let y x in y)\n"),
    ("let_without_value", "((x : int))\n(let (y) in x)\n"),
    ("let_with_a_type", "((x : int))\n(let (y : int x) in y)\n"),
    ("lambda_without_parameters", "((x : int))\n((lambda x) 1)\n"),
    (
        "lambda_without_body",
        "((x : int))\n((lambda (y : int) : int) 1)\n",
    ),
    (
        "lambda_with_a_bad_parameter",
        "((x : int))\n((lambda (y int) y) 1)\n",
    ),
    ("mu_alone", "((x : int))\n((mu) x)\n"),
    (
        "mu_without_lambda",
        "((x : int))\n((mu (f : int -> int) (+ 1)) x)\n",
    ),
    (
        "mu_with_too_short_a_type",
        "((x : int))\n((mu (f : int) (lambda (n : int) : int n)) x)\n",
    ),
    ("keyword_as_expression", "((x : int))\n(then x)\n"),
    ("keyword_as_value", "((x : int))\n(+ x if)\n"),
    ("type_as_function", "((x : int))\n(float x)\n"),
    ("underscore_as_value", "((x : int))\n(+ x _)\n"),
    ("colon_in_expression", "((x : int))\n(+ x : int)\n"),
    ("component_without_position", "((x : (int, int)))\n(x.y)\n"),
    ("element_without_index", "((x : vector int))\n(x !)\n"),
    ("expression_missing", "((x : int))\n(x, )\n"),
];

fn rendered(text: &str) -> (String, Vec<&'static str>) {
    let mut sources = SourceMap::new();
    let file = sources.add("example.nova", text);
    let diagnostics = read_file(file, text).diagnostics;
    let codes = diagnostics.iter().map(|diagnostic| diagnostic.code.0).collect();
    (to_text(&diagnostics, &sources, Style::Plain), codes)
}

#[test]
fn mistakes_are_explained() {
    for (name, text) in MISTAKES {
        let (output, codes) = rendered(text);
        assert_eq!(codes.len(), 1, "{name}: one mistake is one error\n{output}");
        expect_file![format!("diagnostics/{name}.txt")].assert_eq(&output);
    }
}

#[test]
fn independent_mistakes_are_all_reported() {
    let text = "((x : int) (y : vector#0 int))\n(types (T : (+ (A : ))))\n(let (a (if x)) (b (case)) in (+ a (3 : b)))\n";
    let (output, _) = rendered(text);
    expect_file!["diagnostics/several.txt"].assert_eq(&output);
}

fn is_nova(code: &str) -> bool {
    ("E0170".."E0190").contains(&code)
}

#[test]
fn every_code_of_the_reader_has_a_rendering() {
    let seen: HashSet<&str> = MISTAKES.iter().flat_map(|(_, text)| rendered(text).1).collect();
    for info in codes::all().filter(|info| is_nova(info.code.0)) {
        assert!(
            seen.contains(info.code.0),
            "{} has no rendering in MISTAKES",
            info.code.0
        );
    }
}

/// The programs in the catalogue do what it says of them.
#[test]
fn programs_in_the_catalogue_are_right() {
    for info in codes::all().filter(|info| is_nova(info.code.0)) {
        let (_, examples) = info.explanation.split_once("Erroneous:").unwrap();
        let (wrong, right) = examples.split_once("Write instead:").unwrap();
        let program = |text: &str| text.replace("\n    ", "\n");
        assert_eq!(rendered(&program(wrong)).1, [info.code.0], "{wrong}");
        assert!(rendered(&program(right)).1.is_empty(), "{right}");
    }
}

#[test]
fn nesting_has_a_limit() {
    let deep = |open: &str, close: &str| format!("({} x {})\n", open.repeat(6_000), close.repeat(6_000));
    let programs = [
        deep("(", ")"),
        deep("(- 1 ", ")"),
        deep("(lambda (x : int) ", ")"),
        deep("let (y x) in ", ""),
        deep("(if x then 1 else", ")"),
        format!("((x : {}int))\nx", "vector ".repeat(6_000)),
        format!("((x : {}int))\nx", "int -> ".repeat(6_000)),
        format!("(x{})\n", ".0".repeat(6_000)),
        format!("(x {})\n", "! 0".repeat(6_000)),
    ];
    for program in programs {
        let reader = std::thread::Builder::new().stack_size(256 << 20);
        let codes = reader
            .spawn(move || rendered(&program).1)
            .unwrap()
            .join()
            .unwrap();
        assert_eq!(codes, ["E0111"]);
    }
}
