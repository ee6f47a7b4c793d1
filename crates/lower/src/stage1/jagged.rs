//! Operations on values with rows. Those that only rearrange rows are what they are for regular arrays, on the bounds; those
//! whose function gives rows as long as the ones it is given write them where these are ([`places`](mod@places)); others run in order and
//! put rows one behind the other (flattening, which makes them parallel, is a rewrite of Core).

mod folds;
mod indexed;
mod maps;
mod places;
mod views;

use super::Translator;
use super::destinations::Plan;
use super::layout::{Held, Layout};
use super::operations::arguments;
use crate::error::{Lowering, bug};
use almach_core::{Atom, Body, Exp, Op, Pattern, Var};
use almach_dpia::{Data, ScanKind};
use almach_prim::{Effect, Prim as Operation};
use almach_value::ScalarType;

const I64: Data = Data::Scalar(ScalarType::I64);
const BOOL: Data = Data::Scalar(ScalarType::Bool);

impl Translator<'_> {
    /// Binds an operation on values with rows; false where there are none.
    pub(crate) fn bind_with_rows(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<bool> {
        match op.prim {
            Operation::Flatten => self.flatten(op, exp, pattern)?,
            Operation::Segments => self.segments(op, exp, pattern)?,
            Operation::Unflatten => self.unflatten(op, exp, pattern)?,
            Operation::Reduce | Operation::ReduceComm | Operation::ReduceSeq
                if self.state_layout(op)?.has_rows() =>
            {
                self.reduce_rows(op, exp, pattern)?;
            }
            Operation::ScanRows => self.scan_all_rows(op, ScanKind::Inclusive, exp, pattern)?,
            Operation::ScanRowsExclusive => self.scan_all_rows(op, ScanKind::Exclusive, exp, pattern)?,
            _ if !self.binds_rows(pattern)? => return Ok(false),
            Operation::Jagged => {
                let [array] = arguments(op, self)?;
                let array = self.held(&array)?;
                let value = self.converted_for(&array, pattern)?;
                self.bind_one_held(pattern, exp, value)?;
            }
            Operation::Map => self.map_rows(op, exp, pattern)?,
            Operation::Scan | Operation::ScanExclusive => self.scan_rows(op, exp, pattern)?,
            Operation::Filter | Operation::Partition | Operation::Gather | Operation::Permute => {
                self.rearranged_rows(op, exp, pattern)?;
            }
            Operation::Materialise => {
                let [value] = arguments(op, self)?;
                let value = self.held(&value)?;
                let copy = self.copied(&value)?.read();
                self.bind_one_held(pattern, exp, copy)?;
            }
            Operation::Scatter => self.scatter_rows(op, exp, pattern)?,
            Operation::ReduceByIndex => self.reduce_rows_by_index(op, exp, pattern)?,
            Operation::ToGlobal | Operation::ToLocal | Operation::ToPrivate => return Ok(false),
            Operation::Nodes
            | Operation::RootOf
            | Operation::FromNodes
            | Operation::Reach
            | Operation::Constructed => return Ok(false),
            _ => {
                self.view_of_rows(op, exp, pattern)?;
                if let (Some(Effect::Eager | Effect::Destination), [bound]) =
                    (op.annotation.effect, pattern.values.as_slice())
                {
                    self.store_rows(&bound.var)?;
                }
            }
        }
        Ok(true)
    }

    /// A view of rows that is written as eager is copied, with its rows.
    fn store_rows(&mut self, var: &Var) -> Lowering<()> {
        let value = self.held(&Atom::Var(var.clone()))?;
        let copy = self.copied(&value)?.read();
        self.values.insert(var.clone(), copy.data);
        self.carry(var, copy.pools, copy.packed);
        Ok(())
    }

    /// A value at the layout of what a pattern binds.
    fn converted_for(&mut self, held: &Held, pattern: &Pattern) -> Lowering<Held> {
        match pattern.values.as_slice() {
            [bound] => {
                let to = self.layout(&bound.ty)?;
                self.convert(held, &to)
            }
            _ => bug("an operation that gives several values", self.span),
        }
    }

    /// The one element of each result of a `map`.
    fn element_layouts(&self, pattern: &Pattern) -> Lowering<Vec<Layout>> {
        let mut layouts = Vec::new();
        for value in &pattern.values {
            match self.layout(&value.ty)?.elements() {
                Some((_, element)) => layouts.push(element),
                None => return bug("a result that is no array", self.span),
            }
        }
        Ok(layouts)
    }

    /// Runs the statements of a body; what it gives is for the rest of the block.
    fn body_values(&mut self, body: &Body) -> Lowering<Vec<Held>> {
        self.stmts(&body.stmts, Plan::default())?;
        Ok(self.body_results(body)?.1)
    }
}
