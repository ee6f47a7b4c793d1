//! Which kernels ask whether an earlier one of the same call has failed: those behind one that can fail. The others need not look into
//! the mailbox, which is far away.

use almach_base::Name;
use almach_imp::naturals::calls;
use almach_imp::{Proc, Stmt};
use std::collections::HashSet;

/// The names of the kernels behind one that can fail.
pub fn behind_failures(procs: &[&Proc]) -> HashSet<Name> {
    let fallible = fallible(procs);
    let mut walk = Walk {
        fallible: &fallible,
        found: HashSet::new(),
        called_late: HashSet::new(),
    };
    loop {
        let known = walk.called_late.len();
        for proc in procs {
            let late = walk.called_late.contains(&proc.name);
            walk.block(&proc.body, late);
        }
        if walk.called_late.len() == known {
            return walk.found;
        }
    }
}

/// Whether some kernel can fail.
pub fn kernels_fail(procs: &[&Proc]) -> bool {
    procs.iter().any(|proc| has_failing_kernel(&proc.body))
}

/// Procedures with kernels that can fail, and those that call them.
fn fallible<'a>(procs: &[&'a Proc]) -> HashSet<&'a Name> {
    let own = procs.iter().filter(|proc| has_failing_kernel(&proc.body));
    let mut found: HashSet<&Name> = own.map(|proc| &proc.name).collect();
    loop {
        let before = found.len();
        for proc in procs {
            let mut called = Vec::new();
            calls(&proc.body, &mut called);
            if called.iter().any(|name| found.contains(name)) {
                found.insert(&proc.name);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

fn has_failing_kernel(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::Kernel { body, .. } => has_check(body),
        _ => stmt.blocks().into_iter().any(|block| has_failing_kernel(block)),
    })
}

fn has_check(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| {
        matches!(stmt, Stmt::Check { .. }) || stmt.blocks().into_iter().any(|block| has_check(block))
    })
}

struct Walk<'a> {
    fallible: &'a HashSet<&'a Name>,
    found: HashSet<Name>,
    /// Procedures that are called where something may have failed.
    called_late: HashSet<Name>,
}

impl Walk<'_> {
    /// Whether something may have failed behind a block, given whether it may have before.
    fn block(&mut self, stmts: &[Stmt], mut failed: bool) -> bool {
        for stmt in stmts {
            failed = self.stmt(stmt, failed);
        }
        failed
    }

    fn stmt(&mut self, stmt: &Stmt, failed: bool) -> bool {
        match stmt {
            Stmt::Kernel { name, body } => {
                if failed {
                    self.found.insert(name.clone());
                }
                failed || has_check(body)
            }
            Stmt::Call { proc, .. } => {
                if failed {
                    self.called_late.insert(proc.clone());
                }
                failed || self.fallible.contains(proc)
            }
            Stmt::For { body, .. } | Stmt::While { body, .. } => {
                let again = failed || self.may_fail(body);
                self.block(body, again) || failed
            }
            _ => {
                let blocks = stmt.blocks();
                let ends: Vec<bool> = blocks
                    .into_iter()
                    .map(|block| self.block(block, failed))
                    .collect();
                failed || ends.contains(&true)
            }
        }
    }

    fn may_fail(&self, stmts: &[Stmt]) -> bool {
        let mut called = Vec::new();
        calls(stmts, &mut called);
        has_failing_kernel(stmts) || called.into_iter().any(|name| self.fallible.contains(name))
    }
}
