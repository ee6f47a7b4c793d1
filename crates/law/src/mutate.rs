//! A translation with a mistake in it: the text of one stage with one edit, and what notices.
//!
//! What a stage prints, its parser reads back; so a mistake of the translation is an edit of its output. The result goes
//! through everything that stands between a mistake and the user: the stage's checker, the rules that its interpreter
//! watches (races, bounds, unwritten cells, leaks), and the comparison of values.

use crate::dpia;
use almach_base::Name;
use almach_core::interp::Interpreter;
use almach_driver::back::{self, Target};
use almach_driver::{NoFiles, front, load};
use almach_imp::interp::{RunError, run_entry};
use almach_lower::Lowered;
use almach_value::{Value, parse, same};
use std::collections::HashMap;
use std::fmt;

/// The stage whose output is edited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Dpia after the acceptor-passing translation.
    Phrases,
    /// Dpia with loops.
    Loops,
    Imp,
}

/// Who noticed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Caught {
    /// The checker of Dpia or of Imp, by this rule.
    Checker(String),
    Race,
    Bounds,
    Unwritten,
    Leak,
    /// Another rule that an interpreter watches.
    Rule,
    Values,
    Nobody,
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caught::Checker(rule) => write!(f, "checker, {rule}"),
            Caught::Race => f.write_str("race detector"),
            Caught::Bounds => f.write_str("interpreter: out of bounds"),
            Caught::Unwritten => f.write_str("interpreter: unwritten"),
            Caught::Leak => f.write_str("interpreter: leak"),
            Caught::Rule => f.write_str("interpreter: other rule"),
            Caught::Values => f.write_str("values"),
            Caught::Nobody => f.write_str("nobody"),
        }
    }
}

/// A small program with the arguments that a mistake is looked for on.
pub struct Subject {
    core: Interpreter,
    strategy: almach_core::check::Checked<almach_core::Program>,
    lowered: Lowered,
    runs: Vec<Vec<Value>>,
}

impl Subject {
    /// `text` has one entry, `main`.
    pub fn new(text: &str, runs: &[&[&str]]) -> Result<Subject, String> {
        let front = front(load("mutated.alm", text, &NoFiles), Vec::new());
        let said = |problems: Vec<almach_base::Diagnostic>| {
            problems
                .first()
                .map_or(String::new(), |first| first.title.clone())
        };
        let core = front.core().map_err(said)?;
        let strategy = back::strategy(core.clone(), back::machine(Target::OpenMp)).map_err(said)?;
        let entry = core.entries.first().ok_or("no entry")?;
        let lowered = back::lowered(&strategy, &[entry]).map_err(said)?;
        let value =
            |(arg, ty): (&&str, &almach_value::ValueType)| parse(arg, ty).map_err(|error| error.to_string());
        let types = || entry.params.iter().map(|(_, ty)| ty);
        let runs = runs
            .iter()
            .map(|args| args.iter().zip(types()).map(value).collect::<Result<Vec<_>, _>>())
            .collect::<Result<Vec<_>, _>>()?;
        let interpreter = Interpreter::new(&core).map_err(|diagnostic| diagnostic.title.clone())?;
        Ok(Subject {
            core: interpreter,
            strategy,
            lowered,
            runs,
        })
    }

    /// The text of a stage, with names that do not depend on what else is in a program.
    pub fn text(&self, stage: Stage) -> String {
        match stage {
            Stage::Phrases => short_names(&self.lowered.dpia.program().to_string()),
            Stage::Loops => short_names(&self.lowered.loops.program().to_string()),
            Stage::Imp => self.lowered.imp.program().to_string(),
        }
    }

    /// Replaces text of a stage, each piece once, and says who notices.
    pub fn edited(&self, stage: Stage, edits: &[(&str, &str)]) -> Result<Caught, String> {
        let mut text = self.text(stage);
        for (from, to) in edits {
            if !text.contains(from) {
                return Err(format!("`{from}` is not in\n{text}"));
            }
            text = text.replacen(from, to, 1);
        }
        match stage {
            Stage::Phrases | Stage::Loops => self.phrases(&text),
            Stage::Imp => self.imp(&text),
        }
    }

