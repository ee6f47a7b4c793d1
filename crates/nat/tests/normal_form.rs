#![allow(clippy::unwrap_used)]
//! What the normal form simplifies, and how it prints.

use almach_nat::{Interval, Poly, Range, Ranges};

type P = Poly<&'static str>;

fn v(name: &'static str) -> P {
    Poly::var(name)
}

fn c(value: i64) -> P {
    Poly::constant(value)
}

#[test]
fn sums_and_products_are_equal_up_to_the_ring_laws() {
    assert_eq!(v("n") + c(2) - c(2), v("n"));
    assert_eq!(
        (v("n") + v("m")) * (v("n") - v("m")),
        v("n") * v("n") - v("m") * v("m")
    );
    assert_eq!(v("a") * v("b") * v("c"), v("c") * (v("b") * v("a")));
    assert!((v("n") * v("m") - v("m") * v("n")).is_zero());
    assert_ne!(v("n") * v("m"), v("n") + v("m"));
}

#[test]
fn quotients_that_cancel() {
    assert_eq!((v("n") * v("m")).div(&v("m")), v("n"));
    assert_eq!((v("n") * v("m") + v("n")).div(&(v("m") + c(1))), v("n"));
    assert_eq!((c(4) * v("n")).div(&c(2)), c(2) * v("n"));
    assert_eq!((c(2) * v("n") + c(1)).div(&c(2)), v("n"));
    assert_eq!((c(2) * v("n") + c(1)).div(&c(4)), v("n").div(&c(2)));
    assert_eq!((v("n") * v("k")).div(&(v("m") * v("k"))), v("n").div(&v("m")));
    assert_eq!(v("n").div(&c(2)).div(&c(3)), v("n").div(&c(6)));
    assert_eq!((v("n") + v("m")).div(&v("m")), v("n").div(&v("m")) + c(1));
    assert_eq!(c(-7).div(&c(2)), c(-4));
    assert_eq!(
        (v("n") - c(3)).div(&c(2)) + c(1),
        (v("n") + c(1)).div(&c(2)) - c(1)
    );
}

#[test]
fn quotients_that_do_not_cancel_are_atoms() {
    let half = v("n").div(&v("m"));
    assert!(half.as_atom().is_some());
    assert_ne!(half, v("n"));
    assert_ne!(half.clone() * v("m"), v("n"));
    assert_eq!(half.clone(), v("n").div(&v("m")));
    assert_eq!(v("n").div(&c(0)).eval(&|_| Some(1)), None);
}

#[test]
fn remainders() {
    assert!((v("n") * v("m")).rem(&v("m")).is_zero());
    let (i, m) = (v("i"), v("m"));
    assert_eq!(i.div(&m) * &m + i.rem(&m), i);
    assert_eq!((i.clone() + c(4)).rem(&c(2)), i.rem(&c(2)));
    assert_eq!(i.rem(&m).with_remainders().to_string(), "i % m");
    let inner = v("n") - c(2);
    let p = v("k") * i.rem(&inner) + c(1);
    assert_eq!(p.with_remainders().to_string(), "k*(i % (n - 2)) + 1");
    // The index of a transposed array.
    let p = i.rem(&m) * v("n") + i.div(&m);
    assert_eq!(p.with_remainders().to_string(), "n*(i % m) + i/m");
}

#[test]
fn prints_in_the_syntax_of_sizes() {
    let show = |p: P| p.to_string();
    assert_eq!(show(c(2) * v("n") * v("m") + c(1)), "2*m*n + 1");
    assert_eq!(show(v("m") - v("a")), "m - a");
    assert_eq!(show(c(-1) * v("a")), "-a");
    assert_eq!(show(c(0)), "0");
    assert_eq!(show(c(3) * v("n").div(&v("m"))), "3*(n/m)");
    assert_eq!(show((c(3) * v("n")).div(&v("m"))), "3*n/m");
    assert_eq!(show(v("n").div(&(v("m") * v("k")))), "n/(k*m)");
    assert_eq!(show((v("n") + c(1)).div(&c(2)) - c(1)), "(n + 1)/2 - 1");
    assert_eq!(show(v("n") * v("n")), "n*n");
    assert_eq!(show(v("n").div(&v("m")).div(&v("k"))), "n/m/k");
    let quoted = (v("n") + c(1))
        .display(|name, f| write!(f, "'{name}'"))
        .to_string();
    assert_eq!(quoted, "'n' + 1");
}

#[test]
fn overflow_keeps_the_operation() {
    let big = c(i64::MAX);
    let sum = big.clone() + c(1);
    assert_eq!(sum.as_constant(), None);
    assert_eq!(sum.eval(&|_| None), None);
    assert_eq!((sum.clone() - sum.clone()).as_constant(), Some(0));
    assert_ne!(sum, c(i64::MIN));
    let product = v("n") * big.clone() * big.clone();
    assert_eq!(product.eval(&|_| Some(0)), Some(0));
    assert_eq!((-c(i64::MIN)).as_constant(), None);
    assert!(c(i64::MIN).div(&c(-1)).as_constant().is_none());
    let wide = (0..40).fold(c(1), |product, at| {
        let name: &'static str = Box::leak(format!("x{at}").into_boxed_str());
        product * (v(name) + c(1))
    });
    assert_eq!(wide.eval(&|_| Some(1)), Some(1 << 40));
}

#[test]
fn substitution_simplifies_again() {
    let p = v("k").div(&v("m"));
    let q = p.substitute(|name| (*name == "k").then(|| v("n") * v("m")));
    assert_eq!(q, v("n"));
    assert_eq!(p.free_vars().copied().collect::<Vec<_>>(), ["k", "m"]);
    assert!(p.mentions(&"m") && !q.mentions(&"m"));
}

