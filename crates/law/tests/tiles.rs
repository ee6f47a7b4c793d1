//! Tiles of kernels on Imp's interpreter, whose race detector sees every barrier, against the interpreter of Core.

#![allow(clippy::unwrap_used)]

use almach_core::interp::Interpreter;
use almach_driver::back::{Machine, Target, placed, strategy};
use almach_driver::{NoFiles, front, load};
use almach_imp::interp::run_entry;
use almach_lower::lower;
use almach_value::{Value, same};

const TILES: &str = include_str!("../../../tests/programs/devices/tiles.alm");
const PRODUCTS: &str = include_str!("../../../tests/programs/devices/products.alm");

/// Calls that have whole tiles and a rest in both directions, or none of one of them: what gives an argument, and its sizes.
type Argument = (&'static str, i64, i64);
type Call = (&'static str, &'static [Argument]);
const CALLS: [Call; 6] = [
    ("plain", &[("filled", 33, 40)]),
    ("plain", &[("filled", 3, 17)]),
    ("heavy", &[("filled", 9, 33)]),
    ("turned", &[("filled", 33, 40)]),
    ("both", &[("filled", 20, 35), ("filled", 35, 20)]),
    ("turned_f32", &[("halves", 32, 32)]),
];
const MEETINGS: [Call; 4] = [
    ("product", &[("filled", 64, 17), ("filled", 17, 70)]),
    ("product_f32", &[("halves", 64, 17), ("halves", 17, 130)]),
    ("product_f32", &[("halves", 64, 0), ("halves", 0, 64)]),
    ("distances", &[("halves", 65, 3)]),
];

#[test]
fn tiles_race_with_nobody_and_give_the_same() {
    agrees(TILES, &CALLS);
}

#[test]
fn products_race_with_nobody_and_give_the_same() {
    agrees(PRODUCTS, &MEETINGS);
}

fn agrees(text: &str, calls: &[Call]) {
    let front = front(load("tiles.alm", text, &NoFiles), Vec::new());
    assert!(!front.has_errors(), "{:?}", front.diagnostics);
    let core = front.core().unwrap();
    let interpreter = Interpreter::new(&core).unwrap();
    let strategy = strategy(core.clone(), Machine::Device).unwrap();
    let names: Vec<&str> = strategy.entries.iter().map(|entry| &*entry.name).collect();
    let lowered = lower(&strategy, &names).unwrap();
    let placed = placed(&lowered, Target::OpenCl, "").unwrap();
    let text = placed.imp.program().to_string();
    assert!(text.contains("local"), "no tile is in local memory");
    for (name, arguments) in calls {
        let made = |(maker, n, m): &Argument| {
            let sizes = vec![Value::from(*n), Value::from(*m)];
            interpreter.call(maker, sizes).unwrap()
        };
        let values: Vec<Value> = arguments.iter().map(made).collect();
        let expected = interpreter.call(name, values.clone()).unwrap();
        let entry = lowered
            .entries
            .iter()
            .find(|entry| &*entry.name == *name)
            .unwrap();
        let found = run_entry(&placed.imp, entry, &values);
        let found = found.unwrap_or_else(|error| panic!("{name} {arguments:?}: {error}"));
        assert!(
            same(&expected, &found),
            "{name} {arguments:?}: {found:?}, not {expected:?}"
        );
    }
}
