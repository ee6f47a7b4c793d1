//! What runs a program: the interpreter, or a library made by the C compiler.

use crate::options::Backend;
use crate::terminal;
use almach_base::Diagnostic;
use almach_core::Program as Core;
use almach_core::interp::{Host, Interpreter, Limits};
use almach_value::{Extent, Value, ValueType, print};

pub enum Machine {
    Interpreter(Box<Interpreter>),
}

/// What the user can set for a run.
#[derive(Clone, Copy, Default, Debug)]
pub struct RunSettings {
    pub max_depth: Option<usize>,
}

impl Machine {
    /// The machine for a back end; without one asked for, the best that can run this program here.
    pub fn new(core: &Core, backend: Option<Backend>, settings: RunSettings) -> Result<Machine, Diagnostic> {
        match backend {
            None | Some(Backend::Interp) => interpreter(core, settings),
        }
    }

    pub fn call(&self, entry: &str, args: Vec<Value>) -> Result<Value, Diagnostic> {
        match self {
            Machine::Interpreter(interpreter) => interpreter
                .call_with(entry, args, &mut Terminal)
                .map_err(|error| error.to_diagnostic()),
        }
    }
}

fn interpreter(core: &Core, settings: RunSettings) -> Result<Machine, Diagnostic> {
    let mut limits = Limits::default();
    if let Some(depth) = settings.max_depth {
        limits.depth = depth;
    }
    let interpreter = Interpreter::new(core).map_err(|diagnostic| *diagnostic)?;
    Ok(Machine::Interpreter(Box::new(interpreter.with_limits(limits))))
}

/// Traces go to standard error.
struct Terminal;

impl Host for Terminal {
    fn trace(&mut self, label: &str, value: &Value, ty: &ValueType) {
        terminal::complain(&format!("{label}: {}", print(value, ty, Extent::Full)));
    }
}
