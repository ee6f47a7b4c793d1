//! Rows that are much work: where a map's function gives rows and is more than a walk over its elements, threads share the rows.
//!
//! ```text
//! let rss: [n][?]i32 = map (\{k} xs ->      =>  data Rows = Made [?]i32 | More Rows
//!   let {m} r = sort {k} (xs)
//!   in {m} r) xss                               let cells: [n]Rows = map (\{k} xs ->
//!                                                 if k > 65536 then Made [] else let {m} r = sort {k} (xs) in let cell = Made r in cell) xss
//!                                               let rss: [n][?]i32 = map@seq (\{k} cell xs ->
//!                                                 if k > 65536 then sort {k} (xs) else case cell of Made r -> r | _ -> []) cells xss
//! ```
//!
//! A long row would keep one thread busy alone, so it is made when its turn comes to be put behind the others, where all threads are free for the operations
//! inside. Where rows are made of something that is no row, all are short.
//!
//! Where a row begins is not known before those in front of it are done, so a map that gives rows of their own sizes runs in order. What
//! flattening knows to do for all rows at once is gone by now; what is left here goes to cells of a recursive type, whose store all threads add to, in any
//! order, and afterwards the rows are put one behind the other. That moves every element once more, so it is done only where a row is more
//! than one pass over its elements: it has a loop, a call, branches, or an operation that moves elements. The store lives as long as the call of the whole program: maps in loops stay in order.
//!
//! Removes: maps that give rows, in order. Introduces: a type for the cells, and a map that takes rows out of them. Guarantees: the function is
//! applied once to every element.

use crate::Machine;
use crate::decision::{Choice, Decision};
use crate::long_rows::{LENGTHS, Shared, row_with_a_place};
use crate::tactics::{Question, Tactics, Topic};
use crate::write::int;
use almach_base::{Name, Span};
use almach_core::build::{Builder, op as plain_op};
use almach_core::typing::Typed;
use almach_core::visit::{Walk, WalkMut, fresh_lambda, walk_exp, walk_exp_mut};
use almach_core::{
    Arm, Atom, Body, ConstructorDef, DataDef, DataId, Dim, Exp, FunId, Lambda, Op, Param, Pattern, Program,
    Recursive, ResultType, Size, Stmt, Type, Var,
};
use almach_prim::{Annotation, Level, Prim};
use almach_rewrite::facts::{Facts, callees, callees_of_exp, is_fixed};
use almach_value::{BinOp, Scalar};
use std::collections::HashSet;

/// The program in which entry points do so, and what was decided.
pub(crate) fn shared(mut program: Program, machine: Machine, tactics: &Tactics) -> (Program, Shared) {
    if machine != Machine::Threads {
        return (program, Shared::default());
    }
    let mut sharer = Sharer {
        bound: bound_functions(&program),
        facts: Facts::of(&program),
        builder: Builder::for_program(&program),
        tactics,
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
    program.data = sharer.builder.signatures.data;
    (program, sharer.shared)
}

struct Sharer<'t> {
    /// The functions that print, or hold what the user fixed, also in functions that they call.
    bound: HashSet<FunId>,
    facts: Facts,
    builder: Builder,
    tactics: &'t Tactics,
    shared: Shared,
}

/// What a map's function gives, one of its results.
#[derive(Clone)]
enum Slot {
    One(Scalar),
    /// An array of a size of its own, with these elements.
    Row(Type),
}

impl Slot {
    /// A result that a cell can hold; `own` are the sizes that the function's result has of its own.
    fn of(ty: &Type, own: &[Var]) -> Option<Slot> {
        match ty {
            Type::Scalar(scalar) => Some(Slot::One(Scalar::zero(*scalar))),
            Type::Array(Dim::Size(size), element) if is_plain(element) => {
                let is_own = own.iter().any(|var| *size == Size::var(var.clone()));
                is_own.then(|| Slot::Row((**element).clone()))
            }
            Type::Array(..) | Type::Vector(..) | Type::Tuple(_) | Type::Data(_) | Type::Node(_) => None,
        }
    }

    fn field(&self) -> Type {
        match self {
            Slot::One(zero) => Type::Scalar(zero.ty()),
            Slot::Row(element) => Type::jagged(element.clone()),
        }
    }
}

fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) => true,
        Type::Tuple(parts) => parts.iter().all(is_plain),
        Type::Vector(..) | Type::Data(_) | Type::Array(..) | Type::Node(_) => false,
    }
}

