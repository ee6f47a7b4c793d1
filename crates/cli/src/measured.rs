//! Variants of a program compiled, compared with each other and the interpreter, and timed. For `almach tune`.

use almach_base::{Diagnostic, SourceMap, Span, compiler_bug};
use almach_driver::back::{self, Lowered, Target};
use almach_native::{Interface, Library, Toolchain};
use almach_value::{ScalarType, Value, ValueType, approximately_equal};
use std::path::PathBuf;

/// What variants are measured with.
pub struct Bench<'a> {
    pub toolchain: Toolchain,
    pub target: Target,
    pub device: Option<String>,
    pub links: Vec<PathBuf>,
    pub sources: &'a SourceMap,
    /// The arguments that they are measured with.
    pub args: &'a [Value],
    /// Others, with what the interpreter gives for them.
    pub known: Option<Known>,
    pub runs: usize,
}

/// Arguments, and what a call gives for them by definition: none where it fails.
pub struct Known {
    pub args: Vec<Value>,
    pub value: Option<Value>,
}

/// A variant that runs.
pub struct Runner {
    path: PathBuf,
    interface: Interface,
    device: Option<String>,
    /// Until it has been measured: what a library keeps for its next call, and what a call gives, is too much to be held of hundreds of variants.
    library: Option<Library>,
    lowered: Lowered,
    /// Of the first call, with the arguments it is measured with, until it has been compared.
    pub value: Option<Value>,
    seconds: Vec<f64>,
}

/// No more is measured of a variant once it took so many seconds.
const LONG: f64 = 1.5;

impl Bench<'_> {
    /// Compiles a variant and runs it once. What it gives for the known arguments must be what the interpreter does.
    pub fn runner(&self, lowered: &Lowered) -> Result<Runner, Diagnostic> {
        let source = back::c_source(lowered, self.sources, "program", self.target).map_err(first)?;
        let compiled = self.toolchain.library(&source, self.target, &self.links);
        let compiled = compiled.map_err(|diagnostic| *diagnostic)?;
        let mut runner = Runner {
            path: compiled.path,
            interface: source.interface,
            device: self.device.clone(),
            library: None,
            lowered: lowered.clone(),
            value: None,
            seconds: Vec::new(),
        };
        let mut library = runner.load()?;
        let Some(entry) = lowered.entries.first() else {
            return Err(compiler_bug(Span::NONE, "an entry was lost in lowering"));
        };
        if let Some(known) = &self.known {
            let found = library.call_entry(entry, &known.args).ok();
            let agrees = match (&found, &known.value) {
                (Some(found), Some(known)) => agree(found, known, &entry.result_type),
                (None, None) => true,
                _ => false,
            };
            if !agrees {
                return Err(differs(entry.span, "the interpreter"));
            }
        }
        let value = library.call_entry(entry, self.args);
        runner.value = Some(value.map_err(|diagnostic| *diagnostic)?);
        runner.library = Some(library);
        Ok(runner)
    }
}

/// Another value than that of others.
pub fn differs(span: Span, others: &str) -> Diagnostic {
    compiler_bug(
        span,
        format!("a variant of the program gives another value than {others}"),
    )
}

fn first(diagnostics: Vec<Diagnostic>) -> Diagnostic {
    let none = || compiler_bug(Span::NONE, "a stage failed without saying why");
    diagnostics.into_iter().next().unwrap_or_else(none)
}

/// Whether two values are the same but for the rounding that another grouping brings.
pub fn agree(left: &Value, right: &Value, ty: &ValueType) -> bool {
    let tolerance = match has_f32(ty) {
        true => 1e-3,
        false => 1e-8,
    };
    approximately_equal(left, right, tolerance)
}

fn has_f32(ty: &ValueType) -> bool {
    match ty {
        ValueType::Scalar(scalar) | ValueType::Vector(_, scalar) => *scalar == ScalarType::F32,
        ValueType::Tuple(parts) => parts.iter().any(has_f32),
        ValueType::Record(fields) => fields.iter().any(|(_, ty)| has_f32(ty)),
        ValueType::Array(_, element) => has_f32(element),
        ValueType::Sum(_) | ValueType::Recursive(_) => true,
    }
}

impl Runner {
    fn load(&self) -> Result<Library, Diagnostic> {
        let library = Library::load(&self.path, self.interface.clone());
        let mut library = library.map_err(|diagnostic| *diagnostic)?;
        if let Some(device) = &self.device {
            library.set_device(device);
        }
        Ok(library)
    }

    /// Times some more calls.
    pub fn measure(&mut self, args: &[Value], runs: usize) -> Result<(), Diagnostic> {
        let Some(entry) = self.lowered.entries.first() else {
            return Ok(());
        };
        let enough = |seconds: &[f64]| seconds.len() >= runs || seconds.iter().sum::<f64>() > LONG;
        let mut library = match self.library.take() {
            Some(library) => library,
            None => {
                let mut library = self.load()?;
                // The first call makes what others find.
                library
                    .call_entry(entry, args)
                    .map_err(|diagnostic| *diagnostic)?;
                library
            }
        };
        let more = library.time_entry(entry, args, enough);
        self.seconds.extend(more.map_err(|diagnostic| *diagnostic)?);
        Ok(())
    }

    pub fn median(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    pub fn result_type(&self) -> Option<&ValueType> {
        self.lowered.entries.first().map(|entry| &entry.result_type)
    }
}
