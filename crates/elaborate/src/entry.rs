//! Entries: functions with the parameters the user sees, and the types of the border with the user's names.

use crate::conform::{Place, Sizes};
use crate::errors::bug;
use crate::statics::{DefAt, Env, Home, Static};
use crate::ty::{SizedTy, Ty};
use crate::{Elaborator, Res};
use almach_base::{Name, Span};
use almach_core as core;
use almach_core::typing::Signature;
use almach_core::{Atom, Body, Dim, Entry, Exp, FunId, Param, Size, Type, Var};
use almach_types::parts::refers_inside_sums;
use almach_types::tree::{self, Def, DefId, Expr};
use almach_value::{Constructor, DimType, ScalarType, SumType, ValueType};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

impl<'a> Elaborator<'a> {
    pub(crate) fn entry(&mut self, id: DefId) -> Res<()> {
        let program = self.program;
        let def = program.defs.get(id.0 as usize);
        let def = def.ok_or_else(|| bug(Span::NONE, "an unknown entry"))?;
        if !def.scheme.types.is_empty() {
            return Err(bug(def.span, "an entry that is polymorphic"));
        }
        let mut env = Env::new();
        let mut context = Vec::new();
        for param in &def.params {
            self.name_sizes(&param.ty, &def.scheme.sizes, &mut env, &mut context);
        }
        let mut params = Vec::with_capacity(def.params.len());
        let mut args = Vec::with_capacity(def.params.len());
        let mut border = Vec::with_capacity(def.params.len());
        for param in &def.params {
            let ty = self.close(&param.ty, &env, param.span)?;
            if !ty.ty.is_first_order() {
                return Err(bug(param.span, "an entry that takes a function"));
            }
            let mut own = Vec::new();
            let missing = &mut |this: &mut Self| {
                let var = this.builder.size_var("n");
                own.push(var.clone());
                Dim::Size(Size::var(var))
            };
            let core_type = self.core_type(&ty, Place::Outermost, missing, param.span)?;
            context.extend(own);
            let name = crate::matching::name_of(param);
            let core_param = self.builder.param(name.clone(), core_type);
            let value = Static::var(core_param.var.clone());
            self.bind_numbers(param, &value, &mut env);
            args.push(value);
            params.push(core_param);
            border.push((name, self.border_type(&param.ty, def, &mut Border::default())));
        }
        let result_type = self.close(&def.result, &env, def.span)?;
        if !result_type.ty.is_first_order() {
            return Err(bug(def.span, "an entry that gives a function"));
        }
        let at = DefAt {
            def,
            home: Home::Top,
            types: Rc::from([]),
            sizes: vec![None; def.scheme.sizes.len()].into(),
        };
        let span = def.span;
        let made = self.entry_function(def.name.clone(), context, params, &result_type, span, |this| {
            this.call_def(&at, args, span)
        })?;
        let result = self.border_type(&def.result, def, &mut Border::default());
        self.entries.push(Entry {
            name: def.name.clone(),
            function: made,
            params: border,
            result,
            span: def.span,
        });
        Ok(())
    }

    /// A closed expression as an entry without parameters.
    pub(crate) fn expression_entry(&mut self, name: &Name, expr: &'a Expr) -> Res<()> {
        let env = Env::new();
        let ty = self.close(&expr.ty, &env, expr.span)?;
        if !ty.ty.is_first_order() {
            return Err(bug(expr.span, "an entry that gives a function"));
        }
        let function = self.entry_function(name.clone(), Vec::new(), Vec::new(), &ty, expr.span, |this| {
            this.expr(expr, &env)
        })?;
        let result = self.border_of(&expr.ty, &mut Border::default());
        self.entries.push(Entry {
            name: name.clone(),
            function,
            params: Vec::new(),
            result,
            span: expr.span,
        });
        Ok(())
    }

    /// Sizes that stand alone in a parameter's type are the entry's context: the arguments tell them.
    fn name_sizes(
        &mut self,
        ty: &tree::Type,
        sizes: &[tree::Var],
        env: &mut Env<'a>,
        context: &mut Vec<Var>,
    ) {
        match ty {
            tree::Type::Tuple(parts) => parts
                .iter()
                .for_each(|ty| self.name_sizes(ty, sizes, env, context)),
            tree::Type::Record(fields) => {
                fields
                    .iter()
                    .for_each(|(_, ty)| self.name_sizes(ty, sizes, env, context));
            }
            tree::Type::Array(dim, element) => {
                if let tree::Dim::Size(size) = dim
                    && let Some(var) = size.as_var()
                    && env.get(var).is_none()
                    && sizes.contains(var)
                {
                    let own = self.builder.size_var(var.name.clone());
                    env.bind(var, Static::Size(Size::var(own.clone())));
                    context.push(own);
                }
                self.name_sizes(element, sizes, env, context);
            }
            tree::Type::Scalar(_)
            | tree::Type::Vector(..)
            | tree::Type::Data(..)
            | tree::Type::Node { .. }
            | tree::Type::Reference(_)
            | tree::Type::Function(_)
            | tree::Type::Var(_) => {}
        }
    }

