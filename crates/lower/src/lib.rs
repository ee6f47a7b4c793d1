//! From Core to Imp, through Dpia: acceptor- and continuation-passing translation (stage I), loops (stage II), index
//! arithmetic (stage III). Every stage's result passes its checker before the next one starts; what breaks a rule there
//! is a bug of the compiler and reported as one.

mod agreed_sizes;
mod borrow;
mod buffers;
mod cells;
mod constant_tables;
mod crossing;
mod edges;
mod error;
mod facts;
mod forward;
mod hand_over;
mod in_place;
mod in_turn;
mod looked;
mod memory;
mod moves;
mod names_once;
mod near_use;
mod proofs;
mod rename;
mod rotations;
mod rounds;
mod scalars;
mod slots;
mod stage1;
mod stage2;
mod stage3;
mod streams;
mod tabulate;
mod take_over;
mod tidy;
mod turns;
mod unchecked;
mod whole_copies;
mod widths;

use almach_base::{Diagnostic, Name, Span};
use almach_core::visit::{Substitution, Walk, walk_function, walk_function_mut};
use almach_core::{Atom, ForeignId, Program, Var};
use almach_imp::Stmt;
use almach_imp::interface::Entry;
use almach_value::{ForeignType, ScalarType};
use error::{Lowering, bug, bug_diagnostic};
use std::collections::{HashMap, HashSet};

pub use unchecked::without_checks;

/// Entry points at every stage.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// After stage I.
    pub dpia: almach_dpia::Checked,
    /// After stage II.
    pub loops: almach_dpia::Checked,
    /// After stage III.
    pub imp: almach_imp::Checked,
    /// The same for devices, where that is another one.
    for_devices: Option<almach_imp::Checked>,
    /// How values are passed to the procedures of the entries, in the order they were asked for.
    pub entries: Vec<Entry>,
    /// What each of them calls.
    pub border: Vec<Border>,
    /// The C functions that the program declares, also those that it does not call.
    pub foreign: Vec<ForeignType>,
}

impl Lowered {
    /// Imp for devices: without borrowed buffers, since their memory knows blocks and not parts of blocks under other names, and without rounds,
    /// each of which would be a kernel.
    pub fn for_devices(&self) -> &almach_imp::Checked {
        self.for_devices.as_ref().unwrap_or(&self.imp)
    }
}

/// The function of an entry, or the one around it where its values cross in another form, and its procedure in Dpia.
#[derive(Clone, Debug)]
pub struct Border {
    pub function: almach_core::Function,
    pub proc: Name,
}

/// Lowers entry points and all that they call.
pub fn lower(program: &Program, entries: &[&str]) -> Result<Lowered, Vec<Diagnostic>> {
    lower_entries(program, entries).map_err(|diagnostic| vec![*diagnostic])
}

/// Core tells variables apart by number, and a use may spell the name otherwise than the binder; from here on names are
/// what tells them apart.
fn with_binders_names(program: &Program) -> Program {
    let mut program = program.clone();
    let mut binders = Binders(HashMap::new());
    for function in &program.functions {
        walk_function(&mut binders, function);
    }
    let mut spelling = Substitution::new();
    for var in binders.0.into_values() {
        spelling.insert(var.clone(), Atom::Var(var));
    }
    for function in &mut program.functions {
        walk_function_mut(&mut spelling, function);
    }
    program
}

struct Binders(HashMap<u32, Var>);

impl Walk for Binders {
    fn binder(&mut self, var: &Var) {
        self.0.insert(var.id, var.clone());
    }
}

fn lower_entries(program: &Program, names: &[&str]) -> Lowering<Lowered> {
    let mut groups = Vec::new();
    let (program, crossings) = crossing::cross_entries(program, names, &mut groups)?;
    let program = crossing::cross_outside(program, &mut groups)?;
    let program = &with_binders_names(&program);
    let mut entries = Vec::new();
    for name in names {
        match program.entries.iter().find(|entry| &*entry.name == *name) {
            Some(entry) => entries.push(entry),
            None => return bug(format!("there is no entry `{name}`"), Span::NONE),
        }
    }
    let functions: Vec<_> = entries.iter().map(|entry| entry.function).collect();
    let all_cells = cells::AllCells::new(program, &groups);
    let (mut stage1, proc_names) = stage1::translate(program, &functions, &all_cells)?;
    names_once::names_once(&mut stage1);
    let dpia = check_dpia(stage1, "stage I")?;
    let mut stage2 = stage2::to_loops(dpia.program());
    names_once::names_once(&mut stage2);
    let loops = check_dpia(stage2, "stage II")?;
    let mut procs = stage3::to_imp(loops.program())?;
    let mut interfaces = Vec::new();
    let mut border = Vec::new();
    for entry in entries {
        let Some(callee) = proc_names.get(&entry.function) else {
            return bug("an entry without a procedure", entry.span);
        };
        let (wrapper, mut interface) = stage3::entry::entry(program, entry, callee)?;
        if let Some(crossing) = crossings.get(&entry.name) {
            crossing.mark(program, &mut interface);
        }
        procs.push(wrapper);
        interfaces.push(interface);
        border.extend(
            program
                .functions
                .get(entry.function.0 as usize)
                .map(|function| Border {
                    function: function.clone(),
                    proc: callee.clone(),
                }),
        );
    }
    in_turn::in_turn(&mut procs);
    let stores = with_stores(&all_cells, &mut procs, &interfaces)?;
    procs.iter_mut().for_each(constant_tables::constant_tables);
    proofs::simplify(&mut procs, &interfaces);
    procs.iter_mut().for_each(agreed_sizes::agreed_sizes);
    let mut again = edges::Proofs::AsBefore;
    for proc in &mut procs {
        tidy::tidy(proc);
        in_place::in_place(proc);
        // What was copied from and to may be of no use now.
        tidy::tidy(proc);
        rotations::rotations(proc);
        forward::forward(proc);
        if edges::edges(proc) == edges::Proofs::Again {
            again = edges::Proofs::Again;
        }
    }
    if again == edges::Proofs::Again {
        proofs::simplify(&mut procs, &interfaces);
    }
    for proc in &mut procs {
        turns::turns(proc);
        scalars::scalars(proc);
    }
    hand_over::hand_over(&mut procs);
    whole_copies::whole_copies(&mut procs);
    let mut for_threads = procs.clone();
    borrow::borrow(&mut for_threads);
    take_over::take_over(&mut for_threads);
    for_threads.iter_mut().for_each(rounds::rounds);
    let for_devices = (for_threads != procs)
        .then(|| finished(&stores, procs))
        .transpose()?;
    let imp = finished(&stores, for_threads)?;
    Ok(Lowered {
        dpia,
        loops,
        imp,
        for_devices,
        entries: interfaces,
        border,
        foreign: (0..)
            .zip(&program.foreign)
            .filter(|(at, _)| all_cells.cast(ForeignId(*at)).is_none())
            .filter_map(|(_, def)| stage1::outside::foreign_type(program, def).ok())
            .collect(),
    })
}

