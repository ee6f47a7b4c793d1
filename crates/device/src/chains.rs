//! Chains of iterations that wait for each other, in three phases: where no iteration may wait for another one that has not been
//! started, and nobody says which are started first.
//!
//! ```text
//! chain for c < chunks {             par for c < chunks { A; saved[c] = total }
//!   A                                for c < chunks { let total = saved[c]; prefix[c] = prefix[c - 1] ⊕ total }
//!   await flag[c - 1]        ~~>     par for c < chunks { … C }
//!   prefix[c] = prefix[c - 1] ⊕ total
//!   release flag[c]
//!   C
//! }
//! ```
//!
//! What an iteration does before it waits depends on no other one, and what it does once it has published its part no other one
//! depends on: else it would be a race. Scalars that cross from one phase to a later one are saved, one cell for each iteration.

use crate::fresh::Fresh;
use crate::substitute::substitute;
use almach_base::{Name, Span};
use almach_imp::{AtomicStep, Expr, Index, LoopMode, Stmt, Touched, Width};
use almach_value::ScalarType;
use std::collections::HashSet;

/// The phases of a block: before waiting, up to publishing, and after that.
#[derive(Default)]
pub(crate) struct Phases {
    pub(crate) parts: [Vec<Stmt>; 3],
}

/// A scalar that is saved for a later phase.
pub(crate) struct Saved {
    pub(crate) name: Name,
    pub(crate) ty: ScalarType,
}

/// The buffers of a chain's body that more than one phase has to do with.
pub(crate) fn shared_buffers(body: &[Stmt]) -> HashSet<Name> {
    let phases = fission(body, &mut |_| Some(())).unwrap_or_default();
    let touched: Vec<Touched> = phases.parts.iter().map(Touched::of).collect();
    let declared = touched.iter().flat_map(|part| &part.declared);
    declared
        .filter(|name| touched.iter().filter(|part| part.mentions(name)).count() > 1)
        .cloned()
        .collect()
}

/// The phases of a chain's body, and what is saved between them; none where a phase changes what an earlier one has bound.
pub(crate) fn phases(body: &[Stmt], index: &Name, fresh: &mut Fresh) -> Option<(Phases, Vec<Saved>)> {
    let mut saved = Vec::new();
    let phases = fission(body, &mut |phases| {
        phases.sink_variables();
        phases.save_scalars(index, fresh, &mut saved)
    })?;
    Some((phases, saved))
}

/// Blocks and statements by their phase. `finish` is told the phases of every block.
fn fission(stmts: &[Stmt], finish: &mut dyn FnMut(&mut Phases) -> Option<()>) -> Option<Phases> {
    let mut phases = Phases::default();
    let mut now = 0;
    for stmt in stmts {
        match stmt {
            Stmt::If {
                condition,
                then,
                otherwise,
            } if waits(stmt) && has_loop(stmt) => {
                let (then, otherwise) = (fission(then, finish)?, fission(otherwise, finish)?);
                for (at, (then, otherwise)) in then.parts.into_iter().zip(otherwise.parts).enumerate() {
                    let condition = condition.clone();
                    phases.push(
                        at,
                        Stmt::If {
                            condition,
                            then,
                            otherwise,
                        },
                    );
                }
                now = 2;
            }
            Stmt::Await { .. } => now = 1,
            _ if publishes(stmt) => now = if now == 1 { 2 } else { now },
            _ => {
                now = now.max(usize::from(waits(stmt)));
                phases.push(now, without_waiting(stmt));
            }
        }
    }
    finish(&mut phases)?;
    Some(phases)
}

impl Phases {
    fn push(&mut self, at: usize, stmt: Stmt) {
        let is_empty =
            matches!(&stmt, Stmt::If { then, otherwise, .. } if then.is_empty() && otherwise.is_empty());
        if let Some(part) = self.parts.get_mut(at).filter(|_| !is_empty) {
            part.push(stmt);
        }
    }

    /// Variables that a phase declares and does not use are declared by the first one that does.
    fn sink_variables(&mut self) {
        for from in 0..2 {
            let Some(part) = self.parts.get(from) else {
                continue;
            };
            let unused: Vec<Stmt> = part
                .iter()
                .filter(|stmt| waits_to_be_used(stmt, part))
                .cloned()
                .collect();
            for stmt in unused {
                let Some((name, _)) = binder(&stmt) else { continue };
                let uses = |at: &usize| {
                    let part = self.parts.get(*at);
                    part.is_some_and(|part| Touched::of(part).mentions(&name))
                };
                let Some(later) = (from + 1..3).find(uses) else {
                    continue;
                };
                if let Some(part) = self.parts.get_mut(from) {
                    part.retain(|other| *other != stmt);
                }
                if let Some(part) = self.parts.get_mut(later) {
                    part.insert(0, stmt);
                }
            }
        }
    }

