//! The rules of Imp. Every program passes them before it is printed for a target.
//!
//! | rule | says |
//! | --- | --- |
//! | IMP-01 | a name is bound once per procedure, before it is used, and used as what it is (scalar or buffer) |
//! | IMP-02 | an operator has operands of the types it takes |
//! | IMP-03 | conditions are booleans; indices are made of `i64` scalars |
//! | IMP-04 | what is written to a variable or cell has its type |
//! | IMP-05 | only `var`s and `out` parameters are assigned |
//! | IMP-06 | only buffers that may be written are stored to |
//! | IMP-07 | only owned buffers are allocated, freed and swapped |
//! | IMP-08 | a buffer is freed once, in the block that declares it, and not used afterwards |
//! | IMP-09 | a call has the arguments its procedure takes, and no buffer twice where one of the two is written |
//! | IMP-10 | inside a `par` or `simd` loop nothing from outside is assigned, allocated, freed or swapped |
//! | IMP-11 | no `par` or `chain` loop stands inside a loop that is not `seq`, and no `items` loop inside a `simd` loop |
//! | IMP-12 | a check has as many arguments as its message has places |
//! | IMP-13 | a call that may lead back to its caller does not stand in a parallel loop |
//! | IMP-14 | an atomic update has an operator that is exact in any order |
//! | IMP-15 | an atomic load is relaxed or acquires, a store is relaxed or releases |
//! | IMP-16 | `await` stands in a `chain` loop, and waits for an integer of a buffer from outside the loop |
//! | IMP-17 | `barrier` stands in an `items` loop where all work-items meet it: under no condition and in no loop that differs between them |
//! | IMP-18 | `local` memory belongs to a group: it is not declared inside an `items` loop |
//! | IMP-19 | stores and their columns have names of their own; rows are reserved of stores that are there |
//! | IMP-20 | a loop with a known number of iterations has an index that is wide enough |
//! | IMP-21 | a kernel stands in no kernel and no parallel loop; it holds one `par` or `chain` loop, or none |
//! | IMP-22 | a kernel has memory of its own of known size only, makes no rows, prints nothing, and calls C functions only, with scalars and buffers that are not its own |
//! | IMP-23 | what is fetched and attached is the host's; what is attached is a parameter; what is fetched cell by cell is a column |
//! | IMP-24 | only `borrowed` buffers borrow, and from buffers whose cells stay where they are |
//! | IMP-25 | a foreign function and `trace` have the arguments of their types |
//!
//! That an awaited cell is published by an *earlier* iteration is not a rule of form: the interpreter, which runs the
//! iterations of a `chain` loop in order, finds a wait that would last for ever.

mod kernels;
mod uniform;

use crate::groups::Groups;
use crate::interface::{Shape, Slot};
use crate::ir::{
    Argument, AtomicStep, Column, Expr, Index, LoopMode, Order, Param, Passing, Proc, Program, Space, Stmt,
    exact_in_any_order, is_column,
};
use almach_base::{Name, Span};
use almach_value::{ScalarType, ValueType};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;

/// A broken rule. `span` is the closest place in the source that is known.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckError {
    pub rule: &'static str,
    pub message: String,
    pub span: Span,
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.message)
    }
}

/// A program that passed the check; only the check makes one.
#[derive(Clone, Debug)]
pub struct Checked(Program);

impl Checked {
    pub fn program(&self) -> &Program {
        &self.0
    }
}

pub fn check(program: Program) -> Result<Checked, CheckError> {
    let mut signatures = FxHashMap::default();
    for proc in &program.procs {
        if signatures
            .insert(proc.name.clone(), proc.params.clone())
            .is_some()
        {
            return Err(CheckError {
                rule: "IMP-01",
                message: format!("two procedures are called `{}`", proc.name),
                span: proc.span,
            });
        }
    }
    check_stores(&program)?;
    let groups = Groups::of(&program.procs);
    for proc in &program.procs {
        Checker::new(&signatures, &groups, &program, proc).proc(proc)?;
    }
    Ok(Checked(program))
}

