//! The state of inference: what is known about type variables and sizes so far.
//!
//! Metavariables are ordinary [`Type::Var`]s and size variables whose entry in the tables here says that they are open
//! or solved; so the typed tree is built with its final types in place and only has to be resolved at the end.
//!
//! *Levels* say where something was bound: a function (definition, lambda, loop body, `foreach`) binds its parameters one
//! level deeper than its surroundings and everything inside its body another level deeper. A metavariable may only stand
//! for what is bound at its own level or outside. That is both the condition for generalising (a metavariable deeper than
//! the surroundings belongs to nobody else) and the scope check of sizes and node references.

use crate::errors::Cause;
use crate::tree::{Constraint, Dim, Size, Type, TypeVar, Var};
use almach_base::{Name, Span};
use almach_nat::{Poly, Range, Ranges};
use almach_syntax::ast::Dialect;

pub(crate) type Level = u32;

#[derive(Clone)]
pub(crate) struct TypeVarInfo {
    pub name: Name,
    pub span: Span,
    pub level: Level,
    pub constraint: Constraint,
    /// What asked for the constraint.
    pub constraint_span: Span,
    pub binding: TypeBinding,
}

#[derive(Clone)]
pub(crate) enum TypeBinding {
    Open,
    /// Written by the user as `'a`, or generalised.
    Rigid,
    Solved(Type),
}

#[derive(Clone)]
pub(crate) struct VarInfo {
    pub var: Var,
    pub span: Span,
    pub level: Level,
    pub kind: VarKind,
}

#[derive(Clone)]
pub(crate) enum VarKind {
    /// A variable of the program; where it is an `i64` it may appear in sizes.
    Program,
    /// A `let` of an `i64` that equals this polynomial.
    Known(Size),
    /// A size bound by `[n]`, or one that inference generalised.
    Named,
    /// A size known only at run time; the text says which: `the size of this slice`.
    Unknown(String),
    Open(Flavour),
    Solved(Size),
}

/// Which metavariable of two gives way: the first of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Flavour {
    /// From the use of a polymorphic definition, or an annotation `[]`.
    Flexible,
    /// Of an array in the state of a loop, until the body is known.
    LoopState,
    /// `[]` in a parameter.
    Parameter,
}

pub(crate) struct ReferenceInfo {
    pub level: Level,
    pub span: Span,
    /// For messages: `n` and `s` in a `foreach`, `r` in a `build`, with numbers where they are nested.
    pub name: String,
}

/// Two sizes that must be equal and could not be compared yet.
#[derive(Clone)]
pub(crate) struct Equation {
    pub found: Size,
    pub expected: Size,
    pub cause: Cause,
}

pub(crate) struct Solver {
    /// Of the file now being checked.
    pub dialect: Dialect,
    pub size_checks: SizeChecks,
    pub level: Level,
    pub type_vars: Vec<TypeVarInfo>,
    pub vars: Vec<VarInfo>,
    pub references: Vec<ReferenceInfo>,
    pub equations: Vec<Equation>,
    /// Why the types now being compared have to agree; kept with equations that have to wait.
    pub cause: Cause,
    /// What variables were before they changed, while an attempt is made that may be taken back.
    undo: Vec<Undo>,
    attempts: u32,
    /// How many unknown sizes the definitions now being inferred have, so that each has a name of its own.
    pub unknown_sizes: u32,
}

/// When sizes are compared that have to be equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SizeChecks {
    /// What cannot be proved is an error.
    AtCompileTime,
    /// What cannot be proved is compared when the program runs, as elaboration does in any case.
    AtRunTime,
}

impl Default for Solver {
    fn default() -> Solver {
        Solver {
            dialect: Dialect::Almach,
            size_checks: SizeChecks::AtCompileTime,
            level: 0,
            type_vars: Vec::new(),
            vars: Vec::new(),
            references: Vec::new(),
            equations: Vec::new(),
            cause: Cause::default(),
            undo: Vec::new(),
            attempts: 0,
            unknown_sizes: 0,
        }
    }
}

enum Undo {
    TypeVar(u32, TypeVarInfo),
    Var(u32, VarInfo),
}

/// Where an attempt began.
pub(crate) struct Attempt {
    undo: usize,
    equations: Vec<Equation>,
}

impl Solver {
    /// From here on changes can be taken back, until the attempt ends one way or the other.
    pub fn attempt(&mut self) -> Attempt {
        self.attempts += 1;
        Attempt {
            undo: self.undo.len(),
            equations: self.equations.clone(),
        }
    }

    pub fn keep(&mut self, _attempt: Attempt) {
        self.attempts -= 1;
        if self.attempts == 0 {
            self.undo.clear();
        }
    }

