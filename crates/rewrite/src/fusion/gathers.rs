//! `gather` as a map of its indices, where what takes its elements can then take over its work.

use super::Fuser;
use almach_core::{Atom, Body, Dim, Exp, Lambda, Op, Param, Pattern, ResultType, Stmt, Type};
use almach_prim::Prim;

impl Fuser<'_> {
    /// `gather is xs` as `map (\i -> xs[i]) is`; none where rows have sizes of their own, or others need it too.
    pub(super) fn gather_as_map(&mut self, taker: &Op, made: &Stmt) -> Option<Stmt> {
        let Exp::Op(giver) = &made.exp else { return None };
        let ([indices, array], [whole]) = (giver.args.as_slice(), made.pattern.values.as_slice()) else {
            return None;
        };
        let Type::Array(Dim::Size(_), index) = self.facts.env.atom_type(indices).ok()? else {
            return None;
        };
        let Type::Array(Dim::Size(_), element) = &whole.ty else {
            return None;
        };
        if element.open_count() > 0 || !self.only_used_by(taker, &made.pattern) {
            return None;
        }
        let position = Param {
            var: self.supply.fresh("i"),
            ty: *index,
        };
        let taken = Param {
            var: self.supply.fresh("x"),
            ty: (**element).clone(),
        };
        self.facts.env.bind(&position.var, &position.ty);
        self.facts.env.bind(&taken.var, &taken.ty);
        let body = Body {
            context: Vec::new(),
            values: vec![Atom::Var(taken.var.clone())],
            stmts: vec![Stmt {
                exp: Exp::Index {
                    array: array.clone(),
                    indices: vec![Atom::Var(position.var.clone())],
                },
                pattern: Pattern {
                    context: Vec::new(),
                    values: vec![taken],
                },
                span: made.span,
            }],
        };
        let function = Lambda {
            context: Vec::new(),
            params: vec![position],
            result: ResultType::one((**element).clone()),
            body,
        };
        Some(Stmt {
            exp: Exp::Op(Op {
                prim: Prim::Map,
                functions: vec![function],
                args: vec![indices.clone()],
                ..giver.clone()
            }),
            ..made.clone()
        })
    }
}
