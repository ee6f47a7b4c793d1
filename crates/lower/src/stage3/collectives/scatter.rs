//! Scatter and permute: of the iterations that ask for a cell, the first to come writes it.
//!
//! ```text
//! par for i < n {
//!   exchange old = seen[j], true
//!   if old { atomic again[0] = 1 } else { out[j] = x[i] }
//! }
//! ```
//!
//! Which iteration comes first depends on timing; whether one came second does not. Where none did, all is done, after one
//! pass. Otherwise a second pass compares the values, and where that finds a conflict, a third one looks for the first
//! conflict in order, which is the one that is reported.

use super::super::Generator;
use super::super::expressions::index_expr;
use super::super::storage;
use super::{Elements, fields};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Phrase, Site};
use almach_imp::{AtomicStep, Expr, Index, LoopMode, Order, Stmt};
use almach_nat::Range;
use almach_value::{BinOp, Scalar, ScalarType, UnOp};

impl Generator<'_> {
    pub(super) fn claimed_scatter(
        &mut self,
        of: &Elements,
        scalar: ScalarType,
        site: &Site,
        cells: Index,
        [indices, values, var]: [&Phrase; 3],
    ) -> Lowering<()> {
        let seen = self.scratch("seen", ScalarType::Bool, cells.clone());
        self.fill_cells(&seen, cells.clone(), LoopMode::Par, Scalar::Bool(false))?;
        let again = self.unset("again");
        let at = (indices, scalar, &cells);
        self.every(of, LoopMode::Par, |this, i| {
            this.inside_at(at, i, |this, j| {
                let value = this.element(of, values, i)?;
                this.claim(&seen, j, &again, |this| this.put(of, var, j, &value))
            })
        })?;
        self.when(is_set(&again), |this| {
            this.clear(&again);
            this.every(of, LoopMode::Par, |this, i| {
                this.inside_at(at, i, |this, j| {
                    let value = this.element(of, values, i)?;
                    let present = this.written(of, var, j)?;
                    let differs = Expr::unary(UnOp::Not, this.same(of, &present, &value)?);
                    this.when(differs, |this| {
                        this.note(&again);
                        Ok(())
                    })
                })
            })?;
            this.when(is_set(&again), |this| this.first_conflict(of, at, site, values))
        })?;
        self.emit(Stmt::Free(again));
        self.emit(Stmt::Free(seen));
        Ok(())
    }

    /// Fails where, in order, a value differs from the first one for its cell.
    fn first_conflict(&mut self, of: &Elements, at: At<'_>, site: &Site, values: &Phrase) -> Lowering<()> {
        let cells = at.2.clone();
        let owner = self.scratch("owner", ScalarType::I64, cells.clone());
        self.fill_cells(&owner, cells, LoopMode::Seq, Scalar::I64(-1))?;
        self.every(of, LoopMode::Seq, |this, i| {
            this.inside_at(at, i, |this, j| {
                let first = this.as_index(Expr::Load(owner.clone(), j.clone()));
                let free = Expr::binary(BinOp::Lt, index_expr(first.clone()), Expr::int(0));
                this.either(
                    free,
                    |this| {
                        this.emit(Stmt::Store {
                            buffer: owner.clone(),
                            index: j.clone(),
                            value: index_expr(i.clone()),
                        });
                        Ok(())
                    },
                    |this| {
                        let value = this.element(of, values, i)?;
                        let present = this.element(of, values, &first)?;
                        let same = this.same(of, &present, &value)?;
                        this.fail_unless(same, site, j);
                        Ok(())
                    },
                )
            })
        })?;
        self.emit(Stmt::Free(owner));
        Ok(())
    }

    pub(super) fn claimed_permute(
        &mut self,
        of: &Elements,
        scalar: ScalarType,
        site: &Site,
        [indices, values, out]: [&Phrase; 3],
    ) -> Lowering<()> {
        let cells = of.size.clone();
        let seen = self.scratch("seen", ScalarType::Bool, cells.clone());
        self.fill_cells(&seen, cells.clone(), LoopMode::Par, Scalar::Bool(false))?;
        let wrong = self.unset("wrong");
        self.every(of, LoopMode::Par, |this, i| {
            let j = this.index_at((indices, scalar, &cells), i)?;
            this.either(
                inside(&j, &cells),
                |this| {
                    this.ranges_in(&j, &cells);
                    let value = this.element(of, values, i)?;
                    this.claim(&seen, &j, &wrong, |this| this.put(of, out, &j, &value))
                },
                |this| {
                    this.note(&wrong);
                    Ok(())
                },
            )
        })?;
        self.when(is_set(&wrong), |this| {
            this.fill_cells(&seen, cells.clone(), LoopMode::Seq, Scalar::Bool(false))?;
            this.every(of, LoopMode::Seq, |this, i| {
                let j = this.index_at((indices, scalar, &cells), i)?;
                this.fail_unless(inside(&j, &cells), site, &j);
                let taken = Expr::Load(seen.clone(), j.clone());
                this.fail_unless(Expr::unary(UnOp::Not, taken), site, &j);
                this.emit(Stmt::Store {
                    buffer: seen.clone(),
                    index: j,
                    value: Expr::Const(Scalar::Bool(true)),
                });
                Ok(())
            })
        })?;
        self.emit(Stmt::Free(wrong));
        self.emit(Stmt::Free(seen));
        Ok(())
    }

    /// Runs `then` where no other iteration has taken a cell; notes where one has.
    fn claim(
        &mut self,
        seen: &Name,
        cell: &Index,
        again: &Name,
        then: impl FnOnce(&mut Self) -> Lowering<()>,
    ) -> Lowering<()> {
        let old = self.fresh("old");
        self.types.insert(old.clone(), ScalarType::Bool);
        self.emit(Stmt::Atomic {
            step: AtomicStep::Exchange {
                name: old.clone(),
                ty: ScalarType::Bool,
                value: Expr::Const(Scalar::Bool(true)),
            },
            order: Order::Relaxed,
            buffer: seen.clone(),
            index: cell.clone(),
        });
        self.either(
            Expr::Var(old),
            |this| {
                this.note(again);
                Ok(())
            },
            then,
        )
    }

    /// A flag that iterations set.
    fn unset(&mut self, stem: &str) -> Name {
        let flag = self.scratch(stem, ScalarType::I32, Index::one());
        self.clear(&flag);
        flag
    }

    fn clear(&mut self, flag: &Name) {
        self.emit(Stmt::Store {
            buffer: flag.clone(),
            index: Index::zero(),
            value: Expr::Const(Scalar::I32(0)),
        });
    }

    fn note(&mut self, flag: &Name) {
        self.emit(Stmt::Atomic {
            step: AtomicStep::Store(Expr::Const(Scalar::I32(1))),
            order: Order::Relaxed,
            buffer: flag.clone(),
            index: Index::zero(),
        });
    }

    /// A loop over all elements.
    pub(super) fn every(
        &mut self,
        of: &Elements,
        mode: LoopMode,
        body: impl FnOnce(&mut Self, &Index) -> Lowering<()>,
    ) -> Lowering<()> {
        let i = self.fresh("i");
        let outer = self.parallel;
        if mode.is_parallel() {
            self.parallel = super::Parallel::Inside;
        }
        let result = self.counted(i.clone(), of.size.clone(), mode, |this| {
            body(this, &Index::var(i))
        });
        self.parallel = outer;
        result
    }

    /// The index at a place, as a name.
    pub(super) fn index_at(&mut self, (indices, scalar, _): At<'_>, i: &Index) -> Lowering<Index> {
        let index = self.read(indices, vec![super::Step::At(i.clone())])?;
        let value = match scalar {
            ScalarType::I64 => index,
            _ => Expr::unary(UnOp::Convert(ScalarType::I64), index),
        };
        let name = self.fresh("j");
        self.emit(Stmt::Let {
            name: name.clone(),
            ty: ScalarType::I64,
            value,
        });
        Ok(Index::var(name))
    }

    /// Runs `then` with the index at a place, where it is a cell's.
    pub(super) fn inside_at(
        &mut self,
        at: At<'_>,
        i: &Index,
        then: impl FnOnce(&mut Self, &Index) -> Lowering<()>,
    ) -> Lowering<()> {
        let j = self.index_at(at, i)?;
        self.when(inside(&j, at.2), |this| {
            this.ranges_in(&j, at.2);
            then(this, &j)
        })
    }

    pub(super) fn ranges_in(&mut self, j: &Index, cells: &Index) {
        if let Some(name) = j.as_var() {
            self.ranges.set(name.clone(), Range::below(cells));
        }
    }

    /// Whether two values are the same to the law: bit for bit, but all NaNs are one.
    fn same(&mut self, of: &Elements, a: &Phrase, b: &Phrase) -> Lowering<Expr> {
        let mut all = Expr::Const(Scalar::Bool(true));
        for leaf in storage::of(&of.data, &Name::from("value")).leaves() {
            let path = fields(&leaf.path);
            let (a, b) = (self.read(a, path.clone())?, self.read(b, path)?);
            let one = match leaf.ty.is_float() {
                false => Expr::binary(BinOp::Eq, a, b),
                true => {
                    let both = |op: UnOp, join: BinOp| {
                        Expr::binary(join, Expr::unary(op, a.clone()), Expr::unary(op, b.clone()))
                    };
                    let nans = both(UnOp::IsNan, BinOp::And);
                    Expr::binary(BinOp::Or, both(UnOp::ToBits, BinOp::Eq), nans)
                }
            };
            all = self.fold_binary(BinOp::And, all, one);
        }
        Ok(all)
    }

    fn fail_unless(&mut self, condition: Expr, site: &Site, index: &Index) {
        self.emit(Stmt::Check {
            condition,
            site: almach_imp::Site {
                code: site.code,
                span: site.span,
                text: site.text.clone(),
            },
            arguments: vec![index_expr(index.clone())],
        });
    }
}

/// Indices, their type, and the number of cells they point to.
pub(super) type At<'p> = (&'p Phrase, ScalarType, &'p Index);

pub(super) fn inside(j: &Index, cells: &Index) -> Expr {
    let low = Expr::binary(BinOp::Ge, index_expr(j.clone()), Expr::int(0));
    let high = Expr::binary(BinOp::Lt, index_expr(j.clone()), index_expr(cells.clone()));
    Expr::binary(BinOp::And, low, high)
}

fn is_set(flag: &Name) -> Expr {
    let value = Expr::Load(flag.clone(), Index::zero());
    Expr::binary(BinOp::Ne, value, Expr::Const(Scalar::I32(0)))
}
