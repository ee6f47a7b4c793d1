//! Entries: what the border shows is what the function has.

use super::Rule;
use crate::ir::{DataId, Dim, Entry, Function, Program, Type, Var};
use crate::typing::{TypeError, Typed, same_count};
use almach_base::Name;
use almach_value::{DimType, SumType, ValueType};

pub(super) fn check(entry: &Entry, program: &Program) -> Typed<()> {
    let function = program.functions.get(entry.function.0 as usize).ok_or_else(|| {
        let message = format!("there is no function {}", entry.function.0);
        TypeError::new(Rule::KnownId, message)
    })?;
    same_count(
        function.params.len(),
        entry.params.len(),
        Rule::Entry,
        "parameters at the border",
    )?;
    for (param, (name, border)) in function.params.iter().zip(&entry.params) {
        if !Border::new(program).agrees(border, &param.ty) {
            return Err(disagrees(&format!("parameter `{name}`"), &param.ty, program));
        }
    }
    check_results(entry, function, program)?;
    match function.context.iter().find(|size| !is_solved(size, function)) {
        None => Ok(()),
        Some(size) => Err(TypeError::new(
            Rule::Entry,
            format!("no argument tells the size `{size}`"),
        )),
    }
}

fn disagrees(what: &str, ty: &Type, program: &Program) -> TypeError {
    let message = format!(
        "the border type of {what} is not that of `{}`",
        ty.display(&program.data)
    );
    TypeError::new(Rule::Entry, message)
}

fn check_results(entry: &Entry, function: &Function, program: &Program) -> Typed<()> {
    let types = &function.result.types;
    let components: Vec<&ValueType> = match (&entry.result, types.as_slice()) {
        (border, [_]) => vec![border],
        (ValueType::Tuple(parts), _) => parts.iter().collect(),
        (ValueType::Record(fields), _) => fields.iter().map(|(_, ty)| ty).collect(),
        (border, _) => vec![border],
    };
    same_count(
        types.len(),
        components.len(),
        Rule::Entry,
        "results at the border",
    )?;
    for (ty, border) in types.iter().zip(components) {
        if !Border::new(program).agrees(border, ty) {
            return Err(disagrees("a result", ty, program));
        }
    }
    Ok(())
}

/// Whether a parameter has the size alone as a dimension.
fn is_solved(size: &Var, function: &Function) -> bool {
    let mut found = false;
    for param in &function.params {
        param.ty.for_each_dim(&mut |dim| {
            found |= matches!(dim, Dim::Size(dim) if dim.as_var() == Some(size));
        });
    }
    found
}

/// Compares border types with Core's; `enclosing` are the sums a name may refer back to.
struct Border<'a> {
    program: &'a Program,
    enclosing: Vec<(Name, DataId)>,
}

impl Border<'_> {
    fn new(program: &Program) -> Border<'_> {
        Border {
            program,
            enclosing: Vec::new(),
        }
    }

    fn agrees(&mut self, border: &ValueType, ty: &Type) -> bool {
        match (border, ty) {
            (ValueType::Scalar(a), Type::Scalar(b)) => a == b,
            (ValueType::Vector(n, a), Type::Vector(m, b)) => n == m && a == b,
            (ValueType::Tuple(parts), Type::Tuple(types)) => {
                parts.len() == types.len() && parts.iter().zip(types).all(|(part, ty)| self.agrees(part, ty))
            }
            (ValueType::Record(fields), Type::Tuple(types)) => {
                fields.len() == types.len()
                    && fields
                        .iter()
                        .zip(types)
                        .all(|((_, part), ty)| self.agrees(part, ty))
            }
            (ValueType::Array(shown, element), Type::Array(dim, inner)) => {
                agrees_dim(shown, dim) && self.agrees(element, inner)
            }
            (ValueType::Sum(sum), Type::Data(id)) => {
                let Some(def) = self.program.data.get(id.0 as usize) else {
                    return false;
                };
                let constructors = def.constructors.iter();
                self.constructors_agree(
                    sum,
                    *id,
                    constructors
                        .map(|it| (it.name.to_string(), it.fields.clone()))
                        .collect(),
                )
            }
            // Node values show positions where the type mentions itself; their constructors are written with `#`.
            (ValueType::Sum(sum), Type::Node(id)) => {
                let Some(def) = self.program.data.get(id.0 as usize) else {
                    return false;
                };
                let constructors = def.constructors.iter().map(|it| {
                    let fields = it.fields.iter().map(|field| def.with_positions(*id, field));
                    (format!("#{}", it.name), fields.collect())
                });
                self.constructors_agree(sum, *id, constructors.collect())
            }
            (ValueType::Recursive(name), Type::Data(id)) => {
                let outer = self.enclosing.iter().rev().find(|(outer, _)| outer == name);
                outer.is_some_and(|(_, outer)| outer == id)
            }
            _ => false,
        }
    }
}

impl Border<'_> {
    fn constructors_agree(
        &mut self,
        sum: &SumType,
        id: DataId,
        constructors: Vec<(String, Vec<Type>)>,
    ) -> bool {
        self.enclosing.push((sum.name.clone(), id));
        let same = sum.constructors.len() == constructors.len()
            && sum
                .constructors
                .iter()
                .zip(&constructors)
                .all(|(shown, (name, fields))| {
                    *shown.name == **name
                        && shown.fields.len() == fields.len()
                        && shown.fields.iter().zip(fields).all(|(a, b)| self.agrees(a, b))
                });
        self.enclosing.pop();
        same
    }
}

fn agrees_dim(shown: &DimType, dim: &Dim) -> bool {
    match (shown, dim) {
        (DimType::Known(value), Dim::Size(size)) => size.as_constant().is_none_or(|size| size == *value),
        (DimType::Named(_) | DimType::Expression(_) | DimType::Unknown, Dim::Size(_)) => true,
        (DimType::Jagged | DimType::Unknown, Dim::Jagged) => true,
        (DimType::Known(_) | DimType::Named(_) | DimType::Expression(_), Dim::Jagged) => false,
        (DimType::Jagged, Dim::Size(_)) => false,
    }
}
