//! Views of views: tuples taken apart again, and rearrangements that undo each other.
//!
//! ```text
//! let t: (f32, i32) = (x, i)                let t: (f32, i32) = (x, i)
//! let y: f32 = t.0                          let y: f32 = x
//! let r: [n]f32 = reverse xs            =>  let r: [n]f32 = reverse xs
//! let s: [n]f32 = reverse r                 let s: [n]f32 = xs
//! let m: [n]f32 = map (\(e: f32): f32 -> e) s    let m: [n]f32 = xs
//! ```
//!
//! Fusion and inlining leave these behind. An operation that may fail is not passed over unless its types say that it
//! does not.
//!
//! Removes: projections of known tuples, pairs of rearrangements. Introduces: copies. Guarantees: fixed operations stay.

use crate::facts::{Facts, is_fixed};
use crate::{Log, Pass};
use almach_core::visit::{WalkMut, walk_function_mut, walk_stmt_mut};
use almach_core::{Atom, Exp, Op, Program, Stmt, Type, Var};
use almach_prim::Prim;
use almach_value::Scalar;
use std::collections::HashMap;

pub const PASS: Pass = Pass {
    name: "views",
    description: "takes tuples apart and removes rearrangements that undo each other",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let mut views = Views {
        facts: Facts::of(&program),
        known: HashMap::new(),
    };
    for function in &mut program.functions {
        walk_function_mut(&mut views, function);
    }
    program
}

struct Views {
    facts: Facts,
    /// What names are bound to, as far as it matters here.
    known: HashMap<Var, Known>,
}

#[derive(Clone)]
enum Known {
    Copy(Atom),
    Tuple(Vec<Atom>),
    Project(Atom, u32),
    /// A primitive without functions.
    Op(Prim, Vec<Atom>),
}

impl WalkMut for Views {
    fn stmt(&mut self, stmt: &mut Stmt) {
        walk_stmt_mut(self, stmt);
        if let Some(exp) = self.simplified(&stmt.exp)
            && self.fits(&exp, stmt)
        {
            stmt.exp = exp;
        }
        self.learn(stmt);
    }
}

impl Views {
    fn learn(&mut self, stmt: &Stmt) {
        let [value] = stmt.pattern.values.as_slice() else {
            return;
        };
        let known = match &stmt.exp {
            Exp::Atom(atom) => Known::Copy(self.origin(atom)),
            Exp::Tuple(parts) => Known::Tuple(parts.clone()),
            Exp::Project(tuple, at) => Known::Project(self.origin(tuple), *at),
            Exp::Op(op) if op.functions.is_empty() && !is_fixed(op) => Known::Op(op.prim, op.args.clone()),
            _ => return,
        };
        self.known.insert(value.var.clone(), known);
    }

    /// What a copy is a copy of.
    fn origin(&self, atom: &Atom) -> Atom {
        match self.lookup(atom) {
            Some(Known::Copy(origin)) => origin.clone(),
            _ => atom.clone(),
        }
    }

    fn lookup(&self, atom: &Atom) -> Option<&Known> {
        match atom {
            Atom::Var(var) => self.known.get(var),
            Atom::Const(_) => None,
        }
    }

    fn made_by(&self, atom: &Atom) -> Option<&Known> {
        match self.lookup(atom) {
            Some(Known::Copy(origin)) => self.lookup(origin),
            known => known,
        }
    }

    /// A copy must have the type of what it replaces: that is what shows that nothing was lost on the way.
    fn fits(&self, exp: &Exp, stmt: &Stmt) -> bool {
        match (exp, stmt.pattern.values.as_slice()) {
            (Exp::Atom(atom), [value]) => {
                let env = &self.facts.env;
                stmt.pattern.context.is_empty()
                    && env.atom_type(atom).is_ok_and(|ty| env.same_type(&ty, &value.ty))
            }
            _ => true,
        }
    }

