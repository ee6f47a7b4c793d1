//! Calls into a loaded library, with scalars and flat buffers.

use crate::raw::{Block, Loaded};
use almach_base::codes::runtime::{DEVICE_FAILED, FOREIGN_FAILED, OUT_OF_MEMORY};
use almach_base::{Diagnostic, Name, Span, compiler_bug};
use almach_emit::{Exported, Interface};
use almach_imp::{Param, Passing};
use almach_value::{Buffer, Scalar, ScalarType, with_buffer};
use std::ffi::{CString, c_int, c_void};
use std::path::Path;
use std::time::Instant;

/// A library with the description of what is in it.
pub struct Library {
    loaded: Loaded,
    interface: Interface,
}

/// What is handed to a procedure, in the order of its parameters.
pub enum Argument<'a> {
    Value(Scalar),
    /// Cells to read. There must be as many as the sizes among the arguments say.
    Read(&'a Buffer),
    /// Cells to write (and read).
    Write(&'a mut Buffer),
    /// A scalar result is wanted.
    Out,
    /// A buffer is wanted that the procedure allocates.
    Owned,
}

/// A result, in the order of the parameters that ask for one.
#[derive(Clone, Debug)]
pub enum Output {
    Scalar(Scalar),
    Buffer(Buffer),
}

/// How long a kernel, or transfers, took in all.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelTime {
    pub name: String,
    pub seconds: f64,
    /// Of the fastest time.
    pub least: f64,
    /// How often it ran.
    pub count: i64,
}

/// What calls did to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Account {
    pub allocations: i64,
    /// The most bytes at once.
    pub peak: i64,
    /// Bytes that were copied from block to block.
    pub copied: i64,
}

/// How long threads worked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Idle {
    /// Nanoseconds in which there were several.
    pub together: i64,
    /// Of these, those in which the idlest had something to do.
    pub least: i64,
    pub threads: i64,
}

type Native<T> = Result<T, Box<Diagnostic>>;

impl Library {
    /// Loads what a toolchain made from the emitted files of an interface.
    pub fn load(path: &Path, interface: Interface) -> Native<Library> {
        match Loaded::open(path, &interface.name) {
            Ok(loaded) => Ok(Library { loaded, interface }),
            Err(why) => match missing_symbol(&why, &interface) {
                Some((name, span)) => Err(not_linked(name, *span)),
                None => Err(does_not_load(&why, &interface)),
            },
        }
    }

    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// How many threads calls use; 0 for what the environment says.
    pub fn set_threads(&mut self, threads: usize) {
        self.loaded
            .set_threads(c_int::try_from(threads).unwrap_or(c_int::MAX));
    }

    /// Which device kernels run on: its number, or a part of its name.
    pub fn set_device(&mut self, device: &str) {
        if let Ok(text) = CString::new(device) {
            self.loaded.set_device(&text);
        }
    }

    /// Measures how long kernels and transfers take, from now on.
    pub fn time_kernels(&mut self) {
        self.loaded.time_kernels();
    }

    /// What was measured of kernels that ran, and of transfers.
    pub fn kernel_times(&self) -> Vec<KernelTime> {
        (0..)
            .map_while(|number| self.loaded.kernel_time(number))
            .filter(|(_, _, count)| *count > 0)
            .map(|(name, [seconds, least], count)| KernelTime {
                name,
                seconds,
                least,
                count,
            })
            .collect()
    }

