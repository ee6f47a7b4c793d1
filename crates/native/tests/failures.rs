//! Programs that fail: which failure is reported, that nothing is lost on the way, and what compilers' and files' errors look like.

#![allow(clippy::unwrap_used)]
#![allow(dead_code)]

mod support;

use almach_base::codes::cli;
use almach_emit::Target;
use almach_imp::interp::Passed;
use almach_native::{Argument, Origin, Toolchain};
use almach_value::Scalar;
use support::programs::FAILING;
use support::{Compiled, OUT, OWNED, Random, buffer, int, room};

#[test]
fn messages_carry_the_values() {
    let mut compiled = Compiled::new(FAILING);
    for (a, b, c, d) in [
        (-128, u64::MAX, 0.1, -0.0),
        (3, 0, f32::NAN, 1e300),
        (0, 7, 16777216.0, f64::INFINITY),
    ] {
        let arguments = vec![
            Passed::Value(Scalar::I8(a)),
            Passed::Value(Scalar::U64(b)),
            Passed::Value(Scalar::F32(c)),
            Passed::Value(Scalar::F64(d)),
            Passed::Value(Scalar::Bool(false)),
        ];
        let error = compiled.agree("values", arguments).unwrap_err();
        assert_eq!(error.code.0, "E0811");
        for (_, library) in &mut compiled.libraries {
            let text = library.error_text().unwrap();
            // Floats have a point or an exponent in both, not always the same digits around it.
            assert!(
                text.starts_with(&format!("test.alm:2:2: error[E0811]: {a} {b} ")),
                "{text}"
            );
            assert!(text.ends_with(" false: 100% \"sure\"??!"), "{text}");
        }
    }
}

#[test]
fn a_library_can_be_called_after_a_failure() {
    let mut compiled = Compiled::new(FAILING);
    let bad = vec![int(2), buffer(&[6i32, 7]), buffer(&[0i32, 0]), OWNED];
    let good = vec![int(2), buffer(&[6i32, i32::MIN]), buffer(&[4i32, -1]), OWNED];
    for _ in 0..3 {
        assert_eq!(compiled.agree("divide", bad.clone()).unwrap_err().code.0, "E0802");
        compiled.agree("divide", good.clone()).unwrap();
        assert!(
            compiled
                .libraries
                .iter_mut()
                .all(|(_, library)| library.error_text().is_none())
        );
    }
}

/// Of several failing iterations the first counts, on every number of threads, whichever thread is first.
#[test]
fn the_first_failure_in_order_counts() {
    let mut compiled = Compiled::new(FAILING);
    let mut random = Random(4);
    let mut failures = 0;
    for round in 0..60 {
        let n = [1, 2, 3, 10, 100][round % 5];
        let mut flags = |one_in: u64| -> Vec<bool> { (0..n).map(|_| random.below(one_in) == 0).collect() };
        let (bad, worse) = (flags(n as u64), flags(2 * n as u64 + 1));
        let arguments = vec![int(n as i64), buffer(&bad), buffer(&worse), room(n), OUT];
        let result = compiled.agree("first", arguments);
        let expected = (0..n).find(|at| bad[*at] || worse[*at]);
        failures += usize::from(result.is_err());
        match (result, expected) {
            (Err(error), Some(at)) => {
                let word = if bad[at] {
                    format!("bad {at} of {n}")
                } else {
                    format!("worse {at}")
                };
                assert_eq!(error.title, word);
            }
            (Ok(_), None) => {}
            (result, expected) => panic!("{result:?} {expected:?}"),
        }
    }
    assert!((20..60).contains(&failures), "{failures}");
    let xs = [4i32, 0, -3, 2, -9];
    let error = compiled
        .agree("simd_checks", vec![int(5), buffer(&xs), room(5)])
        .unwrap_err();
    assert_eq!(error.title, "negative -3");
}

