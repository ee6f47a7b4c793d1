//! `almach tune`: searches for the fastest way to run an entry point, and writes it as source (Lin, chapter 6).

use crate::arguments;
use crate::commands::run::outcome_of;
use crate::failure::{Outcome, complaint};
use crate::files;
use crate::generate::{Generator, Sizes};
use crate::links;
use crate::measured::{Bench, Known, Runner, agree, differs};
use crate::options::{Search, TuneOptions};
use crate::program::{Program, choose_entry};
use crate::terminal::{self, Style};
use almach_base::codes::cli as codes;
use almach_base::{Diagnostic, SourceMap, Span, compiler_bug};
use almach_core::check::Checked;
use almach_core::interp::Interpreter;
use almach_core::{Entry, Program as Core};
use almach_driver::back::{self, Machine, Target};
use almach_driver::source::{source_of, strategy_of_source};
use almach_imp::canonical::canonical_text;
use almach_native::Toolchain;
use almach_tune::{
    Candidate, Estimate, Found, Made, Origin, Picture, Reference, Space, heuristic, picture, random,
};
use almach_value::{DimType, Value, ValueType};
use std::fmt::Write;

/// Variants that the heuristic search looks at for each that is measured.
const LOOKED_AT: usize = 8;

/// A variant that is expected to take so many times as long as the default is not run.
const HOPELESS: f64 = 50.0;

/// Those among the fastest that are measured again, in turn, so that whatever else the machine does hits all of them.
const FINALISTS: usize = 5;
const ROUNDS: usize = 3;

/// The sizes at which a variant is compared with the interpreter.
const SMALL: usize = 19;

/// Variants in the table.
const SHOWN: usize = 10;

/// A variant that is not this much faster than the default is not worth a source of its own.
const WORTH: f64 = 0.98;

pub fn run(options: &TuneOptions, style: Style) -> Outcome {
    let program = match Program::open(&options.file, style) {
        Ok(program) => program,
        Err(outcome) => return outcome,
    };
    let core = match program.core(style) {
        Ok(core) => core,
        Err(outcome) => return outcome,
    };
    match tune(&program, &core, options) {
        Ok(bugs) if bugs.is_empty() => Outcome::Done,
        Ok(bugs) => program.report(&bugs, style),
        Err(diagnostic) => {
            let outcome = outcome_of(diagnostic.code);
            program.report(&[diagnostic], style);
            outcome
        }
    }
}

/// Tunes an entry; what variants did that they must not.
fn tune(
    program: &Program,
    core: &Checked<Core>,
    options: &TuneOptions,
) -> Result<Vec<Diagnostic>, Diagnostic> {
    let Some(target) = options.backend.target() else {
        return Err(complaint(
            codes::BAD_OPTION,
            "the interpreter runs a program in one way only",
        )
        .help("tune it for another back end: --backend c, openmp, opencl or cuda"));
    };
    for (name, number) in [("--budget", options.budget), ("--runs", options.runs)] {
        if number == 0 {
            return Err(
                complaint(codes::BAD_OPTION, format!("{name} 0 measures nothing")).help("give at least 1")
            );
        }
    }
    let entry = choose_entry(core, options.entry.as_deref())?;
    let args = inputs(entry, options)?;
    let toolchain = Toolchain::find().map_err(|diagnostic| *diagnostic)?;
    let machine = back::machine(target);
    let space = Space::of(core, entry, machine).map_err(first)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let estimate = Estimate::new(&args, target, threads);
    let found = explored(&space, &estimate, options).map_err(first)?;
    if found.candidates.len() < 2 {
        return Err(nothing_to_decide(entry, &found));
    }
    let bench = Bench {
        toolchain,
        target,
        device: options.device.clone(),
        links: links::all(&options.file, &options.link)?,
        sources: program.sources(),
        args: &args,
        known: known(space.core(), entry, options)?,
        runs: options.runs,
    };
    let mut results = measured(&bench, &found, options)?;
    finals(&bench, &mut results)?;
    let report = Report {
        space: &space,
        found: &found,
        results: &results,
        sources: program.sources(),
        entry,
        options,
    };
    terminal::say_raw(&report.text(target));
    report.write(machine)?;
    Ok(results.bugs)
}