    /// Scalars that this block binds in one phase and reads in a later one.
    fn save_scalars(&mut self, index: &Name, fresh: &mut Fresh, saved: &mut Vec<Saved>) -> Option<()> {
        for from in 0..2 {
            let bound: Vec<(Name, ScalarType)> = self.parts.get(from)?.iter().filter_map(binder).collect();
            for (name, ty) in bound {
                let later: Vec<usize> = (from + 1..3)
                    .filter(|at| {
                        self.parts
                            .get(*at)
                            .is_some_and(|part| Touched::of(part).mentions(&name))
                    })
                    .collect();
                if later.is_empty() {
                    continue;
                }
                let cells = fresh.name(&format!("{name}_saved"));
                self.save(&name, &cells, from, index)?;
                for at in later {
                    self.restore((&name, ty), &cells, at, index, fresh)?;
                }
                saved.push(Saved { name: cells, ty });
            }
        }
        Some(())
    }

    fn save(&mut self, name: &Name, cells: &Name, at: usize, index: &Name) -> Option<()> {
        self.parts.get_mut(at)?.push(Stmt::Store {
            buffer: cells.clone(),
            index: Index::var(index.clone()),
            value: Expr::Var(name.clone()),
        });
        Some(())
    }

    fn restore(
        &mut self,
        (name, ty): (&Name, ScalarType),
        cells: &Name,
        at: usize,
        index: &Name,
        fresh: &mut Fresh,
    ) -> Option<()> {
        let part = self.parts.get_mut(at)?;
        if Touched::of(part.iter()).assigned.contains(name) {
            return None;
        }
        let again = fresh.name(name);
        rename(part, name, &again);
        let value = Expr::Load(cells.clone(), Index::var(index.clone()));
        part.insert(
            0,
            Stmt::Let {
                name: again,
                ty,
                value,
            },
        );
        Some(())
    }
}

/// Whether a statement declares a variable with a value that is the same everywhere, which none of these uses.
fn waits_to_be_used(stmt: &Stmt, stmts: &[Stmt]) -> bool {
    let Stmt::Var { name, value, .. } = stmt else {
        return false;
    };
    let others = stmts.iter().filter(|other| *other != stmt);
    matches!(value, None | Some(Expr::Const(_))) && !Touched::of(others).mentions(name)
}

/// The scalar that a statement binds for those behind it.
fn binder(stmt: &Stmt) -> Option<(Name, ScalarType)> {
    match stmt {
        Stmt::Let { name, ty, .. } | Stmt::Var { name, ty, .. } => Some((name.clone(), *ty)),
        Stmt::Atomic { step, .. } => step.bound().map(|(name, ty)| (name.clone(), ty)),
        _ => None,
    }
}

/// Another name for a scalar, in statements that only read it.
pub(crate) fn rename(stmts: &mut [Stmt], from: &Name, to: &Name) {
    substitute(stmts, from, &Index::var(to.clone()));
}

fn waits(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Await { .. }) || stmt.blocks().into_iter().flatten().any(waits)
}

fn publishes(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Atomic { step: AtomicStep::Store(_), order, .. } if order.releases())
}

fn has_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For { .. } | Stmt::While { .. }) || stmt.blocks().into_iter().flatten().any(has_loop)
}

/// What comes from an earlier phase is there, and nobody waits for what this one publishes.
pub(crate) fn without_waiting(stmt: &Stmt) -> Stmt {
    let mut stmt = stmt.clone();
    for block in stmt.blocks_mut() {
        block.retain(|inner| !matches!(inner, Stmt::Await { .. }) && !publishes(inner));
        for inner in block {
            *inner = without_waiting(inner);
        }
    }
    stmt
}

/// A loop over the chunks, in order or not.
pub(crate) fn over_chunks(index: Name, width: Width, count: &Index, mode: LoopMode, body: Vec<Stmt>) -> Stmt {
    Stmt::For {
        index,
        width,
        count: count.clone(),
        mode,
        body,
    }
}

/// A buffer with a cell for each iteration.
pub(crate) fn cells_for(saved: &Saved, count: &Index, span: Span) -> crate::expand::Outside {
    crate::expand::Outside {
        name: saved.name.clone(),
        ty: saved.ty,
        size: count.clone(),
        span,
    }
}
