//! Which sizes need a name: those that are used as values, or in types that the source writes. And what types variables
//! have.

use almach_core::{
    Arm, Atom, Body, Dim, Exp, Function, Lambda, Loop, LoopForm, Param, Program, SlicePart, Stmt, Type, Var,
};
use almach_prim::Prim;
use almach_value::BinOp;
use std::collections::{HashMap, HashSet};

#[derive(Default)]
pub(crate) struct Uses {
    used: HashSet<Var>,
    types: HashMap<Var, Type>,
    /// Numbers that are computed with divisions.
    quotients: HashSet<Var>,
    /// Sizes of functions: the type checker knows that these are not negative.
    parameters: HashSet<Var>,
}

/// What the source writes of the type of a loop's state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateType {
    /// Nothing: inference finds it.
    Left,
    /// The sizes of arrays that no iteration changes, which inference might not see.
    Sizes,
    /// `[?]`: the size of an array may differ between iterations, which inference might not see either (`0` and `2 * 0`).
    Changing,
}

impl StateType {
    pub fn of(looped: &Loop, ty: &Type) -> StateType {
        let mut is_array = false;
        ty.for_each_dim(&mut |_| is_array = true);
        match (keeps_sizes(looped, ty), ty) {
            (false, Type::Array(Dim::Size(size), element))
                if keeps_sizes(looped, element) && size.as_var().is_some_and(|var| has_once(looped, var)) =>
            {
                StateType::Changing
            }
            (false, _) => StateType::Left,
            (true, _) if is_array => StateType::Sizes,
            (true, _) => StateType::Left,
        }
    }
}

/// Whether no iteration changes a size in a type.
fn keeps_sizes(looped: &Loop, ty: &Type) -> bool {
    let mut keeps = true;
    ty.for_each_size_var(&mut |var| keeps &= looped.context.iter().all(|(own, _)| own != var));
    keeps
}

/// Whether one component of the state alone has a size: `[?]` twice would be two sizes.
fn has_once(looped: &Loop, size: &Var) -> bool {
    let mut times = 0;
    for (param, _) in &looped.params {
        param
            .ty
            .for_each_size_var(&mut |var| times += usize::from(var == size));
    }
    times == 1
}

impl Uses {
    pub fn of(program: &Program) -> Uses {
        let mut uses = Uses::default();
        for function in &program.functions {
            uses.function(function);
        }
        uses
    }

    pub fn contains(&self, var: &Var) -> bool {
        self.used.contains(var)
    }

    pub fn type_of(&self, var: &Var) -> Option<&Type> {
        self.types.get(var)
    }

