//! Every error of the parser with its exact rendering. `UPDATE_EXPECT=1 cargo test` writes the files anew.
#![allow(clippy::unwrap_used)]

mod support;
use almach_base::render::{Style, to_text};
use almach_base::{SourceMap, codes};
use almach_corpus::on_large_stack;
use expect_test::expect_file;
use std::collections::HashSet;

/// By the name of the file with the rendering.
const MISTAKES: &[(&str, &str)] = &[
    ("expression_missing", "def f x = x +\n"),
    ("argument_needs_parentheses", "def f xs = map \\x -> x + 1 xs\n"),
    (
        "pattern_alternatives",
        "def f x =\n  case x of\n  | 1 | 2 -> true\n  | _ -> false\n",
    ),
    ("pattern_missing", "def f x = case x of | -> 1\n"),
    ("type_missing", "def f (x: ) = x\n"),
    ("type_of_another_language", "def f (x: int) = x\n"),
    ("size_missing", "def f (xs: [n +]f32) = xs\n"),
    ("then_missing", "def f x = if x > 0 1 else 2\n"),
    ("else_missing", "def f x = if x > 0 then 1\n"),
    ("of_missing", "def f x = case x | 1 -> 2\n"),
    ("keyword_as_name", "def in x = x\n"),
    ("capital_as_name", "def Double x = 2 * x\n"),
    ("small_type_name", "data tree = Leaf | Node\n"),
    (
        "loop_over_elements",
        "def f xs = loop (a = 0) for x in xs do a + x\n",
    ),
    (
        "loop_with_two_states",
        "def f n = loop (a = 0, b = 1) for i < n do a\n",
    ),
    ("loop_without_for", "def f n = loop (a = 0) do a\n"),
    ("match_with", "def f x = match x with | A -> 1 | B -> 2\n"),
    ("where", "def f x = y + y where y = x * x\n"),
    (
        "fat_arrow",
        "def f x =\n  case x of\n  | 1 => true\n  | _ -> false\n",
    ),
    ("range_with_end", "def f n = map g (0..n)\n"),
    ("semicolon", "def f x = g x; h x\n"),
    ("and", "def f x y = x and y\n"),
    ("cons", "def f x xs = x :: xs\n"),
    ("type_without_parentheses", "def f x = g x : i32\n"),
    ("unequal", "def f x y = x /= y\n"),
    ("blank_before_dot", "def f r = g r .x\n"),
    ("float_without_digits", "def f x = x * 2.\n"),
    ("record_with_colons", "def origin = {x: 0.0, y: 0.0}\n"),
    ("double_equals_in_binding", "def f x = let y == x in y\n"),
    (
        "and_without_rec",
        "def f x = let g y = h y and h y = g y in g x\n",
    ),
    ("trace_behind_a_pipe", "def f xs = xs |> trace \"xs\"\n"),
    ("assert_without_message", "def f x = assert x > 0 in x\n"),
    ("no_definition", "print \"hello\"\n"),
    ("indented_data", "def f x = x\n\n  data T = A | B\n"),
    ("import_without_quotes", "import lists\n"),
    ("unknown_character", "def f x y = x × y\n"),
    ("unknown_character_without_advice", "def f x = x ¿ y\n"),
    (
        "unterminated_comment",
        "def f x = x\n{- about {- f -}\ndef g x = x\n",
    ),
    ("unterminated_string", "def greeting = \"hello\ndef f x = x\n"),
    ("number_with_a_bad_suffix", "def n = 12i65\n"),
    ("number_without_digits", "def n = 0x\n"),
    ("integer_suffix_on_a_fraction", "def n = 1.5i32\n"),
    (
        "integer_too_large",
        "def n = 340282366920938463463374607431768211456\n",
    ),
    ("bad_escape", "def path = \"C:\\dir\"\n"),
    ("text_that_is_not_utf8", "def f x = assert x, \"\\xff\" in x\n"),
    ("character_too_long", "def c = 'é'\n"),
    (
        "unclosed_bracket",
        "def f x =\n  let y = (x + 1\n  in y * y\n\ndef g x = x\n",
    ),
    ("unclosed_bracket_at_the_end", "def f xs = map (+ 1) [1, 2\n"),
    ("wrong_bracket", "def f xs = xs[1)\n"),
    ("stray_bracket", "def f x = x + 1)\n"),
    ("missing_in", "def f x =\n  let y = x + 1\n  y * y\n"),
    ("missing_in_on_one_line", "def f x = let y = x + 1\ndef g x = x\n"),
    ("equals_in_condition", "def f x = if x = 1 then 2 else 3\n"),
    ("chained_comparison", "def f x = 0 < x < 10\n"),
    ("mixed_pipes", "def f x = x |> g <| h\n"),
    ("unclear_right_section", "def f xs = map (* 1 + 2) xs\n"),
    ("unclear_left_section", "def f xs = map (1 + 2 *) xs\n"),
    ("unknown_annotation", "def f xs = map@parallel g xs\n"),
    ("second_level", "def f xs = map@par@seq g xs\n"),
    ("bad_dimension", "def f xs = map@par.1 g xs\n"),
    ("papers_name_defined", "def mapPar f xs = map f xs\n"),
    ("fun", "fun f x = x + 1\n"),
    ("let_at_the_top", "let f x = x + 1\n"),
    ("fn", "def f xs = map (fn x => x + 1) xs\n"),
];

fn rendered(text: &str) -> (String, Vec<&'static str>) {
    let mut sources = SourceMap::new();
    let file = sources.add("example.alm", text);
    let diagnostics = almach_syntax::parse_file(file, text).diagnostics;
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
fn every_code_of_the_parser_has_a_rendering() {
    let mut seen: HashSet<&str> = MISTAKES.iter().flat_map(|(_, text)| rendered(text).1).collect();
    // Tested below, and beside the lexer.
    seen.extend(["E0111", "E0119"]);
    for info in codes::all().filter(|info| is_surface(info.code.0)) {
        assert!(
            seen.contains(info.code.0),
            "{} has no rendering in MISTAKES",
            info.code.0
        );
    }
}

#[test]
fn nesting_is_explained_without_its_long_line() {
    on_large_stack(|| {
        let (output, codes) = rendered(&format!("def f = {}\n", "(".repeat(6_000)));
        assert_eq!(codes, ["E0111"]);
        expect_file!["diagnostics/nesting_too_deep.txt"].assert_eq(&output);
    });
}

/// The programs in the catalogue do what it says of them.
#[test]
fn programs_in_the_catalogue_are_right() {
    for info in codes::all().filter(|info| is_surface(info.code.0)) {
        let Some((_, examples)) = info.explanation.split_once("Erroneous:") else {
            continue;
        };
        let (wrong, right) = examples.split_once("Write instead:").unwrap();
        assert_eq!(rendered(&program(wrong)).1, [info.code.0], "{wrong}");
        assert!(rendered(&program(right)).1.is_empty(), "{right}");
    }
}

/// The indented lines of an explanation.
fn program(text: &str) -> String {
    text.lines()
        .map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line)))
        .collect()
}

/// Codes from E0170 on belong to NOVA, those from E0190 on to the text forms of the compiler's own languages.
fn is_surface(code: &str) -> bool {
    code.starts_with("E01") && code < "E0170"
}
