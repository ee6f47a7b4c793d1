//! Signatures of definitions: type variables, sizes, parameters, result.

use super::functions::Params;
use crate::annotate::{Blank, Reading};
use crate::checker::Checker;
use crate::names::Local;
use crate::solver::{Flavour, VarKind};
use crate::tree::{DefId, Dim, Type, TypeVar, Var};
use almach_base::codes::{names as name_codes, sizes as size_codes};
use almach_base::{Diagnostic, Name, Span};
use almach_syntax::ast::{self, Dialect};
use std::collections::HashMap;

/// Who a definition is.
#[derive(Clone)]
pub(super) enum Target {
    Global(DefId),
    Local(Var),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Recursion {
    None,
    /// At one type.
    Monomorphic,
    /// With a complete signature.
    Declared,
}

/// A definition whose signature has been read.
pub(super) struct Member<'d> {
    pub ast: &'d ast::Def,
    pub target: Target,
    pub recursion: Recursion,
    /// Declared type variables and sizes.
    pub types: Vec<TypeVar>,
    pub sizes: Vec<Var>,
    pub type_names: HashMap<Name, TypeVar>,
    pub params: Params,
    pub result: Option<Type>,
    /// What the parameters and sizes bind.
    pub locals: Vec<(Name, Local)>,
    /// The type at which the group uses it.
    pub assumed: Option<Type>,
}

impl Checker<'_> {
    /// Reads a signature and binds its parameters, for the time being in a list of their own.
    pub(super) fn read_signature<'d>(
        &mut self,
        target: Target,
        def: &'d ast::Def,
        cyclic: bool,
    ) -> Member<'d> {
        let outer = self.solver.level;
        let outer_names = self.type_names.clone();
        let mark = self.trail.len();
        let complete = def.result.is_some() && def.params.iter().all(|param| is_annotated(&param.pattern));
        let recursion = match (cyclic, complete) {
            (false, _) => Recursion::None,
            (true, false) => Recursion::Monomorphic,
            (true, true) => Recursion::Declared,
        };
        self.solver.level = outer + 1;
        let types = match (self.solver.dialect, recursion) {
            // The type variables of NOVA are free: they stand for whatever inference finds, one type or all.
            (Dialect::Nova, Recursion::None) => Vec::new(),
            _ => self.declare_type_vars(def),
        };
        let mut sizes = self.declare_sizes(&def.sizes);
        self.refuse_duplicates(def.params.iter().map(|param| &param.pattern));
        let mut params = Params {
            patterns: Vec::new(),
            types: Vec::new(),
        };
        for param in &def.params {
            let ty = self.param_type(&param.pattern, recursion, &mut sizes);
            params
                .patterns
                .push(self.bind_param_pattern(&param.pattern, &ty, outer));
            params.types.push(ty);
            self.solver.level = outer + 1;
        }
        if recursion == Recursion::Monomorphic {
            self.deepen_variables(&params, outer + 2);
        }
        let result = self.result_type(def, recursion, outer);
        self.check_listed_sizes(def, &sizes, &params);
        let locals = self.take_locals(mark);
        let type_names = std::mem::replace(&mut self.type_names, outer_names);
        self.solver.level = outer + 1;
        let assumed = match recursion {
            Recursion::None => None,
            Recursion::Declared => result.as_ref().map(|result| self.function_type(&params, result)),
            Recursion::Monomorphic => {
                let result = match &result {
                    Some(result) => result.clone(),
                    None => self.any_type(def.name.span),
                };
                Some(self.function_type(&params, &result))
            }
        };
        self.solver.level = outer;
        let result = match (recursion, &assumed) {
            (Recursion::Monomorphic, Some(assumed)) => Some(result_of(assumed, params.types.len())),
            _ => result,
        };
        Member {
            ast: def,
            target,
            recursion,
            types,
            sizes,
            type_names,
            params,
            result,
            locals,
            assumed,
        }
    }

    /// The type variables a signature mentions that are not in scope yet.
    fn declare_type_vars(&mut self, def: &ast::Def) -> Vec<TypeVar> {
        let mut names = Vec::new();
        for param in &def.params {
            type_vars_of_pattern(&param.pattern, &mut names);
        }
        if let Some(result) = &def.result {
            type_vars_of(result, &mut names);
        }
        let mut types = Vec::new();
        for (name, span) in names {
            if !self.type_names.contains_key(&name) {
                let var = self.solver.fresh_rigid(name.clone(), span);
                self.type_names.insert(name, var.clone());
                types.push(var);
            }
        }
        types
    }

    fn declare_sizes(&mut self, idents: &[ast::Ident]) -> Vec<Var> {
        let mut sizes: Vec<Var> = Vec::new();
        for ident in idents {
            if sizes.iter().any(|other| other.name == ident.name) {
                self.report(
                    Diagnostic::error(
                        name_codes::DUPLICATE_BINDING,
                        ident.span,
                        format!("the size `{}` is listed twice", ident.name),
                    )
                    .label("again here"),
                );
                continue;
            }
            let var = self
                .solver
                .fresh_var(ident.name.clone(), ident.span, VarKind::Named);
            self.bind_local(ident.name.clone(), Local::Size(var.clone()));
            sizes.push(var);
        }
        sizes
    }

    fn param_type(&mut self, pattern: &ast::Pattern, recursion: Recursion, sizes: &mut Vec<Var>) -> Type {
        let Some(written) = written_type(pattern) else {
            return self.any_type(pattern.span);
        };
        let blank = match recursion {
            Recursion::None | Recursion::Monomorphic => Blank::Infer(Flavour::Parameter),
            Recursion::Declared => Blank::Named,
        };
        let mut reading = Reading::new(blank);
        reading.made_sizes = std::mem::take(sizes);
        let ty = self.read_type(written, &mut reading);
        *sizes = reading.made_sizes;
        ty
    }

    fn result_type(&mut self, def: &ast::Def, recursion: Recursion, outer: u32) -> Option<Type> {
        let written = def.result.as_ref()?;
        let (level, blank) = match recursion {
            Recursion::None => (outer + 2, Blank::Infer(Flavour::Flexible)),
            Recursion::Monomorphic => (outer + 1, Blank::Infer(Flavour::Flexible)),
            Recursion::Declared => (outer, Blank::UnknownOutside),
        };
        self.solver.level = level;
        let ty = self.read_type(written, &mut Reading::new(blank));
        self.solver.level = outer + 1;
        Some(ty)
    }

    /// In every call of the recursion an `i64` parameter is another one.
    fn deepen_variables(&mut self, params: &Params, level: u32) {
        let vars: Vec<Var> = params.variables().flatten().cloned().collect();
        for var in vars {
            if let Some(info) = self.solver.var_mut(&var) {
                info.level = level;
            }
        }
    }

    fn check_listed_sizes(&mut self, def: &ast::Def, sizes: &[Var], params: &Params) {
        for (ident, var) in def.sizes.iter().zip(sizes) {
            let found = params
                .types
                .iter()
                .any(|ty| determines_size(&self.solver.resolve(ty), var));
            if !found {
                self.report(
                    Diagnostic::error(
                        size_codes::SIZE_OF_NOTHING,
                        ident.span,
                        format!("the size `{}` is the size of no parameter", ident.name),
                    )
                    .label("its value would not be known")
                    .help(format!(
                        "make it a parameter instead: `({}: i64)`; an `i64` parameter may appear in sizes",
                        ident.name
                    )),
                );
            }
        }
    }

    fn take_locals(&mut self, mark: usize) -> Vec<(Name, Local)> {
        let mut taken = Vec::new();
        while self.trail.len() > mark {
            if let Some(name) = self.trail.pop()
                && let Some(local) = self.locals.get_mut(&name).and_then(Vec::pop)
            {
                taken.push((name, local));
            }
        }
        taken.reverse();
        taken
    }
}

