//! Which level may stand inside which (design, section 3; the DPIA paper leaves this to future work, section 9). The levels
//! that are written are checked on every way from an entry to an operation, through calls.
//!
//! | inside | may stand |
//! | --- | --- |
//! | nothing | everything but `local` |
//! | `par` | `seq`, `vec` |
//! | `grid.k` | `seq`, `vec`, `grid` of a smaller dimension |
//! | `group.k` | `seq`, `vec`, `local`, `group` of a smaller dimension |
//! | `local.k` | `seq`, `vec`, `local` of a smaller dimension |
//! | `vec` | `seq` |
//! | `seq`, loops | what may stand where they stand |
//!
//! An operation that calls the function it stands in runs in order whatever its level says, and counts as that.
//!
//! `toLocal` needs a group around it.

use almach_base::codes::levels as codes;
use almach_base::{Code, Diagnostic, Name, Span};
use almach_core::visit::{Walk, walk_exp, walk_stmt};
use almach_core::{Exp, FunId, Op, Program, Stmt};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::callees;
use std::collections::HashSet;

/// What is wrong with the annotations of a program.
pub fn check_levels(program: &Program) -> Vec<Diagnostic> {
    let mut checker = Checker {
        program,
        around: Vec::new(),
        at: Span::NONE,
        path: Vec::new(),
        reached: reached(program),
        visited: HashSet::new(),
        reported: HashSet::new(),
        found: Vec::new(),
    };
    for entry in &program.entries {
        checker.function(entry.function);
    }
    checker.found
}

/// What an operation stands in.
#[derive(Clone)]
enum Around {
    Operation { level: Level, name: String, span: Span },
    Call { name: Name, span: Span },
}

impl Around {
    fn level(&self) -> Option<Level> {
        match self {
            Around::Operation { level, .. } => Some(*level),
            Around::Call { .. } => None,
        }
    }
}

struct Checker<'p> {
    program: &'p Program,
    /// From the outside in.
    around: Vec<Around>,
    /// The statement that is walked.
    at: Span,
    /// Functions that lead here.
    path: Vec<FunId>,
    /// The functions that each function calls, also through others.
    reached: Vec<HashSet<FunId>>,
    /// Functions that were checked at these levels.
    visited: HashSet<(FunId, Vec<Level>)>,
    /// One report for each operation and what it stands in.
    reported: HashSet<(Code, Span, Span)>,
    found: Vec<Diagnostic>,
}

impl Walk for Checker<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        let outer = std::mem::replace(&mut self.at, stmt.span);
        walk_stmt(self, stmt);
        self.at = outer;
    }

    fn exp(&mut self, exp: &Exp) {
        match exp {
            Exp::Op(op) => {
                let depth = self.around.len();
                let level = op.annotation.level.filter(|_| !self.leads_back(op));
                self.operation(op, level);
                if let Some(level) = level {
                    self.around.push(Around::Operation {
                        level,
                        name: shown(op),
                        span: self.at,
                    });
                }
                walk_exp(self, exp);
                self.around.truncate(depth);
            }
            Exp::Call { function, .. } => {
                if let Some(called) = self.program.functions.get(function.0 as usize) {
                    self.around.push(Around::Call {
                        name: called.name.clone(),
                        span: self.at,
                    });
                    self.function(*function);
                    self.around.pop();
                }
            }
            _ => walk_exp(self, exp),
        }
    }
}

/// Why a level cannot stand inside another.
#[derive(Clone, Copy)]
pub(crate) enum Misfit {
    Order,
    Dimension,
}

/// Whether the workers of one level can start those of another.
pub(crate) fn fits(outer: Level, inner: Level) -> Result<(), Misfit> {
    use Level::{Grid, Group, Local, Par, Seq, Vec};
    match (outer, inner) {
        (Seq, _) | (_, Seq) => Ok(()),
        (Par | Grid(_) | Group(_) | Local(_), Vec) | (Group(_), Local(_)) => Ok(()),
        (Grid(outer), Grid(inner)) | (Group(outer), Group(inner)) | (Local(outer), Local(inner)) => {
            match inner < outer {
                true => Ok(()),
                false => Err(Misfit::Dimension),
            }
        }
        (Vec, Vec | Par | Grid(_) | Group(_) | Local(_))
        | (Par, Par | Grid(_) | Group(_) | Local(_))
        | (Grid(_), Par | Group(_) | Local(_))
        | (Group(_), Par | Grid(_))
        | (Local(_), Par | Grid(_) | Group(_)) => Err(Misfit::Order),
    }
}