impl WalkMut for Sharer<'_> {
    fn body(&mut self, body: &mut Body) {
        for mut stmt in std::mem::take(&mut body.stmts) {
            match self.shared(&stmt) {
                Some(made) => body.stmts.extend(made),
                None => {
                    if !matches!(stmt.exp, Exp::Op(_) | Exp::Loop(_)) {
                        walk_exp_mut(self, &mut stmt.exp);
                    }
                    body.stmts.push(stmt);
                }
            }
        }
    }
}

impl Sharer<'_> {
    fn shared(&mut self, stmt: &Stmt) -> Option<[Stmt; 2]> {
        let Exp::Op(op) = &stmt.exp else { return None };
        let (Prim::Map, [function]) = (op.prim, op.functions.as_slice()) else {
            return None;
        };
        if self.is_bound(&stmt.exp) || !is_much(&function.body) {
            return None;
        }
        // Where such rows go is known: `long_rows`.
        if row_with_a_place(function).is_some() {
            return None;
        }
        let own = &function.result.context;
        let types = function.result.types.iter();
        let slots: Vec<Slot> = types.map(|ty| Slot::of(ty, own)).collect::<Option<_>>()?;
        let [first, ..] = stmt.pattern.values.as_slice() else {
            return None;
        };
        let (Type::Array(Dim::Size(count), _), false) = (&first.ty, own.is_empty()) else {
            return None;
        };
        let long = self.long(function, &op.args, stmt.span);
        self.builder.env.clone_from(&self.facts.env);
        let known = self.builder.signatures.data.len();
        let data = self.cell_type(&slots);
        let both = self.made(function, data, &slots, long, stmt.span);
        let both = both.and_then(|made| Ok((made, self.taken(function, data, &slots, long, stmt.span)?)));
        let Ok((made, taken)) = both else {
            self.builder.signatures.data.truncate(known);
            return None;
        };
        let cells = Param {
            var: self.builder.fresh("cells"),
            ty: Type::array(count.clone(), Type::Data(data)),
        };
        self.shared.decisions.push(Decision {
            span: stmt.span,
            operation: Prim::Map,
            choice: Choice::SharedRows(long),
            reason: "its function is more than a walk over its elements, and gives rows whose lengths are known afterwards"
                .to_owned(),
        });
        let mut taken_from = vec![Atom::Var(cells.var.clone())];
        if long.is_some() {
            taken_from.extend(op.args.iter().cloned());
        }
        let taken = Exp::Op(Op {
            prim: Prim::Map,
            annotation: Annotation {
                level: Some(Level::Seq),
                ..Annotation::NONE
            },
            functions: vec![taken],
            args: taken_from,
        });
        Some([
            Stmt {
                pattern: one(cells),
                exp: plain_op(Prim::Map, vec![made], op.args.clone()),
                span: stmt.span,
            },
            Stmt {
                exp: taken,
                ..stmt.clone()
            },
        ])
    }

    /// How many elements a row has at most that one thread makes what comes of; none where there are no such rows.
    fn long(&mut self, function: &Lambda, args: &[Atom], span: Span) -> Option<i64> {
        let mut jagged = 0;
        for array in args {
            match self.facts.env.atom_type(array) {
                Ok(Type::Array(_, element)) if matches!(*element, Type::Array(Dim::Jagged, _)) => jagged += 1,
                Ok(Type::Array(_, element)) if element.open_count() == 0 => {}
                _ => return None,
            }
        }
        // One size for each array of rows.
        if jagged == 0 || jagged != function.context.len() {
            return None;
        }
        let question = Question {
            span,
            topic: Topic::LongRows,
        };
        let asked = self.tactics.asked(question, LENGTHS.len() as u32 + 1);
        self.shared.asked.push(asked);
        LENGTHS.get(asked.answer as usize).copied()
    }

    fn is_bound(&self, exp: &Exp) -> bool {
        let mut called = callees_of_exp(exp).into_iter();
        Bound::holds(exp) || called.any(|id| self.bound.contains(&id))
    }

    /// A type with a constructor for these, and one that makes it recursive.
    fn cell_type(&mut self, slots: &[Slot]) -> DataId {
        let number = self.builder.signatures.data.len();
        let data = DataId(number as u32);
        let constructor = |name: &str, fields: Vec<Type>| ConstructorDef {
            name: Name::from(format!("{name}_{number}")),
            fields,
        };
        let constructors = vec![
            constructor("Made", slots.iter().map(Slot::field).collect()),
            constructor("More", vec![Type::Data(data)]),
        ];
        self.builder.signatures.data.push(DataDef {
            name: Name::from(format!("Rows_{number}")),
            recursive: Recursive::Yes,
            constructors,
            parts: Vec::new(),
        });
        data
    }

    /// The map's function, with what it gives in a cell.
    fn made(
        &mut self,
        function: &Lambda,
        data: DataId,
        slots: &[Slot],
        long: Option<i64>,
        span: Span,
    ) -> Typed<Lambda> {
        self.builder.enter_signature(&function.context, &function.params);
        let mut made = function.clone();
        let fields = std::mem::take(&mut made.body.values);
        made.body.context = Vec::new();
        self.put(&mut made.body, data, fields, span);
        made.result = ResultType::one(Type::Data(data));
        if let (Some(long), Some(length)) = (long, function.context.first()) {
            let mut nothing = self.nothing(slots, span)?;
            nothing.context = Vec::new();
            let fields = std::mem::take(&mut nothing.values);
            self.put(&mut nothing, data, fields, span);
            made.body = self.by_length((length, long), nothing, made.body, &made.result, span)?;
        }
        Ok(made)
    }

    /// Adds that these are in a cell, which is what the statements give.
    fn put(&mut self, body: &mut Body, data: DataId, fields: Vec<Atom>, span: Span) {
        let cell = Param {
            var: self.builder.fresh("cell"),
            ty: Type::Data(data),
        };
        body.values = vec![Atom::Var(cell.var.clone())];
        body.stmts.push(Stmt {
            pattern: one(cell),
            exp: Exp::Construct {
                data,
                constructor: 0,
                fields,
            },
            span,
        });
    }

    /// A body that is one for long rows, another for others.
    fn by_length(
        &mut self,
        (length, long): (&Var, i64),
        then: Body,
        otherwise: Body,
        result: &ResultType,
        span: Span,
    ) -> Typed<Body> {
        self.builder.enter();
        let is_long = Exp::Binary(BinOp::Gt, Atom::Var(length.clone()), int(long));
        let given = self.builder.bind(is_long, "is_long", span).and_then(|condition| {
            let either = Exp::If {
                condition,
                then,
                otherwise,
                result: result.clone(),
            };
            self.builder.bind_all(either, &["given".into()], span)
        });
        let (context, values) = match &given {
            Ok(pattern) => (pattern.context.clone(), pattern.values.clone()),
            Err(_) => (Vec::new(), Vec::new()),
        };
        let values = values.into_iter().map(|value| value.var).collect();
        let body = self.builder.leave(atoms(context), atoms(values));
        given.map(|_| body)
    }

    /// What is in a cell, and what comes of a long row.
    fn taken(
        &mut self,
        function: &Lambda,
        data: DataId,
        slots: &[Slot],
        long: Option<i64>,
        span: Span,
    ) -> Typed<Lambda> {
        let cell = self.builder.param("cell", Type::Data(data));
        self.builder.enter();
        let made = self.case(cell.var.clone(), slots, span);
        let made = made.and_then(|case| self.builder.bind_all(case, &["made".into()], span));
        let (context, values) = match &made {
            Ok(pattern) => (pattern.context.clone(), pattern.values.clone()),
            Err(_) => (Vec::new(), Vec::new()),
        };
        let values = values.into_iter().map(|value| value.var).collect();
        let held = self.builder.leave(atoms(context), atoms(values));
        made?;
        let result = self.rows(slots).0;
        let short = Lambda {
            context: Vec::new(),
            params: vec![cell],
            result,
            body: held,
        };
        let Some(long) = long else { return Ok(short) };
        let itself = fresh_lambda(function, &mut self.builder.supply);
        self.builder.enter_signature(&itself.context, &itself.params);
        let Some(length) = itself.context.first() else {
            return Ok(short);
        };
        let body = self.by_length((length, long), itself.body, short.body, &short.result, span)?;
        Ok(Lambda {
            context: itself.context,
            params: short.params.into_iter().chain(itself.params).collect(),
            result: itself.result,
            body,
        })
    }

    fn case(&mut self, cell: Var, slots: &[Slot], span: Span) -> Typed<Exp> {
        let (given, fields) = self.rows(slots);
        let held = Body {
            stmts: Vec::new(),
            context: given.context.iter().cloned().map(Atom::Var).collect(),
            values: fields.iter().map(|field| Atom::Var(field.var.clone())).collect(),
        };
        let arm = Arm {
            constructor: 0,
            context: given.context,
            fields,
            body: held,
        };
        let nothing = self.nothing(slots, span)?;
        Ok(Exp::Case {
            scrutinee: Atom::Var(cell),
            arms: vec![arm],
            default: Some(nothing),
            result: self.rows(slots).0,
        })
    }

    /// Values of these, each row with a size of its own.
    fn rows(&mut self, slots: &[Slot]) -> (ResultType, Vec<Param>) {
        let mut context = Vec::new();
        let mut fields = Vec::new();
        for slot in slots {
            let ty = match slot {
                Slot::One(_) => slot.field(),
                Slot::Row(element) => {
                    let size = self.builder.size_var("row");
                    context.push(size.clone());
                    Type::array(Size::var(size), element.clone())
                }
            };
            fields.push(self.builder.param("made", ty));
        }
        let types = fields.iter().map(|field| field.ty.clone()).collect();
        (ResultType { context, types }, fields)
    }

    /// What a cell would give that has none of these: there is none.
    fn nothing(&mut self, slots: &[Slot], span: Span) -> Typed<Body> {
        self.builder.enter();
        let (mut context, mut values, mut problem) = (Vec::new(), Vec::new(), None);
        for slot in slots {
            let value = match slot {
                Slot::One(zero) => Ok(Atom::Const(*zero)),
                Slot::Row(element) => {
                    context.push(Atom::Const(Scalar::I64(0)));
                    let none = Exp::Array(Vec::new(), element.clone());
                    self.builder.bind(none, "nothing", span)
                }
            };
            match value {
                Ok(value) => values.push(value),
                Err(error) => problem = Some(error),
            }
        }
        let body = self.builder.leave(context, values);
        problem.map_or(Ok(body), Err)
    }
}