fn first(diagnostics: Vec<Diagnostic>) -> Diagnostic {
    let none = || compiler_bug(Span::NONE, "a stage failed without saying why");
    diagnostics.into_iter().next().unwrap_or_else(none)
}

fn nothing_to_decide(entry: &Entry, found: &Found) -> Diagnostic {
    let title = format!("there is nothing to decide about `{}`", entry.name);
    let diagnostic = complaint(codes::NOTHING_TO_TUNE, title);
    match &found.why {
        None => diagnostic.note("every variant that was tried leads to the same code"),
        Some(why) => diagnostic.note(format!(
            "{} variants cannot be compiled: {}",
            found.refused, why.title
        )),
    }
}

/// The variants that the searches find.
fn explored(space: &Space, estimate: &Estimate<'_>, options: &TuneOptions) -> Result<Found, Vec<Diagnostic>> {
    let mut found = Found::start(space, estimate)?;
    let (by_cost, by_chance) = shares(options);
    heuristic(space, estimate, options.seed, by_cost * LOOKED_AT, &mut found);
    random(space, estimate, options.seed, by_chance, &mut found);
    Ok(found)
}

/// How many variants of each search are measured.
fn shares(options: &TuneOptions) -> (usize, usize) {
    match options.search {
        Search::Heuristic => (options.budget, 0),
        Search::Random => (0, options.budget),
        Search::Both => (options.budget.div_ceil(2), options.budget / 2),
    }
}

/// The arguments that variants are measured with.
fn inputs(entry: &Entry, options: &TuneOptions) -> Result<Vec<Value>, Diagnostic> {
    if !options.args.is_empty() {
        return arguments::read_all(entry, &options.args);
    }
    let text = options.size.as_deref().unwrap_or("");
    let mut missing: Vec<&str> = Vec::new();
    let mut named = Vec::new();
    entry.params.iter().for_each(|(_, ty)| sizes_of(ty, &mut named));
    for name in &named {
        if (text.is_empty() || !Sizes::gives(text, name)) && !missing.contains(&name.as_str()) {
            missing.push(name);
        }
    }
    if !missing.is_empty() {
        let given: Vec<String> = missing.iter().map(|name| format!("{name}=1000")).collect();
        let title = format!(
            "at which sizes `{}` is tuned is not said: {}",
            entry.name,
            missing.join(", ")
        );
        return Err(complaint(codes::MISSING_SIZES, title).help(format!(
            "give them (`--size {}`), one for all (`--size 1000`), or arguments",
            given.join(",")
        )));
    }
    generated(
        entry,
        options.seed,
        Sizes::parse(if text.is_empty() { "1" } else { text })?,
    )
}

fn generated(entry: &Entry, seed: u64, sizes: Sizes) -> Result<Vec<Value>, Diagnostic> {
    let mut generator = Generator::new(seed, sizes);
    let params = entry.params.iter();
    params.map(|(name, ty)| generator.value(name, ty)).collect()
}

/// The names of the sizes in a type; `?` for one without a name.
fn sizes_of(ty: &ValueType, found: &mut Vec<String>) {
    match ty {
        ValueType::Array(dim, element) => {
            match dim {
                DimType::Named(name) => found.push(name.to_string()),
                DimType::Unknown | DimType::Expression(_) => found.push("n".to_owned()),
                DimType::Known(_) | DimType::Jagged => {}
            }
            sizes_of(element, found);
        }
        ValueType::Tuple(parts) => parts.iter().for_each(|part| sizes_of(part, found)),
        ValueType::Record(fields) => fields.iter().for_each(|(_, ty)| sizes_of(ty, found)),
        ValueType::Scalar(_) | ValueType::Vector(..) | ValueType::Sum(_) | ValueType::Recursive(_) => {}
    }
}

