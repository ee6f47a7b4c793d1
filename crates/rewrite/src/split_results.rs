//! Split results: what a branch gives as a tuple it gives in parts, and so does a map that is only unzipped.
//!
//! ```text
//! let t: (f32, i64) = if c: (f32, i64) then          let <a: f32, i: i64> = if c: <f32, i64> then <x, 1i64>
//!     let u: (f32, i64) = (x, 1i64)              =>    else
//!     in u                                               let b: f32 = s.0
//!   else s                                               let j: i64 = s.1
//!                                                        in <b, j>
//!                                                    let t: (f32, i64) = (a, i)
//! ```
//!
//! It stands before views, which take tuples apart that are known. Elaboration gives the results of branches in parts, so that a
//! program that comes back as source has them so too.
//!
//! `unzip (map (\x -> (a, b)) xs)` is one map with two results, as `horizontal` makes them; where `b` is a pair whose array is
//! unzipped again there are three, and so on. A level that stands on the map stays.
//!
//! Removes: results of branches, and of such maps, that are tuples. Introduces: tuples of their parts.

use crate::{Log, Pass};
use almach_base::Span;
use almach_core::build::{Builder, enter_pattern};
use almach_core::visit::{UseCounts, WalkMut, walk_function_mut, walk_stmt_mut};
use almach_core::{Atom, Body, Dim, Exp, Lambda, Op, Param, Pattern, Program, ResultType, Stmt, Type};
use almach_prim::{Annotation, Prim};

pub const PASS: Pass = Pass {
    name: "split-results",
    description: "gives results of branches and maps that are tuples in parts",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let mut builder = Builder::for_program(&program);
    for function in &program.functions {
        builder.enter_function(function);
    }
    let mut split = Split {
        builder,
        uses: UseCounts::default(),
    };
    for function in &mut program.functions {
        split.uses = UseCounts::of_function(function);
        walk_function_mut(&mut split, function);
    }
    program.next_var = split.builder.supply.next_var();
    program
}

struct Split {
    builder: Builder,
    /// In the function at hand.
    uses: UseCounts,
}

impl WalkMut for Split {
    fn body(&mut self, body: &mut Body) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        let unzipped: Vec<Atom> = body.stmts.iter().filter_map(unzipped).collect();
        for mut stmt in std::mem::take(&mut body.stmts) {
            walk_stmt_mut(self, &mut stmt);
            let mut after = Vec::new();
            let span = stmt.span;
            match &mut stmt.exp {
                Exp::If {
                    then,
                    otherwise,
                    result,
                    ..
                } => self.split(vec![then, otherwise], result, &mut stmt.pattern, span, &mut after),
                Exp::Case {
                    arms,
                    default,
                    result,
                    ..
                } => {
                    let bodies = arms.iter_mut().map(|arm| &mut arm.body).chain(default);
                    self.split(bodies.collect(), result, &mut stmt.pattern, span, &mut after);
                }
                Exp::Op(op) if op.prim == Prim::Map => {
                    self.split_map(op, &mut stmt.pattern, &unzipped, span, &mut after);
                }
                _ => {}
            }
            stmts.push(stmt);
            // The last one made holds the parts of the one before it.
            stmts.extend(after.into_iter().rev());
        }
        body.stmts = stmts;
    }
}

/// What an `unzip` takes apart.
fn unzipped(stmt: &Stmt) -> Option<Atom> {
    match &stmt.exp {
        Exp::Op(op) if op.prim == Prim::Unzip => op.args.first().cloned(),
        _ => None,
    }
}

impl Split {
    fn split(
        &mut self,
        mut bodies: Vec<&mut Body>,
        result: &mut ResultType,
        pattern: &mut Pattern,
        span: Span,
        after: &mut Vec<Stmt>,
    ) {
        while let Some(at) = result.types.iter().position(|ty| matches!(ty, Type::Tuple(_))) {
            let (Some(Type::Tuple(types)), Some(whole)) = (result.types.get(at), pattern.values.get(at))
            else {
                return;
            };
            let (types, whole) = (types.clone(), whole.clone());
            let Type::Tuple(shown) = &whole.ty else {
                return;
            };
            let parts: Vec<Param> = shown
                .iter()
                .map(|ty| self.bound(whole.var.name.as_str(), ty.clone()))
                .collect();
            let atoms = parts.iter().map(|part| Atom::Var(part.var.clone())).collect();
            pattern.values.splice(at..=at, parts);
            result.types.splice(at..=at, types.clone());
            for body in &mut bodies {
                let parts = self.parts(body, at, types.len(), span);
                body.values.splice(at..=at, parts);
            }
            after.push(self.stmt(whole, Exp::Tuple(atoms), span));
        }
    }

