//! The interpreter: heap semantics with traces (after FUNMEM). It runs parallel loops one iteration after another, backwards
//! (those of a `chain` loop forwards, the only order in which no iteration waits for one that has not run), and
//! remembers which iteration read and wrote which cell: an access that another iteration's write could change is a race,
//! unless both are atomic or `release` and `acquire` order them. It also finds accesses out of bounds, reads of
//! cells nothing wrote, uses of freed blocks, and leaks. What is left to do lies on a stack of its own ([`control`]), so
//! that recursion is limited by a number and not by the native stack.

mod atomic;
mod clock;
mod control;
mod devices;
mod entry;
mod frame;
mod items;
mod outside;
mod stores;
mod trace;

use crate::check::Checked;
use crate::ir::{Access, Expr, Index, Passing, Program, Site, Stmt, Writing};
use almach_base::{Name, Span};
use almach_value::failure::{RECURSION_BYTES, RECURSION_DEPTH};
use almach_value::{Failure, Scalar};
use control::Task;
use devices::Home;
use frame::{Frame, Slot};
use rustc_hash::FxHashSet;
use std::fmt;
use stores::{Column, Stores};
use trace::{Place, Traces};

pub use entry::{run_entry, run_entry_with};
pub use outside::{Host, NoHost};

/// Why a run ended without a result.
#[derive(Clone, PartialEq, Debug)]
pub enum RunError {
    /// A check of the program failed, with the values its message mentions.
    Failed {
        site: Site,
        arguments: Vec<Scalar>,
    },
    /// Two iterations of a parallel loop touch one place and one of them writes it.
    Race {
        place: String,
        first: i64,
        second: i64,
    },
    OutOfBounds {
        buffer: Name,
        index: i64,
        size: usize,
    },
    Unwritten {
        what: String,
    },
    Leak {
        buffers: usize,
    },
    /// Something else that a checked program does not do.
    Broken(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Failed { site, .. } => write!(f, "{}: {}", site.code.0, site.text),
            RunError::Race { place, first, second } => {
                write!(
                    f,
                    "iterations {first} and {second} of a parallel loop race on {place}"
                )
            }
            RunError::OutOfBounds { buffer, index, size } => {
                write!(f, "index {index} of `{buffer}`, which has {size} cells")
            }
            RunError::Unwritten { what } => write!(f, "{what} is read before anything is written to it"),
            RunError::Leak { buffers } => write!(f, "{buffers} blocks are not freed"),
            RunError::Broken(what) => f.write_str(what),
        }
    }
}

/// What is passed to a procedure from outside; outputs come back in the same places.
#[derive(Clone, PartialEq, Debug)]
pub enum Passed {
    Value(Scalar),
    /// A result that is a scalar.
    Out(Option<Scalar>),
    /// Cells of a buffer; a cell without a value is unwritten.
    Buffer(Vec<Option<Scalar>>),
    /// A result that is a buffer; none before it is allocated.
    Owned(Option<Vec<Option<Scalar>>>),
}

/// How many calls may wait; a frame takes about a kilobyte here.
const MOST_CALLS: usize = if RECURSION_DEPTH < RECURSION_BYTES / 1024 {
    RECURSION_DEPTH
} else {
    RECURSION_BYTES / 1024
};

/// Runs a procedure. Gives its arguments back as they are afterwards.
pub fn run(checked: &Checked, proc: &str, arguments: Vec<Passed>) -> Result<Vec<Passed>, RunError> {
    run_to_depth(checked, proc, arguments, MOST_CALLS)
}

/// The same, with so many calls that may wait for others.
pub fn run_to_depth(
    checked: &Checked,
    proc: &str,
    arguments: Vec<Passed>,
    most_calls: usize,
) -> Result<Vec<Passed>, RunError> {
    run_with(checked, proc, arguments, most_calls, &mut NoHost)
}

