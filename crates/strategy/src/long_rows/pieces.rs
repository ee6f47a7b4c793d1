//! Pieces of long rows: a segmented reduction whose parts are of nearly one size, however long the rows are.
//!
//! ```text
//! let parts: [c][?](i64, i64) = map (\(i, k) -> map (\t -> (i, t * 65536)) (iota ((k + 65535) / 65536))) long
//! let made: [t]f32 = map (\(i, begin) ->                    all pieces of all long rows at once
//!   let row = xss[i]
//!   let piece = row[begin:+min 65536 (k - begin)]
//!   in reduce (+) (-0.0) (map f piece)) (flatten parts)
//! loop (acc = short) for j < c do
//!   let y = reduceSeq (+) e (unflatten (segments parts) made)[j]
//!   in acc with [i] = y
//! ```
//!
//! The row is only looked at by one reduction, through maps and filters whose functions do not depend on it: then a piece of the row is
//! as good as the row. What the function does behind the reduction is done once, with the sum of the pieces.

use super::{Gives, OverRows, Sharer, at_row};
use crate::operator::Operator;
use crate::write::int;
use almach_base::Span;
use almach_core::build::{Builder, op as plain_op};
use almach_core::typing::{TypeError, Typed};
use almach_core::visit::{Vars, Walk};
use almach_core::{Atom, Exp, Lambda, ResultType, Size, SlicePart, Stmt, Type, Var};
use almach_prim::Prim;
use almach_rewrite::facts::is_fixed;
use almach_value::BinOp;
use std::collections::HashSet;

/// How a function over rows is done in pieces.
pub(super) struct Cut {
    /// Which statement of it reduces the row.
    reduction: usize,
    operator: Operator,
    /// Which parameter is the row.
    row: usize,
}

impl Sharer<'_> {
    /// How the rows can be cut; none where the function looks at them in another way.
    pub(super) fn in_pieces(&self, over: &OverRows<'_>) -> Option<Cut> {
        if over.gives == Gives::Row {
            return None;
        }
        let function = over.function;
        let [length] = function.context.as_slice() else {
            return None;
        };
        let row = over.op.args.iter().position(|arg| arg == over.rows)?;
        let param = function.params.get(row)?;
        let mut of_row = OfRow {
            elements: HashSet::from([param.var.clone()]),
            others: HashSet::from([length.clone()]),
        };
        let stmts = &function.body.stmts;
        let reduces = |stmt: &Stmt| matches!(&stmt.exp, Exp::Op(op) if matches!(op.prim, Prim::Reduce | Prim::ReduceComm));
        let reduction = stmts.iter().position(reduces)?;
        for stmt in stmts.get(..reduction)? {
            of_row.see(stmt);
        }
        let Exp::Op(op) = &stmts.get(reduction)?.exp else {
            return None;
        };
        let ([operator], [_, Atom::Var(array)]) = (op.functions.as_slice(), op.args.as_slice()) else {
            return None;
        };
        let whole =
            !is_fixed(op) && of_row.elements.contains(array) && !of_row.touches(&Vars::of_lambda(operator));
        let operator = Operator::of(operator).filter(|_| whole)?;
        // Nothing behind it looks at the elements again.
        let mut rest = Vars::default();
        for stmt in stmts.get(reduction + 1..)? {
            rest.stmt(stmt);
        }
        function.body.values.iter().for_each(|value| rest.atom(value));
        let again = rest.used.iter().any(|var| of_row.elements.contains(var));
        (!again).then_some(Cut {
            reduction,
            operator,
            row,
        })
    }

    /// What each piece of each of these rows comes to, in rows: one for each long row.
    pub(super) fn reduced_pieces(&mut self, over: &OverRows<'_>, cut: &Cut, long: &Atom) -> Typed<Atom> {
        let span = over.span;
        let begins = self.begins(span)?;
        let parts = self.bind(
            plain_op(Prim::Map, vec![begins], vec![long.clone()]),
            "parts",
            span,
        )?;
        let flat = self.bind(
            plain_op(Prim::Flatten, vec![], vec![parts.clone()]),
            "pieces",
            span,
        )?;
        let offsets = self.bind(plain_op(Prim::Segments, vec![], vec![parts]), "offsets", span)?;
        let reduced = self.piece(over, cut)?;
        let made = self.bind(plain_op(Prim::Map, vec![reduced], vec![flat]), "made", span)?;
        self.bind(
            plain_op(Prim::Unflatten, vec![], vec![offsets, made]),
            "sums",
            span,
        )
    }

    /// `\(i, k) -> map (\t -> (i, t * 65536)) (iota ((k + 65535) / 65536))`.
    fn begins(&mut self, span: Span) -> Typed<Lambda> {
        let size = self.long;
        let pair = Type::Tuple(vec![Type::I64, Type::I64]);
        let long = self.builder.param("long", pair.clone());
        let whole = Atom::Var(long.var.clone());
        let (number, row) = (self.builder.param("t", Type::I64), self.builder.size_var("rows"));
        let mut count = int(0);
        let body = self.builder.body(|builder| {
            let i = builder.bind(Exp::Project(whole.clone(), 0), "i", span)?;
            let length = builder.bind(Exp::Project(whole, 1), "length", span)?;
            let more = builder.bind(Exp::Binary(BinOp::Add, length, int(size - 1)), "more", span)?;
            count = builder.bind(Exp::Binary(BinOp::Div, more, int(size)), "count", span)?;
            let numbers = builder.bind(plain_op(Prim::Iota, vec![], vec![count.clone()]), "numbers", span)?;
            let t = Atom::Var(number.var.clone());
            let inner = builder.body(|builder| {
                let begin = builder.bind(Exp::Binary(BinOp::Mul, t, int(size)), "begin", span)?;
                let both = builder.bind(Exp::Tuple(vec![i, begin]), "both", span)?;
                Ok::<_, TypeError>((Vec::new(), vec![both]))
            })?;
            let each = Lambda {
                context: Vec::new(),
                params: vec![number],
                result: ResultType::one(pair.clone()),
                body: inner,
            };
            let all = builder.bind(plain_op(Prim::Map, vec![each], vec![numbers]), "all", span)?;
            Ok::<_, TypeError>((vec![count.clone()], vec![all]))
        })?;
        Ok(Lambda {
            context: Vec::new(),
            params: vec![long],
            result: ResultType {
                context: vec![row.clone()],
                types: vec![Type::array(Size::var(row), pair)],
            },
            body,
        })
    }

    /// The reduction of a piece, which is given by its row's number and where it begins.
    fn piece(&mut self, over: &OverRows<'_>, cut: &Cut) -> Typed<Lambda> {
        let (span, size) = (over.span, self.long);
        let pair = Type::Tuple(vec![Type::I64, Type::I64]);
        let param = self.builder.param("piece", pair);
        let whole = Atom::Var(param.var.clone());
        let mut ty = Type::I64;
        let body = self.builder.body(|builder| {
            let i = builder.bind(Exp::Project(whole.clone(), 0), "i", span)?;
            let begin = builder.bind(Exp::Project(whole, 1), "begin", span)?;
            let reduced = shortened(builder, over, cut, (&i, begin, size))?;
            ty = builder.type_of(&reduced)?;
            Ok::<_, TypeError>((Vec::new(), vec![reduced]))
        })?;
        Ok(Lambda {
            context: Vec::new(),
            params: vec![param],
            result: ResultType::one(ty),
            body,
        })
    }
}

