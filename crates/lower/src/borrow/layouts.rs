//! Branches that give an array in different layouts: the first cell and a step per dimension are what a branch gives beside the block.
//!
//! ```text
//! buffer r: f32                                       buffer r: borrowed f32
//! alloc r[n*m]                                        if c {
//! if c {                                                borrow r = a[0] for n*m
//!   copy r[0] = a[0] for n*m                            (r_first, r_step, r_step_2) = (0, m, 1)
//! } else {                                      ~~>   } else {
//!   for i < m {                                         borrow r = b[0] for n*m
//!     for j < n { r[j*m + i] = b[i*n + j] }             (r_first, r_step, r_step_2) = (0, 1, n)
//!   }                                                 }
//! }                                                   for i < n {
//! for i < n { for j < m { … r[i*m + j] … } }            for j < m { … r[r_first + i*r_step + j*r_step_2] … }
//!                                                     }
//! ```
//!
//! (FUNMEM, section 3.5: a branch returns the integers of the descriptor.) A cell that is read is taken apart into its coordinates with what is known
//! about the loops around it. Where a read inside of a loop would need a division for that, the branch copies.

use super::{Borrowing, Found, Given, Reads, declared};
use crate::buffers::mentions;
use crate::moves::{Turn, moves};
use crate::slots::Slots;
use almach_base::Name;
use almach_imp::facts::Facts;
use almach_imp::{Argument, Expr, Index, LoopMode, Stmt};
use almach_value::{BinOp, Scalar, ScalarType};
use std::collections::{HashMap, HashSet};

/// Where the cells of an array are in another buffer: from the first one on, so many steps in each dimension, the outermost first.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Layout {
    pub(super) owner: Name,
    first: Index,
    dims: Vec<Dim>,
}

#[derive(Clone, PartialEq, Debug)]
struct Dim {
    length: Index,
    step: Index,
}

/// The layout that a nest of loops gives to a buffer of so many cells, where it does nothing but copy all of it.
pub(super) fn view_of(stmt: &Stmt, buffer: &Name, size: &Index) -> Option<Layout> {
    let mut moves = moves(stmt).filter(|moves| moves.to == buffer && moves.from != buffer)?;
    for turn in &mut moves.turns {
        // Downwards is upwards from the other end.
        if turn.to.terms().iter().all(|(_, times)| *times < 0) {
            let last = &turn.length - &Index::one();
            moves.to_first = moves.to_first + &turn.to * &last;
            moves.from_first = moves.from_first + &turn.from * &last;
            turn.to = Index::zero() - &turn.to;
            turn.from = Index::zero() - &turn.from;
        }
    }
    let dims = in_row_major_order(moves.turns, size)?;
    moves.to_first.is_zero().then(|| Layout {
        owner: moves.from.clone(),
        first: moves.from_first,
        dims,
    })
}

/// The dimensions of an array that is written in this order as a whole.
fn in_row_major_order(mut turns: Vec<Turn>, size: &Index) -> Option<Vec<Dim>> {
    let mut dims = Vec::new();
    let mut cells = Index::one();
    while !turns.is_empty() {
        let at = turns.iter().position(|turn| turn.to == cells)?;
        let Turn { length, from, .. } = turns.remove(at);
        cells = &cells * &length;
        dims.insert(0, Dim { length, step: from });
    }
    (cells == *size).then_some(dims)
}

impl Layout {
    /// How many cells of its owner, from its first one on, all of it is in; none where it is not known in which direction it goes.
    fn reach(&self) -> Option<Index> {
        let mut last = self.first.clone();
        for Dim { length, step } in &self.dims {
            let terms = step.terms();
            if terms.iter().all(|(_, times)| *times > 0) {
                last = last + step * &(length - &Index::one());
            } else if !terms.iter().all(|(_, times)| *times < 0) {
                return None;
            }
        }
        Some(last + Index::one())
    }

    fn has_lengths(&self, lengths: &[Index]) -> bool {
        self.dims.iter().map(|dim| &dim.length).eq(lengths)
    }
}

/// What branches give beside the block, as a variable that they set and the name of its value behind them.
pub(super) struct Steps {
    lengths: Vec<Index>,
    first: (Name, Name),
    steps: Vec<(Name, Name)>,
    /// Cells of owners, where they are known.
    cells: HashMap<Name, Index>,
}

