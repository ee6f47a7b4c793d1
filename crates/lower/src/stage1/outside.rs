//! What reaches outside of the program: C functions, and `trace`.

mod columns;

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
        let held = self.held(value)?;
        let mut nats = Vec::new();
        let passed = self.passed(held.clone(), &mut nats)?;
        let trace = Phrase::prim(Prim::Trace(label.clone(), Box::new(ty)), nats, vec![]);
        self.push(trace.app(passed));
        self.bind_one_held(pattern, exp, held)
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
            let held = self.held(arg)?;
            values.push(self.passed(held, &mut nats)?);
        }
        let result = function.result.clone();
        let call = Phrase::prim(Prim::Foreign(Box::new(function)), nats, vec![]).apply(values);
        let given = self.pattern_data(pattern, exp)?.layouts;
        let ([bound], [layout]) = (pattern.values.as_slice(), given.as_slice()) else {
            return bug("a foreign function that gives several values", self.span);
        };
        if layout.has_rows() {
            return self.rows_given(call, &result, layout, pattern);
        }
        let data = &layout.data();
        let mut wanted = Vec::new();
        sizes_in(data, &mut wanted);
        if wanted.is_empty() {
            let place = self.new_var(&bound.var.name, data);
            self.push(call.app(place.clone().writer()));
            self.check_tags(&result, layout, &place.clone().reader(), &[])?;
            self.bind_value(&bound.var, data, place.reader());
            return Ok(());
        }
        let own: Vec<Name> = wanted.iter().map(|_| self.fresh("k")).collect();
        let cell_data = Data::Some(
            own.clone(),
            Box::new(columns::with_given_sizes(
                data,
                &mut own.iter().cloned().map(Nat::var),
            )),
        );
        let cell = self.new_var(&bound.var.name, &cell_data);
        self.push(call.app(cell.clone().writer()));
        let wanted: Vec<Option<Nat>> = wanted.into_iter().map(Some).collect();
        let (contents, from, _) = self.open_given(pattern, cell.reader(), cell_data, &wanted);
        let found = coerce(&from, data, contents);
        self.check_tags(&result, layout, &found, &[])?;
        self.bind_value(&bound.var, data, found);
        Ok(())
    }

    /// Opens what a function gave; gives the contents with their type and sizes. Sizes that the program knows are compared with these.
    fn open_given(
        &mut self,
        pattern: &Pattern,
        cell: Phrase,
        cell_data: Data,
        wanted: &[Option<Nat>],
    ) -> (Phrase, Data, Vec<Name>) {
        let contents = self.fresh("given");
        let mut sizes = Vec::new();
        let mut checks = Vec::new();
        for nat in wanted {
            let chosen = pattern
                .context
                .iter()
                .find(|var| nat.as_ref().and_then(Nat::as_var) == Some(&name_of(var)));
            sizes.push(match chosen {
                Some(var) if !sizes.contains(&name_of(var)) => {
                    self.values
                        .insert(var.clone(), build::nat_value(Nat::var(name_of(var))));
                    name_of(var)
                }
                _ => {
                    let name = self.fresh("k");
                    checks.extend(nat.clone().map(|nat| (nat, Nat::var(name.clone()))));
                    name
                }
            });
        }
        let from = held(&cell_data, &sizes);
        self.items.push(Item::Open {
            cell,
            data: cell_data,
            sizes: sizes.clone(),
            contents: contents.clone(),
        });
        for (wanted, found) in checks {
            self.same_size(&wanted, &found);
        }
        (Phrase::Var(contents), from, sizes)
    }
}

/// A C function as programs call it; what it takes or gives that cannot be passed.
pub(crate) fn foreign_type(program: &Program, def: &ForeignDef) -> Result<ForeignType, String> {
    let params = def.params.iter().map(|param| border(program, &param.ty));
    let params = params.collect::<Result<Vec<_>, _>>()?;
    let [result] = def.result.types.as_slice() else {
        return Err("several results".into());
    };
    Ok(ForeignType {
        name: def.name.clone(),
        params,
        result: border(program, result)?,
    })
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
pub(super) fn sizes_in(data: &Data, sizes: &mut Vec<Nat>) {
    match data {
        Data::Array(size, element) => {
            sizes.push(size.clone());
            sizes_in(element, sizes);
        }
        Data::Tuple(parts) => parts.iter().for_each(|part| sizes_in(part, sizes)),
        Data::Scalar(_) | Data::Index(_) | Data::Vector(..) | Data::Some(..) | Data::Var(_) => {}
    }
}
