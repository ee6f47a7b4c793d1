//! Every pair of operations composed, with every pair of effects that they take: each program agrees with the interpreter, or it is refused
//! by the effect check, and those are exactly the destination views over source views (Lin, Fig. 4.5).
//!
//! All run on Imp's interpreter with its race detector, one in some as native code.

#![allow(clippy::unwrap_used)]

use almach_base::codes::levels::DESTINATION_OVER_SOURCE;
use almach_core::interp::Interpreter;
use almach_driver::back::{Machine, Target, c_source, strategy};
use almach_driver::{NoFiles, front, load};
use almach_imp::interp::{RunError, run_entry};
use almach_lower::lower;
use almach_native::{Library, Toolchain};
use almach_prim::{Effect, Prim};
use almach_value::{Value, parse, same};
use std::collections::BTreeSet;

/// What operations take and give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// `[n]i64`, as many as the arguments have.
    Same,
    /// `[]i64`.
    Line,
    /// `[][]i64`.
    Grid,
    /// `[n](i64, i64)`.
    Pairs,
    /// `[](vec 2 i64)`.
    Vectors,
}

use Shape::{Grid, Line, Pairs, Same, Vectors};

impl Shape {
    fn accepts(self, given: Shape) -> bool {
        self == given || (self == Line && given == Same)
    }
}

