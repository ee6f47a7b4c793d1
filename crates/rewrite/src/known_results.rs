//! Known results: what a branch, loop or function gives and everybody knows already is not given.
//!
//! ```text
//! let {k} <xs: [k]f32, t: f32> = if c: {m} <[m]f32, f32> then     let xs: [n]f32 = if c: [n]f32 then
//!     let a: [n]f32 = reverse as                                      let a: [n]f32 = reverse as
//!     in {n} <a, x>                                           =>      in a
//!   else {n} <as, x>                                                else as
//! ```
//!
//! It stands behind folding, which finds out what is known. Elaboration writes no such results, so that a program that comes
//! back as source has none either.
//!
//! Removes: lengths that types tell, sizes in the contexts of branches, loops and functions that are known outside, and values that all branches share.
//! Introduces: nothing. Guarantees: fixed operations stay.

use crate::{Log, Pass};
use almach_base::Span;
use almach_core::build::Builder;
use almach_core::typing::{Supply, result_type};
use almach_core::visit::{Substitution, WalkMut, walk_function_mut, walk_stmt_mut};
use almach_core::{
    Atom, Body, Dim, Exp, Function, Loop, Op, Pattern, Program, ResultType, Size, Stmt, Type, Var,
};
use almach_prim::Prim;
use std::collections::{HashMap, HashSet};

pub const PASS: Pass = Pass {
    name: "known-results",
    description: "leaves out results that are known without them",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let mut builder = Builder::for_program(&program);
    for function in &program.functions {
        builder.enter_function(function);
    }
    let mut known = Known {
        builder,
        substitution: Substitution::new(),
        signatures: HashMap::new(),
        before: Vec::new(),
    };
    for (id, function) in (0..).zip(&program.functions) {
        let sizes = known.function_sizes(function);
        if sizes.iter().any(Option::is_some) {
            known.signatures.insert(id, (function.clone(), sizes));
        }
    }
    for (id, function) in (0..).zip(&mut program.functions) {
        if let Some((_, sizes)) = known.signatures.get(&id) {
            let sizes = sizes.clone();
            drop_context(&mut function.result, &sizes);
            drop_known(&mut function.body.context, &sizes);
        }
        walk_function_mut(&mut known, function);
    }
    program.next_var = known.builder.supply.next_var();
    program
}

struct Known {
    builder: Builder,
    substitution: Substitution,
    /// Functions as they were, with what each size of their result's context is in terms of their parameters.
    signatures: HashMap<u32, (Function, Vec<Option<Size>>)>,
    /// Statements that compute known sizes, to stand before the one that gave them.
    before: Vec<Stmt>,
}

impl WalkMut for Known {
    fn atom(&mut self, atom: &mut Atom) {
        self.substitution.atom(atom);
    }

    fn ty(&mut self, ty: &mut Type) {
        self.substitution.ty(ty);
    }

    fn body(&mut self, body: &mut Body) {
        let outer = std::mem::take(&mut self.before);
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts) {
            self.stmt(&mut stmt);
            stmts.append(&mut self.before);
            stmts.push(stmt);
        }
        self.before = outer;
        body.stmts = stmts;
        body.context.iter_mut().for_each(|atom| self.atom(atom));
        body.values.iter_mut().for_each(|atom| self.atom(atom));
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        let span = stmt.span;
        if let Exp::Loop(looped) = &mut stmt.exp {
            self.looped(looped, &mut stmt.pattern, span);
        }
        walk_stmt_mut(self, stmt);
        match &mut stmt.exp {
            Exp::If {
                then,
                otherwise,
                result,
                ..
            } => self.joined(
                vec![then, otherwise],
                HashSet::new(),
                result,
                &mut stmt.pattern,
                span,
            ),
            Exp::Case {
                arms,
                default,
                result,
                ..
            } => {
                let mut inside: HashSet<Var> = HashSet::new();
                for arm in arms.iter() {
                    inside.extend(arm.context.iter().cloned());
                    inside.extend(arm.fields.iter().map(|field| field.var.clone()));
                }
                let bodies = arms.iter_mut().map(|arm| &mut arm.body).chain(default);
                self.joined(bodies.collect(), inside, result, &mut stmt.pattern, span);
            }
            Exp::Call {
                function,
                context,
                args,
            } => self.call(function.0, context, args, &mut stmt.pattern, span),
            Exp::Op(op) if op.prim == Prim::Slide => self.slide(op, &mut stmt.pattern, span),
            Exp::Op(op) if op.prim == Prim::Length => self.length(op, &stmt.pattern, span),
            _ => {}
        }
    }
}

