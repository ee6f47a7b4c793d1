//! The times as text.

use crate::measure::{Ceilings, Measured};

/// Names and what they stand for, in the order of columns.
const VARIANTS: [&str; 4] = ["almach", "tuned", "almach-seq", "plain"];

/// One workload, as progress.
pub fn line(measured: &Measured, ceilings: &Ceilings) -> String {
    format!(
        "{:12} {:>10} {:5.2} of tuned C (same against itself {:.2}), {:5.2} of plain C on one thread, {:.2} times the floor, holds {} (tuned C {})",
        measured.name,
        time(measured.median("almach")),
        measured.ratio("almach", "tuned"),
        measured.ratio("tuned", "tuned-again"),
        measured.ratio("almach-seq", "plain"),
        measured.median("almach") / measured.floor(ceilings),
        bytes(measured.peak("almach")),
        bytes(measured.peak("tuned")),
    )
}

fn bytes(count: f64) -> String {
    match count {
        b if b >= 1e6 => format!("{:.2} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.2} kB", b / 1e3),
        b => format!("{b:.0} B"),
    }
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        t if t >= 1e9 => format!("{:.2} s", t / 1e9),
        t if t >= 1e6 => format!("{:.2} ms", t / 1e6),
        t => format!("{:.2} us", t / 1e3),
    }
}

pub fn csv(all: &[Measured]) -> String {
    let mut text = String::from("workload,size,variant,median_ns,peak_bytes\n");
    for measured in all {
        for variant in VARIANTS {
            let (name, size) = (measured.name, measured.size);
            text.push_str(&format!(
                "{name},{size},{variant},{:.1},{:.0}\n",
                measured.median(variant),
                measured.peak(variant)
            ));
        }
    }
    text
}

pub fn markdown(all: &[Measured], ceilings: &Ceilings) -> String {
    let mut text = format!("{ceilings}\n\n");
    text.push_str("| workload | Almach | tuned OpenMP C | ratio | A/A | Almach, one thread | plain C | ratio | times the floor | Almach holds | tuned C | Almach, one thread | plain C |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for measured in all {
        text.push_str(&format!(
            "| {} | {} | {} | {:.2} | {:.2} | {} | {} | {:.2} | {:.2} | {} | {} | {} | {} |\n",
            measured.name,
            time(measured.median("almach")),
            time(measured.median("tuned")),
            measured.ratio("almach", "tuned"),
            measured.ratio("tuned", "tuned-again"),
            time(measured.median("almach-seq")),
            time(measured.median("plain")),
            measured.ratio("almach-seq", "plain"),
            measured.median("almach") / measured.floor(ceilings),
            bytes(measured.peak("almach")),
            bytes(measured.peak("tuned")),
            bytes(measured.peak("almach-seq")),
            bytes(measured.peak("plain")),
        ));
    }
    text.push('\n');
    text.push_str(&summary(all));
    text.push('\n');
    text
}

pub fn summary(all: &[Measured]) -> String {
    format!("{}\n{}", speed(all), memory(all))
}

/// Who holds more memory at once than its rival and 5%.
fn memory(all: &[Measured]) -> String {
    let mut more = Vec::new();
    for measured in all {
        for (ours, rival) in measured.holds_more() {
            more.push(format!(
                "{} ({ours} {}, {rival} {})",
                measured.name,
                bytes(measured.peak(ours)),
                bytes(measured.peak(rival))
            ));
        }
    }
    match more.is_empty() {
        true => "none holds more memory at once than its rival and 5%".to_owned(),
        false => format!("more memory at once than the rival and 5%: {}", more.join(", ")),
    }
}

fn speed(all: &[Measured]) -> String {
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