    pub fn take_back(&mut self, attempt: Attempt) {
        while self.undo.len() > attempt.undo {
            match self.undo.pop() {
                Some(Undo::TypeVar(id, before)) => {
                    if let Some(info) = self.type_vars.get_mut(id as usize) {
                        *info = before;
                    }
                }
                Some(Undo::Var(id, before)) => {
                    if let Some(info) = self.vars.get_mut(id as usize) {
                        *info = before;
                    }
                }
                None => break,
            }
        }
        self.equations = attempt.equations;
        self.attempts -= 1;
    }

    pub fn type_var_mut(&mut self, var: &TypeVar) -> Option<&mut TypeVarInfo> {
        let info = self.type_vars.get_mut(var.id as usize)?;
        if self.attempts > 0 {
            self.undo.push(Undo::TypeVar(var.id, info.clone()));
        }
        Some(info)
    }

    pub fn var_mut(&mut self, var: &Var) -> Option<&mut VarInfo> {
        let info = self.vars.get_mut(var.id as usize)?;
        if self.attempts > 0 {
            self.undo.push(Undo::Var(var.id, info.clone()));
        }
        Some(info)
    }

    pub fn fresh_type(&mut self, constraint: Constraint, span: Span) -> Type {
        let id = self.type_vars.len() as u32;
        let name = Name::from("_");
        self.type_vars.push(TypeVarInfo {
            name: name.clone(),
            span,
            level: self.level,
            constraint,
            constraint_span: span,
            binding: TypeBinding::Open,
        });
        Type::Var(TypeVar { id, name })
    }

    pub fn fresh_rigid(&mut self, name: Name, span: Span) -> TypeVar {
        let id = self.type_vars.len() as u32;
        self.type_vars.push(TypeVarInfo {
            name: name.clone(),
            span,
            level: self.level,
            constraint: Constraint::Any,
            constraint_span: span,
            binding: TypeBinding::Rigid,
        });
        TypeVar { id, name }
    }

    pub fn fresh_var(&mut self, name: Name, span: Span, kind: VarKind) -> Var {
        let var = Var {
            id: self.vars.len() as u32,
            name,
        };
        self.vars.push(VarInfo {
            var: var.clone(),
            span,
            level: self.level,
            kind,
        });
        var
    }

    pub fn fresh_size(&mut self, flavour: Flavour, span: Span) -> Size {
        Poly::var(self.fresh_var(Name::from("_"), span, VarKind::Open(flavour)))
    }

    /// A size nobody knows before run time.
    pub fn unknown_size(&mut self, span: Span, which: impl Into<String>) -> Size {
        let name = self.unknown_name();
        Poly::var(self.fresh_var(name, span, VarKind::Unknown(which.into())))
    }

    /// `k`, `k2`, `k3`, …
    pub fn unknown_name(&mut self) -> Name {
        self.unknown_sizes += 1;
        match self.unknown_sizes {
            1 => Name::from("k"),
            more => Name::from(format!("k{more}").as_str()),
        }
    }

    pub fn fresh_reference(&mut self, span: Span, name: String) -> u32 {
        self.references.push(ReferenceInfo {
            level: self.level,
            span,
            name,
        });
        self.references.len() as u32 - 1
    }

    pub fn type_var(&self, var: &TypeVar) -> Option<&TypeVarInfo> {
        self.type_vars.get(var.id as usize)
    }

    pub fn var_info(&self, var: &Var) -> Option<&VarInfo> {
        self.vars.get(var.id as usize)
    }

    pub fn set_var_kind(&mut self, var: &Var, kind: VarKind) {
        if let Some(info) = self.var_mut(var) {
            info.kind = kind;
        }
    }

    pub fn is_open_size(&self, var: &Var) -> bool {
        matches!(self.var_info(var).map(|info| &info.kind), Some(VarKind::Open(_)))
    }

    /// The type with solved metavariables at its head followed.
    pub fn head<'a>(&'a self, ty: &'a Type) -> &'a Type {
        let mut ty = ty;
        while let Type::Var(var) = ty {
            match self.type_var(var).map(|info| &info.binding) {
                Some(TypeBinding::Solved(solution)) => ty = solution,
                _ => break,
            }
        }
        ty
    }

    /// The open metavariable at the head of a type.
    pub fn open_head(&self, ty: &Type) -> Option<TypeVar> {
        match self.head(ty) {
            Type::Var(var)
                if matches!(
                    self.type_var(var).map(|info| &info.binding),
                    Some(TypeBinding::Open)
                ) =>
            {
                Some(var.clone())
            }
            _ => None,
        }
    }

    /// A size with everything known put in.
    pub fn size(&self, size: &Size) -> Size {
        let known = |var: &Var| match self.var_info(var).map(|info| &info.kind) {
            Some(VarKind::Solved(solution) | VarKind::Known(solution)) => Some(self.size(solution)),
            _ => None,
        };
        if size.occurrences().any(|var| known(var).is_some()) {
            size.substitute(known)
        } else {
            size.clone()
        }
    }

