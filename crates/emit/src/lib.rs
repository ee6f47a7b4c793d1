//! Imp as C: a header and a source file that stand alone.
//!
//! [`emit_c`] prints a checked program for sequential C11 or for OpenMP, from one tree ([`tree`]) with one printer ([`print`]).
//! What C leaves undefined or defines otherwise than the language goes through small functions ([`helpers`]), of which a
//! file holds those it uses. See `docs/c-interface.md` for what the emitted functions promise.

mod analysis;
mod atomics;
mod device;
mod expr;
mod foreign;
mod header;
pub mod helpers;
mod idle;
mod index;
mod kernel_copies;
mod kernel_helpers;
mod kernel_rows;
mod loops;
mod names;
mod nvcc;
mod outputs;
mod packs;
mod powers;
mod print;
mod procedure;
mod recursion;
mod runtime;
mod sites;
mod squares;
mod stmt;
mod stores;
mod text;
mod threshold;
mod trace;
pub mod tree;
mod turns;
mod uneven;

use crate::analysis::{Uses, Waiting, reachable, traits};
use crate::device::Kernels;
use crate::helpers::{Helper, Helpers};
use crate::names::{Scope, sanitise};
use crate::procedure::{Callee, Emitter, Printed, Unit};
use crate::recursion::Resumed;
use crate::runtime::Recursion;
use crate::sites::Sites;
use crate::tree::{CFunction, Linkage};
use almach_base::codes::cli::BAD_OPTION;
use almach_base::{Diagnostic, Name, SourceMap, Span, compiler_bug};
use almach_imp::interface::Entry;
use almach_imp::naturals::{Naturals, callers_first, calls};
use almach_imp::touch::has_kernel;
use almach_imp::{Checked, Groups, Param, Passing, Proc, Program, Stmt};
use almach_value::ForeignType;
use std::collections::{HashMap, HashSet};

pub use foreign::KernelCode;
pub use sites::FailureSite;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// Sequential C11.
    C,
    OpenMp,
    /// C11 that starts kernels through OpenCL.
    OpenCl,
    /// C11 that starts kernels through CUDA's driver.
    Cuda,
}

impl Target {
    /// Whether there are kernels.
    pub fn has_device(self) -> bool {
        match self {
            Target::C | Target::OpenMp => false,
            Target::OpenCl | Target::Cuda => true,
        }
    }
}

/// Which language the emitted source is in.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Form {
    /// C11, which any C compiler builds.
    #[default]
    C,
    /// C++ with the kernels in it, which nvcc builds: for [`Target::Cuda`].
    Nvcc,
}

#[derive(Clone, Debug)]
pub struct Options {
    /// What the names of all exported functions start with.
    pub name: String,
    pub target: Target,
    pub exports: Vec<Export>,
    /// C functions that the header declares, besides those that are called.
    pub foreign: Vec<ForeignType>,
    pub accounting: Accounting,
    /// What the user has written for kernels.
    pub kernel_code: KernelCode,
}

/// Whether the file counts what it does to memory, for all of its contexts together: for measuring, not for use in other programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Accounting {
    #[default]
    Off,
    On,
}

/// The buffers of a procedure that take no memory of the heap where they have at most so many cells: C arrays.
pub fn stack_buffers(proc: &Proc) -> HashMap<Name, i64> {
    Uses::of(proc, Waiting::Native).on_the_stack()
}

/// A procedure that others may call.
#[derive(Clone, Debug)]
pub struct Export {
    pub proc: Name,
    /// What its functions are called, behind the name of all.
    pub name: Name,
    /// What it does, for the header; may be empty.
    pub doc: String,
    /// Parameters that are sizes of arrays, and so never negative.
    pub sizes: Vec<Name>,
}

impl Export {
    pub fn new(proc: Name) -> Export {
        Export {
            name: proc.clone(),
            proc,
            doc: String::new(),
            sizes: Vec::new(),
        }
    }

    /// An entry point, called as the user does.
    pub fn of_entry(entry: &Entry, program: &Program) -> Export {
        let typed: String = entry
            .params
            .iter()
            .map(|param| format!(" ({}: {})", param.name, param.ty))
            .collect();
        Export {
            proc: entry.proc.clone(),
            name: entry.name.clone(),
            doc: format!("{}{typed}: {}", entry.name, entry.result_type),
            sizes: program
                .proc(&entry.proc)
                .map_or(Vec::new(), |proc| entry.sizes(proc)),
        }
    }
}

