//! Memory whose size differs between iterations: as much for each as the one with the most has (FUNMEM, section 5, for sizes that vary
//! by thread). How much that is, is found before: the part of the loop that computes the sizes runs alone.
//!
//! ```text
//! par for i < n {                          row_most[0] = 0
//!   let m = xs[i]                          par for i < n {
//!   buffer row: f32                          let m = xs[i]
//!   alloc row[m]                  ~~>        atomic row_most[0] max= m
//!   …                                      }
//! }                                        let row_cells = row_most[0]
//!                                          par for i < n { … alloc row[row_cells] … }
//! ```
//!
//! Not where a size depends on what the iteration itself has written. A check on the way to a size ends the search in its iteration: the
//! loop itself comes to that check, too, and says what is wrong.

use crate::expand::Lanes;
use crate::fresh::Fresh;
use crate::inline::with_own_names;
use almach_base::Name;
use almach_imp::{Access, AtomicStep, Expr, Index, LoopMode, Order, Stmt, Touched, Width};
use almach_value::{BinOp, ScalarType};
use std::collections::{BTreeMap, BTreeSet};

/// The loop that finds the most cells that an iteration needs of each buffer, in one cell of `most` each. None where it cannot be
/// found before.
pub(crate) fn search(
    lanes: Lanes<'_>,
    body: &[Stmt],
    buffers: &[Name],
    most: &Name,
    fresh: &mut Fresh,
) -> Option<Stmt> {
    let inside = Touched::of(body);
    let mut slice = Slice {
        largest: buffers
            .iter()
            .map(|buffer| (buffer.clone(), fresh.name("largest")))
            .collect(),
        inside: &inside,
        needed: BTreeSet::new(),
        loads: false,
        behind: false,
        hidden: false,
    };
    let found = slice.block(body)?;
    if slice.hidden {
        return None;
    }

    let declare = |name: &Name| Stmt::Var {
        name: name.clone(),
        ty: ScalarType::I64,
        value: Some(Expr::int(0)),
    };
    let at = |buffer: &Name| buffers.iter().position(|one| one == buffer);
    let mut body: Vec<Stmt> = slice.largest.values().map(declare).collect();
    body.extend(found);
    for (buffer, largest) in &slice.largest {
        let cell = i64::try_from(at(buffer)?).ok()?;
        body.push(Stmt::Atomic {
            step: AtomicStep::Update(BinOp::Max, Expr::Var(largest.clone())),
            order: Order::Relaxed,
            buffer: most.clone(),
            index: Index::constant(cell),
        });
    }
    let search = Stmt::For {
        index: lanes.index.clone(),
        width: Width::W64,
        count: lanes.count.clone(),
        mode: LoopMode::Par,
        body,
    };
    // The loop itself binds the same names.
    with_own_names(&[search], fresh).pop()
}

/// Lets a loop allocate so many cells of each of these buffers.
pub(crate) fn allocate(stmts: &mut [Stmt], cells: &BTreeMap<Name, Index>) {
    for stmt in stmts {
        if let Stmt::Alloc { buffer, size, .. } = stmt
            && let Some(cells) = cells.get(buffer)
        {
            *size = cells.clone();
        }
        stmt.blocks_mut()
            .into_iter()
            .for_each(|block| allocate(block, cells));
    }
}

/// The statements that sizes depend on, from the last one to the first.
struct Slice<'a> {
    /// The buffers whose sizes are looked for, and the variable that holds the largest.
    largest: BTreeMap<Name, Name>,
    inside: &'a Touched,
    needed: BTreeSet<Name>,
    /// Whether something that is kept reads memory.
    loads: bool,
    /// Whether something that is kept behind the loops and branches around reads memory.
    behind: bool,
    /// Whether that may be for a check inside them to allow.
    hidden: bool,
}

