//! Common subexpressions: what was computed before, in this body or around it, is not computed again.
//!
//! ```text
//! let a: [n]f32 = map (\(x: f32): f32 -> let p: f32 = x * x in p) xs
//! let b: [n]f32 = map (\(y: f32): f32 -> let q: f32 = y * y in q) xs       let c: [n]f32 = map (\(u: f32): f32 ->
//! let c: [n]f32 = map (\(u: f32, v: f32): f32 ->                       =>    let s: f32 = u + u
//!   let s: f32 = u + v                                                       in s) a
//!   in s) a b
//! ```
//!
//! Functions are compared up to the names they bind. An array that `map` takes twice is taken once (NOVA, section 4: common
//! subexpressions among the vector arguments of a map). Foreign calls and what prints are done as often as
//! written, and fixed operations are not merged.
//!
//! Removes: repeated expressions, repeated arguments of `map`. Introduces: nothing.
//! Guarantees: of two equal expressions the first stays, so an error is reported where it was.

use crate::facts::{Facts, is_fixed};
use crate::{Log, Pass};
use almach_base::Span;
use almach_core::visit::{Substitution, WalkMut, walk_exp_mut, walk_function_mut, walk_stmt_mut};
use almach_core::{
    Atom, Body, DataId, Dim, Exp, InPlace, Lambda, Op, Pattern, Program, Recursive, Size, Stmt, Type, Var,
};
use almach_prim::Prim;
use almach_value::{BinOp, ScalarType};
use std::collections::{HashMap, HashSet};

pub const PASS: Pass = Pass {
    name: "common-subexpressions",
    description: "computes equal expressions once",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let mut cse = Cse {
        facts: Facts::of(&program),
        substitution: Substitution::new(),
        seen: HashMap::new(),
        trail: Vec::new(),
        holds_cells: holding_cells(&program),
    };
    for function in &mut program.functions {
        walk_function_mut(&mut cse, function);
    }
    program
}

