//! The times as text.

use crate::measure::{Ceilings, Measured};

/// Names and what they stand for, in the order of columns.
const VARIANTS: [&str; 4] = ["almach", "tuned", "almach-seq", "plain"];

/// One workload, as progress.
pub fn line(measured: &Measured, ceilings: &Ceilings) -> String {
    format!(
        "{:12} {:>10} {:5.2} of tuned C (same against itself {:.2}), {:5.2} of plain C on one thread, {:.2} times the floor",
        measured.name,
        time(measured.median("almach")),
        measured.ratio("almach", "tuned"),
        measured.ratio("tuned", "tuned-again"),
        measured.ratio("almach-seq", "plain"),
        measured.median("almach") / measured.floor(ceilings),
    )
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        t if t >= 1e9 => format!("{:.2} s", t / 1e9),
        t if t >= 1e6 => format!("{:.2} ms", t / 1e6),
        t => format!("{:.2} us", t / 1e3),
    }
}

pub fn csv(all: &[Measured]) -> String {
    let mut text = String::from("workload,size,variant,median_ns\n");
    for measured in all {
        for variant in VARIANTS {
            let (name, size) = (measured.name, measured.size);
            text.push_str(&format!(
                "{name},{size},{variant},{:.1}\n",
                measured.median(variant)
            ));
        }
    }
    text
}

pub fn markdown(all: &[Measured], ceilings: &Ceilings) -> String {
    let mut text = format!("{ceilings}\n\n");
    text.push_str("| workload | Almach | tuned OpenMP C | ratio | A/A | Almach, one thread | plain C | ratio | times the floor |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for measured in all {
        text.push_str(&format!(
            "| {} | {} | {} | {:.2} | {:.2} | {} | {} | {:.2} | {:.2} |\n",
            measured.name,
            time(measured.median("almach")),
            time(measured.median("tuned")),
            measured.ratio("almach", "tuned"),
            measured.ratio("tuned", "tuned-again"),
            time(measured.median("almach-seq")),
            time(measured.median("plain")),
            measured.ratio("almach-seq", "plain"),
            measured.median("almach") / measured.floor(ceilings),
        ));
    }
    text.push('\n');
    text.push_str(&summary(all));
    text.push('\n');
    text
}

pub fn summary(all: &[Measured]) -> String {
    format!(
        "geometric means over {} workloads: {:.2} of tuned OpenMP C, {:.2} of plain C on one thread",
        all.len(),
        geometric_mean(all.iter().map(|measured| measured.ratio("almach", "tuned"))),
        geometric_mean(all.iter().map(|measured| measured.ratio("almach-seq", "plain"))),
    )
}

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0u32);
    for ratio in ratios {
        sum += ratio.ln();
        count += 1;
    }
    (sum / f64::from(count.max(1))).exp()
}
