//! Long rows: a map that reduces rows of their own lengths gives pieces of the long ones to all threads, and of the others each to one
//! thread.
//!
//! ```text
//! let ys: [n]f32 = map (\{k} row ->        let short: [n]f32 = map (\{k} row ->
//!   let y = reduce (+) 0.0 row               if k > 65536 then 0.0 else let y = reduce (+) 0.0 row in y) xss
//!   in y) xss                          =>  let longest = reduce max 0 (map (\end begin -> end - begin) (drop 1 offsets) (take n offsets))
//!                                          let ys: [n]f32 = if longest > 65536
//!                                            then
//!                                              let {c} long: [c](i64, i64) = filter (\p -> p.1 > 65536) (map (\i end begin -> (i, end - begin)) (iota n) …)
//!                                              in loop (acc = short) for j < c do
//!                                                let i = long[j].0
//!                                                let y = reduce (+) 0.0 xss[i]
//!                                                in acc with [i] = y
//!                                            else short
//! ```
//!
//! Where a row is only looked at by one reduction, whose operator has a known identity, all long rows are cut into pieces first
//! ([`pieces`](mod@pieces)), and the loop only combines the results of pieces: however many long rows there are, and however long, all
//! threads have something to do. Otherwise the loop's own operations are parallel, one row after the other.
//!
//! Where the function gives a row as long as the one it is given, the loop writes it among the elements of all rows ([`places`](mod@places)).
//!
//! Threads take short rows as they go (`emit/src/uneven.rs`), so one that has a longer one takes fewer; a row that is longer than what they
//! share otherwise would keep one of them busy alone. Nothing is flattened, so no element is moved.
//!
//! Removes: nothing. Introduces: a loop over long rows, and pieces of them. Guarantees: the function is applied once to every element;
//! which rows are long, and where they are cut, depends on their lengths alone.

mod pieces;
mod places;

use crate::decision::{Choice, Decision};
use crate::tactics::{Asked, Question, Tactics, Topic};
use crate::weights::UNKNOWN;
use crate::write::int;
use crate::{Machine, cost};
use almach_base::Span;
use almach_core::build::{Builder, op as plain_op};
use almach_core::typing::{TypeError, Typed};
use almach_core::visit::{Substitution, Walk, WalkMut, fresh_lambda, walk_exp, walk_exp_mut};
use almach_core::{
    Atom, Body, Dim, Exp, InPlace, Lambda, Loop, LoopForm, Op, Param, Program, ResultType, Size, SlicePart,
    Stmt, Type, Var,
};
use almach_prim::Prim;
use almach_rewrite::facts::Facts;
use almach_value::{BinOp, Scalar};
use pieces::Cut;
pub(crate) use places::row_with_a_place;

/// Elements of a row that is not long: a chunk of a reduction has no more.
const LONG: i64 = 1 << 16;

/// What could be long instead.
pub(crate) const LENGTHS: [i64; 4] = [LONG, 1 << 13, 1 << 19, 1 << 22];

/// Scalar operations of a function that gives rows, from which on a long one is worth all threads: its elements are written once more and moved once, which is as much as
/// little work itself. Sixteen for an element.
const WORTH_A_TURN: u64 = 16 * UNKNOWN;

/// The program in which entry points do so, and what was decided.
pub(crate) fn shared(mut program: Program, machine: Machine, tactics: &Tactics) -> (Program, Shared) {
    if machine != Machine::Threads {
        return (program, Shared::default());
    }
    let mut sharer = Sharer {
        facts: Facts::of(&program),
        builder: Builder::for_program(&program),
        tactics,
        long: LONG,
        shared: Shared::default(),
    };
    // Elsewhere all threads may have other work.
    let entries: Vec<usize> = program
        .entries
        .iter()
        .map(|entry| entry.function.0 as usize)
        .collect();
    for (at, function) in program.functions.iter_mut().enumerate() {
        if entries.contains(&at) {
            sharer.body(&mut function.body);
        }
    }
    program.next_var = sharer.builder.supply.next_var();
    (program, sharer.shared)
}

