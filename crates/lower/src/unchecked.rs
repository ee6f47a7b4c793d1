//! Imp without its run-time checks, for those who said `--unchecked`.
//!
//! ```text
//! check (i >= 0i64) & (i < n) else E0801(…)
//! out = xs[i]                                   ~~>   out = xs[i]
//! ```
//!
//! Removes: every `check` that is left, and what only checks read. Introduces: nothing. Guarantees: the same results where
//! no check would have failed; nothing at all where one would have. Running out of memory and recursion that is too deep
//! are no checks and stay errors.

use crate::error::bug_diagnostic;
use crate::{Lowered, tidy};
use almach_base::Diagnostic;
use almach_imp::Stmt;

/// The program without its checks, and how many there were.
pub fn without_checks(lowered: Lowered) -> Result<(Lowered, usize), Vec<Diagnostic>> {
    let (imp, count) = unchecked(&lowered.imp)?;
    let for_devices = lowered.for_devices.as_ref().map(unchecked).transpose()?;
    let for_devices = for_devices.map(|(imp, _)| imp);
    Ok((
        Lowered {
            imp,
            for_devices,
            ..lowered
        },
        count,
    ))
}

fn unchecked(imp: &almach_imp::Checked) -> Result<(almach_imp::Checked, usize), Vec<Diagnostic>> {
    let mut program = imp.program().clone();
    let mut count = 0;
    for proc in &mut program.procs {
        remove(&mut proc.body, &mut count);
        tidy::tidy(proc);
    }
    let imp = almach_imp::check(program)
        .map_err(|error| vec![bug_diagnostic(format!("without checks: {error}"), error.span)])?;
    Ok((imp, count))
}

fn remove(stmts: &mut Vec<Stmt>, count: &mut usize) {
    let before = stmts.len();
    stmts.retain(|stmt| !matches!(stmt, Stmt::Check { .. }));
    *count += before - stmts.len();
    for block in stmts.iter_mut().flat_map(almach_imp::Stmt::blocks_mut) {
        remove(block, count);
    }
}
