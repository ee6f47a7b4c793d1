//! Stores, compiled in every way and compared with the interpreter.

#![allow(clippy::unwrap_used)]
#![allow(dead_code)]

mod support;

use support::stores::STORES;
use support::{Compiled, OUT, call, int, room};

#[test]
fn stores_agree() {
    let mut compiled = Compiled::new(STORES);
    for n in [0, 1, 2, 7, 63, 64, 65, 200] {
        compiled.agree("cells", vec![int(n), room(n as usize)]).unwrap();
        compiled.agree("shared", vec![int(n), room(n as usize)]).unwrap();
        compiled.agree("runs", vec![int(n), OUT]).unwrap();
    }
}

/// A call starts with empty stores, whatever the last one left.
#[test]
fn calls_share_nothing() {
    let mut compiled = Compiled::new(STORES);
    for _ in 0..3 {
        compiled.agree("runs", vec![int(1000), OUT]).unwrap();
    }
}

#[test]
fn more_rows_than_there_can_be_are_an_error() {
    let compiled = &mut Compiled::new(STORES);
    let params = compiled
        .checked
        .program()
        .proc("too_many")
        .unwrap()
        .params
        .clone();
    for (how, library) in &mut compiled.libraries {
        for count in [i64::MAX, 1 << 46, 1 << 60] {
            let error = call(library, "too_many", &params, vec![int(count), OUT]).unwrap_err();
            assert_eq!(error.code.0, "E0812", "{how}");
        }
        call(library, "too_many", &params, vec![int(1), OUT]).unwrap();
    }
}