impl Known {
    /// A size as it is now.
    fn size(&self, atom: &Atom) -> Option<Size> {
        let size = self.builder.env.size(atom).ok()?;
        let known = |var: &Var| match self.substitution.get(var)? {
            Atom::Var(var) => Some(Size::var(var.clone())),
            atom @ Atom::Const(_) => self.builder.env.size(atom).ok(),
        };
        Some(size.substitute(known))
    }

    /// What a function's parameters tell about the sizes of its result.
    fn function_sizes(&self, function: &Function) -> Vec<Option<Size>> {
        let is_param = |var: &Var| {
            function.context.contains(var) || function.params.iter().any(|param| param.var == *var)
        };
        let known = |atom: &Atom| {
            let size = self.size(atom)?;
            (size.occurrences().all(is_param) && is_safe(&size)).then_some(size)
        };
        function.body.context.iter().map(known).collect()
    }

    fn call(&mut self, id: u32, context: &[Atom], args: &[Atom], pattern: &mut Pattern, span: Span) {
        let Some((function, sizes)) = self.signatures.get(&id) else {
            return;
        };
        let params = function.params.iter().map(|param| &param.var);
        let given = function.context.iter().zip(context).chain(params.zip(args));
        let given: HashMap<&Var, &Atom> = given.collect();
        let instance = |size: &Size| size.substitute(|var| self.size(given.get(var)?));
        let sizes: Vec<Option<Size>> = sizes.iter().map(|size| size.as_ref().map(instance)).collect();
        self.forget(&sizes, pattern, span);
    }

    /// The number of windows of an array that is long enough.
    fn slide(&mut self, op: &Op, pattern: &mut Pattern, span: Span) {
        if pattern.context.is_empty() {
            return;
        }
        let mut supply = Supply::starting_at(self.builder.supply.next_var());
        let exp = Exp::Op(op.clone());
        let found = result_type(&exp, &self.builder.env, &self.builder.signatures, &mut supply);
        if let Ok(ResultType { context, types }) = found
            && context.is_empty()
            && let [Type::Array(Dim::Size(size), _)] = types.as_slice()
        {
            self.forget(&[Some(size.clone())], pattern, span);
        }
    }

    /// A length that the type tells is computed from what the type says.
    fn length(&mut self, op: &Op, pattern: &Pattern, span: Span) {
        if let ([array], [value]) = (op.args.as_slice(), pattern.values.as_slice())
            && let Ok(Type::Array(Dim::Size(size), _)) = self.builder.env.atom_type(array)
            && is_safe(&size)
        {
            let size = size.substitute(|var| self.size(&Atom::Var(var.clone())));
            let atom = self.computed(&size, span);
            self.substitution.insert(value.var.clone(), atom);
        }
    }

    /// The sizes of a pattern's context that are known go.
    fn forget(&mut self, sizes: &[Option<Size>], pattern: &mut Pattern, span: Span) {
        for (var, size) in pattern.context.iter().zip(sizes) {
            if let Some(size) = size {
                let atom = self.computed(size, span);
                self.substitution.insert(var.clone(), atom);
            }
        }
        drop_known(&mut pattern.context, sizes);
        for value in &mut pattern.values {
            self.substitution.ty(&mut value.ty);
        }
    }

    /// An atom that holds the size.
    fn computed(&mut self, size: &Size, span: Span) -> Atom {
        self.builder.enter();
        let atom = self.builder.size_atom(size, span);
        let body = self.builder.leave(Vec::new(), Vec::new());
        for stmt in &body.stmts {
            almach_core::build::enter_pattern(&mut self.builder.env, &stmt.pattern, &stmt.exp);
        }
        self.before.extend(body.stmts);
        // Operators on numbers are well typed.
        atom.unwrap_or(Atom::Const(almach_value::Scalar::I64(0)))
    }

