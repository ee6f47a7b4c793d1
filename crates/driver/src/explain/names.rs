//! Sizes in words have the numbers of their variables behind the names; where a name is one variable's alone, it will do.

use std::collections::{HashMap, HashSet};

/// The text without the numbers that tell nothing apart: `n_3*k_12 + k_13` is `n*k_12 + k_13`.
pub(crate) fn readable(text: &str) -> String {
    let words: HashSet<&str> = pieces(text).filter(|piece| is_word(piece)).collect();
    let mut numbered: HashMap<&str, usize> = HashMap::new();
    for name in words.iter().filter_map(|word| name_of(word)) {
        *numbered.entry(name).or_default() += 1;
    }
    let stands_alone = |name: &str| numbered.get(name) == Some(&1) && !words.contains(name);
    let shown = |piece| match name_of(piece).filter(|name| stands_alone(name)) {
        Some(name) => name,
        None => piece,
    };
    pieces(text).map(shown).collect()
}

/// The name of a variable that has its number behind it.
fn name_of(word: &str) -> Option<&str> {
    let (name, number) = word.rsplit_once('_')?;
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    (is_number && name.starts_with(|c: char| c.is_alphabetic() || c == '_')).then_some(name)
}

fn in_words(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '\''
}

fn is_word(piece: &str) -> bool {
    piece.starts_with(in_words)
}

/// Words, and what is between them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_word = in_words(first);
        let end = rest.find(|c| in_words(c) != is_word).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn a_number_goes_where_a_name_is_one_variables() {
        assert_eq!(
            readable("the cells n_3*k_12 + {(n_3 : 1)} of `xs`"),
            "the cells n*k + {(n : 1)} of `xs`"
        );
        assert_eq!(readable("n_3 + n_4 + k_5"), "n_3 + n_4 + k");
        assert_eq!(readable("`x` and x_2, a_b_7, _1"), "`x` and x_2, a_b, _1");
    }
}
