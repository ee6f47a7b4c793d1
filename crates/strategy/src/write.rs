//! Short ways to write Core: operations at a level, functions in place, the bodies of functions spliced in.

use crate::Chooser;
use almach_base::Span;
use almach_core::typing::Typed;
use almach_core::visit::{Substitution, fresh_lambda};
use almach_core::{Atom, Dim, Exp, Lambda, Op, Param, ResultType, Size, Type, Var};
use almach_prim::{Annotation, Level, Prim};
use almach_value::{BinOp, Scalar};
use std::collections::HashMap;

/// What the variables of spliced statements are, for those that look at how a value was made.
pub(crate) type Definitions = HashMap<Var, Exp>;

pub(crate) fn int(value: i64) -> Atom {
    Atom::Const(Scalar::I64(value))
}

/// An operation at a level.
pub(crate) fn at_level(prim: Prim, level: Level, functions: Vec<Lambda>, args: Vec<Atom>) -> Exp {
    Exp::Op(Op {
        prim,
        annotation: Annotation {
            level: Some(level),
            ..Annotation::NONE
        },
        functions,
        args,
    })
}

/// An operation that takes no level.
pub(crate) fn view(prim: Prim, args: Vec<Atom>) -> Exp {
    almach_core::build::op(prim, Vec::new(), args)
}

/// A view that takes a level: it runs nowhere.
pub(crate) fn levelled(exp: Exp) -> Exp {
    match exp {
        Exp::Op(op) => at_level(op.prim, Level::Seq, op.functions, op.args),
        other => other,
    }
}

impl Chooser {
    /// A function whose body `inside` writes, given its parameters.
    pub(crate) fn lambda_of<const N: usize>(
        &mut self,
        params: [(&str, Type); N],
        inside: impl FnOnce(&mut Self, [Atom; N]) -> Typed<Atom>,
    ) -> Typed<Lambda> {
        let params = params.map(|(name, ty)| self.builder.param(name, ty));
        let atoms = params.clone().map(|param| Atom::Var(param.var));
        self.function_of(params.to_vec(), |this| inside(this, atoms))
    }

    /// A function of an element of each of some arrays.
    pub(crate) fn lambda_over(
        &mut self,
        name: &str,
        arrays: &[Atom],
        inside: impl FnOnce(&mut Self, Vec<Atom>) -> Typed<Atom>,
    ) -> Typed<Lambda> {
        let elements: Vec<Type> = arrays
            .iter()
            .filter_map(|array| self.array_type(array))
            .map(|(_, element)| element)
            .collect();
        let params: Vec<Param> = elements
            .into_iter()
            .map(|ty| self.builder.param(name, ty))
            .collect();
        let atoms = params.iter().map(|param| Atom::Var(param.var.clone())).collect();
        self.function_of(params, |this| inside(this, atoms))
    }

    fn function_of(
        &mut self,
        params: Vec<Param>,
        inside: impl FnOnce(&mut Self) -> Typed<Atom>,
    ) -> Typed<Lambda> {
        self.builder.enter();
        let value = inside(self)?;
        let ty = self.builder.type_of(&value)?;
        let body = self.builder.leave(Vec::new(), vec![value]);
        Ok(Lambda {
            context: Vec::new(),
            params,
            result: ResultType::one(ty),
            body,
        })
    }

    /// The statements of a function applied to arguments; what it gives.
    pub(crate) fn splice(
        &mut self,
        function: &Lambda,
        arguments: &[Atom],
        definitions: &mut Definitions,
    ) -> Typed<Vec<Atom>> {
        let copy = fresh_lambda(function, &mut self.builder.supply);
        let mut given = Substitution::new();
        for (param, atom) in copy.params.iter().zip(arguments) {
            given.insert(param.var.clone(), atom.clone());
        }
        for mut stmt in copy.body.stmts {
            given.apply_exp(&mut stmt.exp);
            given.apply_pattern(&mut stmt.pattern);
            if let [value] = stmt.pattern.values.as_slice() {
                definitions.insert(value.var.clone(), stmt.exp.clone());
            }
            self.builder.push(stmt.pattern, stmt.exp, stmt.span);
        }
        Ok(copy
            .body
            .values
            .iter()
            .map(|value| given.of_atom(value))
            .collect())
    }

    pub(crate) fn bind(&mut self, exp: Exp, name: &str, span: Span) -> Typed<Atom> {
        self.builder.bind(exp, name, span)
    }

    pub(crate) fn arithmetic(&mut self, op: BinOp, a: Atom, b: Atom, name: &str, span: Span) -> Typed<Atom> {
        self.bind(Exp::Binary(op, a, b), name, span)
    }

    /// Size and element type of an array of known size.
    pub(crate) fn array_type(&self, array: &Atom) -> Option<(Size, Type)> {
        match self.builder.type_of(array).ok()? {
            Type::Array(Dim::Size(size), element) => Some((size, *element)),
            _ => None,
        }
    }

    /// The elements of an array from some on, and those before.
    pub(crate) fn cut(&mut self, array: &Atom, at: &Atom, span: Span) -> Typed<(Atom, Atom)> {
        let head = self.bind(view(Prim::Take, vec![at.clone(), array.clone()]), "head", span)?;
        let rest = self.bind(view(Prim::Drop, vec![at.clone(), array.clone()]), "rest", span)?;
        Ok((head, rest))
    }

    /// The elements of an array up to a multiple of a number, and those behind.
    pub(crate) fn multiple_of(&mut self, array: &Atom, of: i64, span: Span) -> Typed<(Atom, Atom)> {
        let n = self.builder.length(array, span)?;
        if of == 1 {
            // A quotient is known not to be negative only while it is one, and `n / 1` would not stay one.
            return self.cut(array, &n, span);
        }
        let count = self.arithmetic(BinOp::Div, n, int(of), "count", span)?;
        let whole = self.arithmetic(BinOp::Mul, count, int(of), "whole", span)?;
        self.cut(array, &whole, span)
    }

    /// Several arrays of one size as one.
    pub(crate) fn zipped(&mut self, arrays: &[Atom], span: Span) -> Typed<Option<Atom>> {
        let Some((first, others)) = arrays.split_first() else {
            return Ok(None);
        };
        let mut all = first.clone();
        for other in others {
            all = self.bind(view(Prim::Zip, vec![all, other.clone()]), "pairs", span)?;
        }
        Ok(Some(all))
    }

    /// The elements that a zip of `count` arrays holds in one.
    pub(crate) fn unzipped(
        &mut self,
        element: &Atom,
        count: usize,
        definitions: &mut Definitions,
        span: Span,
    ) -> Typed<Vec<Atom>> {
        let mut parts = Vec::with_capacity(count);
        let mut left = element.clone();
        for _ in 1..count {
            let part = self.bind(Exp::Project(left.clone(), 1), "x", span)?;
            definitions.insert(var_of(&part), Exp::Project(left.clone(), 1));
            parts.push(part);
            left = self.bind(Exp::Project(left, 0), "x", span)?;
        }
        parts.push(left);
        parts.reverse();
        Ok(parts)
    }
}

fn var_of(atom: &Atom) -> Var {
    match atom {
        Atom::Var(var) => var.clone(),
        Atom::Const(_) => Var {
            id: u32::MAX,
            name: "constant".into(),
        },
    }
}