/// What the interpreter gives for small inputs; none where inputs are the user's, which may be large, or where the program calls C.
fn known(core: &Checked<Core>, entry: &Entry, options: &TuneOptions) -> Result<Option<Known>, Diagnostic> {
    if !options.args.is_empty() || !core.foreign.is_empty() {
        return Ok(None);
    }
    let text = options.size.as_deref().unwrap_or("1");
    let args = generated(entry, options.seed, Sizes::parse(text)?.at_most(SMALL))?;
    let interpreter = Interpreter::new(core).map_err(|diagnostic| *diagnostic)?;
    let value = interpreter.call(&entry.name, args.clone()).ok();
    Ok(Some(Known { args, value }))
}

/// What came of measuring.
struct Results<'f> {
    /// The default first; then from the fastest.
    ran: Vec<(&'f Candidate, Runner)>,
    too_slow: usize,
    /// Variants that fail or give another value.
    bugs: Vec<Diagnostic>,
}

/// Compiles and measures the default, what the heuristic search expects to be fastest, and what was found at random.
fn measured<'f>(
    bench: &Bench<'_>,
    found: &'f Found,
    options: &TuneOptions,
) -> Result<Results<'f>, Diagnostic> {
    let Some((default, others)) = found.candidates.split_first() else {
        return Err(compiler_bug(Span::NONE, "a search without a start"));
    };
    let mut runner = bench.runner(&default.made.lowered)?;
    runner.measure(bench.args, bench.runs)?;
    let mut results = Results {
        ran: vec![(default, runner)],
        too_slow: 0,
        bugs: Vec::new(),
    };
    let (by_cost, _) = shares(options);
    let (mut guided, drawn): (Vec<_>, Vec<_>) = others
        .iter()
        .partition(|candidate| candidate.origin == Origin::Heuristic);
    guided.sort_by(|a, b| a.cost.cycles().total_cmp(&b.cost.cycles()));
    for candidate in guided.into_iter().take(by_cost).chain(drawn) {
        if candidate.cost.cycles() > HOPELESS * default.cost.cycles() {
            results.too_slow += 1;
            continue;
        }
        match bench
            .runner(&candidate.made.lowered)
            .and_then(|runner| results.accepted(bench, runner))
        {
            Ok(runner) => results.ran.push((candidate, runner)),
            Err(diagnostic) => results.bugs.push(diagnostic),
        }
    }
    Ok(results)
}

impl Results<'_> {
    /// A variant that gives what the default gives, measured.
    fn accepted(&self, bench: &Bench<'_>, mut runner: Runner) -> Result<Runner, Diagnostic> {
        let default = self.ran.first().and_then(|(_, runner)| runner.value.as_ref());
        let value = runner.value.take();
        if let (Some(default), Some(value), Some(ty)) = (default, &value, runner.result_type())
            && !agree(value, default, ty)
        {
            return Err(differs(Span::NONE, "the others"));
        }
        drop(value);
        runner.measure(bench.args, bench.runs)?;
        Ok(runner)
    }

    fn sort(&mut self) {
        let by_time =
            |a: &(&Candidate, Runner), b: &(&Candidate, Runner)| a.1.median().total_cmp(&b.1.median());
        if let Some(others) = self.ran.get_mut(1..) {
            others.sort_by(by_time);
        }
    }

    fn default_seconds(&self) -> f64 {
        self.ran.first().map_or(f64::NAN, |(_, runner)| runner.median())
    }

    /// The fastest, where it is worth it; else the default.
    fn winner(&self) -> Option<&(&Candidate, Runner)> {
        let best = self
            .ran
            .get(1)
            .filter(|(_, runner)| runner.median() < WORTH * self.default_seconds());
        best.or(self.ran.first())
    }
}