    fn joined(
        &mut self,
        mut bodies: Vec<&mut Body>,
        mut inside: HashSet<Var>,
        result: &mut ResultType,
        pattern: &mut Pattern,
        span: Span,
    ) {
        for body in &bodies {
            for stmt in &body.stmts {
                inside.extend(stmt.pattern.context.iter().cloned());
                inside.extend(stmt.pattern.values.iter().map(|value| value.var.clone()));
            }
        }
        let is_outside = |var: &Var| !inside.contains(var);
        let sizes: Vec<Option<Size>> = (0..result.context.len())
            .map(|at| {
                let mut sizes = bodies.iter().map(|body| self.size(body.context.get(at)?));
                let first = sizes.next()??;
                let same = sizes.all(|size| size.as_ref() == Some(&first));
                (same && first.occurrences().all(is_outside) && is_safe(&first)).then_some(first)
            })
            .collect();
        let values: Vec<Option<Atom>> = (0..result.types.len())
            .map(|at| {
                let mut atoms = bodies.iter().map(|body| body.values.get(at));
                let first = atoms.next()??;
                let same = atoms.all(|atom| atom.is_some_and(|atom| same_atom(atom, first)));
                let outside = !matches!(first, Atom::Var(var) if inside.contains(var));
                (same && outside).then(|| first.clone())
            })
            .collect();
        drop_context(result, &sizes);
        drop_known(&mut result.types, &values);
        for body in &mut bodies {
            drop_known(&mut body.context, &sizes);
            drop_known(&mut body.values, &values);
        }
        self.forget(&sizes, pattern, span);
        for (value, atom) in pattern.values.iter().zip(&values) {
            if let Some(atom) = atom {
                self.substitution.insert(value.var.clone(), atom.clone());
            }
        }
        drop_known(&mut pattern.values, &values);
    }

    /// Sizes of the state that no iteration changes are what they were at first.
    fn looped(&mut self, looped: &mut Loop, pattern: &mut Pattern, span: Span) {
        let next = &looped.body.context;
        let sizes = looped.context.iter().zip(next).map(|((var, initial), next)| {
            let next = self.size(next)?;
            let first = self.size(initial)?;
            let stays = next == first || next.as_var() == Some(var);
            stays.then_some(first)
        });
        let sizes: Vec<Option<Size>> = sizes.collect();
        for ((var, initial), size) in looped.context.iter().zip(&sizes) {
            if size.is_some() {
                let atom = self.substitution.of_atom(initial);
                self.substitution.insert(var.clone(), atom);
            }
        }
        drop_known(&mut looped.context, &sizes);
        drop_known(&mut looped.body.context, &sizes);
        self.forget(&sizes, pattern, span);
    }
}

/// Whether computing the size cannot fail.
fn is_safe(size: &Size) -> bool {
    size.terms().iter().all(|(monomial, _)| {
        let mut factors = monomial.factors().iter();
        factors.all(|(atom, _)| match atom {
            almach_nat::Atom::Var(_) => true,
            almach_nat::Atom::Quotient(ratio) => {
                let by_a_number = ratio.divisor.as_constant().is_some_and(|divisor| divisor > 0);
                by_a_number && is_safe(&ratio.dividend)
            }
            almach_nat::Atom::Remainder(_) | almach_nat::Atom::Unfolded(_) => false,
        })
    })
}

fn same_atom(a: &Atom, b: &Atom) -> bool {
    match (a, b) {
        (Atom::Var(a), Atom::Var(b)) => a == b,
        (Atom::Const(a), Atom::Const(b)) => a.same(*b),
        (Atom::Var(_), Atom::Const(_)) | (Atom::Const(_), Atom::Var(_)) => false,
    }
}

/// The sizes that are known stand in the types for their names.
fn drop_context(result: &mut ResultType, sizes: &[Option<Size>]) {
    let known: HashMap<Var, Size> = result
        .context
        .iter()
        .zip(sizes)
        .filter_map(|(var, size)| Some((var.clone(), size.clone()?)))
        .collect();
    drop_known(&mut result.context, sizes);
    for ty in &mut result.types {
        *ty = ty.substitute(&|var| known.get(var).cloned());
    }
}

fn drop_known<T, K>(items: &mut Vec<T>, known: &[Option<K>]) {
    let mut known = known.iter();
    items.retain(|_| !matches!(known.next(), Some(Some(_))));
}
