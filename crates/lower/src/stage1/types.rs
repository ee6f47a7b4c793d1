//! Core types as Dpia's data types.

use super::{Dest, Translator, name_of};
use crate::error::{Lowering, bug, refuse};
use almach_base::Name;
use almach_core::{Atom, DataDef, DataId, Dim, Recursive, ResultType, Type};
use almach_dpia::{Data, Nat, Phrase, Substitution};
use almach_value::ScalarType;

/// What a body or call gives: values, or sizes and values of them.
pub(crate) struct ResultData {
    pub(crate) sizes: Vec<Name>,
    pub(crate) values: Vec<Data>,
}

impl ResultData {
    /// The type of the cell that holds all of it; none where there are no sizes.
    pub(crate) fn cell(&self) -> Option<Data> {
        (!self.sizes.is_empty()).then(|| Data::Some(self.sizes.clone(), Box::new(together(&self.values))))
    }

    /// The acceptors that take it.
    pub(crate) fn acceptors(&self) -> Vec<Data> {
        match self.cell() {
            Some(cell) => vec![cell],
            // A procedure without results still needs an acceptor to be passive.
            None if self.values.is_empty() => vec![Data::Tuple(vec![])],
            None => self.values.clone(),
        }
    }

    pub(crate) fn dest(&self, mut acceptors: Vec<Phrase>) -> Dest {
        match self.cell() {
            Some(data) if acceptors.len() == 1 => Dest::Cell {
                acceptor: acceptors.swap_remove(0),
                data,
            },
            _ => Dest::Each(acceptors),
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
    pub(crate) fn data(&self, ty: &Type) -> Lowering<Data> {
        Ok(match ty {
            Type::Scalar(scalar) => Data::Scalar(*scalar),
            Type::Vector(width, scalar) => Data::Vector(*width, *scalar),
            Type::Tuple(parts) => Data::Tuple(
                parts
                    .iter()
                    .map(|part| self.data(part))
                    .collect::<Lowering<_>>()?,
            ),
            Type::Array(Dim::Size(size), element) => Data::array(self.nat(size), self.data(element)?),
            Type::Array(Dim::Jagged, _) => return refuse("a jagged array", self.span),
            Type::Data(id) => self.sum(*id)?,
            Type::Node(_) => return refuse("recursive data", self.span),
        })
    }

    /// A sum is its tag and the fields of every constructor.
    fn sum(&self, id: DataId) -> Lowering<Data> {
        let def = self.data_def(id)?;
        if def.recursive == Recursive::Yes {
            return refuse(format!("the recursive type `{}`", def.name), self.span);
        }
        let mut parts = vec![Data::Scalar(TAG)];
        for constructor in &def.constructors {
            let fields = constructor.fields.iter().map(|field| self.data(field));
            parts.push(Data::Tuple(fields.collect::<Lowering<_>>()?));
        }
        Ok(Data::Tuple(parts))
    }

    pub(crate) fn data_def(&self, id: DataId) -> Lowering<&DataDef> {
        match self.program.data.get(id.0 as usize) {
            Some(def) => Ok(def),
            None => bug("a data type that is not there", self.span),
        }
    }

    pub(crate) fn result_data(&self, result: &ResultType) -> Lowering<ResultData> {
        Ok(ResultData {
            sizes: result.context.iter().map(name_of).collect(),
            values: result
                .types
                .iter()
                .map(|ty| self.data(ty))
                .collect::<Lowering<_>>()?,
        })
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

    /// Size and element of an array.
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

/// The type of a sum's tag.
pub(crate) const TAG: ScalarType = ScalarType::U32;