fn check_stores(program: &Program) -> Result<(), CheckError> {
    let mut names = FxHashSet::default();
    let stores = program.stores.iter().map(|store| &store.name);
    let columns = program.columns().map(|column| &column.name);
    for name in stores.chain(columns) {
        if !names.insert(name) {
            return Err(CheckError {
                rule: "IMP-19",
                message: format!("`{name}` is there twice"),
                span: Span::NONE,
            });
        }
    }
    match program.columns().find(|column| !is_column(&column.name)) {
        None => Ok(()),
        Some(column) => Err(CheckError {
            rule: "IMP-19",
            message: format!("the column `{}` has a name that scalars may have", column.name),
            span: Span::NONE,
        }),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A scalar that keeps its value.
    Constant,
    Variable,
    ReadBuffer,
    WriteBuffer,
    OwnedBuffer,
    /// Cells of other buffers.
    Borrowed,
    Freed,
}

#[derive(Clone, Copy)]
struct Known {
    kind: Kind,
    ty: ScalarType,
    /// How many parallel loops were around the binding.
    depth: usize,
}

struct Checker<'a> {
    signatures: &'a FxHashMap<Name, Vec<Param>>,
    groups: &'a Groups,
    program: &'a Program,
    proc: &'a Name,
    names: FxHashMap<Name, Known>,
    bound: FxHashSet<Name>,
    loops: Vec<LoopMode>,
    /// Names whose values may differ between the work-items of a group.
    differs: FxHashSet<Name>,
    /// How many branches and loops around are not the same for all work-items.
    apart: usize,
    in_kernel: bool,
    span: Span,
}

type Check<T> = Result<T, CheckError>;

