//! The text of a program up to names and places in the source: two programs that do the same in the same way have the
//! same one.
//!
//! Procedures stand in the order in which they are called first, from those that nobody calls; in each, names are
//! numbered in the order of their first use, and anew where they are bound: two blocks may use one name for two things.

use crate::ir::Program;
use crate::lex::{Token, tokens};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

pub fn canonical_text(program: &Program) -> String {
    let procs: Vec<(String, Vec<Token>)> = program
        .procs
        .iter()
        .map(|proc| {
            let alone = Program {
                procs: vec![proc.clone()],
                ..Program::default()
            };
            let found = tokens(&alone.to_string()).unwrap_or_default();
            let found = found.into_iter().map(|(token, _)| token).collect();
            (proc.name.to_string(), found)
        })
        .collect();
    let numbers: HashMap<&str, usize> = procs.iter().map(|(name, _)| name.as_str()).zip(0..).collect();
    let order = order(&procs, &numbers);
    let places: HashMap<&str, usize> = order
        .iter()
        .enumerate()
        .filter_map(|(place, at)| procs.get(*at).map(|(name, _)| (name.as_str(), place)))
        .collect();
    let mut out = String::new();
    for at in &order {
        if let Some((_, tokens)) = procs.get(*at) {
            let mut text = String::new();
            procedure(tokens, &places, &mut text);
            out.push_str(&in_order(&text));
        }
    }
    out
}

/// Products of variables with their factors in order, and sums of such products with their terms: an index has both in the order of names.
fn in_order(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let (mut out, mut at): (Vec<String>, usize) = (Vec::new(), 0);
        while at < words.len() {
            let before = at.checked_sub(1).and_then(|before| words.get(before).copied());
            let (mut terms, end) = match before.is_some_and(|word| OPERATORS.contains(&word)) {
                true => (Vec::new(), at),
                false => sum(&words, at),
            };
            match terms.is_empty() {
                true => {
                    out.extend(words.get(at).map(|word| (*word).to_owned()));
                    at += 1;
                }
                false => {
                    terms.sort();
                    out.push(terms.join(" "));
                    at = end;
                }
            }
        }
        out.join(" ")
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// What takes the word behind it.
const OPERATORS: [&str; 11] = ["*", "/", "%", "+", "-", "^", "&", "|", "<<", ">>", "~"];

/// The terms of a sum that begins there, each with its sign, and where it ends; none where there is none.
fn sum(words: &[&str], begin: usize) -> (Vec<String>, usize) {
    let (mut terms, mut end, mut at, mut sign) = (Vec::new(), begin, begin, "+");
    while let Some((term, behind)) = product(words, at) {
        terms.push(format!("{sign} {term}"));
        end = behind;
        match words.get(behind) {
            Some(next @ (&"+" | &"-")) => (sign, at) = (next, behind + 1),
            _ => break,
        }
    }
    (terms, end)
}

/// A product of numbers and variables, with its factors in order, and where it ends; none where something else is multiplied as well.
fn product(words: &[&str], begin: usize) -> Option<(String, usize)> {
    let (mut factors, mut at) = (Vec::new(), begin);
    loop {
        let word = words.get(at).copied()?;
        let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number && !is_factor(words, at) {
            return None;
        }
        factors.push(word);
        match words.get(at + 1) {
            Some(&"*") => at += 2,
            Some(&("/" | "%")) => return None,
            _ => break,
        }
    }
    factors.sort_by_key(|word| (word.len(), *word));
    Some((factors.join(" * "), at + 1))
}

/// Whether a word is a variable that is not read by an index.
fn is_factor(words: &[&str], at: usize) -> bool {
    let is_variable = words.get(at).is_some_and(|word| {
        let number = word.strip_prefix('v');
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    });
    is_variable && !matches!(words.get(at + 1), Some(&("[" | "(")))
}

/// Callers before callees, each once.
fn order(procs: &[(String, Vec<Token>)], numbers: &HashMap<&str, usize>) -> Vec<usize> {
    let calls: Vec<Vec<usize>> = procs
        .iter()
        .map(|(_, tokens)| {
            let callees = tokens.windows(2).filter_map(|pair| match pair {
                [Token::Ident(call), Token::Ident(name)] if call == "call" => numbers.get(name.as_str()),
                _ => None,
            });
            callees.copied().collect()
        })
        .collect();
    let called: HashSet<usize> = calls.iter().flatten().copied().collect();
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    let mut work: Vec<usize> = (0..procs.len()).filter(|at| !called.contains(at)).rev().collect();
    // Procedures that only call each other come last.
    work.splice(0..0, (0..procs.len()).rev());
    while let Some(at) = work.pop() {
        if seen.insert(at) {
            order.push(at);
            work.extend(calls.get(at).into_iter().flatten().rev());
        }
    }
    order
}

fn procedure(tokens: &[Token], places: &HashMap<&str, usize>, out: &mut String) {
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut next = 0;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        // A variable may be called as some procedure is.
        let names_procedure = matches!(before, Some(Token::Ident(word)) if word == "call" || word == "proc");
        at += 1;
        match token {
            Token::Ident(word) if KEYWORDS.contains(&word.as_str()) => {
                let _ = write!(out, "{word} ");
            }
            Token::Ident(word) => {
                let _ = match places.get(word.as_str()).filter(|_| names_procedure) {
                    Some(place) => write!(out, "p{place} "),
                    None => {
                        if is_bound(before, tokens.get(at)) || !names.contains_key(word.as_str()) {
                            names.insert(word.as_str(), next);
                            next += 1;
                        }
                        let number = names.get(word.as_str()).copied().unwrap_or_default();
                        write!(out, "v{number} ")
                    }
                };
            }
            Token::Number(text) => {
                let _ = write!(out, "{text} ");
            }
            Token::Text(text) => {
                let _ = write!(out, "{text:?} ");
                at += place_length(tokens.get(at..).unwrap_or_default());
            }
            Token::Symbol(symbol @ ("{" | "}")) => {
                let _ = writeln!(out, "{symbol}");
            }
            Token::Symbol(symbol) => {
                let _ = write!(out, "{symbol} ");
            }
            Token::End => out.push('\n'),
        }
    }
}

