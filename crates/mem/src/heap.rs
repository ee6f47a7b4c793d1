//! The heap semantics (FUNMEM, section 3.3): runs a program with memory on blocks of cells, with traces of what is read and
//! written. Slow and obvious: it is what memory passes are tested against.
//!
//! - An array is a block and a descriptor of constants. Reading it reads cells; a cell that nothing wrote, or one outside of its
//!   block, is a fault.
//! - Where the annotation says that an array is where its operand is, that is compared with the value it must have.
//! - Iterations of a `map` that is not sequential must not touch what another writes (equation 4).
//! - A view is computed where it is bound; using it after a cell it read was overwritten is a fault.
//! - A copy between parts of one block that overlap is a fault.
//! - Operations on whole values mean what Core's interpreter says: it runs the statement, on values read from the heap.
//!
//! [`Heap::validity`] compares with the value semantics (Definition 3.1).

mod bindings;
mod control;
mod items;
mod leaf;
mod lifetimes;
mod operations;
mod rows;
mod store;
mod types;

use crate::copies::{Role, copy_points};
use crate::ir::{Alloc, Annotated, key};
use almach_base::Diagnostic;
use almach_core::interp::{Interpreter, RuntimeError};
use almach_core::typing::Env;
use almach_core::visit::walk_function;
use almach_core::{Atom, Body, Builder, DataId, Exp, Param, Recursive, Stmt, Type, Var};
use almach_value::{Scalar, ScalarType, Value, same};
use bindings::Bound;
use items::{Item, Place, Stored, keep};
use lifetimes::{Around, Lifetimes};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

pub(crate) use types::Types;

/// Why a run ended without a value.
#[derive(Clone, Debug)]
pub enum Stop {
    /// An error of the program.
    Error(RuntimeError),
    /// The annotation is wrong.
    Fault(String),
    /// Too many steps, or calls too deep.
    Budget,
}

/// What a run did to memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Account {
    pub allocations: u64,
    /// The most bytes of blocks at once.
    pub peak: u64,
    /// Bytes written by copies of whole arrays: ends of bodies, and operations that only move.
    pub copied: u64,
}

/// A program ready to run on the heap and by value.
pub struct Heap<'p> {
    program: &'p Annotated,
    interpreter: Interpreter,
    types: HashMap<Var, Type>,
    env: Env,
    lifetimes: Lifetimes,
}