    fn entry_function(
        &mut self,
        name: Name,
        context: Vec<Var>,
        params: Vec<Param>,
        ty: &SizedTy,
        span: Span,
        inside: impl FnOnce(&mut Self) -> Res<Static<'a>>,
    ) -> Res<FunId> {
        let numbers = params
            .iter()
            .filter(|param| param.ty == Type::I64)
            .map(|param| param.var.id);
        let outside: HashSet<u32> = context.iter().map(|var| var.id).chain(numbers).collect();
        self.builder.enter();
        let closed = inside(self).and_then(|value| {
            let value = self.conform(value, ty, Sizes::WhereMissing, span)?;
            let atoms = self.border_values(&value, &ty.ty, span)?;
            let known = |var: &Var| outside.contains(&var.id);
            let (result, sizes) = self.declare_result(&atoms, &known, span)?;
            Ok((result, sizes, atoms))
        });
        let body = self.builder.leave(Vec::new(), Vec::new());
        let (result, sizes, values) = closed?;
        let body = Body {
            stmts: body.stmts,
            context: sizes,
            values,
        };
        if let Some(called) = self.only_calls(&params, &body) {
            return Ok(called);
        }
        let id = self.builder.declare(Signature {
            name: name.clone(),
            context: context.clone(),
            params: params.clone(),
            result: result.clone(),
        });
        self.functions.push(Some(core::Function {
            name,
            context,
            params,
            result,
            body,
            span,
        }));
        Ok(id)
    }

    /// The function that a body of an entry calls, where it does nothing else: that one can be the entry itself, so
    /// that calls from inside the program and from outside share it.
    fn only_calls(&self, params: &[Param], body: &Body) -> Option<FunId> {
        let [stmt] = body.stmts.as_slice() else {
            return None;
        };
        let Exp::Call { function, args, .. } = &stmt.exp else {
            return None;
        };
        let is_var = |atom: &Atom, var: &Var| matches!(atom, Atom::Var(found) if found == var);
        let pattern = &stmt.pattern;
        let passes_all = args.len() == params.len()
            && args
                .iter()
                .zip(params)
                .all(|(arg, param)| is_var(arg, &param.var));
        let gives_all = body.values.len() == pattern.values.len()
            && body
                .values
                .iter()
                .zip(&pattern.values)
                .all(|(atom, param)| is_var(atom, &param.var));
        let signature = self.builder.signatures.function(*function).ok()?;
        let is_solved = |size: &Var| {
            let mut found = false;
            for param in &signature.params {
                param.ty.for_each_dim(&mut |dim| {
                    found |= matches!(dim, Dim::Size(dim) if dim.as_var() == Some(size));
                });
            }
            found
        };
        (passes_all && gives_all && signature.context.iter().all(is_solved)).then_some(*function)
    }

    /// The results of an entry: the components where the value is a tuple, else the value.
    fn border_values(&mut self, value: &Static<'a>, ty: &Ty, span: Span) -> Res<Vec<Atom>> {
        match ty.components() {
            Some(parts) if parts.len() != 1 => {
                let parts = self.components(value, span)?;
                parts.iter().map(|part| self.atom(part, span)).collect()
            }
            _ => Ok(vec![self.atom(value, span)?]),
        }
    }

    fn border_type(&mut self, ty: &tree::Type, def: &Def, border: &mut Border) -> ValueType {
        border.sizes = def.scheme.sizes.iter().map(|var| var.id).collect();
        self.border_of(ty, border)
    }

    fn border_of(&mut self, ty: &tree::Type, border: &mut Border) -> ValueType {
        match ty {
            tree::Type::Scalar(ty) => ValueType::Scalar(*ty),
            tree::Type::Vector(width, element) => {
                let width = width.as_constant().and_then(|width| u32::try_from(width).ok());
                match self.border_of(element, border) {
                    ValueType::Scalar(ty) => ValueType::Vector(width.unwrap_or(0), ty),
                    other => other,
                }
            }
            tree::Type::Tuple(parts) => {
                ValueType::Tuple(parts.iter().map(|ty| self.border_of(ty, border)).collect())
            }
            tree::Type::Record(fields) => {
                let order = self.record_order(fields);
                let field = |name: &Name| fields.iter().find(|(field, _)| field == name);
                let fields = order.iter().filter_map(field);
                ValueType::Record(
                    fields
                        .map(|(name, ty)| (name.clone(), self.border_of(ty, border)))
                        .collect(),
                )
            }
            tree::Type::Array(dim, element) => {
                let dim = border.dim(dim);
                let place = std::mem::replace(&mut border.place, Place::BelowArray);
                let element = self.border_of(element, border);
                border.place = place;
                ValueType::Array(dim, Box::new(element))
            }
            tree::Type::Data(id, args) => self.border_sum(*id, args, None, border),
            tree::Type::Node {
                data,
                args,
                reference: _,
            } => self.border_sum(*data, args, Some(*data), border),
            tree::Type::Reference(_) => ValueType::Scalar(ScalarType::I64),
            tree::Type::Var(var) => match border.types.iter().rev().find(|(id, _)| *id == var.id) {
                Some((_, ty)) => ty.clone(),
                None => ValueType::Tuple(Vec::new()),
            },
            tree::Type::Function(_) => ValueType::Tuple(Vec::new()),
        }
    }

