//! Arrays of a few cells as scalars, with the loops over their cells written out.
//!
//! ```text
//! buffer r: f64                                   var r_0: f64
//! alloc r[2]                                      var r_1: f64
//! for i < 2 { r[i] = xs[i] * x }           ~~>    r_0 = xs[0] * x
//! out[0] = r[0] + r[1]                            r_1 = xs[1] * x
//! free r                                          out[0] = r_0 + r_1
//! ```
//!
//! Vectors in space, rows of small matrices, what an `if` gives: C compilers keep such arrays in memory where a loop or a branch
//! stands between a cell and its use, and wait for what was just written.
//!
//! Removes: buffers, and loops of a few iterations. Introduces: variables. Guarantees: the same values and errors, in the same order.

use crate::edges::{replace, statements};
use crate::rename::{binders, copied};
use crate::tidy::{Reads, touches};
use almach_base::Name;
use almach_imp::{Expr, Index, LoopMode, Proc, Space, Stmt};
use almach_value::ScalarType;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Cells that an array may have at most.
const MOST_CELLS: i64 = 16;

/// Iterations that a loop over cells may have at most, and statements when it is written out.
const MOST_ITERATIONS: i64 = 4;
const MOST_STATEMENTS: usize = 200;

pub(crate) fn scalars(proc: &mut Proc) {
    let mut taken = HashSet::new();
    binders(&proc.body, &mut taken);
    taken.extend(proc.params.iter().map(|param| param.name.clone()));
    let mut names = Names { taken, copies: 0 };
    block(&mut proc.body, &mut names);
}

struct Names {
    taken: HashSet<Name>,
    copies: usize,
}

impl Names {
    fn cell(&mut self, array: &Name, cell: i64) -> Name {
        let mut name = Name::from(format!("{array}_{cell}"));
        while !self.taken.insert(name.clone()) {
            name = Name::from(format!("{name}_c"));
        }
        name
    }

    fn suffix(&mut self) -> String {
        loop {
            self.copies += 1;
            let suffix = format!("_e{}", self.copies);
            if !self.taken.iter().any(|name| name.ends_with(&suffix)) {
                return suffix;
            }
        }
    }
}

fn block(stmts: &mut Vec<Stmt>, names: &mut Names) {
    for array in arrays(stmts) {
        let Some(loops) = Cells::of(stmts, &array) else {
            continue;
        };
        let mut written_out = stmts.clone();
        unroll(&mut written_out, &loops, names);
        if let Some(replaced) = in_scalars(&written_out, &array, names) {
            *stmts = replaced;
            binders(stmts, &mut names.taken);
        }
    }
    for stmt in stmts {
        stmt.blocks_mut()
            .into_iter()
            .for_each(|inner| block(inner, names));
    }
}

/// An array of a few cells, allocated once in the block that declares it.
#[derive(Clone)]
struct Array {
    name: Name,
    ty: ScalarType,
    cells: i64,
}

fn arrays(stmts: &[Stmt]) -> Vec<Array> {
    let mut types = HashMap::new();
    let mut found = Vec::new();
    for stmt in stmts {
        match stmt {
            Stmt::Buffer { name, ty, space } if *space != Space::Borrowed => {
                types.insert(name, *ty);
            }
            Stmt::Alloc { buffer, size, .. } => {
                if let (Some(ty), Some(cells)) = (types.remove(buffer), size.as_constant())
                    && (1..=MOST_CELLS).contains(&cells)
                {
                    found.push(Array {
                        name: buffer.clone(),
                        ty,
                        cells,
                    });
                }
            }
            _ => {}
        }
    }
    found
}

/// Looks at how an array is used, and for the loops that have to be written out to know the cells.
struct Cells<'a> {
    array: &'a Name,
    /// The loops of a few iterations around, and whether there is one around whose iterations run at once.
    around: Vec<Name>,
    at_once: bool,
    loops: BTreeSet<Name>,
}

impl<'a> Cells<'a> {
    /// The loops, where each use of the array is one of its cells.
    fn of(stmts: &[Stmt], array: &'a Array) -> Option<BTreeSet<Name>> {
        let mut cells = Cells {
            array: &array.name,
            around: Vec::new(),
            at_once: false,
            loops: BTreeSet::new(),
        };
        let mut allocations = 0;
        for stmt in stmts {
            match stmt {
                Stmt::Buffer { name, .. } | Stmt::Free(name) if *name == array.name => {}
                Stmt::Alloc { buffer, .. } if *buffer == array.name => allocations += 1,
                _ => cells.stmt(stmt)?,
            }
        }
        (allocations == 1).then_some(cells.loops)
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<()> {
        let mut touched = Reads::default();
        touches(stmt, &mut touched);
        let frees = matches!(stmt, Stmt::Free(name) if name == self.array);
        if !touched.names.contains(self.array) && !frees {
            return Some(());
        }
        match stmt {
            Stmt::Let { .. } | Stmt::Var { .. } | Stmt::Assign { .. } | Stmt::Check { .. } => {}
            Stmt::Store { buffer, index, .. } => {
                if buffer == self.array {
                    self.written(index)?;
                }
            }
            Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            } => {
                let count = count.as_constant()?;
                if count > MOST_CELLS || to == from {
                    return None;
                }
                if to == self.array {
                    self.written(to_index)?;
                }
                if from == self.array {
                    self.cell(from_index)?;
                }
            }
            Stmt::For {
                index,
                count,
                mode,
                body,
                ..
            } => return self.looped(index, count, *mode, body),
            Stmt::While { body, .. } => body.iter().try_for_each(|stmt| self.stmt(stmt))?,
            Stmt::If { then, otherwise, .. } => then
                .iter()
                .chain(otherwise)
                .try_for_each(|stmt| self.stmt(stmt))?,
            _ => return None,
        }
        let mut known = Some(());
        stmt.for_each_expr(&mut |expr| known = known.and_then(|()| self.expr(expr)));
        known
    }

