//! The times as text.

use crate::measure::{Ceilings, Measured};
use crate::suite::Kind;

/// Names and what they stand for, in the order of columns.
fn variants(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::C => &[
            "almach",
            "almach-one",
            "almach-unchecked",
            "tuned",
            "tuned-again",
            "openblas",
            "flat",
            "almach-seq",
            "plain",
        ],
        Kind::Thesis => &["almach-seq", "c++-gcc", "c++-clang"],
    }
}

/// One workload, as progress.
pub fn line(measured: &Measured, ceilings: &Ceilings) -> String {
    match measured.kind {
        Kind::C => beside_c(measured, ceilings),
        Kind::Thesis => beside_cpp(measured),
    }
}

fn beside_cpp(measured: &Measured) -> String {
    let better = measured.better_cpp();
    format!(
        "{:16} {:>10} on one thread, {:5.2} of {better} (g++ {}, clang++ {}, g++ against itself {:.2}), holds {} (C++ {})",
        measured.name,
        time(measured.median("almach-seq")),
        measured.ratio("almach-seq", better),
        time(measured.median("c++-gcc")),
        time(measured.median("c++-clang")),
        measured.ratio("c++-gcc", "c++-gcc-again"),
        bytes(measured.peak("almach-seq")),
        bytes(measured.peak(better)),
    )
}

fn beside_c(measured: &Measured, ceilings: &Ceilings) -> String {
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

pub fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        t if t >= 1e9 => format!("{:.2} s", t / 1e9),
        t if t >= 1e6 => format!("{:.2} ms", t / 1e6),
        t => format!("{:.2} us", t / 1e3),
    }
}

pub fn csv(all: &[Measured]) -> String {
    let mut text = String::from("workload,size,variant,median_ns,peak_bytes\n");
    for measured in all {
        for variant in variants(measured.kind).iter().filter(|name| measured.has(name)) {
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
    text.push_str(&tables(all, ceilings));
    text.push_str(&summary(all));
    text.push('\n');
    text.push_str(&crate::shows::lines(all, ceilings));
    text.push('\n');
    text
}

/// The tables alone.
pub fn tables(all: &[Measured], ceilings: &Ceilings) -> String {
    let mut text = String::new();
    if all.iter().any(|measured| measured.kind == Kind::C) {
        text.push_str(&c_table(all, ceilings));
    }
    if all.iter().any(|measured| measured.kind == Kind::Thesis) {
        text.push_str(&thesis_table(all));
    }
    text
}

fn c_table(all: &[Measured], ceilings: &Ceilings) -> String {
    let mut text = String::new();
    text.push_str("| workload | Almach | tuned OpenMP C | ratio | A/A | times the floor | best known | Almach, one thread | gain of threads | cost of checks | Almach, C | plain C | ratio | Almach holds | tuned C | Almach, C | plain C |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for measured in all.iter().filter(|measured| measured.kind == Kind::C) {
        let best = measured.workload.best;
        let best = best.map_or("-".to_owned(), |best| format!("{:.2}", best.floors));
        text.push_str(&format!(
            "| {} | {} | {} | {:.2} | {:.2} | {:.2} | {best} | {} | {:.2} | {:.2} | {} | {} | {:.2} | {} | {} | {} | {} |\n",
            measured.name,
            time(measured.median("almach")),
            time(measured.median("tuned")),
            measured.ratio("almach", "tuned"),
            measured.ratio("tuned", "tuned-again"),
            measured.median("almach") / measured.floor(ceilings),
            time(measured.median("almach-one")),
            measured.ratio("almach", "almach-one"),
            measured.ratio("almach-unchecked", "almach"),
            time(measured.median("almach-seq")),
            time(measured.median("plain")),
            measured.ratio("almach-seq", "plain"),
            bytes(measured.peak("almach")),
            bytes(measured.peak("tuned")),
            bytes(measured.peak("almach-seq")),
            bytes(measured.peak("plain")),
        ));
    }
    text.push('\n');
    text
}

/// The programs of the thesis beside C++, on one thread.
fn thesis_table(all: &[Measured]) -> String {
    let mut text = String::from(
        "| workload | Almach, one thread | g++ | clang++ | ratio to the better | A/A | Almach holds | C++ |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for measured in all.iter().filter(|measured| measured.kind == Kind::Thesis) {
        let better = measured.better_cpp();
        text.push_str(&format!(
            "| {} | {} | {} | {} | {:.2} | {:.2} | {} | {} |\n",
            measured.name,
            time(measured.median("almach-seq")),
            time(measured.median("c++-gcc")),
            time(measured.median("c++-clang")),
            measured.ratio("almach-seq", better),
            measured.ratio("c++-gcc", "c++-gcc-again"),
            bytes(measured.peak("almach-seq")),
            bytes(measured.peak(better)),
        ));
    }
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
    let of = |kind: Kind| -> Vec<&Measured> { all.iter().filter(|one| one.kind == kind).collect() };
    let (c, thesis) = (of(Kind::C), of(Kind::Thesis));
    let mut lines = Vec::new();
    if !c.is_empty() {
        lines.push(format!(
            "geometric means over {} workloads: {:.2} of tuned OpenMP C, {:.2} of plain C on one thread",
            c.len(),
            geometric_mean(c.iter().map(|measured| measured.ratio("almach", "tuned"))),
            geometric_mean(c.iter().map(|measured| measured.ratio("almach-seq", "plain"))),
        ));
    }
    if !thesis.is_empty() {
        lines.push(beside_the_better(&thesis));
    }
    lines.join("\n")
}

/// All programs of the thesis, and those that are slower than the C++ by more than 5% and what the C++ is from itself.
fn beside_the_better(all: &[&Measured]) -> String {
    let ratio = |measured: &Measured| measured.ratio("almach-seq", measured.better_cpp());
    let spread = |measured: &Measured| (measured.ratio("c++-gcc", "c++-gcc-again") - 1.0).abs();
    let slower = all.iter().filter(|one| ratio(one) < 0.95 - spread(one));
    let slower: Vec<String> = slower
        .map(|one| format!("{} ({:.2})", one.name, ratio(one)))
        .collect();
    let most = all.iter().map(|one| spread(one)).fold(0.0, f64::max);
    let least = all.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let least = least.map_or(String::new(), |one| format!("{:.2} ({})", ratio(one), one.name));
    format!(
        "geometric mean over {} programs of the thesis: {:.2} of the better of g++ and clang++ on one thread, the least {least} (C++ against itself up to {most:.2} apart); below 0.95 and that spread: {}",
        all.len(),
        geometric_mean(all.iter().map(|measured| ratio(measured))),
        match slower.is_empty() {
            true => "none".to_owned(),
            false => slower.join(", "),
        }
    )
}

pub fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0u32);
    for ratio in ratios {
        sum += ratio.ln();
        count += 1;
    }
    (sum / f64::from(count.max(1))).exp()
}