impl Slice<'_> {
    fn block(&mut self, stmts: &[Stmt]) -> Option<Vec<Stmt>> {
        let mut kept = Vec::new();
        for stmt in stmts.iter().rev() {
            self.stmt(stmt, &mut kept)?;
        }
        kept.reverse();
        Some(kept)
    }

    /// A block of a loop or branch.
    fn inner(&mut self, stmts: &[Stmt]) -> Option<Vec<Stmt>> {
        let before = self.behind;
        self.behind |= self.loads;
        let kept = self.block(stmts);
        self.behind = before;
        kept
    }

    /// `kept` are the statements behind, the last one first.
    fn stmt(&mut self, stmt: &Stmt, kept: &mut Vec<Stmt>) -> Option<()> {
        match stmt {
            Stmt::Alloc { buffer, size, .. } => {
                if let Some(largest) = self.largest.get(buffer).cloned() {
                    self.needed.extend(size.free_vars().cloned());
                    kept.push(Stmt::Assign {
                        name: largest.clone(),
                        value: Expr::binary(BinOp::Max, Expr::Var(largest), Expr::Index(size.clone())),
                    });
                }
            }
            Stmt::Let { name, value, .. } if self.needed.contains(name) => {
                self.expr(value)?;
                kept.push(stmt.clone());
            }
            Stmt::Var { name, value, .. } if self.needed.contains(name) => {
                value.iter().try_for_each(|value| self.expr(value))?;
                kept.push(stmt.clone());
            }
            Stmt::Assign { name, value } if self.needed.contains(name) => {
                self.expr(value)?;
                kept.push(stmt.clone());
            }
            Stmt::If {
                condition,
                then,
                otherwise,
            } => {
                let (then, otherwise) = (self.inner(then)?, self.inner(otherwise)?);
                if !then.is_empty() || !otherwise.is_empty() {
                    self.expr(condition)?;
                    kept.push(Stmt::If {
                        condition: condition.clone(),
                        then,
                        otherwise,
                    });
                }
            }
            Stmt::For { .. } | Stmt::While { .. } => kept.extend(self.looped(stmt)?),
            // What is behind is done only where it holds.
            Stmt::Check { condition, .. } => {
                self.hidden |= self.behind;
                if kept.is_empty() {
                    return Some(());
                }
                self.expr(condition)?;
                let mut then = std::mem::take(kept);
                then.reverse();
                kept.push(Stmt::If {
                    condition: condition.clone(),
                    then,
                    otherwise: Vec::new(),
                });
            }
            _ => return (!self.is_bound_by(stmt)).then_some(()),
        }
        Some(())
    }

    /// What an iteration needs, one before it may have made.
    fn looped(&mut self, stmt: &Stmt) -> Option<Option<Stmt>> {
        let body = match stmt {
            Stmt::For { body, .. } | Stmt::While { body, .. } => body,
            _ => return None,
        };
        let before = self.behind;
        self.behind |= self.loads;
        let kept = loop {
            let known = self.needed.len();
            let kept = self.block(body)?;
            if self.needed.len() == known {
                break kept;
            }
        };
        self.behind = before;
        if kept.is_empty() {
            return Some(None);
        }
        match stmt {
            Stmt::For {
                index, width, count, ..
            } => {
                self.needed.extend(count.free_vars().cloned());
                Some(Some(Stmt::For {
                    index: index.clone(),
                    width: *width,
                    count: count.clone(),
                    mode: LoopMode::Seq,
                    body: kept,
                }))
            }
            Stmt::While { condition, .. } => {
                self.expr(condition)?;
                Some(Some(Stmt::While {
                    condition: condition.clone(),
                    body: kept,
                }))
            }
            _ => None,
        }
    }

    /// What an expression needs. None where it reads what the loop writes.
    fn expr(&mut self, expr: &Expr) -> Option<()> {
        let touched = Touched::of_expr(expr);
        let is_written = |name: &Name| {
            let access = self.inside.cells.get(name);
            self.inside.declared.contains(name) || access.is_some_and(|access| *access != Access::Read)
        };
        if touched.cells.keys().any(is_written) {
            return None;
        }
        self.loads |= !touched.cells.is_empty();
        self.needed.extend(touched.read);
        Some(())
    }

    /// Whether a statement that is left out gives something that is needed.
    fn is_bound_by(&self, stmt: &Stmt) -> bool {
        let touched = Touched::of([stmt]);
        let mut given = touched.bound.keys().chain(&touched.assigned);
        given.any(|name| self.needed.contains(name))
    }
}
