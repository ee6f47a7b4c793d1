//! Imp for a host with a device: which statements run where.
//!
//! ```text
//! alloc tmp[n]                            alloc tmp[n]
//! par for i < n { … tmp[i] = … }          kernel main_1 { par for i < n { … tmp[i] = … } }
//! var acc: f32 = 0.0f32           ~~>     var acc: f32 = 0.0f32
//! for j < n { acc = acc + tmp[j] }        kernel main_2 { for j < n { acc = acc + tmp[j] } }
//! free tmp                                free tmp
//! ```
//!
//! - A parallel loop is a kernel, its iterations are work-items.
//! - Loops for work-items that are all that a parallel loop does are one with it ([`grids`]).
//! - Two dimensions are shared in tiles, through local memory where that saves reads ([`tiles`]).
//! - Where an iteration has little to do, a work-item has several ([`strips`]).
//! - A parallel loop with loops for the work-items of a group in it is a kernel of groups ([`groups`]).
//! - What is not parallel but works on arrays is a kernel of one work-item, so that the arrays stay where they are; the scalars that
//!   come out of it are read back, all in one piece ([`tasks`]).
//! - Loops and branches with kernels in them, and memory, are the host's ([`split`]).
//! - What a kernel cannot do ([`why`]) the host does, on cells that it fetches. Procedures without parallel loops are of that kind.
//! - Procedures that a parallel loop calls become part of its kernel ([`inline`]); C functions are called there where the user has a
//!   version for kernels ([`foreign`]).
//! - Iterations that wait for earlier ones do so in phases ([`chains`]).
//! - Memory of an iteration that is large, or whose size is not known to the compiler, is allocated for all iterations before the
//!   kernel, cells of neighbours side by side ([`expand`]; DPIA, section 6.4), as many for each as the one with the most needs
//!   ([`varying`]).
//!
//! Removes: nothing. Introduces: `kernel`, `fetch`, `attach`. Guarantees: rules IMP-21 to IMP-23, and the interpreter's that the host
//! uses no cell that only the device has.

mod chains;
mod expand;
mod extents;
mod fills;
mod foreign;
mod fresh;
mod grids;
mod groups;
mod inline;
mod inside;
mod local;
mod rounds;
mod rows;
mod split;
mod strips;
mod substitute;
mod tasks;
mod tiles;
mod together;
mod varying;
mod why;

use almach_base::{Diagnostic, Name, Span, compiler_bug};
use almach_imp::interface::Entry;
use almach_imp::naturals::calls;
use almach_imp::touch::has_kernel;
use almach_imp::{
    Access, Checked, Groups, Index, Param, Passing, Proc, Program, Stmt, Touched, Transfer, Writing, check,
    is_column,
};
use split::Splitter;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

pub use foreign::Refusal;
pub use why::Why;

/// A program for a host and a device, and what was decided.
#[derive(Clone, Debug)]
pub struct Placed {
    pub imp: Checked,
    pub placements: Vec<Placement>,
}

/// Where a parallel loop, or a piece of work on arrays, runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Placement {
    pub span: Span,
    pub place: Place,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Place {
    /// As many work-items as iterations.
    WorkItems {
        kernel: Name,
    },
    /// A work-item for a few iterations.
    Strips {
        kernel: Name,
    },
    /// Groups of work-items that have a tile of the iterations of two loops each.
    Tiles {
        kernel: Name,
    },
    /// As many groups of work-items as iterations.
    Groups {
        kernel: Name,
    },
    /// One work-item.
    Alone {
        kernel: Name,
    },
    Host(Why),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::WorkItems { kernel } => write!(f, "the kernel `{kernel}`, a work-item for each iteration"),
            Place::Strips { kernel } => {
                write!(f, "the kernel `{kernel}`, a work-item for every four iterations")
            }
            Place::Tiles { kernel } => write!(
                f,
                "the kernel `{kernel}`, a group of work-items for each tile of rows and columns"
            ),
            Place::Groups { kernel } => write!(
                f,
                "the kernel `{kernel}`, a group of work-items for each iteration"
            ),
            Place::Alone { kernel } => write!(f, "the kernel `{kernel}`, one work-item"),
            Place::Host(why) => write!(f, "the host does it, not a kernel: {why}"),
        }
    }
}