impl<'p> Heap<'p> {
    /// It fails only where the program breaks the rules of Core.
    pub fn new(program: &'p Annotated) -> Result<Heap<'p>, Box<Diagnostic>> {
        let mut builder = Builder::for_program(&program.core);
        let mut types = Types::default();
        for function in &program.core.functions {
            builder.enter_function(function);
            types.params(&function.context, &function.params);
            walk_function(&mut types, function);
        }
        Ok(Heap {
            program,
            interpreter: Interpreter::new(&program.core)?,
            types: types.0,
            env: builder.env,
            lifetimes: Lifetimes::of(program),
        })
    }

    /// Runs an entry. `steps` bounds the number of statements.
    pub fn run(&self, entry: &str, args: Vec<Value>, steps: u64) -> Result<(Value, Account), Stop> {
        let mut run = Run::new(self, steps);
        let value = run.entry(entry, args)?;
        Ok((value, run.account))
    }

    /// Runs an entry whose blocks may have so many bytes at once; making one that is too many is an error of the program.
    pub fn run_within(&self, most: u64, entry: &str, args: Vec<Value>, steps: u64) -> Result<Account, Stop> {
        let mut run = Run::new(self, steps);
        run.around.most = Some(most);
        run.entry(entry, args)?;
        Ok(run.account)
    }

    /// Definition 3.1 for one call: heap semantics = value semantics.
    pub fn validity(&self, entry: &str, args: Vec<Value>, steps: u64) -> Validity {
        let found = match self.run(entry, args.clone(), steps) {
            Err(Stop::Budget) => return Validity::TooLong,
            found => found,
        };
        match (found, self.interpreter.call(entry, args)) {
            (Ok((found, account)), Ok(expected)) if same(&found, &expected) => Validity::Valid(account),
            (Ok((found, _)), Ok(expected)) => Validity::Invalid(format!(
                "the heap gives {found:?}, the program means {expected:?}"
            )),
            (Err(Stop::Error(found)), Err(expected)) if found.code == expected.code => Validity::Fails,
            (Err(Stop::Error(found)), Err(expected)) => Validity::Invalid(format!(
                "the heap fails with `{}`, the program with `{}`",
                found.message, expected.message
            )),
            (Err(Stop::Error(found)), Ok(_)) => {
                Validity::Invalid(format!("the heap fails: {}", found.message))
            }
            (Ok(_), Err(expected)) => {
                Validity::Invalid(format!("the heap does not fail: {}", expected.message))
            }
            (Err(Stop::Fault(what)), _) => Validity::Invalid(what),
            (Err(Stop::Budget), _) => Validity::TooLong,
        }
    }
}

/// How the two semantics of a call compare.
#[derive(Clone, Debug)]
pub enum Validity {
    Valid(Account),
    /// Both fail alike.
    Fails,
    Invalid(String),
    TooLong,
}

type Ran<T> = Result<T, Stop>;

fn fault<T>(what: impl Into<String>) -> Ran<T> {
    Err(Stop::Fault(what.into()))
}

/// One block of the heap.
struct Block {
    name: String,
    element: ScalarType,
    cells: Vec<Option<Scalar>>,
    /// When each was written last.
    written: Vec<u64>,
}

/// The cells that an iteration touched.
#[derive(Default)]
struct Trace {
    reads: HashSet<(usize, usize)>,
    writes: HashSet<(usize, usize)>,
}

struct Run<'p> {
    program: &'p Annotated,
    interpreter: &'p Interpreter,
    types: &'p HashMap<Var, Type>,
    env: &'p Env,
    vars: HashMap<Var, Item>,
    labels: HashMap<Var, usize>,
    lifetimes: &'p Lifetimes,
    around: Around,
    heap: Vec<Block>,
    clock: u64,
    traces: Vec<Trace>,
    account: Account,
    steps: u64,
    depth: u32,
    leaves: HashMap<Var, Rc<leaf::LeafCode>>,
    constants: HashMap<(DataId, u32), Value>,
}

const MAX_DEPTH: u32 = 2_000;
/// No test needs more; a block of this many cells is a mistake of a program or of a plan.
const MAX_CELLS: i64 = 1 << 24;