    fn looped(&mut self, index: &Name, count: &Index, mode: LoopMode, body: &[Stmt]) -> Option<()> {
        let few = count
            .as_constant()
            .filter(|count| *count <= MOST_ITERATIONS && matches!(mode, LoopMode::Seq | LoopMode::Simd))
            .and_then(|count| usize::try_from(count).ok());
        match few {
            Some(count) if count * statements(body) <= MOST_STATEMENTS => {
                self.around.push(index.clone());
                let known = body.iter().try_for_each(|stmt| self.stmt(stmt));
                self.around.pop();
                // Its iterations would assign a variable at once.
                if mode.is_parallel() {
                    self.loops.insert(index.clone());
                }
                known
            }
            _ => {
                let around = self.at_once;
                self.at_once |= mode.is_parallel();
                let known = body.iter().try_for_each(|stmt| self.stmt(stmt));
                self.at_once = around;
                known
            }
        }
    }

    fn written(&mut self, index: &Index) -> Option<()> {
        match self.at_once {
            true => None,
            false => self.cell(index),
        }
    }

    fn cell(&mut self, index: &Index) -> Option<()> {
        for name in index.free_vars() {
            if !self.around.contains(name) {
                return None;
            }
            self.loops.insert(name.clone());
        }
        Some(())
    }

    fn expr(&mut self, expr: &Expr) -> Option<()> {
        match expr {
            Expr::Load(buffer, index) if buffer == self.array => self.cell(index),
            Expr::Const(_) | Expr::Var(_) | Expr::Index(_) | Expr::Load(..) => Some(()),
            Expr::Unary(_, a) => self.expr(a),
            Expr::Binary(_, a, b) => {
                self.expr(a)?;
                self.expr(b)
            }
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                self.expr(a)?;
                self.expr(b)?;
                self.expr(c)
            }
        }
    }
}

/// Writes loops out, the inner ones first.
fn unroll(stmts: &mut Vec<Stmt>, loops: &BTreeSet<Name>, names: &mut Names) {
    let mut result = Vec::with_capacity(stmts.len());
    for mut stmt in stmts.drain(..) {
        stmt.blocks_mut()
            .into_iter()
            .for_each(|inner| unroll(inner, loops, names));
        match &stmt {
            Stmt::For {
                index, count, body, ..
            } if loops.contains(index) => {
                for at in 0..count.as_constant().unwrap_or(0) {
                    let mut copy = copied(body, &names.suffix());
                    replace(&mut copy, index, &Index::constant(at));
                    result.extend(copy);
                }
            }
            _ => result.push(stmt),
        }
    }
    *stmts = result;
}

/// The statements with a variable for each cell; none where a cell is not known after all.
fn in_scalars(stmts: &[Stmt], array: &Array, names: &mut Names) -> Option<Vec<Stmt>> {
    let cells: Vec<Name> = (0..array.cells)
        .map(|cell| names.cell(&array.name, cell))
        .collect();
    let replacing = Replacing { array, cells };
    replacing.block(stmts)
}

struct Replacing<'a> {
    array: &'a Array,
    cells: Vec<Name>,
}

