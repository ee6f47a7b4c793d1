//! From Core to structured code over registers.
//!
//! - Removes: names, tuples, vectors, operations with functions, patterns.
//! - Introduces: registers, loops that fetch and push, moves at the ends of branches and iterations.
//! - Guarantees: a register is written once on every path, except those that loops carry and branches join; the
//!   numbers of registers made inside a loop are not below the loop's [`Inner`] marks.

mod communicating;
mod compute;
mod control;
mod ops;
mod sizes;

use super::code::{B, Held, Inner, Input, Instr, Node, Output, ReturnInstr, S, Use};
use super::error::Site;
use crate::groups::node_references;
use crate::ir::{Atom, Body, DataId, Exp, Function, Param, Program, Recursive, Stmt, Type, Var};
use crate::visit::UseCounts;
use almach_base::Span;
use almach_value::{NodeReferences, Scalar, ScalarType, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What lowering cannot make sense of: the program breaks a rule of Core.
pub(super) type Lowered<T> = Result<T, String>;

/// Where a value is.
#[derive(Clone, Debug)]
pub(super) enum Loc {
    Scalar(S, ScalarType),
    Const(Scalar),
    Lanes(Vec<S>, ScalarType),
    Tuple(Vec<Loc>),
    Boxed(B),
}

/// The code of one function before allocation.
pub(super) struct LoweredFunction {
    pub block: Vec<Node>,
    pub scalar_params: u32,
    pub boxed_params: u32,
    pub scalars: u32,
    pub boxed: u32,
}

/// What is known about the program as a whole.
pub(super) struct ProgramFacts<'p> {
    pub program: &'p Program,
    /// By `DataId`.
    pub references: Vec<Arc<NodeReferences>>,
    /// By `DataId`, by constructor: the one cell of each constructor without fields.
    constants: Vec<Vec<Value>>,
}

impl<'p> ProgramFacts<'p> {
    pub(super) fn new(program: &'p Program) -> ProgramFacts<'p> {
        let references = (0..)
            .zip(&program.data)
            .map(|(id, _)| Arc::new(node_references(&program.data, DataId(id))))
            .collect();
        let constants = program.data.iter().map(|def| {
            let cells = (0..).zip(&def.constructors);
            cells
                .map(|(constructor, _)| Value::cell(constructor, []))
                .collect()
        });
        ProgramFacts {
            program,
            references,
            constants: constants.collect(),
        }
    }

    pub(super) fn held(&self, data: DataId) -> Lowered<Held> {
        let def = self.program.data.get(data.0 as usize);
        match def.ok_or("a data type does not exist")?.recursive {
            Recursive::Yes => Ok(Held::Datum),
            Recursive::No => Ok(Held::Sum),
        }
    }

    fn constants_of(&self, data: DataId) -> Arc<[Value]> {
        self.constants
            .get(data.0 as usize)
            .map_or_else(|| Arc::from([]), |cells| Arc::from(cells.as_slice()))
    }

    fn references(&self, data: DataId) -> Lowered<Arc<NodeReferences>> {
        let references = self.references.get(data.0 as usize);
        Ok(Arc::clone(references.ok_or("a data type does not exist")?))
    }
}

/// Lowers one function. New sites go to `spans`.
pub(super) fn lower_function(
    function: &Function,
    facts: &ProgramFacts<'_>,
    spans: &mut Vec<Span>,
) -> Lowered<LoweredFunction> {
    let mut lower = Lower {
        facts,
        spans,
        uses: UseCounts::of_function(function),
        vars: HashMap::new(),
        block: Vec::new(),
        scalars: 0,
        boxed: 0,
    };
    for var in &function.context {
        let reg = lower.scalar();
        lower.bind(var, Loc::Scalar(reg, ScalarType::I64));
    }
    for param in &function.params {
        lower.bind_new(param);
    }
    let (scalar_params, boxed_params) = (lower.scalars, lower.boxed);
    lower.tail_body(&function.body)?;
    Ok(LoweredFunction {
        block: lower.block,
        scalar_params,
        boxed_params,
        scalars: lower.scalars,
        boxed: lower.boxed,
    })
}

struct Lower<'a, 'p> {
    facts: &'a ProgramFacts<'p>,
    spans: &'a mut Vec<Span>,
    uses: UseCounts,
    vars: HashMap<u32, Loc>,
    block: Vec<Node>,
    scalars: u32,
    boxed: u32,
}

/// What an expression gives: its context where it has one of its own, and its values.
struct Given {
    /// `None`: the sizes are to be read off the values.
    context: Option<Vec<Loc>>,
    values: Vec<Loc>,
}

impl Given {
    fn one(loc: Loc) -> Given {
        Given {
            context: None,
            values: vec![loc],
        }
    }
}

impl Lower<'_, '_> {
    fn scalar(&mut self) -> S {
        self.scalars += 1;
        S(self.scalars - 1)
    }