impl<'a> Checker<'a> {
    fn new(
        signatures: &'a FxHashMap<Name, Vec<Param>>,
        groups: &'a Groups,
        program: &'a Program,
        proc: &'a Proc,
    ) -> Checker<'a> {
        let column = |column: &Column| {
            let known = Known {
                kind: Kind::WriteBuffer,
                ty: column.ty,
                depth: 0,
            };
            (column.name.clone(), known)
        };
        Checker {
            signatures,
            groups,
            program,
            proc: &proc.name,
            names: program.columns().map(column).collect(),
            bound: FxHashSet::default(),
            loops: Vec::new(),
            differs: FxHashSet::default(),
            apart: 0,
            in_kernel: false,
            span: proc.span,
        }
    }

    fn fail<T>(&self, rule: &'static str, message: impl fmt::Display) -> Check<T> {
        Err(CheckError {
            rule,
            message: format!("in `{}`: {message}", self.proc),
            span: self.span,
        })
    }

    fn bind(&mut self, name: &Name, kind: Kind, ty: ScalarType) -> Check<()> {
        if !self.bound.insert(name.clone()) || is_column(name) {
            return self.fail("IMP-01", format!("`{name}` is bound twice"));
        }
        let depth = self.parallel_depth();
        self.names.insert(name.clone(), Known { kind, ty, depth });
        Ok(())
    }

    fn parallel_depth(&self) -> usize {
        self.loops.iter().filter(|mode| mode.is_parallel()).count()
    }

    fn known(&self, name: &Name) -> Check<Known> {
        match self.names.get(name) {
            Some(known) => Ok(*known),
            None => self.fail("IMP-01", format!("`{name}` is not bound here")),
        }
    }

    fn scalar(&self, name: &Name) -> Check<ScalarType> {
        match self.known(name)? {
            Known {
                kind: Kind::Constant | Kind::Variable,
                ty,
                ..
            } => Ok(ty),
            _ => self.fail("IMP-01", format!("`{name}` is a buffer and used as a scalar")),
        }
    }

    fn buffer(&self, name: &Name) -> Check<Known> {
        match self.known(name)? {
            Known {
                kind: Kind::Constant | Kind::Variable,
                ..
            } => self.fail("IMP-01", format!("`{name}` is a scalar and used as a buffer")),
            Known {
                kind: Kind::Freed, ..
            } => self.fail("IMP-08", format!("`{name}` is used after it is freed")),
            known => Ok(known),
        }
    }

    fn proc(&mut self, proc: &Proc) -> Check<()> {
        for Param { name, ty, passing } in &proc.params {
            let kind = match passing {
                Passing::Value => Kind::Constant,
                Passing::Out => Kind::Variable,
                Passing::Read => Kind::ReadBuffer,
                Passing::Write => Kind::WriteBuffer,
                Passing::Owned => Kind::OwnedBuffer,
            };
            self.bind(name, kind, *ty)?;
        }
        self.block(&proc.body)
    }

    /// Names of a block end with it; buffers it declares must be freed by then.
    fn block(&mut self, stmts: &[Stmt]) -> Check<()> {
        let mut declared: Vec<&Name> = Vec::new();
        for stmt in stmts {
            match stmt {
                Stmt::Let { name, .. } | Stmt::Var { name, .. } | Stmt::Reserve { name, .. } => {
                    declared.push(name);
                }
                Stmt::Buffer { name, .. } => declared.push(name),
                Stmt::Atomic { step, .. } => declared.extend(step.bound().map(|(name, _)| name)),
                Stmt::Free(name) if !declared.contains(&name) => {
                    return self.fail(
                        "IMP-08",
                        format!("`{name}` is freed in a block that does not declare it"),
                    );
                }
                _ => {}
            }
            self.stmt(stmt)?;
        }
        for name in declared {
            if let Some(Known {
                kind: Kind::OwnedBuffer,
                ..
            }) = self.names.remove(name)
            {
                return self.fail("IMP-08", format!("`{name}` is not freed at the end of its block"));
            }
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Check<()> {
        match stmt {
            Stmt::At(span) => {
                self.span = *span;
                Ok(())
            }
            Stmt::Let { name, ty, value } => {
                self.expect(value, *ty, name)?;
                self.bind(name, Kind::Constant, *ty)
            }
            Stmt::Var { name, ty, value } => {
                if let Some(value) = value {
                    self.expect(value, *ty, name)?;
                }
                self.bind(name, Kind::Variable, *ty)
            }
            Stmt::Assign { name, value } => {
                let ty = self.scalar(name)?;
                match self.known(name)?.kind {
                    Kind::Variable => {}
                    _ => return self.fail("IMP-05", format!("`{name}` is assigned but is no variable")),
                }
                self.inside(name, "assigned")?;
                self.expect(value, ty, name)
            }
            Stmt::Store { buffer, index, value } => {
                let known = self.writable(buffer)?;
                self.index(index)?;
                self.expect(value, known.ty, buffer)
            }
            Stmt::Buffer { name, ty, space } => {
                if *space == Space::Local && self.is_among_items() {
                    return self.fail("IMP-18", format!("`{name}` is local memory of one work-item"));
                }
                let kind = match space {
                    Space::Borrowed => Kind::Borrowed,
                    Space::Host | Space::Global | Space::Local | Space::Private => Kind::OwnedBuffer,
                };
                self.bind(name, kind, *ty)
            }
            Stmt::Barrier => match self.is_among_items() && self.apart == 0 {
                true => Ok(()),
                false => self.fail("IMP-17", "not all work-items of a group meet this barrier"),
            },
            Stmt::Reserve {
                name, store, count, ..
            } => {
                self.index(count)?;
                if !self.program.stores.iter().any(|known| known.name == *store) {
                    return self.fail("IMP-19", format!("there is no store `{store}`"));
                }
                self.bind(name, Kind::Constant, ScalarType::I64)
            }
            Stmt::Alloc { buffer, size, .. } => {
                self.index(size)?;
                self.owned(buffer, "allocated")
            }
            Stmt::Shrink { buffer, size } => {
                self.index(size)?;
                self.owned(buffer, "shrunk")
            }
            Stmt::Atomic {
                step,
                order,
                buffer,
                index,
            } => self.atomic(step, *order, buffer, index),
            Stmt::Await { buffer, index, value } => self.wait(buffer, index, value),
            Stmt::Borrow {
                buffer,
                from,
                first,
                count,
            } => {
                self.index(first)?;
                self.index(count)?;
                self.borrow(buffer, from)
            }
            Stmt::Free(buffer) => {
                self.owned(buffer, "freed")?;
                if let Some(known) = self.names.get_mut(buffer) {
                    known.kind = Kind::Freed;
                }
                Ok(())
            }
            Stmt::Swap(a, b) => {
                self.owned(a, "swapped")?;
                self.owned(b, "swapped")?;
                match self.known(a)?.ty == self.known(b)?.ty {
                    true => Ok(()),
                    false => self.fail("IMP-04", format!("`{a}` and `{b}` hold different types")),
                }
            }
            Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            } => {
                for index in [to_index, from_index, count] {
                    self.index(index)?;
                }
                let (to_known, from_known) = (self.writable(to)?, self.buffer(from)?);
                match to_known.ty == from_known.ty {
                    true => Ok(()),
                    false => self.fail("IMP-04", format!("`{from}` and `{to}` hold different types")),
                }
            }
            Stmt::For {
                index,
                width,
                count,
                mode,
                body,
            } => {
                if count.as_constant().is_some_and(|count| count > width.most()) {
                    return self.fail(
                        "IMP-20",
                        format!("`{index}` is too narrow for {count} iterations"),
                    );
                }
                self.for_loop(index, count, *mode, body)
            }
            Stmt::While { condition, body } => {
                self.condition(condition)?;
                let apart = self.may_differ(condition);
                self.branches(apart, &[body])
            }
            Stmt::If {
                condition,
                then,
                otherwise,
            } => {
                self.condition(condition)?;
                let apart = self.may_differ(condition);
                self.branches(apart, &[then, otherwise])
            }
            Stmt::Check {
                condition,
                site,
                arguments,
            } => {
                self.condition(condition)?;
                for argument in arguments {
                    self.expr(argument)?;
                }
                match site.text.matches("{}").count() == arguments.len() {
                    true => Ok(()),
                    false => self.fail(
                        "IMP-12",
                        format!("`{}` has {} arguments", site.text, arguments.len()),
                    ),
                }
            }
            Stmt::Kernel { name, body } => self.kernel(name, body),
            Stmt::Transfer(transfer) => self.transfer(transfer),
            Stmt::Call { proc, arguments, .. } => self.call(proc, arguments),
            Stmt::Foreign {
                function, arguments, ..
            } => {
                let params = self.slots(&function.params)?;
                let results = self.slots(std::slice::from_ref(&function.result))?;
                self.values(&function.name, &params, arguments)?;
                self.results(
                    &function.name,
                    &results,
                    arguments.get(params.len()..).unwrap_or(&[]),
                )
            }
            Stmt::Trace { label, ty, arguments } => {
                let slots = self.slots(std::slice::from_ref(ty))?;
                self.values(label, &slots, arguments)?;
                match slots.len() == arguments.len() {
                    true => Ok(()),
                    false => self.fail("IMP-25", format!("`{label}` has {} slots", slots.len())),
                }
            }
        }
    }

    fn for_loop(&mut self, index: &Name, count: &Index, mode: LoopMode, body: &[Stmt]) -> Check<()> {
        self.index(count)?;
        if mode.has_threads() && self.parallel_depth() > 0 {
            return self.fail("IMP-11", "a parallel loop stands inside another");
        }
        if mode == LoopMode::Items && self.loops.contains(&LoopMode::Simd) {
            return self.fail("IMP-11", "a loop of work-items stands inside one of lanes");
        }
        let same = mode == LoopMode::Seq && !self.may_differ(&Expr::Index(count.clone()));
        let apart = self.is_among_items() && !same;
        if mode == LoopMode::Items && !self.is_among_items() {
            self.differs = uniform::differing(index, body);
        }
        self.loops.push(mode);
        self.bind(index, Kind::Constant, ScalarType::I64)?;
        self.branches(apart, &[body])?;
        self.names.remove(index);
        self.loops.pop();
        Ok(())
    }

    fn atomic(&mut self, step: &AtomicStep, order: Order, buffer: &Name, index: &Index) -> Check<()> {
        self.index(index)?;
        let cell = match step {
            AtomicStep::Load { .. } => self.buffer(buffer)?.ty,
            AtomicStep::Store(_) | AtomicStep::Exchange { .. } | AtomicStep::Update(..) => {
                self.writable(buffer)?.ty
            }
        };
        if let Some(value) = step.value() {
            self.expect(value, cell, buffer)?;
        }
        match step {
            AtomicStep::Update(op, _) if !exact_in_any_order(*op, cell) => {
                return self.fail(
                    "IMP-14",
                    format!("{op:?} of {cell}s gives different results in different orders"),
                );
            }
            _ if !step.takes(order) => {
                return self.fail(
                    "IMP-15",
                    format!("this atomic step of `{buffer}` cannot be {order:?}"),
                );
            }
            _ => {}
        }
        match step.bound() {
            Some((name, ty)) if ty == cell => self.bind(name, Kind::Constant, ty),
            Some((name, _)) => self.fail("IMP-04", format!("`{name}` gets a value of another type")),
            None => Ok(()),
        }
    }

    fn wait(&mut self, buffer: &Name, index: &Index, value: &Expr) -> Check<()> {
        self.index(index)?;
        let known = self.buffer(buffer)?;
        self.expect(value, known.ty, buffer)?;
        let innermost = self.loops.iter().rev().find(|mode| mode.is_parallel());
        let chained = innermost == Some(&LoopMode::Chain);
        if !chained || known.depth == self.parallel_depth() || known.ty.is_float() {
            return self.fail("IMP-16", format!("nothing can be awaited in `{buffer}` here"));
        }
        Ok(())
    }

    fn is_among_items(&self) -> bool {
        self.loops.contains(&LoopMode::Items)
    }

    /// Blocks that not all work-items may run, or not equally often.
    fn branches(&mut self, apart: bool, blocks: &[&[Stmt]]) -> Check<()> {
        self.apart += usize::from(apart);
        blocks.iter().try_for_each(|block| self.block(block))?;
        self.apart -= usize::from(apart);
        Ok(())
    }

    fn may_differ(&self, expr: &Expr) -> bool {
        uniform::may_differ(expr, &self.differs)
    }

    fn call(&mut self, proc: &Name, arguments: &[Argument]) -> Check<()> {
        let signatures = self.signatures;
        let Some(params) = signatures.get(proc) else {
            return self.fail("IMP-09", format!("there is no procedure `{proc}`"));
        };
        if params.len() != arguments.len() {
            return self.fail("IMP-09", format!("`{proc}` takes {} arguments", params.len()));
        }
        if self.parallel_depth() > 0 && self.groups.are_together(self.proc, proc) {
            return self.fail(
                "IMP-13",
                format!("`{proc}` is called in turn from a parallel loop"),
            );
        }
        let (mut read, mut written) = (FxHashSet::default(), FxHashSet::default());
        for (param, argument) in params.iter().zip(arguments) {
            let found = match (argument, param.passing) {
                (Argument::Value(expr), Passing::Value) => self.expr(expr)?,
                (Argument::Out(name), Passing::Out) => {
                    self.inside(name, "assigned")?;
                    match self.known(name)? {
                        Known {
                            kind: Kind::Variable,
                            ty,
                            ..
                        } if written.insert(name) => ty,
                        _ => {
                            return self.fail("IMP-09", format!("`{name}` cannot take a result of `{proc}`"));
                        }
                    }
                }
                (Argument::Buffer(name, index), Passing::Read) => {
                    self.index(index)?;
                    read.insert(name);
                    self.buffer(name)?.ty
                }
                (Argument::Buffer(name, index), Passing::Write) => {
                    self.index(index)?;
                    if !written.insert(name) {
                        return self.fail("IMP-09", format!("`{name}` is written twice by `{proc}`"));
                    }
                    self.writable(name)?.ty
                }
                (Argument::Owned(name), Passing::Owned) => {
                    self.owned(name, "allocated")?;
                    written.insert(name);
                    self.known(name)?.ty
                }
                _ => {
                    return self.fail(
                        "IMP-09",
                        format!("`{}` of `{proc}` is not passed like that", param.name),
                    );
                }
            };
            if found != param.ty {
                return self.fail(
                    "IMP-09",
                    format!("`{}` of `{proc}` is a {}", param.name, param.ty),
                );
            }
        }
        match read.intersection(&written).next() {
            None => Ok(()),
            Some(name) => self.fail("IMP-09", format!("`{name}` is read and written by `{proc}`")),
        }
    }

    fn slots(&self, types: &[ValueType]) -> Check<Vec<Slot>> {
        let mut slots = Vec::new();
        for ty in types {
            match Shape::of(ty) {
                Some(shape) => slots.extend(shape.slots()),
                None => return self.fail("IMP-25", format!("a value of type `{ty}` has no slots")),
            }
        }
        Ok(slots)
    }

    /// Whether arguments start with values that fit these slots.
    fn values(&self, what: &Name, slots: &[Slot], arguments: &[Argument]) -> Check<()> {
        for (at, slot) in slots.iter().enumerate() {
            let fits = match (slot, arguments.get(at)) {
                (Slot::Scalar(ty), Some(Argument::Value(value))) => self.expr(value)? == *ty,
                (Slot::Size, Some(Argument::Value(value))) => self.expr(value)? == ScalarType::I64,
                (Slot::Buffer(ty), Some(Argument::Buffer(name, index))) => {
                    self.index(index)?;
                    self.buffer(name)?.ty == *ty
                }
                _ => false,
            };
            if !fits {
                return self.fail("IMP-25", format!("argument {at} of `{what}` is not its slot"));
            }
        }
        Ok(())
    }

    /// Whether arguments take results in these slots.
    fn results(&self, what: &Name, slots: &[Slot], arguments: &[Argument]) -> Check<()> {
        let mut fits = slots.len() == arguments.len();
        for (slot, argument) in slots.iter().zip(arguments) {
            let (name, wanted) = match (slot, argument) {
                (Slot::Scalar(ty), Argument::Out(name)) => (name, (Kind::Variable, *ty)),
                (Slot::Size, Argument::Out(name)) => (name, (Kind::Variable, ScalarType::I64)),
                (Slot::Buffer(ty), Argument::Owned(name)) => (name, (Kind::OwnedBuffer, *ty)),
                _ => {
                    fits = false;
                    continue;
                }
            };
            self.inside(name, "written")?;
            let known = self.known(name)?;
            fits &= (known.kind, known.ty) == wanted;
        }
        match fits {
            true => Ok(()),
            false => self.fail(
                "IMP-25",
                format!("the results of `{what}` are not taken as they are"),
            ),
        }
    }

    fn writable(&self, buffer: &Name) -> Check<Known> {
        let known = self.buffer(buffer)?;
        match known.kind {
            Kind::WriteBuffer | Kind::OwnedBuffer => Ok(known),
            _ => self.fail("IMP-06", format!("`{buffer}` may not be written")),
        }
    }

    fn owned(&self, buffer: &Name, how: &str) -> Check<()> {
        match self.buffer(buffer)?.kind {
            Kind::OwnedBuffer => self.inside(buffer, how),
            _ => self.fail("IMP-07", format!("`{buffer}` is {how} but is not owned")),
        }
    }

    fn borrow(&self, buffer: &Name, from: &Name) -> Check<()> {
        let (known, owner) = (self.buffer(buffer)?, self.buffer(from)?);
        match known.kind {
            Kind::Borrowed if crate::is_column(from) => self.fail(
                "IMP-24",
                format!("`{buffer}` borrows rows of a store, which may move"),
            ),
            Kind::Borrowed if known.ty == owner.ty => self.inside(buffer, "borrowed anew"),
            Kind::Borrowed => self.fail("IMP-04", format!("`{buffer}` borrows cells of another type")),
            _ => self.fail(
                "IMP-24",
                format!("`{buffer}` has cells of its own and borrows others"),
            ),
        }
    }

    /// Whether a name was bound inside the innermost parallel loop.
    fn inside(&self, name: &Name, how: &str) -> Check<()> {
        match self.known(name)?.depth == self.parallel_depth() {
            true => Ok(()),
            false => self.fail(
                "IMP-10",
                format!("`{name}` is {how} inside a parallel loop but comes from outside"),
            ),
        }
    }

    fn condition(&self, expr: &Expr) -> Check<()> {
        match self.expr(expr)? {
            ScalarType::Bool => Ok(()),
            other => self.fail("IMP-03", format!("a condition is a {other}")),
        }
    }

    fn expect(&self, expr: &Expr, ty: ScalarType, target: &Name) -> Check<()> {
        match self.expr(expr)? {
            found if found == ty => Ok(()),
            found => self.fail(
                "IMP-04",
                format!("a {found} is written to `{target}`, which is a {ty}"),
            ),
        }
    }

    fn index(&self, index: &Index) -> Check<()> {
        for name in index.free_vars() {
            if self.scalar(name)? != ScalarType::I64 {
                return self.fail("IMP-03", format!("`{name}` is not an i64 and used in an index"));
            }
        }
        Ok(())
    }

    fn expr(&self, expr: &Expr) -> Check<ScalarType> {
        let applies = |result: Option<ScalarType>, op: &dyn fmt::Debug| match result {
            Some(ty) => Ok(ty),
            None => self.fail("IMP-02", format!("{op:?} does not apply to its operands")),
        };
        match expr {
            Expr::Const(scalar) => Ok(scalar.ty()),
            Expr::Var(name) => self.scalar(name),
            Expr::Index(index) => {
                self.index(index)?;
                Ok(ScalarType::I64)
            }
            Expr::Load(buffer, index) => {
                self.index(index)?;
                Ok(self.buffer(buffer)?.ty)
            }
            Expr::Unary(op, argument) => applies(op.result_type(self.expr(argument)?), op),
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                applies(op.result_type(left).filter(|_| left == right), op)
            }
            Expr::Ternary(op, a, b, c) => {
                let (a, b, c) = (self.expr(a)?, self.expr(b)?, self.expr(c)?);
                applies(op.result_type(a).filter(|_| a == b && b == c), op)
            }
            Expr::Select(condition, then, otherwise) => {
                self.condition(condition)?;
                let (then, otherwise) = (self.expr(then)?, self.expr(otherwise)?);
                applies(Some(then).filter(|_| then == otherwise), &"select")
            }
        }
    }
}