impl Steps {
    fn all(&self) -> impl Iterator<Item = &(Name, Name)> {
        [&self.first].into_iter().chain(&self.steps)
    }

    pub(super) fn declared(&self) -> Vec<Stmt> {
        let declare = |(variable, _): &(Name, Name)| Stmt::Var {
            name: variable.clone(),
            ty: ScalarType::I64,
            value: Some(Expr::int(0)),
        };
        self.all().map(declare).collect()
    }

    /// Behind the branches.
    pub(super) fn kept(&self) -> Vec<Stmt> {
        let keep = |(variable, kept): &(Name, Name)| Stmt::Let {
            name: kept.clone(),
            ty: ScalarType::I64,
            value: Expr::var(variable),
        };
        self.all().map(keep).collect()
    }

    fn set(&self, first: &Index, steps: impl IntoIterator<Item = Index>) -> Vec<Stmt> {
        let values = [first.clone()].into_iter().chain(steps);
        let set = |((variable, _), value): (&(Name, Name), Index)| Stmt::Assign {
            name: variable.clone(),
            value: match value.as_constant() {
                Some(constant) => Expr::Const(Scalar::I64(constant)),
                None => Expr::Index(value),
            },
        };
        self.all().zip(values).map(set).collect()
    }

    /// The layout of what is borrowed from its first cell on, in row-major order.
    pub(super) fn in_order(&self) -> Vec<Stmt> {
        let mut step = Index::one();
        let mut steps: Vec<Index> = Vec::new();
        for length in self.lengths.iter().rev() {
            steps.insert(0, step.clone());
            step = &step * length;
        }
        self.set(&Index::zero(), steps)
    }

    /// Another layout is borrowed.
    pub(super) fn borrowed(&self, buffer: &Name, layout: &Layout) -> Vec<Stmt> {
        let borrow = |count: Index| Stmt::Borrow {
            buffer: buffer.clone(),
            from: layout.owner.clone(),
            first: Index::zero(),
            count,
        };
        let cells = self.lengths.iter().fold(Index::one(), |all, one| &all * one);
        let borrowed = match (self.cells.get(&layout.owner), layout.reach()) {
            (Some(all), _) => borrow(all.clone()),
            // Of what has no cells, nothing can be said.
            (None, reach) => Stmt::If {
                condition: Expr::binary(BinOp::Gt, Expr::Index(cells.clone()), Expr::int(0)),
                then: vec![borrow(reach.unwrap_or(cells))],
                otherwise: Vec::new(),
            },
        };
        let steps = layout.dims.iter().map(|dim| dim.step.clone());
        [borrowed]
            .into_iter()
            .chain(self.set(&layout.first, steps))
            .collect()
    }
}

impl Borrowing {
    /// What the branches give beside the block, and the statements that read the array with it. None where their layouts have
    /// different dimensions, or where a cell that is read cannot be taken apart.
    pub(super) fn steps(&mut self, slots: &Slots, given: &Given, found: &Found) -> Option<(Steps, Reads)> {
        let lengths: Vec<Index> = found
            .layouts
            .first()?
            .dims
            .iter()
            .map(|dim| dim.length.clone())
            .collect();
        let mut inside = HashSet::new();
        declared(slots.get(given.branches), &mut inside);
        let is_known =
            |length: &Index| self.stays(length) && length.free_vars().all(|name| !inside.contains(name));
        let cells: HashMap<Name, Index> = found
            .owners
            .iter()
            .filter_map(|owner| Some((owner.clone(), self.sizes.get(owner)?.clone()?)))
            .collect();
        let is_bounded = |layout: &Layout| cells.contains_key(&layout.owner) || layout.reach().is_some();
        let fits = |layout: &Layout| layout.has_lengths(&lengths) && is_bounded(layout);
        if !lengths.iter().all(is_known) || !found.layouts.iter().all(fits) {
            return None;
        }
        let mut pair = |what: &str| {
            let kept = self.fresh(&format!("{}_{what}", given.buffer));
            let variable = self.fresh(&format!("{kept}_given"));
            (variable, kept)
        };
        let steps = Steps {
            first: pair("first"),
            steps: lengths.iter().map(|_| pair("step")).collect(),
            lengths,
            cells,
        };
        let mut reader = Reader {
            buffer: &given.buffer,
            steps: &steps,
            facts: self.facts.clone(),
            loops: 0,
            pass: self,
        };
        let mut reads = Reads::new();
        for at in 0..given.freed {
            let stmts = slots.get(at);
            if at > given.branches && stmts.iter().any(|stmt| mentions(stmt, &given.buffer)) {
                let mut stmts = stmts.to_vec();
                reader.stmts(&mut stmts)?;
                reads.push((at, stmts));
            } else {
                stmts.iter().for_each(|stmt| reader.learn(stmt));
            }
        }
        Some((steps, reads))
    }
}

