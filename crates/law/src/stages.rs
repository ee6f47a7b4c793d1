//! A program through every stage, on every set of arguments; all must agree with the interpreter of Core.

use crate::generate::Program;
use almach_base::codes::concreteness::NOT_COMPILED_YET;
use almach_base::{Diagnostic, SourceMap, render};
use almach_core::check::Checked;
use almach_core::interp::Interpreter;
use almach_core::print::{Spans, program_to_string};
use almach_core::{Entry, Program as Core, check as core_check, parse as core_parse};
use almach_driver::back::{self, Target};
use almach_driver::{Front, NativeEntry, NoFiles, front, load};
use almach_imp::interp::run_entry;
use almach_lower::Lowered;
use almach_native::{Library, Toolchain};
use almach_rewrite::{Log, pipelines, run};
use almach_value::{Extent, Value, parse, print, same};

/// Where and how a program broke the law.
#[derive(Clone, Debug)]
pub struct Failure {
    pub stage: &'static str,
    pub kind: Kind,
    pub details: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The generator's programs are right, so a complaint about one is a mistake of either.
    Refused,
    /// A value, or a failure where there should be none, or none where there should be one.
    Differs,
}

/// What the interpreter of Core said on each run.
pub struct Agreement {
    pub values: usize,
    pub failures: usize,
    /// 1 where the program was compiled to native code too.
    pub compiled: usize,
}

/// What runs the programs. The C compiler takes far longer than all the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machines {
    Interpreters,
    All,
}

/// Runs a program through every stage of these machines.
pub fn check(program: &Program, machines: Machines) -> Result<Agreement, Failure> {
    let text = program.text();
    let front = front(load("random.alm", &text, &NoFiles), Vec::new());
    if front.has_errors() {
        return Err(refused("types", &front.diagnostics, &front.sources));
    }
    let core = front
        .core()
        .map_err(|diagnostics| refused("elaborate", &diagnostics, &front.sources))?;
    let others = [
        ("core text", reread(&front, &core)?),
        ("rewrite", rewritten(&front, &core)?),
    ];
    let lowered = lowered(&front, &core)?;
    let mut library = match machines {
        Machines::Interpreters => None,
        Machines::All => compiled(&front, &core)?,
    };
    let mut agreement = Agreement {
        values: 0,
        failures: 0,
        compiled: usize::from(library.is_some()),
    };
    for args in &program.runs {
        let expected = interpret(&core, args)?;
        match &expected {
            Ok(_) => agreement.values += 1,
            Err(_) => agreement.failures += 1,
        }
        for (stage, other) in &others {
            let found = interpret(other, args)?;
            agree(&core, stage, args, &expected, &found)?;
        }
        if let Some(lowered) = &lowered
            && let Some(entry) = lowered.entries.first()
        {
            let found =
                run_entry(&lowered.imp, entry, &values(&core, args)?).map_err(|error| error.to_string());
            agree(&core, "imp", args, &expected, &found)?;
            no_broken_rule(args, &found)?;
        }
        if let Some((library, entry)) = &mut library {
            let found = library
                .call_entry(entry, &values(&core, args)?)
                .map_err(|error| error.title);
            agree(&core, "openmp", args, &expected, &found)?;
        }
    }
    Ok(agreement)
}

/// Core printed and parsed again.
fn reread(front: &Front, core: &Core) -> Result<Checked<Core>, Failure> {
    let text = program_to_string(core, Spans::Omit);
    let mut sources = SourceMap::new();
    let file = sources.add("random.core", text.clone());
    let program = core_parse::parse_program(&text, file)
        .map_err(|diagnostic| refused("core text", &[*diagnostic], &sources))?;
    core_check::check(program, "parse")
        .map_err(|failure| refused("core text", &[failure.diagnostic], &front.sources))
}

/// Core after all rewrites.
fn rewritten(front: &Front, core: &Checked<Core>) -> Result<Checked<Core>, Failure> {
    run(core.clone(), pipelines::STANDARD, &mut Log::default())
        .map_err(|failure| refused("rewrite", &[failure.diagnostic], &front.sources))
}

fn refused(stage: &'static str, diagnostics: &[Diagnostic], sources: &SourceMap) -> Failure {
    let details = render::to_text(diagnostics, sources, render::Style::Plain);
    Failure {
        stage,
        kind: Kind::Refused,
        details,
    }
}