/// Measures the default and the fastest again, in turn.
fn finals(bench: &Bench<'_>, results: &mut Results<'_>) -> Result<(), Diagnostic> {
    results.sort();
    for _ in 0..ROUNDS {
        for (_, runner) in results.ran.iter_mut().take(1 + FINALISTS) {
            runner.measure(bench.args, bench.runs)?;
        }
    }
    results.sort();
    Ok(())
}

/// What is told and written in the end.
struct Report<'a> {
    space: &'a Space,
    found: &'a Found,
    results: &'a Results<'a>,
    sources: &'a SourceMap,
    entry: &'a Entry,
    options: &'a TuneOptions,
}

impl Report<'_> {
    fn text(&self, target: Target) -> String {
        let mut out = self.summary(target);
        out.push_str(&self.table());
        out.push('\n');
        let title = self.title();
        out.push_str(&self.picture(&title, &self.seconds(), &self.references()).text());
        out
    }

    fn title(&self) -> String {
        let name = self
            .options
            .file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        format!("times of variants of `{}` of {name}", self.entry.name)
    }

    fn summary(&self, target: Target) -> String {
        let Found {
            candidates,
            same,
            refused,
            ..
        } = self.found;
        let mut out = format!(
            "`{}`: {} operations may have other effects; {} different programs found, {same} variants like others, {refused} refused\n",
            self.entry.name,
            self.space.sites().len(),
            candidates.len(),
        );
        let _ = writeln!(
            out,
            "{} measured on {}, {} expected to take too long, {} wrong\n",
            self.results.ran.len(),
            target_name(target),
            self.results.too_slow,
            self.results.bugs.len()
        );
        if let Some(why) = &self.found.why {
            let _ = writeln!(out, "note: the first that was refused: {}\n", why.title);
        }
        out
    }

    fn table(&self) -> String {
        let default = self.results.default_seconds();
        let cycles = self.found.candidates.first().map_or(1.0, |one| one.cost.cycles());
        let mut out = format!(
            "{:>12}  {:>6}  {:>9}  {:<9}  {}\n",
            "time", "ratio", "estimated", "found by", "changes"
        );
        let mut row = |candidate: &Candidate, runner: &Runner| {
            let median = runner.median();
            let _ = writeln!(
                out,
                "{:>12}  {:>6.2}  {:>9.2}  {:<9}  {}",
                picture::time(median),
                median / default,
                candidate.cost.cycles() / cycles,
                candidate.origin.name(),
                self.changes(&candidate.made)
            );
        };
        let Some(((candidate, runner), others)) = self.results.ran.split_first() else {
            return out;
        };
        for (candidate, runner) in others.iter().take(SHOWN) {
            row(candidate, runner);
        }
        row(candidate, runner);
        out
    }

    /// What a variant does otherwise, each with its place.
    fn changes(&self, made: &Made) -> String {
        let shown =
            self.space
                .changes(made)
                .into_iter()
                .map(|change| match self.sources.position(change.span) {
                    Some(at) if !change.span.is_none() => {
                        let file = self
                            .sources
                            .file(change.span.file)
                            .map_or("", |file| file.name.as_str());
                        let own = self.options.file.display().to_string();
                        match file == own {
                            true => format!("{} ({}:{})", change.what, at.line, at.column),
                            false => format!("{} ({file}:{}:{})", change.what, at.line, at.column),
                        }
                    }
                    _ => change.what.to_string(),
                });
        let shown: Vec<String> = shown.collect();
        match shown.is_empty() {
            true => "none".to_owned(),
            false => shown.join(", "),
        }
    }

    /// The times of what was found at random, as the thesis draws them; of all where that search did not run.
    fn seconds(&self) -> Vec<f64> {
        let of = |only: &dyn Fn(Origin) -> bool| -> Vec<f64> {
            let all = self
                .results
                .ran
                .iter()
                .filter(|(candidate, _)| only(candidate.origin));
            all.map(|(_, runner)| runner.median()).collect()
        };
        let drawn = of(&|origin| origin == Origin::Random);
        match drawn.is_empty() {
            true => of(&|_| true),
            false => drawn,
        }
    }

    fn references(&self) -> Vec<Reference> {
        let reference = |name: &str, runner: &Runner| Reference {
            name: name.to_owned(),
            seconds: runner.median(),
        };
        let default = self
            .results
            .ran
            .first()
            .map(|(_, runner)| reference("default", runner));
        let guided = self
            .results
            .ran
            .iter()
            .find(|(candidate, _)| candidate.origin == Origin::Heuristic);
        let guided = guided.map(|(_, runner)| reference("heuristic", runner));
        guided.into_iter().chain(default).collect()
    }

    fn picture<'p>(&self, title: &'p str, seconds: &'p [f64], references: &'p [Reference]) -> Picture<'p> {
        Picture {
            title,
            seconds,
            too_slow: self.results.too_slow,
            references,
        }
    }

    /// Writes what was asked for.
    fn write(&self, machine: Machine) -> Result<(), Diagnostic> {
        if let Some(path) = &self.options.svg {
            let (title, seconds, references) = (self.title(), self.seconds(), self.references());
            files::write(path, self.picture(&title, &seconds, &references).svg().as_bytes())?;
            terminal::say(&format!("wrote {}", path.display()));
        }
        if let Some(path) = &self.options.csv {
            files::write(path, self.csv().as_bytes())?;
            terminal::say(&format!("wrote {}", path.display()));
        }
        let Some((candidate, runner)) = self.results.winner() else {
            return Ok(());
        };
        let ratio = runner.median() / self.results.default_seconds();
        terminal::say(&match candidate.origin {
            Origin::Default => "the default is as fast as anything that was found".to_owned(),
            _ => format!("the fastest takes {ratio:.2} of the time of the default"),
        });
        if let Some(path) = &self.options.out {
            let text = self.source(candidate, ratio);
            self.compiles_to_the_same(&candidate.made, &text, machine)?;
            files::write(path, text.as_bytes())?;
            terminal::say(&format!("wrote {}", path.display()));
        }
        Ok(())
    }

    /// The times of all that were measured.
    fn csv(&self) -> String {
        let mut out = String::from("found by,seconds,estimated cycles,changes\n");
        for (candidate, runner) in &self.results.ran {
            let changes = self.changes(&candidate.made).replace('"', "'");
            let (origin, cycles) = (candidate.origin.name(), candidate.cost.cycles());
            let _ = writeln!(out, "{origin},{:e},{cycles:e},\"{changes}\"", runner.median());
        }
        out
    }

    fn source(&self, candidate: &Candidate, ratio: f64) -> String {
        let name = self
            .options
            .file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let sizes = match &self.options.size {
            Some(size) => format!(" at sizes {size}"),
            None => String::new(),
        };
        format!(
            "-- `{}` of {name}, tuned{sizes}: {ratio:.2} of the time of the default there.\n-- Changes: {}.\n\n{}",
            self.entry.name,
            self.changes(&candidate.made),
            source_of(&candidate.made.strategy)
        )
    }

    /// What is written must compile to exactly what was measured.
    fn compiles_to_the_same(&self, made: &Made, text: &str, machine: Machine) -> Result<(), Diagnostic> {
        let again = strategy_of_source(text, machine).and_then(|strategy| {
            let entries: Vec<&Entry> = strategy.entries.iter().collect();
            back::lowered(&strategy, &entries)
        });
        match again {
            Ok(again) if canonical_text(again.imp.program()) == made.text => Ok(()),
            Ok(_) => Err(compiler_bug(
                self.entry.span,
                "the source of the fastest variant compiles to another program",
            )),
            Err(diagnostics) => {
                let why = first(diagnostics).title;
                Err(compiler_bug(
                    self.entry.span,
                    format!("the source of the fastest variant does not compile: {why}"),
                ))
            }
        }
    }
}

fn target_name(target: Target) -> &'static str {
    match target {
        Target::C => "C",
        Target::OpenMp => "OpenMP C",
        Target::OpenCl => "OpenCL",
        Target::Cuda => "CUDA",
    }
}
