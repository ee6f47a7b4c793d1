//! Statements that one work-item runs, gathered until something comes that the host has to do.
//!
//! ```text
//! let a: f32 = xs[0]                     var a: f32
//! let b: f32 = a + ys[1]        ~~>      var b: f32
//! alloc zs[m]                            kernel main_1 { a = xs[0]; b = a + ys[1] }
//! … a … b …                              alloc zs[m]
//! ```

use crate::fresh::Fresh;
use crate::why::{has_threads, uses_columns, why_not};
use crate::{Unit, expand};
use almach_base::Name;
use almach_imp::{Argument, Expr, Index, Space, Stmt, Touched, Transfer};
use almach_value::{BinOp, ScalarType};
use std::collections::HashSet;

/// Statements that wait to become a kernel.
#[derive(Default)]
pub(crate) struct Task {
    pub(crate) stmts: Vec<Stmt>,
    pub(crate) touched: Touched,
    /// What comes behind the kernel.
    after: Vec<Stmt>,
}

/// A task as the host sees it.
pub(crate) struct Finished {
    pub(crate) before: Vec<Stmt>,
    pub(crate) kernel: Vec<Stmt>,
    pub(crate) after: Vec<Stmt>,
}

impl Task {
    pub(crate) fn is_empty(&self) -> bool {
        self.stmts.is_empty()
    }

    pub(crate) fn push(&mut self, stmt: Stmt) {
        self.stmts.push(stmt);
        self.touched = Touched::of(&self.stmts);
    }

    /// Whether a statement can join: memory that it needs has a size that is known before.
    pub(crate) fn takes(&self, stmt: &Stmt) -> bool {
        let mut all = self.stmts.clone();
        all.push(stmt.clone());
        expand::plan(&all, None).is_ok()
    }

    pub(crate) fn push_behind(&mut self, stmt: Stmt) {
        self.after.push(stmt);
    }

    pub(crate) fn declares(&self, buffer: &Name) -> bool {
        self.touched.declared.contains(buffer)
    }

    /// Whether other statements depend on what happens here.
    pub(crate) fn matters_to(&self, touched: &Touched) -> bool {
        let scalars = touched.read.iter().chain(&touched.assigned);
        let buffers = touched.cells.keys().chain(&touched.moved);
        scalars
            .into_iter()
            .any(|name| self.touched.bound.contains_key(name) || self.touched.assigned.contains(name))
            || touched
                .assigned
                .iter()
                .any(|name| self.touched.read.contains(name))
            || buffers.into_iter().any(|name| self.touched.mentions(name))
    }

    /// The kernel, where there is work on arrays, with what has to be around it. `rest` comes later.
    pub(crate) fn finish(self, rest: &[Stmt], fresh: &mut Fresh) -> Finished {
        let needed = Touched::of(rest);
        let mut before = Vec::new();
        if self.touched.cells.is_empty() {
            before.extend(self.stmts);
            before.extend(self.after);
            return Finished {
                before,
                kernel: Vec::new(),
                after: Vec::new(),
            };
        }
        let mut kernel = Vec::new();
        for stmt in self.stmts {
            match stmt {
                Stmt::Let { name, ty, value } if needed.mentions(&name) => {
                    before.push(Stmt::Var {
                        name: name.clone(),
                        ty,
                        value: None,
                    });
                    kernel.push(Stmt::Assign { name, value });
                }
                Stmt::Var { name, ty, value } if needed.mentions(&name) => {
                    before.push(Stmt::Var {
                        name: name.clone(),
                        ty,
                        value: None,
                    });
                    kernel.extend(value.map(|value| Stmt::Assign { name, value }));
                }
                Stmt::Buffer { ref name, .. } | Stmt::Alloc { buffer: ref name, .. }
                    if needed.mentions(name) =>
                {
                    let fresh = crate::split::fresh(&stmt);
                    before.push(stmt);
                    before.extend(fresh);
                }
                other => kernel.push(other),
            }
        }
        // What cannot be taken out has been kept out of tasks.
        let outside = expand::expand(&mut kernel, None, fresh).unwrap_or_default();
        let mut after = Vec::new();
        for one in outside {
            before.extend(allocated(&one, fresh));
            after.push(Stmt::Free(one.name));
        }
        after.extend(self.after);
        Finished {
            before,
            kernel,
            after,
        }
    }
}

