//! Loops, branches and checks.

use crate::error::Lowering;
use crate::stage3::acceptors::Only;
use crate::stage3::expressions::index_expr;
use crate::stage3::{Binding, Generator, Parallel, Step};
use almach_base::Name;
use almach_dpia::{Instance, Nat, Phrase, Prim, build};
use almach_imp::{Expr, Index, LoopMode, Site, Stmt, Touched, Width};
use almach_nat::Range;
use almach_prim::Level;
use almach_value::{BinOp, Scalar, ScalarType};
use std::rc::Rc;

impl Generator<'_> {
    /// A loop around what `body` makes.
    pub(crate) fn counted(
        &mut self,
        index: Name,
        count: Index,
        mode: LoopMode,
        body: impl FnOnce(&mut Self) -> Lowering<()>,
    ) -> Lowering<()> {
        let count = self.simplify(&count);
        if count.as_constant().is_some_and(|count| count <= 0) {
            return Ok(());
        }
        self.types.insert(index.clone(), ScalarType::I64);
        let ((), stmts) = self.capture(|this| {
            this.ranges.set(index.clone(), Range::below(&count));
            body(this)
        })?;
        // What it copies is there already.
        if stmts.iter().all(|stmt| matches!(stmt, Stmt::At(_))) {
            return Ok(());
        }
        self.emit(Stmt::For {
            index,
            width: Width::W64,
            count,
            mode,
            body: stmts,
        });
        Ok(())
    }

    pub(super) fn for_loop(&mut self, instance: &Instance, body: &Phrase) -> Lowering<()> {
        let (Phrase::Lam(index, _, inner), [size]) = (body.unmarked(), instance.nats.as_slice()) else {
            return self.bug("a loop without a body");
        };
        let count = self.size(size);
        self.bindings
            .insert(index.clone(), Binding::Scalar(Expr::Var(index.clone())));
        if self.keeps_elements
            && let Some(at) = self.kept_of_loop(index, &count, inner)?
        {
            let only = Only { at, within: None };
            let here = Binding::Scalar(index_expr(only.at.clone()));
            self.bindings.insert(index.clone(), here);
            return self.once(&only, &count, |this| this.command(inner));
        }
        self.counted(index.clone(), count, LoopMode::Seq, |this| this.command(inner))
    }

    /// The iteration of a loop besides which nothing is kept (Lin, eq. 5.48).
    fn kept_of_loop(&mut self, index: &Name, count: &Index, body: &Phrase) -> Lowering<Option<Index>> {
        self.types.insert(index.clone(), ScalarType::I64);
        let ((), stmts) = self.capture(|this| {
            this.ranges.set(index.clone(), Range::below(count));
            this.command(body)
        })?;
        Ok(kept_iteration(index, &stmts))
    }

    /// The place of each iteration is its cell of the acceptor.
    pub(super) fn parfor(
        &mut self,
        level: Level,
        instance: &Instance,
        acceptor: &Phrase,
        body: &Phrase,
    ) -> Lowering<()> {
        let (Phrase::Lam(index, _, inner), [size]) = (body.unmarked(), instance.nats.as_slice()) else {
            return self.bug("a loop without a body");
        };
        let Phrase::Lam(out, _, inner) = inner.unmarked() else {
            return self.bug("a parallel loop without a place for its results");
        };
        let count = self.size(size);
        let here = vec![Step::At(Index::var(index.clone()))];
        if let Some(only) = self.only_iteration(acceptor, here.clone(), index)? {
            let at = Binding::Scalar(index_expr(only.at.clone()));
            self.bindings.insert(index.clone(), at);
            let place = Binding::Alias(Rc::new(acceptor.clone()), vec![Step::At(only.at.clone())]);
            self.bindings.insert(out.clone(), place);
            return self.once(&only, &count, |this| this.command(inner));
        }
        self.bindings
            .insert(index.clone(), Binding::Scalar(Expr::Var(index.clone())));
        let place = Binding::Alias(Rc::new(acceptor.clone()), here);
        self.bindings.insert(out.clone(), place);
        self.at_level(level, index.clone(), count, |this| this.command(inner))
    }

    /// The place of each iteration is the part of the acceptor that its bounds cut out.
    pub(super) fn rows_in_places(
        &mut self,
        level: Level,
        instance: &Instance,
        bounds: &Phrase,
        acceptor: &Phrase,
        body: &Phrase,
    ) -> Lowering<()> {
        let (Phrase::Lam(index, _, inner), [size, all], [element]) = (
            body.unmarked(),
            instance.nats.as_slice(),
            instance.datas.as_slice(),
        ) else {
            return self.bug("a loop over rows without a body");
        };
        let Phrase::TypeLam(length, _, inner) = inner.unmarked() else {
            return self.bug("a loop over rows without a length");
        };
        let Phrase::Lam(out, _, inner) = inner.unmarked() else {
            return self.bug("a loop over rows without a place for them");
        };
        let count = self.size(size);
        self.bindings
            .insert(index.clone(), Binding::Scalar(Expr::Var(index.clone())));
        self.at_level(level, index.clone(), count, |this| {
            let here = Step::At(Index::var(index.clone()));
            let begin = this.read(bounds, vec![here.clone(), Step::Field(0)])?;
            let begin = this.natural("begin", begin);
            let end = this.read(bounds, vec![here, Step::Field(1)])?;
            let end = this.natural("end", end);
            let many = this.natural("length", index_expr(&end - &begin));
            this.nats.insert(length.clone(), many);
            let room = Phrase::prim(
                Prim::SliceAcc,
                vec![all.clone(), Nat::var(length.clone())],
                vec![element.clone()],
            )
            .apply([
                build::nat_value(begin),
                build::literal(Scalar::I64(1)),
                acceptor.clone(),
            ]);
            this.bindings
                .insert(out.clone(), Binding::Alias(Rc::new(room), Vec::new()));
            this.command(inner)
        })
    }

    /// A loop at a level.
    pub(crate) fn at_level(
        &mut self,
        level: Level,
        index: Name,
        count: Index,
        body: impl FnOnce(&mut Self) -> Lowering<()>,
    ) -> Lowering<()> {
        let mode = match (level, self.parallel) {
            (Level::Seq, _) => LoopMode::Seq,
            (Level::Vec, _) => LoopMode::Simd,
            (Level::Par | Level::Grid(_) | Level::Group(_), Parallel::Outside) => LoopMode::Par,
            (Level::Local(_), Parallel::Group) | (Level::Grid(_), Parallel::Grid) => LoopMode::Items,
            (Level::Par | Level::Grid(_) | Level::Group(_) | Level::Local(_), _) => LoopMode::Seq,
        };
        let outer = self.parallel;
        self.parallel = match (mode, level) {
            (LoopMode::Seq, _) => outer,
            (LoopMode::Par, Level::Group(_)) => Parallel::Group,
            (LoopMode::Par | LoopMode::Items, Level::Grid(1..)) => Parallel::Grid,
            _ => Parallel::Inside,
        };
        let result = self.counted(index, count, mode, body);
        self.parallel = outer;
        result
    }

    pub(super) fn branch(&mut self, condition: &Phrase, then: &Phrase, otherwise: &Phrase) -> Lowering<()> {
        let condition = self.read(condition, Vec::new())?;
        match condition {
            Expr::Const(Scalar::Bool(true)) => return self.command(then),
            Expr::Const(Scalar::Bool(false)) => return self.command(otherwise),
            _ => {}
        }
        let ((), then) = self.capture(|this| this.command(then))?;
        let ((), otherwise) = self.capture(|this| this.command(otherwise))?;
        self.emit(Stmt::If {
            condition,
            then,
            otherwise,
        });
        Ok(())
    }

    pub(super) fn while_loop(&mut self, condition: &Phrase, body: &Phrase) -> Lowering<()> {
        let condition = self.read(condition, Vec::new())?;
        let ((), body) = self.capture(|this| this.command(body))?;
        self.emit(Stmt::While { condition, body });
        Ok(())
    }

    pub(super) fn check(
        &mut self,
        site: &almach_dpia::Site,
        condition: &Phrase,
        values: &[&Phrase],
    ) -> Lowering<()> {
        let condition = self.read(condition, Vec::new())?;
        if condition == Expr::Const(Scalar::Bool(true)) {
            return Ok(());
        }
        let arguments = values
            .iter()
            .map(|value| self.read(value, Vec::new()))
            .collect::<Lowering<Vec<_>>>()?;
        self.learn(&condition);
        let never = condition == Expr::Const(Scalar::Bool(false));
        let site = Site {
            code: site.code,
            span: site.span,
            text: site.text.clone(),
        };
        self.emit(Stmt::Check {
            condition,
            site,
            arguments,
        });
        self.unreachable |= never;
        Ok(())
    }

    /// What holds once a check has passed.
    fn learn(&mut self, condition: &Expr) {
        let Expr::Binary(op, left, right) = condition else {
            return;
        };
        match (op, &**left, &**right) {
            (BinOp::And, left, right) => {
                self.learn(left);
                self.learn(right);
            }
            (BinOp::Ge, Expr::Var(name), Expr::Const(Scalar::I64(0))) if self.is_constant_i64(name) => {
                let upper = self.ranges.range(name).upper.clone();
                self.ranges.set(
                    name.clone(),
                    Range {
                        lower: Some(Index::zero()),
                        upper,
                    },
                );
            }
            (BinOp::Lt, Expr::Var(name), bound) if self.is_constant_i64(name) => {
                if let Some(bound) = bound.as_index() {
                    let lower = self.ranges.range(name).lower.clone();
                    let upper = Some(bound - Index::one());
                    self.ranges.set(name.clone(), Range { lower, upper });
                }
            }
            (BinOp::Ge, Expr::Index(index), Expr::Const(Scalar::I64(0))) => {
                self.ranges.assume_nonneg(index.clone());
            }
            _ => {}
        }
    }

    fn is_constant_i64(&self, name: &Name) -> bool {
        self.types.get(name) == Some(&ScalarType::I64) && !self.assigned.contains(name)
    }
}

/// The one value of an index for which statements do more than to compute scalars of their own.
fn kept_iteration(index: &Name, stmts: &[Stmt]) -> Option<Index> {
    let touched = Touched::of(stmts);
    let mut kept: Option<Index> = None;
    for stmt in stmts {
        match stmt {
            Stmt::At(_) | Stmt::Let { .. } | Stmt::Var { .. } | Stmt::Check { .. } => {}
            Stmt::Assign { name, .. } if touched.bound.contains_key(name) => {}
            Stmt::If {
                condition: Expr::Binary(BinOp::Eq, left, right),
                otherwise,
                ..
            } if otherwise.is_empty() && left.as_index()?.as_var() == Some(index) => {
                let at = right.as_index()?;
                let inside = at
                    .free_vars()
                    .any(|name| name == index || touched.bound.contains_key(name));
                if inside || kept.as_ref().is_some_and(|other| *other != at) {
                    return None;
                }
                kept = Some(at);
            }
            _ => return None,
        }
    }
    kept
}
