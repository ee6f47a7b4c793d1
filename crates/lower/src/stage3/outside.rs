//! C functions and `trace`: values are passed as their slots.

use super::Generator;
use super::calls::Call;
use super::expressions::index_expr;
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Data, Instance, Phrase, PhraseType, instance_type};
use almach_imp::{Argument, Index, Stmt};
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
        let arguments = self.pass_slots(data, value, &mut call)?;
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
        for (data, value) in types.iter().zip(values) {
            slots.extend(self.pass_slots(data, value, &mut call)?);
        }
        self.pass_out(&result, acceptor, &mut call)?;
        let mut passed = std::mem::take(&mut call.arguments).into_iter();
        match &result {
            Data::Some(names, body) => {
                let sizes: Vec<Argument> = passed.by_ref().take(names.len()).collect();
                interleave(body, &mut sizes.into_iter(), &mut passed, &mut slots);
            }
            plain => interleave(plain, &mut std::iter::empty(), &mut passed, &mut slots),
        }
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

    fn pass_slots(&mut self, data: &Data, value: &Phrase, call: &mut Call) -> Lowering<Vec<Argument>> {
        self.pass_in(data, value, call)?;
        let leaves = std::mem::take(&mut call.arguments);
        let mut sizes = Vec::new();
        self.sizes_passed(data, &mut sizes);
        let mut slots = Vec::new();
        interleave(data, &mut sizes.into_iter(), &mut leaves.into_iter(), &mut slots);
        Ok(slots)
    }

    fn sizes_passed(&self, data: &Data, sizes: &mut Vec<Argument>) {
        match data {
            Data::Array(size, element) => {
                let size: Index = self.simplify(size);
                sizes.push(Argument::Value(index_expr(size)));
                self.sizes_passed(element, sizes);
            }
            Data::Tuple(parts) => parts.iter().for_each(|part| self.sizes_passed(part, sizes)),
            Data::Scalar(_) | Data::Index(_) | Data::Vector(..) | Data::Some(..) | Data::Var(_) => {}
        }
    }
}

/// Sizes and leaves in the order of slots: every array's size before what it holds.
fn interleave(
    data: &Data,
    sizes: &mut dyn Iterator<Item = Argument>,
    leaves: &mut dyn Iterator<Item = Argument>,
    slots: &mut Vec<Argument>,
) {
    fn walk(
        data: &Data,
        in_array: bool,
        sizes: &mut dyn Iterator<Item = Argument>,
        leaves: &mut dyn Iterator<Item = Argument>,
        slots: &mut Vec<Argument>,
    ) {
        match data {
            Data::Vector(width, _) if !in_array => slots.extend(leaves.take(*width as usize)),
            Data::Scalar(_) | Data::Index(_) | Data::Vector(..) => slots.extend(leaves.next()),
            Data::Tuple(parts) => parts
                .iter()
                .for_each(|part| walk(part, in_array, sizes, leaves, slots)),
            Data::Array(_, element) => {
                slots.extend(sizes.next());
                walk(element, true, sizes, leaves, slots);
            }
            Data::Some(..) | Data::Var(_) => {}
        }
    }
    walk(data, false, sizes, leaves, slots);
}
