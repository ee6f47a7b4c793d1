//! `almach bench`: entry points on given or generated inputs, with statistics.

use crate::arguments;
use crate::commands::run::outcome_of;
use crate::failure::{Outcome, complaint};
use crate::generate::{Generator, Sizes};
use crate::links;
use crate::machine::{Checks, Machine, RunSettings};
use crate::options::BenchOptions;
use crate::program::{Program, choose_entry};
use crate::terminal::{self, Style};
use crate::times::{Times, say_kernels};
use almach_base::Diagnostic;
use almach_base::codes::cli as codes;
use almach_core::check::Checked;
use almach_core::{Entry, Program as Core};
use almach_value::Value;
use std::time::Instant;

pub fn run(options: &BenchOptions, style: Style) -> Outcome {
    let program = match Program::open(&options.file, style) {
        Ok(program) => program,
        Err(outcome) => return outcome,
    };
    let core = match program.core(style) {
        Ok(core) => core,
        Err(outcome) => return outcome,
    };
    match bench(&program, &core, options) {
        Ok(()) => Outcome::Done,
        Err(diagnostic) => {
            let outcome = outcome_of(diagnostic.code);
            program.report(&[diagnostic], style);
            outcome
        }
    }
}

fn bench(program: &Program, core: &Checked<Core>, options: &BenchOptions) -> Result<(), Diagnostic> {
    if options.runs == 0 {
        return Err(complaint(codes::BAD_OPTION, "--runs 0 measures nothing").help("give at least one run"));
    }
    let entries: Vec<&Entry> = match (&options.entry, options.args.as_slice()) {
        (None, []) if !core.entries.is_empty() => core.entries.iter().collect(),
        (name, _) => vec![choose_entry(core, name.as_deref())?],
    };
    let machine = Machine::new(
        program,
        core,
        &entries,
        RunSettings {
            backend: options.backend,
            device: options.device.clone(),
            max_depth: None,
            checks: Checks::unless(options.unchecked),
            links: links::all(&options.file, &options.link)?,
            without: options.passes.without(),
            memory: Default::default(),
        },
        &mut Times::new(),
    )?;
    machine.time_kernels();
    let inputs: Vec<Vec<Value>> = entries
        .iter()
        .map(|entry| inputs(entry, options))
        .collect::<Result<_, _>>()?;
    let width = entries
        .iter()
        .map(|entry| entry.name.len())
        .max()
        .unwrap_or(0)
        .max("entry".len());
    terminal::say(&format!(
        "{:<width$}  {:>12}  {:>12}  {:>12}  {:>12}  {:>6}",
        "entry", "median", "mean", "min", "max", "spread"
    ));
    for (entry, args) in entries.into_iter().zip(&inputs) {
        let statistics = measure(&machine, entry, args, options)?;
        terminal::say(&statistics.row(&entry.name, width));
    }
    say_kernels(&machine.kernel_times(), terminal::say);
    Ok(())
}

fn inputs(entry: &Entry, options: &BenchOptions) -> Result<Vec<Value>, Diagnostic> {
    if !options.args.is_empty() {
        return arguments::read_all(entry, &options.args);
    }
    let sizes = Sizes::parse(&options.size)?;
    let mut generator = Generator::new(options.seed, sizes);
    entry
        .params
        .iter()
        .map(|(name, ty)| generator.value(name, ty))
        .collect()
}

fn measure(
    machine: &Machine,
    entry: &Entry,
    args: &[Value],
    options: &BenchOptions,
) -> Result<Statistics, Diagnostic> {
    let mut seconds = Vec::with_capacity(options.runs);
    // The first run warms caches and is not counted.
    for run in 0..=options.runs {
        let args = args.to_vec();
        let start = Instant::now();
        machine.call(&entry.name, args)?;
        if run > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    Ok(Statistics::of(seconds))
}

struct Statistics {
    median: f64,
    mean: f64,
    min: f64,
    max: f64,
    /// Standard deviation over mean.
    spread: f64,
}

impl Statistics {
    fn of(mut seconds: Vec<f64>) -> Statistics {
        seconds.sort_by(f64::total_cmp);
        let count = seconds.len() as f64;
        let at = |index: usize| seconds.get(index).copied().unwrap_or(f64::NAN);
        let middle = seconds.len() / 2;
        let median = if seconds.len() % 2 == 1 {
            at(middle)
        } else {
            (at(middle.wrapping_sub(1)) + at(middle)) / 2.0
        };
        let mean = seconds.iter().sum::<f64>() / count;
        let variance = seconds.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count;
        Statistics {
            median,
            mean,
            min: at(0),
            max: at(seconds.len().wrapping_sub(1)),
            spread: variance.sqrt() / mean,
        }
    }

    fn row(&self, name: &str, width: usize) -> String {
        format!(
            "{name:<width$}  {:>12}  {:>12}  {:>12}  {:>12}  {:>5.1}%",
            time(self.median),
            time(self.mean),
            time(self.min),
            time(self.max),
            self.spread * 100.0
        )
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.1} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} us", s * 1e6),
        s if s < 1.0 => format!("{:.3} ms", s * 1e3),
        s => format!("{s:.3} s"),
    }
}