/// The statements of the function up to its reduction, for the piece of a row that begins there, of that size; what it comes to.
fn shortened(
    builder: &mut Builder,
    over: &OverRows<'_>,
    cut: &Cut,
    (at, begin, size): (&Atom, Atom, i64),
) -> Typed<Atom> {
    let span = over.span;
    let (function, mut given) = at_row(builder, over, at)?;
    let (Some(param), Some(length_name)) = (function.params.get(cut.row), function.context.first()) else {
        return Ok(int(0));
    };
    let (row, length) = (
        given.of_atom(&Atom::Var(param.var.clone())),
        given.of_atom(&Atom::Var(length_name.clone())),
    );
    let left = builder.bind(Exp::Binary(BinOp::Sub, length, begin.clone()), "left", span)?;
    let count = builder.bind(Exp::Binary(BinOp::Min, left, int(size)), "count", span)?;
    let part = SlicePart::Slice {
        begin,
        count: count.clone(),
        step: int(1),
    };
    let slice = Exp::Slice {
        array: row,
        parts: vec![part],
    };
    let piece = builder.bind(slice, "piece", span)?;
    given.insert(param.var.clone(), piece);
    given.insert(length_name.clone(), count);
    let identity = identity(builder, &cut.operator, span)?;
    let mut stmts = function.body.stmts;
    stmts.truncate(cut.reduction + 1);
    let mut reduced = int(0);
    if let Some(Stmt { pattern, exp, .. }) = stmts.last_mut()
        && let (Exp::Op(op), [value]) = (exp, pattern.values.as_slice())
    {
        reduced = Atom::Var(value.var.clone());
        if let Some(start) = op.args.first_mut() {
            *start = identity;
        }
    }
    for mut stmt in needed(stmts, std::slice::from_ref(&reduced), Asserts::Dropped) {
        given.apply_exp(&mut stmt.exp);
        given.apply_pattern(&mut stmt.pattern);
        builder.push(stmt.pattern, stmt.exp, stmt.span);
    }
    Ok(reduced)
}

