//! `map` of what another operation makes.

use super::{Fuser, copy, position};
use almach_core::visit::{Vars, Walk, walk_exp};
use almach_core::{Atom, Body, Exp, Lambda, Op, Param, Size, Stmt, Type, Var};
use almach_prim::Prim;
use std::collections::HashSet;

/// A parameter of a function over elements, with the sizes of its rows and the array it runs over.
#[derive(Clone)]
struct Operand {
    sizes: Vec<Var>,
    param: Param,
    array: Atom,
}

impl Fuser<'_> {
    /// The parameters of a map with what belongs to them.
    fn operands(&self, op: &Op) -> Option<Vec<Operand>> {
        let [function] = op.functions.as_slice() else {
            return None;
        };
        let mut sizes = function.context.iter();
        let mut operands = Vec::with_capacity(op.args.len());
        for (param, array) in function.params.iter().zip(&op.args) {
            let count = self.row_sizes(array)?;
            operands.push(Operand {
                sizes: sizes.by_ref().take(count).cloned().collect(),
                param: param.clone(),
                array: array.clone(),
            });
        }
        Some(operands)
    }

    /// `map f … (map g xs…) …`.
    pub(super) fn map_of_map(&mut self, taker: &Op, made: &Stmt) -> Option<Exp> {
        let Exp::Op(giver) = &made.exp else { return None };
        let ([outer], [inner]) = (taker.functions.as_slice(), giver.functions.as_slice()) else {
            return None;
        };
        if !self.only_used_by(taker, &made.pattern) || (meets_all(inner) && meets_all(outer)) {
            return None;
        }
        let mut new_operands = Vec::new();
        let mut links = Vec::new();
        let mut taken_over = false;
        for operand in self.operands(taker)? {
            let Some(at) = position(&operand.array, &made.pattern) else {
                new_operands.push(operand);
                continue;
            };
            let value = inner.body.values.get(at)?;
            links.extend(self.link(&operand.sizes, &operand.param, value, made.span)?);
            if !taken_over {
                new_operands.extend(self.operands(giver)?);
                taken_over = true;
            }
        }
        let mut function = outer.clone();
        let mut stmts = inner.body.stmts.clone();
        stmts.append(&mut links);
        stmts.append(&mut function.body.stmts);
        function.body.stmts = stmts;
        Some(self.rebuilt(taker, function, new_operands))
    }

    /// `map f … (zip xs ys) …`.
    pub(super) fn map_of_zip(&mut self, taker: &Op, made: &Stmt) -> Option<Exp> {
        let Exp::Op(giver) = &made.exp else { return None };
        let [outer] = taker.functions.as_slice() else {
            return None;
        };
        let mut new_operands = Vec::new();
        let mut links = Vec::new();
        for operand in self.operands(taker)? {
            if position(&operand.array, &made.pattern).is_none() {
                new_operands.push(operand);
                continue;
            }
            let Type::Tuple(types) = &operand.param.ty else {
                return None;
            };
            let mut sizes = operand.sizes.iter();
            let mut parts = Vec::with_capacity(types.len());
            for (ty, array) in types.iter().zip(&giver.args) {
                let param = Param {
                    var: self.supply.like(&operand.param.var),
                    ty: ty.clone(),
                };
                self.facts.env.bind(&param.var, &param.ty);
                parts.push(Atom::Var(param.var.clone()));
                let count = self.row_sizes(array)?;
                new_operands.push(Operand {
                    sizes: sizes.by_ref().take(count).cloned().collect(),
                    param,
                    array: array.clone(),
                });
            }
            let mut link = copy(
                operand.param.clone(),
                Atom::Var(operand.param.var.clone()),
                made.span,
            );
            link.exp = Exp::Tuple(parts);
            links.push(link);
        }
        let mut function = outer.clone();
        links.append(&mut function.body.stmts);
        function.body.stmts = links;
        Some(self.rebuilt(taker, function, new_operands))
    }

    /// `map f … (replicate n c) …`, where another array tells the size.
    pub(super) fn map_of_replicate(&mut self, taker: &Op, made: &Stmt) -> Option<Exp> {
        let Exp::Op(giver) = &made.exp else { return None };
        let ([outer], [_, value]) = (taker.functions.as_slice(), giver.args.as_slice()) else {
            return None;
        };
        let (same, others): (Vec<Operand>, Vec<Operand>) = self
            .operands(taker)?
            .into_iter()
            .partition(|operand| position(&operand.array, &made.pattern).is_some());
        // The size of a row that depends on the element would no longer be each application's own.
        let is_size = |operand: &Operand| {
            let mut types = outer.result.types.iter();
            types.any(|ty| ty.mentions(&|var| *var == operand.param.var))
        };
        if others.is_empty()
            || same
                .iter()
                .any(|operand| is_size(operand) || !operand.sizes.is_empty())
        {
            return None;
        }
        let mut links: Vec<Stmt> = same
            .into_iter()
            .map(|operand| copy(operand.param, value.clone(), made.span))
            .collect();
        let mut function = outer.clone();
        links.append(&mut function.body.stmts);
        function.body.stmts = links;
        Some(self.rebuilt(taker, function, others))
    }

    /// The map with a new function. Sizes of its result that were parameters and are now bound in the body become
    /// the result's context; such rows were jagged before and still are.
    fn rebuilt(&mut self, taker: &Op, mut function: Lambda, operands: Vec<Operand>) -> Exp {
        let before: Vec<Var> = function
            .context
            .iter()
            .chain(function.params.iter().map(|param| &param.var))
            .cloned()
            .collect();
        let bound = |var: &Var| {
            operands
                .iter()
                .any(|operand| operand.param.var == *var || operand.sizes.contains(var))
        };
        for var in before.iter().filter(|var| !bound(var)) {
            let mut types = function.result.types.iter();
            if types.any(|ty| ty.mentions(&|mentioned| mentioned == var)) {
                let size = self.supply.like(var);
                function.result.context.push(size.clone());
                function.body.context.push(Atom::Var(var.clone()));
                let renamed = |mentioned: &Var| (mentioned == var).then(|| Size::var(size.clone()));
                for ty in &mut function.result.types {
                    *ty = ty.substitute(&renamed);
                }
            }
        }
        function.context = operands
            .iter()
            .flat_map(|operand| operand.sizes.iter().cloned())
            .collect();
        function.params = operands.iter().map(|operand| operand.param.clone()).collect();
        Exp::Op(Op {
            functions: vec![function],
            args: operands.into_iter().map(|operand| operand.array).collect(),
            ..taker.clone()
        })
    }
}

