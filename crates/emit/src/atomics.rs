//! Atomic steps, and chains of iterations that wait for each other.
//!
//! On one thread an atomic step is what it does, and what is awaited is there: the iterations come in order. For threads
//! they are GNU's built-ins for atomic access, which gcc and clang have, since C11's need cells of an atomic type and
//! these are cells of plain arrays.

use crate::Target;
use crate::analysis;
use crate::device::Side;
use crate::helpers::{Helper, is_one_instruction};
use crate::index::integer;
use crate::outputs::Outputs;
use crate::procedure::{Emitter, Role};
use crate::tree::{CBinary, CExpr, CStmt, CType, CUnary};
use almach_base::{Diagnostic, Name};
use almach_imp::{AtomicStep, Expr, Index, Order, Stmt};
use almach_value::ScalarType;

type Emit<T> = Result<T, Box<Diagnostic>>;

/// The `chain` loop around, where its iterations can fail.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The C name of its index.
    index: String,
    /// The variable with the least iteration that has failed.
    first: String,
}

impl Emitter<'_> {
    pub fn atomic(
        &mut self,
        step: &AtomicStep,
        order: Order,
        buffer: &Name,
        index: &Index,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let threads = self.unit.target == Target::OpenMp;
        match threads || self.side != Side::Host {
            false => self.plain_step(step, buffer, index, out),
            true => self.atomic_step(step, order, buffer, index, out),
        }
    }

    fn plain_step(
        &mut self,
        step: &AtomicStep,
        buffer: &Name,
        index: &Index,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let cell = self.cell(buffer, index)?;
        if let Some((name, ty)) = step.bound() {
            self.bound(name, ty, cell.clone(), out);
        }
        let after = match step {
            AtomicStep::Load { .. } => return Ok(()),
            AtomicStep::Store(value) | AtomicStep::Exchange { value, .. } => self.expr(value)?,
            AtomicStep::Update(op, value) => {
                let before = Expr::Load(buffer.clone(), index.clone());
                self.expr(&Expr::binary(*op, before, value.clone()))?
            }
        };
        out.push(CStmt::Assign(cell, after));
        Ok(())
    }

    fn atomic_step(
        &mut self,
        step: &AtomicStep,
        order: Order,
        buffer: &Name,
        index: &Index,
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let cell = CExpr::unary(CUnary::Address, self.cell(buffer, index)?);
        let ty = self.known(buffer)?.ty;
        let mut arguments = vec![cell];
        if let Some(value) = step.value() {
            arguments.push(self.expr(value)?);
        }
        let helper = match step {
            AtomicStep::Load { .. } => Helper::AtomicLoad(order, ty),
            AtomicStep::Store(_) => Helper::AtomicStore(order, ty),
            AtomicStep::Exchange { .. } => Helper::AtomicExchange(order, ty),
            AtomicStep::Update(op, _) => {
                // Without an instruction for it, the update is a loop around the operator.
                if !is_one_instruction(*op, ty) || self.side != Side::Host {
                    self.helpers.need(Helper::Binary(*op, ty));
                }
                Helper::AtomicUpdate(*op, order, ty)
            }
        };
        let mut function = self.helpers.need(helper);
        if self.locals.contains(buffer) {
            self.helpers.local_atomics = true;
            function = local_form(&function);
        }
        let call = CExpr::call(function, arguments);
        match step.bound() {
            Some((name, ty)) => self.bound(name, ty, call, out),
            None => out.push(CStmt::Do(call)),
        }
        Ok(())
    }

    fn bound(&mut self, name: &Name, ty: ScalarType, value: CExpr, out: &mut Vec<CStmt>) {
        let c_name = self.bind(name, ty, Role::Constant);
        out.push(CStmt::Declare {
            ty: CType::Scalar(ty).constant(),
            name: c_name.clone(),
            value: Some(value),
        });
        self.discard_unread(name, &c_name, out);
    }

    pub fn wait(&mut self, buffer: &Name, index: &Index, value: &Expr, out: &mut Vec<CStmt>) -> Emit<()> {
        if self.unit.target != Target::OpenMp {
            return Ok(());
        }
        let cell = CExpr::unary(CUnary::Address, self.cell(buffer, index)?);
        let ty = self.known(buffer)?.ty;
        let value = self.expr(value)?;
        self.helpers.need(Helper::Pause);
        let Some(Chain { index, first }) = self.chain.clone() else {
            let wait = self.helpers.need(Helper::Await(ty));
            out.push(CStmt::Do(CExpr::call(wait, [cell, value])));
            return Ok(());
        };
        let wait = self.helpers.need(Helper::AwaitOrFailure(ty));
        let first = CExpr::unary(CUnary::Address, CExpr::name(first));
        let arrives = CExpr::call(wait, [cell, value, first, CExpr::name(index)]);
        let region = self.region()?;
        region.jumps = true;
        let jump = CStmt::Goto(region.label.clone());
        out.push(CStmt::when(CExpr::unary(CUnary::Not, arrives), vec![jump]));
        Ok(())
    }

    /// A loop whose iterations wait for earlier ones, on threads. Each thread takes the next iteration that none has
    /// taken: when an iteration waits for an earlier one, that one has been taken, and the least one that is not done
    /// waits for nothing. So all of them come to an end.
    pub fn chain_loop(
        &mut self,
        index: String,
        count: CExpr,
        body: &[Stmt],
        out: &mut Vec<CStmt>,
    ) -> Emit<()> {
        let team = self.team()?;
        let next = self.scope.fresh(&format!("next_{index}"));
        let only_one = crate::print::expression(&CExpr::binary(CBinary::Greater, count.clone(), integer(1)));
        let pragma = CStmt::Pragma(format!("omp parallel {team} if({only_one})"));
        out.push(CStmt::Declare {
            ty: CType::Scalar(ScalarType::I64),
            name: next.clone(),
            value: Some(integer(0)),
        });
        let taken = |body: Vec<CStmt>, take: String| CStmt::Take {
            index: index.clone(),
            take: CExpr::call(take, [CExpr::unary(CUnary::Address, CExpr::name(next.clone()))]),
            count: count.clone(),
            body,
        };
        let take = self.helpers.need(Helper::TakeNext);
        if !analysis::fails(body, self.uses, &self.unit.traits) {
            let outer = (self.chain.take(), self.outputs.replace(Outputs::of(&count)));
            let mut body = self.own_region(None, body)?.0;
            if self.outputs.take().is_some_and(|outputs| outputs.are_copied) {
                let settle = self.helpers.need(Helper::CopiedOut);
                body.push(CStmt::Do(CExpr::call(settle, [])));
            }
            (self.chain, self.outputs) = outer;
            match self.counts_idle() {
                true => self.by_team(pragma, vec![taken(body, take)], out),
                false => out.extend([pragma, taken(body, take)]),
            }
            return Ok(());
        }
        let first = self.scope.fresh(&format!("first_{index}"));
        let body = self.chained_iteration(&index, &first, body)?;
        out.push(CStmt::Declare {
            ty: CType::Scalar(ScalarType::I64),
            name: first.clone(),
            value: Some(CExpr::name("INT64_MAX")),
        });
        let inside = vec![self.own_context()?, taken(body, take)];
        self.by_team(pragma, inside, out);
        self.leave_if_failed(first, out)
    }

    /// An iteration that can fail. A thread that fails says in which iteration, so that later ones do not wait for it:
    /// whatever they would do comes after the failure. Earlier ones go on, since they may fail as well; so the failure
    /// that counts in the end is that of the least iteration that fails, on every run.
    fn chained_iteration(&mut self, index: &str, first: &str, body: &[Stmt]) -> Emit<Vec<CStmt>> {
        let context = self.context()?;
        let label = format!("failed_{index}");
        let chain = Chain {
            index: index.to_string(),
            first: first.to_string(),
        };
        let outer = self.chain.replace(chain);
        let (inner, region) = self.own_region(Some(label.clone()), body)?;
        self.chain = outer;
        let load = self
            .helpers
            .need(Helper::AtomicLoad(Order::Relaxed, ScalarType::I64));
        let store = self
            .helpers
            .need(Helper::AtomicStore(Order::Relaxed, ScalarType::I64));
        let address = || CExpr::unary(CUnary::Address, CExpr::name(first));
        let is_late = CExpr::binary(CBinary::Less, CExpr::call(load, [address()]), CExpr::name(index));
        let keep = CStmt::when(
            CExpr::binary(CBinary::Less, CExpr::name(index), CExpr::name(first)),
            vec![
                CStmt::Do(CExpr::call(store, [address(), CExpr::name(index)])),
                CStmt::Assign(context.arrow("failure"), CExpr::name("own").dot("failure")),
            ],
        );
        let mut out = vec![CStmt::when(is_late, vec![CStmt::Break])];
        out.extend(inner);
        out.push(CStmt::Continue);
        out.push(CStmt::Label(label));
        out.extend(self.releases(&region)?);
        out.push(CStmt::when(
            crate::loops::own_has_failed(),
            vec![CStmt::Pragma("omp critical".into()), keep],
        ));
        out.push(CStmt::Break);
        Ok(out)
    }
}

/// The name of an atomic step on local memory.
pub fn local_form(name: &str) -> String {
    format!("local_{name}")
}
