//! "Did you mean …?"

/// Names longer than this are not compared letter by letter.
const MAX_LENGTH: usize = 80;

/// The candidate nearest to `name`, if one is near enough to be what was meant. Of equally near ones the first in
/// alphabetical order, so that the answer does not depend on the order of candidates.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name.chars().take(MAX_LENGTH + 1).collect();
    if wanted.is_empty() || wanted.len() > MAX_LENGTH {
        return None;
    }
    let limit = (wanted.len() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .filter_map(|candidate| Some((distance_up_to(&wanted, candidate, limit)?, candidate)))
        .min()
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours; none where there are more than `limit`. A difference
/// in case alone counts as none. Replacing every letter of a short name does not count as near.
fn distance_up_to(wanted: &[char], candidate: &str, limit: usize) -> Option<usize> {
    let found: Vec<char> = candidate.chars().take(MAX_LENGTH + 1).collect();
    if found.len().abs_diff(wanted.len()) > limit {
        return None;
    }
    if found.len() == wanted.len()
        && (found.iter().zip(wanted)).all(|(a, b)| a.to_lowercase().eq(b.to_lowercase()))
    {
        return Some(0);
    }
    let distance = distance(wanted, &found);
    (distance <= limit && distance < wanted.len().max(found.len())).then_some(distance)
}

/// Optimal string alignment: three rows of the table are enough.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut previous_a = None;
    for (row, letter_a) in a.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut previous_b = None;
        for (column, letter_b) in b.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&above, column) + usize::from(letter_a != letter_b);
            let mut best = replaced
                .min(at(&above, column + 1) + 1)
                .min(at(&current, column) + 1);
            if previous_a == Some(letter_b) && previous_b == Some(letter_a) && column > 0 {
                best = best.min(at(&before, column - 1) + 1);
            }
            current.push(best);
            previous_b = Some(letter_b);
        }
        before = std::mem::replace(&mut above, current);
        previous_a = Some(letter_a);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let names = ["length", "reduce", "reverse", "map", "scan", "Some", "None"];
        assert_eq!(nearest("lenght", names), Some("length"));
        assert_eq!(nearest("redcue", names), Some("reduce"));
        assert_eq!(nearest("reverze", names), Some("reverse"));
        assert_eq!(nearest("some", names), Some("Some"));
        assert_eq!(nearest("mapp", names), Some("map"));
    }

    #[test]
    fn says_nothing_where_nothing_is_near() {
        assert_eq!(nearest("x", ["y", "z"]), None);
        assert_eq!(nearest("frobnicate", ["length", "map"]), None);
        assert_eq!(nearest("", ["a"]), None);
        assert_eq!(nearest("map", []), None);
        assert_eq!(nearest(&"x".repeat(10_000), ["x"]), None);
    }

    #[test]
    fn ties_are_broken_by_the_alphabet() {
        assert_eq!(nearest("xs", ["xt", "xa"]), Some("xa"));
        assert_eq!(nearest("xs", ["xa", "xt"]), Some("xa"));
    }

    #[test]
    fn distances() {
        let of = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(of("kitten", "sitting"), 3);
        assert_eq!(of("ab", "ba"), 1);
        assert_eq!(of("abcd", "acbd"), 1);
        assert_eq!(of("", "abc"), 3);
        assert_eq!(of("abc", ""), 3);
    }
}