/// The functions that print or hold what is fixed, and those that lead to them. Recursion alone is no reason.
fn bound_functions(program: &Program) -> HashSet<FunId> {
    let all = || (0u32..).map(FunId).zip(&program.functions);
    let holds = |body: &Body| body.stmts.iter().any(|stmt| Bound::holds(&stmt.exp));
    let mut bound: HashSet<FunId> = all()
        .filter(|(_, function)| holds(&function.body))
        .map(|(id, _)| id)
        .collect();
    loop {
        let leads = |body: &Body| callees(body).iter().any(|id| bound.contains(id));
        let more: Vec<FunId> = all()
            .filter(|(id, function)| !bound.contains(id) && leads(&function.body))
            .map(|(id, _)| id)
            .collect();
        if more.is_empty() {
            return bound;
        }
        bound.extend(more);
    }
}

/// What keeps a map as it is: a line that is printed, or an operation that the user fixed.
struct Bound(bool);

impl Bound {
    fn holds(exp: &Exp) -> bool {
        let mut found = Bound(false);
        found.exp(exp);
        found.0
    }
}

impl Walk for Bound {
    fn exp(&mut self, exp: &Exp) {
        self.0 |= match exp {
            Exp::Trace { .. } => true,
            Exp::Op(op) => is_fixed(op),
            _ => false,
        };
        walk_exp(self, exp);
    }
}