    fn boxed(&mut self) -> B {
        self.boxed += 1;
        B(self.boxed - 1)
    }

    fn emit(&mut self, instr: Instr) {
        self.block.push(Node::Instr(instr));
    }

    fn site(&mut self, span: Span) -> Site {
        match self.spans.last() {
            Some(last) if *last == span => {}
            _ => self.spans.push(span),
        }
        Site(self.spans.len() as u32 - 1)
    }

    /// The marks of a loop that starts here.
    fn inner(&self) -> Inner {
        Inner {
            first_scalar: self.scalars,
            first_boxed: self.boxed,
            outer: Vec::new(),
        }
    }

    /// The code that `inside` makes, apart.
    fn in_block(&mut self, inside: impl FnOnce(&mut Self) -> Lowered<()>) -> Lowered<Vec<Node>> {
        let outside = std::mem::take(&mut self.block);
        let result = inside(self);
        let block = std::mem::replace(&mut self.block, outside);
        result.map(|()| block)
    }

    fn bind(&mut self, var: &Var, loc: Loc) {
        self.vars.insert(var.id, loc);
    }

    /// New registers for a value of a type.
    fn fresh(&mut self, ty: &Type) -> Loc {
        match ty {
            Type::Scalar(scalar) => Loc::Scalar(self.scalar(), *scalar),
            Type::Vector(width, scalar) => Loc::Lanes((0..*width).map(|_| self.scalar()).collect(), *scalar),
            Type::Tuple(parts) => Loc::Tuple(parts.iter().map(|part| self.fresh(part)).collect()),
            Type::Array(..) | Type::Data(_) | Type::Node(_) => Loc::Boxed(self.boxed()),
        }
    }

    fn bind_new(&mut self, param: &Param) -> Loc {
        let loc = self.fresh(&param.ty);
        self.bind(&param.var, loc.clone());
        loc
    }

    fn var(&self, var: &Var) -> Lowered<Loc> {
        let loc = self.vars.get(&var.id).cloned();
        loc.ok_or_else(|| format!("the variable `{var}` is not bound"))
    }

