//! Walking over Core: every use of a variable, every type, every binder, in the order of evaluation. On top of it:
//! free variables, substitution, and copies with fresh names.
//!
//! Names are bound once in the whole program, so nothing is ever captured: a substitution goes everywhere, and the
//! free variables of a term are those it uses but does not bind.

use crate::ir::{
    Arm, Atom, Body, DataId, Exp, Function, Lambda, Loop, LoopForm, Op, Param, Pattern, ResultType, Size,
    SlicePart, Stmt, Type, Var,
};
use crate::typing::Supply;
use almach_value::Scalar;
use rustc_hash::FxHashMap;
use std::collections::HashSet;

/// Both walkers, by shared and by mutable reference. A binder is visited before its uses, a statement's expression
/// before its pattern.
macro_rules! walker {
    ($(#[$doc:meta])* $Walk:ident, $walk_function:ident, $walk_body:ident, $walk_stmt:ident, $walk_pattern:ident,
     $walk_exp:ident, $walk_lambda:ident, $walk_params:ident, $walk_result:ident, $walk_arm:ident, $walk_loop:ident,
     $walk_parts:ident, $walk_op:ident $(, $mutability:tt)?) => {
        $(#[$doc])*
        pub trait $Walk {
            fn atom(&mut self, _atom: & $($mutability)? Atom) {}
            fn ty(&mut self, _ty: & $($mutability)? Type) {}
            fn binder(&mut self, _var: & $($mutability)? Var) {}
            fn exp(&mut self, exp: & $($mutability)? Exp) {
                $walk_exp(self, exp);
            }
            fn stmt(&mut self, stmt: & $($mutability)? Stmt) {
                $walk_stmt(self, stmt);
            }
            fn body(&mut self, body: & $($mutability)? Body) {
                $walk_body(self, body);
            }
            fn lambda(&mut self, lambda: & $($mutability)? Lambda) {
                $walk_lambda(self, lambda);
            }
        }

        pub fn $walk_function<W: $Walk + ?Sized>(walk: &mut W, function: & $($mutability)? Function) {
            for var in & $($mutability)? function.context {
                walk.binder(var);
            }
            $walk_params(walk, & $($mutability)? function.params);
            $walk_result(walk, & $($mutability)? function.result);
            walk.body(& $($mutability)? function.body);
        }

        pub fn $walk_body<W: $Walk + ?Sized>(walk: &mut W, body: & $($mutability)? Body) {
            for stmt in & $($mutability)? body.stmts {
                walk.stmt(stmt);
            }
            for atom in & $($mutability)? body.context {
                walk.atom(atom);
            }
            for atom in & $($mutability)? body.values {
                walk.atom(atom);
            }
        }

        pub fn $walk_stmt<W: $Walk + ?Sized>(walk: &mut W, stmt: & $($mutability)? Stmt) {
            walk.exp(& $($mutability)? stmt.exp);
            $walk_pattern(walk, & $($mutability)? stmt.pattern);
        }

        pub fn $walk_pattern<W: $Walk + ?Sized>(walk: &mut W, pattern: & $($mutability)? Pattern) {
            for var in & $($mutability)? pattern.context {
                walk.binder(var);
            }
            $walk_params(walk, & $($mutability)? pattern.values);
        }

        pub fn $walk_lambda<W: $Walk + ?Sized>(walk: &mut W, lambda: & $($mutability)? Lambda) {
            for var in & $($mutability)? lambda.context {
                walk.binder(var);
            }
            $walk_params(walk, & $($mutability)? lambda.params);
            $walk_result(walk, & $($mutability)? lambda.result);
            walk.body(& $($mutability)? lambda.body);
        }

        /// All binders first: a parameter's type may mention another parameter.
        fn $walk_params<W: $Walk + ?Sized>(walk: &mut W, params: & $($mutability)? [Param]) {
            for param in & $($mutability)? *params {
                walk.binder(& $($mutability)? param.var);
            }
            for param in & $($mutability)? *params {
                walk.ty(& $($mutability)? param.ty);
            }
        }

        fn $walk_result<W: $Walk + ?Sized>(walk: &mut W, result: & $($mutability)? ResultType) {
            for var in & $($mutability)? result.context {
                walk.binder(var);
            }
            for ty in & $($mutability)? result.types {
                walk.ty(ty);
            }
        }

        fn $walk_arm<W: $Walk + ?Sized>(walk: &mut W, arm: & $($mutability)? Arm) {
            for var in & $($mutability)? arm.context {
                walk.binder(var);
            }
            $walk_params(walk, & $($mutability)? arm.fields);
            walk.body(& $($mutability)? arm.body);
        }

        fn $walk_loop<W: $Walk + ?Sized>(walk: &mut W, looped: & $($mutability)? Loop) {
            for (_, atom) in & $($mutability)? looped.context {
                walk.atom(atom);
            }
            for (_, atom) in & $($mutability)? looped.params {
                walk.atom(atom);
            }
            if let LoopForm::For { bound, .. } = & $($mutability)? looped.form {
                walk.atom(bound);
            }
            for (var, _) in & $($mutability)? looped.context {
                walk.binder(var);
            }
            for (param, _) in & $($mutability)? looped.params {
                walk.binder(& $($mutability)? param.var);
                walk.ty(& $($mutability)? param.ty);
            }
            match & $($mutability)? looped.form {
                LoopForm::For { index, .. } => {
                    walk.binder(& $($mutability)? index.var);
                    walk.ty(& $($mutability)? index.ty);
                }
                LoopForm::While(condition) => walk.body(condition),
            }
            walk.body(& $($mutability)? looped.body);
        }

        fn $walk_parts<W: $Walk + ?Sized>(walk: &mut W, parts: & $($mutability)? [SlicePart]) {
            for part in & $($mutability)? *parts {
                match part {
                    SlicePart::At(atom) => walk.atom(atom),
                    SlicePart::Slice { begin, count, step } => {
                        walk.atom(begin);
                        walk.atom(count);
                        walk.atom(step);
                    }
                }
            }
        }

        fn $walk_op<W: $Walk + ?Sized>(walk: &mut W, op: & $($mutability)? Op) {
            for atom in & $($mutability)? op.args {
                walk.atom(atom);
            }
            for function in & $($mutability)? op.functions {
                walk.lambda(function);
            }
        }

        pub fn $walk_exp<W: $Walk + ?Sized>(walk: &mut W, exp: & $($mutability)? Exp) {
            match exp {
                Exp::Atom(a)
                | Exp::Unary(_, a)
                | Exp::Project(a, _)
                | Exp::Assert { condition: a, text: _ }
                | Exp::Trace { label: _, value: a } => walk.atom(a),
                Exp::Binary(_, a, b) => {
                    walk.atom(a);
                    walk.atom(b);
                }
                Exp::Ternary(_, a, b, c) => {
                    walk.atom(a);
                    walk.atom(b);
                    walk.atom(c);
                }
                Exp::Tuple(atoms)
                | Exp::Construct { data: DataId(_), constructor: _, fields: atoms }
                | Exp::ConstructNode { data: DataId(_), constructor: _, fields: atoms } => {
                    for atom in atoms {
                        walk.atom(atom);
                    }
                }
                Exp::Array(atoms, ty) => {
                    for atom in atoms {
                        walk.atom(atom);
                    }
                    walk.ty(ty);
                }
                Exp::If { condition, then, otherwise, result } => {
                    walk.atom(condition);
                    $walk_result(walk, result);
                    walk.body(then);
                    walk.body(otherwise);
                }
                Exp::Case { scrutinee, arms, default, result } => {
                    walk.atom(scrutinee);
                    $walk_result(walk, result);
                    for arm in arms {
                        $walk_arm(walk, arm);
                    }
                    if let Some(body) = default {
                        walk.body(body);
                    }
                }
                Exp::Loop(looped) => $walk_loop(walk, looped),
                Exp::Call { function: _, context, args } | Exp::Foreign { function: _, context, args } => {
                    for atom in context {
                        walk.atom(atom);
                    }
                    for atom in args {
                        walk.atom(atom);
                    }
                }
                Exp::Op(op) => $walk_op(walk, op),
                Exp::Index { array, indices } => {
                    walk.atom(array);
                    for index in indices {
                        walk.atom(index);
                    }
                }
                Exp::Slice { array, parts } => {
                    walk.atom(array);
                    $walk_parts(walk, parts);
                }
                Exp::Update { array, parts, value, in_place: _ } => {
                    walk.atom(array);
                    $walk_parts(walk, parts);
                    walk.atom(value);
                }
                Exp::Coerce { value, to } => {
                    walk.atom(value);
                    walk.ty(to);
                }
            }
        }
    };
}

walker! {
    /// Visits without changing. Override what is of interest; call the `walk_` function to go on below.
    Walk, walk_function, walk_body, walk_stmt, walk_pattern, walk_exp, walk_lambda, walk_params, walk_result, walk_arm,
    walk_loop, walk_parts, walk_op
}

walker! {
    /// Visits and changes in place.
    WalkMut, walk_function_mut, walk_body_mut, walk_stmt_mut, walk_pattern_mut, walk_exp_mut, walk_lambda_mut,
    walk_params_mut, walk_result_mut, walk_arm_mut, walk_loop_mut, walk_parts_mut, walk_op_mut, mut
}

/// Uses and binders of a term.
#[derive(Default, Debug)]
pub struct Vars {
    pub used: HashSet<Var>,
    pub bound: HashSet<Var>,
}

impl Vars {
    pub fn of_exp(exp: &Exp) -> Vars {
        let mut vars = Vars::default();
        vars.exp(exp);
        vars
    }

    pub fn of_body(body: &Body) -> Vars {
        let mut vars = Vars::default();
        vars.body(body);
        vars
    }

    pub fn of_lambda(lambda: &Lambda) -> Vars {
        let mut vars = Vars::default();
        vars.lambda(lambda);
        vars
    }

    /// Used but not bound.
    pub fn free(&self) -> impl Iterator<Item = &Var> {
        self.used.iter().filter(|var| !self.bound.contains(*var))
    }
}

impl Walk for Vars {
    fn atom(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom {
            self.used.insert(var.clone());
        }
    }

    fn ty(&mut self, ty: &Type) {
        ty.for_each_size_var(&mut |var| {
            self.used.insert(var.clone());
        });
    }

    fn binder(&mut self, var: &Var) {
        self.bound.insert(var.clone());
    }
}

/// How often variables are used, sizes in types included.
#[derive(Default, Debug)]
pub struct UseCounts {
    counts: FxHashMap<Var, usize>,
}

impl UseCounts {
    pub fn of_function(function: &Function) -> UseCounts {
        let mut counts = UseCounts::default();
        walk_function(&mut counts, function);
        counts
    }

    pub fn of(&self, var: &Var) -> usize {
        self.counts.get(var).copied().unwrap_or(0)
    }

    /// One more use.
    pub fn add(&mut self, atom: &Atom) {
        self.atom(atom);
    }
}

impl Walk for UseCounts {
    fn atom(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom {
            *self.counts.entry(var.clone()).or_insert(0) += 1;
        }
    }

    fn ty(&mut self, ty: &Type) {
        ty.for_each_size_var(&mut |var| *self.counts.entry(var.clone()).or_insert(0) += 1);
    }
}

/// Atoms for variables. Chains are followed when a replacement is added, so applying it is one step.
#[derive(Clone, Default, Debug)]
pub struct Substitution {
    atoms: FxHashMap<Var, Atom>,
}

impl Substitution {
    pub fn new() -> Substitution {
        Substitution::default()
    }

    pub fn is_empty(&self) -> bool {
        self.atoms.is_empty()
    }

    /// From now on `atom` stands for `var`. What `atom` itself was replaced by before is put right away.
    pub fn insert(&mut self, var: Var, atom: Atom) {
        let atom = self.of_atom(&atom);
        self.atoms.insert(var, atom);
    }

    pub fn get(&self, var: &Var) -> Option<&Atom> {
        self.atoms.get(var)
    }

    pub fn of_atom(&self, atom: &Atom) -> Atom {
        match atom {
            Atom::Var(var) => self.atoms.get(var).unwrap_or(atom).clone(),
            Atom::Const(_) => atom.clone(),
        }
    }

    pub fn of_type(&self, ty: &Type) -> Type {
        ty.substitute(&|var| self.atoms.get(var).and_then(atom_as_size))
    }

    pub fn apply_body(&mut self, body: &mut Body) {
        if !self.is_empty() {
            self.body(body);
        }
    }

    pub fn apply_exp(&mut self, exp: &mut Exp) {
        if !self.is_empty() {
            self.exp(exp);
        }
    }

    pub fn apply_lambda(&mut self, lambda: &mut Lambda) {
        if !self.is_empty() {
            self.lambda(lambda);
        }
    }

    pub fn apply_pattern(&mut self, pattern: &mut Pattern) {
        for value in &mut pattern.values {
            self.ty(&mut value.ty);
        }
    }
}

impl WalkMut for Substitution {
    fn atom(&mut self, atom: &mut Atom) {
        *atom = self.of_atom(atom);
    }

    fn ty(&mut self, ty: &mut Type) {
        *ty = self.of_type(ty);
    }
}

/// An `i64` atom as a size, without looking at what it is defined to be.
pub fn atom_as_size(atom: &Atom) -> Option<Size> {
    match atom {
        Atom::Var(var) => Some(Size::var(var.clone())),
        Atom::Const(Scalar::I64(value)) => Some(Size::constant(*value)),
        Atom::Const(_) => None,
    }
}

/// Gives every binder it meets a fresh name, and its uses with it.
struct Freshen<'a> {
    supply: &'a mut Supply,
    names: FxHashMap<Var, Var>,
}

impl WalkMut for Freshen<'_> {
    fn atom(&mut self, atom: &mut Atom) {
        if let Atom::Var(var) = atom
            && let Some(new) = self.names.get(var)
        {
            *var = new.clone();
        }
    }

    fn ty(&mut self, ty: &mut Type) {
        *ty = ty.substitute(&|var| self.names.get(var).cloned().map(Size::var));
    }

    fn binder(&mut self, var: &mut Var) {
        let new = self.supply.like(var);
        self.names.insert(var.clone(), new.clone());
        *var = new;
    }
}

/// A copy of a lambda whose binders are all new.
pub fn fresh_lambda(lambda: &Lambda, supply: &mut Supply) -> Lambda {
    let mut copy = lambda.clone();
    let names = FxHashMap::default();
    Freshen { supply, names }.lambda(&mut copy);
    copy
}

/// A copy of a body whose binders are all new.
pub fn fresh_body(body: &Body, supply: &mut Supply) -> Body {
    let mut copy = body.clone();
    let names = FxHashMap::default();
    Freshen { supply, names }.body(&mut copy);
    copy
}

/// A copy of an expression whose binders are all new.
pub fn fresh_exp(exp: &Exp, supply: &mut Supply) -> Exp {
    let mut copy = exp.clone();
    let names = FxHashMap::default();
    Freshen { supply, names }.exp(&mut copy);
    copy
}

/// A copy of a function whose binders are all new.
pub fn fresh_function(function: &Function, supply: &mut Supply) -> Function {
    let mut copy = function.clone();
    let names = FxHashMap::default();
    walk_function_mut(&mut Freshen { supply, names }, &mut copy);
    copy
}
