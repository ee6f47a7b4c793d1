//! The reference interpreter of Core: it defines what programs mean.
//!
//! A program is compiled once, function by function: [`lower`] to structured code over registers, [`liveness`] to
//! find last uses, [`allocate`] to slots and jumps. The [`machine`] runs that on a stack of its own, so that recursion
//! is limited by a setting and not by the native stack, also inside `map` and `reduce`.
//!
//! Operations happen in the order of the program, the iterations of one operation from first to last; the first
//! failure ends the run.

mod allocate;
mod arrive;
mod code;
mod convert;
mod entry;
mod error;
mod liveness;
mod lower;
mod machine;
mod operands;
mod whole;

#[cfg(test)]
mod tests;

pub use convert::border_type;
pub use error::RuntimeError;

use crate::ir::{Entry, ForeignDef, Program, Type};
use almach_base::codes::runtime::FOREIGN_FAILED;
use almach_base::{Code, Diagnostic, compiler_bug};
use almach_value::failure::{RECURSION_BYTES, RECURSION_DEPTH};
use almach_value::{ElementShape, Failure, Value, ValueType};
use error::FailKind;
use machine::{Code as MachineCode, Machine};

/// What a run may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How many calls may wait for others.
    pub depth: usize,
    /// How much memory their frames may take.
    pub stack_bytes: usize,
    /// How much memory one array may take.
    pub array_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            depth: RECURSION_DEPTH,
            stack_bytes: RECURSION_BYTES,
            array_bytes: 8 << 30,
        }
    }
}

impl Limits {
    /// Whether an array of so many elements may be made. The allocator is asked before it is too late to say no.
    fn room_for(&self, count: usize, element: &ElementShape) -> Result<(), FailKind> {
        const WORTH_ASKING: usize = 64 << 20;
        let bytes = element.bytes().max(1).saturating_mul(count);
        let refused = bytes > self.array_bytes
            || (bytes > WORTH_ASKING && Vec::<u8>::new().try_reserve_exact(bytes).is_err());
        match refused {
            true => Err(FailKind::failure(Failure::OutOfMemory, [count as i128])),
            false => Ok(()),
        }
    }
}

/// What the interpreter asks of its surroundings.
pub trait Host {
    /// A `trace` was evaluated.
    fn trace(&mut self, label: &str, value: &Value, ty: &ValueType) {
        let _ = (label, value, ty);
    }

    /// Calls a C function; its results in order, or why that is not possible.
    fn foreign(&mut self, function: &ForeignDef, args: Vec<Value>) -> Result<Vec<Value>, ForeignError> {
        let _ = args;
        let message = format!("the foreign function `{}` is not linked", function.name);
        Err(ForeignError {
            code: FOREIGN_FAILED,
            message,
        })
    }
}

/// Why a C function gave no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignError {
    pub code: Code,
    pub message: String,
}

/// Ignores traces and knows no foreign functions.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoHost;

impl Host for NoHost {}

/// A program ready to run, as often as wanted.
#[derive(Debug)]
pub struct Interpreter {
    code: MachineCode,
    entries: Vec<EntryPoint>,
    limits: Limits,
}

/// How registers become slots. Values do not depend on it, which is what tests compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slots {
    /// Values leave their slots at their last use, and slots serve one register after the other.
    Shared,
    /// Every register has a slot of its own, and keeps its value.
    #[cfg(test)]
    Own,
}

/// An entry with the Core types of its function.
#[derive(Debug)]
struct EntryPoint {
    entry: Entry,
    context: Vec<crate::ir::Var>,
    params: Vec<crate::ir::Param>,
    results: Vec<Type>,
    context_results: usize,
    /// How arguments become values of the program.
    arrivals: arrive::Arrivals,
}

impl Interpreter {
    /// Compiles a program. It fails only where the program breaks the rules of Core, which is a compiler's bug.
    pub fn new(program: &Program) -> Result<Interpreter, Box<Diagnostic>> {
        Interpreter::compile(program, Slots::Shared)
    }