    fn simplified(&self, exp: &Exp) -> Option<Exp> {
        match exp {
            Exp::Project(tuple, at) => match self.made_by(tuple)? {
                Known::Tuple(parts) => parts.get(*at as usize).cloned().map(Exp::Atom),
                Known::Op(Prim::Unzip, args) => match (self.made_by(args.first()?)?, at) {
                    (Known::Op(Prim::Zip, args), at) => args.get(*at as usize).cloned().map(Exp::Atom),
                    _ => None,
                },
                _ => None,
            },
            Exp::Op(op) if !is_fixed(op) => self.simplified_op(op),
            _ => None,
        }
    }

    fn simplified_op(&self, op: &Op) -> Option<Exp> {
        let copy = |atom: &Atom| Some(Exp::Atom(atom.clone()));
        match (op.prim, op.args.as_slice()) {
            (Prim::Unzip, [pairs]) => match self.made_by(pairs)? {
                Known::Op(Prim::Zip, args) => Some(Exp::Tuple(args.clone())),
                _ => None,
            },
            (Prim::Zip, [left, right]) => self.zipped_again(left, right),
            (Prim::Reverse | Prim::Transpose, [array]) => match self.made_by(array)? {
                Known::Op(prim, args) if *prim == op.prim => copy(args.first()?),
                _ => None,
            },
            (Prim::Join, [array]) => match self.made_by(array)? {
                // The types are only equal where the width provably divides the size.
                Known::Op(Prim::Split, args) => match args.as_slice() {
                    [Atom::Const(Scalar::I64(1..)), array] => copy(array),
                    _ => None,
                },
                _ => None,
            },
            (Prim::Split, [Atom::Const(Scalar::I64(1..)), array]) => match self.made_by(array)? {
                Known::Op(Prim::Join, args) => copy(args.first()?),
                _ => None,
            },
            (Prim::Gather, [indices, array]) => match self.made_by(indices)? {
                Known::Op(Prim::Iota, _) => copy(array),
                _ => None,
            },
            // Of equal types: all is taken, nothing dropped, nothing added.
            (Prim::Take, [_, array]) => copy(array),
            (Prim::Drop | Prim::Rotate, [Atom::Const(Scalar::I64(0)), array]) => copy(array),
            (Prim::Pad, [Atom::Const(Scalar::I64(0)), Atom::Const(Scalar::I64(0)), _, array]) => copy(array),
            (Prim::Concat, [left, right]) => match (self.is_empty(left), self.is_empty(right)) {
                (true, _) => copy(right),
                (_, true) => copy(left),
                (false, false) => None,
            },
            (Prim::Map, [array]) => match op.functions.as_slice() {
                [function] => match (function.params.as_slice(), function.body.values.as_slice()) {
                    ([param], [Atom::Var(value)])
                        if *value == param.var
                            && function.body.stmts.is_empty()
                            && function.body.values.len() == 1 =>
                    {
                        copy(array)
                    }
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// `zip u.0 u.1` where `u` is `unzip` of an array is that array.
    fn zipped_again(&self, left: &Atom, right: &Atom) -> Option<Exp> {
        match (self.made_by(left)?, self.made_by(right)?) {
            (Known::Project(a, 0), Known::Project(b, 1)) if a == b => match self.made_by(a)? {
                Known::Op(Prim::Unzip, args) => Some(Exp::Atom(args.first()?.clone())),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the array has no elements, and making it is no error. (Parts of opposite sizes, one of them negative, make
    /// a size of 0 too.)
    fn is_empty(&self, array: &Atom) -> bool {
        if let Some(Known::Op(Prim::Concat | Prim::Pad, _)) = self.made_by(array) {
            return false;
        }
        match self.facts.env.atom_type(array) {
            Ok(Type::Array(almach_core::Dim::Size(size), _)) => size.is_zero(),
            _ => false,
        }
    }
}