fn main_entry(core: &Core) -> Result<&Entry, Failure> {
    core.entries.first().ok_or_else(|| Failure {
        stage: "elaborate",
        kind: Kind::Refused,
        details: "there is no entry point".to_owned(),
    })
}

/// The program in Imp, at the levels of a machine with threads; none where the back end does not have what it needs.
fn lowered(front: &Front, core: &Checked<Core>) -> Result<Option<Lowered>, Failure> {
    let machine = back::machine(Target::OpenMp);
    let made = back::strategy(core.clone(), machine)
        .and_then(|strategy| back::lowered(&strategy, &[main_entry(core).map_err(|_| Vec::new())?]));
    match made {
        Ok(lowered) => Ok(Some(lowered)),
        Err(problems) if problems.iter().all(|one| one.code == NOT_COMPILED_YET) => Ok(None),
        Err(problems) => Err(refused("lower", &problems, &front.sources)),
    }
}

/// A program may fail where Core does, but never by a race or an access that no program may make.
fn no_broken_rule(args: &[String], found: &Result<Value, String>) -> Result<(), Failure> {
    match found {
        Err(error) if !error.starts_with('E') => Err(Failure {
            stage: "imp",
            kind: Kind::Differs,
            details: format!("arguments: {}\nfound: {error}", args.join(" ")),
        }),
        _ => Ok(()),
    }
}

/// The program as native code; none where the back end does not have what it needs, or there is no C compiler.
fn compiled(front: &Front, core: &Checked<Core>) -> Result<Option<(Library, NativeEntry)>, Failure> {
    let Ok(toolchain) = Toolchain::find() else {
        return Ok(None);
    };
    let target = Target::OpenMp;
    let source = back::strategy(core.clone(), back::machine(target)).and_then(|strategy| {
        let lowered = back::lowered(&strategy, &[main_entry(core).map_err(|_| Vec::new())?])?;
        let source = back::c_source(&lowered, &front.sources, "random", target)?;
        Ok((source, lowered.entries))
    });
    let (source, entries) = match source {
        Ok(made) => made,
        Err(problems) if problems.iter().all(|one| one.code == NOT_COMPILED_YET) => return Ok(None),
        Err(problems) => return Err(refused("lower", &problems, &front.sources)),
    };
    let made = toolchain
        .library(&source, target, &[])
        .and_then(|compiled| Library::load(&compiled.path, source.interface.clone()))
        .map_err(|problem| refused("openmp", &[*problem], &front.sources))?;
    Ok(entries.into_iter().next().map(|entry| (made, entry)))
}

/// The arguments of a run as values.
fn values(core: &Core, args: &[String]) -> Result<Vec<Value>, Failure> {
    let mut values = Vec::new();
    for ((name, ty), arg) in main_entry(core)?.params.iter().zip(args) {
        values.push(parse(arg, ty).map_err(|error| Failure {
            stage: "arguments",
            kind: Kind::Refused,
            details: format!("{name}: {error}"),
        })?);
    }
    Ok(values)
}

/// The value, or the run-time error's title.
fn interpret(core: &Core, args: &[String]) -> Result<Result<Value, String>, Failure> {
    let entry = main_entry(core)?;
    let values = values(core, args)?;
    let interpreter = Interpreter::new(core)
        .map_err(|diagnostic| refused("interpret", &[*diagnostic], &SourceMap::new()))?;
    Ok(interpreter
        .call(&entry.name, values)
        .map_err(|error| error.message))
}

fn agree(
    core: &Core,
    stage: &'static str,
    args: &[String],
    expected: &Result<Value, String>,
    found: &Result<Value, String>,
) -> Result<(), Failure> {
    let agrees = match (expected, found) {
        (Ok(expected), Ok(found)) => same(expected, found),
        // Code that is not needed for the result may go, and its failures with it (design, section 1).
        (Err(_), _) => true,
        (Ok(_), Err(_)) => false,
    };
    if agrees {
        return Ok(());
    }
    let entry = main_entry(core)?;
    let show = |result: &Result<Value, String>| match result {
        Ok(value) => print(value, &entry.result, Extent::Full),
        Err(error) => format!("fails: {error}"),
    };
    let details = format!(
        "arguments: {}\nexpected: {}\nfound: {}",
        args.join(" "),
        show(expected),
        show(found)
    );
    Err(Failure {
        stage,
        kind: Kind::Differs,
        details,
    })
}