/// The same, with somebody to ask for C functions and to print traces.
pub fn run_with(
    checked: &Checked,
    proc: &str,
    arguments: Vec<Passed>,
    most_calls: usize,
    host: &mut dyn Host,
) -> Result<Vec<Passed>, RunError> {
    let program = checked.program();
    let Some(found) = program.proc(proc) else {
        return Err(RunError::Broken(format!("there is no procedure `{proc}`")));
    };
    let mut machine = Machine {
        program,
        heap: Vec::new(),
        homes: Vec::new(),
        lent: FxHashSet::default(),
        in_kernel: false,
        live: 0,
        traces: Traces::default(),
        depth: 0,
        most: most_calls,
        stores: Stores::default(),
        host,
    };
    machine.make_stores();
    let mut frame = Frame::default();
    if found.params.len() != arguments.len() {
        return Err(RunError::Broken(format!(
            "`{proc}` takes {} arguments",
            found.params.len()
        )));
    }
    for (param, argument) in found.params.iter().zip(arguments) {
        let slot = match (param.passing, argument) {
            (Passing::Value, Passed::Value(value)) => Slot::Scalar(Some(value)),
            (Passing::Out, Passed::Out(value)) => Slot::Scalar(value),
            (Passing::Read | Passing::Write, Passed::Buffer(cells)) => Slot::Buffer(Some(View {
                block: machine.block(cells),
                offset: 0,
            })),
            (Passing::Owned, Passed::Owned(_)) => Slot::Buffer(None),
            _ => {
                return Err(RunError::Broken(format!(
                    "`{}` is not passed like that",
                    param.name
                )));
            }
        };
        frame.set(&param.name, slot);
    }
    let given = machine.live;
    machine.run(&found.body, &mut frame)?;
    let mut results = Vec::new();
    let mut kept = given;
    for param in &found.params {
        results.push(match (param.passing, frame.get(&param.name)) {
            (Passing::Value, Some(Slot::Scalar(Some(value)))) => Passed::Value(*value),
            (Passing::Out, Some(Slot::Scalar(value))) => Passed::Out(*value),
            (Passing::Read | Passing::Write, Some(Slot::Buffer(Some(view)))) => {
                Passed::Buffer(machine.cells(*view).to_vec())
            }
            (Passing::Owned, Some(Slot::Buffer(view))) => {
                kept += usize::from(view.is_some());
                Passed::Owned(view.map(|view| machine.cells(view).to_vec()))
            }
            _ => return Err(RunError::Broken(format!("`{}` is lost", param.name))),
        });
    }
    match machine.live.checked_sub(kept) {
        Some(0) => Ok(results),
        lost => Err(RunError::Leak {
            buffers: lost.unwrap_or(0),
        }),
    }
}

type Run<T> = Result<T, RunError>;

fn out_of_memory(size: i64, span: Span) -> RunError {
    let failure = Failure::OutOfMemory;
    RunError::Failed {
        site: Site {
            code: failure.code(),
            span,
            text: Name::from(failure.text()),
        },
        arguments: vec![Scalar::I64(size)],
    }
}

/// A block of the heap; none once it is freed.
type Block = Option<Vec<Option<Scalar>>>;

/// A block from some cell on.
#[derive(Clone, Copy)]
struct View {
    block: usize,
    offset: i64,
}

struct Machine<'a> {
    program: &'a Program,
    heap: Vec<Block>,
    /// Where the cells of each block are.
    homes: Vec<Home>,
    /// Single cells that the host may use until a kernel starts, wherever the others of their blocks are.
    lent: FxHashSet<Place>,
    in_kernel: bool,
    /// Blocks that are not freed.
    live: usize,
    traces: Traces,
    /// How many calls wait for others, of how many that may.
    depth: usize,
    most: usize,
    stores: Stores,
    host: &'a mut dyn Host,
}

impl<'a> Machine<'a> {
    fn block(&mut self, cells: Vec<Option<Scalar>>) -> usize {
        self.heap.push(Some(cells));
        self.homes.push(Home::Host);
        self.live += 1;
        self.heap.len() - 1
    }