fn one(param: Param) -> Pattern {
    Pattern {
        context: Vec::new(),
        values: vec![param],
    }
}

fn atoms(vars: Vec<Var>) -> Vec<Atom> {
    vars.into_iter().map(Atom::Var).collect()
}

/// Whether a function goes over its elements more than once, as far as that can be seen: a loop, a call, branches that each do something to
/// arrays, or an operation that moves elements.
fn is_much(body: &Body) -> bool {
    struct Finder(bool);
    impl Walk for Finder {
        fn exp(&mut self, exp: &Exp) {
            self.0 |= match exp {
                Exp::Loop(_) | Exp::Call { .. } => true,
                Exp::If { result, .. } | Exp::Case { result, .. } => {
                    result.types.iter().any(|ty| matches!(ty, Type::Array(..)))
                }
                Exp::Op(op) => moves(op.prim),
                _ => false,
            };
            walk_exp(self, exp);
        }
    }
    let mut finder = Finder(false);
    finder.body(body);
    finder.0
}

/// Operations whose elements come to places that depend on others.
fn moves(prim: Prim) -> bool {
    matches!(
        prim,
        Prim::Filter
            | Prim::Partition
            | Prim::Scan
            | Prim::ScanExclusive
            | Prim::Scatter
            | Prim::Permute
            | Prim::ReduceByIndex
    )
}