impl Replacing<'_> {
    fn is(&self, name: &Name) -> bool {
        *name == self.array.name
    }

    fn cell(&self, index: &Index, further: i64) -> Option<Name> {
        let at = usize::try_from(index.as_constant()? + further).ok()?;
        self.cells.get(at).cloned()
    }

    fn block(&self, stmts: &[Stmt]) -> Option<Vec<Stmt>> {
        let mut result = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            self.stmt(stmt, &mut result)?;
        }
        Some(result)
    }

    fn stmt(&self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<()> {
        match stmt {
            Stmt::Buffer { name, .. } if self.is(name) => {}
            Stmt::Free(name) if self.is(name) => {}
            Stmt::Alloc { buffer, .. } if self.is(buffer) => {
                out.extend(self.cells.iter().map(|name| Stmt::Var {
                    name: name.clone(),
                    ty: self.array.ty,
                    value: None,
                }));
            }
            Stmt::Store { buffer, index, value } if self.is(buffer) => out.push(Stmt::Assign {
                name: self.cell(index, 0)?,
                value: self.expr(value)?,
            }),
            Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            } if self.is(to) || self.is(from) => {
                for at in 0..count.as_constant()? {
                    out.push(self.copied_cell([to, from], [to_index, from_index], at)?);
                }
            }
            _ => {
                let mut stmt = stmt.clone();
                let mut known = Some(());
                stmt.for_each_expr_mut(&mut |expr| match self.expr(expr) {
                    Some(replaced) => *expr = replaced,
                    None => known = None,
                });
                known?;
                for inner in stmt.blocks_mut() {
                    *inner = self.block(inner)?;
                }
                out.push(stmt);
            }
        }
        Some(())
    }

    fn copied_cell(
        &self,
        [to, from]: [&Name; 2],
        [to_index, from_index]: [&Index; 2],
        at: i64,
    ) -> Option<Stmt> {
        let value = match self.is(from) {
            true => Expr::Var(self.cell(from_index, at)?),
            false => Expr::Load(from.clone(), from_index.clone() + Index::constant(at)),
        };
        Some(match self.is(to) {
            true => Stmt::Assign {
                name: self.cell(to_index, at)?,
                value,
            },
            false => Stmt::Store {
                buffer: to.clone(),
                index: to_index.clone() + Index::constant(at),
                value,
            },
        })
    }

    fn expr(&self, expr: &Expr) -> Option<Expr> {
        let boxed = |part: &Expr| self.expr(part).map(Box::new);
        Some(match expr {
            Expr::Load(buffer, index) if self.is(buffer) => Expr::Var(self.cell(index, 0)?),
            Expr::Const(_) | Expr::Var(_) | Expr::Index(_) | Expr::Load(..) => expr.clone(),
            Expr::Unary(op, a) => Expr::Unary(*op, boxed(a)?),
            Expr::Binary(op, a, b) => Expr::Binary(*op, boxed(a)?, boxed(b)?),
            Expr::Ternary(op, a, b, c) => Expr::Ternary(*op, boxed(a)?, boxed(b)?, boxed(c)?),
            Expr::Select(a, b, c) => Expr::Select(boxed(a)?, boxed(b)?, boxed(c)?),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use almach_imp::canonical::canonical_text;

    fn after(body: &str) -> String {
        let text = format!("proc p(n: i64, xs: read f64, out: write f64) {{\n{body}\n}}");
        let mut program = almach_imp::parse(&text).unwrap();
        program.procs.iter_mut().for_each(scalars);
        canonical_text(almach_imp::check(program).unwrap().program())
    }

    fn as_it_is(body: &str) -> String {
        let text = format!("proc p(n: i64, xs: read f64, out: write f64) {{\n{body}\n}}");
        canonical_text(&almach_imp::parse(&text).unwrap())
    }

    #[test]
    fn loops_over_a_few_cells_are_written_out() {
        let found = after(
            "buffer r: f64\nalloc r[2]\nsimd for i < 2 {\nr[i] = xs[i] * 2.0f64\n}\nfor j < 2 {\nlet y: f64 = r[1 - j]\nout[j] = y\n}\nfree r",
        );
        let expected = "var r_0: f64\nvar r_1: f64\nr_0 = xs[0] * 2.0f64\nr_1 = xs[1] * 2.0f64\nlet y_a: f64 = r_1\nout[0] = y_a\nlet y_b: f64 = r_0\nout[1] = y_b";
        assert_eq!(found, as_it_is(expected));
    }

    #[test]
    fn branches_and_copies_keep_their_places() {
        let found = after(
            "buffer r: f64\nalloc r[2]\nif n < 3i64 {\ncopy r[0] = xs[0] for 2\n} else {\nr[0] = 1.0f64\nr[1] = 2.0f64\n}\ncopy out[0] = r[0] for 2\nfree r",
        );
        let expected = "var r_0: f64\nvar r_1: f64\nif n < 3i64 {\nr_0 = xs[0]\nr_1 = xs[1]\n} else {\nr_0 = 1.0f64\nr_1 = 2.0f64\n}\nout[0] = r_0\nout[1] = r_1";
        assert_eq!(found, as_it_is(expected));
    }

    #[test]
    fn what_is_reached_by_other_indices_stays() {
        for body in [
            "buffer r: f64\nalloc r[4]\ncopy r[0] = xs[0] for 4\nfor i < n {\nout[i] = r[i]\n}\nfree r",
            "buffer r: f64\nalloc r[8]\nsimd for i < 8 {\nr[i] = xs[i]\n}\nout[0] = r[3]\nfree r",
            "buffer r: f64\nalloc r[2]\nr[0] = 0.0f64\nr[1] = 0.0f64\npar for i < n {\nout[i] = r[1]\n}\nsimd for j < n {\nr[0] = xs[j]\n}\nfree r",
        ] {
            assert_eq!(after(body), as_it_is(body));
        }
    }
}