    fn cells(&self, view: View) -> &[Option<Scalar>] {
        self.heap
            .get(view.block)
            .and_then(|block| block.as_deref())
            .unwrap_or(&[])
    }

    fn release(&mut self, view: View) {
        if let Some(block) = self.heap.get_mut(view.block)
            && block.take().is_some()
        {
            self.live -= 1;
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt, frame: &mut Frame, tasks: &mut Vec<Task<'a>>) -> Run<()> {
        match stmt {
            Stmt::At(_) => Ok(()),
            Stmt::Let { name, value, .. } => {
                let value = self.expr(value, frame)?;
                frame.set(name, Slot::Scalar(Some(value)));
                Ok(())
            }
            Stmt::Var { name, value, .. } => {
                let value = value.as_ref().map(|value| self.expr(value, frame)).transpose()?;
                frame.set(name, Slot::Scalar(value));
                Ok(())
            }
            Stmt::Assign { name, value } => {
                let value = self.expr(value, frame)?;
                frame.set(name, Slot::Scalar(Some(value)));
                Ok(())
            }
            Stmt::Store { buffer, index, value } => {
                let value = self.expr(value, frame)?;
                let index = self.index(index, frame)?;
                self.write(buffer, index, value, frame)
            }
            Stmt::Buffer { name, .. } => {
                frame.set(name, Slot::Buffer(None));
                Ok(())
            }
            Stmt::Reserve {
                name,
                store,
                count,
                span,
            } => {
                let count = self.index(count, frame)?;
                let first = self.reserve(store, count, *span)?;
                frame.set(name, Slot::Scalar(Some(Scalar::I64(first))));
                Ok(())
            }
            Stmt::Alloc { buffer, size, span } => self.allocate(buffer, size, *span, frame),
            Stmt::Shrink { buffer, size } => self.shrink(buffer, size, frame),
            Stmt::Atomic {
                step,
                order,
                buffer,
                index,
            } => self.atomic(step, *order, buffer, index, frame),
            Stmt::Await { buffer, index, value } => self.wait(buffer, index, value, frame),
            Stmt::Barrier => Err(RunError::Broken("a barrier outside of a group".into())),
            Stmt::Borrow {
                buffer,
                from,
                first,
                count,
            } => self.borrow(buffer, from, [first, count], frame),
            Stmt::Free(buffer) => self.free(buffer, frame),
            Stmt::Swap(a, b) => {
                let (x, y) = (frame.get(a).cloned(), frame.get(b).cloned());
                match (x, y) {
                    (Some(x), Some(y)) => {
                        frame.set(a, y);
                        frame.set(b, x);
                        Ok(())
                    }
                    _ => Err(RunError::Broken(format!("`{a}` or `{b}` is not bound"))),
                }
            }
            Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            } => {
                let (to_index, from_index) = (self.index(to_index, frame)?, self.index(from_index, frame)?);
                for at in 0..self.index(count, frame)? {
                    let value = self.read(from, from_index + at, frame)?;
                    self.write(to, to_index + at, value, frame)?;
                }
                Ok(())
            }
            Stmt::For {
                index,
                width,
                count,
                mode,
                body,
            } => {
                let count = self.index(count, frame)?;
                if count > width.most() {
                    return Err(RunError::Broken(format!(
                        "`{index}` is too narrow for {count} iterations"
                    )));
                }
                if mode.is_parallel() {
                    self.traces.enter(*mode);
                }
                match Task::counted(index, count, *mode, body) {
                    Some(task) => {
                        tasks.push(task);
                        Ok(())
                    }
                    None => self.items(index, count, body, frame),
                }
            }
            Stmt::Kernel { body, .. } => {
                self.in_kernel = true;
                self.lent.clear();
                tasks.push(Task::Kernel);
                tasks.push(Task::Block(body.iter()));
                Ok(())
            }
            Stmt::Transfer(transfer) => self.transfer(transfer, frame),
            Stmt::While { condition, body } => {
                tasks.push(Task::While { condition, body });
                Ok(())
            }
            Stmt::If {
                condition,
                then,
                otherwise,
            } => {
                let taken = if self.truth(condition, frame)? {
                    then
                } else {
                    otherwise
                };
                tasks.push(Task::Block(taken.iter()));
                Ok(())
            }
            Stmt::Check {
                condition,
                site,
                arguments,
            } => match self.truth(condition, frame)? {
                true => Ok(()),
                false => {
                    let arguments = arguments
                        .iter()
                        .map(|argument| self.expr(argument, frame))
                        .collect::<Run<_>>()?;
                    Err(RunError::Failed {
                        site: site.clone(),
                        arguments,
                    })
                }
            },
            Stmt::Call {
                proc,
                arguments,
                span,
            } => self.call(proc, arguments, *span, frame, tasks),
            Stmt::Foreign {
                function,
                arguments,
                span,
            } => self.foreign(function, arguments, *span, frame),
            Stmt::Trace { label, ty, arguments } => self.trace(label, ty, arguments, frame),
        }
    }

