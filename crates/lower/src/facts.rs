//! What the translation wants to know of a function before it starts: how often each variable is used, whether under a
//! loop or lambda that it is not bound in, and which `i64` variables are sizes.

use almach_core::visit::{Walk, walk_body, walk_exp, walk_lambda, walk_stmt};
use almach_core::{Atom, Body, Exp, Function, Lambda, LoopForm, Stmt, Type, Var};
use almach_value::{BinOp, UnOp};
use std::collections::{HashMap, HashSet};

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Uses {
    pub(crate) count: u32,
    /// Some use runs more often than the binding.
    pub(crate) repeated: bool,
}

#[derive(Default)]
pub(crate) struct Facts {
    uses: HashMap<Var, Uses>,
    sizes: HashSet<Var>,
    /// Depth in loops and lambdas at which a variable is bound.
    bound_at: HashMap<Var, u32>,
    depth: u32,
    /// `i64` variables that are sums, differences, products or quotients, with their operands.
    made_of: HashMap<Var, Vec<Var>>,
}

impl Facts {
    pub(crate) fn of(function: &Function) -> Facts {
        let mut facts = Facts::default();
        for var in &function.context {
            facts.sizes.insert(var.clone());
        }
        almach_core::visit::walk_function(&mut facts, function);
        facts.close_sizes();
        facts
    }

    pub(crate) fn uses(&self, var: &Var) -> Uses {
        self.uses.get(var).copied().unwrap_or_default()
    }

    /// Whether a type depends on the variable.
    pub(crate) fn is_size(&self, var: &Var) -> bool {
        self.sizes.contains(var)
    }

    /// Makes a number a size too, where all that it is made of are sizes or such numbers.
    pub(crate) fn also_size(&mut self, var: &Var, numbers: &HashSet<Var>) {
        let (mut open, mut found) = (vec![var.clone()], HashSet::new());
        while let Some(var) = open.pop() {
            if self.sizes.contains(&var) || !found.insert(var.clone()) {
                continue;
            }
            if !numbers.contains(&var) {
                return;
            }
            open.extend(self.made_of.get(&var).into_iter().flatten().cloned());
        }
        self.sizes.extend(found);
    }

    fn close_sizes(&mut self) {
        let mut open: Vec<Var> = self.sizes.iter().cloned().collect();
        while let Some(var) = open.pop() {
            for operand in self.made_of.get(&var).cloned().unwrap_or_default() {
                if self.sizes.insert(operand.clone()) {
                    open.push(operand);
                }
            }
        }
    }

    fn deeper(&mut self, inside: impl FnOnce(&mut Facts)) {
        self.depth += 1;
        inside(self);
        self.depth -= 1;
    }
}

impl Walk for Facts {
    fn atom(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom {
            let bound_at = self.bound_at.get(var).copied().unwrap_or(0);
            let uses = self.uses.entry(var.clone()).or_default();
            uses.count += 1;
            uses.repeated |= self.depth > bound_at;
        }
    }

    fn ty(&mut self, ty: &Type) {
        ty.for_each_size_var(&mut |var| {
            self.sizes.insert(var.clone());
        });
    }

    fn binder(&mut self, var: &Var) {
        self.bound_at.insert(var.clone(), self.depth);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        walk_stmt(self, stmt);
        for var in &stmt.pattern.context {
            self.sizes.insert(var.clone());
        }
        if let ([], [value]) = (stmt.pattern.context.as_slice(), stmt.pattern.values.as_slice()) {
            let operands: Vec<Var> = match &stmt.exp {
                Exp::Atom(a) | Exp::Unary(UnOp::Neg, a) => vars([a]),
                Exp::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div, a, b) => vars([a, b]),
                _ => return,
            };
            self.made_of.insert(value.var.clone(), operands);
        }
    }

    fn exp(&mut self, exp: &Exp) {
        match exp {
            Exp::Loop(looped) => {
                for (_, atom) in &looped.context {
                    self.atom(atom);
                }
                for (param, atom) in &looped.params {
                    self.ty(&param.ty);
                    self.atom(atom);
                }
                if let LoopForm::For { bound, .. } = &looped.form {
                    self.atom(bound);
                }
                self.deeper(|facts| {
                    for (var, _) in &looped.context {
                        facts.sizes.insert(var.clone());
                        facts.binder(var);
                    }
                    for (param, _) in &looped.params {
                        facts.binder(&param.var);
                    }
                    match &looped.form {
                        LoopForm::For { index, .. } => facts.binder(&index.var),
                        LoopForm::While(condition) => facts.body(condition),
                    }
                    facts.body(&looped.body);
                });
            }
            _ => walk_exp(self, exp),
        }
    }

    fn body(&mut self, body: &Body) {
        walk_body(self, body);
    }

    fn lambda(&mut self, lambda: &Lambda) {
        for var in lambda.context.iter().chain(&lambda.result.context) {
            self.sizes.insert(var.clone());
        }
        self.deeper(|facts| walk_lambda(facts, lambda));
    }
}

fn vars<const N: usize>(atoms: [&Atom; N]) -> Vec<Var> {
    let vars = atoms.into_iter().filter_map(|atom| match atom {
        Atom::Var(var) => Some(var.clone()),
        Atom::Const(_) => None,
    });
    vars.collect()
}
