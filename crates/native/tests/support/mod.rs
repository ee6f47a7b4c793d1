//! Runs one Imp program on the interpreter and as compiled C, and compares.

pub mod programs;
pub mod recursive;
pub mod stores;

use almach_base::{Diagnostic, Name, SourceMap};
use almach_emit::{CSource, Export, Options, Target, emit_c};
use almach_imp::interp::{Passed, RunError};
use almach_imp::{Checked, Param, Passing, check, parse};
use almach_native::{Argument, Library, Output, Toolchain};
use almach_value::{Buffer, Scalar, ScalarType, buffer_of};

/// Emitted code must compile without a word under these. (Less optimisation than usual keeps tests quick.)
pub const WARNINGS: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"];

pub fn cache() -> &'static str {
    concat!(env!("CARGO_TARGET_TMPDIR"), "/native")
}

/// The compilers that are here: always `cc`, and clang where it is another.
pub fn toolchains() -> Vec<Toolchain> {
    let found = |command: &str| {
        Toolchain::of(command).map(|toolchain| toolchain.with_flags(WARNINGS).with_cache(cache()))
    };
    let mut all = vec![found("cc").unwrap()];
    all.extend(found("clang"));
    all
}

pub fn checked(text: &str) -> Checked {
    let program = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    check(program).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// All procedures of a program are exported.
pub fn emit(checked: &Checked, target: Target) -> CSource {
    let mut sources = SourceMap::new();
    sources.add("test.alm", "0123456789\n0123456789\n0123456789\n");
    let procs = &checked.program().procs;
    let exports = procs
        .iter()
        .map(|proc| Export {
            doc: format!("Tests {}.", proc.name),
            // These names are used for sizes only.
            sizes: vec![Name::from("n"), Name::from("m")],
            ..Export::new(proc.name.clone())
        })
        .collect();
    let options = Options {
        name: "test".into(),
        target,
        exports,
        foreign: Vec::new(),
        accounting: Default::default(),
        kernel_code: almach_emit::KernelCode::default(),
    };
    emit_c(checked, &sources, &options).unwrap()
}

pub fn load(toolchain: &Toolchain, source: &CSource, target: Target) -> Library {
    let compiled = toolchain.library(source, target, &[]).unwrap_or_else(|error| {
        panic!("{}\n{}\n{}", error.title, error.notes.join("\n"), source.source);
    });
    Library::load(&compiled.path, source.interface.clone()).unwrap()
}

/// One program, compiled in every way.
pub struct Compiled {
    pub checked: Checked,
    pub libraries: Vec<(String, Library)>,
}

impl Compiled {
    pub fn new(text: &str) -> Compiled {
        let checked = checked(text);
        let mut libraries = Vec::new();
        for (at, toolchain) in toolchains().iter().enumerate() {
            for target in [Target::C, Target::OpenMp] {
                if target == Target::OpenMp && !toolchain.supports_openmp() {
                    continue;
                }
                let source = emit(&checked, target);
                libraries.push((
                    format!("compiler {at}, {target:?}"),
                    load(toolchain, &source, target),
                ));
            }
        }
        Compiled { checked, libraries }
    }

    /// The interpreter and every library give the same, whatever the number of threads.
    #[track_caller]
    pub fn agree(&mut self, proc: &str, arguments: Vec<Passed>) -> Result<Vec<Passed>, Box<Diagnostic>> {
        let params = self.checked.program().proc(proc).unwrap().params.clone();
        let expected = interpreted(&self.checked, proc, arguments.clone());
        for (how, library) in &mut self.libraries {
            for threads in [1, 2, 7] {
                library.set_threads(threads);
                let found = call(library, proc, &params, arguments.clone());
                let same = match (&expected, &found) {
                    (Ok(expected), Ok(found)) => expected
                        .iter()
                        .zip(found)
                        .all(|(expected, found)| same(expected, found)),
                    (Err(expected), Err(found)) => expected == found,
                    _ => false,
                };
                assert!(
                    same,
                    "{proc} on {how} with {threads} threads\nexpected {expected:?}\nfound {found:?}"
                );
            }
        }
        expected
    }
}

/// What the interpreter gives, with an error of the program as a diagnostic.
pub fn interpreted(
    checked: &Checked,
    proc: &str,
    arguments: Vec<Passed>,
) -> Result<Vec<Passed>, Box<Diagnostic>> {
    match almach_imp::interp::run(checked, proc, arguments) {
        Ok(results) => Ok(results),
        Err(RunError::Failed { site, arguments }) => {
            let values: Vec<String> = arguments.iter().map(Scalar::to_string).collect();
            Err(Box::new(Diagnostic::error(
                site.code,
                site.span,
                site.message(&values),
            )))
        }
        Err(other) => panic!("{proc}: {other}"),
    }
}

/// Calls a library and gives the arguments back as the interpreter does.
pub fn call(
    library: &mut Library,
    proc: &str,
    params: &[Param],
    arguments: Vec<Passed>,
) -> Result<Vec<Passed>, Box<Diagnostic>> {
    let mut buffers: Vec<Option<Buffer>> = params
        .iter()
        .zip(&arguments)
        .map(|(p, a)| flat(p.ty, a))
        .collect();
    let prepared = params
        .iter()
        .zip(&arguments)
        .zip(&mut buffers)
        .map(
            |((param, argument), buffer)| match (param.passing, argument, buffer) {
                (Passing::Value, Passed::Value(scalar), _) => Argument::Value(*scalar),
                (Passing::Read, _, Some(buffer)) => Argument::Read(buffer),
                (Passing::Write, _, Some(buffer)) => Argument::Write(buffer),
                (Passing::Out, ..) => Argument::Out,
                (Passing::Owned, ..) => Argument::Owned,
                other => panic!("{other:?}"),
            },
        )
        .collect();
    let outputs = library.call(proc, prepared)?;
    let mut outputs = outputs.into_iter();
    let cells = |buffer: &Buffer| buffer.iter().map(Some).collect::<Vec<_>>();
    let results = arguments
        .into_iter()
        .zip(buffers)
        .map(|(argument, buffer)| match (argument, buffer) {
            (Passed::Buffer(_), Some(buffer)) => Passed::Buffer(cells(&buffer)),
            (Passed::Out(_), _) => match outputs.next() {
                Some(Output::Scalar(scalar)) => Passed::Out(Some(scalar)),
                other => panic!("{other:?}"),
            },
            (Passed::Owned(_), _) => match outputs.next() {
                Some(Output::Buffer(buffer)) => Passed::Owned(Some(cells(&buffer))),
                other => panic!("{other:?}"),
            },
            (argument, _) => argument,
        });
    Ok(results.collect())
}

fn flat(ty: ScalarType, passed: &Passed) -> Option<Buffer> {
    let Passed::Buffer(cells) = passed else {
        return None;
    };
    buffer_of(ty, cells.iter().map(|cell| cell.unwrap_or(Scalar::zero(ty))))
}

/// Whether every value that the interpreter knows was found.
fn same(expected: &Passed, found: &Passed) -> bool {
    let cells = |expected: &[Option<Scalar>], found: &[Option<Scalar>]| {
        expected.len() == found.len()
            && expected
                .iter()
                .zip(found)
                .all(|(expected, found)| match (expected, found) {
                    (None, _) => true,
                    (Some(expected), Some(found)) => expected.same(*found),
                    _ => false,
                })
    };
    match (expected, found) {
        (Passed::Value(expected), Passed::Value(found)) => expected.same(*found),
        (Passed::Out(None), Passed::Out(_)) => true,
        (Passed::Out(Some(expected)), Passed::Out(Some(found))) => expected.same(*found),
        (Passed::Buffer(expected), Passed::Buffer(found)) => cells(expected, found),
        (Passed::Owned(None), Passed::Owned(Some(found))) => found.is_empty(),
        (Passed::Owned(Some(expected)), Passed::Owned(Some(found))) => cells(expected, found),
        _ => false,
    }
}

pub fn int(value: i64) -> Passed {
    Passed::Value(Scalar::I64(value))
}

pub fn buffer<T: Into<Scalar> + Copy>(values: &[T]) -> Passed {
    Passed::Buffer(values.iter().map(|value| Some((*value).into())).collect())
}

/// Cells nothing wrote.
pub fn room(count: usize) -> Passed {
    Passed::Buffer(vec![None; count])
}

pub const OUT: Passed = Passed::Out(None);
pub const OWNED: Passed = Passed::Owned(None);

/// Numbers that look random and are the same every time (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

pub fn name(text: &str) -> Name {
    Name::from(text)
}