impl<'p> Run<'p> {
    fn new(heap: &'p Heap<'p>, steps: u64) -> Run<'p> {
        Run {
            program: heap.program,
            interpreter: &heap.interpreter,
            types: &heap.types,
            env: &heap.env,
            vars: HashMap::new(),
            labels: HashMap::new(),
            lifetimes: &heap.lifetimes,
            around: Around::default(),
            heap: Vec::new(),
            clock: 0,
            traces: Vec::new(),
            account: Account::default(),
            steps,
            depth: 0,
            leaves: HashMap::new(),
            constants: HashMap::new(),
        }
    }

    fn entry(&mut self, name: &str, args: Vec<Value>) -> Ran<Value> {
        let entry = self
            .program
            .core
            .entries
            .iter()
            .find(|entry| entry.name.as_str() == name);
        let Some(entry) = entry else {
            return fault(format!("there is no entry `{name}`"));
        };
        let id = entry.function;
        // The border solves sizes and checks shapes; what it accepts arrives here.
        let (sizes, args) = self
            .interpreter
            .arguments_as_core(name, args)
            .map_err(Stop::Error)?;
        let Some(function) = self.program.core.functions.get(id.0 as usize) else {
            return fault("an entry without a function");
        };
        let args: Vec<Item> = args
            .into_iter()
            .zip(&function.params)
            .map(|(arg, param)| keep(arg, &param.ty, None))
            .collect();
        let (_, results) = self.call(id, &sizes, args)?;
        let types = &function.result.types;
        let values: Ran<Vec<Value>> = results
            .iter()
            .zip(types)
            .map(|((item, _), ty)| self.value(item, ty))
            .collect();
        let mut values = values?;
        Ok(match values.len() {
            1 => values.remove(0),
            _ => Value::tuple(values),
        })
    }

    fn body(&mut self, body: &Body) -> Ran<(Vec<i64>, Vec<Item>)> {
        for stmt in &body.stmts {
            self.stmt(stmt)?;
        }
        let sizes: Ran<Vec<i64>> = body.context.iter().map(|atom| self.integer(atom)).collect();
        let values: Ran<Vec<Item>> = body.values.iter().map(|atom| self.atom(atom)).collect();
        Ok((sizes?, values?))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Ran<()> {
        self.steps = self.steps.checked_sub(1).ok_or(Stop::Budget)?;
        self.starts(stmt);
        if let Some(allocs) = key(stmt).and_then(|key| self.program.memory.allocs.get(key)) {
            for Alloc {
                block,
                element,
                cells,
            } in allocs
            {
                // What divides by zero has no cells; the statement says what is wrong.
                let cells = self.size(cells).unwrap_or(0);
                let label = self.allocate(block, *element, cells)?;
                self.labels.insert(block.clone(), label);
            }
        }
        match &stmt.exp {
            Exp::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                let (at, body) = match self.atom(condition)?.scalar() {
                    Some(Scalar::Bool(true)) => (0, then),
                    _ => (1, otherwise),
                };
                self.branch(stmt, at, body)
            }
            Exp::Case {
                scrutinee,
                arms,
                default,
                ..
            } => self.case(stmt, scrutinee, arms, default.as_ref()),
            Exp::Loop(looped) => self.looped(stmt, looped),
            Exp::Call {
                function,
                context,
                args,
            } => {
                let sizes: Ran<Vec<i64>> = context.iter().map(|atom| self.integer(atom)).collect();
                let args: Ran<Vec<Item>> = args.iter().map(|atom| self.atom(atom)).collect();
                let (args, before) = (args?, self.heap.len());
                self.apart_from_results(stmt, &args)?;
                let (sizes, results) = self.call(*function, &sizes?, args)?;
                self.called(stmt, &sizes, results, before)
            }
            Exp::Op(op) if !op.functions.is_empty() && !leaf::runs_whole(op) => self.operation(stmt, op),
            _ => self.first_order(stmt),
        }
    }

    fn first_order(&mut self, stmt: &Stmt) -> Ran<()> {
        if let Some(item) = self.simple(&stmt.exp)? {
            return match stmt.pattern.values.as_slice() {
                [value] => self.found(value, item),
                _ => fault("a simple expression has one value"),
            };
        }
        let derived = self.is_derived(stmt);
        if derived {
            self.traces.push(Trace::default());
        }
        let before = self.clock;
        let result = self.leaf(stmt);
        if derived {
            self.traces.pop();
        }
        let (sizes, values, read) = result?;
        self.bind_context(&stmt.pattern.context, &sizes);
        let guard = Rc::new(items::Guard {
            time: before,
            cells: read,
        });
        for (param, value) in stmt.pattern.values.iter().zip(values) {
            match derived {
                true => self.derived(param, value, &guard)?,
                false => self.made(stmt, param, value, &guard)?,
            }
        }
        Ok(())
    }

    /// Expressions that need no look at whole arrays.
    fn simple(&mut self, exp: &Exp) -> Ran<Option<Item>> {
        let scalar = |run: &Run<'_>, atom: &Atom| Ok::<_, Stop>(run.atom(atom)?.scalar());
        let plain = |scalar: Scalar| Some(Item::Plain(Value::Scalar(scalar)));
        Ok(match exp {
            Exp::Atom(atom) => Some(self.atom(atom)?),
            Exp::Tuple(parts) if !parts.is_empty() => {
                let parts: Ran<Vec<Item>> = parts.iter().map(|part| self.atom(part)).collect();
                Some(Item::Tuple(parts?))
            }
            Exp::Project(tuple, at) => match self.atom(tuple)? {
                Item::Tuple(parts) => parts.into_iter().nth(*at as usize),
                _ => None,
            },
            Exp::Unary(op, a) => scalar(self, a)?.and_then(|a| op.eval(a)).and_then(plain),
            Exp::Binary(op, a, b) => match (scalar(self, a)?, scalar(self, b)?) {
                (Some(a), Some(b)) => op.eval(a, b).and_then(Result::ok).and_then(plain),
                _ => None,
            },
            Exp::Ternary(op, a, b, c) => match (scalar(self, a)?, scalar(self, b)?, scalar(self, c)?) {
                (Some(a), Some(b), Some(c)) => op.eval(a, b, c).and_then(plain),
                _ => None,
            },
            Exp::Index { array, indices } => self.element(array, indices)?,
            Exp::Construct {
                data,
                constructor,
                fields,
            } if fields.is_empty() => self.constant(*data, *constructor),
            _ => None,
        })
    }

    /// A constructor without fields is one cell, wherever it is written.
    fn constant(&mut self, data: DataId, constructor: u32) -> Option<Item> {
        let def = self.program.core.data.get(data.0 as usize)?;
        let value = match def.recursive {
            Recursive::Yes => {
                let made = self.constants.entry((data, constructor));
                made.or_insert_with(|| Value::cell(constructor, [])).clone()
            }
            Recursive::No => Value::sum(constructor, []),
        };
        Some(Item::Plain(value))
    }

    /// A scalar of an array whose index is in range.
    fn element(&mut self, array: &Atom, indices: &[Atom]) -> Ran<Option<Item>> {
        let Item::Array { leaves, .. } = self.atom(array)? else {
            return Ok(None);
        };
        let ([Stored::Placed(place)], Type::Array(..)) = (leaves.as_slice(), self.type_of(array)) else {
            return Ok(None);
        };
        if place.dims.len() != indices.len() || self.has_lanes(array) {
            return Ok(None);
        }
        let mut cell = place.offset;
        for (index, (length, stride)) in indices.iter().zip(&place.dims) {
            let at = self.atom(index)?.scalar().and_then(Scalar::as_integer);
            match at.and_then(|at| i64::try_from(at).ok()) {
                Some(at) if at >= 0 && at < *length => cell += at * stride,
                _ => return Ok(None),
            }
        }
        let scalar = self.read_cell(place.block, cell)?;
        Ok(Some(Item::Plain(Value::Scalar(scalar))))
    }

    /// Binds what is where its operand is: the annotation must say the same.
    fn found(&mut self, param: &Param, item: Item) -> Ran<()> {
        let mut wrong = None;
        let storage = self.stored_leaves(param);
        let mut stored = Vec::new();
        item.for_each_leaf(&mut |leaf| stored.push(leaf));
        for (found, (leaf, storage)) in stored.iter().zip(&storage) {
            let place = self.stored_at(leaf, storage, found)?;
            if let (Some(place), Stored::Placed(_) | Stored::Rows(_)) = (&place, found)
                && !place.same(found)
            {
                wrong = Some(format!("`{}` is not where its annotation says", param.var));
            }
            if let (Some(_), Stored::Kept(_)) = (&place, found) {
                wrong = Some(format!(
                    "`{}` is in no block, but its annotation says so",
                    param.var
                ));
            }
        }
        if let Some(wrong) = wrong {
            return fault(wrong);
        }
        self.vars.insert(param.var.clone(), item);
        Ok(())
    }

    /// Whether a statement's arrays are all where its operands' are.
    fn is_derived(&self, stmt: &Stmt) -> bool {
        let [value] = stmt.pattern.values.as_slice() else {
            return false;
        };
        matches!(
            crate::derive::derive(&stmt.exp, &value.ty, &self.program.memory, self.env),
            crate::derive::Derived::Same(_)
        ) && !self.makes_block(stmt)
    }

    fn derived(&mut self, param: &Param, value: Value, guard: &Rc<items::Guard>) -> Ran<()> {
        let item = keep(value, &param.ty, Some(guard));
        let storage = self.stored_leaves(param);
        let item = self.with_places(item, &mut storage.iter(), &mut |run, place, kept| {
            let found = run.read_silently(&place, &kept.array)?;
            match same(&Value::Array(found), &Value::Array(kept.array.clone())) {
                true => Ok(place),
                false => fault(format!("`{}` is not where its annotation says", param.var)),
            }
        })?;
        self.vars.insert(param.var.clone(), item);
        Ok(())
    }

    /// Writes what a statement made to where it lives, but for parts that are there already.
    fn made(&mut self, stmt: &Stmt, param: &Param, value: Value, guard: &Rc<items::Guard>) -> Ran<()> {
        self.blocks_of_statement(stmt, param, &value)?;
        let item = keep(value, &param.ty, Some(guard));
        let there = self.in_place(stmt)?;
        let storage = self.stored_leaves(param);
        let copied = match &stmt.exp {
            Exp::Update { .. } | Exp::Op(_) => self.copied_cells(stmt)?,
            _ => HashSet::new(),
        };
        let item = self.with_places(item, &mut storage.iter(), &mut |run, place, kept| {
            run.write_stored(&place, &kept.array, &there)?;
            if let Stored::Placed(place) = &place {
                let cells = place.cells().into_iter().map(|cell| (place.block, cell as usize));
                let moved = cells.filter(|cell| copied.contains(cell) && !there.contains(cell));
                run.account.copied += run.bytes_in(place.block, moved.count() as u64);
            }
            Ok(place)
        })?;
        self.vars.insert(param.var.clone(), item);
        Ok(())
    }

    /// Cells to which a statement moves what is in other cells. What is computed where it is read is moved by nobody.
    fn copied_cells(&mut self, stmt: &Stmt) -> Ran<HashSet<(usize, usize)>> {
        let mut copied = HashSet::new();
        for point in copy_points(stmt, &self.program.memory, self.env) {
            let to = self.place(&point.to)?;
            let item = self.atom(&point.source)?;
            let mut stored = Vec::new();
            item.for_each_leaf(&mut |leaf| stored.push(leaf.clone()));
            let cells = to.cells().into_iter().map(|cell| (to.block, cell as usize));
            match stored.get(point.leaf) {
                Some(Stored::Placed(from)) if from.same(&to) => {}
                Some(Stored::Placed(_)) => copied.extend(cells),
                Some(Stored::Kept(_) | Stored::Rows(_)) | None => cells.for_each(|cell| {
                    copied.remove(&cell);
                }),
            }
        }
        Ok(copied)
    }

    /// Cells that a statement need not write, since what goes there is there.
    fn in_place(&mut self, stmt: &Stmt) -> Ran<HashSet<(usize, usize)>> {
        let mut there = HashSet::new();
        for point in copy_points(stmt, &self.program.memory, self.env) {
            let to = self.place(&point.to)?;
            let item = self.atom(&point.source)?;
            let mut stored = Vec::new();
            item.for_each_leaf(&mut |leaf| stored.push(leaf.clone()));
            let cells = || to.cells().into_iter().map(|cell| (to.block, cell as usize));
            match (stored.get(point.leaf), point.role) {
                (Some(Stored::Placed(from)), _) if from.same(&to) => there.extend(cells()),
                (Some(Stored::Placed(from)), _) if overlap(from, &to) => {
                    return fault(format!(
                        "a copy of `{:?}` overlaps with where it goes",
                        point.source
                    ));
                }
                (_, Role::Part) => cells().for_each(|cell| {
                    there.remove(&cell);
                }),
                (_, Role::Old) => {}
            }
        }
        if let Exp::Update {
            array, parts, value, ..
        } = &stmt.exp
        {
            self.without_updated(stmt, (array, parts, value), &mut there)?;
        }
        if let Exp::Op(op) = &stmt.exp
            && matches!(
                op.prim,
                almach_prim::Prim::Scatter | almach_prim::Prim::ReduceByIndex
            )
        {
            // What is written depends on indices; the old value of every other cell is the new one.
            there.clear();
        }
        Ok(there)
    }

    /// Cells cost as well.
    fn spend(&mut self, cells: usize) -> Ran<()> {
        self.steps = self.steps.checked_sub(cells as u64 / 8).ok_or(Stop::Budget)?;
        Ok(())
    }
}

fn overlap(a: &Place, b: &Place) -> bool {
    if a.block != b.block {
        return false;
    }
    let cells: HashSet<i64> = a.cells().into_iter().collect();
    b.cells().iter().any(|cell| cells.contains(cell))
}
