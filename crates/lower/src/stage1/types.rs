//! What bodies and calls give, as Dpia's data types.

use super::layout::{Layout, TAG};
use super::{Dest, Translator, name_of};
use crate::error::{Lowering, bug};
use almach_base::Name;
use almach_core::{Atom, Param, ResultType, Type, Var};
use almach_dpia::{Data, Nat, Phrase, Substitution};
use almach_value::ScalarType;

/// What a body or call gives: values, or sizes and values of them.
#[derive(Clone)]
pub(crate) struct ResultData {
    /// Sizes of the context, then those of the pools of all values.
    pub(crate) sizes: Vec<Name>,
    pub(crate) layouts: Vec<Layout>,
}

impl ResultData {
    /// The regular part of every value.
    pub(crate) fn values(&self) -> Vec<Data> {
        self.layouts.iter().map(Layout::data).collect()
    }

    /// How many sizes are the pools'.
    pub(crate) fn pool_count(&self) -> usize {
        self.layouts.iter().map(|layout| layout.pools().len()).sum()
    }

    /// Every value, then every pool.
    pub(crate) fn parts(&self) -> Vec<Data> {
        let mut parts = self.values();
        let pools = self.layouts.iter().flat_map(Layout::pools);
        let first = self.sizes.len() - self.pool_count();
        for (size, element) in self.sizes.iter().skip(first).zip(pools) {
            parts.push(Data::array(Nat::var(size.clone()), element.data()));
        }
        parts
    }

    /// The type of the cell that holds all of it; none where there are no sizes.
    pub(crate) fn cell(&self) -> Option<Data> {
        (!self.sizes.is_empty()).then(|| self.cell_data())
    }

    /// `some n. δ`.
    pub(crate) fn cell_data(&self) -> Data {
        Data::Some(self.sizes.clone(), Box::new(together(&self.parts())))
    }

    /// The acceptors that take it.
    pub(crate) fn acceptors(&self) -> Vec<Data> {
        match self.cell() {
            Some(cell) => vec![cell],
            // A procedure without results still needs an acceptor to be passive.
            None if self.layouts.is_empty() => vec![Data::Tuple(vec![])],
            None => self.values(),
        }
    }

    pub(crate) fn dest(&self, mut acceptors: Vec<Phrase>) -> Dest {
        match self.cell() {
            Some(_) if acceptors.len() == 1 => Dest::Cell {
                acceptor: acceptors.swap_remove(0),
                holds: self.clone(),
            },
            _ => Dest::Each(acceptors),
        }
    }

    /// The same without the pools: bounds are but numbers.
    pub(crate) fn regular(&self) -> ResultData {
        let kept = self.sizes.len() - self.pool_count();
        ResultData {
            sizes: self.sizes.iter().take(kept).cloned().collect(),
            layouts: self.values().into_iter().map(Layout::Plain).collect(),
        }
    }
}

/// One value alone, several as a tuple.
pub(crate) fn together(values: &[Data]) -> Data {
    match values {
        [one] => one.clone(),
        _ => Data::Tuple(values.to_vec()),
    }
}

/// What a cell holds, over other names for its sizes.
pub(crate) fn held(cell: &Data, sizes: &[Name]) -> Data {
    match cell {
        Data::Some(bound, body) => {
            let mut renaming = Substitution::default();
            for (from, to) in bound.iter().zip(sizes) {
                renaming.nats.insert(from.clone(), Nat::var(to.clone()));
            }
            body.subst(&renaming)
        }
        other => other.clone(),
    }
}

impl Translator<'_> {
    /// Values of these types, over sizes that a context binds.
    pub(crate) fn results<'t>(
        &mut self,
        context: impl IntoIterator<Item = &'t Var>,
        types: impl IntoIterator<Item = &'t Type>,
    ) -> Lowering<ResultData> {
        let mut result = ResultData {
            sizes: context.into_iter().map(name_of).collect(),
            layouts: types
                .into_iter()
                .map(|ty| self.layout(ty))
                .collect::<Lowering<_>>()?,
        };
        for _ in 0..result.pool_count() {
            result.sizes.push(self.fresh("size"));
        }
        Ok(result)
    }

    pub(crate) fn result_data(&mut self, result: &ResultType) -> Lowering<ResultData> {
        self.results(&result.context, &result.types)
    }

    pub(crate) fn params_data(&mut self, context: &[Var], params: &[Param]) -> Lowering<ResultData> {
        self.results(context, params.iter().map(|param| &param.ty))
    }

    pub(crate) fn type_of(&self, atom: &Atom) -> Lowering<Type> {
        match self.env.atom_type(atom) {
            Ok(ty) => Ok(ty),
            Err(error) => bug(error.message, self.span),
        }
    }

    pub(crate) fn data_of(&self, atom: &Atom) -> Lowering<Data> {
        self.data(&self.type_of(atom)?)
    }

    /// Size and element of an array: their regular parts.
    pub(crate) fn array_of(&self, atom: &Atom) -> Lowering<(Nat, Data)> {
        match self.data_of(atom)? {
            Data::Array(size, element) => Ok((size, *element)),
            other => bug(format!("expected an array, found `{other}`"), self.span),
        }
    }

    pub(crate) fn scalar_of(&self, atom: &Atom) -> Lowering<ScalarType> {
        match self.data_of(atom)? {
            Data::Scalar(scalar) => Ok(scalar),
            other => bug(format!("expected a scalar, found `{other}`"), self.span),
        }
    }
}

/// The data of a tag.
pub(crate) fn tag() -> Data {
    Data::Scalar(TAG)
}
