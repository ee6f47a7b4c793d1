//! Rewrites: Core to equal Core. A pass is a value with a name, a description and a pure function; `pipelines` says in
//! which order they run.
//!
//! What every pass keeps (design, section 1): the value of the program; that nothing fails where the program would not have
//! (dead code may go, and its errors with it); and operations on which a level or effect is written, which are *fixed*: they are not fused, split, moved
//! or duplicated.

pub mod call_graph;
pub mod constant_folding;
pub mod copy_propagation;
pub mod cse;
pub mod dead_code;
pub mod divide;
pub mod facts;
pub mod flattening;
pub mod forwarding;
pub mod fusion;
pub mod hoisting;
pub mod horizontal;
pub mod inlining;
pub mod known_results;
pub mod lists;
pub mod mutual;
pub mod normal_sizes;
pub mod pipelines;
mod recursions;
pub mod short_circuits;
pub mod size_checks;
mod sizes;
pub mod split_results;
pub mod tables;
pub mod tail_calls;
pub mod trees;
pub mod views;

use almach_base::Span;
use almach_core::Program;
use almach_core::check::parts::{Part, falls_apart};
use almach_core::check::{CheckFailure, Checked, check};
use std::collections::HashSet;

/// A rewrite of whole programs.
pub struct Pass {
    /// In lower case, as one word: options and messages use it.
    pub name: &'static str,
    /// One sentence.
    pub description: &'static str,
    pub run: fn(Program, &mut Log) -> Program,
}

/// What passes did, for `almach explain`.
#[derive(Clone, Default, Debug)]
pub struct Log {
    pub notes: Vec<Note>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The operation it is about.
    pub span: Span,
    pub text: String,
}

impl Log {
    pub fn note(&mut self, span: Span, text: impl Into<String>) {
        self.notes.push(Note {
            span,
            text: text.into(),
        });
    }

    /// Whether something is said of the operation already.
    pub fn is_about(&self, span: Span) -> bool {
        self.notes.iter().any(|note| note.span == span)
    }
}

/// Runs passes one after the other, and the checker after each.
pub fn run(
    program: Checked<Program>,
    passes: &[&Pass],
    log: &mut Log,
) -> Result<Checked<Program>, Box<CheckFailure>> {
    passes.iter().try_fold(program, |program, pass| {
        check((pass.run)(program.into_inner(), log), pass.name)
    })
}

/// Runs passes again and again until none of them changes anything, `rounds` times at most. A pass is left out where it has
/// seen the program as it is, and only what has changed is checked. Parts of the program that calls do not connect are done one by
/// one: what is finished is not looked at again because something else is not.
pub fn run_to_fixed_point(
    program: Checked<Program>,
    passes: &[&'static Pass],
    rounds: usize,
    log: &mut Log,
) -> Result<Checked<Program>, Box<CheckFailure>> {
    let mut pending = Work::of(Part::whole(program), 0);
    let mut done: Vec<Part> = Vec::new();
    while let Some(mut work) = pending.pop() {
        if let Some(before) = done.last() {
            work.part.follow(before);
        }
        match work.run(passes, rounds, log)? {
            Reached::End(part) => done.push(part),
            Reached::Fork(parts) => pending.extend(parts),
        }
    }
    match done.pop() {
        Some(only) if done.is_empty() => Ok(only.program),
        last => {
            done.extend(last);
            check(Part::join(done), "rewrites of parts")
        }
    }
}

/// A part of a program on its way to where no pass changes anything.
struct Work {
    part: Part,
    /// How many passes it has been through, all rounds counted.
    step: usize,
}

/// Where work on a part has come.
enum Reached {
    End(Part),
    /// The part has fallen into several, the first of which is the last here.
    Fork(Vec<Work>),
}

impl Work {
    /// On everything that a part falls into, the first last.
    fn of(part: Part, step: usize) -> Vec<Work> {
        let parts = part.split().into_iter().rev();
        parts.map(|part| Work { part, step }).collect()
    }

    fn run(
        self,
        passes: &[&'static Pass],
        rounds: usize,
        log: &mut Log,
    ) -> Result<Reached, Box<CheckFailure>> {
        let names: HashSet<&str> = passes.iter().map(|pass| pass.name).collect();
        // Passes that leave the part alone, as it is now.
        let mut idle: HashSet<&str> = HashSet::new();
        let Part { mut program, places } = self.part;
        let mut before = program.clone();
        let rest = std::iter::repeat_n(passes, rounds).flatten().enumerate();
        for (step, pass) in rest.skip(self.step) {
            if idle.contains(pass.name) {
                continue;
            }
            program = match before.recognise((pass.run)(program.into_inner(), log)) {
                Ok(same) => {
                    idle.insert(pass.name);
                    same
                }
                // It may find more to do in what it made.
                Err(after) => {
                    idle.clear();
                    let checked = check(after, pass.name)?;
                    if falls_apart(&checked) {
                        let program = checked;
                        return Ok(Reached::Fork(Work::of(Part { program, places }, step + 1)));
                    }
                    before.follow(&checked);
                    checked
                }
            };
            if idle.len() == names.len() {
                break;
            }
        }
        Ok(Reached::End(Part { program, places }))
    }
}
