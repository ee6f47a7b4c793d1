//! From Core to Imp, through Dpia: acceptor- and continuation-passing translation (stage I), loops (stage II), index
//! arithmetic (stage III). Every stage's result passes its checker before the next one starts; what breaks a rule there
//! is a bug of the compiler and reported as one.

mod error;
mod facts;
mod stage1;
mod stage2;
mod stage3;

use almach_base::{Diagnostic, Span};
use almach_core::Program;
use almach_imp::interface::Entry;
use error::{Lowering, bug, bug_diagnostic};

/// An entry point at every stage.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// After stage I.
    pub dpia: almach_dpia::Checked,
    /// After stage II.
    pub loops: almach_dpia::Checked,
    /// After stage III.
    pub imp: almach_imp::Checked,
    /// How values are passed to the procedure of the entry.
    pub entry: Entry,
}

/// Lowers an entry point and all that it calls.
pub fn lower(program: &Program, entry: &str) -> Result<Lowered, Vec<Diagnostic>> {
    lower_entry(program, entry).map_err(|diagnostic| vec![*diagnostic])
}

fn lower_entry(program: &Program, name: &str) -> Lowering<Lowered> {
    let Some(entry) = program.entries.iter().find(|entry| &*entry.name == name) else {
        return bug(format!("there is no entry `{name}`"), Span::NONE);
    };
    let stage1 = stage1::translate(program, entry.function)?;
    // Stage I names the entry's own function last: callees come before callers.
    let Some(callee) = stage1.procs.last().map(|proc| proc.name.clone()) else {
        return bug("an entry without a procedure", entry.span);
    };
    let dpia = check_dpia(stage1, "stage I")?;
    let loops = check_dpia(stage2::to_loops(dpia.program()), "stage II")?;
    let mut procs = stage3::to_imp(loops.program())?;
    let (wrapper, interface) = stage3::entry::entry(program, entry, &callee)?;
    procs.push(wrapper);
    let imp = almach_imp::check(almach_imp::Program { procs })
        .map_err(|error| Box::new(bug_diagnostic(format!("stage III: {error}"), error.span)))?;
    Ok(Lowered {
        dpia,
        loops,
        imp,
        entry: interface,
    })
}

fn check_dpia(program: almach_dpia::Program, stage: &str) -> Lowering<almach_dpia::Checked> {
    almach_dpia::check_program(program)
        .map_err(|error| Box::new(bug_diagnostic(format!("{stage}: {error}"), error.span)))
}
