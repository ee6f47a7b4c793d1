//! Iterations of one work-item together: all of them read before the first one computes, so that their loads are on their way at
//! the same time, and what several of them read is read once.
//!
//! ```text
//! ys[i] = sqrt(xs[i])                        let load: f32 = xs[i]
//! ys[i + 256] = sqrt(xs[i + 256])    ~~>     let load_2: f32 = xs[i + 256]
//!                                            ys[i] = sqrt(load)
//!                                            ys[i + 256] = sqrt(load_2)
//! ```
//!
//! Iterations of a parallel loop do not see what others write; in one of them a load stays behind the stores before it to the same
//! buffer.

use crate::fresh::Fresh;
use crate::substitute::substitute;
use crate::tiles::{Types, replace_loads};
use almach_base::Name;
use almach_imp::{Access, Expr, Index, Stmt, Touched};
use almach_value::ScalarType;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Iterations, whose names differ, as one block.
pub(crate) fn together(iterations: Vec<Vec<Stmt>>, types: &Types, fresh: &mut Fresh) -> Vec<Stmt> {
    let mut reads = Reads {
        types,
        fresh,
        ahead: Vec::new(),
        written: written(iterations.iter().flatten()),
        shared: BTreeMap::new(),
        loads: BTreeSet::new(),
    };
    let mut rest = Vec::new();
    for iteration in iterations {
        rest.extend(reads.without_loads(iteration));
    }
    let mut all = reads.ahead;
    all.extend(rest);
    used_only(all)
}

fn written<'s>(stmts: impl IntoIterator<Item = &'s Stmt>) -> BTreeSet<Name> {
    let touched = Touched::of(stmts);
    let cells = touched.cells.into_iter();
    cells
        .filter(|(_, access)| *access == Access::Write)
        .map(|(name, _)| name)
        .collect()
}

/// The loads that come first.
struct Reads<'a> {
    types: &'a Types,
    fresh: &'a mut Fresh,
    ahead: Vec<Stmt>,
    /// What some iteration writes: each has its own cells of it.
    written: BTreeSet<Name>,
    /// Loads from what is only read, by buffer and index.
    shared: BTreeMap<(Name, Index), Name>,
    /// The names of all of them.
    loads: BTreeSet<Name>,
}

/// What is known on the way through an iteration.
#[derive(Default)]
struct Iteration {
    /// What it binds or assigns, apart from what is known ahead.
    own: BTreeSet<Name>,
    /// Indices that names stand for.
    numbers: HashMap<Name, Index>,
    /// Buffers that it has written up to here.
    written: BTreeSet<Name>,
}

impl Iteration {
    /// An index in names that are known ahead.
    fn ahead(&self, index: &Index) -> Option<Index> {
        let index = index.substitute(|name| self.numbers.get(name).cloned());
        let known = index.free_vars().all(|name| !self.own.contains(name));
        known.then_some(index)
    }
}

impl Reads<'_> {
    /// What is left of an iteration.
    fn without_loads(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let touched = Touched::of(&stmts);
        let mut iteration = Iteration {
            own: touched.bound.into_keys().chain(touched.assigned).collect(),
            ..Iteration::default()
        };
        let mut rest = Vec::new();
        let mut stmts = VecDeque::from(stmts);
        while let Some(mut stmt) = stmts.pop_front() {
            if !matches!(stmt, Stmt::While { .. }) {
                stmt.for_each_expr_mut(&mut |expr| self.read(expr, &iteration));
            }
            // A name for a load is one for the name that this has ahead.
            if let Stmt::Let {
                name,
                value: Expr::Var(load),
                ..
            } = &stmt
                && self.loads.contains(load)
            {
                substitute(stmts.make_contiguous(), name, &Index::var(load.clone()));
                continue;
            }
            if let Stmt::Let {
                name,
                ty: ScalarType::I64,
                value,
            } = &stmt
                && let Some(index) = value.as_index().and_then(|index| iteration.ahead(&index))
            {
                iteration.numbers.insert(name.clone(), index);
            }
            if is_number(&stmt, &iteration) {
                iteration.own.retain(|name| !binds(&stmt, name));
                self.ahead.push(stmt);
                continue;
            }
            iteration.written.append(&mut written([&stmt]));
            rest.push(stmt);
        }
        rest
    }

    /// Takes the loads out of an expression that happen whenever it is evaluated.
    fn read(&mut self, expr: &mut Expr, iteration: &Iteration) {
        replace_loads(expr, &mut |buffer, index| {
            if iteration.written.contains(buffer) {
                return None;
            }
            let ty = *self.types.get(buffer)?;
            let index = iteration.ahead(index)?;
            let key = (buffer.clone(), index);
            let is_shared = !self.written.contains(buffer);
            if let Some(name) = self.shared.get(&key).filter(|_| is_shared) {
                return Some(Expr::Var(name.clone()));
            }
            let name = self.fresh.name("load");
            self.ahead.push(Stmt::Let {
                name: name.clone(),
                ty,
                value: Expr::Load(key.0.clone(), key.1.clone()),
            });
            if is_shared {
                self.shared.insert(key, name.clone());
            }
            self.loads.insert(name.clone());
            Some(Expr::Var(name))
        });
    }
}

/// Whether a statement computes a number that loads may need, from what is known ahead.
fn is_number(stmt: &Stmt, iteration: &Iteration) -> bool {
    let Stmt::Let {
        ty: ScalarType::I64,
        value,
        ..
    } = stmt
    else {
        return false;
    };
    let touched = Touched::of_expr(value);
    touched.cells.is_empty() && touched.read.iter().all(|name| !iteration.own.contains(name))
}

fn binds(stmt: &Stmt, name: &Name) -> bool {
    matches!(stmt, Stmt::Let { name: bound, .. } if bound == name)
}

/// Statements without values that nobody needs any more.
fn used_only(stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut needed = BTreeSet::new();
    let mut kept = Vec::new();
    for stmt in stmts.into_iter().rev() {
        if let Stmt::Let { name, .. } = &stmt
            && !needed.contains(name)
        {
            continue;
        }
        needed.append(&mut Touched::of([&stmt]).read);
        kept.push(stmt);
    }
    kept.reverse();
    kept
}
