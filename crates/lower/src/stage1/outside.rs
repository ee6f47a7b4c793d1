//! What reaches outside of the program: C functions, and `trace`.

use super::bodies::coerce;
use super::types::held;
use super::{Item, Translator, name_of};
use crate::error::{Lowering, bug, refuse};
use almach_base::Name;
use almach_core::interp::border_type;
use almach_core::{Atom, Exp, ForeignDef, ForeignId, Pattern, Program, Type};
use almach_dpia::{Data, Nat, Phrase, Prim, build};
use almach_imp::interface::Shape;
use almach_value::{DimType, ForeignType, ValueType};

impl Translator<'_> {
    /// `trace<"label","type">[n] value`; the value is what it was.
    pub(crate) fn trace(&mut self, label: &Name, value: &Atom, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let ty = match border(self.program, &self.type_of(value)?) {
            Ok(ty) => ty,
            Err(what) => return refuse(format!("`trace` of {what}"), self.span),
        };
        let mut nats = Vec::new();
        sizes_in(&self.data_of(value)?, &mut nats);
        let value = self.value(value)?;
        let trace = Phrase::prim(Prim::Trace(label.clone(), Box::new(ty)), nats, vec![]);
        self.push(trace.app(value.clone()));
        self.bind_one(pattern, exp, value)
    }

    /// A call of a C function. Arrays come in a cell, since the function says how large they are; sizes that types know are
    /// compared with that.
    pub(crate) fn foreign(
        &mut self,
        function: ForeignId,
        args: &[Atom],
        exp: &Exp,
        pattern: &Pattern,
    ) -> Lowering<()> {
        let Some(def) = self.program.foreign.get(function.0 as usize) else {
            return bug("a foreign function that is not there", self.span);
        };
        let function = match foreign_type(self.program, def) {
            Ok(function) => function,
            Err(ty) => return refuse(format!("a foreign function with {ty}"), self.span),
        };
        let (mut nats, mut values) = (Vec::new(), Vec::new());
        for arg in args {
            sizes_in(&self.data_of(arg)?, &mut nats);
            values.push(self.value(arg)?);
        }
        let call = Phrase::prim(Prim::Foreign(Box::new(function)), nats, vec![]).apply(values);
        let given = self.pattern_data(pattern, exp)?.values();
        let ([bound], [data]) = (pattern.values.as_slice(), given.as_slice()) else {
            return bug("a foreign function that gives several values", self.span);
        };
        let mut wanted = Vec::new();
        sizes_in(data, &mut wanted);
        if wanted.is_empty() {
            let place = self.new_var(&bound.var.name, data);
            self.push(call.app(place.clone().writer()));
            self.bind_value(&bound.var, data, place.reader());
            return Ok(());
        }
        let own: Vec<Name> = wanted.iter().map(|_| self.fresh("k")).collect();
        let cell_data = Data::Some(own.clone(), Box::new(with_sizes(data, &mut own.iter().cloned())));
        let cell = self.new_var(&bound.var.name, &cell_data);
        self.push(call.app(cell.clone().writer()));
        self.take_from_cell(pattern, cell.reader(), cell_data, &wanted)
    }

    /// Binds the value in a cell, whose sizes are these.
    fn take_from_cell(
        &mut self,
        pattern: &Pattern,
        cell: Phrase,
        cell_data: Data,
        wanted: &[Nat],
    ) -> Lowering<()> {
        let contents = self.fresh("given");
        let mut sizes = Vec::new();
        let mut checks = Vec::new();
        for nat in wanted {
            let chosen = pattern
                .context
                .iter()
                .find(|var| nat.as_var() == Some(&name_of(var)));
            sizes.push(match chosen {
                Some(var) if !sizes.contains(&name_of(var)) => {
                    self.values
                        .insert(var.clone(), build::nat_value(Nat::var(name_of(var))));
                    name_of(var)
                }
                _ => {
                    let name = self.fresh("k");
                    checks.push((nat.clone(), Nat::var(name.clone())));
                    name
                }
            });
        }
        let from = held(&cell_data, &sizes);
        self.items.push(Item::Open {
            cell,
            data: cell_data,
            sizes,
            contents: contents.clone(),
        });
        for (wanted, found) in checks {
            self.same_size(&wanted, &found);
        }
        for value in &pattern.values {
            let data = self.data(&value.ty)?;
            let found = coerce(&from, &data, Phrase::Var(contents.clone()));
            self.bind_value(&value.var, &data, found);
        }
        Ok(())
    }
}

/// A C function as programs call it; what it takes or gives that cannot be passed.
pub(crate) fn foreign_type(program: &Program, def: &ForeignDef) -> Result<ForeignType, String> {
    let params = def.params.iter().map(|param| border(program, &param.ty));
    let params = params.collect::<Result<Vec<_>, _>>()?;
    let [result] = def.result.types.as_slice() else {
        return Err("several results".into());
    };
    let function = ForeignType {
        name: def.name.clone(),
        params,
        result: border(program, result)?,
    };
    for ty in function.params.iter().chain([&function.result]) {
        if !passes_to_c(ty) {
            return Err(format!("a value of type `{ty}`"));
        }
    }
    Ok(function)
}

/// Whether C has something to pass values of a type as.
fn passes_to_c(ty: &ValueType) -> bool {
    match ty {
        ValueType::Scalar(_) => true,
        ValueType::Tuple(parts) => parts.iter().all(passes_to_c),
        ValueType::Record(fields) => fields.iter().all(|(_, field)| passes_to_c(field)),
        ValueType::Array(_, element) => passes_to_c(element),
        ValueType::Vector(..) | ValueType::Sum(_) | ValueType::Recursive(_) => false,
    }
}

/// A type that values cross the border at, or why there is none.
fn border(program: &Program, ty: &Type) -> Result<ValueType, String> {
    let ty = chosen_sizes(border_type(ty, program)?);
    match Shape::of(&ty) {
        Some(_) => Ok(ty),
        None => Err(format!("a value of type `{ty}`")),
    }
}

/// The outermost `?` of a foreign result is a size that the function chooses.
fn chosen_sizes(ty: ValueType) -> ValueType {
    match ty {
        ValueType::Array(DimType::Jagged, element) => ValueType::Array(DimType::Unknown, element),
        ValueType::Tuple(parts) => ValueType::Tuple(parts.into_iter().map(chosen_sizes).collect()),
        other => other,
    }
}

/// The sizes of all arrays in a type, in order.
fn sizes_in(data: &Data, sizes: &mut Vec<Nat>) {
    match data {
        Data::Array(size, element) => {
            sizes.push(size.clone());
            sizes_in(element, sizes);
        }
        Data::Tuple(parts) => parts.iter().for_each(|part| sizes_in(part, sizes)),
        Data::Scalar(_) | Data::Index(_) | Data::Vector(..) | Data::Some(..) | Data::Var(_) => {}
    }
}

/// The same type with other sizes.
fn with_sizes(data: &Data, sizes: &mut impl Iterator<Item = Name>) -> Data {
    match data {
        Data::Array(size, element) => {
            let size = sizes.next().map_or_else(|| size.clone(), Nat::var);
            Data::array(size, with_sizes(element, sizes))
        }
        Data::Tuple(parts) => Data::Tuple(parts.iter().map(|part| with_sizes(part, sizes)).collect()),
        other => other.clone(),
    }
}