/// Whether a name between these is bound: `let x: i64`, `for i < n`; but not the `buffer x[0]` of a call.
fn is_bound(before: Option<&Token>, after: Option<&Token>) -> bool {
    match (before, after) {
        (Some(Token::Ident(word)), Some(Token::Symbol(":"))) => {
            matches!(word.as_str(), "let" | "var" | "buffer")
        }
        (Some(Token::Ident(word)), Some(Token::Symbol("<"))) => word == "for",
        _ => false,
    }
}

/// How many tokens a place in the source takes, behind the text of an error: `2:17-25`.
fn place_length(tokens: &[Token]) -> usize {
    match tokens {
        [
            Token::Number(_),
            Token::Symbol(":"),
            Token::Number(_),
            Token::Symbol("-"),
            Token::Number(_),
            ..,
        ] => 5,
        _ => 0,
    }
}

/// Words that are no names.
const KEYWORDS: [&str; 35] = [
    "proc", "buffer", "alloc", "free", "var", "let", "for", "par", "while", "if", "else", "check", "call",
    "out", "read", "write", "owned", "copy", "fill", "swap", "fail", "true", "false", "i8", "i16", "i32",
    "i64", "u8", "u16", "u32", "u64", "f32", "f64", "bool", "vec",
];

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn indices_are_the_same_in_any_order() {
        for (one, other) in [
            (
                "v0 [ v12 * v3 - 8 * v5 * v4 + v2 ] = v9 ",
                "v0 [ v2 + v3 * v12 - 8 * v4 * v5 ] = v9 ",
            ),
            ("alloc v3 [ v1 + v2 + 1 ]", "alloc v3 [ v2 + v1 + 1 ]"),
        ] {
            assert_eq!(in_order(one), in_order(other));
        }
    }

    #[test]
    fn nothing_else_is() {
        for (one, other) in [
            ("v1 - v2", "v2 - v1"),
            ("v1 / v2", "v2 / v1"),
            ("v9 [ v0 ] - v1 + v2", "v9 [ v0 ] - v2 + v1"),
            ("v1 [ v2 ] = v3", "v2 [ v1 ] = v3"),
            ("v1 ( v2 , v3 )", "v1 ( v3 , v2 )"),
        ] {
            assert_ne!(in_order(one), in_order(other));
        }
    }
}
