//! `bench/run`: builds every workload and its rivals, runs them in turn in one program each, and writes the times as CSV,
//! Markdown and a chart. See `bench/README.md`.

mod chart;
mod measure;
mod publish;
mod report;
mod shows;
mod suite;
mod variants;

use clap::Parser;
use measure::{Ceilings, Measured, Tools};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Measures Almach against hand-written C", version)]
struct Options {
    /// Workloads to run; all where none is named
    names: Vec<String>,
    /// Seconds to measure each workload for
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Divides the sizes of all workloads
    #[arg(long, default_value_t = 1)]
    divide: u64,
    /// The almach command
    #[arg(long, default_value = "target/release/almach")]
    almach: PathBuf,
    /// The folder with workloads and rivals
    #[arg(long, default_value = "bench")]
    folder: PathBuf,
    /// Where to build and to write results
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
    /// Compares the programs of the thesis with the best of so many variants drawn at random, instead of with C++
    #[arg(long)]
    variants: Option<usize>,
    /// The seed of variants
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The threads of all variants, each bound to a core of its own; as many as there are processors where nothing is said
    #[arg(long)]
    threads: Option<u32>,
    /// Writes the table into the suite's README, with the date and the processor's name, and the chart beside it
    #[arg(long)]
    publish: bool,
    /// The C compiler of the rivals
    #[arg(long, default_value = "cc")]
    cc: String,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&format!("error: {message}"));
            ExitCode::FAILURE
        }
    }
}

/// Progress, on standard error.
fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn run(options: &Options) -> Result<(), String> {
    let selected = suite::select(&options.names)?;
    let tools = Tools::new(
        &options.almach,
        &options.folder,
        &options.out,
        &options.cc,
        options.threads,
    )?;
    if let Some(count) = options.variants {
        return compare_variants(options, &tools, &selected, count);
    }
    if !tools.has_clang() && selected.iter().any(|one| one.kind == suite::Kind::Thesis) {
        say("there is no clang++ here: programs of the thesis are beside g++ alone");
    }
    let ceilings = Ceilings::measure(&tools, options.seconds.min(2.0))?;
    say(&ceilings.to_string());
    let mut all: Vec<Measured> = Vec::new();
    let mut failures = Vec::new();
    for workload in selected {
        let size = (workload.size / options.divide).max(1);
        match measure::measure(&tools, workload, size, options.seconds) {
            Ok(measured) => {
                say(&report::line(&measured, &ceilings));
                all.push(measured);
            }
            Err(message) => {
                say(&format!("{}: {message}", workload.name));
                failures.push(workload.name);
            }
        }
    }
    let write = |name: &str, text: String| {
        std::fs::write(options.out.join(name), text).map_err(|error| format!("{name}: {error}"))
    };
    write("results.csv", report::csv(&all))?;
    write("results.md", report::markdown(&all, &ceilings))?;
    write("results.svg", chart::draw(&all, &ceilings))?;
    say(&report::summary(&all));
    say(&shows::lines(&all, &ceilings));
    if options.publish {
        publish::publish(&options.folder, &all, &ceilings, options.threads)?;
    }
    match failures.is_empty() {
        true => Ok(()),
        false => Err(format!("not measured: {}", failures.join(", "))),
    }
}

/// Every program of the thesis beside variants of itself.
fn compare_variants(
    options: &Options,
    tools: &Tools,
    selected: &[&suite::Workload],
    count: usize,
) -> Result<(), String> {
    let mut all = Vec::new();
    let mut failures = Vec::new();
    for workload in selected.iter().filter(|workload| variants::compares(workload)) {
        let size = (workload.size / options.divide).max(1);
        match variants::compare(tools, workload, size, (count, options.seed)) {
            Ok(compared) => {
                say(&variants::line(&compared));
                all.push(compared);
            }
            Err(message) => {
                say(&format!("{}: {message}", workload.name));
                failures.push(workload.name);
            }
        }
    }
    std::fs::write(options.out.join("variants.md"), variants::markdown(&all))
        .map_err(|error| format!("variants.md: {error}"))?;
    say(&variants::summary(&all));
    match failures.is_empty() {
        true => Ok(()),
        false => Err(format!("not measured: {}", failures.join(", "))),
    }
}
