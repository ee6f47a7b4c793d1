//! What the memory plan put in place, with its proofs, and what it copies, with the reason.

use super::Kind;
use super::names::readable;
use crate::back;
use almach_base::{Diagnostic, Name, Span};
use almach_core::check::Checked;
use almach_core::{Program, Var};
use almach_mem::index::Index;
use almach_mem::passes::{Log, Note};
use almach_mem::plan::{By, Copied, copies};
use almach_mem::{Memory, introduce, key};
use std::collections::{HashMap, HashSet};

#[derive(Default)]
pub(super) struct Planned {
    pub facts: Vec<(Span, Kind, String)>,
    /// Where the plan copies something.
    pub copying: HashSet<Span>,
}

pub(super) fn of(strategy: &Checked<Program>) -> Result<Planned, Vec<Diagnostic>> {
    let mut log = Log::default();
    let planned = back::memory_with((**strategy).clone(), &mut log)?;
    let places = Places::new(strategy);
    let mut out = Planned::default();
    for note in log.notes.iter().filter(|note| note.done) {
        if let Some(span) = places.of(&note.var) {
            let text = readable(&done(note, &places));
            out.facts.push((span, Kind::InPlace, text));
        }
    }
    for copy in copies(&planned) {
        // What is updated has a note of its own; all else is about what is copied.
        let about = match copy.by {
            By::Update => copy.made.as_ref(),
            _ => Some(&copy.source),
        };
        let mut notes = log.notes.iter().rev();
        let note = notes.find(|note| Some(&note.var) == about && !note.done);
        out.copying.insert(copy.span);
        let text = readable(&left(&copy, note, &places));
        out.facts.push((copy.span, Kind::NotInPlace, text));
    }
    Ok(out)
}

/// Where arrays and blocks are made, and what they are called.
struct Places {
    spans: HashMap<Var, Span>,
    names: HashMap<Var, Name>,
    blocks: HashSet<Var>,
}

impl Places {
    fn new(strategy: &Checked<Program>) -> Places {
        let introduced = introduce((**strategy).clone());
        let index = Index::new(&introduced.core);
        let mut places = Places {
            spans: HashMap::new(),
            names: HashMap::new(),
            blocks: HashSet::new(),
        };
        places
            .names
            .extend(index.types.keys().map(|var| (var.clone(), var.name.clone())));
        for info in &index.stmts {
            let vars = info.stmt.pattern.values.iter().map(|value| &value.var);
            let spans = vars.map(|var| (var.clone(), info.stmt.span));
            places.spans.extend(spans);
            if let Some(key) = key(info.stmt) {
                places.blocks_of(&introduced.memory, key, info.stmt.span);
            }
        }
        places
    }

    fn blocks_of(&mut self, memory: &Memory, key: &Var, span: Span) {
        for alloc in memory.allocs.get(key).into_iter().flatten() {
            self.spans.insert(alloc.block.clone(), span);
            self.names.insert(alloc.block.clone(), key.name.clone());
            self.blocks.insert(alloc.block.clone());
        }
    }

    fn of(&self, var: &Var) -> Option<Span> {
        self.spans.get(var).copied().filter(|span| !span.is_none())
    }

    fn name(&self, var: &Var) -> Name {
        self.names.get(var).unwrap_or(&var.name).clone()
    }
}

/// What was done, and the proofs on lines of their own.
fn done(note: &Note, places: &Places) -> String {
    let mut text = match places.blocks.contains(&note.var) {
        true => format!("the memory of `{}`: {}", places.name(&note.var), note.why),
        false => note.why.clone(),
    };
    for proof in &note.proofs {
        text.push_str("\nproved: ");
        text.push_str(&proof.replace('\n', "; "));
    }
    text
}

fn left(copy: &Copied, note: Option<&Note>, places: &Places) -> String {
    let source = places.name(&copy.source);
    let (what, usual) = match copy.by {
        By::Update => (
            format!("`{source}` is copied for this update"),
            "the old value may be needed",
        ),
        By::Statement => (
            format!("`{source}` is copied into this"),
            "it is made before, elsewhere",
        ),
        By::Branch => (
            format!("`{source}` is copied at the end of its branch"),
            "the branches do not agree on where it is",
        ),
        By::LoopStart => (
            format!("the loop starts with a copy of `{source}`"),
            "what the loop overwrites must be its own",
        ),
        By::LoopNext => (
            format!("each iteration copies `{source}`"),
            "the next iteration needs it in a block of its own",
        ),
        By::Row => (format!("each row `{source}` is copied"), "it is made elsewhere"),
        By::Result => (
            format!("`{source}` is copied into the result"),
            "a result has memory of its own, in row-major order",
        ),
    };
    let why = note.map_or(usual, |note| note.why.as_str());
    let mut text = format!("{what}: {why}");
    if let Some(help) = note.and_then(|note| note.help.as_deref()) {
        text.push_str("\nwhat would help: ");
        text.push_str(help);
    }
    text
}
