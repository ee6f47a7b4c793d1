//! Errors: each mistake is reported once, where it is, and hides no other.
#![allow(clippy::unwrap_used)]

mod support;
use almach_syntax::ast::Item;
use almach_syntax::parse_file;
use support::{FILE, errors};

fn codes(text: &str) -> Vec<&'static str> {
    parse_file(FILE, text)
        .diagnostics
        .into_iter()
        .map(|diagnostic| diagnostic.code.0)
        .collect()
}

#[test]
fn five_independent_mistakes_are_five_errors() {
    let text = "\
def a x = x +

def b (x: f32 = x

data T = A | b

def c x = if x = 1 then 2 else 3

entry main (xs: []f32): f32 =
  let y = sum xs
  y * 2.0

def fine x = x
";
    assert_eq!(
        errors(text),
        [
            "expected an expression, found `def`",
            "this `(` is never closed",
            "expected a constructor, found the name `b`",
            "`=` binds a name; to compare, write `==`",
            "this `let` has no `in`: expected `in`, found `def`",
        ]
    );
}

#[test]
fn five_mistakes_in_one_definition_are_five_errors() {
    let text = "\
def f x =
  let a = (1 +)) 
  let b = [1, , 2]
  let c = x ** * 2
  let d = case x of | 1 - > 2 | 2 -> 3 4 5 | _ = 4
  in a + b
";
    assert_eq!(codes(text).len(), 5, "{:?}", errors(text));
}

#[test]
fn an_error_inside_brackets_ends_with_them() {
    assert_eq!(errors("def f x = g (x + ) (y *) (z + + ) w in").len(), 1);
    assert_eq!(errors("def f (x: ) (y: [n) (z: f32) = x").len(), 2);
    assert_eq!(errors("def f (x: foo) = {x 1}").len(), 2);
}

#[test]
fn what_follows_a_broken_item_is_kept() {
    let parsed = parse_file(FILE, "def f = (\ndef g = 1\nimport 3\ndef h = 2");
    let kinds: Vec<bool> = parsed
        .file
        .items
        .iter()
        .map(|item| matches!(item, Item::Def(_)))
        .collect();
    assert_eq!(kinds, [false, true, false, true]);
    assert_eq!(parsed.diagnostics.len(), 2);
}

#[test]
fn one_mistake_is_one_error() {
    for text in [
        "def f x = x )",
        "def f x = (x ]",
        "def f x = [1, 2",
        "def f x = {- open",
        "def f x = \"open",
        "def f x = 'ab",
        "def f x = x $ y",
        "def f x = 12q",
        "def f x = 1.",
        "def f x = a b: c",
        "def f x = x; y",
        "def f x = match x with | A -> 1 | B -> 2",
        "def f x = x where x = 3",
        "def f x = fun x -> x",
        "def f x = map (fn x => x) xs",
        "def f x = case x of A => 1 | B -> 2",
        "def f x = case x of | A | B -> 2",
        "def f x = a < b < c",
        "def f x = x |> f <| y",
        "def f x = map (* 1 + 2) xs",
        "def f x = map (1 + 2 *) xs",
        "def f x = map@foo f xs",
        "def f x = map@par@seq f xs",
        "def f x = map@seq.1 f xs",
        "def f x = map@grid.3 f xs",
        "def mapPar f xs = xs",
        "fun f x = x",
        "let f x = x",
        "val f = x",
        "f x = x",
        "def F x = x",
        "def in x = x",
        "def f x == x",
        "def f x = let y == 1 in y",
        "def f x = let y = 1 y",
        "def f x = if x then y",
        "def f x = if x y else z",
        "def f x = loop (a = 1, b = 2) for i < n do a",
        "def f x = loop (a = 1) for i in n do a",
        "def f x = loop (a = 1) do a",
        "def f x = assert x in y",
        "def f x = map \\x -> x xs",
        "def f x = x /= y",
        "def f x = x :: y",
        "def f x = x and y",
        "def f x = 0..n",
        "def f x = x .y",
        "def f x = a[]",
        "def f x = {x: 1}",
        "def f x = {x = 1, y: 2, z: 3}",
        "def f x = {}",
        "def f (x: int) = x",
        "def f x = 340282366920938463463374607431768211456",
        "def f x = x.99999999999",
        "def f (x: [99999999999999999999]f32) = x",
        "def f x = \"a\\qb\"",
        "def f x = 'é'",
        "def f x = trace x y",
        "def f x = xs |> trace \"l\"",
        "def f x = let g x = 1 and h y = 2 in g",
        "def f x = assert true, \"\\xff\" in x",
        "import x",
        "import \"a\" as m",
        "data t = A",
        "type T i32",
        "foreign f i32",
    ] {
        assert_eq!(errors(text).len(), 1, "{text}: {:?}", errors(text));
    }
}

#[test]
fn spans_of_errors_point_at_the_mistake() {
    let text = "def f x = if x = 1 then 2 else 3";
    let parsed = parse_file(FILE, text);
    let suggestion = parsed.diagnostics[0].suggestion.as_ref().unwrap();
    assert_eq!(
        &text[suggestion.span.start as usize..suggestion.span.end as usize],
        "="
    );
    assert_eq!(suggestion.replacement, "==");
}

#[test]
fn a_missing_in_is_suggested_where_it_belongs() {
    let text = "def f x =\n  let y = x + 1\n  y * y\n";
    let parsed = parse_file(FILE, text);
    let suggestion = parsed.diagnostics[0].suggestion.as_ref().unwrap();
    assert_eq!(&text[suggestion.span.start as usize..], "y * y\n");
    assert_eq!(suggestion.replacement, "in ");
}