/// What was decided, and could have been decided otherwise.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) decisions: Vec<Decision>,
    pub(crate) asked: Vec<Asked>,
}

struct Sharer<'t> {
    facts: Facts,
    builder: Builder,
    tactics: &'t Tactics,
    /// Elements of a row that is not long, of the map at hand.
    long: i64,
    shared: Shared,
}

/// A map over rows that gives what has one size, or rows as long as those.
struct OverRows<'s> {
    op: &'s Op,
    function: &'s Lambda,
    /// The rows, and the name for how long one is.
    rows: &'s Atom,
    length: &'s Var,
    result: &'s Param,
    gives: Gives,
    span: Span,
}

/// What the function of a map gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    Value,
    /// A row as long as the one it is given.
    Row,
}

impl WalkMut for Sharer<'_> {
    fn body(&mut self, body: &mut Body) {
        for mut stmt in std::mem::take(&mut body.stmts) {
            match self.shared(&stmt) {
                Some(made) => body.stmts.extend(made),
                None => {
                    if !matches!(stmt.exp, Exp::Op(_)) {
                        walk_exp_mut(self, &mut stmt.exp);
                    }
                    body.stmts.push(stmt);
                }
            }
        }
    }
}

impl Sharer<'_> {
    fn shared(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        if self.facts.holds_fixed(&stmt.exp) || self.facts.prints(&stmt.exp) {
            return None;
        }
        let over = self.over_rows(stmt)?;
        let question = Question {
            span: stmt.span,
            topic: Topic::LongRows,
        };
        let asked = self.tactics.asked(question, LENGTHS.len() as u32 + 1);
        self.shared.asked.push(asked);
        // The last answer is that none is long.
        self.long = LENGTHS.get(asked.answer as usize).copied()?;
        self.builder.env.clone_from(&self.facts.env);
        self.builder.enter();
        let exp = self.built(&over);
        let choice = match self.in_pieces(&over) {
            Some(_) => Choice::Pieces(self.long),
            None => Choice::LongRows(self.long),
        };
        let mut body = self.builder.leave(Vec::new(), Vec::new());
        body.stmts.push(Stmt {
            exp: exp.ok()?,
            ..stmt.clone()
        });
        self.shared.decisions.push(Decision {
            span: stmt.span,
            operation: Prim::Map,
            choice,
            reason: "its rows have lengths of their own".to_owned(),
        });
        Some(body.stmts)
    }

    fn over_rows<'s>(&self, stmt: &'s Stmt) -> Option<OverRows<'s>> {
        let Exp::Op(op) = &stmt.exp else { return None };
        let (Prim::Map, [function], [result]) =
            (op.prim, op.functions.as_slice(), stmt.pattern.values.as_slice())
        else {
            return None;
        };
        let (gives, at) = gives(result, function)?;
        if gives == Gives::Row && cost::of_body(&function.body, &self.facts) < WORTH_A_TURN {
            return None;
        }
        // One size for each array of rows, in the order of the arrays.
        let mut jagged = Vec::new();
        for array in &op.args {
            let Ok(Type::Array(Dim::Size(_), element)) = self.facts.env.atom_type(array) else {
                return None;
            };
            match *element {
                Type::Array(Dim::Jagged, _) => jagged.push(array),
                _ if element.open_count() == 0 => {}
                _ => return None,
            }
        }
        let (Some(rows), Some(length)) = (jagged.get(at), function.context.get(at)) else {
            return None;
        };
        (jagged.len() == function.context.len()).then_some(OverRows {
            op,
            function,
            rows,
            length,
            result,
            gives,
            span: stmt.span,
        })
    }

    fn built(&mut self, over: &OverRows<'_>) -> Typed<Exp> {
        let (span, ty) = (over.span, &over.result.ty);
        let Type::Array(Dim::Size(count), element) = ty else {
            return Ok(Exp::Op(over.op.clone()));
        };
        let short = match over.gives {
            Gives::Value => self.short(over, element)?,
            Gives::Row => self.short_row(over, element)?,
        };
        let short = plain_op(Prim::Map, vec![short], over.op.args.clone());
        let short = self.bind(short, "short", span)?;
        let bounds = self.bounds(over, count)?;
        let length = self.operator(BinOp::Sub, ["end", "begin"], span)?;
        let lengths = plain_op(Prim::Map, vec![length], bounds.to_vec());
        let lengths = self.bind(lengths, "lengths", span)?;
        let larger = self.operator(BinOp::Max, ["a", "b"], span)?;
        let longest = plain_op(Prim::Reduce, vec![larger], vec![int(0), lengths]);
        let longest = self.bind(longest, "longest", span)?;
        let some = self.bind(Exp::Binary(BinOp::Gt, longest, int(self.long)), "some", span)?;
        if over.gives == Gives::Row {
            return self.rows_in_places(over, count, bounds, (short, some));
        }
        self.builder.enter();
        let all = self.long_ones(over, count, bounds, short.clone());
        let all = all.and_then(|all| self.bind(all, "all", span));
        let then = self.builder.leave(Vec::new(), all.clone().into_iter().collect());
        all?;
        let otherwise = Body {
            stmts: Vec::new(),
            context: Vec::new(),
            values: vec![short],
        };
        Ok(Exp::If {
            condition: some,
            then,
            otherwise,
            result: ResultType::one(ty.clone()),
        })
    }

    /// The results of short rows, with those of long ones in their places.
    fn long_ones(&mut self, over: &OverRows<'_>, count: &Size, bounds: [Atom; 2], short: Atom) -> Typed<Exp> {
        let long = self.which_are_long(over, count, bounds)?;
        let parts = match self.in_pieces(over) {
            Some(cut) => Some((self.reduced_pieces(over, &cut, &long)?, cut)),
            None => None,
        };
        self.in_turn(over, short, &long, parts.as_ref())
    }

    /// The numbers and lengths of long rows.
    fn which_are_long(
        &mut self,
        over: &OverRows<'_>,
        count: &Size,
        [ends, begins]: [Atom; 2],
    ) -> Typed<Atom> {
        let span = over.span;
        let count = self.builder.size_atom(count, span)?;
        let numbers = self.bind(plain_op(Prim::Iota, vec![], vec![count]), "numbers", span)?;
        let numbered = self.numbered(over)?;
        let numbered = plain_op(Prim::Map, vec![numbered], vec![numbers, ends, begins]);
        let numbered = self.bind(numbered, "numbered", span)?;
        let long = plain_op(Prim::Filter, vec![self.is_long(span)?], vec![numbered]);
        self.bind(long, "long", span)
    }

    fn bind(&mut self, exp: Exp, name: &str, span: Span) -> Typed<Atom> {
        self.builder.bind(exp, name, span)
    }

    /// The function, which does nothing for long rows.
    fn short(&mut self, over: &OverRows<'_>, element: &Type) -> Typed<Lambda> {
        let (span, long) = (over.span, self.long);
        let length = Atom::Var(over.length.clone());
        let then = self.builder.body(|builder| {
            let nothing = nothing(builder, element, span)?;
            Ok::<_, TypeError>((Vec::new(), vec![nothing]))
        })?;
        let body = self.builder.body(|builder| {
            let is_long = builder.bind(Exp::Binary(BinOp::Gt, length, int(long)), "is_long", span)?;
            let chosen = Exp::If {
                condition: is_long,
                then,
                otherwise: over.function.body.clone(),
                result: ResultType::one(element.clone()),
            };
            let chosen = builder.bind(chosen, "given", span)?;
            Ok::<_, TypeError>((Vec::new(), vec![chosen]))
        })?;
        Ok(Lambda {
            body,
            ..over.function.clone()
        })
    }

    /// Where rows end and begin, in all elements: `drop 1 offsets` and `take n offsets`. What computes lengths of these is computed where they are needed,
    /// which functions of rows are not.
    fn bounds(&mut self, over: &OverRows<'_>, count: &Size) -> Typed<[Atom; 2]> {
        let span = over.span;
        let offsets = plain_op(Prim::Segments, vec![], vec![over.rows.clone()]);
        let offsets = self.bind(offsets, "offsets", span)?;
        let count = self.builder.size_atom(count, span)?;
        let begins = plain_op(Prim::Take, vec![], vec![count, offsets.clone()]);
        let begins = self.bind(begins, "begins", span)?;
        let ends = self.bind(plain_op(Prim::Drop, vec![], vec![int(1), offsets]), "ends", span)?;
        Ok([ends, begins])
    }

    /// `\i end begin -> (i, end - begin)`: the numbers of rows, and how long they are.
    fn numbered(&mut self, over: &OverRows<'_>) -> Typed<Lambda> {
        let params = ["i", "end", "begin"].map(|name| self.builder.param(name, Type::I64));
        let [number, end, begin] = params.each_ref().map(|param| Atom::Var(param.var.clone()));
        let body = self.builder.body(|builder| {
            let length = builder.bind(Exp::Binary(BinOp::Sub, end, begin), "length", over.span)?;
            let both = builder.bind(Exp::Tuple(vec![number, length]), "both", over.span)?;
            Ok::<_, TypeError>((Vec::new(), vec![both]))
        })?;
        Ok(Lambda {
            context: Vec::new(),
            params: params.into(),
            result: ResultType::one(Type::Tuple(vec![Type::I64, Type::I64])),
            body,
        })
    }

    /// `\a b -> a op b` of numbers.
    fn operator(&mut self, op: BinOp, names: [&str; 2], span: Span) -> Typed<Lambda> {
        let params = names.map(|name| self.builder.param(name, Type::I64));
        let [a, b] = params.each_ref().map(|param| Atom::Var(param.var.clone()));
        let body = self.builder.body(|builder| {
            let made = builder.bind(Exp::Binary(op, a, b), "made", span)?;
            Ok::<_, TypeError>((Vec::new(), vec![made]))
        })?;
        Ok(Lambda {
            context: Vec::new(),
            params: params.into(),
            result: ResultType::one(Type::I64),
            body,
        })
    }

    /// Whether the second of a pair is the length of a long row.
    fn is_long(&mut self, span: Span) -> Typed<Lambda> {
        let long = self.long;
        let pair = self
            .builder
            .param("pair", Type::Tuple(vec![Type::I64, Type::I64]));
        let whole = Atom::Var(pair.var.clone());
        let body = self.builder.body(|builder| {
            let length = builder.bind(Exp::Project(whole, 1), "length", span)?;
            let is_long = builder.bind(Exp::Binary(BinOp::Gt, length, int(long)), "is_long", span)?;
            Ok::<_, TypeError>((Vec::new(), vec![is_long]))
        })?;
        Ok(Lambda {
            context: Vec::new(),
            params: vec![pair],
            result: ResultType::one(Type::Scalar(almach_value::ScalarType::Bool)),
            body,
        })
    }

    /// A loop over the long rows, or over what came of their pieces.
    fn in_turn(
        &mut self,
        over: &OverRows<'_>,
        short: Atom,
        long: &Atom,
        parts: Option<&(Atom, Cut)>,
    ) -> Typed<Exp> {
        let span = over.span;
        let count = self.builder.length(long, span)?;
        let acc = self.builder.param("acc", over.result.ty.clone());
        let index = self.builder.param("j", Type::I64);
        let array = Atom::Var(acc.var.clone());
        let body = self.builder.body(|builder| {
            let at = Exp::Index {
                array: long.clone(),
                indices: vec![Atom::Var(index.var.clone())],
            };
            let pair = builder.bind(at, "pair", span)?;
            let at = builder.bind(Exp::Project(pair, 0), "i", span)?;
            let value = match parts {
                Some((parts, cut)) => pieces::combined(builder, over, cut, parts, (&index.var, &at))?,
                None => applied(builder, over, &at)?,
            };
            let update = Exp::Update {
                array,
                parts: vec![SlicePart::At(at)],
                value,
                in_place: InPlace::WherePossible,
            };
            let next = builder.bind(update, "next", span)?;
            Ok::<_, TypeError>((Vec::new(), vec![next]))
        })?;
        Ok(Exp::Loop(Box::new(Loop {
            context: Vec::new(),
            params: vec![(acc, short)],
            form: LoopForm::For { index, bound: count },
            body,
        })))
    }
}