    /// A type with everything known put in.
    pub fn resolve(&self, ty: &Type) -> Type {
        map_type(
            ty,
            &mut |ty| match self.head(ty) {
                Type::Var(var) => Replaced::With(Type::Var(var.clone())),
                head if std::ptr::eq(head, ty) => Replaced::Descend,
                head => Replaced::With(self.resolve(head)),
            },
            &mut |dim, _| match dim {
                Dim::Size(size) => Dim::Size(self.size(size)),
                Dim::Unknown => Dim::Unknown,
            },
        )
    }

    /// What is known about sizes: array sizes are not negative, `i64` variables may be.
    pub fn ranges_of(&self, size: &Size) -> Ranges<Var> {
        let mut ranges = Ranges::unknown();
        for var in size.free_vars() {
            match self.var_info(var).map(|info| &info.kind) {
                Some(VarKind::Program) | None => {}
                Some(
                    VarKind::Named
                    | VarKind::Unknown(_)
                    | VarKind::Open(_)
                    | VarKind::Known(_)
                    | VarKind::Solved(_),
                ) => ranges.set(var.clone(), Range::natural()),
            }
        }
        ranges
    }
}

pub(crate) enum Replaced {
    Descend,
    With(Type),
}

/// Where a dimension stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Of the value itself, or of a component of a tuple or record: `?` is opened here.
    Outer,
    /// Of an array inside a data type: every value has its own there.
    Field,
    /// Below another array, or in a function type: `?` is jagged.
    Inner,
}

/// A copy of a type with parts replaced. `on_dim` also sees the widths of vectors (as sizes).
pub(crate) fn map_type(
    ty: &Type,
    on_type: &mut dyn FnMut(&Type) -> Replaced,
    on_dim: &mut dyn FnMut(&Dim, Place) -> Dim,
) -> Type {
    map_type_at(ty, Place::Outer, on_type, on_dim)
}

fn map_type_at(
    ty: &Type,
    place: Place,
    on_type: &mut dyn FnMut(&Type) -> Replaced,
    on_dim: &mut dyn FnMut(&Dim, Place) -> Dim,
) -> Type {
    if let Replaced::With(ty) = on_type(ty) {
        return ty;
    }
    match ty {
        Type::Scalar(_) | Type::Reference(_) | Type::Var(_) => ty.clone(),
        Type::Vector(width, element) => {
            let width = match on_dim(&Dim::Size(width.clone()), Place::Inner) {
                Dim::Size(width) => width,
                Dim::Unknown => width.clone(),
            };
            Type::Vector(
                width,
                Box::new(map_type_at(element, Place::Inner, on_type, on_dim)),
            )
        }
        Type::Tuple(parts) => Type::Tuple(
            parts
                .iter()
                .map(|part| map_type_at(part, place, on_type, on_dim))
                .collect(),
        ),
        Type::Record(fields) => Type::Record(
            fields
                .iter()
                .map(|(name, ty)| (name.clone(), map_type_at(ty, place, on_type, on_dim)))
                .collect(),
        ),
        Type::Array(dim, element) => {
            let dim = on_dim(dim, place);
            Type::Array(dim, Box::new(map_type_at(element, Place::Inner, on_type, on_dim)))
        }
        Type::Data(data, args) => Type::Data(
            *data,
            args.iter()
                .map(|arg| map_type_at(arg, Place::Field, on_type, on_dim))
                .collect(),
        ),
        Type::Node {
            data,
            args,
            reference,
        } => Type::Node {
            data: *data,
            args: args
                .iter()
                .map(|arg| map_type_at(arg, Place::Field, on_type, on_dim))
                .collect(),
            reference: Box::new(map_type_at(reference, Place::Field, on_type, on_dim)),
        },
        Type::Function(function) => Type::Function(Box::new(crate::tree::FunctionType {
            binder: function.binder.clone(),
            param: map_type_at(&function.param, Place::Inner, on_type, on_dim),
            result: map_type_at(&function.result, Place::Inner, on_type, on_dim),
        })),
    }
}

/// Calls a function for every part of a type, outside in.
pub(crate) fn walk_type(ty: &Type, visit: &mut dyn FnMut(&Type)) {
    visit(ty);
    match ty {
        Type::Scalar(_) | Type::Reference(_) | Type::Var(_) => {}
        Type::Vector(_, element) | Type::Array(_, element) => walk_type(element, visit),
        Type::Tuple(parts) | Type::Data(_, parts) => parts.iter().for_each(|part| walk_type(part, visit)),
        Type::Record(fields) => fields.iter().for_each(|(_, ty)| walk_type(ty, visit)),
        Type::Node { args, reference, .. } => {
            args.iter().for_each(|arg| walk_type(arg, visit));
            walk_type(reference, visit);
        }
        Type::Function(function) => {
            walk_type(&function.param, visit);
            walk_type(&function.result, visit);
        }
    }
}

/// The sizes that stand directly at this part of a type.
pub(crate) fn size_here(ty: &Type) -> Option<&Size> {
    match ty {
        Type::Vector(size, _) | Type::Array(Dim::Size(size), _) => Some(size),
        _ => None,
    }
}
