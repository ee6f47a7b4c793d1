//! From Core to Imp, through Dpia: acceptor- and continuation-passing translation (stage I), loops (stage II), index
//! arithmetic (stage III). Every stage's result passes its checker before the next one starts; what breaks a rule there
//! is a bug of the compiler and reported as one.

mod error;
mod facts;
mod in_place;
mod in_turn;
mod proofs;
mod rename;
mod stage1;
mod stage2;
mod stage3;
mod tidy;
mod unchecked;

use almach_base::{Diagnostic, Span};
use almach_core::visit::{Substitution, Walk, walk_function, walk_function_mut};
use almach_core::{Atom, Program, Var};
use almach_imp::interface::Entry;
use error::{Lowering, bug, bug_diagnostic};
use std::collections::HashMap;

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
    /// How values are passed to the procedures of the entries, in the order they were asked for.
    pub entries: Vec<Entry>,
}

pub use stage3::collectives::Chunks;

/// Lowers entry points and all that they call.
pub fn lower(program: &Program, entries: &[&str]) -> Result<Lowered, Vec<Diagnostic>> {
    lower_in_chunks(program, entries, Chunks::default())
}

/// As `lower`, with other chunks for the combinators that work in chunks.
pub fn lower_in_chunks(
    program: &Program,
    entries: &[&str],
    chunks: Chunks,
) -> Result<Lowered, Vec<Diagnostic>> {
    lower_entries(program, entries, chunks).map_err(|diagnostic| vec![*diagnostic])
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

fn lower_entries(program: &Program, names: &[&str], chunks: Chunks) -> Lowering<Lowered> {
    let program = &with_binders_names(program);
    let mut entries = Vec::new();
    for name in names {
        match program.entries.iter().find(|entry| &*entry.name == *name) {
            Some(entry) => entries.push(entry),
            None => return bug(format!("there is no entry `{name}`"), Span::NONE),
        }
    }
    let functions: Vec<_> = entries.iter().map(|entry| entry.function).collect();
    let (stage1, proc_names) = stage1::translate(program, &functions)?;
    let dpia = check_dpia(stage1, "stage I")?;
    let loops = check_dpia(stage2::to_loops(dpia.program()), "stage II")?;
    let mut procs = stage3::to_imp(loops.program(), chunks)?;
    let mut interfaces = Vec::new();
    for entry in entries {
        let Some(callee) = proc_names.get(&entry.function) else {
            return bug("an entry without a procedure", entry.span);
        };
        let (wrapper, interface) = stage3::entry::entry(program, entry, callee)?;
        procs.push(wrapper);
        interfaces.push(interface);
    }
    in_turn::in_turn(&mut procs);
    proofs::simplify(&mut procs, &interfaces);
    for proc in &mut procs {
        tidy::tidy(proc);
        in_place::in_place(proc);
        // What was copied from and to may be of no use now.
        tidy::tidy(proc);
        rename::rename(proc);
    }
    let imp = almach_imp::check(almach_imp::Program { procs })
        .map_err(|error| Box::new(bug_diagnostic(format!("stage III: {error}"), error.span)))?;
    Ok(Lowered {
        dpia,
        loops,
        imp,
        entries: interfaces,
    })
}

fn check_dpia(program: almach_dpia::Program, stage: &str) -> Lowering<almach_dpia::Checked> {
    almach_dpia::check_program(program)
        .map_err(|error| Box::new(bug_diagnostic(format!("{stage}: {error}"), error.span)))
}
