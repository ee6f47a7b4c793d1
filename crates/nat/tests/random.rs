#![allow(clippy::unwrap_used)]
//! Every operation against evaluation on small numbers.

use almach_nat::{Poly, Range, Ranges};

type P = Poly<u8>;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

const VARS: u8 = 4;

/// An expression and the polynomial the operations made of it.
#[derive(Clone, Debug)]
enum Tree {
    Const(i64),
    Var(u8),
    Op(&'static str, Box<Tree>, Box<Tree>),
}

fn tree(random: &mut Random, depth: u32) -> Tree {
    match random.below(if depth == 0 { 2 } else { 8 }) {
        0 => Tree::Const(random.below(9) as i64 - 4),
        1 => Tree::Var(random.below(VARS.into()) as u8),
        at => {
            let op = ["+", "-", "*", "/", "%", "*"]
                .get(at as usize - 2)
                .copied()
                .unwrap_or("+");
            let (a, b) = (tree(random, depth - 1), tree(random, depth - 1));
            Tree::Op(op, Box::new(a), Box::new(b))
        }
    }
}

fn normalise(tree: &Tree) -> P {
    match tree {
        Tree::Const(value) => Poly::constant(*value),
        Tree::Var(var) => Poly::var(*var),
        Tree::Op(op, a, b) => {
            let (a, b) = (normalise(a), normalise(b));
            match *op {
                "+" => a + b,
                "-" => a - b,
                "*" => a * b,
                "/" => a.div(&b),
                _ => a.rem(&b),
            }
        }
    }
}

/// The direct meaning, with the mathematical floor.
fn eval(tree: &Tree, env: &[i64; VARS as usize]) -> Option<i64> {
    match tree {
        Tree::Const(value) => Some(*value),
        Tree::Var(var) => env.get(usize::from(*var)).copied(),
        Tree::Op(op, a, b) => {
            let (a, b) = (eval(a, env)?, eval(b, env)?);
            let floor = || {
                let q = a.checked_div(b)?;
                Some(if a % b != 0 && (a < 0) != (b < 0) {
                    q - 1
                } else {
                    q
                })
            };
            match *op {
                "+" => a.checked_add(b),
                "-" => a.checked_sub(b),
                "*" => a.checked_mul(b),
                "/" => floor(),
                _ => a.checked_sub(b.checked_mul(floor()?)?),
            }
        }
    }
}

fn lookup(env: &[i64; VARS as usize]) -> impl Fn(&u8) -> Option<i64> {
    |var| env.get(usize::from(*var)).copied()
}

#[test]
fn normal_forms_mean_what_the_expression_means() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut compared = 0;
    for _ in 0..20_000 {
        let tree = tree(&mut random, 4);
        let poly = normalise(&tree);
        let remainders = poly.with_remainders();
        for _ in 0..4 {
            let env = [(); VARS as usize].map(|()| random.below(14) as i64 - 4);
            // The normal form may have a value where the expression divides by zero, not the other way round.
            if let Some(expected) = eval(&tree, &env) {
                compared += 1;
                assert_eq!(
                    poly.eval(&lookup(&env)),
                    Some(expected),
                    "{tree:?}\n{poly} at {env:?}"
                );
                assert_eq!(
                    remainders.eval(&lookup(&env)),
                    Some(expected),
                    "{tree:?}\n{remainders}"
                );
            }
        }
    }
    assert!(compared > 40_000);
}

#[test]
fn substitution_and_solutions() {
    let mut random = Random(77);
    let mut solved = 0;
    for _ in 0..5_000 {
        let (p, q) = (tree(&mut random, 3), tree(&mut random, 2));
        let (p, q) = (normalise(&p), normalise(&q));
        let put = p.substitute(|var| (*var == 1).then(|| q.clone()));
        let env = [(); VARS as usize].map(|()| random.below(8) as i64 + 1);
        if let Some(value) = q.eval(&lookup(&env)) {
            let mut with_value = env;
            with_value[1] = value;
            if let Some(expected) = p.eval(&lookup(&with_value)) {
                assert_eq!(put.eval(&lookup(&env)), Some(expected), "{p} with {q}");
            }
        }
        if let Some(solution) = p.solve_for(&1) {
            solved += 1;
            let zero = p.substitute(|var| (*var == 1).then(|| solution.clone()));
            assert!(zero.is_zero(), "{p} = 0 at {solution}");
        }
    }
    assert!(solved > 100);
}

/// Ranges: variable 0 and 1 are sizes, 2 is an index below 0, 3 one below 1.
fn ranges() -> Ranges<u8> {
    Ranges::naturals()
        .with(
            0,
            Range {
                lower: Some(Poly::constant(1)),
                upper: None,
            },
        )
        .with(2, Range::below(&Poly::var(0)))
        .with(3, Range::below(&Poly::var(1)))
}

fn environments() -> Vec<[i64; VARS as usize]> {
    let mut all = Vec::new();
    for n in 1..5 {
        for m in 0..5 {
            for i in 0..n {
                for j in 0..m {
                    all.push([n, m, i, j]);
                }
            }
        }
    }
    all
}

#[test]
fn proofs_bounds_and_simplifications_hold() {
    let mut random = Random(4242);
    let (ranges, environments) = (ranges(), environments());
    let (mut proved, mut simplified, mut bounded) = (0, 0, 0);
    for _ in 0..6_000 {
        let p = normalise(&tree(&mut random, 3));
        let nonneg = ranges.is_nonneg(&p);
        let simple = ranges.simplify(&p);
        let interval = ranges.interval(&p);
        let gone = |var: &u8| *var >= 2;
        let (lower, upper) = (ranges.lower_bound(&p, &gone), ranges.upper_bound(&p, &gone));
        proved += u32::from(nonneg);
        simplified += u32::from(simple != p);
        bounded += u32::from(lower.is_some() && upper.is_some());
        assert!(
            lower
                .iter()
                .chain(&upper)
                .all(|bound| !bound.occurrences().any(gone))
        );
        for env in &environments {
            let Some(value) = p.eval(&lookup(env)) else {
                continue;
            };
            assert!(!nonneg || value >= 0, "{p} is {value} at {env:?}");
            assert_eq!(
                simple.eval(&lookup(env)),
                Some(value),
                "{p} became {simple} at {env:?}"
            );
            assert!(
                interval.lower.is_none_or(|bound| bound <= value),
                "{p} at {env:?}: {interval:?}"
            );
            assert!(
                interval.upper.is_none_or(|bound| bound >= value),
                "{p} at {env:?}: {interval:?}"
            );
            if let Some(bound) = lower.as_ref().and_then(|bound| bound.eval(&lookup(env))) {
                assert!(bound <= value, "{p} >= {bound} at {env:?}");
            }
            if let Some(bound) = upper.as_ref().and_then(|bound| bound.eval(&lookup(env))) {
                assert!(bound >= value, "{p} <= {bound} at {env:?}");
            }
        }
    }
    assert!(
        proved > 1000 && simplified > 100 && bounded > 1000,
        "{proved} {simplified} {bounded}"
    );
}