    /// How many calls may wait for others before a recursion is stopped; 0 for the usual number.
    pub fn set_max_depth(&mut self, depth: usize) {
        self.loaded
            .set_max_depth(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    /// What calls did to memory so far; none where the library was not made to count.
    pub fn account(&self) -> Option<Account> {
        let [allocations, peak, copied] = self.loaded.account()?;
        Some(Account {
            allocations,
            peak,
            copied,
        })
    }

    /// How long threads worked so far; none where the library was not made to count, or never had several.
    pub fn idle(&self) -> Option<Idle> {
        let [together, least, threads] = self.loaded.idle()?;
        (threads > 1 && together > 0).then_some(Idle {
            together,
            least,
            threads,
        })
    }

    /// How many bytes blocks may take at once, in a library that counts.
    pub fn set_max_bytes(&mut self, bytes: u64) {
        self.loaded
            .set_max_bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Calls an exported procedure. An error of the program is the diagnostic that an interpreter gives for it.
    pub fn call(&mut self, proc: &str, arguments: Vec<Argument<'_>>) -> Native<Vec<Output>> {
        let exported = self.exported(proc)?;
        let symbol = exported.call_symbol.clone();
        let mut slots = slots(exported, arguments)?;
        let mut cells: Vec<*mut c_void> = slots.iter_mut().map(Slot::cell).collect();
        match self.loaded.call(&symbol, &mut cells) {
            Ok(0) => Ok(self.outputs(slots)),
            Ok(_) => Err(self.failure()),
            Err(why) => Err(bug(format!("a compiled procedure is missing: {why}"))),
        }
    }

    /// Seconds that a call takes, without what happens to its results. They are given back.
    pub fn time(&mut self, proc: &str, arguments: Vec<Argument<'_>>) -> Native<f64> {
        let exported = self.exported(proc)?;
        let mut slots = slots(exported, arguments)?;
        let symbol = exported.call_symbol.clone();
        let mut cells: Vec<*mut c_void> = slots.iter_mut().map(Slot::cell).collect();
        let start = Instant::now();
        let status = self.loaded.call(&symbol, &mut cells);
        let seconds = start.elapsed().as_secs_f64();
        match status {
            Ok(0) => {
                for slot in &slots {
                    if let Slot::Owned { data, .. } = slot {
                        drop(self.loaded.block(*data));
                    }
                }
                Ok(seconds)
            }
            Ok(_) => Err(self.failure()),
            Err(why) => Err(bug(format!("a compiled procedure is missing: {why}"))),
        }
    }

    fn exported(&self, proc: &str) -> Native<&Exported> {
        let mut all = self.interface.procs.iter();
        all.find(|exported| &*exported.proc == proc)
            .ok_or_else(|| bug(format!("the library has no procedure `{proc}`")))
    }

    fn outputs(&self, slots: Vec<Slot>) -> Vec<Output> {
        let output = |slot: Slot| match slot {
            Slot::Scalar { .. } | Slot::Cells(_) => None,
            Slot::Out { raw, ty } => Some(Output::Scalar(scalar_from_memory(ty, raw))),
            Slot::Owned { data, ty } => Some(Output::Buffer(buffer_from_block(ty, &self.loaded.block(data)))),
        };
        slots.into_iter().filter_map(output).collect()
    }

    /// The error of the last call.
    fn failure(&mut self) -> Box<Diagnostic> {
        let sites = &self.interface.sites;
        let found = |number: usize| number.checked_sub(1).and_then(|at| sites.get(at));
        let (number, raw) = self
            .loaded
            .failure(|number| found(number).map_or(0, |site| site.types.len()));
        let Some(failed) = usize::try_from(number).ok().and_then(found) else {
            if let Some(trouble) = self.error_text() {
                return Box::new(device_failure(number, trouble));
            }
            return bug(format!(
                "a compiled procedure failed at no known place ({number})"
            ));
        };
        let values: Vec<String> = failed
            .types
            .iter()
            .zip(raw)
            .map(|(ty, raw)| Scalar::from_raw(*ty, raw).to_string())
            .collect();
        let site = &failed.site;
        Box::new(Diagnostic::error(site.code, site.span, site.message(&values)))
    }

    /// The message of the last failure as C programs see it, with the place in front.
    pub fn error_text(&mut self) -> Option<String> {
        self.loaded
            .error_text()
            .map(|text| text.to_string_lossy().into_owned())
    }
}

/// What `NAME_failure` gives where the device has not enough memory; -1 is any other reason that is not in the program.
const NO_DEVICE_MEMORY: i32 = -2;

fn device_failure(number: i32, trouble: String) -> Diagnostic {
    match number {
        NO_DEVICE_MEMORY => Diagnostic::error(OUT_OF_MEMORY, Span::NONE, trouble)
            .help("smaller arrays, or fewer at a time, fit; --backend openmp has the memory of the host"),
        _ => Diagnostic::error(DEVICE_FAILED, Span::NONE, trouble)
            .help("use another device (--device), or --backend openmp"),
    }
}

/// The foreign function that a library could not be loaded without.
fn missing_symbol<'i>(why: &str, interface: &'i Interface) -> Option<&'i (Name, Span)> {
    let is_in = |(name, _): &&(Name, Span)| {
        why.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .any(|word| word == name.as_str() || word.strip_prefix('_') == Some(name.as_str()))
    };
    interface.foreign.iter().find(is_in)
}

fn not_linked(name: &Name, span: Span) -> Box<Diagnostic> {
    let message = format!("the foreign function `{name}` is not linked");
    let help = "give the C file or the library that defines it: `--link FILE.c`";
    Box::new(Diagnostic::error(FOREIGN_FAILED, span, message).help(help))
}

/// A program that calls nothing of the user's has nothing to load but what Almach made.
fn does_not_load(why: &str, interface: &Interface) -> Box<Diagnostic> {
    match interface.foreign.first() {
        None => bug(format!("a compiled program does not load: {why}")),
        Some((name, span)) => {
            let message = format!("what is linked for `{name}` does not load: {why}");
            let help = "a library that is linked must be complete: link what it needs as well";
            Box::new(Diagnostic::error(FOREIGN_FAILED, *span, message).help(help))
        }
    }
}

#[track_caller]
fn bug(what: impl std::fmt::Display) -> Box<Diagnostic> {
    Box::new(compiler_bug(Span::NONE, what))
}

/// What a cell of a call points to.
enum Slot {
    /// A scalar as it is in memory, at the front of eight bytes that are aligned for every type.
    Scalar {
        raw: u64,
    },
    Cells(*mut c_void),
    Out {
        raw: u64,
        ty: ScalarType,
    },
    Owned {
        data: *mut c_void,
        ty: ScalarType,
    },
}

impl Slot {
    fn cell(&mut self) -> *mut c_void {
        match self {
            Slot::Scalar { raw } | Slot::Out { raw, .. } => std::ptr::from_mut(raw).cast(),
            Slot::Cells(data) | Slot::Owned { data, .. } => std::ptr::from_mut(data).cast(),
        }
    }
}

/// The arguments as the parameters want them.
fn slots(exported: &Exported, arguments: Vec<Argument<'_>>) -> Native<Vec<Slot>> {
    let Exported { proc, params, .. } = exported;
    if params.len() != arguments.len() {
        return Err(bug(format!(
            "`{proc}` takes {} arguments and gets {}",
            params.len(),
            arguments.len()
        )));
    }
    params
        .iter()
        .zip(arguments)
        .map(|(param, argument)| slot(param, argument))
        .collect()
}

fn slot(param: &Param, argument: Argument<'_>) -> Native<Slot> {
    let Param { name, ty, passing } = param;
    let found = match &argument {
        Argument::Value(scalar) => scalar.ty(),
        Argument::Read(buffer) => buffer.ty(),
        Argument::Write(buffer) => buffer.ty(),
        Argument::Out | Argument::Owned => *ty,
    };
    if found != *ty {
        return Err(bug(format!("`{name}` is a {ty} and gets a {found}")));
    }
    Ok(match (passing, argument) {
        (Passing::Value, Argument::Value(scalar)) => Slot::Scalar {
            raw: memory_of(scalar),
        },
        (Passing::Read, Argument::Read(buffer)) => {
            Slot::Cells(with_buffer!(buffer, v => v.as_ptr().cast::<c_void>().cast_mut()))
        }
        (Passing::Write, Argument::Write(buffer)) => {
            Slot::Cells(with_buffer!(buffer, v => v.as_mut_ptr().cast::<c_void>()))
        }
        (Passing::Out, Argument::Out) => Slot::Out { raw: 0, ty: *ty },
        (Passing::Owned, Argument::Owned) => Slot::Owned {
            data: std::ptr::null_mut(),
            ty: *ty,
        },
        _ => return Err(bug(format!("`{name}` is not passed like that"))),
    })
}

/// A scalar as C has it in memory, at the front of eight bytes.
fn memory_of(scalar: Scalar) -> u64 {
    fn front<const N: usize>(bytes: [u8; N]) -> u64 {
        let mut raw = [0; 8];
        raw.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        u64::from_ne_bytes(raw)
    }
    match scalar {
        Scalar::I8(v) => front(v.to_ne_bytes()),
        Scalar::I16(v) => front(v.to_ne_bytes()),
        Scalar::I32(v) => front(v.to_ne_bytes()),
        Scalar::I64(v) => front(v.to_ne_bytes()),
        Scalar::U8(v) => front(v.to_ne_bytes()),
        Scalar::U16(v) => front(v.to_ne_bytes()),
        Scalar::U32(v) => front(v.to_ne_bytes()),
        Scalar::U64(v) => front(v.to_ne_bytes()),
        Scalar::F32(v) => front(v.to_ne_bytes()),
        Scalar::F64(v) => front(v.to_ne_bytes()),
        Scalar::Bool(v) => front([u8::from(v)]),
    }
}

fn scalar_from_memory(ty: ScalarType, raw: u64) -> Scalar {
    let [a, b, c, d, e, f, g, h] = raw.to_ne_bytes();
    match ty {
        ScalarType::I8 => Scalar::I8(i8::from_ne_bytes([a])),
        ScalarType::I16 => Scalar::I16(i16::from_ne_bytes([a, b])),
        ScalarType::I32 => Scalar::I32(i32::from_ne_bytes([a, b, c, d])),
        ScalarType::I64 => Scalar::I64(i64::from_ne_bytes([a, b, c, d, e, f, g, h])),
        ScalarType::U8 => Scalar::U8(a),
        ScalarType::U16 => Scalar::U16(u16::from_ne_bytes([a, b])),
        ScalarType::U32 => Scalar::U32(u32::from_ne_bytes([a, b, c, d])),
        ScalarType::U64 => Scalar::U64(u64::from_ne_bytes([a, b, c, d, e, f, g, h])),
        ScalarType::F32 => Scalar::F32(f32::from_ne_bytes([a, b, c, d])),
        ScalarType::F64 => Scalar::F64(f64::from_ne_bytes([a, b, c, d, e, f, g, h])),
        ScalarType::Bool => Scalar::Bool(a != 0),
    }
}

fn buffer_from_block(ty: ScalarType, block: &Block) -> Buffer {
    match ty {
        ScalarType::I8 => Buffer::I8(block.elements()),
        ScalarType::I16 => Buffer::I16(block.elements()),
        ScalarType::I32 => Buffer::I32(block.elements()),
        ScalarType::I64 => Buffer::I64(block.elements()),
        ScalarType::U8 => Buffer::U8(block.elements()),
        ScalarType::U16 => Buffer::U16(block.elements()),
        ScalarType::U32 => Buffer::U32(block.elements()),
        ScalarType::U64 => Buffer::U64(block.elements()),
        ScalarType::F32 => Buffer::F32(block.elements()),
        ScalarType::F64 => Buffer::F64(block.elements()),
        ScalarType::Bool => Buffer::Bool(block.elements::<u8>().into_iter().map(|byte| byte != 0).collect()),
    }
}
