//! Random small descriptors against all their cells: never unsound, and complete for one and two dimensions.

use almach_lmad::{Dim, Lmad, Poly, Range, Ranges, Verdict, disjoint, injective, iterations_disjoint};
use std::collections::{BTreeMap, HashSet};

/// A small generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % count) as i64
    }

    fn lmad(&mut self, most_dims: u64) -> (i64, Vec<(i64, i64)>) {
        let dims = 1 + self.below(most_dims);
        let dims = (0..dims).map(|_| (self.below(5), self.below(13) - 4)).collect();
        (self.below(24), dims)
    }
}

fn constant((offset, dims): &(i64, Vec<(i64, i64)>)) -> Lmad<&'static str> {
    Lmad {
        offset: Poly::constant(*offset),
        dims: dims
            .iter()
            .map(|(length, stride)| Dim {
                length: Poly::constant(*length),
                stride: Poly::constant(*stride),
            })
            .collect(),
    }
}

fn cells(lmad: &Lmad<&'static str>, values: &BTreeMap<&str, i64>) -> Vec<i64> {
    let value = |poly: &Poly<&'static str>| poly.eval(&|var| values.get(var).copied()).expect("a value");
    let mut cells = vec![value(&lmad.offset)];
    for dim in &lmad.dims {
        let (length, stride) = (value(&dim.length), value(&dim.stride));
        cells = cells
            .iter()
            .flat_map(|cell| (0..length).map(move |at| cell + at * stride))
            .collect();
    }
    cells
}

fn meet(a: &[i64], b: &[i64]) -> bool {
    let a: HashSet<&i64> = a.iter().collect();
    b.iter().any(|cell| a.contains(cell))
}

fn pairs() -> u64 {
    std::env::var("ALMACH_LMAD_PAIRS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000_000)
}

#[test]
fn constants_up_to_two_dimensions_are_decided() {
    let mut random = Random(0x5eed_0001);
    let known = Ranges::naturals();
    for _ in 0..pairs() {
        let (a, b) = (random.lmad(2), random.lmad(2));
        let (a, b) = (constant(&a), constant(&b));
        let values = BTreeMap::new();
        let expected = meet(&cells(&a, &values), &cells(&b, &values));
        match disjoint(&a, &b, &known) {
            Verdict::Disjoint(_) => assert!(!expected, "{a} and {b} share a cell"),
            Verdict::Overlapping => assert!(expected, "{a} and {b} are disjoint"),
            Verdict::Unknown => panic!("{a} and {b} are not decided"),
        }
    }
}

#[test]
fn constants_of_three_dimensions_are_never_wrong() {
    let mut random = Random(0x5eed_0002);
    let known = Ranges::naturals();
    for _ in 0..pairs() / 16 {
        let (a, b) = (constant(&random.lmad(3)), constant(&random.lmad(3)));
        let values = BTreeMap::new();
        let expected = meet(&cells(&a, &values), &cells(&b, &values));
        match disjoint(&a, &b, &known) {
            Verdict::Disjoint(_) => assert!(!expected, "{a} and {b}"),
            Verdict::Overlapping => assert!(expected, "{a} and {b}"),
            Verdict::Unknown => {}
        }
    }
}

/// A polynomial over `n` and `m`, natural numbers, and `i`.
fn symbol(random: &mut Random) -> Poly<&'static str> {
    let names = ["n", "m", "i"];
    let mut sum = Poly::constant(random.below(4));
    for _ in 0..random.below(3) {
        let mut term = Poly::constant(1 + random.below(2));
        for _ in 0..1 + random.below(2) {
            let name = names.get(random.below(3) as usize).expect("a name");
            term = term * Poly::var(*name);
        }
        sum = match random.below(5) {
            0 => sum - term,
            _ => sum + term,
        };
    }
    sum
}

fn symbolic(random: &mut Random) -> Lmad<&'static str> {
    let dims = 1 + random.below(2);
    Lmad {
        offset: symbol(random),
        dims: (0..dims)
            .map(|_| Dim {
                length: symbol(random),
                stride: symbol(random),
            })
            .collect(),
    }
}

#[test]
fn symbols_are_never_wrong() {
    let mut random = Random(0x5eed_0003);
    let mut known = Ranges::naturals();
    known.set("i", Range::below(&Poly::var("n")));
    for _ in 0..pairs() / 250 {
        let (a, b) = (symbolic(&mut random), symbolic(&mut random));
        let verdict = disjoint(&a, &b, &known);
        let apart = iterations_disjoint(&"i", &Range::below(&Poly::var("n")), &"z", (&a, &b), &known);
        let distinct = injective(&a, &known).is_some();
        for n in 0..4 {
            for m in 0..4 {
                let at = |i: i64| BTreeMap::from([("n", n), ("m", m), ("i", i)]);
                for i in 0..n {
                    let own = cells(&a, &at(i));
                    if distinct {
                        let different: HashSet<_> = own.iter().collect();
                        assert_eq!(different.len(), own.len(), "{a} for {n} {m} {i}");
                    }
                    match &verdict {
                        Verdict::Disjoint(proof) => {
                            assert!(
                                !meet(&own, &cells(&b, &at(i))),
                                "{a} and {b} for {n} {m} {i}: {proof}"
                            );
                        }
                        Verdict::Overlapping => {
                            assert!(meet(&own, &cells(&b, &at(i))), "{a} and {b} for {n} {m} {i}");
                        }
                        Verdict::Unknown => {}
                    }
                    if let Verdict::Disjoint(proof) = &apart {
                        for j in (0..n).filter(|j| *j != i) {
                            let others = cells(&b, &at(j));
                            assert!(
                                !meet(&own, &others),
                                "{a} of {i} and {b} of {j} for {n} {m}: {proof}"
                            );
                        }
                    }
                }
            }
        }
    }
}