    /// Arrays of pairs that a map gives and that are only unzipped are given one by one; the statements that zip them again.
    fn split_map(
        &mut self,
        op: &mut Op,
        pattern: &mut Pattern,
        unzipped: &[Atom],
        span: Span,
        after: &mut Vec<Stmt>,
    ) {
        let [function] = op.functions.as_mut_slice() else {
            return;
        };
        let mut at = 0;
        while at < function.result.types.len() {
            match self.split_rows(function, pattern, at, unzipped, span) {
                Some(zip) => after.push(zip),
                None => at += 1,
            }
        }
    }

    /// One of the arrays of a map in two; the statement that zips them again.
    fn split_rows(
        &mut self,
        function: &mut Lambda,
        pattern: &mut Pattern,
        at: usize,
        unzipped: &[Atom],
        span: Span,
    ) -> Option<Stmt> {
        let (Type::Tuple(types), whole) = (function.result.types.get(at)?, pattern.values.get(at)?) else {
            return None;
        };
        let Type::Array(Dim::Size(size), element) = &whole.ty else {
            return None;
        };
        let Type::Tuple(shown) = &**element else {
            return None;
        };
        let is_unzipped = unzipped.contains(&Atom::Var(whole.var.clone())) && self.uses.of(&whole.var) == 1;
        if !is_unzipped || types.len() != 2 {
            return None;
        }
        let (types, shown, size, whole) = (types.clone(), shown.clone(), size.clone(), whole.clone());
        let values = self.parts(&mut function.body, at, types.len(), span);
        if values.len() != types.len() {
            return None;
        }
        function.body.values.splice(at..=at, values);
        function.result.types.splice(at..=at, types);
        let row = |ty: Type| Type::Array(Dim::Size(size.clone()), Box::new(ty));
        let arrays: Vec<Param> = shown
            .into_iter()
            .map(|ty| self.bound(whole.var.name.as_str(), row(ty)))
            .collect();
        let args = arrays.iter().map(|array| Atom::Var(array.var.clone())).collect();
        pattern.values.splice(at..=at, arrays);
        let zip = Exp::Op(Op {
            prim: Prim::Zip,
            annotation: Annotation::default(),
            functions: Vec::new(),
            args,
        });
        Some(self.stmt(whole, zip, span))
    }

    /// The components of a value of a body, taken apart at its end where they have no names.
    fn parts(&mut self, body: &mut Body, at: usize, count: usize, span: Span) -> Vec<Atom> {
        let Some(Atom::Var(var)) = body.values.get(at).cloned() else {
            return Vec::new();
        };
        let made = body
            .stmts
            .iter()
            .find_map(|stmt| match (&stmt.exp, stmt.pattern.values.as_slice()) {
                (Exp::Tuple(parts), [value]) if value.var == var => Some(parts.clone()),
                _ => None,
            });
        if let Some(parts) = made {
            return parts;
        }
        let types = match self.builder.env.atom_type(&Atom::Var(var.clone())) {
            Ok(Type::Tuple(types)) if types.len() == count => types,
            _ => return Vec::new(),
        };
        let mut parts = Vec::with_capacity(count);
        for (part, ty) in (0..).zip(types) {
            let value = self.bound("t", ty);
            parts.push(Atom::Var(value.var.clone()));
            let stmt = self.stmt(value, Exp::Project(Atom::Var(var.clone()), part), span);
            body.stmts.push(stmt);
        }
        parts
    }

    fn bound(&mut self, name: &str, ty: Type) -> Param {
        let var = self.builder.supply.fresh(name);
        Param { var, ty }
    }

    fn stmt(&mut self, value: Param, exp: Exp, span: Span) -> Stmt {
        let pattern = Pattern {
            context: Vec::new(),
            values: vec![value],
        };
        enter_pattern(&mut self.builder.env, &pattern, &exp);
        Stmt { pattern, exp, span }
    }
}
