//! Pairs that a reduction takes, of which one is made by a `map`: a map makes the pairs, and takes over that one's work.
//!
//! ```text
//! let ds: [n]f32 = map (\(x: f32): f32 -> …) xs        let ps: [n](f32, i64) = map (\(x: f32, i: i64): (f32, i64) ->
//! let ps: [n](f32, i64) = zip ds is                =>    let d: f32 = …
//! let least = reduce f e ps                              let p: (f32, i64) = (d, i)
//!                                                        in p) xs is
//!                                                      let least = reduce f e ps
//! ```

use super::{Fuser, bound, position};
use almach_core::{Atom, Body, Dim, Exp, Lambda, Op, Param, ResultType, Stmt, Type};
use almach_prim::Prim;

impl Fuser<'_> {
    /// `zip xs ys` as a map with what makes one of them; none where nothing does, or others need it too.
    pub(super) fn pairs_as_map(
        &mut self,
        taker: &Op,
        at: usize,
        before: &mut [Option<Stmt>],
    ) -> Option<Stmt> {
        let made = before.get(at)?.as_ref()?;
        let ([pairs], Exp::Op(zip)) = (made.pattern.values.as_slice(), &made.exp) else {
            return None;
        };
        if !self.only_used_by(taker, &made.pattern) || !made.pattern.context.is_empty() {
            return None;
        }
        let (pairs, zip, span) = (pairs.clone(), zip.clone(), made.span);
        let maker = |arg: &Atom| {
            before.iter().take(at).position(|stmt| {
                let Some(stmt) = stmt else { return false };
                let is_map = matches!(&stmt.exp, Exp::Op(op) if op.prim == Prim::Map);
                is_map && position(arg, &stmt.pattern).is_some() && self.only_used_by(&zip, &stmt.pattern)
            })
        };
        let makers: Vec<usize> = zip.args.iter().filter_map(maker).collect();
        if makers.is_empty() {
            return None;
        }
        let mut params = Vec::with_capacity(zip.args.len());
        for arg in &zip.args {
            let Ok(Type::Array(Dim::Size(_), element)) = self.facts.env.atom_type(arg) else {
                return None;
            };
            if !element.is_scalars() {
                return None;
            }
            params.push(Param {
                var: self.supply.fresh("x"),
                ty: *element,
            });
        }
        let tuple = Type::Tuple(params.iter().map(|param| param.ty.clone()).collect());
        let pair = Param {
            var: self.supply.fresh("pair"),
            ty: tuple.clone(),
        };
        params
            .iter()
            .chain([&pair])
            .for_each(|param| self.facts.env.bind(&param.var, &param.ty));
        let parts = params.iter().map(|param| Atom::Var(param.var.clone())).collect();
        let function = Lambda {
            context: Vec::new(),
            params,
            result: ResultType::one(tuple),
            body: Body {
                stmts: vec![bound(pair.clone(), Exp::Tuple(parts), span)],
                context: Vec::new(),
                values: vec![Atom::Var(pair.var)],
            },
        };
        let map = Exp::Op(Op {
            prim: Prim::Map,
            functions: vec![function],
            ..zip
        });
        let mut map = bound(pairs, map, span);
        for maker in makers {
            self.absorb_one(&mut map, maker, before);
        }
        Some(map)
    }
}
