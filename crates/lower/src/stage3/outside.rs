//! C functions and `trace`: values are passed as their slots.

use super::Generator;
use super::calls::Call;
use super::expressions::index_expr;
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Data, Instance, Phrase, PhraseType, instance_type};
use almach_imp::interface::{Shape, Slot};
use almach_imp::{Argument, Stmt};
use almach_value::{ForeignType, ValueType};

impl Generator<'_> {
    pub(crate) fn trace(
        &mut self,
        label: &Name,
        ty: &ValueType,
        instance: &Instance,
        value: &Phrase,
    ) -> Lowering<()> {
        let mut call = Call::default();
        let (types, _) = self.parameter_types(instance)?;
        let [data] = types.as_slice() else {
            return self.bug("a trace of several values");
        };
        let mut sizes = self.sizes_passed(instance).into_iter();
        let arguments = self.pass_slots((ty, data), value, &mut sizes, &mut call)?;
        self.emit(Stmt::Trace {
            label: label.clone(),
            ty: Box::new(ty.clone()),
            arguments,
        });
        self.end_call(call)
    }

    pub(crate) fn foreign(
        &mut self,
        function: &ForeignType,
        instance: &Instance,
        arguments: &[&Phrase],
    ) -> Lowering<()> {
        let mut call = Call::default();
        let (types, result) = self.parameter_types(instance)?;
        let (Some((acceptor, values)), Some(result)) = (arguments.split_last(), result) else {
            return self.bug("a foreign function without a place for its result");
        };
        let mut slots = Vec::new();
        let mut sizes = self.sizes_passed(instance).into_iter();
        for ((ty, data), value) in function.params.iter().zip(&types).zip(values) {
            slots.extend(self.pass_slots((ty, data), value, &mut sizes, &mut call)?);
        }
        self.pass_out(&result, acceptor, &mut call)?;
        let mut passed = std::mem::take(&mut call.arguments).into_iter();
        let sizes: Vec<Argument> = match &result {
            Data::Some(names, _) => passed.by_ref().take(names.len()).collect(),
            _ => Vec::new(),
        };
        let order = self.slots_of(&function.result)?;
        interleave(&order, &mut sizes.into_iter(), &mut passed, &mut slots);
        self.emit(Stmt::Foreign {
            function: Box::new(function.clone()),
            arguments: slots,
            span: self.span,
        });
        self.end_call(call)
    }

    /// The types of the expressions that a primitive takes, and of its acceptor.
    fn parameter_types(&self, instance: &Instance) -> Lowering<(Vec<Data>, Option<Data>)> {
        let (mut types, mut acceptor) = (Vec::new(), None);
        let mut ty = match instance_type(instance) {
            Ok(ty) => ty,
            Err(error) => return self.bug(error),
        };
        while let PhraseType::Fun(_, from, to) = ty {
            match *from {
                PhraseType::Exp(data) => types.push(self.index_data(&data)?),
                PhraseType::Acc(data) => acceptor = Some(self.index_data(&data)?),
                other => return self.bug(format!("a primitive takes a `{other}`")),
            }
            ty = *to;
        }
        Ok((types, acceptor))
    }

    /// The slots of one value; `sizes` are what is left of those of all values.
    fn pass_slots(
        &mut self,
        (ty, data): (&ValueType, &Data),
        value: &Phrase,
        sizes: &mut dyn Iterator<Item = Argument>,
        call: &mut Call,
    ) -> Lowering<Vec<Argument>> {
        self.pass_in(data, value, call)?;
        let leaves = std::mem::take(&mut call.arguments);
        let mut slots = Vec::new();
        interleave(&self.slots_of(ty)?, sizes, &mut leaves.into_iter(), &mut slots);
        Ok(slots)
    }

    /// The sizes that a primitive has been given, in the order of the slots.
    fn sizes_passed(&self, instance: &Instance) -> Vec<Argument> {
        let sizes = instance.nats.iter();
        let sizes = sizes.map(|size| Argument::Value(index_expr(self.simplify(&self.size(size)))));
        sizes.collect()
    }

    fn slots_of(&self, ty: &ValueType) -> Lowering<Vec<Slot>> {
        match Shape::of(ty) {
            Some(shape) => Ok(shape.slots()),
            None => self.bug(format!("a value of type `{ty}` has no slots")),
        }
    }
}

/// Sizes and leaves in the order of slots.
fn interleave(
    order: &[Slot],
    sizes: &mut dyn Iterator<Item = Argument>,
    leaves: &mut dyn Iterator<Item = Argument>,
    slots: &mut Vec<Argument>,
) {
    for slot in order {
        slots.extend(match slot {
            Slot::Size => sizes.next(),
            Slot::Scalar(_) | Slot::Buffer(_) => leaves.next(),
        });
    }
}