    /// A sum at its arguments. In a node value of `node` there are positions where the type mentions itself.
    fn border_sum(
        &mut self,
        id: tree::DataId,
        args: &[tree::Type],
        node: Option<tree::DataId>,
        border: &mut Border,
    ) -> ValueType {
        let program = self.program;
        let Some(def) = program.data.get(id.0 as usize) else {
            return ValueType::Tuple(Vec::new());
        };
        let place = std::mem::replace(&mut border.place, Place::Outermost);
        let within = std::mem::replace(&mut border.within, Within::Argument);
        let outer_node = border.node;
        let is_sum = def.recursive == tree::Recursive::No;
        if !is_sum || !outer_node.is_some_and(|node| refers_inside_sums(&program.data, node)) {
            border.node = None;
        }
        let args: Vec<ValueType> = args.iter().map(|ty| self.border_of(ty, border)).collect();
        border.within = within;
        border.node = outer_node;
        let prefix = if node.is_some() { "#" } else { "" };
        let name = sum_name(&format!("{prefix}{}", def.name), &args);
        if node.is_none() && border.node == Some(id) {
            border.place = place;
            return ValueType::Scalar(ScalarType::I64);
        }
        if node.is_none() && border.enclosing.iter().any(|(around, _)| *around == name) {
            border.place = place;
            return ValueType::Recursive(name);
        }
        border.node = node;
        border.enclosing.push((name.clone(), id));
        let bound = border.types.len();
        border
            .types
            .extend(def.params.iter().map(|param| param.id).zip(args));
        let constructors = def.constructors.iter().map(|constructor| Constructor {
            name: format!("{prefix}{}", constructor.name).into(),
            fields: constructor
                .fields
                .iter()
                .map(|field| {
                    border.place = Place::Outermost;
                    self.border_of(field, border)
                })
                .collect(),
        });
        let constructors = constructors.collect();
        border.types.truncate(bound);
        border.enclosing.pop();
        border.node = outer_node;
        border.place = place;
        let mut sum = SumType {
            name,
            constructors,
            part: false,
        };
        sum.part = def.recursive == tree::Recursive::No && border.is_part(&sum, program);
        ValueType::Sum(Arc::new(sum))
    }
}

/// What is known where a type of the border stands.
struct Border {
    place: Place,
    /// Size names the user may see.
    sizes: Vec<u32>,
    /// Data types around.
    enclosing: Vec<(Name, tree::DataId)>,
    types: Vec<(u32, ValueType)>,
    node: Option<tree::DataId>,
    within: Within,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// A type as it is written.
    Type,
    /// The argument of a data type: fields of such a type have no sizes, not even literal ones.
    Argument,
}

impl Default for Border {
    fn default() -> Border {
        Border {
            place: Place::Outermost,
            sizes: Vec::new(),
            enclosing: Vec::new(),
            types: Vec::new(),
            node: None,
            within: Within::Type,
        }
    }
}

impl Border {
    /// Whether a sum is part of the nodes of the types around that it mentions.
    fn is_part(&self, sum: &SumType, program: &tree::Program) -> bool {
        let around = self.enclosing.iter();
        let mut mentioned = around.filter(|(name, _)| sum.mentions(name)).peekable();
        mentioned.peek().is_some() && mentioned.all(|(_, id)| refers_inside_sums(&program.data, *id))
    }

    fn dim(&self, dim: &tree::Dim) -> DimType {
        let unknown = match self.place {
            Place::Outermost => DimType::Unknown,
            Place::BelowArray => DimType::Jagged,
        };
        let size = match (dim, self.within) {
            (tree::Dim::Size(size), Within::Type) => size,
            (tree::Dim::Size(_) | tree::Dim::Unknown, _) => return unknown,
        };
        match size.as_constant() {
            Some(value @ 0..) => return DimType::Known(value),
            // Computing it fails.
            Some(_) => return unknown,
            None => {}
        }
        // Inside a sum every value has its own sizes.
        if !self.enclosing.is_empty() {
            return unknown;
        }
        if !size.occurrences().all(|var| self.sizes.contains(&var.id)) {
            return DimType::Unknown;
        }
        match size.as_var() {
            Some(var) => DimType::Named(var.name.clone()),
            None => DimType::Expression(size.display(|var, f| f.write_str(&var.name)).to_string()),
        }
    }
}

/// `Maybe f32`, with parentheses where an argument has arguments itself.
fn sum_name(name: &str, args: &[ValueType]) -> Name {
    let mut text = name.to_owned();
    for arg in args {
        let arg = arg.to_string();
        match arg.contains(' ') && !arg.starts_with(['(', '{', '[']) {
            true => text.push_str(&format!(" ({arg})")),
            false => text.push_str(&format!(" {arg}")),
        }
    }
    text.into()
}