/// Whether something in a function is worth all threads where its row is long: also in branches and loops.
struct Shares(bool);

impl Shares {
    fn in_body(body: &Body) -> bool {
        let mut shares = Shares(false);
        shares.body(body);
        shares.0
    }
}

impl Walk for Shares {
    fn exp(&mut self, exp: &Exp) {
        match exp {
            Exp::Op(op) => {
                self.0 |= matches!(
                    op.prim,
                    Prim::Reduce | Prim::ReduceComm | Prim::ReduceByIndex | Prim::Scan | Prim::ScanExclusive
                );
            }
            _ => walk_exp(self, exp),
        }
    }
}

/// What a map's function gives, and which of its arrays of rows say how long that is; none where it gives something else.
fn gives(result: &Param, function: &Lambda) -> Option<(Gives, usize)> {
    match &result.ty {
        Type::Array(Dim::Size(_), row) if !function.result.context.is_empty() => match &**row {
            Type::Array(Dim::Jagged, element) if has_nothing(element) => {
                Some((Gives::Row, row_with_a_place(function)?))
            }
            _ => None,
        },
        Type::Array(Dim::Size(_), element) if has_nothing(element) && Shares::in_body(&function.body) => {
            Some((Gives::Value, 0))
        }
        _ => None,
    }
}