#[test]
fn signs() {
    let sizes = Ranges::naturals();
    assert!(sizes.is_nonneg(&(v("n") + c(2) - c(2))));
    assert!(sizes.is_nonneg(&(v("n") * v("m") + v("n").div(&c(2)))));
    assert!(!sizes.is_nonneg(&(v("n") - c(1))));
    assert!(!sizes.is_nonneg(&(v("n") - v("m"))));
    assert!(!Ranges::unknown().is_nonneg(&v("n")));
    assert!(Ranges::unknown().is_nonneg(&(v("n") * v("n"))));
    let indices = Ranges::naturals()
        .with("i", Range::below(&v("n")))
        .with("j", Range::below(&v("m")));
    assert!(indices.is_less(&(v("i") * v("m") + v("j")), &(v("n") * v("m"))));
    assert!(!indices.is_less(&(v("i") * v("m") + v("j") + c(1)), &(v("n") * v("m"))));
    assert!(indices.is_nonneg(&(v("n") - v("i") - c(1))));
    let at_least = Ranges::naturals().with(
        "n",
        Range {
            lower: Some(c(3)),
            upper: None,
        },
    );
    assert!(at_least.is_nonneg(&((v("n") - c(3)).div(&c(2)))));
    assert!(at_least.is_nonneg(&(v("n") * v("m") - c(2) * v("m"))));
    let mut facts = Ranges::naturals();
    facts.assume_nonneg(v("n") - v("k") - c(1));
    assert!(facts.is_less(&v("k"), &v("n")));
    assert!(!facts.is_less(&v("n"), &v("k")));
}

#[test]
fn quotients_are_bounded_by_what_they_divide() {
    let sizes = Ranges::naturals();
    assert!(sizes.is_at_most(&(c(2) * v("n").div(&c(2))), &v("n")));
    assert!(sizes.is_at_most(&v("n").div(&c(2)), &v("n")));
    assert!(sizes.is_at_most(&(v("m") * v("n").div(&v("m"))), &v("n")));
    assert!(!sizes.is_at_most(&v("n"), &v("n").div(&c(2))));
    // The tile of a chunked loop stays inside: 4*(n/4) <= n.
    let chunks = Ranges::naturals()
        .with("i", Range::below(&v("n").div(&c(4))))
        .with("j", Range::below(&c(4)));
    assert!(chunks.is_less(&(c(4) * v("i") + v("j")), &v("n")));
}

#[test]
fn div_and_rem_with_ranges() {
    let (i, j, k, l, m) = (v("i"), v("j"), v("k"), v("l"), v("m"));
    let ranges = Ranges::naturals()
        .with("j", Range::below(&m))
        .with("l", Range::below(&k));
    let flat = &i * &m + &j;
    assert_eq!(ranges.simplify(&flat.div(&m)), i);
    assert_eq!(ranges.simplify(&flat.rem(&m)), j);
    let deep = &i * &m * &k + &j * &k + &l;
    assert_eq!(ranges.simplify(&deep.div(&(&m * &k))), i);
    assert_eq!(ranges.simplify(&deep.div(&k).rem(&m)), j);
    assert_eq!(ranges.simplify(&deep.rem(&k)), l);
    let unbounded = &v("x") * &k + &l;
    assert_eq!(ranges.simplify(&unbounded.div(&(&m * &k))), v("x").div(&m));
    assert_eq!(ranges.simplify(&(&j - &c(1) - &m + &c(1)).div(&m)), c(-1));
    let nothing = Ranges::naturals();
    assert_eq!(nothing.simplify(&flat.div(&m)), flat.div(&m));
}

#[test]
fn bounds_without_loop_indices() {
    let ranges = Ranges::naturals()
        .with("i", Range::below(&v("n")))
        .with("j", Range::below(&v("m")));
    let gone = |name: &&str| *name == "i" || *name == "j";
    let index = v("i") * v("m") + v("j");
    assert_eq!(ranges.upper_bound(&index, &gone), Some(v("n") * v("m") - c(1)));
    assert_eq!(ranges.lower_bound(&index, &gone), Some(c(0)));
    assert_eq!(
        ranges.upper_bound(&v("i").div(&c(2)), &gone),
        Some((v("n") - c(1)).div(&c(2)))
    );
    assert_eq!(ranges.upper_bound(&v("k"), &|name: &&str| *name == "k"), None);
}

#[test]
fn intervals() {
    let ranges = Ranges::naturals()
        .with("n", Range::between(c(1), c(100)))
        .with("i", Range::below(&v("n")));
    let known = |lower, upper| Interval {
        lower: Some(lower),
        upper: Some(upper),
    };
    assert_eq!(ranges.interval(&(c(4) * v("i") + c(3))), known(3, 399));
    assert_eq!(ranges.interval(&(-v("i"))), known(-99, 0));
    assert_eq!(ranges.interval(&v("i").rem(&c(8))), known(0, 7));
    assert_eq!(ranges.interval(&v("x").div(&v("n"))).lower, Some(0));
    assert_eq!(ranges.interval(&v("x")).upper, None);
}

#[test]
fn products_that_are_too_large_are_divided_by_their_factors() {
    let large = c(1 << 32);
    let product = large.clone() * large.clone();
    assert_eq!(product.div(&large), large);
    assert_eq!(product.div(&c(1 << 30)), large.clone() * c(4));
    assert_eq!((c(i64::MAX) * c(3)).div(&c(3)), c(i64::MAX));
    assert_ne!(product.div(&v("n")), large);
}