/// The emitted files, and what a program that loads them needs to know.
#[derive(Clone, Debug)]
pub struct CSource {
    /// The header's file name, which the source includes it by.
    pub header_name: String,
    pub header: String,
    pub source: String,
    /// The source of the kernels, which stands in the source as well; empty where there are none.
    pub kernels: String,
    pub interface: Interface,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Interface {
    /// What the names of all exported functions start with.
    pub name: String,
    pub procs: Vec<Exported>,
    /// C functions that must be linked, and where one is called.
    pub foreign: Vec<(Name, Span)>,
    /// Where calls can fail; the first has the number 1.
    pub sites: Vec<FailureSite>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Exported {
    pub proc: Name,
    pub doc: String,
    /// The function with C's own arguments.
    pub symbol: String,
    /// The function that takes pointers to them.
    pub call_symbol: String,
    pub params: Vec<Param>,
}

/// Whether a procedure has blocks of its own, or makes some for its caller.
fn holds_blocks(proc: &Proc) -> bool {
    let owned = proc.params.iter().any(|param| param.passing == Passing::Owned);
    owned || proc.body.iter().any(|stmt| matches!(stmt, Stmt::Buffer { .. }))
}

/// Prints a program. Only what the exported procedures reach is printed.
pub fn emit_c(checked: &Checked, sources: &SourceMap, options: &Options) -> Result<CSource, Box<Diagnostic>> {
    emit(checked, sources, options, Form::C)
}

/// Prints a program for nvcc.
pub fn emit_nvcc(
    checked: &Checked,
    sources: &SourceMap,
    options: &Options,
) -> Result<CSource, Box<Diagnostic>> {
    emit(checked, sources, options, Form::Nvcc)
}

fn emit(
    checked: &Checked,
    sources: &SourceMap,
    options: &Options,
    form: Form,
) -> Result<CSource, Box<Diagnostic>> {
    let program = checked.program();
    let name = sanitise(&options.name);
    let mut scope = match options.target.has_device() {
        true => Scope::file_with_kernels(form),
        false => Scope::file(),
    };
    let wanted = options.exports.iter().map(|export| &export.proc);
    let procs = reachable(&program.procs, wanted);
    let groups = Groups::of(procs.iter().copied());
    let uses = |proc: &Proc| match groups.is_recursive(&proc.name) {
        true => Uses::of(proc, Waiting::Frame),
        false => Uses::of(proc, Waiting::Native),
    };
    let procs: Vec<(&Proc, Uses)> = procs.into_iter().map(|proc| (proc, uses(proc))).collect();
    let foreign = foreign::functions(procs.iter().map(|(proc, _)| *proc));
    foreign::take_names(&foreign, &mut scope)?;
    let mut declared = foreign.clone();
    for function in &options.foreign {
        declared
            .entry(function.name.clone())
            .or_insert((function, Span::NONE));
    }
    let exports = exports(&program.procs, options, &name, &mut scope)?;
    let bodies: Vec<&Proc> = procs.iter().map(|(proc, _)| *proc).collect();
    let traits = traits(&procs, &groups);
    let callees = callees(&procs, &traits, &groups, &exports, options.target, &mut scope);
    let stores = stores::stores(program, &procs, &mut scope);
    let columns = stores::columns(&stores);
    let unit = Unit {
        target: options.target,
        accounting: options.accounting,
        sources,
        context: format!("struct {name}_ctx"),
        callees,
        traits,
        groups,
        columns,
        stores: stores
            .into_iter()
            .map(|store| (store.name.clone(), store))
            .collect(),
        has_kernels: bodies.iter().any(|proc| has_kernel(&proc.body)),
        behind_failures: device::behind_failures(&bodies),
        scope,
    };
    let sizes = options
        .exports
        .iter()
        .map(|export| (&export.proc, &*export.sizes));
    let mut naturals = Naturals::of(sizes, &bodies);
    let (mut helpers, mut sites) = (Helpers::default(), Sites::default());
    let mut kernels = Kernels::new(&options.kernel_code, &bodies);
    let mut printed: Vec<Option<Printed>> = procs.iter().map(|_| None).collect();
    let mut allocates = false;
    // Callers come first: what they pass tells what is known of parameters.
    for at in callers_first(&bodies) {
        let (Some((proc, uses)), Some(place)) = (procs.get(at), printed.get_mut(at)) else {
            continue;
        };
        let mut emitter = Emitter::new(&unit, &mut helpers, &mut sites, &mut kernels, uses, proc);
        *place = Some(emitter.proc(proc, &mut naturals)?);
        allocates |= emitter.allocates;
    }
    let early = called_early(&procs, &unit);
    let outside = called_from_outside(&procs, &unit);
    let mut parts = Parts::default();
    for one in printed.into_iter().flatten() {
        parts.add(one, &outside);
    }
    if form == Form::Nvcc {
        parts = for_nvcc(parts, &kernels)?;
    }
    let header = header::header(&name, options.target, &exports, &foreign::prototypes(&declared));
    let runtime = runtime::Runtime {
        name: &name,
        target: options.target,
        form,
        accounting: options.accounting,
        sites: sites.all(),
        sources,
        // Whoever uses the file may want arrays on the device.
        allocates: allocates || options.target.has_device(),
        releases: bodies.iter().any(|proc| holds_blocks(proc)),
        recursion: match parts.frames.is_empty() {
            true => Recursion::Absent,
            false => Recursion::Present,
        },
        waits: helpers.needs(Helper::Pause),
        vectors: helpers
            .all()
            .any(|helper| matches!(helper, Helper::Pack(_) | Helper::CopyOut | Helper::CopiedOut)),
        stores: !unit.stores.is_empty(),
        kernels: (!kernels.is_empty()).then_some(&kernels),
        kernels_fail: device::kernels_fail(&bodies),
    };
    let mut store_texts = stores::texts(&unit, &helpers, options.target);
    let rows = kernels.columns.text(options.target, form, unit.stores.values());
    store_texts.extend(rows.map(|text| text.replace("NAME", &name)));
    let runtime_kernels = runtime.kernel_source();
    let source = source(&runtime, &store_texts, &helpers, &parts, &early, &exports);
    Ok(CSource {
        header_name: format!("{name}.h"),
        header,
        source,
        kernels: runtime_kernels,
        interface: Interface {
            name,
            procs: exports,
            foreign: foreign
                .into_iter()
                .map(|(name, (_, span))| (name, span))
                .collect(),
            sites: sites.into_all(),
        },
    })
}

/// The functions in C++; an error where they use what has no such form.
fn for_nvcc(parts: Parts, kernels: &Kernels) -> Result<Parts, Box<Diagnostic>> {
    let what = match (parts.frames.is_empty(), kernels.has_foreign()) {
        (true, false) => {
            let functions = parts.functions.into_iter().map(nvcc::function).collect();
            return Ok(Parts { functions, ..parts });
        }
        (false, _) => "recursion on the host",
        (_, true) => "functions of yours in kernels",
    };
    let message = format!("a program with {what} has no form for nvcc");
    let help = "build the C of `--backend cuda`, which has the same interface: any C compiler will do";
    Err(Box::new(
        Diagnostic::error(BAD_OPTION, Span::NONE, message).help(help),
    ))
}

fn exports(
    procs: &[Proc],
    options: &Options,
    name: &str,
    scope: &mut Scope,
) -> Result<Vec<Exported>, Box<Diagnostic>> {
    for taken in runtime::FUNCTIONS {
        scope.fresh(&format!("{name}_{taken}"));
    }
    let by_name: HashMap<&Name, &Proc> = procs.iter().map(|proc| (&proc.name, proc)).collect();
    let mut result = Vec::new();
    for export in &options.exports {
        let Export {
            proc,
            name: called,
            doc,
            ..
        } = export;
        let Some(found) = by_name.get(proc) else {
            let what = format!("there is no procedure `{proc}` to export");
            return Err(Box::new(compiler_bug(Span::NONE, what)));
        };
        result.push(Exported {
            proc: proc.clone(),
            doc: doc.clone(),
            symbol: scope.fresh(&format!("{name}_{called}")),
            call_symbol: scope.fresh(&format!("{name}_call_{called}")),
            params: found.params.clone(),
        });
    }
    Ok(result)
}

fn callees(
    procs: &[(&Proc, Uses)],
    traits: &HashMap<Name, analysis::Traits>,
    groups: &Groups,
    exports: &[Exported],
    target: Target,
    scope: &mut Scope,
) -> HashMap<Name, Callee> {
    let exported: HashMap<&Name, &Exported> = exports
        .iter()
        .map(|exported| (&exported.proc, exported))
        .collect();
    let one = |(proc, _): &(&Proc, Uses)| {
        let found = traits.get(&proc.name).copied().unwrap_or_default();
        let export = exported.get(&proc.name);
        let c_name = export.map_or_else(
            || scope.fresh_function(&proc.name),
            |exported| exported.symbol.clone(),
        );
        let callee = Callee {
            resumed: groups
                .is_recursive(&proc.name)
                .then(|| Resumed::new(proc, &c_name, scope)),
            c_name,
            exported: export.is_some(),
            takes_context: export.is_some()
                || found.fails
                || found.stores
                || target.has_device()
                || (found.parallel && target == Target::OpenMp),
            fails: found.fails,
        };
        (proc.name.clone(), callee)
    };
    procs.iter().map(one).collect()
}

/// The functions that are called before they are defined.
fn called_early(procs: &[(&Proc, Uses)], unit: &Unit<'_>) -> HashSet<String> {
    let mut defined: HashSet<&Name> = HashSet::new();
    let mut early = HashSet::new();
    for (proc, _) in procs {
        defined.insert(&proc.name);
        let mut called = Vec::new();
        calls(&proc.body, &mut called);
        for name in called.into_iter().filter(|name| !defined.contains(name)) {
            let Some(callee) = unit.callees.get(name) else {
                continue;
            };
            early.insert(match &callee.resumed {
                Some(resumed) if unit.groups.are_together(&proc.name, name) => resumed.run.clone(),
                _ => callee.c_name.clone(),
            });
        }
    }
    early
}

/// The functions of procedures that more than their own group calls.
fn called_from_outside(procs: &[(&Proc, Uses)], unit: &Unit<'_>) -> HashSet<String> {
    let mut found = HashSet::new();
    for (proc, _) in procs {
        let mut called = Vec::new();
        calls(&proc.body, &mut called);
        let outside = called
            .into_iter()
            .filter(|name| !unit.groups.are_together(&proc.name, name));
        found.extend(outside.filter_map(|name| Some(unit.callees.get(name)?.c_name.clone())));
    }
    found
}

/// What the procedures of a file become.
#[derive(Default)]
struct Parts {
    /// Definitions of frames.
    frames: Vec<String>,
    functions: Vec<CFunction>,
}

impl Parts {
    fn add(&mut self, printed: Printed, called_from_outside: &HashSet<String>) {
        match printed {
            Printed::Plain(function) => self.functions.push(function),
            Printed::Recursive(recursive) => {
                self.frames.push(recursive.frame);
                self.functions.push(recursive.run);
                let driver = recursive.driver;
                if driver.linkage == Linkage::External || called_from_outside.contains(&driver.name) {
                    self.functions.push(driver);
                }
            }
        }
    }
}

/// Includes, context, helpers, prototypes, functions.
fn source(
    runtime: &runtime::Runtime<'_>,
    stores: &[String],
    helpers: &Helpers,
    own: &Parts,
    early: &HashSet<String>,
    exports: &[Exported],
) -> String {
    let mut parts = vec![runtime.includes(), runtime.context()];
    parts.extend(runtime.device());
    parts.extend(runtime.memory());
    parts.extend(runtime.arrays());
    if runtime.form == Form::Nvcc {
        parts.push(nvcc::ALLOCATE.to_owned());
    }
    parts.extend(runtime.failure());
    parts.extend(runtime.stack());
    parts.extend(stores.iter().cloned());
    parts.extend(
        helpers
            .texts()
            .map(|text| text.replace("CONTEXT", &format!("{}_ctx", runtime.name))),
    );
    parts.extend(own.frames.iter().cloned());
    let prototypes: String = own
        .functions
        .iter()
        .filter(|function| function.linkage == Linkage::Static && early.contains(&function.name))
        .map(|function| {
            let signature = print::signature(&function.result, &function.name, &function.params);
            format!("static {signature};\n")
        })
        .collect();
    if !prototypes.is_empty() {
        parts.push(prototypes);
    }
    parts.extend(own.functions.iter().map(print::function));
    parts.extend(
        exports
            .iter()
            .map(|exported| header::call_function(runtime.name, exported)),
    );
    parts.join("\n")
}