/// The declaration and the allocation of a buffer of the device. Whether its size is one is checked where it was allocated before.
pub(crate) fn allocated(one: &expand::Outside, fresh: &mut Fresh) -> Vec<Stmt> {
    let mut stmts = vec![Stmt::Buffer {
        name: one.name.clone(),
        ty: one.ty,
        space: Space::Global,
    }];
    let mut size = one.size.clone();
    if size.as_constant().is_none() {
        let cells = fresh.name(&format!("{}_cells", one.name));
        stmts.push(Stmt::Let {
            name: cells.clone(),
            ty: ScalarType::I64,
            value: Expr::binary(BinOp::Max, Expr::Index(size), Expr::int(0)),
        });
        size = Index::var(cells);
    }
    let buffer = one.name.clone();
    stmts.push(Stmt::Alloc {
        buffer: buffer.clone(),
        size,
        span: one.span,
    });
    stmts.push(Stmt::Transfer(Transfer::Fresh { buffer }));
    stmts
}

/// Whether one work-item can run a statement.
pub(crate) fn is_taskable(stmt: &Stmt, unit: &Unit<'_>) -> bool {
    let alone = std::slice::from_ref(stmt);
    let touched = Touched::of(alone);
    let moves_others = touched.moved.iter().any(|name| !touched.declared.contains(name));
    why_not(alone, unit).is_none()
        && !has_threads(alone)
        && (stmt.blocks().is_empty() || !uses_columns(alone))
        && !moves_others
        && expand::plan(alone, None).is_ok()
}

/// Small arrays of a block that only statements for one work-item use.
pub(crate) fn private_buffers(stmts: &[Stmt], unit: &Unit<'_>) -> HashSet<Name> {
    let mut found = HashSet::new();
    let mut types = std::collections::HashMap::new();
    for stmt in stmts {
        match stmt {
            Stmt::Buffer { name, ty, .. } => {
                types.insert(name, *ty);
            }
            Stmt::Alloc { buffer, size, .. } => {
                let Some(bytes) = types.get(buffer).and_then(|ty| i64::try_from(ty.bytes()).ok()) else {
                    continue;
                };
                let is_small = size
                    .as_constant()
                    .is_some_and(|size| (0..=expand::PRIVATE_BYTES / bytes).contains(&size));
                // A second allocation makes it somebody else's.
                if !is_small || !found.insert(buffer.clone()) {
                    types.remove(buffer);
                    found.remove(buffer);
                }
            }
            _ => {}
        }
    }
    for stmt in stmts {
        if matches!(stmt, Stmt::Buffer { .. } | Stmt::Alloc { .. } | Stmt::Free(_)) {
            continue;
        }
        if is_taskable(stmt, unit) {
            found.retain(|name| !is_passed(name, stmt));
            continue;
        }
        let touched = Touched::of([stmt]);
        found.retain(|name| !touched.mentions(name));
    }
    found
}

/// Whether a C function gets a buffer: then it is not in a work-item's own memory.
fn is_passed(buffer: &Name, stmt: &Stmt) -> bool {
    let is_it = |argument: &Argument| matches!(argument, Argument::Buffer(name, _) if name == buffer);
    matches!(stmt, Stmt::Foreign { arguments, .. } if arguments.iter().any(is_it))
        || stmt
            .blocks()
            .into_iter()
            .flatten()
            .any(|inner| is_passed(buffer, inner))
}
