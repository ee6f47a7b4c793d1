//! What became of a program, in words with places: what was fused, how each operation runs and why, what is allocated and
//! copied, what costs nothing. For `almach explain`.

mod memory;
pub(crate) mod names;
mod peak;
mod plan;

pub use peak::{Peak, Precision, Predicted, peaks};

use crate::back::{self, Explained, Target};
use almach_base::{Diagnostic, Span};
use almach_core::Program;
use almach_core::check::Checked;
use almach_core::visit::{Walk, walk_function, walk_stmt};
use almach_core::{Exp, Stmt};
use almach_prim::Prim;
use std::collections::HashSet;

/// One thing to know about one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    pub span: Span,
    pub kind: Kind,
    /// A sentence without its full stop; reasons are on lines of their own.
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// What the rewrites made of it.
    Rewritten,
    /// How it runs, and why.
    Strategy,
    /// Which kernel does it, or why the host does.
    Place,
    /// A view: no data is moved.
    View,
    /// What the memory plan builds where it will be, and the proofs.
    InPlace,
    /// What the memory plan copies, and why.
    NotInPlace,
    Allocated,
    Copied,
    /// What the back end does not do, and what happens instead.
    Refused,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Rewritten => "rewritten",
            Kind::Strategy => "strategy",
            Kind::Place => "place",
            Kind::View => "view",
            Kind::InPlace => "in place",
            Kind::NotInPlace => "not in place",
            Kind::Allocated => "allocated",
            Kind::Copied => "copied",
            Kind::Refused => "refused",
        }
    }
}

#[derive(Clone, Default, Debug)]
pub struct Explanation {
    /// In the order of their places, and there of their kinds.
    pub facts: Vec<Fact>,
    pub peaks: Vec<Peak>,
}

/// Explains all entry points for a target. Kernels have these functions of the user's.
pub fn explain(
    core: Checked<Program>,
    target: Target,
    kernel_text: &str,
) -> Result<Explanation, Vec<Diagnostic>> {
    let Explained {
        program,
        rewrites,
        decisions,
    } = back::explained_strategy(core, back::machine(target))?;
    let mut facts: Vec<Fact> = Vec::new();
    let mut say = |span, kind, text: String| {
        let fact = Fact { span, kind, text };
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    };
    for note in rewrites.notes {
        say(note.span, Kind::Rewritten, note.text);
    }
    for decision in decisions {
        say(decision.span, Kind::Strategy, decision.to_string());
    }
    for span in walks(&program) {
        say(span, Kind::Strategy, how_lists_are_walked(target).to_owned());
    }
    let plan::Planned {
        facts: planned,
        copying,
    } = plan::of(&program)?;
    for (span, kind, text) in planned {
        say(span, kind, text);
    }
    let entries: Vec<_> = program.entries.iter().collect();
    let mut peaks = Vec::new();
    match back::lowered(&program, &entries) {
        Ok(lowered) => {
            let imp = match target.has_device() {
                true => lowered.for_devices(),
                false => &lowered.imp,
            };
            let found = memory::of(imp.program());
            let allocated: HashSet<Span> = found.allocations.iter().map(|(span, _)| *span).collect();
            for (span, text) in found.allocations {
                say(span, Kind::Allocated, text);
            }
            for (span, text) in found.borrowed {
                say(span, Kind::View, text);
            }
            for memory::Copied { span, text, advice } in found.copies {
                let text = match copying.contains(&span) {
                    true => text,
                    false => {
                        format!("{text}: the translation's own, the memory plan has none here; {advice}")
                    }
                };
                say(span, Kind::Copied, text);
            }
            for (span, prim) in views(&program) {
                if !allocated.contains(&span) {
                    say(
                        span,
                        Kind::View,
                        format!("`{}` is a view: no data is moved", prim.name()),
                    );
                }
            }
            for placement in back::placed(&lowered, target, kernel_text)?.placements {
                say(placement.span, Kind::Place, placement.place.to_string());
            }
            peaks = peak::peaks(&lowered);
        }
        Err(diagnostics) => {
            for diagnostic in diagnostics {
                say(
                    diagnostic.primary.span,
                    Kind::Refused,
                    format!("it is interpreted, since {}", diagnostic.title),
                );
            }
        }
    }
    facts.sort_by_key(|fact| (fact.span.file, fact.span.start, fact.span.end, fact.kind));
    Ok(Explanation { facts, peaks })
}

/// Where the cells of a list are brought into their order.
fn walks(program: &Program) -> Vec<Span> {
    struct Walks(Vec<Span>);
    impl Walk for Walks {
        fn stmt(&mut self, stmt: &Stmt) {
            if matches!(&stmt.exp, Exp::Op(op) if op.prim == Prim::Reach) {
                self.0.push(stmt.span);
            }
            walk_stmt(self, stmt);
        }
    }
    let mut walks = Walks(Vec::new());
    for function in &program.functions {
        walk_function(&mut walks, function);
    }
    walks.0
}

fn how_lists_are_walked(target: Target) -> &'static str {
    match target {
        Target::OpenMp => {
            "the cells of a list in a table are found by following sublists, 24 in turn on every thread; those that constructors made, and short ones, one after the other"
        }
        Target::C => {
            "the cells of a list in a table are found by following sublists, 24 in turn; those that constructors made, and short ones, one after the other"
        }
        Target::OpenCl | Target::Cuda => {
            "the cells of a list in a table are found by a kernel that follows sublists, 24 in turn in every work-item; those that constructors made, and short ones, by the host"
        }
    }
}

/// The operations that rearrange arrays.
fn views(program: &Program) -> Vec<(Span, Prim)> {
    struct Views(Vec<(Span, Prim)>);
    impl Walk for Views {
        fn stmt(&mut self, stmt: &Stmt) {
            if let Exp::Op(op) = &stmt.exp
                && (op.prim.is_view() || op.prim == Prim::Gather)
            {
                self.0.push((stmt.span, op.prim));
            }
            walk_stmt(self, stmt);
        }
    }
    let mut views = Views(Vec::new());
    for function in &program.functions {
        walk_function(&mut views, function);
    }
    views.0
}