/// An operation, what it takes (nothing, if it has no array to take), what it gives, and how it is written: `@` stands for the effect, `#` for
/// the array.
struct Operation(Prim, Option<Shape>, Shape, &'static str);

#[rustfmt::skip]
const OPERATIONS: &[Operation] = &[
    Operation(Prim::Map, Some(Same), Same, "map@ (\\x -> x * 3 - 1) #"),
    Operation(Prim::Map, Some(Line), Line, "map@ (\\x -> if x > 3 then x / 2 else ys[x]) #"),
    Operation(Prim::Map, Some(Grid), Line, "map@ (\\r -> r[0] + 2 * r[1]) #"),
    Operation(Prim::Map, Some(Grid), Grid, "map@ (\\r -> reverse r) #"),
    Operation(Prim::Map, Some(Pairs), Same, "map@ (\\p -> p.0 - 5 * p.1) #"),
    Operation(Prim::Map, Some(Pairs), Same, "map@ (\\p -> p.0) #"),
    Operation(Prim::Map, Some(Pairs), Same, "map@ (\\p -> p.1) #"),
    Operation(Prim::Map, Some(Grid), Line, "map@ (\\r -> r[1]) #"),
    Operation(Prim::Map, Some(Same), Pairs, "map@ (\\x -> (x, n)) #"),
    Operation(Prim::Reverse, Some(Same), Same, "reverse@ #"),
    Operation(Prim::Reverse, Some(Grid), Grid, "reverse@ #"),
    Operation(Prim::Rotate, Some(Same), Same, "rotate@ 2 #"),
    Operation(Prim::Scan, Some(Same), Same, "scan@ (+) 1 #"),
    Operation(Prim::ScanExclusive, Some(Same), Same, "scan_exclusive@ (+) 1 #"),
    Operation(Prim::Filter, Some(Line), Line, "filter@ (\\x -> x % 2 == 1) #"),
    Operation(Prim::Concat, Some(Line), Line, "concat@ ys #"),
    Operation(Prim::Concat, Some(Line), Line, "concat@ # ys"),
    Operation(Prim::Pad, Some(Line), Line, "pad@ 1 2 9 #"),
    Operation(Prim::PadEdge, Some(Line), Line, "pad_edge@ 2 1 #"),
    Operation(Prim::PadEdge, Some(Grid), Grid, "pad_edge@ 0 1 #"),
    Operation(Prim::Take, Some(Line), Line, "take@ 2 #"),
    Operation(Prim::Drop, Some(Line), Line, "drop@ 1 #"),
    Operation(Prim::Gather, Some(Line), Line, "gather@ [1, 0, 1] #"),
    Operation(Prim::Permute, Some(Same), Same, "permute@ (map (\\i -> n - 1 - i) (iota n)) #"),
    Operation(Prim::Split, Some(Line), Grid, "split@ 2 #"),
    Operation(Prim::Slide, Some(Line), Grid, "slide@ 2 1 #"),
    Operation(Prim::Replicate, Some(Line), Grid, "replicate@ 2 #"),
    Operation(Prim::Join, Some(Grid), Line, "join@ #"),
    Operation(Prim::Transpose, Some(Grid), Grid, "transpose@ #"),
    Operation(Prim::Zip, Some(Same), Pairs, "zip@ # ys"),
    Operation(Prim::Zip, Some(Same), Pairs, "zip@ ys #"),
    Operation(Prim::Unzip, Some(Pairs), Same, "(unzip@ #).1"),
    Operation(Prim::AsVector, Some(Line), Vectors, "asVector@ 2 #"),
    Operation(Prim::AsScalar, Some(Vectors), Line, "asScalar@ #"),
    Operation(Prim::Reduce, Some(Line), Line, "[reduce@ (+) 2 #]"),
    Operation(Prim::Materialise, Some(Same), Same, "materialise@ #"),
    Operation(Prim::Materialise, Some(Grid), Grid, "materialise@ #"),
    Operation(Prim::Iota, None, Same, "iota@ n"),
    Operation(Prim::Replicate, None, Same, "replicate@ n 4"),
    Operation(Prim::Range, None, Line, "range@ 1 9 3"),
];

/// The effects that can be written on an operation; none on one that takes none.
fn effects(prim: Prim) -> Vec<Option<Effect>> {
    match prim.info().effects {
        [] => vec![None],
        some => some.iter().copied().map(Some).collect(),
    }
}

fn applied(operation: &Operation, effect: Option<Effect>, array: &str) -> String {
    let annotation = effect.map(|effect| format!("@{effect}")).unwrap_or_default();
    let text = operation.3.replacen('@', &annotation, 1);
    text.replacen('#', array, 1)
}

/// An entry for each pair, those that must compile and those that must be refused.
fn programs() -> (Vec<String>, Vec<String>) {
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    for inner in OPERATIONS {
        for inner_effect in effects(inner.0) {
            let viewed = match inner.1 {
                None | Some(Same | Line) => applied(inner, inner_effect, "xs"),
                Some(Grid) => applied(inner, inner_effect, "(map (\\x -> [x, x + 1]) xs)"),
                Some(Pairs) => applied(inner, inner_effect, "(map (\\x -> (x, x + 1)) xs)"),
                Some(Vectors) => applied(inner, inner_effect, "(asVector 2 xs)"),
            };
            for outer in OPERATIONS
                .iter()
                .filter(|outer| outer.1.is_some_and(|takes| takes.accepts(inner.2)))
            {
                for outer_effect in effects(outer.0) {
                    let text = applied(outer, outer_effect, &format!("({viewed})"));
                    let shown = match outer.2 {
                        Same | Line => text,
                        Grid => format!("join ({text})"),
                        Pairs => format!("map (\\p -> p.0 * 100 + p.1) ({text})"),
                        Vectors => format!("asScalar ({text})"),
                    };
                    let refused =
                        inner_effect == Some(Effect::Source) && outer_effect == Some(Effect::Destination);
                    let to = match refused {
                        true => &mut wrong,
                        false => &mut right,
                    };
                    let number = to.len();
                    to.push(format!(
                        "entry p{number} [n] (xs: [n]i64) (ys: [n]i64): []i64 = {shown}\n"
                    ));
                }
            }
        }
    }
    (right, wrong)
}

fn value(text: &str, ty: &almach_value::ValueType) -> Value {
    parse(text, ty).unwrap()
}

const ARGUMENTS: &[[&str; 2]] = &[
    ["[3, 1, 4, 1, 5, 9]", "[2, 7, 1, 8, 2, 8]"],
    ["[2, 3, 2]", "[5, 6, 7]"],
    ["[]", "[]"],
];

#[test]
fn every_pair_of_effects_agrees_with_the_interpreter() {
    let (programs, _) = programs();
    let mut agreed = 0;
    for part in programs.chunks(400) {
        let text: String = part.concat();
        let front = front(load("pairs.alm", &text, &NoFiles), Vec::new());
        assert!(!front.has_errors(), "{:?}", front.diagnostics.first());
        let core = front.core().unwrap_or_else(|wrong| panic!("{:?}", wrong.first()));
        let interpreter = Interpreter::new(&core).unwrap();
        let chosen = strategy(core.clone(), Machine::Threads).unwrap();
        let names: Vec<&str> = chosen.entries.iter().map(|entry| &*entry.name).collect();
        let lowered = lower(&chosen, &names).unwrap_or_else(|wrong| panic!("{wrong:?}"));
        for (entry, program) in lowered.entries.iter().zip(part) {
            let params = &core
                .entries
                .iter()
                .find(|known| known.name == entry.name)
                .unwrap()
                .params;
            for arguments in ARGUMENTS {
                let arguments: Vec<Value> = arguments
                    .iter()
                    .zip(params)
                    .map(|(text, (_, ty))| value(text, ty))
                    .collect();
                let expected = interpreter.call(&entry.name, arguments.clone());
                let found = run_entry(&lowered.imp, entry, &arguments);
                match (&expected, &found) {
                    (Ok(expected), Ok(found)) => {
                        assert!(
                            same(expected, found),
                            "{found:?}, not {expected:?} on {arguments:?}\n{program}"
                        );
                    }
                    (Err(_), Err(RunError::Failed { .. })) => {}
                    _ => panic!("{found:?}, not {expected:?} on {arguments:?}\n{program}"),
                }
                agreed += usize::from(expected.is_ok());
            }
        }
    }
    assert!(agreed > 1000, "{agreed}");
}

#[test]
fn one_pair_in_some_agrees_as_native_code() {
    let Ok(toolchain) = Toolchain::find() else {
        return;
    };
    let toolchain = toolchain.with_flags(["-O0"]);
    let (programs, _) = programs();
    let some: Vec<&str> = programs.iter().step_by(23).map(String::as_str).collect();
    let front = front(load("pairs.alm", &some.concat(), &NoFiles), Vec::new());
    let core = front.core().unwrap();
    let interpreter = Interpreter::new(&core).unwrap();
    let chosen = strategy(core.clone(), Machine::Sequential).unwrap();
    let names: Vec<&str> = chosen.entries.iter().map(|entry| &*entry.name).collect();
    let lowered = lower(&chosen, &names).unwrap();
    let source = c_source(&lowered, &front.sources, "pairs", Target::C).unwrap();
    let compiled = toolchain.library(&source, Target::C, &[]).unwrap();
    let mut library = Library::load(&compiled.path, source.interface.clone()).unwrap();
    for (entry, program) in lowered.entries.iter().zip(some) {
        let params = &core
            .entries
            .iter()
            .find(|known| known.name == entry.name)
            .unwrap()
            .params;
        for arguments in ARGUMENTS {
            let arguments: Vec<Value> = arguments
                .iter()
                .zip(params)
                .map(|(text, (_, ty))| value(text, ty))
                .collect();
            let expected = interpreter.call(&entry.name, arguments.clone());
            match (expected, library.call_entry(entry, &arguments)) {
                (Ok(expected), Ok(found)) => {
                    assert!(same(&expected, &found), "{found:?}, not {expected:?}\n{program}")
                }
                (Err(_), Err(_)) => {}
                (expected, found) => panic!("{found:?}, not {expected:?}\n{program}"),
            }
        }
    }
}

#[test]
fn destination_views_over_source_views_are_refused() {
    let (_, programs) = programs();
    let front = front(load("pairs.alm", &programs.concat(), &NoFiles), Vec::new());
    let wrong = front.core().unwrap_err();
    let lines: BTreeSet<usize> = wrong
        .iter()
        .filter(|problem| problem.code == DESTINATION_OVER_SOURCE)
        .filter_map(|problem| front.sources.position(problem.primary.span))
        .map(|position| position.line)
        .collect();
    assert_eq!(lines.len(), programs.len());
    assert_eq!(wrong.len(), programs.len());
}