/// Reads an array by its coordinates.
struct Reader<'a> {
    buffer: &'a Name,
    steps: &'a Steps,
    facts: Facts,
    /// How many loops are around.
    loops: usize,
    pass: &'a mut Borrowing,
}

impl Reader<'_> {
    fn learn(&mut self, stmt: &Stmt) {
        let changing = &self.pass.changing;
        let stays = |name: &Name| !changing.contains(name);
        match stmt {
            Stmt::Let {
                name,
                value: Expr::Index(index),
                ..
            } if index.free_vars().all(stays) => self.facts.define(name, index),
            Stmt::Check { condition, .. } => self.facts.assume(condition, &stays),
            Stmt::Alloc { size, .. } if size.free_vars().all(stays) => self.facts.assume_nonneg(size.clone()),
            _ => {}
        }
    }

    fn stmts(&mut self, stmts: &mut [Stmt]) -> Option<()> {
        for stmt in stmts {
            if mentions(stmt, self.buffer) {
                self.stmt(stmt)?;
            }
            self.learn(stmt);
        }
        Some(())
    }

    fn stmt(&mut self, stmt: &mut Stmt) -> Option<()> {
        match stmt {
            Stmt::Copy { from, .. } if from == self.buffer => {
                *stmt = self.moved(stmt)?;
                return Some(());
            }
            Stmt::Borrow { from, .. } if from == self.buffer => return None,
            Stmt::Call { arguments, .. }
            | Stmt::Foreign { arguments, .. }
            | Stmt::Trace { arguments, .. } => {
                let is_passed = |argument: &Argument| matches!(argument, Argument::Buffer(buffer, _) | Argument::Owned(buffer) if buffer == self.buffer);
                if arguments.iter().any(is_passed) {
                    return None;
                }
            }
            Stmt::Kernel { .. } | Stmt::Transfer(_) | Stmt::Swap(..) => return None,
            _ => {}
        }
        // The condition of a `while` is evaluated again and again.
        let again = usize::from(matches!(stmt, Stmt::While { .. }));
        self.loops += again;
        let mut done = Some(());
        stmt.for_each_expr_mut(&mut |expr| done = done.and_then(|()| self.expr(expr)));
        done?;
        let mark = self.facts.mark();
        let looped = match stmt {
            Stmt::For { index, count, .. } if self.pass.stays(count) => {
                self.facts.enter_loop(index, count);
                1
            }
            Stmt::For { .. } => 1,
            _ => 0,
        };
        self.loops += looped;
        let condition = match stmt {
            Stmt::If { condition, .. } => Some(condition.clone()),
            _ => None,
        };
        for (number, block) in stmt.blocks_mut().into_iter().enumerate() {
            let mark = self.facts.mark();
            if let (Some(condition), 0) = (&condition, number) {
                let changing = &self.pass.changing;
                self.facts.assume(condition, &|name| !changing.contains(name));
            }
            self.stmts(block)?;
            self.facts.forget_since(mark);
        }
        self.facts.forget_since(mark);
        self.loops -= looped + again;
        Some(())
    }

    /// A copy of cells that are one behind the other no more.
    fn moved(&mut self, copy: &Stmt) -> Option<Stmt> {
        let mut moved = copy.cell_by_cell(LoopMode::Seq, || self.pass.fresh("cell"))?;
        self.stmt(&mut moved)?;
        Some(moved)
    }

    fn expr(&mut self, expr: &mut Expr) -> Option<()> {
        match expr {
            Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => Some(()),
            Expr::Load(buffer, index) => {
                if buffer == self.buffer {
                    *index = self.cell(index)?;
                }
                Some(())
            }
            Expr::Unary(_, argument) => self.expr(argument),
            Expr::Binary(_, left, right) => {
                self.expr(left)?;
                self.expr(right)
            }
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().try_for_each(|part| self.expr(part))
            }
        }
    }

    /// Where a cell of the array is in what is borrowed.
    fn cell(&self, index: &Index) -> Option<Index> {
        let mut rest = index.clone();
        let mut cell = Index::var(self.steps.first.1.clone());
        let dims = self.steps.lengths.iter().zip(&self.steps.steps);
        for (number, (length, (_, step))) in dims.enumerate().rev() {
            let step = Index::var(step.clone());
            if number == 0 {
                cell = cell + &rest * &step;
                break;
            }
            let above = self.facts.simplify(&rest.div(length));
            if self.loops > 0 && above.has_quotients() && !rest.has_quotients() {
                return None;
            }
            cell = cell + &(&rest - &(&above * length)) * &step;
            rest = above;
        }
        Some(cell)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    fn rewritten(text: &str) -> String {
        let mut program = almach_imp::parse(text).unwrap();
        crate::borrow::borrow(&mut program.procs);
        almach_imp::check(program).unwrap().program().to_string()
    }

    /// `a` as it is, or as `other` makes it of `a`, and read by `reads`.
    fn chosen(other: &str, reads: &str) -> String {
        rewritten(&format!(
            "proc main(n: i64, m: i64, c: bool, xs: read i64, out: write i64) {{
               buffer a: i64 alloc a[m*n] for h < m*n {{ a[h] = xs[h] }}
               buffer r: i64 alloc r[m*n] if c {{ copy r[0] = a[0] for m*n }} else {{ {other} }}
               {reads} free r free a }}"
        ))
    }

    const TURNED: &str = "for i < m { for j < n { r[j*m + i] = a[i*n + j] } }";

    #[test]
    fn a_transposition_is_other_steps() {
        let text = chosen(
            TURNED,
            "for k < n { for l < m { let x: i64 = r[k*m + l] out[k*m + l] = x } }",
        );
        assert!(!text.contains("alloc r") && !text.contains("copy"), "{text}");
        assert!(text.contains("r[k*r_step + l*r_step_2 + r_first]"), "{text}");
        assert!(
            text.contains("r_step_given = {m}") && text.contains("r_step_2_given = {n}"),
            "{text}"
        );
    }

    #[test]
    fn backwards_is_a_negative_step() {
        let text = chosen(
            "for i < m*n { r[m*n - 1 - i] = a[i] }",
            "for k < m*n { out[k] = r[k] * 2i64 }",
        );
        assert!(text.contains("r_step_given = -1i64"), "{text}");
        assert!(text.contains("r_first_given = {m*n - 1}"), "{text}");
    }

    #[test]
    fn a_row_that_is_copied_later_is_copied_by_steps() {
        let text = chosen(TURNED, "for k < n { copy out[k*m] = r[k*m] for m }");
        assert!(
            text.contains("out[k*m + cell] = r[cell*r_step_2 + k*r_step + r_first]"),
            "{text}"
        );
    }

    #[test]
    fn a_copy_where_a_read_would_divide_or_not_all_is_given() {
        for (other, reads) in [
            (TURNED, "for k < m*n { out[k] = r[k] }"),
            (TURNED, "call f(buffer r[0], buffer out[0])"),
            (
                "for i < m { for j < n { r[j*m + i] = a[i*n + j] + 1i64 } }",
                "for k < n { for l < m { out[k*m + l] = r[k*m + l] } }",
            ),
            (
                "for i < m { for j < n { r[j*m + i] = a[i*n + j] } } r[0] = 1i64",
                "for k < n { for l < m { out[k*m + l] = r[k*m + l] } }",
            ),
        ] {
            let mut program = almach_imp::parse(&format!(
                "proc f(xs: read i64, out: write i64) {{ out[0] = xs[0] }}
                 proc main(n: i64, m: i64, c: bool, xs: read i64, out: write i64) {{
                   buffer a: i64 alloc a[m*n] for h < m*n {{ a[h] = xs[h] }}
                   buffer r: i64 alloc r[m*n] if c {{ copy r[0] = a[0] for m*n }} else {{ {other} }}
                   {reads} free r free a }}"
            ))
            .unwrap();
            crate::borrow::borrow(&mut program.procs);
            let text = almach_imp::check(program).unwrap().program().to_string();
            assert!(!text.contains("r_step"), "{text}");
        }
    }
}