/// Sizes that do not fit are errors; nothing is computed with what is left of them.
#[test]
fn too_much_memory_is_an_error() {
    let mut compiled = Compiled::new(FAILING);
    let huge = 1 << 40;
    for (n, m, k) in [
        (huge, huge, 1),
        (huge, huge, huge),
        (i64::MAX, 2, 1),
        (1 << 62, 4, 1),
        (huge, 1 << 20, 1),
    ] {
        for (how, library) in &mut compiled.libraries {
            let values = [n, m, k].map(|size| Argument::Value(Scalar::I64(size)));
            let error = library
                .call("cubes", values.into_iter().chain([Argument::Out]).collect())
                .unwrap_err();
            assert_eq!(error.code.0, "E0812", "{how}");
            assert!(
                error.title.starts_with("not enough memory for "),
                "{}",
                error.title
            );
        }
    }
    // Also where the size has a name, or comes from or goes to another procedure.
    for (n, m) in [(1 << 33, 1 << 31), (huge, huge), (i64::MAX, 3)] {
        for (how, library) in &mut compiled.libraries {
            let values = [n, m].map(|size| Argument::Value(Scalar::I64(size)));
            let error = library
                .call("measured", values.into_iter().chain([Argument::Out]).collect())
                .unwrap_err();
            assert_eq!(error.code.0, "E0812", "{how}");
            let cells = [Argument::Value(Scalar::I64(i64::MAX))];
            let error = library.call("reserve", cells.into_iter().collect()).unwrap_err();
            assert_eq!(error.code.0, "E0812", "{how}");
        }
    }
    // None of many is none.
    for sizes in [[0, huge, huge], [huge, huge, 0], [huge, 0, huge], [0, 0, 0]] {
        for (how, library) in &mut compiled.libraries {
            let values = sizes.map(|size| Argument::Value(Scalar::I64(size)));
            let outputs = library
                .call("cubes", values.into_iter().chain([Argument::Out]).collect())
                .unwrap();
            assert!(
                matches!(outputs[..], [almach_native::Output::Scalar(Scalar::I64(0))]),
                "{how}: {outputs:?}"
            );
        }
    }
}

#[test]
fn compilers_are_missing_or_refuse() {
    let error = Toolchain::of("no-such-compiler -v").unwrap_err();
    assert_eq!(error.code, cli::NO_C_COMPILER);
    assert!(error.title.contains("no-such-compiler -v"), "{}", error.title);
    let source = support::emit(&support::checked(FAILING), Target::C);
    let folder = format!("{}/refused", support::cache());
    let broken = Toolchain::of("cc")
        .unwrap()
        .with_flags(["-no-such-flag"])
        .with_cache(&folder);
    let error = broken.library(&source, Target::C, &[]).unwrap_err();
    assert_eq!(error.code, cli::C_COMPILER_FAILED);
    assert!(
        error.notes.iter().any(|note| note.contains("-no-such-flag")),
        "{error:?}"
    );
    // Nothing is left behind.
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::write(format!("{}/a file", support::cache()), []).unwrap();
    let nowhere = Toolchain::of("cc")
        .unwrap()
        .with_cache(format!("{}/a file/in it", support::cache()));
    assert_eq!(
        nowhere.library(&source, Target::C, &[]).unwrap_err().code,
        cli::UNWRITABLE_FILE
    );
}

#[test]
fn libraries_are_compiled_once() {
    let folder = format!("{}/once", support::cache());
    let _ = std::fs::remove_dir_all(&folder);
    let toolchain = Toolchain::of("cc")
        .unwrap()
        .with_flags(["-O0"])
        .with_cache(&folder);
    let source = support::emit(&support::checked("proc nothing() { }"), Target::C);
    let one = toolchain.library(&source, Target::C, &[]).unwrap();
    let two = toolchain.library(&source, Target::C, &[]).unwrap();
    assert_eq!((one.origin, two.origin), (Origin::Compiler, Origin::Cache));
    assert_eq!(one.path, two.path);
    let other = toolchain
        .clone()
        .with_flags(["-O1"])
        .library(&source, Target::C, &[])
        .unwrap();
    assert_ne!(other.path, one.path);
    // Many at once make one library, and no mess.
    std::fs::remove_file(&one.path).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| support::load(&toolchain, &source, Target::C));
        }
    });
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
}
