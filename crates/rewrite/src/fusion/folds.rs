//! `reduceSeq` of a `map`.

use super::{Fuser, bound};
use almach_base::Span;
use almach_core::build::op;
use almach_core::{Atom, Dim, Exp, Op, Param, Size, Stmt, Type};
use almach_prim::Prim;

impl Fuser<'_> {
    /// The fold over the map's arrays, and the statements that zip those.
    pub(super) fn fold_of_map(&mut self, taker: &Op, made: &Stmt) -> Option<(Exp, Vec<Stmt>)> {
        let Exp::Op(giver) = &made.exp else { return None };
        let ([outer], [inner]) = (taker.functions.as_slice(), giver.functions.as_slice()) else {
            return None;
        };
        let ([initial, array], [value]) = (taker.args.as_slice(), inner.body.values.as_slice()) else {
            return None;
        };
        let [accumulator, current] = outer.params.as_slice() else {
            return None;
        };
        // The map may be what the fold starts from.
        let [elements] = made.pattern.values.as_slice() else {
            return None;
        };
        let elements = Atom::Var(elements.var.clone());
        if *array != elements || *initial == elements || !self.only_used_by(taker, &made.pattern) {
            return None;
        }
        // The element's sizes come after those of the accumulator, which are as many as the result has.
        let state_sizes = outer.result.context.len();
        let sizes = outer.context.get(state_sizes..)?;
        let mut links = self.link(sizes, current, value, made.span)?;

        let mut setup = Vec::new();
        let (array, element, mut unpack) = self.zipped(&giver.args, &inner.params, made.span, &mut setup)?;
        let mut function = outer.clone();
        let mut stmts = Vec::new();
        stmts.append(&mut unpack);
        stmts.extend(inner.body.stmts.iter().cloned());
        stmts.append(&mut links);
        stmts.append(&mut function.body.stmts);
        function.body.stmts = stmts;
        function.params = vec![accumulator.clone(), element];
        function.context.truncate(state_sizes);
        function.context.extend(inner.context.iter().cloned());
        let exp = Exp::Op(Op {
            functions: vec![function],
            args: vec![initial.clone(), array],
            ..taker.clone()
        });
        Some((exp, setup))
    }

    /// One array of the elements of all, the parameter for its element, and statements that take that apart.
    fn zipped(
        &mut self,
        arrays: &[Atom],
        params: &[Param],
        span: Span,
        setup: &mut Vec<Stmt>,
    ) -> Option<(Atom, Param, Vec<Stmt>)> {
        let ((first, others), (param, params)) = (arrays.split_first()?, params.split_first()?);
        let mut array = first.clone();
        let mut element = param.clone();
        let mut unpack: Vec<Stmt> = Vec::new();
        for (other, param) in others.iter().zip(params) {
            let (size, left) = self.array_type(&array)?;
            let (_, right) = self.array_type(other)?;
            let pairs = Param {
                var: self.supply.fresh("pairs"),
                ty: Type::array(size, Type::Tuple(vec![left, right])),
            };
            let zip = op(Prim::Zip, vec![], vec![array.clone(), other.clone()]);
            array = Atom::Var(pairs.var.clone());
            let stmt = bound(pairs, zip, span);
            self.facts.learn(&stmt);
            setup.push(stmt);
            let pair = Param {
                var: self.supply.fresh("pair"),
                ty: Type::Tuple(vec![element.ty.clone(), param.ty.clone()]),
            };
            let part = |at| Exp::Project(Atom::Var(pair.var.clone()), at);
            let mut parts = vec![bound(element, part(0), span), bound(param.clone(), part(1), span)];
            parts.append(&mut unpack);
            unpack = parts;
            element = pair;
        }
        Some((array, element, unpack))
    }

    fn array_type(&self, array: &Atom) -> Option<(Size, Type)> {
        match self.facts.env.atom_type(array).ok()? {
            Type::Array(Dim::Size(size), element) => Some((size, *element)),
            _ => None,
        }
    }
}