    fn compile(program: &Program, slots: Slots) -> Result<Interpreter, Box<Diagnostic>> {
        let facts = lower::ProgramFacts::new(program);
        let mut spans = Vec::new();
        let mut functions = Vec::with_capacity(program.functions.len());
        for function in &program.functions {
            let mut lowered = lower::lower_function(function, &facts, &mut spans).map_err(|what| {
                let what = format!("`{}` cannot be interpreted: {what}", function.name);
                Box::new(compiler_bug(function.span, what))
            })?;
            if slots == Slots::Shared {
                liveness::mark(&mut lowered.block, lowered.boxed);
            }
            functions.push(allocate::allocate(function.name.clone(), lowered, slots));
        }
        let entries: Result<Vec<EntryPoint>, Box<Diagnostic>> = program
            .entries
            .iter()
            .map(|entry| EntryPoint::new(entry, program))
            .collect();
        Ok(Interpreter {
            code: MachineCode {
                functions,
                spans,
                foreign: program.foreign.clone(),
            },
            entries: entries?,
            limits: Limits::default(),
        })
    }

    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Interpreter {
        self.limits = limits;
        self
    }

    /// The entry of that name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entry_point(name).map(|point| &point.entry)
    }

    fn entry_point(&self, name: &str) -> Option<&EntryPoint> {
        self.entries
            .iter()
            .find(|point| point.entry.name.as_str() == name)
    }

    /// Calls an entry.
    pub fn call(&self, entry: &str, args: Vec<Value>) -> Result<Value, RuntimeError> {
        self.call_with(entry, args, &mut NoHost)
    }

    /// Calls an entry, with somebody to ask for traces and foreign functions.
    pub fn call_with(
        &self,
        entry: &str,
        args: Vec<Value>,
        host: &mut dyn Host,
    ) -> Result<Value, RuntimeError> {
        let Some(point) = self.entry_point(entry) else {
            return Err(entry::unknown(entry));
        };
        let args = entry::arguments(point, args)?;
        let mut machine = Machine::new(&self.code, &self.limits, host);
        let results = machine.run(point.entry.function.0, args)?;
        entry::result(point, results)
    }
}

impl Interpreter {
    /// Arguments of an entry as its function takes them: its sizes, and values of its Core types.
    pub fn arguments_as_core(
        &self,
        entry: &str,
        args: Vec<Value>,
    ) -> Result<(Vec<i64>, Vec<Value>), RuntimeError> {
        let Some(point) = self.entry_point(entry) else {
            return Err(entry::unknown(entry));
        };
        entry::separate_arguments(point, entry::arguments(point, args)?)
    }

    /// Calls the function of an entry with values that are known to fit its Core types: its sizes, then its arguments. Gives
    /// the sizes of its result, and its values.
    pub fn call_as_core(
        &self,
        entry: &str,
        sizes: &[i64],
        args: Vec<Value>,
        host: &mut dyn Host,
    ) -> Result<(Vec<i64>, Vec<Value>), RuntimeError> {
        let Some(point) = self.entry_point(entry) else {
            return Err(entry::unknown(entry));
        };
        let args = entry::core_arguments(point, sizes, args);
        let mut machine = Machine::new(&self.code, &self.limits, host);
        let results = machine.run(point.entry.function.0, args)?;
        entry::core_results(point, results)
    }
}

impl EntryPoint {
    fn new(entry: &Entry, program: &Program) -> Result<EntryPoint, Box<Diagnostic>> {
        let Some(function) = program.functions.get(entry.function.0 as usize) else {
            let what = format!("the entry `{}` has no function", entry.name);
            return Err(Box::new(compiler_bug(entry.span, what)));
        };
        Ok(EntryPoint {
            entry: entry.clone(),
            context: function.context.clone(),
            params: function.params.clone(),
            results: function.result.types.clone(),
            context_results: function.result.context.len(),
            arrivals: arrive::Arrivals::of(function, program),
        })
    }
}
