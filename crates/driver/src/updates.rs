//! `a with! [i] = e`: refused where the memory plan copies `a`, with the plan's reason.

use crate::back::{self, Machine};
use crate::explain::names::readable;
use almach_base::codes::concreteness::UPDATE_COPIES;
use almach_base::{Diagnostic, Name, Span};
use almach_core::check::{Checked, check};
use almach_core::visit::{Walk, walk_function, walk_stmt};
use almach_core::{Exp, FunId, Function, InPlace, Program, Stmt, Var};
use almach_mem::passes::{Log, Note};
use almach_mem::plan::{By, Copied, copies};
use almach_mem::{Annotated, Storage, key};
use almach_rewrite::facts::callees;
use std::collections::HashSet;

/// The updates that must be in place and are not, on any back end. The errors of a stage on the way are given as they are.
pub fn refused(core: &Checked<Program>) -> Vec<Diagnostic> {
    let all = with_updates(core);
    if all.is_empty() {
        return Vec::new();
    }
    let concerned = Program {
        entries: (core.entries.iter())
            .filter(|entry| all.contains(&entry.function))
            .cloned()
            .collect(),
        ..(**core).clone()
    };
    let mut found: Vec<Diagnostic> = Vec::new();
    let problems = check(concerned, "what updates in place")
        .map_err(|failure| vec![failure.diagnostic])
        .and_then(back::rewritten)
        .and_then(|rewritten| {
            for machine in [Machine::Threads, Machine::Sequential] {
                refused_on(&rewritten, machine, &mut found)?;
            }
            Ok(())
        });
    problems.err().unwrap_or(found)
}

/// Functions that update in place, or call such.
fn with_updates(program: &Program) -> HashSet<FunId> {
    let mut found = HashSet::new();
    let functions = || (0..).map(FunId).zip(&program.functions);
    loop {
        let known = found.len();
        for (id, function) in functions() {
            let calls = || {
                callees(&function.body)
                    .iter()
                    .any(|callee| found.contains(callee))
            };
            if !found.contains(&id) && (!Required::of(function).0.is_empty() || calls()) {
                found.insert(id);
            }
        }
        if found.len() == known {
            return found;
        }
    }
}

/// The updates that copy on one machine. A function is planned alone: calls are opaque to the plan.
fn refused_on(
    rewritten: &Checked<Program>,
    machine: Machine,
    found: &mut Vec<Diagnostic>,
) -> Result<(), Vec<Diagnostic>> {
    let strategy = back::chosen(rewritten.clone(), machine)?;
    for (id, function) in (0..).map(FunId).zip(&strategy.functions) {
        let required = Required::of(function);
        if required.0.is_empty() {
            continue;
        }
        let mut log = Log::default();
        let planned = back::memory_with(strategy.alone(id), &mut log)?;
        for diagnostic in copied(&planned, required, &log) {
            // A function that is called twice is there twice.
            let span = diagnostic.primary.span;
            if !found.iter().any(|known| known.primary.span == span) {
                found.push(diagnostic);
            }
        }
    }
    Ok(())
}

/// Updates that are to be in place: what they make, and where they stand.
struct Required(Vec<(Var, Span)>);

impl Required {
    fn of(function: &Function) -> Required {
        let mut required = Required(Vec::new());
        walk_function(&mut required, function);
        required
    }
}

impl Walk for Required {
    fn stmt(&mut self, stmt: &Stmt) {
        if let (
            Exp::Update {
                in_place: InPlace::Required,
                ..
            },
            Some(made),
        ) = (&stmt.exp, key(stmt))
        {
            self.0.push((made.clone(), stmt.span));
        }
        walk_stmt(self, stmt);
    }
}

fn copied(planned: &Annotated, required: Required, log: &Log) -> Vec<Diagnostic> {
    let left = copies(planned);
    let mut out = Vec::new();
    for (made, span) in required.0 {
        let is_it = |copy: &&Copied| copy.by == By::Update && copy.made.as_ref() == Some(&made);
        let held = planned.memory.storage.get(&made);
        if let Some(copy) = left.iter().find(is_it) {
            let mut notes = log.notes.iter().rev();
            let note = notes.find(|note| note.var == made && !note.done);
            let old = planned.memory.storage.get_key_value(&copy.source);
            let old = old.map_or(&copy.source, |(binder, _)| binder);
            out.push(diagnostic(&old.name, span, note));
        } else if held.is_some_and(|all| {
            all.iter()
                .any(|one| matches!(one, Storage::Held | Storage::Rows(_)))
        }) {
            out.push(not_in_a_block(span));
        }
    }
    out
}

fn refusal(span: Span, title: String) -> Diagnostic {
    Diagnostic::error(UPDATE_COPIES, span, title).label("`with!` promises that nothing is copied")
}

fn diagnostic(old: &Name, span: Span, note: Option<&Note>) -> Diagnostic {
    let mut diagnostic = refusal(span, format!("this update would copy `{old}`"));
    if let Some(note) = note {
        if let Some(read) = note.read.filter(|read| *read != span) {
            diagnostic = diagnostic.also(read, "the old value is used here");
        }
        diagnostic = diagnostic.note(readable(&note.why));
        if let Some(help) = &note.help {
            diagnostic = diagnostic.help(readable(help));
        }
    }
    diagnostic.help("`with` copies where it must")
}

fn not_in_a_block(span: Span) -> Diagnostic {
    refusal(span, "this update would copy the array".to_owned())
        .note("arrays of sums, of recursive data, and of rows of their own sizes are not updated in place")
        .help("`with` copies where it must")
}
