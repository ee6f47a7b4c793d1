//! Types as the user wrote them, turned into types.

use crate::checker::Checker;
use crate::names::{Local, Meaning, TypeName, Value};
use crate::scheme::substitute;
use crate::sizes::var_size;
use crate::solver::{Flavour, VarKind, size_here, walk_type};
use crate::tree::{Constraint, Dim, FunctionType, Size, Type, TypeVar, Var};
use almach_base::codes::{names as name_codes, sizes as size_codes, types as codes};
use almach_base::{Diagnostic, Name, Span};
use almach_nat::Poly;
use almach_syntax::ast::{self, SizeExpr, SizeKind, SizeOp, TypeExpr, TypeKind};
use almach_value::ScalarType;
use std::collections::HashMap;

/// What `[]` means where a type stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blank {
    Infer(Flavour),
    /// In data types and results of foreign functions.
    Unknown,
    /// In results of recursive functions: unknown outside, found by inference below another array.
    UnknownOutside,
    /// A size of its own that is equal to no other: parameters of recursive and foreign functions.
    Named,
}

/// What a type variable that is not in scope means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewTypeVar {
    /// Some type, found by inference.
    Infer,
    Refuse,
}

/// How to read a type.
pub(crate) struct Reading {
    pub blank: Blank,
    pub new_type_var: NewTypeVar,
    /// Sizes that may be named without having been listed: in the types of primitives and foreign functions.
    pub free_sizes: Option<HashMap<Name, Var>>,
    /// Sizes made for [`Blank::Named`].
    pub made_sizes: Vec<Var>,
    /// How many arrays are around.
    pub depth: u32,
}

impl Reading {
    pub fn new(blank: Blank) -> Reading {
        Reading {
            blank,
            new_type_var: NewTypeVar::Infer,
            free_sizes: None,
            made_sizes: Vec::new(),
            depth: 0,
        }
    }

    pub fn strict(blank: Blank) -> Reading {
        Reading {
            new_type_var: NewTypeVar::Refuse,
            ..Reading::new(blank)
        }
    }
}