/// Whether a value of the type has the size in its shape. Values inside data types have sizes of their own.
fn determines_size(ty: &Type, var: &Var) -> bool {
    match ty {
        Type::Array(dim, element) => {
            matches!(dim, Dim::Size(size) if size.mentions(var)) || determines_size(element, var)
        }
        Type::Vector(width, _) => width.mentions(var),
        Type::Tuple(parts) => parts.iter().any(|part| determines_size(part, var)),
        Type::Record(fields) => fields.iter().any(|(_, ty)| determines_size(ty, var)),
        Type::Scalar(_)
        | Type::Data(..)
        | Type::Node { .. }
        | Type::Reference(_)
        | Type::Function(_)
        | Type::Var(_) => false,
    }
}

fn is_annotated(pattern: &ast::Pattern) -> bool {
    written_type(pattern).is_some()
}

/// The type written on a whole parameter.
fn written_type(pattern: &ast::Pattern) -> Option<&ast::TypeExpr> {
    match &pattern.kind {
        ast::PatternKind::Ascribed(_, ty) => Some(ty),
        ast::PatternKind::Paren(inner) => written_type(inner),
        _ => None,
    }
}

fn result_of(ty: &Type, params: usize) -> Type {
    match ty {
        Type::Function(function) if params > 0 => result_of(&function.result, params - 1),
        _ => ty.clone(),
    }
}

fn type_vars_of_pattern(pattern: &ast::Pattern, into: &mut Vec<(Name, Span)>) {
    match &pattern.kind {
        ast::PatternKind::Ascribed(inner, ty) => {
            type_vars_of(ty, into);
            type_vars_of_pattern(inner, into);
        }
        ast::PatternKind::Paren(inner) => type_vars_of_pattern(inner, into),
        ast::PatternKind::Tuple(parts)
        | ast::PatternKind::Constructor(_, parts)
        | ast::PatternKind::NodeConstructor(_, parts) => {
            parts.iter().for_each(|part| type_vars_of_pattern(part, into));
        }
        ast::PatternKind::Record(fields) => {
            fields
                .iter()
                .for_each(|(_, part)| type_vars_of_pattern(part, into));
        }
        ast::PatternKind::Wildcard
        | ast::PatternKind::Var(_)
        | ast::PatternKind::Int { .. }
        | ast::PatternKind::Float { .. }
        | ast::PatternKind::Bool(_)
        | ast::PatternKind::Error => {}
    }
}

fn type_vars_of(ty: &ast::TypeExpr, into: &mut Vec<(Name, Span)>) {
    match &ty.kind {
        ast::TypeKind::Var(name) => into.push((name.clone(), ty.span)),
        ast::TypeKind::Named(_, parts) | ast::TypeKind::Tuple(parts) => {
            parts.iter().for_each(|part| type_vars_of(part, into));
        }
        ast::TypeKind::Record(fields) => fields.iter().for_each(|(_, ty)| type_vars_of(ty, into)),
        ast::TypeKind::Array(_, element) | ast::TypeKind::Vector(_, element) => type_vars_of(element, into),
        ast::TypeKind::Function { param, result, .. } => {
            type_vars_of(param, into);
            type_vars_of(result, into);
        }
        ast::TypeKind::Scalar(_) | ast::TypeKind::Error => {}
    }
}