/// Whether there are zeros of a type: scalars, tuples, and arrays of sizes that are known outside.
fn has_nothing(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) => true,
        Type::Tuple(parts) => parts.iter().all(has_nothing),
        Type::Array(Dim::Size(_), element) => has_nothing(element),
        Type::Vector(..) | Type::Array(Dim::Jagged, _) | Type::Data(_) | Type::Node(_) => false,
    }
}

/// Zeros, where a value is not looked at.
fn nothing(builder: &mut Builder, ty: &Type, span: Span) -> Typed<Atom> {
    match ty {
        Type::Scalar(scalar) => Ok(Atom::Const(Scalar::zero(*scalar))),
        Type::Tuple(parts) => {
            let parts: Typed<Vec<Atom>> = parts.iter().map(|part| nothing(builder, part, span)).collect();
            builder.bind(Exp::Tuple(parts?), "nothing", span)
        }
        Type::Array(Dim::Size(size), element) => {
            let (size, zero) = (builder.size_atom(size, span)?, nothing(builder, element, span)?);
            builder.bind(
                plain_op(Prim::Replicate, vec![], vec![size, zero]),
                "nothing",
                span,
            )
        }
        Type::Vector(..) | Type::Array(Dim::Jagged, _) | Type::Data(_) | Type::Node(_) => Ok(int(0)),
    }
}

