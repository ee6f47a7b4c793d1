//! `map (filter p)`: every row is as long as it has elements that are kept.
//!
//! ```text
//! let yss: [n][?]i32 = map (\{k} (row: [k]i32): {m} [m]i32 ->     let counts: [n]i64 = map (\{k} (row: [k]i32): i64 ->
//!   let {m} ys: [m]i32 = filter p row                               let ones: [k]i64 = map (\(x: i32): i64 -> i64 (p x)) row
//!   in {m} ys) xss                                                  let count: i64 = reduce (+) 0i64 ones
//!                                                             =>    in count) xss
//!                                                                 let ends: [n]i64 = scan (+) 0i64 counts
//!                                                                 let offsets: [1 + n]i64 = concat (array i64 [0i64]) ends
//!                                                                 let {t} flat: [t]i32 = flatten xss
//!                                                                 let {m} kept: [m]i32 = filter p flat
//!                                                                 let yss: [n][?]i32 = unflatten offsets kept
//! ```
//!
//! The predicate is asked twice, so it must be a few scalar operations that cannot fail: that is less than to remember what it said.

use super::{Flattener, OverRows, op};
use almach_base::Span;
use almach_core::visit::fresh_lambda;
use almach_core::{Atom, Body, Dim, Exp, Lambda, Op, Pattern, ResultType, Size, Stmt, Type};
use almach_prim::Prim;
use almach_value::{BinOp, Scalar, ScalarType, UnOp};

/// Statements of a predicate that may be asked twice.
const FEW: usize = 12;

impl Flattener<'_> {
    pub(super) fn counts_cheaply(&self, predicate: &Lambda) -> bool {
        let is_cheap = |stmt: &Stmt| {
            matches!(
                stmt.exp,
                Exp::Atom(_)
                    | Exp::Unary(..)
                    | Exp::Binary(..)
                    | Exp::Ternary(..)
                    | Exp::Project(..)
                    | Exp::Tuple(_)
            )
        };
        let body = &predicate.body;
        predicate.context.is_empty()
            && body.stmts.len() <= FEW
            && body.stmts.iter().all(is_cheap)
            && !self.facts.body_can_fail(body)
    }

    pub(super) fn map_of_filter(&mut self, over: &OverRows<'_>) -> Option<Exp> {
        let span = over.span;
        let count = self.counting(over)?;
        let counts = self.bind(
            op(Prim::Map, vec![count], vec![over.rows.clone()]),
            "counts",
            span,
        )?;
        let zero = Atom::Const(Scalar::I64(0));
        let plus = self.plus(span)?;
        let ends = self.bind(
            op(Prim::Scan, vec![plus], vec![zero.clone(), counts]),
            "ends",
            span,
        )?;
        let none = Exp::Array(vec![zero], Type::I64);
        let none = self.builder.bind(none, "none", span).ok()?;
        let offsets = self.operation(Prim::Concat, vec![none, ends], "offsets", span)?;
        let flat = match self.known_elements(over.rows) {
            Some(flat) => flat,
            None => self.operation(Prim::Flatten, vec![over.rows.clone()], "flat", span)?,
        };
        let all = Op {
            args: vec![flat],
            ..over.inner.clone()
        };
        let kept = self.bind(all, "kept", span)?;
        let text = "`filter` inside of rows of their own sizes is one `filter` of all elements, and a count for each row";
        self.log.note(span, text);
        Some(Exp::Op(op(Prim::Unflatten, Vec::new(), vec![offsets, kept])))
    }

    fn known_elements(&self, rows: &Atom) -> Option<Atom> {
        match rows {
            Atom::Var(var) => self.flat.get(var).map(|(_, elements)| elements.clone()),
            Atom::Const(_) => None,
        }
    }

    /// `\row -> reduce (+) 0 (map (\x -> i64 (p x)) row)`.
    fn counting(&mut self, over: &OverRows<'_>) -> Option<Lambda> {
        let Type::Array(_, element) = &over.row.ty else {
            return None;
        };
        let size = self.builder.size_var("rows");
        let ty = Type::Array(Dim::Size(Size::var(size.clone())), element.clone());
        let row = self.builder.param("row", ty);
        let one = self.asked(over.element, over.span)?;
        let plus = self.plus(over.span)?;
        self.builder.enter();
        let array = Atom::Var(row.var.clone());
        let ones = self.bind(op(Prim::Map, vec![one], vec![array]), "ones", over.span);
        let count = ones.and_then(|ones| {
            let args = vec![Atom::Const(Scalar::I64(0)), ones];
            self.bind(op(Prim::Reduce, vec![plus], args), "count", over.span)
        });
        let body = self
            .builder
            .leave(Vec::new(), count.clone().into_iter().collect());
        count.map(|_| Lambda {
            context: vec![size],
            params: vec![row],
            result: ResultType::one(Type::I64),
            body,
        })
    }

    /// A copy of a predicate that gives 0 or 1.
    fn asked(&mut self, predicate: &Lambda, span: Span) -> Option<Lambda> {
        let mut one = fresh_lambda(predicate, &mut self.builder.supply);
        let [said] = one.body.values.as_slice() else {
            return None;
        };
        let exp = Exp::Unary(UnOp::Convert(ScalarType::I64), said.clone());
        let value = self.builder.param("one", Type::I64);
        one.body.values = vec![Atom::Var(value.var.clone())];
        one.body.stmts.push(Stmt {
            pattern: Pattern {
                context: Vec::new(),
                values: vec![value],
            },
            exp,
            span,
        });
        one.result = ResultType::one(Type::I64);
        Some(one)
    }

    /// `\a b -> a + b`.
    fn plus(&mut self, span: Span) -> Option<Lambda> {
        let (left, right) = (
            self.builder.param("a", Type::I64),
            self.builder.param("b", Type::I64),
        );
        let [a, b] = [&left, &right].map(|param| Atom::Var(param.var.clone()));
        let body: Result<Body, _> = self.builder.body(|builder| {
            let sum = builder.bind(Exp::Binary(BinOp::Add, a, b), "sum", span)?;
            Ok::<_, almach_core::typing::TypeError>((Vec::new(), vec![sum]))
        });
        Some(Lambda {
            context: Vec::new(),
            params: vec![left, right],
            result: ResultType::one(Type::I64),
            body: body.ok()?,
        })
    }
}
