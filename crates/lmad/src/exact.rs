//! Whether a linear equation with bounded integer unknowns has a solution, exactly, for constants:
//! `a1*x1 + … + ak*xk = c` with `0 <= xi <= ui`.
//!
//! The unknown with the largest coefficient is tried at every value that the others leave possible (few, where
//! dimensions nest as those of arrays do) and that the greatest common divisor of the others allows; two unknowns are
//! solved directly.

/// How many values are tried before giving up.
const FUEL: u32 = 20_000;

/// A coefficient, which is positive, and the largest value of its unknown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    pub(crate) coefficient: i128,
    pub(crate) most: i128,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Solvable {
    Yes,
    No,
    TooHard,
}

pub(crate) fn solvable(mut terms: Vec<Term>, sum: i128) -> Solvable {
    if terms.iter().any(|term| term.most < 0) {
        return Solvable::No;
    }
    terms.retain(|term| term.most > 0);
    terms.sort_by_key(|term| std::cmp::Reverse(term.coefficient));
    let mut fuel = FUEL;
    search(&terms, sum, &mut fuel)
}

fn search(terms: &[Term], sum: i128, fuel: &mut u32) -> Solvable {
    let Some(left) = fuel.checked_sub(1) else {
        return Solvable::TooHard;
    };
    *fuel = left;
    match terms {
        [] => decided(sum == 0),
        [only] => decided(sum % only.coefficient == 0 && (0..=only.most).contains(&(sum / only.coefficient))),
        [first, second] => decided(two(*first, *second, sum)),
        [first, rest @ ..] => {
            let most_of_rest: i128 = rest.iter().map(|term| term.coefficient * term.most).sum();
            let from = ceil_div(sum - most_of_rest, first.coefficient).max(0);
            let to = sum.div_euclid(first.coefficient).min(first.most);
            let divisor = rest.iter().fold(0, |g, term| gcd(g, term.coefficient));
            let Some((start, step)) = congruent(first.coefficient, sum, divisor) else {
                return Solvable::No;
            };
            let mut value = from + (start - from).rem_euclid(step);
            while value <= to {
                match search(rest, sum - first.coefficient * value, fuel) {
                    Solvable::No => value += step,
                    answer => return answer,
                }
            }
            Solvable::No
        }
    }
}

fn decided(yes: bool) -> Solvable {
    if yes { Solvable::Yes } else { Solvable::No }
}

/// `a*x + b*y = sum` within bounds.
fn two(a: Term, b: Term, sum: i128) -> bool {
    let Some((start, step)) = congruent(a.coefficient, sum, b.coefficient) else {
        return false;
    };
    let from = ceil_div(sum - b.coefficient * b.most, a.coefficient).max(0);
    let to = sum.div_euclid(a.coefficient).min(a.most);
    from + (start - from).rem_euclid(step) <= to
}

/// All `x` with `a*x = sum` modulo `modulus`: the least one that is not negative, and how far apart they are.
fn congruent(a: i128, sum: i128, modulus: i128) -> Option<(i128, i128)> {
    let common = gcd(a, modulus);
    if sum % common != 0 {
        return None;
    }
    let step = modulus / common;
    let inverse = inverse(a / common, step);
    Some(((sum / common).rem_euclid(step) * inverse % step, step))
}

/// The inverse of a number modulo another without common divisors.
fn inverse(a: i128, modulus: i128) -> i128 {
    let (mut r, mut next_r) = (modulus, a.rem_euclid(modulus));
    let (mut t, mut next_t) = (0i128, 1i128);
    while next_r != 0 {
        let quotient = r / next_r;
        (r, next_r) = (next_r, r - quotient * next_r);
        (t, next_t) = (next_t, t - quotient * next_t);
    }
    t.rem_euclid(modulus)
}

fn gcd(a: i128, b: i128) -> i128 {
    match b {
        0 => a.abs(),
        _ => gcd(b, a % b),
    }
}

fn ceil_div(a: i128, b: i128) -> i128 {
    -(-a).div_euclid(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(terms: &[(i128, i128)], sum: i128) -> Solvable {
        let terms = terms.iter().map(|(coefficient, most)| Term {
            coefficient: *coefficient,
            most: *most,
        });
        solvable(terms.collect(), sum)
    }

    #[test]
    fn agrees_with_trying_everything() {
        for a in 1..6i128 {
            for b in 1..8 {
                for c in 1..5 {
                    for sum in -3..40 {
                        let mut found = false;
                        for (x, y, z) in
                            (0..4).flat_map(|x| (0..3).flat_map(move |y| (0..3).map(move |z| (x, y, z))))
                        {
                            found |= a * x + b * y + c * z == sum;
                        }
                        assert_eq!(
                            ask(&[(a, 3), (b, 2), (c, 2)], sum),
                            decided(found),
                            "{a} {b} {c} {sum}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn long_dimensions_are_no_trouble() {
        let many = 1_000_000_000_000;
        assert_eq!(ask(&[(2, many), (4, many)], 1_000_000_001), Solvable::No);
        assert_eq!(ask(&[(3, many), (5, many)], 1_000_000_001), Solvable::Yes);
        assert_eq!(
            ask(&[(1_000_000, many), (1, 999_998)], 5_000_000 - 1),
            Solvable::No
        );
    }
}