/// What the function gives for a row whose pieces came to one of these rows.
pub(super) fn combined(
    builder: &mut Builder,
    over: &OverRows<'_>,
    cut: &Cut,
    parts: &Atom,
    (number, at): (&Var, &Atom),
) -> Typed<Atom> {
    let (function, mut given) = at_row(builder, over, at)?;
    let sums = Exp::Index {
        array: parts.clone(),
        indices: vec![Atom::Var(number.clone())],
    };
    let sums = builder.bind_all(sums, &["sums".into()], over.span)?;
    let (mut stmts, values) = (function.body.stmts, function.body.values);
    if let (Some(Stmt { exp: Exp::Op(op), .. }), [sums]) =
        (stmts.get_mut(cut.reduction), sums.values.as_slice())
    {
        op.prim = Prim::ReduceSeq;
        if let Some(array) = op.args.get_mut(1) {
            *array = Atom::Var(sums.var.clone());
        }
    }
    for mut stmt in needed(stmts, &values, Asserts::Kept) {
        given.apply_exp(&mut stmt.exp);
        given.apply_pattern(&mut stmt.pattern);
        builder.push(stmt.pattern, stmt.exp, stmt.span);
    }
    let value = values.first().map(|value| given.of_atom(value));
    Ok(value.unwrap_or_else(|| int(0)))
}

/// What becomes of statements that give nothing, and only may fail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asserts {
    Kept,
    /// They are about the whole row.
    Dropped,
}

/// The statements that these values need.
fn needed(stmts: Vec<Stmt>, values: &[Atom], asserts: Asserts) -> Vec<Stmt> {
    let mut wanted = Vars::default();
    values.iter().for_each(|value| wanted.atom(value));
    let mut kept = Vec::with_capacity(stmts.len());
    for stmt in stmts.into_iter().rev() {
        let values = stmt.pattern.values.iter().map(|value| &value.var);
        let mut bound = values.chain(&stmt.pattern.context);
        let gives_nothing = stmt.pattern.values.iter().all(|value| value.ty == Type::unit());
        let is_kept = asserts == Asserts::Kept && gives_nothing;
        if is_kept || bound.any(|var| wanted.used.contains(var)) {
            wanted.stmt(&stmt);
            kept.push(stmt);
        }
    }
    kept.reverse();
    kept
}

/// The value that changes nothing.
fn identity(builder: &mut Builder, operator: &Operator, span: Span) -> Typed<Atom> {
    match operator {
        Operator::Scalar(op, ty) => {
            let scalar = Operator::scalar_identity(*op, *ty);
            Ok(scalar.map_or_else(|| int(0), Atom::Const))
        }
        Operator::Tuple(parts) => {
            let parts: Typed<Vec<Atom>> = parts.iter().map(|part| identity(builder, part, span)).collect();
            builder.bind(Exp::Tuple(parts?), "identity", span)
        }
    }
}

/// What depends on a row.
struct OfRow {
    /// Arrays whose elements are made of the row's, one by one.
    elements: HashSet<Var>,
    /// Anything else.
    others: HashSet<Var>,
}

impl OfRow {
    fn touches(&self, vars: &Vars) -> bool {
        vars.free()
            .any(|var| self.elements.contains(var) || self.others.contains(var))
    }

    fn see(&mut self, stmt: &Stmt) {
        let mut vars = Vars::default();
        vars.stmt(stmt);
        let depends = vars
            .used
            .iter()
            .any(|var| self.elements.contains(var) || self.others.contains(var));
        if !depends {
            return;
        }
        let bound = stmt.pattern.values.iter().map(|value| value.var.clone());
        match self.is_element_by_element(&stmt.exp) {
            true => self.elements.extend(bound),
            false => self.others.extend(bound),
        }
        self.others.extend(stmt.pattern.context.iter().cloned());
    }

    /// Whether each element of what it gives is made of elements of the row in the same place.
    fn is_element_by_element(&self, exp: &Exp) -> bool {
        let Exp::Op(op) = exp else { return false };
        let arrays = op
            .args
            .iter()
            .all(|arg| matches!(arg, Atom::Var(var) if self.elements.contains(var)));
        let functions = op.functions.iter().all(|function| !self.touches_inside(function));
        matches!(op.prim, Prim::Map | Prim::Filter) && !is_fixed(op) && arrays && functions
    }

    /// Whether a function looks at the row other than by its parameters; the sizes in its types are none of that.
    fn touches_inside(&self, function: &Lambda) -> bool {
        self.touches(&Vars::of_lambda(function))
    }
}