    fn atom(&self, atom: &Atom) -> Lowered<Loc> {
        match atom {
            Atom::Var(var) => self.var(var),
            Atom::Const(scalar) => Ok(Loc::Const(*scalar)),
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> Lowered<Vec<Loc>> {
        atoms.iter().map(|atom| self.atom(atom)).collect()
    }

    /// A scalar in a register.
    fn scalar_of(&mut self, loc: &Loc) -> Lowered<S> {
        match loc {
            Loc::Scalar(reg, _) => Ok(*reg),
            Loc::Const(scalar) => {
                let reg = self.scalar();
                self.emit(Instr::Const(reg, scalar.to_raw()));
                Ok(reg)
            }
            Loc::Lanes(..) | Loc::Tuple(_) | Loc::Boxed(_) => Err("expected a scalar".to_owned()),
        }
    }

    fn scalar_atom(&mut self, atom: &Atom) -> Lowered<S> {
        let loc = self.atom(atom)?;
        self.scalar_of(&loc)
    }

    fn boxed_atom(&self, atom: &Atom) -> Lowered<B> {
        boxed_of(&self.atom(atom)?)
    }

    fn input(&mut self, loc: &Loc) -> Lowered<Input> {
        Ok(match loc {
            Loc::Scalar(reg, ty) => Input::Scalar(*reg, *ty),
            Loc::Const(scalar) => Input::Scalar(self.scalar_of(loc)?, scalar.ty()),
            Loc::Lanes(regs, ty) => Input::Lanes(regs.as_slice().into(), *ty),
            Loc::Tuple(parts) => {
                let parts: Lowered<Vec<Input>> = parts.iter().map(|part| self.input(part)).collect();
                Input::Tuple(parts?.into())
            }
            Loc::Boxed(reg) => Input::Boxed(Use::of(*reg)),
        })
    }

    fn inputs(&mut self, atoms: &[Atom]) -> Lowered<Box<[Input]>> {
        let locs = self.atoms(atoms)?;
        locs.iter().map(|loc| self.input(loc)).collect()
    }

    /// Registers for a parameter or field, or nothing where nobody reads it (nor a size of it).
    fn wanted_output(&mut self, param: &Param, context: &[Var]) -> Output {
        if self.uses.of(&param.var) == 0 && !param.ty.mentions(&|var| context.contains(var)) {
            return Output::Ignored;
        }
        let loc = self.bind_new(param);
        output_of(&loc)
    }

    /// Writes values to registers, all at once: sources are read before any target is written.
    fn assign(&mut self, targets: &[Loc], sources: &[Loc]) -> Lowered<()> {
        let mut moves = Moves::default();
        if targets.len() != sources.len() {
            return Err("a body gives another number of values than its place wants".to_owned());
        }
        for (target, source) in targets.iter().zip(sources) {
            moves.add(target, source)?;
        }
        moves.emit(self);
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Lowered<()> {
        let given = self.exp(stmt)?;
        let pattern = &stmt.pattern;
        if given.values.len() != pattern.values.len() {
            return Err("a pattern binds another number of values than its expression gives".to_owned());
        }
        for (param, loc) in pattern.values.iter().zip(&given.values) {
            self.bind(&param.var, loc.clone());
        }
        match given.context {
            Some(context) if !pattern.context.is_empty() => {
                if context.len() != pattern.context.len() {
                    return Err(
                        "a pattern binds another number of sizes than its expression gives".to_owned(),
                    );
                }
                for (var, loc) in pattern.context.iter().zip(context) {
                    self.bind(var, loc);
                }
                Ok(())
            }
            _ => {
                let typed: Vec<(&Type, Loc)> =
                    pattern.values.iter().map(|p| &p.ty).zip(given.values).collect();
                self.bind_sizes(&pattern.context, &typed)
            }
        }
    }

    fn exp(&mut self, stmt: &Stmt) -> Lowered<Given> {
        let (exp, span, values) = (&stmt.exp, stmt.span, stmt.pattern.values.as_slice());
        match exp {
            Exp::Atom(atom) => self.atom(atom).map(Given::one),
            Exp::Unary(op, arg) => self.unary(*op, arg).map(Given::one),
            Exp::Binary(op, left, right) => self.binary(*op, left, right, span).map(Given::one),
            Exp::Ternary(op, a, b, c) => self.ternary(*op, [a, b, c]).map(Given::one),
            Exp::Tuple(parts) => Ok(Given::one(Loc::Tuple(self.atoms(parts)?))),
            Exp::Project(tuple, at) => match self.atom(tuple)? {
                Loc::Tuple(parts) => {
                    let part = parts.get(*at as usize).cloned();
                    part.map(Given::one)
                        .ok_or_else(|| "a tuple has no such part".to_owned())
                }
                _ => Err("a projection of what is no tuple".to_owned()),
            },
            Exp::Array(elements, ty) => self.literal(elements, ty, span).map(Given::one),
            Exp::Construct {
                data,
                constructor,
                fields,
            } => {
                let held = self.facts.held(*data)?;
                match (held, fields.is_empty()) {
                    (Held::Datum, true) => self.constant_cell(*data, *constructor).map(Given::one),
                    _ => self.construct(held, *constructor, fields).map(Given::one),
                }
            }
            Exp::ConstructNode {
                data: _,
                constructor,
                fields,
            } => self.construct(Held::Sum, *constructor, fields).map(Given::one),
            Exp::If {
                condition,
                then,
                otherwise,
                result,
            } => self.branch(condition, then, otherwise, result),
            Exp::Case {
                scrutinee,
                arms,
                default,
                result,
            } => self.case(scrutinee, arms, default.as_ref(), result),
            Exp::Loop(looped) => self.looped(looped),
            Exp::Call {
                function,
                context,
                args,
            } => self.call(*function, context, args, span),
            Exp::Foreign {
                function,
                context: _,
                args,
            } => self.foreign(*function, args, values, span),
            Exp::Op(op) => self.op(op, values, span),
            Exp::Index { array, indices } => self.index(array, indices, values, span).map(Given::one),
            Exp::Slice { array, parts } => self.slice(array, parts, values, span).map(Given::one),
            Exp::Update {
                array,
                parts,
                value,
                in_place: _,
            } => self.update(array, parts, value, span).map(Given::one),
            Exp::Coerce { value, to } => self.coerce(value, to, span).map(Given::one),
            Exp::Assert { condition, text } => self.assert(condition, text, span).map(Given::one),
            Exp::Trace { label, value } => self.trace(label, value, values).map(Given::one),
        }
    }

    /// The statements of a body; what it gives.
    fn body(&mut self, body: &Body) -> Lowered<(Vec<Loc>, Vec<Loc>)> {
        for stmt in &body.stmts {
            self.stmt(stmt)?;
        }
        Ok((self.atoms(&body.context)?, self.atoms(&body.values)?))
    }

    fn ret(&mut self, context: &[Loc], values: &[Loc]) -> Lowered<()> {
        let mut flat = Flat::default();
        for loc in context.iter().chain(values) {
            self.flatten(loc, &mut flat)?;
        }
        self.emit(Instr::Return(Box::new(ReturnInstr {
            scalars: flat.scalars.into(),
            boxed: flat.boxed.into(),
        })));
        Ok(())
    }

    /// The registers of a value, scalars and boxed ones apart.
    fn flatten(&mut self, loc: &Loc, flat: &mut Flat) -> Lowered<()> {
        match loc {
            Loc::Scalar(..) | Loc::Const(_) => flat.scalars.push(self.scalar_of(loc)?),
            Loc::Lanes(regs, _) => flat.scalars.extend(regs),
            Loc::Tuple(parts) => parts.iter().try_for_each(|part| self.flatten(part, flat))?,
            Loc::Boxed(reg) => flat.boxed.push(Use::of(*reg)),
        }
        Ok(())
    }

    /// A constructor without fields has one cell in the whole program: how often it is evaluated cannot be seen.
    fn constant_cell(&mut self, data: DataId, constructor: u32) -> Lowered<Loc> {
        let cells = self.facts.constants.get(data.0 as usize);
        let cell = cells.and_then(|cells| cells.get(constructor as usize));
        let cell = cell.ok_or("a constructor does not exist")?.clone();
        let to = self.boxed();
        self.emit(Instr::Value(to, cell));
        Ok(Loc::Boxed(to))
    }

    fn construct(&mut self, held: Held, constructor: u32, fields: &[Atom]) -> Lowered<Loc> {
        let to = self.boxed();
        if fields.is_empty() {
            let value = match held {
                Held::Sum => Value::sum(constructor, []),
                Held::Datum => Value::cell(constructor, []),
            };
            self.emit(Instr::Value(to, value));
            return Ok(Loc::Boxed(to));
        }
        let fields = self.inputs(fields)?;
        self.emit(Instr::Construct(Box::new(super::code::ConstructInstr {
            to,
            held,
            constructor,
            fields,
        })));
        Ok(Loc::Boxed(to))
    }
}

/// Registers of several values in order.
#[derive(Default)]
struct Flat {
    scalars: Vec<S>,
    boxed: Vec<Use>,
}

fn boxed_of(loc: &Loc) -> Lowered<B> {
    match loc {
        Loc::Boxed(reg) => Ok(*reg),
        _ => Err("expected an array or data".to_owned()),
    }
}

fn output_of(loc: &Loc) -> Output {
    match loc {
        Loc::Scalar(reg, _) => Output::Scalar(*reg),
        Loc::Const(_) => Output::Ignored,
        Loc::Lanes(regs, _) => Output::Lanes(regs.as_slice().into()),
        Loc::Tuple(parts) => Output::Tuple(parts.iter().map(output_of).collect()),
        Loc::Boxed(reg) => Output::Boxed(*reg),
    }
}

/// Moves that happen at once.
#[derive(Default)]
struct Moves {
    scalars: Vec<(S, S)>,
    constants: Vec<(S, u64)>,
    boxed: Vec<(B, B)>,
}

impl Moves {
    fn add(&mut self, target: &Loc, source: &Loc) -> Lowered<()> {
        match (target, source) {
            (Loc::Scalar(to, _), Loc::Scalar(from, _)) => {
                if to != from {
                    self.scalars.push((*to, *from));
                }
            }
            (Loc::Scalar(to, _), Loc::Const(scalar)) => self.constants.push((*to, scalar.to_raw())),
            (Loc::Lanes(to, _), Loc::Lanes(from, _)) if to.len() == from.len() => {
                let lanes = to.iter().copied().zip(from.iter().copied());
                self.scalars.extend(lanes.filter(|(to, from)| to != from));
            }
            (Loc::Tuple(to), Loc::Tuple(from)) if to.len() == from.len() => {
                for (to, from) in to.iter().zip(from) {
                    self.add(to, from)?;
                }
            }
            (Loc::Boxed(to), Loc::Boxed(from)) => {
                if to != from {
                    self.boxed.push((*to, *from));
                }
            }
            _ => return Err("a value does not fit its place".to_owned()),
        }
        Ok(())
    }

    /// Sources that are targets too go through registers of their own.
    fn emit(mut self, lower: &mut Lower<'_, '_>) {
        let targets: HashSet<S> = self.scalars.iter().map(|(to, _)| *to).collect();
        let constant_targets: HashSet<S> = self.constants.iter().map(|(to, _)| *to).collect();
        for (_, from) in &mut self.scalars {
            if targets.contains(from) || constant_targets.contains(from) {
                let held = lower.scalar();
                lower.emit(Instr::Copy(held, *from));
                *from = held;
            }
        }
        let targets: HashSet<B> = self.boxed.iter().map(|(to, _)| *to).collect();
        for (_, from) in &mut self.boxed {
            if targets.contains(from) {
                let held = lower.boxed();
                lower.emit(Instr::Move(held, Use::of(*from)));
                *from = held;
            }
        }
        for (to, from) in self.scalars {
            lower.emit(Instr::Copy(to, from));
        }
        for (to, raw) in self.constants {
            lower.emit(Instr::Const(to, raw));
        }
        for (to, from) in self.boxed {
            lower.emit(Instr::Move(to, Use::of(from)));
        }
    }
}