/// The last steps, which look at one procedure alone.
fn finished(stores: &[almach_imp::Store], mut procs: Vec<almach_imp::Proc>) -> Lowering<almach_imp::Checked> {
    for proc in &mut procs {
        near_use::near_use(proc);
        widths::test_on_entry(proc);
        rename::rename(proc);
    }
    let stores = stores.to_vec();
    almach_imp::check(almach_imp::Program { stores, procs })
        .map_err(|error| Box::new(bug_diagnostic(format!("stage III: {error}"), error.span)))
}

/// The stores of a program, and the procedures they need.
fn with_stores(
    all_cells: &cells::AllCells<'_>,
    procs: &mut Vec<almach_imp::Proc>,
    entries: &[Entry],
) -> Lowering<Vec<almach_imp::Store>> {
    let mut called = Vec::new();
    for proc in procs.iter() {
        almach_imp::naturals::calls(&proc.body, &mut called);
    }
    // A table is made where a program asks for one; the program is what is known of it here.
    let span = entries.first().map_or(Span::NONE, |entry| entry.span);
    let mut tables = Vec::new();
    let mut stores = Vec::new();
    for cells in all_cells.all() {
        stores.extend(cells.imp_stores());
        let is_called = |name: Name| called.contains(&&name);
        let wanted = tabulate::Wanted {
            table_of: is_called(cells::table_of_name(cells.name())),
            reach_of: is_called(cells::reach_of_name(cells.name())),
            order_of: is_called(cells::order_of_name(cells.name())),
        };
        let own = cells.by_type.as_ref().unwrap_or(&cells);
        tables.extend(tabulate::tables(own, wanted, span)?);
        if is_called(cells::group_of_name(cells.name())) {
            tables.push(tabulate::group_of(&cells, span)?);
        }
        if is_called(cells::into_tables_name(cells.name())) {
            tables.push(tabulate::into_tables(&cells, span)?);
        }
    }
    for width in [ScalarType::I32, ScalarType::I64] {
        if called.contains(&&cells::order_in_name(width)) {
            tables.push(tabulate::order_in(width, span)?);
        }
    }
    procs.splice(0..0, tables);
    for entry in entries {
        let touched = touched_stores(procs, &entry.proc);
        let used = all_cells.all().into_iter();
        let used = used.filter(|cells| touched.contains(cells.name().as_str()));
        let constants: Vec<Stmt> = used.flat_map(|cells| cells.make_constants(entry.span)).collect();
        if let Some(proc) = procs.iter_mut().find(|proc| proc.name == entry.proc) {
            proc.body.splice(0..0, constants);
        }
    }
    Ok(stores)
}

/// The stores that a procedure, or what it calls, works on.
fn touched_stores(procs: &[almach_imp::Proc], from: &Name) -> HashSet<String> {
    let (mut open, mut seen, mut found) = (vec![from], HashSet::new(), HashSet::new());
    while let Some(name) = open.pop() {
        let Some(proc) = procs.iter().find(|proc| proc.name == *name) else {
            continue;
        };
        if !seen.insert(name) {
            continue;
        }
        almach_imp::naturals::calls(&proc.body, &mut open);
        let mut touched = tidy::Reads::default();
        proc.body
            .iter()
            .for_each(|stmt| tidy::touches(stmt, &mut touched));
        let columns = touched.names.iter().filter_map(|name| name.split_once('$'));
        found.extend(columns.map(|(store, _)| store.to_string()));
    }
    found
}

fn check_dpia(program: almach_dpia::Program, stage: &str) -> Lowering<almach_dpia::Checked> {
    almach_dpia::check_program(program)
        .map_err(|error| Box::new(bug_diagnostic(format!("{stage}: {error}"), error.span)))
}