impl Checker<'_> {
    pub fn read_type(&mut self, ty: &TypeExpr, reading: &mut Reading) -> Type {
        match &ty.kind {
            TypeKind::Scalar(scalar) => Type::Scalar(*scalar),
            TypeKind::Var(name) => self.read_type_var(name, ty.span, reading),
            TypeKind::Named(path, args) => self.read_named(path, args, ty.span, reading),
            TypeKind::Tuple(parts) => {
                Type::Tuple(parts.iter().map(|part| self.read_type(part, reading)).collect())
            }
            TypeKind::Record(fields) => self.read_record(fields, reading),
            TypeKind::Array(dim, element) => {
                let dim = self.read_dim(dim, reading);
                reading.depth += 1;
                let element = self.read_type(element, reading);
                reading.depth -= 1;
                Type::Array(dim, Box::new(element))
            }
            TypeKind::Vector(width, element) => {
                let width = self.read_size(width, reading);
                let element_type = self.read_type(element, reading);
                Type::Vector(width, Box::new(element_type))
            }
            TypeKind::Function {
                param_name,
                param,
                result,
            } => self.read_function(param_name.as_ref(), param, result, reading),
            TypeKind::Error => {
                self.failed = true;
                self.incomplete = true;
                self.solver.fresh_type(Constraint::Any, ty.span)
            }
        }
    }

    fn read_type_var(&mut self, name: &Name, span: Span, reading: &Reading) -> Type {
        if let Some(var) = self.type_names.get(name) {
            return Type::Var(var.clone());
        }
        let fresh = self.solver.fresh_type(Constraint::Any, span);
        if let Type::Var(var) = &fresh {
            self.type_names.insert(name.clone(), var.clone());
        }
        match reading.new_type_var {
            NewTypeVar::Infer => {}
            NewTypeVar::Refuse => self.report(
                Diagnostic::error(
                    codes::UNBOUND_TYPE_VARIABLE,
                    span,
                    format!("the type variable `'{name}` is not declared"),
                )
                .label("not a parameter of this type")
                .help(format!("list it after the name of the type: `… '{name} = …`")),
            ),
        }
        fresh
    }

    fn read_record(&mut self, fields: &[(ast::Ident, TypeExpr)], reading: &mut Reading) -> Type {
        let mut read: Vec<(Name, Type)> = Vec::new();
        for (ident, ty) in fields {
            let ty = self.read_type(ty, reading);
            if read.iter().any(|(name, _)| *name == ident.name) {
                self.duplicate_field(ident);
            } else {
                read.push((ident.name.clone(), ty));
            }
        }
        self.record_type(read)
    }

    /// A record type. Types with the same fields are one type, whatever the order; values of it have them in the order in
    /// which they were first written.
    pub fn record_type(&mut self, fields: Vec<(Name, Type)>) -> Type {
        let mut key: Vec<Name> = fields.iter().map(|(name, _)| name.clone()).collect();
        let written = key.clone();
        key.sort_unstable();
        let order = self.record_orders.entry(key).or_insert(written);
        let mut fields = fields;
        fields.sort_by_key(|(name, _)| order.iter().position(|other| other == name));
        Type::Record(fields)
    }

    pub fn duplicate_field(&mut self, ident: &ast::Ident) {
        self.report(
            Diagnostic::error(
                codes::DUPLICATE_FIELD,
                ident.span,
                format!("the field `{}` appears twice in this record", ident.name),
            )
            .label("again here"),
        );
    }

    fn read_function(
        &mut self,
        param_name: Option<&ast::Ident>,
        param: &TypeExpr,
        result: &TypeExpr,
        reading: &mut Reading,
    ) -> Type {
        let param_type = self.read_type(param, reading);
        let Some(ident) = param_name else {
            let result = self.read_type(result, reading);
            return Type::Function(Box::new(FunctionType {
                binder: None,
                param: param_type,
                result,
            }));
        };
        self.solver.level += 1;
        let var = self.program_var(&ident.name, ident.span);
        self.solver.level -= 1;
        let mark = self.trail.len();
        self.bind_local(
            ident.name.clone(),
            Local::Value {
                var: var.clone(),
                ty: param_type.clone(),
            },
        );
        let result = self.read_type(result, reading);
        self.unbind_to(mark);
        let mentioned = mentions_size(&result, &var);
        Type::Function(Box::new(FunctionType {
            binder: mentioned.then_some(var),
            param: param_type,
            result,
        }))
    }

    fn read_named(&mut self, path: &ast::Path, args: &[TypeExpr], span: Span, reading: &mut Reading) -> Type {
        let name = self.lookup_type(path);
        // Every value inside a data type has a size of its own.
        let blank = match name {
            Some(TypeName::Data(_)) => std::mem::replace(&mut reading.blank, Blank::Unknown),
            Some(TypeName::Alias(_)) | None => reading.blank,
        };
        let read: Vec<Type> = args.iter().map(|arg| self.read_type(arg, reading)).collect();
        reading.blank = blank;
        match name {
            Some(TypeName::Data(data)) => {
                let wanted = self.data_arity(data);
                if self.right_arity(path, read.len(), wanted, span) {
                    Type::Data(data, read)
                } else {
                    self.solver.fresh_type(Constraint::Any, span)
                }
            }
            Some(TypeName::Alias(alias)) => self.expand_alias(alias, path, &read, span, reading),
            None => {
                self.unknown_type(path);
                self.solver.fresh_type(Constraint::Any, span)
            }
        }
    }

    fn data_arity(&self, data: crate::tree::DataId) -> usize {
        self.data_def(data).map_or(0, |def| def.params.len())
    }

    fn right_arity(&mut self, path: &ast::Path, given: usize, wanted: usize, span: Span) -> bool {
        if given == wanted {
            return true;
        }
        let name = &path.name.name;
        let arguments = |count: usize| match count {
            0 => "no type arguments".to_string(),
            1 => "1 type argument".to_string(),
            n => format!("{n} type arguments"),
        };
        self.report(
            Diagnostic::error(
                codes::TYPE_ARGUMENTS,
                span,
                format!("`{name}` takes {}, found {given}", arguments(wanted)),
            )
            .label(format!("{} here", arguments(given))),
        );
        false
    }

    fn expand_alias(
        &mut self,
        alias: usize,
        path: &ast::Path,
        args: &[Type],
        span: Span,
        reading: &mut Reading,
    ) -> Type {
        let Some(entry) = self.aliases.get_mut(alias) else {
            return self.solver.fresh_type(Constraint::Any, span);
        };
        let (decl, module) = (entry.ast, entry.module);
        if entry.expanding {
            self.alias_cycle(decl);
            return self.solver.fresh_type(Constraint::Any, span);
        }
        if !self.right_arity(path, args.len(), decl.params.len(), span) {
            return self.solver.fresh_type(Constraint::Any, span);
        }
        if let Some(entry) = self.aliases.get_mut(alias) {
            entry.expanding = true;
        }
        let params: Vec<TypeVar> = decl
            .params
            .iter()
            .map(|param| self.solver.fresh_rigid(param.name.clone(), param.span))
            .collect();
        let names = params.iter().map(|var| (var.name.clone(), var.clone())).collect();
        let outer_names = std::mem::replace(&mut self.type_names, names);
        let outer_module = std::mem::replace(&mut self.module, module);
        let outer_locals = std::mem::take(&mut self.locals);
        let outer_new = std::mem::replace(&mut reading.new_type_var, NewTypeVar::Refuse);
        let body = self.read_type(&decl.ty, reading);
        reading.new_type_var = outer_new;
        self.locals = outer_locals;
        self.module = outer_module;
        self.type_names = outer_names;
        if let Some(entry) = self.aliases.get_mut(alias) {
            entry.expanding = false;
        }
        let types = params
            .iter()
            .zip(args)
            .map(|(var, arg)| (var.id, arg.clone()))
            .collect();
        substitute(&body, &types, &HashMap::new())
    }

    fn alias_cycle(&mut self, decl: &ast::TypeAlias) {
        let name = &decl.name.name;
        if self
            .diagnostics
            .iter()
            .any(|d| d.code == name_codes::ALIAS_CYCLE && d.primary.span == decl.name.span)
        {
            return;
        }
        self.report(
            Diagnostic::error(
                name_codes::ALIAS_CYCLE,
                decl.name.span,
                format!("the type `{name}` means itself"),
            )
            .label("its meaning never ends")
            .help(format!(
                "a type that contains itself is declared with `data {name} = …`"
            )),
        );
    }

    /// Every alias is expanded once where it is declared, so that its mistakes show even where nobody uses it.
    pub fn check_aliases(&mut self, aliases: &[usize]) {
        for alias in aliases {
            let Some(decl) = self.aliases.get(*alias).map(|entry| entry.ast) else {
                continue;
            };
            let args: Vec<Type> = decl
                .params
                .iter()
                .map(|param| self.solver.fresh_type(Constraint::Any, param.span))
                .collect();
            let path = ast::Path {
                qualifier: None,
                name: decl.name.clone(),
                span: decl.name.span,
            };
            let mut reading = Reading::strict(Blank::Infer(Flavour::Flexible));
            self.expand_alias(*alias, &path, &args, decl.name.span, &mut reading);
        }
    }

    fn read_dim(&mut self, dim: &ast::Dim, reading: &mut Reading) -> Dim {
        match dim {
            ast::Dim::Inferred(span) => match reading.blank {
                Blank::Infer(flavour) => Dim::Size(self.solver.fresh_size(flavour, *span)),
                Blank::Unknown => Dim::Unknown,
                Blank::UnknownOutside if reading.depth == 0 => Dim::Unknown,
                Blank::UnknownOutside => Dim::Size(self.solver.fresh_size(Flavour::Flexible, *span)),
                Blank::Named => {
                    let name = self.unused_size_name(&reading.made_sizes);
                    let var = self.solver.fresh_var(name, *span, VarKind::Named);
                    reading.made_sizes.push(var.clone());
                    Dim::Size(var_size(&var))
                }
            },
            ast::Dim::Unknown(_) => Dim::Unknown,
            ast::Dim::Size(size) => Dim::Size(self.read_size(size, reading)),
        }
    }

    /// A name for a size the user left blank, in the way users name them.
    fn unused_size_name(&self, made: &[Var]) -> Name {
        let stems = ["n", "m", "k", "l"];
        let numbered = (1..).flat_map(|number| stems.iter().map(move |stem| format!("{stem}{number}")));
        let bound = |name: &Name| self.locals.get(name).is_some_and(|stack| !stack.is_empty());
        stems
            .iter()
            .map(|stem| (*stem).to_string())
            .chain(numbered)
            .map(Name::from)
            .find(|name| !bound(name) && !made.iter().any(|var| var.name == *name))
            .unwrap_or_else(|| Name::from("n"))
    }

    fn read_size(&mut self, size: &SizeExpr, reading: &mut Reading) -> Size {
        match &size.kind {
            SizeKind::Literal(value) => Poly::constant(*value),
            SizeKind::Var(name) => self.read_size_name(name, size.span, reading),
            SizeKind::Binary(op, left, right) => {
                let left = self.read_size(left, reading);
                let right_size = self.read_size(right, reading);
                match op {
                    SizeOp::Add => left + right_size,
                    SizeOp::Sub => left - right_size,
                    SizeOp::Mul => left * right_size,
                    SizeOp::Div if right_size.is_zero() => {
                        self.report(
                            Diagnostic::error(
                                size_codes::SIZE_BY_ZERO,
                                right.span,
                                "a size is divided by zero",
                            )
                            .label("this is zero"),
                        );
                        left
                    }
                    SizeOp::Div => left.div(&right_size),
                }
            }
            SizeKind::Error => {
                self.failed = true;
                self.incomplete = true;
                self.solver.fresh_size(Flavour::Flexible, size.span)
            }
        }
    }

    fn read_size_name(&mut self, name: &Name, span: Span, reading: &mut Reading) -> Size {
        let path = ast::Path {
            qualifier: None,
            name: ast::Ident {
                name: name.clone(),
                span,
            },
            span,
        };
        match self.lookup_value(&path) {
            Some(Meaning::Local(Local::Size(var))) => return var_size(&var),
            Some(Meaning::Local(Local::Value { var, ty })) => {
                if self.solver.unify(&ty, &Type::Scalar(ScalarType::I64)).is_ok() {
                    return var_size(&var);
                }
                self.size_not_i64(name, span, &ty, &var);
                return self.solver.fresh_size(Flavour::Flexible, span);
            }
            Some(Meaning::Global(Value::Def(def))) => {
                if let Some(constant) = self.defs.get(def.0 as usize).and_then(|def| def.constant.clone()) {
                    return constant;
                }
            }
            _ => {}
        }
        if let Some(free) = &mut reading.free_sizes {
            let solver = &mut self.solver;
            let var = free
                .entry(name.clone())
                .or_insert_with(|| solver.fresh_var(name.clone(), span, VarKind::Named));
            return var_size(var);
        }
        self.report(
            Diagnostic::error(name_codes::UNKNOWN_SIZE, span, format!("unknown size `{name}`"))
                .label("no size, and no `i64` variable or constant, of this name")
                .help(format!("list it before the parameters: `def f [{name}] …`")),
        );
        self.solver.fresh_size(Flavour::Flexible, span)
    }

    fn size_not_i64(&mut self, name: &Name, span: Span, ty: &Type, var: &Var) {
        let shown = self.show(ty);
        let mut diagnostic = Diagnostic::error(
            size_codes::SIZE_NOT_I64,
            span,
            format!("`{name}` is `{shown}`; only an `i64` may be a size"),
        )
        .label("used as a size here");
        if let Some(info) = self.solver.var_info(var) {
            diagnostic = diagnostic.also(info.span, format!("`{name}` is bound here"));
        }
        self.report(diagnostic.help(format!("make `{name}` an `i64`")));
    }
}

pub(crate) fn mentions_size(ty: &Type, var: &Var) -> bool {
    let mut found = false;
    walk_type(ty, &mut |part| {
        found |= size_here(part).is_some_and(|size| size.mentions(var));
    });
    found
}