    fn params<'a>(&mut self, params: impl IntoIterator<Item = &'a Param>) {
        for param in params {
            self.types.insert(param.var.clone(), param.ty.clone());
        }
    }

    fn function(&mut self, function: &Function) {
        self.parameters.extend(function.context.iter().cloned());
        self.params(&function.params);
        self.body(&function.body);
    }

    fn atom(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom {
            self.used.insert(var.clone());
        }
    }

    fn atoms<'a>(&mut self, atoms: impl IntoIterator<Item = &'a Atom>) {
        atoms.into_iter().for_each(|atom| self.atom(atom));
    }

    fn ty(&mut self, ty: &Type) {
        ty.for_each_size_var(&mut |var| {
            self.used.insert(var.clone());
        });
    }

    /// The type that the source writes after an array, whose size Core knows to be less of a formula than the number that was
    /// given for it: `(2*k + 1)/2` is `k` where `k` is not negative, which the type checker may not know. Nor that an array
    /// of `k + 2` elements has `k` windows of three then.
    pub fn said_type<'s>(&self, stmt: &'s Stmt) -> Option<&'s Type> {
        let [value] = stmt.pattern.values.as_slice() else {
            return None;
        };
        // A number that is a size of the array as it is says enough.
        let mut is_size = HashSet::new();
        let mut has_quotients = false;
        value.ty.for_each_dim(&mut |dim| {
            if let Dim::Size(size) = dim {
                is_size.extend(size.as_var());
                has_quotients |= size.has_quotients();
            }
        });
        let is_computed = |var: &Var| !self.parameters.contains(var);
        let is_quotient = |atom: &Atom| matches!(atom, Atom::Var(var) if self.quotients.contains(var) && !is_size.contains(var));
        let given = match &stmt.exp {
            Exp::Slice { parts, .. } => parts
                .iter()
                .any(|part| matches!(part, SlicePart::Slice { count, .. } if is_quotient(count))),
            Exp::Op(op) if matches!(op.prim, Prim::Iota | Prim::Replicate) => {
                op.args.first().is_some_and(is_quotient)
            }
            Exp::Op(op) if op.prim == Prim::Slide && stmt.pattern.context.is_empty() => match &value.ty {
                Type::Array(Dim::Size(windows), _) => windows.occurrences().any(is_computed),
                _ => false,
            },
            _ => false,
        };
        (given && !has_quotients).then_some(&value.ty)
    }

    fn note_quotient(&mut self, stmt: &Stmt) {
        let Exp::Binary(op, a, b) = &stmt.exp else {
            return;
        };
        let of_one = [a, b]
            .into_iter()
            .any(|atom| matches!(atom, Atom::Var(var) if self.quotients.contains(var)));
        if *op == BinOp::Div || of_one {
            let values = stmt.pattern.values.iter();
            self.quotients.extend(values.map(|value| value.var.clone()));
        }
    }

    /// Contexts are implicit in the source, so they are no uses.
    fn body(&mut self, body: &Body) {
        for stmt in &body.stmts {
            self.note_quotient(stmt);
            if let Some(ty) = self.said_type(stmt) {
                self.ty(ty);
            }
            self.exp(&stmt.exp);
            self.params(&stmt.pattern.values);
        }
        self.atoms(&body.values);
    }

    fn lambda(&mut self, lambda: &Lambda) {
        self.params(&lambda.params);
        self.body(&lambda.body);
    }

    fn parts(&mut self, parts: &[SlicePart]) {
        for part in parts {
            match part {
                SlicePart::At(at) => self.atom(at),
                SlicePart::Slice { begin, count, step } => self.atoms([begin, count, step]),
            }
        }
    }

    fn arm(&mut self, arm: &Arm) {
        self.params(&arm.fields);
        self.body(&arm.body);
    }

    fn looped(&mut self, looped: &Loop) {
        for (param, _) in &looped.params {
            match (StateType::of(looped, &param.ty), &param.ty) {
                (StateType::Sizes, ty) => self.ty(ty),
                (StateType::Changing, Type::Array(_, element)) => self.ty(element),
                (StateType::Changing | StateType::Left, _) => {}
            }
        }
        self.atoms(looped.params.iter().map(|(_, initial)| initial));
        self.params(looped.params.iter().map(|(param, _)| param));
        match &looped.form {
            LoopForm::For { index, bound } => {
                self.params([index]);
                self.atom(bound);
            }
            LoopForm::While(condition) => self.body(condition),
        }
        self.body(&looped.body);
    }

    fn exp(&mut self, exp: &Exp) {
        match exp {
            Exp::Atom(a) | Exp::Unary(_, a) | Exp::Project(a, _) => self.atom(a),
            Exp::Binary(_, a, b) => self.atoms([a, b]),
            Exp::Ternary(_, a, b, c) => self.atoms([a, b, c]),
            Exp::Tuple(parts) => self.atoms(parts),
            Exp::Array(elements, ty) => {
                self.atoms(elements);
                self.ty(ty);
            }
            Exp::Construct { fields, .. } | Exp::ConstructNode { fields, .. } => self.atoms(fields),
            Exp::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                self.atom(condition);
                self.body(then);
                self.body(otherwise);
            }
            Exp::Case {
                scrutinee,
                arms,
                default,
                ..
            } => {
                self.atom(scrutinee);
                arms.iter().for_each(|arm| self.arm(arm));
                if let Some(body) = default {
                    self.body(body);
                }
            }
            Exp::Loop(looped) => self.looped(looped),
            // A size that no argument shows is an argument itself.
            Exp::Call { context, args, .. } | Exp::Foreign { context, args, .. } => {
                self.atoms(context);
                self.atoms(args);
            }
            Exp::Op(op) => {
                op.functions.iter().for_each(|function| self.lambda(function));
                self.atoms(&op.args);
            }
            Exp::Index { array, indices } => {
                self.atom(array);
                self.atoms(indices);
            }
            Exp::Slice { array, parts } => {
                self.atom(array);
                self.parts(parts);
            }
            Exp::Update {
                array, parts, value, ..
            } => {
                self.atom(array);
                self.parts(parts);
                self.atom(value);
            }
            Exp::Coerce { value, to } => {
                self.atom(value);
                self.ty(to);
            }
            Exp::Assert { condition, .. } => self.atom(condition),
            Exp::Trace { value, .. } => self.atom(value),
        }
    }
}
