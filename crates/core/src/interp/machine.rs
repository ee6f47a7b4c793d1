//! The machine: frames on a stack of its own, one loop over instructions.

mod access;
mod arrays;
mod step;

use super::code::{CallInstr, FunctionCode, Instr, Last, Use};
use super::error::{Fail, FailKind, RuntimeError, Site, dress};
use super::{Host, Limits};
use crate::ir::ForeignDef;
use almach_base::Span;
use almach_value::{ArrayValue, Failure, Value};

/// Everything that is the same for all runs.
#[derive(Debug)]
pub(super) struct Code {
    pub functions: Vec<FunctionCode>,
    pub spans: Vec<Span>,
    pub foreign: Vec<ForeignDef>,
}

/// What a boxed slot holds.
#[derive(Clone, Debug, Default)]
pub(super) enum Slot {
    #[default]
    Empty,
    Value(Value),
    /// An array that grows or is written in place; nobody else holds it.
    Open(Box<ArrayValue>),
}

/// A function that waits for another to return.
struct Frame {
    function: u32,
    /// The call that is under way.
    at: u32,
    scalars: usize,
    boxed: usize,
}

/// Why the loop over one function's instructions stopped.
enum Exit {
    Call(usize),
    TailCall(usize),
    Return(usize),
}

pub(super) struct Machine<'a> {
    code: &'a Code,
    limits: &'a Limits,
    host: &'a mut dyn Host,
    scalars: Vec<u64>,
    boxed: Vec<Slot>,
    frames: Vec<Frame>,
}

