//! The foreign functions of a program as entry points of their own, so that an interpreter can call them: each is compiled like any
//! other entry, with the checks of what it gives.

use almach_base::{Diagnostic, compiler_bug};
use almach_core::check::{Checked, check};
use almach_core::interp::border_type;
use almach_core::{
    Atom, Body, Builder, Dim, Entry, Exp, ForeignDef, ForeignId, FunId, Function, Param, Program, ResultType,
    Size, Type, Var,
};
use almach_value::{DimType, ValueType};
use std::collections::HashMap;

/// A program whose entries are the foreign functions of another, under their names.
pub fn foreign_program(program: &Program) -> Result<Checked<Program>, Vec<Diagnostic>> {
    let mut builder = Builder::for_program(program);
    let (mut functions, mut entries) = (Vec::new(), Vec::new());
    for (at, def) in (0u32..).zip(&program.foreign) {
        let function = wrapper(&mut builder, ForeignId(at), def).map_err(|what| {
            vec![compiler_bug(
                def.span,
                format!("a wrapper of `{}`: {what}", def.name),
            )]
        })?;
        entries.push(entry(program, at, def, &function).map_err(|what| vec![compiler_bug(def.span, what)])?);
        functions.push(function);
    }
    let wrappers = Program {
        data: program.data.clone(),
        foreign: program.foreign.clone(),
        functions,
        entries,
        next_var: builder.supply.next_var(),
    };
    check(wrappers, "foreign").map_err(|failure| vec![failure.diagnostic])
}

/// `fun f {n} (x: [n]f64): {k} [k]f64 = let {k} (r: [k]f64) = foreign f {n} x in {k} r`.
fn wrapper(builder: &mut Builder, id: ForeignId, def: &ForeignDef) -> Result<Function, String> {
    let mut own: HashMap<Var, Var> = HashMap::new();
    let mut context = Vec::new();
    for var in &def.context {
        let new = builder.size_var(var.name.clone());
        own.insert(var.clone(), new.clone());
        context.push(new);
    }
    let mut params: Vec<Param> = Vec::new();
    for (at, param) in def.params.iter().enumerate() {
        let ty = renamed(&param.ty, &own);
        let new = builder.param(format!("x{at}"), ty);
        own.insert(param.var.clone(), new.var.clone());
        params.push(new);
    }
    let exp = Exp::Foreign {
        function: id,
        context: context.iter().cloned().map(Atom::Var).collect(),
        args: params.iter().map(|param| Atom::Var(param.var.clone())).collect(),
    };
    builder.enter();
    let pattern = builder
        .bind_all(exp, &["result".into()], def.span)
        .map_err(|error| error.message)?;
    let body: Body = builder.leave(
        pattern.context.iter().cloned().map(Atom::Var).collect(),
        pattern
            .values
            .iter()
            .map(|value| Atom::Var(value.var.clone()))
            .collect(),
    );
    let mut chosen: HashMap<Var, Var> = HashMap::new();
    for var in &pattern.context {
        chosen.insert(var.clone(), builder.size_var(var.name.clone()));
    }
    let result = ResultType {
        context: pattern
            .context
            .iter()
            .filter_map(|var| chosen.get(var).cloned())
            .collect(),
        types: pattern
            .values
            .iter()
            .map(|value| renamed(&value.ty, &chosen))
            .collect(),
    };
    Ok(Function {
        name: def.name.clone(),
        context,
        params,
        result,
        body,
        span: def.span,
    })
}

fn renamed(ty: &Type, names: &HashMap<Var, Var>) -> Type {
    ty.substitute(&|var| names.get(var).cloned().map(Size::var))
}

fn entry(program: &Program, at: u32, def: &ForeignDef, function: &Function) -> Result<Entry, String> {
    let params = function.params.iter().map(|param| {
        let ty = border_type(&param.ty, program)?;
        Ok((param.var.name.clone(), named_sizes(ty, &param.ty)))
    });
    let mut results = function.result.types.iter().map(|ty| border_type(ty, program));
    Ok(Entry {
        name: def.name.clone(),
        function: FunId(at),
        params: params.collect::<Result<_, String>>()?,
        result: results.next().ok_or("no result")??,
        span: def.span,
    })
}

/// Sizes that are variables keep their names: an empty array says nothing of the sizes of its rows, others do.
fn named_sizes(shown: ValueType, ty: &Type) -> ValueType {
    match (shown, ty) {
        (ValueType::Array(dim, element), Type::Array(Dim::Size(size), inner)) => {
            let dim = match size.as_var() {
                Some(var) => DimType::Named(var.to_string().into()),
                None => dim,
            };
            ValueType::array(dim, named_sizes(*element, inner))
        }
        (ValueType::Tuple(shown), Type::Tuple(parts)) => ValueType::Tuple(
            shown
                .into_iter()
                .zip(parts)
                .map(|(shown, part)| named_sizes(shown, part))
                .collect(),
        ),
        (shown, _) => shown,
    }
}
