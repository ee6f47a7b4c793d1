//! Items, tests in comments, and what is typed at the prompt.
#![allow(clippy::unwrap_used)]

mod support;
use almach_syntax::ast::{Expectation, Item};
use almach_syntax::{CommentKind, CommentPosition, Completeness, ReplInput, parse_file, parse_repl};
use support::{FILE, def_shape, errors, type_shape};

fn items(text: &str) -> Vec<String> {
    let parsed = parse_file(FILE, text);
    assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
    parsed.file.items.iter().map(item).collect()
}

fn item(item: &Item) -> String {
    match item {
        Item::Def(def) => def_shape(def),
        Item::Data(data) => {
            let params: String = data
                .params
                .iter()
                .map(|param| format!(" '{}", param.name))
                .collect();
            let constructors: Vec<String> = data
                .constructors
                .iter()
                .map(|constructor| {
                    let fields: String = constructor
                        .fields
                        .iter()
                        .map(|field| format!(" {}", type_shape(field)))
                        .collect();
                    format!("{}{fields}", constructor.name.name)
                })
                .collect();
            format!("data {}{params} = {}", data.name.name, constructors.join(" | "))
        }
        Item::TypeAlias(alias) => {
            let params: String = alias
                .params
                .iter()
                .map(|param| format!(" '{}", param.name))
                .collect();
            format!("type {}{params} = {}", alias.name.name, type_shape(&alias.ty))
        }
        Item::Import(import) => {
            let alias = import
                .alias
                .as_ref()
                .map_or(String::new(), |alias| format!(" as {}", alias.name));
            format!("import {:?}{alias}", import.path)
        }
        Item::Foreign(foreign) => format!("foreign {} : {}", foreign.name.name, type_shape(&foreign.ty)),
        Item::Error(_) => "<error>".to_string(),
    }
}

#[test]
fn every_kind_of_item() {
    let text = "\
import \"lib/list\"
import \"../geometry\" as Geo
type Point 'a = {x: 'a, y: 'a}
data Tree 'a = Leaf 'a | Node 'a (Tree 'a) (Tree 'a)
data Rows
  = Empty
  | Rows [][?]f32 i64
foreign norm : []f32 -> f32
def dot [n] (xs: [n]f32) (ys: [n]f32): f32 = reduce (+) 0 (map (*) xs ys)
def rec down n = if n == 0 then 0 else down (n - 1)
def pi = 3.14
entry main (xs: []f32) ((a, b): (i32, i32)) () _: f32 = dot xs xs
";
    assert_eq!(
        items(text),
        [
            "import \"lib/list\"",
            "import \"../geometry\" as Geo",
            "type Point 'a = {x:'a y:'a}",
            "data Tree 'a = Leaf 'a | Node 'a (Tree 'a) (Tree 'a)",
            "data Rows = Empty | Rows [][?]f32 i64",
            "foreign norm : ([]f32 -> f32)",
            "def dot [n] (xs : [n]f32) (ys : [n]f32) : f32 = (reduce (op +) 0 (map (op *) xs ys))",
            "def rec down n = (if (== n 0) 0 (down (- n 1)))",
            "def pi = 3.14f",
            "entry main (xs : []f32) ((tuple a b) : (tuple i32 i32)) (tuple ) _ : f32 = (dot xs xs)",
        ]
    );
}

#[test]
fn item_words_are_names_away_from_the_start_of_a_line() {
    assert_eq!(
        items("def f data type = data +\n  entry foreign import\ntype T = i32"),
        [
            "def f data type = (+ data (entry foreign import))",
            "type T = i32"
        ]
    );
}

#[test]
fn definitions_may_be_indented_and_other_items_are_told_where_to_stand() {
    assert_eq!(items("  def f = 1\n  def g = 2").len(), 2);
    let parsed = parse_file(FILE, "  def f = 1\n  data T = A");
    assert!(parsed.diagnostics[0].help[0].contains("`data` starts an item at the start of its line"));
}