/// Whether a function combines its argument with every element of an array that has nothing to do with it, reducing something
/// each time: a row that meets all columns. The array in between is little beside that work, and two products in one loop
/// can no longer be done in tiles.
fn meets_all(function: &Lambda) -> bool {
    let mut own: HashSet<&Var> = function.params.iter().map(|param| &param.var).collect();
    for stmt in &function.body.stmts {
        let used = Vars::of_exp(&stmt.exp).used;
        if !used.iter().any(|var| own.contains(var)) {
            continue;
        }
        if let Exp::Op(op) = &stmt.exp
            && op.prim == Prim::Map
            && op
                .args
                .iter()
                .all(|arg| !matches!(arg, Atom::Var(var) if own.contains(var)))
            && op.functions.iter().any(|function| reduces(&function.body))
        {
            return true;
        }
        own.extend(stmt.pattern.values.iter().map(|value| &value.var));
    }
    false
}

fn reduces(body: &Body) -> bool {
    struct Finder(bool);
    impl Walk for Finder {
        fn exp(&mut self, exp: &Exp) {
            if let Exp::Op(op) = exp {
                self.0 |= matches!(op.prim, Prim::Reduce | Prim::ReduceComm | Prim::ReduceSeq);
            }
            walk_exp(self, exp);
        }
    }
    let mut finder = Finder(false);
    finder.body(body);
    finder.0
}