impl Checker<'_> {
    fn function(&mut self, id: FunId) {
        let levels: Vec<Level> = self.around.iter().filter_map(Around::level).collect();
        if self.path.contains(&id) || !self.visited.insert((id, levels)) {
            return;
        }
        let program = self.program;
        if let Some(function) = program.functions.get(id.0 as usize) {
            self.path.push(id);
            self.body(&function.body);
            self.path.pop();
        }
    }

    /// Whether an operation calls the function it stands in: it then runs in order, whatever its level says.
    fn leads_back(&self, op: &Op) -> bool {
        let Some(own) = self.path.last() else {
            return false;
        };
        let called = op.functions.iter().flat_map(|function| callees(&function.body));
        called.into_iter().any(|id| {
            let reached = self.reached.get(id.0 as usize);
            id == *own || reached.is_some_and(|reached| reached.contains(own))
        })
    }

    fn operation(&mut self, op: &Op, level: Option<Level>) {
        if let Some(level) = level {
            self.level(op, level);
        }
        if op.prim == Prim::ToLocal && !self.is_in_group() {
            self.report(
                codes::LOCAL_MEMORY_OUTSIDE_A_GROUP,
                "`toLocal` outside of a group".to_owned(),
                "no group has this memory",
                None,
                "local memory belongs to a work-group: put it inside `map@group`, or use `toGlobal` or `toPrivate`",
            );
        }
    }

    fn is_in_group(&self) -> bool {
        let mut levels = self.around.iter().filter_map(Around::level);
        levels.any(|level| matches!(level, Level::Group(_)))
    }

    fn level(&mut self, op: &Op, level: Level) {
        let misfit = self.around.iter().enumerate().rev().find_map(|(at, around)| {
            let misfit = fits(around.level()?, level).err()?;
            Some((at, misfit))
        });
        let name = shown(op);
        if let Some((at, misfit)) = misfit
            && let Some(Around::Operation { name: outer, .. }) = self.around.get(at)
        {
            let title = format!("`{name}` stands inside `{outer}`");
            let help = match (misfit, level) {
                (Misfit::Dimension, _) => {
                    "each dimension stands once, a larger one outside: `@grid.1` around `@grid.0`"
                }
                (Misfit::Order, Level::Vec) => "what runs on one lane is in order: write `@seq`, or no level",
                (Misfit::Order, _) => {
                    "what runs inside is in order or on lanes: write `@seq` or `@vec`, or no level"
                }
            };
            let code = match misfit {
                Misfit::Order => codes::LEVEL_INSIDE_LEVEL,
                Misfit::Dimension => codes::DIMENSION_ORDER,
            };
            self.report(code, title, "the inner level", Some(at), help);
        } else if matches!(level, Level::Local(_)) && !self.is_in_group() {
            self.report(
                codes::LOCAL_OUTSIDE_A_GROUP,
                format!("`{name}` stands outside of a group"),
                "no group has these work-items",
                None,
                "the work-items of `@local` belong to a group: put it inside `map@group`, or write `@grid`",
            );
        }
    }

    fn report(&mut self, code: Code, title: String, label: &str, outer: Option<usize>, help: &str) {
        let place = match outer.and_then(|at| self.around.get(at)) {
            Some(Around::Operation { span, .. } | Around::Call { span, .. }) => *span,
            None => Span::NONE,
        };
        if !self.reported.insert((code, self.at, place)) {
            return;
        }
        let mut diagnostic = Diagnostic::error(code, self.at, title).label(label);
        if !place.is_none() {
            diagnostic = diagnostic.also(place, "the outer level");
        }
        let diagnostic = self.with_calls(diagnostic, outer.map_or(0, |at| at + 1));
        self.found.push(diagnostic.help(help));
    }

    /// The calls that lead from what is around to the operation.
    fn with_calls(&self, mut diagnostic: Diagnostic, from: usize) -> Diagnostic {
        for around in self.around.get(from..).unwrap_or_default() {
            if let Around::Call { name, span } = around {
                diagnostic = diagnostic.also(*span, format!("`{name}` is called here"));
            }
        }
        diagnostic
    }
}

fn reached(program: &Program) -> Vec<HashSet<FunId>> {
    let of = |id: FunId| {
        program
            .functions
            .get(id.0 as usize)
            .map(|function| callees(&function.body))
    };
    let all = 0..program.functions.len() as u32;
    all.map(|id| {
        let mut reached = HashSet::new();
        let mut work = of(FunId(id)).unwrap_or_default();
        while let Some(next) = work.pop() {
            if reached.insert(next) {
                work.extend(of(next).unwrap_or_default());
            }
        }
        reached
    })
    .collect()
}

fn shown(op: &Op) -> String {
    format!("{}{}", op.prim.name(), op.annotation)
}
