//! Many seeds. A range of them is one job of a process of its own, so that a crash of a compiled program, or a loop
//! without end, is one more finding and not the end of the hunt.

use crate::compile::Settings;
use crate::generate::{Program, program};
use crate::shrink::shrink;
use crate::stages::{Agreement, Failure, Machines, check, check_all};
use std::collections::BTreeMap;
use std::fmt;

/// Programs in one file.
const BATCH: u64 = 50;

/// What was found in some seeds.
#[derive(Clone, Default, Debug)]
pub struct Found {
    pub programs: usize,
    pub total: Agreement,
    /// How many programs broke the law, by stage.
    pub broken: BTreeMap<&'static str, usize>,
}

impl Found {
    fn add(&mut self, agreement: &Agreement) {
        self.total.values += agreement.values;
        self.total.failures += agreement.failures;
        self.total.dpia += agreement.dpia;
        self.total.lowered += agreement.lowered;
        self.total.compiled += agreement.compiled;
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Agreement {
            values,
            failures,
            dpia,
            lowered,
            compiled,
        } = self.total;
        let broken: usize = self.broken.values().sum();
        write!(
            f,
            "{} {lowered} {compiled} {values} {failures} {dpia} {broken}",
            self.programs
        )
    }
}

/// How the programs of a batch are compiled: mostly fast, one in 64 as users do, one in 64 so that undefined behaviour shows. Of the
/// others one in four is the system compiler's, three are clang's.
pub fn settings(batch: u64) -> Settings {
    match (batch % 64, batch / 4 % 4) {
        (0, _) => Settings::Full,
        (32, _) => Settings::Trapping,
        (_, 0) => Settings::Quick,
        _ => Settings::QuickByClang,
    }
}

/// What runs the programs of a hunt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    Interpreters,
    /// Interpreters, on the programs in NOVA's syntax.
    Nova,
    Processors,
    /// Processors, and a device.
    OpenCl,
}

impl Reach {
    /// By its word on the command line; without one, processors.
    pub fn among(words: &[String]) -> Reach {
        let has = |word: &str| words.iter().any(|other| other == word);
        match () {
            () if has("interpreters") => Reach::Interpreters,
            () if has("nova") => Reach::Nova,
            () if has("opencl") => Reach::OpenCl,
            () => Reach::Processors,
        }
    }

    pub fn word(self) -> Option<&'static str> {
        match self {
            Reach::Interpreters => Some("interpreters"),
            Reach::Nova => Some("nova"),
            Reach::Processors => None,
            Reach::OpenCl => Some("opencl"),
        }
    }
}

/// What runs the programs of a batch. Devices and strategy source take half of the time, and every eighth batch has them.
fn machines(reach: Reach, batch: u64) -> Machines {
    match reach {
        Reach::Interpreters => Machines::Interpreters,
        Reach::Nova => Machines::Nova,
        Reach::Processors if batch % 8 == 1 => Machines::All(settings(batch)),
        Reach::Processors => Machines::Host(settings(batch)),
        Reach::OpenCl => Machines::WithOpenCl(settings(batch)),
    }
}

/// Checks the programs of these seeds and hands every failure, made small, to `show`.
pub fn hunt(first: u64, count: u64, reach: Reach, mut show: impl FnMut(u64, &Program, &Failure)) -> Found {
    let mut found = Found::default();
    let mut at = first;
    while at < first + count {
        let end = (at - at % BATCH + BATCH).min(first + count);
        let seeds: Vec<u64> = (at..end).collect();
        let machines = machines(reach, at / BATCH);
        let programs: Vec<Program> = seeds.iter().map(|seed| program(*seed)).collect();
        let results = check_all(&programs, machines);
        for ((seed, program), result) in seeds.iter().zip(&programs).zip(results) {
            found.programs += 1;
            match result {
                Ok(agreement) => found.add(&agreement),
                Err(failure) => {
                    *found.broken.entry(failure.stage).or_insert(0) += 1;
                    // In a file of its own it may keep the law.
                    let alone = check(program, machines).err().unwrap_or(failure);
                    let (small, failure) = shrink(program, &alone, machines);
                    show(*seed, &small, &failure);
                }
            }
        }
        at = end;
    }
    found
}
