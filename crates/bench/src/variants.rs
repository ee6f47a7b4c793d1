//! `--variants N`: of every program of the thesis, what the compiler does by itself beside the best of N variants drawn at random, all measured in one run
//! of `almach tune` (Lin, section 7.3). The default and the fastest are measured again in turn at the end, so that whatever else the machine
//! does hits all of them.

use crate::measure::{Tools, output};
use crate::report::time;
use crate::suite::{Kind, Workload};
use std::process::Command;

/// The default is within this of the best.
const NEAR: f64 = 1.1;

/// A program and the times of its variants, in seconds.
pub struct Compared {
    name: &'static str,
    default: f64,
    drawn: Vec<(f64, String)>,
}

impl Compared {
    /// How many times as long the default takes as the best that was drawn.
    fn ratio(&self) -> f64 {
        self.drawn
            .first()
            .map_or(f64::NAN, |(best, _)| self.default / best)
    }
}

/// The programs that are compared: those of the thesis.
pub fn compares(workload: &Workload) -> bool {
    workload.kind == Kind::Thesis
}

pub fn compare(
    tools: &Tools,
    workload: &Workload,
    size: u64,
    (count, seed): (usize, u64),
) -> Result<Compared, String> {
    let csv = tools.out.join(format!("{}_variants.csv", workload.program));
    let mut command = Command::new(&tools.almach);
    command
        .arg("tune")
        .arg(tools.program(workload.program))
        .args(["--backend", "c", "--search", "random", "--runs", "5"])
        .args(["--budget", &count.to_string(), "--seed", &seed.to_string()])
        .args(["--size", &sizes(workload.program, size)])
        .arg("--csv")
        .arg(&csv);
    output(&mut command)?;
    let text = std::fs::read_to_string(&csv).map_err(|error| format!("{}: {error}", csv.display()))?;
    read(workload.name, &text)
}

/// The sizes of inputs, as the rival's program has them.
fn sizes(program: &str, size: u64) -> String {
    match program {
        "gmm" => format!("n={size},k=25,d=20,t=190"),
        _ => size.to_string(),
    }
}

fn read(name: &'static str, text: &str) -> Result<Compared, String> {
    let mut default = f64::NAN;
    let mut drawn = Vec::new();
    for line in text.lines().skip(1) {
        let mut fields = line.splitn(4, ',');
        let (Some(origin), Some(seconds)) = (fields.next(), fields.next()) else {
            return Err(format!("not understood: {line}"));
        };
        let seconds: f64 = seconds.parse().map_err(|_| format!("not understood: {line}"))?;
        let changes = fields.nth(1).unwrap_or("").trim_matches('"').to_owned();
        match origin {
            "default" => default = seconds,
            _ => drawn.push((seconds, changes)),
        }
    }
    drawn.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(Compared { name, default, drawn })
}

/// One program, as progress.
pub fn line(one: &Compared) -> String {
    let (best, changes) = one.drawn.first().cloned().unwrap_or((f64::NAN, String::new()));
    format!(
        "{:16} {:>10}, the best of {} variants {:>10}: {:.2} times as long; it has {changes}",
        one.name,
        time(1e9 * one.default),
        one.drawn.len(),
        time(1e9 * best),
        one.ratio(),
    )
}

pub fn markdown(all: &[Compared]) -> String {
    let mut text = String::from(
        "| program | default | variants | best | default / best | what the best does otherwise |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for one in all {
        let (best, changes) = one.drawn.first().cloned().unwrap_or((f64::NAN, String::new()));
        text.push_str(&format!(
            "| {} | {} | {} | {} | {:.2} | {changes} |\n",
            one.name,
            time(1e9 * one.default),
            one.drawn.len(),
            time(1e9 * best),
            one.ratio(),
        ));
    }
    text.push_str(&format!("\n{}\n", summary(all)));
    text
}

pub fn summary(all: &[Compared]) -> String {
    let far: Vec<String> = (all.iter().filter(|one| one.ratio() > NEAR))
        .map(|one| format!("{} ({:.2})", one.name, one.ratio()))
        .collect();
    format!(
        "more than 10% slower than the best variant: {}",
        match far.is_empty() {
            true => format!("none of {}", all.len()),
            false => far.join(", "),
        }
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{line, read, summary};

    const TEXT: &str = "found by,seconds,estimated cycles,changes\ndefault,2e-3,1e6,\"none\"\n\
        random,2.5e-3,1e6,\"map@E (3:3), in order\"\nrandom,1e-3,1e6,\"map@S (1:1)\"\n";

    #[test]
    fn the_best_variant_is_beside_the_default() {
        let read = read("scal", TEXT).unwrap();
        assert!(line(&read).contains("2.00 times as long; it has map@S (1:1)"));
        assert_eq!(
            summary(&[read]),
            "more than 10% slower than the best variant: scal (2.00)"
        );
    }

    #[test]
    fn what_is_no_table_is_refused() {
        assert!(read("scal", "a\nb\n").is_err());
    }
}