#[test]
fn tests_are_read_from_comments() {
    let text = "\
-- > main [1, 2]
-- = 3
def main xs = sum xs
--   not a test
-- > main []
-- ! empty

  -- >   main [0.5]
  -- ~ 0.5
-- > main 1
-- an explanation
-- = 3
-- > main 2

-- = 3
{-
-- > main 3
-- = 3
-}
def x = 1 -- > main 4
-- >= no test
-- > last
";
    let parsed = parse_file(FILE, text);
    let tests: Vec<(&str, Expectation)> = parsed
        .file
        .tests
        .iter()
        .map(|test| (test.call.as_str(), test.expected.clone()))
        .collect();
    assert_eq!(
        tests,
        [
            ("main [1, 2]", Expectation::Equals("3".to_string())),
            ("main []", Expectation::Fails("empty".to_string())),
            ("main [0.5]", Expectation::Near("0.5".to_string())),
            ("main 1", Expectation::Missing),
            ("main 2", Expectation::Missing),
            ("last", Expectation::Missing),
        ]
    );
    let first = &parsed.file.tests[0];
    assert_eq!(
        &text[first.call_span.start as usize..first.call_span.end as usize],
        "main [1, 2]"
    );
    assert_eq!(
        &text[first.expected_span.start as usize..first.expected_span.end as usize],
        "3"
    );
}

#[test]
fn line_ends_of_other_systems_are_fine() {
    let parsed = parse_file(FILE, "-- > f 1\r\n-- = 1\r\ndef f x = x\r\n");
    assert!(parsed.diagnostics.is_empty());
    assert_eq!(parsed.file.tests[0].call, "f 1");
    assert_eq!(
        parsed.file.tests[0].expected,
        Expectation::Equals("1".to_string())
    );
}

#[test]
fn comments_are_kept_with_their_places() {
    let text = "-- a\ndef f x = {- b -} x -- c";
    let comments: Vec<_> = parse_file(FILE, text)
        .comments
        .into_iter()
        .map(|comment| {
            let span = comment.span;
            (
                &text[span.start as usize..span.end as usize],
                comment.kind,
                comment.position,
            )
        })
        .collect();
    assert_eq!(
        comments,
        [
            ("-- a", CommentKind::Line, CommentPosition::OwnLine),
            ("{- b -}", CommentKind::Block, CommentPosition::AfterCode),
            ("-- c", CommentKind::Line, CommentPosition::AfterCode),
        ]
    );
}

#[test]
fn the_prompt_takes_items_bindings_and_expressions() {
    let kind = |text: &str| {
        let parsed = parse_repl(FILE, text);
        assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
        match parsed.input {
            ReplInput::Empty => "empty".to_string(),
            ReplInput::Items(items) => format!("{} items", items.len()),
            ReplInput::Bindings(bindings) => format!("{} bindings", bindings.len()),
            ReplInput::Expr(_) => "expression".to_string(),
        }
    };
    for (text, expected) in [
        ("", "empty"),
        ("-- nothing", "empty"),
        ("1 + 2", "expression"),
        ("let x = 1", "1 bindings"),
        ("let x = 1 let f y = y + x", "2 bindings"),
        ("let x = 1 in x + 1", "expression"),
        ("let x = 1 in let y = 2", "2 bindings"),
        ("def f x = x", "1 items"),
        ("data T = A | B\ndef f x = x", "2 items"),
        ("import \"a\"", "1 items"),
        ("entry main x = x", "1 items"),
        ("foreign f : i32", "1 items"),
        ("data |> sum", "expression"),
        ("type", "expression"),
    ] {
        assert_eq!(kind(text), expected, "{text}");
    }
}

#[test]
fn the_prompt_knows_when_more_must_come() {
    for text in [
        "1 +",
        "(1",
        "f [1,",
        "let x =",
        "let x = 1 in",
        "def f x",
        "def f x =",
        "case x of",
        "if a then b",
        "{- a",
        "\\x ->",
        "data T =",
        "import \"a\" as",
        "f (\\x -> x + ",
        "let f x = case x of |",
    ] {
        let parsed = parse_repl(FILE, text);
        assert_eq!(parsed.completeness, Completeness::Incomplete, "{text}");
    }
    for text in [
        "1 + 2",
        "1 )",
        "let x = 1",
        "def f x = x",
        "1 + + 2",
        "(1 + +) 2",
        "\"abc",
        "",
        "case x of | A -> 1",
    ] {
        let parsed = parse_repl(FILE, text);
        assert_eq!(
            parsed.completeness,
            Completeness::Complete,
            "{text}: {:?}",
            parsed.diagnostics
        );
    }
}

#[test]
fn files_with_nothing_but_noise_are_reported_once() {
    assert_eq!(errors("hello world, this is no program").len(), 1);
}