/// Values of both files in order: arguments, or results.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub scalars: Vec<u64>,
    pub boxed: Vec<Value>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(code: &'a Code, limits: &'a Limits, host: &'a mut dyn Host) -> Machine<'a> {
        Machine {
            code,
            limits,
            host,
            scalars: Vec::new(),
            boxed: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// Calls a function; its results, in the order of its registers.
    pub(super) fn run(&mut self, function: u32, args: Values) -> Result<Values, RuntimeError> {
        let mut current = Current {
            function,
            at: 0,
            scalars: 0,
            boxed: 0,
        };
        let result = self.execute(&mut current, args);
        result.map_err(|fail| {
            let calls = self.calls(&current);
            dress(fail, &self.code.spans, calls)
        })
    }

    fn execute(&mut self, current: &mut Current, args: Values) -> Result<Values, Fail> {
        self.enter(current)?;
        for (slot, value) in self.scalars.iter_mut().zip(args.scalars) {
            *slot = value;
        }
        for (slot, value) in self.boxed.iter_mut().zip(args.boxed) {
            *slot = Slot::Value(value);
        }
        loop {
            let function = function(self.code, current.function)?;
            let exit = {
                let scalars = self.scalars.get_mut(current.scalars..).unwrap_or_default();
                let boxed = self.boxed.get_mut(current.boxed..).unwrap_or_default();
                let mut step = step::Step {
                    scalars,
                    boxed,
                    limits: self.limits,
                    host: &mut *self.host,
                    foreign: &self.code.foreign,
                };
                step.run(&function.code, &mut current.at)?
            };
            match exit {
                Exit::Call(at) => self.call(current, instr(function, at), at)?,
                Exit::TailCall(at) => self.tail_call(current, instr(function, at))?,
                Exit::Return(at) => {
                    if let Some(values) = self.ret(current, instr(function, at))? {
                        return Ok(values);
                    }
                }
            }
        }
    }

    /// Makes room for the frame of a function at the current place.
    fn enter(&mut self, current: &Current) -> Result<(), Fail> {
        let function = function(self.code, current.function)?;
        self.scalars
            .resize(current.scalars + function.scalar_slots as usize, 0);
        self.boxed
            .resize_with(current.boxed + function.boxed_slots as usize, Slot::default);
        Ok(())
    }

    fn check_depth(&self, site: Site) -> Result<(), Fail> {
        let bytes = self.scalars.len() * size_of::<u64>()
            + self.boxed.len() * size_of::<Slot>()
            + self.frames.len() * size_of::<Frame>();
        if self.frames.len() < self.limits.depth && bytes < self.limits.stack_bytes {
            return Ok(());
        }
        let depth = self.frames.len() as i128;
        Err(FailKind::failure(Failure::RecursionTooDeep, [depth]).at(site))
    }

    fn call(&mut self, current: &mut Current, call: Option<&Instr>, at: usize) -> Result<(), Fail> {
        let Some(Instr::Call(call)) = call else {
            return Err(FailKind::bug("a call that is none").at(Site::NONE));
        };
        self.check_depth(call.site)?;
        let called = Current {
            function: call.function,
            at: 0,
            scalars: self.scalars.len(),
            boxed: self.boxed.len(),
        };
        self.enter(&called)?;
        for (offset, reg) in call.scalars.iter().enumerate() {
            let value = self.scalars.get(current.scalars + reg.0 as usize).copied();
            if let Some(slot) = self.scalars.get_mut(called.scalars + offset) {
                *slot = value.unwrap_or(0);
            }
        }
        for (offset, arg) in call.boxed.iter().enumerate() {
            let value = self.taken(current.boxed, *arg);
            if let Some(slot) = self.boxed.get_mut(called.boxed + offset) {
                *slot = value;
            }
        }
        self.frames.push(Frame {
            function: current.function,
            at: at as u32,
            scalars: current.scalars,
            boxed: current.boxed,
        });
        *current = called;
        Ok(())
    }

    /// The value of a use, out of its slot where it is the last.
    fn taken(&mut self, base: usize, arg: Use) -> Slot {
        match self.boxed.get_mut(base + arg.reg.0 as usize) {
            Some(slot) => match arg.last {
                Last::Yes => std::mem::take(slot),
                Last::No => slot.clone(),
            },
            None => Slot::Empty,
        }
    }

    fn tail_call(&mut self, current: &mut Current, call: Option<&Instr>) -> Result<(), Fail> {
        let Some(Instr::TailCall(call)) = call else {
            return Err(FailKind::bug("a call that is none").at(Site::NONE));
        };
        let args = self.gather(current, call);
        let called = Current {
            function: call.function,
            at: 0,
            ..*current
        };
        self.scalars.truncate(current.scalars);
        self.boxed.truncate(current.boxed);
        self.enter(&called)?;
        for (offset, value) in args.0.into_iter().enumerate() {
            if let Some(slot) = self.scalars.get_mut(called.scalars + offset) {
                *slot = value;
            }
        }
        for (offset, value) in args.1.into_iter().enumerate() {
            if let Some(slot) = self.boxed.get_mut(called.boxed + offset) {
                *slot = value;
            }
        }
        *current = called;
        Ok(())
    }

    fn gather(&mut self, current: &Current, call: &CallInstr) -> (Vec<u64>, Vec<Slot>) {
        let scalar = |reg: &super::code::S| {
            let value = self.scalars.get(current.scalars + reg.0 as usize);
            value.copied().unwrap_or(0)
        };
        let scalars = call.scalars.iter().map(scalar).collect();
        let boxed = call
            .boxed
            .iter()
            .map(|arg| self.taken(current.boxed, *arg))
            .collect();
        (scalars, boxed)
    }

    /// Goes back to who called, or gives the results where nobody did.
    fn ret(&mut self, current: &mut Current, result: Option<&Instr>) -> Result<Option<Values>, Fail> {
        let Some(Instr::Return(result)) = result else {
            return Err(FailKind::bug("a return that is none").at(Site::NONE));
        };
        let Some(frame) = self.frames.pop() else {
            return Ok(Some(self.results(current, result)));
        };
        let caller = function(self.code, frame.function)?;
        let Some(Instr::Call(call)) = caller.code.get(frame.at as usize) else {
            return Err(FailKind::bug("a return to no call").at(Site::NONE));
        };
        for (to, from) in call.scalar_results.iter().zip(&result.scalars) {
            let value = self.scalars.get(current.scalars + from.0 as usize).copied();
            if let Some(slot) = self.scalars.get_mut(frame.scalars + to.0 as usize) {
                *slot = value.unwrap_or(0);
            }
        }
        for (to, from) in call.boxed_results.iter().zip(&result.boxed) {
            let value = self.taken(current.boxed, *from);
            if let Some(slot) = self.boxed.get_mut(frame.boxed + to.0 as usize) {
                *slot = value;
            }
        }
        self.scalars.truncate(current.scalars);
        self.boxed.truncate(current.boxed);
        *current = Current {
            function: frame.function,
            at: frame.at as usize + 1,
            scalars: frame.scalars,
            boxed: frame.boxed,
        };
        Ok(None)
    }

    fn results(&mut self, current: &Current, result: &super::code::ReturnInstr) -> Values {
        let scalar = |reg: &super::code::S| {
            let value = self.scalars.get(current.scalars + reg.0 as usize);
            value.copied().unwrap_or(0)
        };
        let scalars = result.scalars.iter().map(scalar).collect();
        let boxed = result
            .boxed
            .iter()
            .filter_map(|from| match self.taken(current.boxed, *from) {
                Slot::Value(value) => Some(value),
                Slot::Empty | Slot::Open(_) => None,
            })
            .collect();
        Values { scalars, boxed }
    }

    /// The functions that were running, innermost first, as notes of an error.
    fn calls(&self, current: &Current) -> Vec<String> {
        const SHOWN: usize = 8;
        let name = |function: u32| match self.code.functions.get(function as usize) {
            Some(function) => function.name.to_string(),
            None => "?".to_owned(),
        };
        let waiting = self.frames.iter().rev().map(|frame| frame.function);
        let mut names: Vec<String> = std::iter::once(current.function)
            .chain(waiting)
            .take(SHOWN)
            .map(name)
            .collect();
        let more = (self.frames.len() + 1).saturating_sub(SHOWN);
        if more > 0 {
            names.push(format!("{more} more"));
        }
        match names.len() {
            1 => vec![format!("in `{}`", names.concat())],
            _ => vec![format!("called by way of {}", names.join(" < "))],
        }
    }
}

/// The function that is running.
#[derive(Clone, Copy)]
struct Current {
    function: u32,
    /// The instruction to go on with, or the one that failed.
    at: usize,
    scalars: usize,
    boxed: usize,
}

fn function(code: &Code, function: u32) -> Result<&FunctionCode, Fail> {
    let found = code.functions.get(function as usize);
    found.ok_or_else(|| FailKind::bug("a called function does not exist").at(Site::NONE))
}

fn instr(function: &FunctionCode, at: usize) -> Option<&Instr> {
    function.code.get(at)
}