/// A copy of the function's statements, for one row.
fn applied(builder: &mut Builder, over: &OverRows<'_>, at: &Atom) -> Typed<Atom> {
    let (function, mut given) = at_row(builder, over, at)?;
    let mut body = function.body;
    given.apply_body(&mut body);
    for stmt in body.stmts {
        builder.push(stmt.pattern, stmt.exp, stmt.span);
    }
    Ok(body.values.into_iter().next().unwrap_or_else(|| int(0)))
}

/// A copy of the function, and what its parameters are for one row.
fn at_row(builder: &mut Builder, over: &OverRows<'_>, at: &Atom) -> Typed<(Lambda, Substitution)> {
    let function = fresh_lambda(over.function, &mut builder.supply);
    let mut given = Substitution::new();
    let mut sizes = function.context.iter();
    for (param, array) in function.params.iter().zip(&over.op.args) {
        let element = Exp::Index {
            array: array.clone(),
            indices: vec![at.clone()],
        };
        let row = builder.bind_all(element, &["row".into()], over.span)?;
        // In this order: a row without a size of its own must not take one.
        for (found, size) in row.context.iter().zip(sizes.by_ref()) {
            given.insert(size.clone(), Atom::Var(found.clone()));
        }
        if let [value] = row.values.as_slice() {
            given.insert(param.var.clone(), Atom::Var(value.var.clone()));
        }
    }
    Ok((function, given))
}
