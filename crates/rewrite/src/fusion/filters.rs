//! `filter` of a `filter`.

use super::{Fuser, copy};
use almach_core::{Atom, Body, Exp, Op, Param, Pattern, ResultType, Stmt, Type};
use almach_value::Scalar;

impl Fuser<'_> {
    /// The second predicate is asked only of elements that pass the first, as before.
    pub(super) fn filter_of_filter(&mut self, taker: &Op, made: &Stmt) -> Option<Exp> {
        let Exp::Op(giver) = &made.exp else { return None };
        let ([outer], [inner]) = (taker.functions.as_slice(), giver.functions.as_slice()) else {
            return None;
        };
        let ([param], [passes]) = (outer.params.as_slice(), inner.body.values.as_slice()) else {
            return None;
        };
        let ([element], [between]) = (inner.params.as_slice(), made.pattern.values.as_slice()) else {
            return None;
        };
        // The number of elements in between may have no other use than in the type of the array in between.
        let size_is_used = made.pattern.context.iter().any(|size| {
            let mut own = 0;
            between
                .ty
                .for_each_size_var(&mut |var| own += usize::from(var == size));
            self.uses.of(size) != own
        });
        if size_is_used || !self.only_used_by(taker, &made.pattern) || !outer.context.is_empty() {
            return None;
        }
        let mut then = outer.body.clone();
        let mut stmts = vec![copy(param.clone(), Atom::Var(element.var.clone()), made.span)];
        stmts.append(&mut then.stmts);
        then.stmts = stmts;
        let answer = Param {
            var: self.supply.fresh("passes"),
            ty: Type::BOOL,
        };
        self.facts.env.bind(&answer.var, &answer.ty);
        let mut function = inner.clone();
        function.body.values = vec![Atom::Var(answer.var.clone())];
        function.body.stmts.push(Stmt {
            pattern: Pattern {
                context: Vec::new(),
                values: vec![answer],
            },
            exp: Exp::If {
                condition: passes.clone(),
                then,
                otherwise: Body {
                    stmts: Vec::new(),
                    context: Vec::new(),
                    values: vec![Atom::Const(Scalar::Bool(false))],
                },
                result: ResultType::one(Type::BOOL),
            },
            span: made.span,
        });
        Some(Exp::Op(Op {
            functions: vec![function],
            args: giver.args.clone(),
            ..taker.clone()
        }))
    }
}