/// What is known of all procedures.
pub(crate) struct Unit<'a> {
    /// Procedures that have parallel loops, or call some that have: they run on the host and start kernels.
    control: HashSet<&'a Name>,
    /// What a procedure is called that starts no kernels, though it could.
    on_host: HashMap<Name, Name>,
    params: HashMap<&'a Name, &'a [Param]>,
    groups: Groups,
    procs: HashMap<&'a Name, &'a Proc>,
    /// C functions that kernels have a version of.
    functions: &'a HashSet<Name>,
    /// What procedures do to columns, and those that they call.
    columns: HashMap<&'a Name, BTreeMap<Name, Access>>,
    /// The columns that more than the row's maker may write.
    settled: HashSet<&'a Name>,
    /// The names of new rows in the procedure that is looked at.
    rows: RefCell<HashSet<Name>>,
}

impl Unit<'_> {
    /// What a statement uses, the columns that procedures use for it included.
    fn touched(&self, stmt: &Stmt) -> Touched {
        let mut touched = Touched::of([stmt]);
        let mut called = Vec::new();
        calls(std::slice::from_ref(stmt), &mut called);
        let columns = called.into_iter().filter_map(|name| self.columns.get(name));
        for (column, access) in columns.flatten() {
            let known = touched.cells.entry(column.clone()).or_insert(*access);
            *known = (*known).max(*access);
        }
        touched
    }

    /// Whether a row was reserved by the procedure itself, so that nobody else knows it yet.
    fn is_own_row(&self, row: &Index) -> bool {
        row.free_vars().any(|var| self.rows.borrow().contains(var))
    }

    fn note_rows(&self, stmts: &[Stmt]) {
        rows::reserved(stmts, &mut *self.rows.borrow_mut());
    }
}

/// What procedures do to columns, by themselves and through others.
fn columns(procs: &[Proc]) -> HashMap<&Name, BTreeMap<Name, Access>> {
    let own = |proc: &Proc| {
        let cells = Touched::of(&proc.body).cells.into_iter();
        cells.filter(|(name, _)| is_column(name)).collect()
    };
    let mut found: HashMap<&Name, BTreeMap<Name, Access>> =
        procs.iter().map(|proc| (&proc.name, own(proc))).collect();
    loop {
        let mut changed = false;
        for proc in procs {
            let mut called = Vec::new();
            calls(&proc.body, &mut called);
            let theirs: Vec<(Name, Access)> = called
                .into_iter()
                .filter_map(|name| found.get(name))
                .flatten()
                .map(|(column, access)| (column.clone(), *access))
                .collect();
            let mine = found.entry(&proc.name).or_default();
            for (column, access) in theirs {
                let before = mine.get(&column).copied();
                if before < Some(access) {
                    mine.insert(column, access);
                    changed = true;
                }
            }
        }
        if !changed {
            return found;
        }
    }
}

/// Decides what runs where. Kernels may call these C functions.
pub fn place(imp: &Checked, entries: &[Entry], functions: &HashSet<Name>) -> Result<Placed, Vec<Diagnostic>> {
    let program = imp.program();
    let too_large = local::too_large(&program.procs);
    if !too_large.is_empty() {
        return Err(too_large);
    }
    let groups = Groups::of(program.procs.iter());
    let control = control(&program.procs, &groups);
    let taken: HashSet<&Name> = program.procs.iter().map(|proc| &proc.name).collect();
    let unit = Unit {
        on_host: control
            .iter()
            .map(|name| ((*name).clone(), on_host_name(name, &taken)))
            .collect(),
        control,
        params: program
            .procs
            .iter()
            .map(|proc| (&proc.name, proc.params.as_slice()))
            .collect(),
        groups,
        procs: program.procs.iter().map(|proc| (&proc.name, proc)).collect(),
        functions,
        columns: columns(&program.procs),
        settled: program
            .columns()
            .filter(|column| column.writing == Writing::Settled)
            .map(|column| &column.name)
            .collect(),
        rows: RefCell::default(),
    };
    let mut placements = Vec::new();
    let mut procs = Vec::new();
    for proc in &program.procs {
        if unit.control.contains(&proc.name) {
            let entry = entries.iter().find(|entry| entry.proc == proc.name);
            procs.push(controlled(proc, entry, &unit, &mut placements));
        } else {
            procs.push(without_kernels(proc, &proc.name, &unit));
        }
    }
    if !procs.iter().any(|proc| has_kernel(&proc.body)) {
        return Ok(Placed {
            imp: imp.clone(),
            placements,
        });
    }
    let copies = copies_called(&procs, program, &unit);
    procs.extend(copies);
    let placed = Program {
        stores: program.stores.clone(),
        procs,
    };
    match check(placed) {
        Ok(imp) => Ok(Placed { imp, placements }),
        Err(error) => Err(vec![compiler_bug(error.span, format!("kernels: {error}"))]),
    }
}