/// The recursive types, and those whose values hold some.
fn holding_cells(program: &Program) -> HashSet<DataId> {
    fn mentions(ty: &Type, known: &HashSet<DataId>) -> bool {
        match ty {
            Type::Scalar(_) | Type::Vector(..) => false,
            Type::Tuple(parts) => parts.iter().any(|part| mentions(part, known)),
            Type::Array(_, element) => mentions(element, known),
            Type::Data(id) | Type::Node(id) => known.contains(id),
        }
    }
    let mut known = HashSet::new();
    loop {
        let before = known.len();
        for (id, def) in (0..).map(DataId).zip(&program.data) {
            let mut fields = def
                .constructors
                .iter()
                .flat_map(|constructor| &constructor.fields);
            if def.recursive == Recursive::Yes || fields.any(|field| mentions(field, &known)) {
                known.insert(id);
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

struct Cse {
    facts: Facts,
    substitution: Substitution,
    /// Expressions in scope by their text, with what binds them.
    seen: HashMap<String, Pattern>,
    trail: Vec<String>,
    /// The recursive types, and those whose values hold some.
    holds_cells: HashSet<DataId>,
}

impl WalkMut for Cse {
    fn atom(&mut self, atom: &mut Atom) {
        self.substitution.atom(atom);
    }

    fn ty(&mut self, ty: &mut Type) {
        self.substitution.ty(ty);
    }

    fn body(&mut self, body: &mut Body) {
        let mark = self.trail.len();
        body.stmts.retain_mut(|stmt| {
            walk_stmt_mut(self, stmt);
            !self.is_repeated(stmt)
        });
        body.context.iter_mut().for_each(|atom| self.atom(atom));
        body.values.iter_mut().for_each(|atom| self.atom(atom));
        for key in self.trail.drain(mark..) {
            self.seen.remove(&key);
        }
    }

    fn exp(&mut self, exp: &mut Exp) {
        if let Exp::Op(op) = exp {
            for arg in &mut op.args {
                self.substitution.atom(arg);
            }
            self.merge_arguments(op);
        }
        walk_exp_mut(self, exp);
    }
}

impl Cse {
    /// Whether an equal expression is in scope; then its names stand for these.
    fn is_repeated(&mut self, stmt: &Stmt) -> bool {
        if !self.may_be_shared(&stmt.exp) || self.makes_cells(stmt) {
            return false;
        }
        let key = self.size_key(stmt).unwrap_or_else(|| key(&stmt.exp));
        match self.seen.get(&key) {
            Some(before)
                if before.context.len() == stmt.pattern.context.len()
                    && before.values.len() == stmt.pattern.values.len() =>
            {
                for (var, known) in stmt.pattern.context.iter().zip(&before.context) {
                    self.substitution.insert(var.clone(), Atom::Var(known.clone()));
                }
                for (value, known) in stmt.pattern.values.iter().zip(&before.values) {
                    self.substitution
                        .insert(value.var.clone(), Atom::Var(known.var.clone()));
                }
                true
            }
            Some(_) => false,
            None => {
                self.seen.insert(key.clone(), stmt.pattern.clone());
                self.trail.push(key);
                false
            }
        }
    }

    /// Numbers that are sums and products of others are compared as sizes are: `n + n` is `n * 2`.
    fn size_key(&self, stmt: &Stmt) -> Option<String> {
        let (Exp::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul, ..), [value]) =
            (&stmt.exp, stmt.pattern.values.as_slice())
        else {
            return None;
        };
        let own = Size::var(value.var.clone());
        let size = self.facts.env.normalise_size(&own);
        (value.ty == Type::Scalar(ScalarType::I64) && size != own).then(|| format!("size {size}"))
    }

    /// Whether a statement may make cells of a recursive type: those of two evaluations are different nodes. (A constructor
    /// without fields has one cell for all.)
    fn makes_cells(&self, stmt: &Stmt) -> bool {
        let gives_data = || {
            stmt.pattern
                .values
                .iter()
                .any(|value| self.holds_cells(&value.ty))
        };
        match &stmt.exp {
            Exp::Construct { fields, .. } => !fields.is_empty() && gives_data(),
            Exp::Op(op) if matches!(op.prim, Prim::FromNodes | Prim::Constructed | Prim::Build) => true,
            Exp::Op(op) => !op.functions.is_empty() && gives_data(),
            Exp::Call { .. } => gives_data(),
            _ => false,
        }
    }

    fn holds_cells(&self, ty: &Type) -> bool {
        match ty {
            Type::Scalar(_) | Type::Vector(..) => false,
            Type::Tuple(parts) => parts.iter().any(|part| self.holds_cells(part)),
            Type::Array(_, element) => self.holds_cells(element),
            Type::Data(id) | Type::Node(id) => self.holds_cells.contains(id),
        }
    }

    fn may_be_shared(&self, exp: &Exp) -> bool {
        match exp {
            // Copies are for copy propagation; larger expressions are seldom equal and dear to compare.
            Exp::Atom(_) | Exp::If { .. } | Exp::Case { .. } | Exp::Loop(_) => false,
            Exp::Foreign { .. } | Exp::Trace { .. } => false,
            Exp::Update {
                in_place: InPlace::Required,
                ..
            } => false,
            Exp::Call { .. } => !self.facts.prints(exp) && !self.facts.holds_fixed(exp),
            Exp::Op(op) if op.prim == Prim::Materialise => false,
            Exp::Op(op) => {
                !is_fixed(op)
                    && (op.functions.is_empty() || (!self.facts.holds_fixed(exp) && !self.facts.prints(exp)))
            }
            Exp::Unary(..)
            | Exp::Binary(..)
            | Exp::Ternary(..)
            | Exp::Tuple(_)
            | Exp::Project(..)
            | Exp::Array(..)
            | Exp::Construct { .. }
            | Exp::ConstructNode { .. }
            | Exp::Index { .. }
            | Exp::Slice { .. }
            | Exp::Update { .. }
            | Exp::Coerce { .. }
            | Exp::Assert { .. } => true,
        }
    }

    /// `map f xs xs` needs `xs` once.
    fn merge_arguments(&mut self, op: &mut Op) {
        if op.prim != Prim::Map || is_fixed(op) {
            return;
        }
        let [function] = op.functions.as_mut_slice() else {
            return;
        };
        let mut at = 1;
        while at < op.args.len() && at < function.params.len() {
            let first = op.args.iter().position(|arg| Some(arg) == op.args.get(at));
            match first {
                Some(first) if first < at => {
                    if let Some((from, count)) = self.context_of(&op.args, at)
                        && let Some((to, _)) = self.context_of(&op.args, first)
                    {
                        self.merge(
                            function,
                            Merge {
                                first,
                                at,
                                to,
                                from,
                                count,
                            },
                        );
                        op.args.remove(at);
                        continue;
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Where the sizes of an argument's rows stand in the context of the function, and how many they are.
    fn context_of(&self, args: &[Atom], at: usize) -> Option<(usize, usize)> {
        let mut start = 0;
        for (index, arg) in args.iter().enumerate() {
            let count = match self.facts.env.atom_type(arg).ok()? {
                Type::Array(Dim::Size(_), element) => element.open_count(),
                _ => return None,
            };
            if index == at {
                return Some((start, count));
            }
            start += count;
        }
        None
    }

    fn merge(&mut self, function: &mut Lambda, merge: Merge) {
        for offset in 0..merge.count {
            let gone = function.context.remove(merge.from);
            if let Some(kept) = function.context.get(merge.to + offset) {
                self.substitution.insert(gone, Atom::Var(kept.clone()));
            }
        }
        let gone = function.params.remove(merge.at);
        if let Some(kept) = function.params.get(merge.first) {
            self.substitution.insert(gone.var, Atom::Var(kept.var.clone()));
        }
    }
}

/// Argument `at` is `first` again; its sizes start at `from`, those of `first` at `to`.
struct Merge {
    first: usize,
    at: usize,
    to: usize,
    from: usize,
    count: usize,
}

/// Equal exactly for expressions that are equal up to the names they bind. A variable is its number: its name is for people.
fn key(exp: &Exp) -> String {
    let mut copy = exp.clone();
    let mut names = Canonical {
        names: HashMap::new(),
    };
    names.exp(&mut copy);
    format!("{copy:?}")
}

/// Numbers binders from the top, where no variable of the program is.
struct Canonical {
    names: HashMap<Var, Var>,
}

impl Canonical {
    fn of(&self, var: &Var) -> Var {
        self.names.get(var).cloned().unwrap_or_else(|| Var {
            id: var.id,
            name: "".into(),
        })
    }
}

impl WalkMut for Canonical {
    fn atom(&mut self, atom: &mut Atom) {
        if let Atom::Var(var) = atom {
            *var = self.of(var);
        }
    }

    fn ty(&mut self, ty: &mut Type) {
        *ty = ty.substitute(&|var| Some(Size::var(self.of(var))));
    }

    fn binder(&mut self, var: &mut Var) {
        let name = Var {
            id: u32::MAX - self.names.len() as u32,
            name: "".into(),
        };
        self.names.insert(var.clone(), name.clone());
        *var = name;
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        stmt.span = Span::NONE;
        walk_stmt_mut(self, stmt);
    }
}
