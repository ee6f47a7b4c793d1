//! What the suite is to show, a line each: the bar, and which workloads are behind it.

use crate::measure::{Ceilings, Measured};
use crate::report::geometric_mean;
use crate::suite::Kind;

/// Speeds beside a rival: each, and all together.
const EACH: f64 = 0.95;
const OF_PLAIN_C: f64 = 1.5;
/// What two threads are to gain where there is much to compute, and checks may cost.
const GAIN: f64 = 1.8;
const COST: f64 = 1.05;
/// How many times what one reduction of all elements takes, with writing a number for each row, sums of rows may.
const OF_FLAT: f64 = 1.1;

pub fn lines(all: &[Measured], ceilings: &Ceilings) -> String {
    let all: Vec<&Measured> = all.iter().filter(|one| one.kind == Kind::C).collect();
    if all.is_empty() {
        return String::new();
    }
    let tuned = |one: &Measured| one.ratio("almach", "tuned");
    let plain = |one: &Measured| one.ratio("almach-seq", "plain");
    let gain = |one: &Measured| one.ratio("almach", "almach-one");
    let cost = |one: &Measured| one.ratio("almach-unchecked", "almach");
    let flat = |one: &Measured| one.ratio("flat", "almach");
    let beside = |one: &Measured| one.beside_the_best(ceilings);
    let computing = all.iter().copied().filter(|one| one.computes(ceilings));
    [
        format!(
            "tuned OpenMP C: at least {EACH} each within the rival's own spread, 1.0 together; {:.2} together, behind: {}",
            mean(&all, tuned),
            named(&all, tuned, |one| tuned(one) < EACH - one.spread())
        ),
        format!(
            "best known programs, as multiples of the floor: behind by more than the bar: {}",
            named(
                &all,
                |one| beside(one).map_or(f64::NAN, |(times, _)| times),
                |one| beside(one).is_some_and(|(times, within)| times > within)
            )
        ),
        format!(
            "plain C on one thread: at least {EACH} each, {OF_PLAIN_C} together; {:.2} together, behind: {}",
            mean(&all, plain),
            named(&all, plain, |one| plain(one) < EACH - one.spread())
        ),
        format!(
            "threads over one thread where there is much to compute: at least {GAIN}; behind: {}",
            named(&computing.collect::<Vec<_>>(), gain, |one| gain(one) < GAIN)
        ),
        format!(
            "checks: at most {COST} together; {:.2} together, more: {}",
            mean(&all, cost),
            named(&all, cost, |one| cost(one) > COST + one.spread())
        ),
        format!(
            "sums of rows beside one of all elements and a number written for each row: at most {OF_FLAT}; more: {}",
            named(&all, flat, |one| one.has("flat") && flat(one) > OF_FLAT)
        ),
    ]
    .join("\n")
}

fn mean(all: &[&Measured], of: impl Fn(&Measured) -> f64) -> f64 {
    geometric_mean(all.iter().map(|one| of(one)))
}

/// Those of which something holds, each with its number.
fn named(all: &[&Measured], number: impl Fn(&Measured) -> f64, holds: impl Fn(&Measured) -> bool) -> String {
    let some = all.iter().filter(|one| holds(one));
    let some: Vec<String> = some
        .map(|one| format!("{} ({:.2})", one.name, number(one)))
        .collect();
    match some.is_empty() {
        true => "none".to_owned(),
        false => some.join(", "),
    }
}
