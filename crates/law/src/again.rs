//! The strategy program printed as source and compiled again: the same Imp, up to names and places.

use crate::stages::{Failure, Kind, LoweredEntry, refused};
use almach_base::SourceMap;
use almach_core::Program as Core;
use almach_core::check::Checked;
use almach_driver::back::{self, Machine};
use almach_driver::source::{source_of, strategy_of_source};
use almach_imp::canonical::canonical_text;

pub const STAGE: &str = "source";

/// What came of the programs of a file.
pub enum Again {
    Same,
    /// One of them differs, or all together do.
    Differs {
        strategy: Box<Checked<Core>>,
        again: Box<Checked<Core>>,
    },
}

/// Compiles a strategy program's source.
pub fn compile_again(
    strategy: &Checked<Core>,
    machine: Machine,
    lowered: &[LoweredEntry],
) -> Result<Again, Failure> {
    let text = source_of(strategy);
    let again = strategy_of_source(&text, machine).map_err(|problems| {
        let mut sources = SourceMap::new();
        sources.add("strategy.alm", text.clone());
        refused(STAGE, &problems, &sources)
    })?;
    let together = match lowered.first() {
        Some(Some((first, _))) if lowered.len() == first.entries.len() => Some(first),
        _ => None,
    };
    let names: Vec<&str> = again.entries.iter().map(|entry| &*entry.name).collect();
    let same = together.is_some_and(|first| {
        let second = almach_lower::lower(&again, &names);
        second.is_ok_and(|second| canonical_text(first.imp.program()) == canonical_text(second.imp.program()))
    });
    match same {
        true => Ok(Again::Same),
        false => Ok(Again::Differs {
            strategy: Box::new(strategy.clone()),
            again: Box::new(again),
        }),
    }
}

impl Again {
    /// Whether one of the programs is the same again; those that no back end takes have nothing to compare.
    pub fn agrees(&self, entry: &str) -> Result<(), Failure> {
        let Again::Differs { strategy, again } = self else {
            return Ok(());
        };
        let text = |program: &Checked<Core>| {
            let entry = program.entries.iter().find(|found| &*found.name == entry);
            let lowered = entry.map(|entry| back::lowered(program, &[entry]));
            match lowered {
                Some(Ok(lowered)) => canonical_text(lowered.imp.program()),
                Some(Err(problems)) => problems
                    .iter()
                    .map(|problem| format!("{}\n", problem.title))
                    .collect(),
                None => "no entry point".to_owned(),
            }
        };
        let (first, second) = (text(strategy), text(again));
        match first == second {
            true => Ok(()),
            false => Err(Failure {
                stage: STAGE,
                kind: Kind::Differs,
                details: format!(
                    "compiled again, its source gives another Imp:\n{}\n---\n{}\n--- source\n{}",
                    first,
                    second,
                    source_of(strategy)
                ),
            }),
        }
    }
}