    fn allocate(&mut self, buffer: &Name, size: &Index, span: Span, frame: &mut Frame) -> Run<()> {
        let size = self.index(size, frame)?;
        let Ok(cells) = usize::try_from(size) else {
            return Err(RunError::Broken(format!("`{buffer}` is given {size} cells")));
        };
        self.free(buffer, frame)?;
        let mut memory = Vec::new();
        if memory.try_reserve_exact(cells).is_err() {
            return Err(out_of_memory(size, span));
        }
        memory.resize(cells, None);
        let block = self.block(memory);
        frame.set(buffer, Slot::Buffer(Some(View { block, offset: 0 })));
        Ok(())
    }

    fn free(&mut self, buffer: &Name, frame: &mut Frame) -> Run<()> {
        if let Some(Slot::Buffer(Some(view))) = frame.set(buffer, Slot::Buffer(None)) {
            self.release(view);
        }
        Ok(())
    }

    fn borrow(
        &mut self,
        buffer: &Name,
        from: &Name,
        [first, count]: [&Index; 2],
        frame: &mut Frame,
    ) -> Run<()> {
        let view = self.view(from, frame)?;
        let (first, count) = (self.index(first, frame)?, self.index(count, frame)?);
        let offset = view.offset + first;
        let cells = i64::try_from(self.cells(view).len()).unwrap_or(i64::MAX);
        if count > 0 && (offset < 0 || offset > cells - count) {
            let message = format!("`{buffer}` borrows {count} cells from {first} on, of `{from}`");
            return Err(RunError::Broken(message));
        }
        let borrowed = View { offset, ..view };
        frame.set(buffer, Slot::Buffer(Some(borrowed)));
        Ok(())
    }

    fn view(&self, buffer: &Name, frame: &Frame) -> Run<View> {
        self.memory(buffer, frame).map(|(view, _)| view)
    }

    /// The cells that a name stands for, and how they are written.
    fn memory(&self, buffer: &Name, frame: &Frame) -> Run<(View, Writing)> {
        if let Some(Column { block, writing }) = self.stores.column(buffer) {
            return Ok((View { block, offset: 0 }, writing));
        }
        match frame.get(buffer) {
            Some(Slot::Buffer(Some(view))) => Ok((*view, Writing::Plain)),
            Some(Slot::Buffer(None)) => {
                Err(RunError::Broken(format!("`{buffer}` is used but holds nothing")))
            }
            _ => Err(RunError::Broken(format!("`{buffer}` is no buffer"))),
        }
    }