/// The procedures with parallel loops, and those that call them. What calls itself runs on the host.
fn control<'a>(procs: &'a [Proc], groups: &Groups) -> HashSet<&'a Name> {
    let mut found: HashSet<&Name> = procs
        .iter()
        .filter(|proc| why::has_threads(&proc.body) && !groups.is_recursive(&proc.name))
        .map(|proc| &proc.name)
        .collect();
    loop {
        let before = found.len();
        for proc in procs {
            let mut called = Vec::new();
            calls(&proc.body, &mut called);
            if called.iter().any(|name| found.contains(name)) && !groups.is_recursive(&proc.name) {
                found.insert(&proc.name);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

fn on_host_name(name: &Name, taken: &HashSet<&Name>) -> Name {
    let mut found = Name::from(format!("{name}_on_host"));
    while taken.contains(&found) {
        found = Name::from(format!("{found}_2"));
    }
    found
}

fn controlled(proc: &Proc, entry: Option<&Entry>, unit: &Unit<'_>, placements: &mut Vec<Placement>) -> Proc {
    let mut splitter = Splitter::new(proc, unit);
    let mut body = Vec::new();
    if let Some(entry) = entry {
        let extents = extents::extents(entry, proc);
        let attach = |(buffer, size)| Stmt::Transfer(Transfer::Attach { buffer, size });
        body.extend(extents.into_iter().map(attach));
    }
    body.extend(splitter.block(proc.body.clone()));
    if entry.is_some() {
        let results = proc.params.iter().filter(|param| param.passing == Passing::Owned);
        body.extend(results.map(|param| {
            Stmt::Transfer(Transfer::Fetch {
                buffer: param.name.clone(),
                access: Access::Read,
            })
        }));
    }
    placements.append(&mut splitter.placements);
    Proc { body, ..proc.clone() }
}

/// A procedure that calls only procedures without kernels.
fn without_kernels(proc: &Proc, name: &Name, unit: &Unit<'_>) -> Proc {
    let mut copy = proc.clone();
    copy.name = name.clone();
    call_on_host(&mut copy.body, unit);
    copy
}

/// Calls what starts no kernels.
pub(crate) fn call_on_host(stmts: &mut [Stmt], unit: &Unit<'_>) {
    for stmt in stmts {
        if let Stmt::Call { proc, .. } = stmt
            && let Some(copy) = unit.on_host.get(proc)
        {
            *proc = copy.clone();
        }
        for block in stmt.blocks_mut() {
            call_on_host(block, unit);
        }
    }
}

/// The copies without kernels that are called.
fn copies_called(procs: &[Proc], program: &Program, unit: &Unit<'_>) -> Vec<Proc> {
    let originals: HashMap<&Name, &Name> = unit.on_host.iter().map(|(name, copy)| (copy, name)).collect();
    let mut wanted: Vec<Name> = Vec::new();
    let mut found: Vec<Proc> = Vec::new();
    let ask = |proc: &Proc, wanted: &mut Vec<Name>| {
        let mut called = Vec::new();
        calls(&proc.body, &mut called);
        wanted.extend(called.into_iter().cloned());
    };
    procs.iter().for_each(|proc| ask(proc, &mut wanted));
    while let Some(name) = wanted.pop() {
        if found.iter().any(|proc| proc.name == name) {
            continue;
        }
        let original = originals.get(&name).and_then(|original| program.proc(original));
        if let Some(original) = original {
            let copy = without_kernels(original, &name, unit);
            ask(&copy, &mut wanted);
            found.push(copy);
        }
    }
    found
}