    fn phrases(&self, text: &str) -> Result<Caught, String> {
        let program = almach_dpia::parse_program(text).map_err(|error| format!("{error}\n{text}"))?;
        let checked = match almach_dpia::check_program(program) {
            Ok(checked) => checked,
            Err(error) => return Ok(Caught::Checker(error.rule.to_owned())),
        };
        let entry = self.lowered.entries.first().ok_or("no entry")?;
        let function = self
            .strategy
            .entries
            .first()
            .and_then(|entry| self.strategy.functions.get(entry.function.0 as usize))
            .ok_or("no function")?;
        // Sizes and parameters have short names too.
        let mut function = function.clone();
        for param in &mut function.params {
            param.var.name = Name::from(short(&param.var.to_string()));
        }
        for run in &self.runs {
            let Some(found) = dpia::run_entry(&checked, &function, "main", entry, run) else {
                return Ok(Caught::Unwritten);
            };
            let caught = match found {
                Ok(value) => self.compare(run, Ok(value)),
                Err(almach_dpia::interp::RunError::Failed { site, .. }) => {
                    self.compare(run, Err(site.code.0))
                }
                Err(broken) if broken.to_string().contains("nothing was written") => Caught::Unwritten,
                Err(_) => Caught::Rule,
            };
            if caught != Caught::Nobody {
                return Ok(caught);
            }
        }
        Ok(Caught::Nobody)
    }

    fn imp(&self, text: &str) -> Result<Caught, String> {
        let program = almach_imp::parse(text).map_err(|error| format!("{error}\n{text}"))?;
        let checked = match almach_imp::check(program) {
            Ok(checked) => checked,
            Err(error) => return Ok(Caught::Checker(error.rule.to_owned())),
        };
        let entry = self.lowered.entries.first().ok_or("no entry")?;
        for run in &self.runs {
            let caught = match run_entry(&checked, entry, run) {
                Ok(value) => self.compare(run, Ok(value)),
                Err(RunError::Failed { site, .. }) => self.compare(run, Err(site.code.0)),
                Err(RunError::Race { .. }) => Caught::Race,
                Err(RunError::OutOfBounds { .. }) => Caught::Bounds,
                Err(RunError::Unwritten { .. }) => Caught::Unwritten,
                Err(RunError::Leak { .. }) => Caught::Leak,
                Err(_) => Caught::Rule,
            };
            if caught != Caught::Nobody {
                return Ok(caught);
            }
        }
        Ok(Caught::Nobody)
    }

    fn compare(&self, run: &[Value], found: Result<Value, &str>) -> Caught {
        let agrees = match (self.core.call("main", run.to_vec()), found) {
            (Ok(expected), Ok(found)) => same(&expected, &found),
            (Err(expected), Err(found)) => expected.code.0 == found,
            _ => false,
        };
        match agrees {
            true => Caught::Nobody,
            false => Caught::Values,
        }
    }
}

/// `x_f0_3` is `x` where it is the first of that name, `x_2` the second.
fn short_names(text: &str) -> String {
    let mut names: HashMap<String, String> = HashMap::new();
    let mut taken: HashMap<String, usize> = HashMap::new();
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '\''))
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        let base = short(word);
        if base == word {
            out.push_str(word);
            continue;
        }
        let name = names.entry(word.to_owned()).or_insert_with(|| {
            let count = taken.entry(base.clone()).or_insert(0);
            *count += 1;
            match count {
                1 => base.clone(),
                _ => format!("{base}_{count}"),
            }
        });
        out.push_str(name);
    }
    out.push_str(rest);
    out
}

/// A name without the numbers that make it unique.
fn short(word: &str) -> String {
    let mut base = word;
    while let Some((front, tail)) = base.rsplit_once('_') {
        let number = tail.strip_prefix(['f', 'l']).unwrap_or(tail);
        let numbered = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
        if !numbered || front.is_empty() {
            break;
        }
        base = front;
    }
    base.to_owned()
}