    /// The cell, and how it is written.
    fn locate(&self, buffer: &Name, index: i64, frame: &Frame) -> Run<(Place, Writing)> {
        let (view, writing) = self.memory(buffer, frame)?;
        let size = self.cells(view).len();
        let at = usize::try_from(index + view.offset)
            .ok()
            .filter(|at| index >= 0 && *at < size);
        let block = view.block;
        match at {
            Some(cell) => Ok((Place { block, cell }, writing)),
            None => Err(RunError::OutOfBounds {
                buffer: buffer.clone(),
                index,
                size,
            }),
        }
    }

    fn read(&mut self, buffer: &Name, index: i64, frame: &Frame) -> Run<Scalar> {
        let (place, writing) = self.locate(buffer, index, frame)?;
        self.visit(place, buffer, Access::Read)?;
        match writing == Writing::Settled {
            true => self.traces.acquire(place),
            false => self.traces.read(place, buffer)?,
        }
        let block = self.heap.get(place.block);
        let found = block.and_then(|block| *block.as_ref()?.get(place.cell)?);
        found.ok_or_else(|| RunError::Unwritten {
            what: format!("`{buffer}[{index}]`"),
        })
    }

    fn write(&mut self, buffer: &Name, index: i64, value: Scalar, frame: &Frame) -> Run<()> {
        let (place, writing) = self.locate(buffer, index, frame)?;
        self.visit(place, buffer, Access::Write)?;
        if writing == Writing::Settled {
            if self.settle(place, value) {
                self.traces.release(place);
            }
            return Ok(());
        }
        self.traces.write(place, buffer)?;
        if let Some(Some(cells)) = self.heap.get_mut(place.block)
            && let Some(cell) = cells.get_mut(place.cell)
        {
            *cell = Some(value);
        }
        Ok(())
    }

    fn truth(&mut self, expr: &Expr, frame: &Frame) -> Run<bool> {
        match self.expr(expr, frame)? {
            Scalar::Bool(value) => Ok(value),
            _ => Err(RunError::Broken("a condition is no boolean".into())),
        }
    }

    fn index(&self, index: &Index, frame: &Frame) -> Run<i64> {
        let known = |name: &Name| match frame.get(name) {
            Some(Slot::Scalar(Some(Scalar::I64(value)))) => Some(*value),
            _ => None,
        };
        let value = match index.as_var() {
            Some(name) => known(name),
            None => index.eval_saturating(&known),
        };
        value.ok_or_else(|| RunError::Broken(format!("the index {index} has no value")))
    }

    fn expr(&mut self, expr: &Expr, frame: &Frame) -> Run<Scalar> {
        let ill_typed = || RunError::Broken("an operator on operands it does not take".into());
        let failed = |error| RunError::Broken(format!("an unchecked operation failed: {error:?}"));
        match expr {
            Expr::Const(scalar) => Ok(*scalar),
            Expr::Var(name) => match frame.get(name) {
                Some(Slot::Scalar(Some(value))) => Ok(*value),
                Some(Slot::Scalar(None)) => Err(RunError::Unwritten {
                    what: format!("`{name}`"),
                }),
                _ => Err(RunError::Broken(format!("`{name}` is no scalar"))),
            },
            Expr::Index(index) => Ok(Scalar::I64(self.index(index, frame)?)),
            Expr::Load(buffer, index) => {
                let index = self.index(index, frame)?;
                self.read(buffer, index, frame)
            }
            Expr::Unary(op, argument) => op.eval(self.expr(argument, frame)?).ok_or_else(ill_typed),
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.expr(left, frame)?, self.expr(right, frame)?);
                op.eval(left, right).ok_or_else(ill_typed)?.map_err(failed)
            }
            Expr::Ternary(op, a, b, c) => {
                let (a, b, c) = (self.expr(a, frame)?, self.expr(b, frame)?, self.expr(c, frame)?);
                op.eval(a, b, c).ok_or_else(ill_typed)
            }
            Expr::Select(condition, then, otherwise) => match self.truth(condition, frame)? {
                true => self.expr(then, frame),
                false => self.expr(otherwise, frame),
            },
        }
    }
}
