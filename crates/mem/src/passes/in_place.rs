//! Updates in place: `a with [i] = v`, `scatter` and histograms write into the array itself where its old value is dead.
//!
//! ```text
//! let @{c_mem: f32 of a_mem = alloc (n) | b_mem} c … =     let @{c_mem: f32 of a_mem = alloc (n) | a_mem} c … =
//!   loop (a: [n]f32 @ a_mem -> … = zeros) for i < n do       loop (a: [n]f32 @ a_mem -> … = zeros) for i < n do
//!     let b_mem: mem = alloc f32 (n)                    ~>     let b: [n]f32 @ a_mem -> … = a with [i] = x
//!     let b: [n]f32 @ b_mem -> … = a with [i] = x              in b
//!     in b
//! ```
//!
//! The old array is dead where, after the update, nothing is used that was bound before it and may be in its block: neither later in
//! the text, nor, inside a loop, anywhere in the loop if it was bound outside. Blocks that statements hand on may be one. A
//! parameter's block belongs to the caller, and a block from outside of a parallel function to all its iterations. What a loop starts
//! with is copied once where that is all that is in the way.
//!
//! - Removes: copies of updated arrays, and the blocks they went to.
//! - Introduces: at most one copy before a loop.
//! - Guarantees: nothing but places changes.

use super::{Log, Note};
use crate::check::check_memory;
use crate::copies::{Role, copy_points};
use crate::derive::slice_of;
use crate::index::{Aliases, BodyInfo, BodyKind, Index, Moment, StmtInfo, blocks_read, direct_uses};
use crate::ir::{Annotated, Given, Home, Memory, Storage, key};
use crate::relocate::relocate;
use almach_core::{Atom, Exp, Var};
use almach_lmad::disjoint;
use std::collections::HashSet;

pub fn in_place(program: Annotated, log: &mut Log) -> Annotated {
    let mut index = Index::new(&program.core);
    index.count_iterations(&program.memory);
    let mut memory = program.memory;
    for info in &index.stmts {
        let [value] = info.stmt.pattern.values.as_slice() else {
            continue;
        };
        let points = copy_points(info.stmt, &memory, &index.env);
        for point in points.into_iter().filter(|point| point.role == Role::Old) {
            let Atom::Var(old) = &point.source else {
                continue;
            };
            let home = memory
                .storage
                .get(old)
                .and_then(|all| all.get(point.leaf))
                .and_then(Storage::home)
                .cloned();
            let Some(home) = home else {
                log.notes.push(note(
                    &value.var,
                    false,
                    format!("`{old}` is in no block, so its update makes one"),
                ));
                continue;
            };
            if index.same_home(&home, &point.to) {
                continue;
            }
            match update(&index, &memory, info, &value.var, point.leaf, &home) {
                Ok(better) => {
                    memory = better;
                    log.notes.push(note(
                        &value.var,
                        true,
                        format!("updated in place: `{old}` is dead after it"),
                    ));
                }
                Err(why) => log.notes.push(note(&value.var, false, why)),
            }
        }
    }
    Annotated {
        core: program.core.clone(),
        memory,
    }
}

fn note(var: &Var, done: bool, why: String) -> Note {
    Note {
        var: var.clone(),
        done,
        why,
    }
}

fn update(
    index: &Index<'_>,
    memory: &Memory,
    info: &StmtInfo<'_>,
    new: &Var,
    leaf: usize,
    home: &Home,
) -> Result<Memory, String> {
    match try_update(index, memory, info, new, leaf, home) {
        Ok(better) => Ok(better),
        Err(why) => {
            let class = Aliases::new(index, memory).class(&home.block);
            let copied = copied_at_the_start(index, memory, &class).into_iter();
            let mut better =
                copied.filter_map(|copied| try_update(index, &copied, info, new, leaf, home).ok());
            better.next().ok_or(why)
        }
    }
}

/// Memory in which one of the loops that carry such a block starts with a copy of its own, so that its block is nobody else's.
/// The outermost loop first: those inside it then start with its block.
fn copied_at_the_start(index: &Index<'_>, memory: &Memory, class: &HashSet<Var>) -> Vec<Memory> {
    let mut out = Vec::new();
    for info in &index.stmts {
        let Some(head) = key(info.stmt).and_then(|key| memory.heads.get(key)) else {
            continue;
        };
        for (at, item) in head.items.iter().enumerate() {
            if item.inside.as_ref().is_some_and(|inside| class.contains(inside)) {
                out.extend(with_copy(index, memory, info, at));
            }
        }
    }
    out
}

fn with_copy(index: &Index<'_>, memory: &Memory, info: &StmtInfo<'_>, at: usize) -> Option<Memory> {
    let head = key(info.stmt).and_then(|key| memory.heads.get(key))?;
    let block = match head.items.get(at)?.given.first()? {
        Given::Block(block) => block.clone(),
        Given::Alloc(_) | Given::Integer(_) => return None,
    };
    // The initial value that is in this block, for its size.
    let Exp::Loop(looped) = &info.stmt.exp else {
        return None;
    };
    let cells = looped.params.iter().find_map(|(_, initial)| {
        let Atom::Var(var) = initial else {
            return None;
        };
        let leaves = index.leaves(var);
        let storage = memory.storage.get(var)?;
        let at = storage
            .iter()
            .position(|one| one.home().is_some_and(|home| home.block == block))?;
        leaves.get(at).map(crate::leaves::Leaf::cells)
    })?;
    let mut copied = memory.clone();
    let head = key(info.stmt).and_then(|key| copied.heads.get_mut(key))?;
    *head.items.get_mut(at)?.given.first_mut()? = Given::Alloc(cells);
    Some(copied)
}

fn try_update(
    index: &Index<'_>,
    memory: &Memory,
    info: &StmtInfo<'_>,
    new: &Var,
    leaf: usize,
    home: &Home,
) -> Result<Memory, String> {
    let aliases = Aliases::new(index, memory);
    let class = aliases.class(&home.block);
    owned(index, memory, info, &class)?;
    dead(index, memory, info, new, &class)?;
    let moved = relocate(index, memory, new, leaf, home)
        .ok_or_else(|| "its block is handed on in a way that the other cannot be".to_string())?;
    match check_memory(index.program, &moved) {
        Ok(()) => Ok(moved),
        Err(broken) => Err(broken.message),
    }
}

/// No block of the class belongs to a caller, or to what is outside of a function whose iterations may run at once.
fn owned(
    index: &Index<'_>,
    memory: &Memory,
    info: &StmtInfo<'_>,
    class: &HashSet<Var>,
) -> Result<(), String> {
    for function in &memory.functions {
        if let Some((block, _)) = function.context.iter().find(|(block, _)| class.contains(block)) {
            return Err(format!("it may be in `{block}`, which belongs to the caller"));
        }
    }
    let bound = index.memory_bound(memory);
    let lambda = index
        .around(info.body)
        .into_iter()
        .filter_map(|body| index.bodies.get(body.0))
        .find(|body| body.kind == BodyKind::Lambda);
    let Some(lambda) = lambda else {
        return Ok(());
    };
    match class
        .iter()
        .find(|block| bound.get(*block).is_none_or(|moment| *moment < lambda.start))
    {
        Some(block) => Err(format!("it may be in `{block}`, which all iterations share")),
        None => Ok(()),
    }
}

/// Nothing that was bound before the update and may be in the block is used after it, nor read while it is written.
fn dead(
    index: &Index<'_>,
    memory: &Memory,
    info: &StmtInfo<'_>,
    new: &Var,
    class: &HashSet<Var>,
) -> Result<(), String> {
    let around: Vec<&BodyInfo<'_>> = index
        .around(info.body)
        .into_iter()
        .filter_map(|body| index.bodies.get(body.0))
        .collect();
    for (var, blocks) in blocks_read(index, memory) {
        if var == *new || blocks.is_disjoint(class) {
            continue;
        }
        let bound = index.bound.get(&var).copied().unwrap_or(0);
        if bound > info.start {
            continue;
        }
        let uses = || index.uses.get(&var).into_iter().flatten().copied();
        if uses().any(|at| at > info.end && !elsewhere(index, &around, at)) {
            return Err(format!("`{var}`, which may be in the same block, is used later"));
        }
        let repeated = around
            .iter()
            .filter(|body| matches!(body.kind, BodyKind::Loop | BodyKind::Lambda));
        for body in repeated {
            let inside = uses().any(|at| at > body.start && at <= body.end);
            if bound < body.start && inside && !is_state(index, body, &var) {
                return Err(format!(
                    "`{var}`, which may be in the same block, is used in the next iteration"
                ));
            }
        }
        if uses().any(|at| at > info.start && at <= info.end) {
            read_meanwhile(index, memory, info, &var)?;
        }
    }
    Ok(())
}

/// Whether a moment is in a branch that is taken only where the update is not made.
fn elsewhere(index: &Index<'_>, around: &[&BodyInfo<'_>], at: Moment) -> bool {
    around
        .iter()
        .filter(|body| body.kind == BodyKind::Branch)
        .any(|body| {
            let stmt = body.around.and_then(|stmt| index.stmts.get(stmt));
            stmt.is_some_and(|stmt| at > stmt.start && at < stmt.end && !(at > body.start && at <= body.end))
        })
}

/// An operand in the block, besides the old array itself: a new part that provably has other cells than those it goes to.
fn read_meanwhile(index: &Index<'_>, memory: &Memory, info: &StmtInfo<'_>, var: &Var) -> Result<(), String> {
    let refused = || {
        Err(format!(
            "`{var}`, which may be in the same block, is read while it is written"
        ))
    };
    let mut operands = 0;
    direct_uses(&info.stmt.exp, &mut |atom| {
        operands += usize::from(matches!(atom, Atom::Var(used) if used == var));
    });
    let inside = index
        .uses
        .get(var)
        .into_iter()
        .flatten()
        .any(|at| *at > info.start && *at < info.end);
    let points = copy_points(info.stmt, memory, &index.env);
    let of = |role: Role| {
        let points = points.iter();
        points.filter(move |point| {
            point.role == role && matches!(&point.source, Atom::Var(source) if source == var)
        })
    };
    if inside || operands != 1 {
        return refused();
    }
    if of(Role::Old).next().is_some() {
        return Ok(());
    }
    if !matches!(&info.stmt.exp, Exp::Update { .. }) || of(Role::Part).next().is_none() {
        return refused();
    }
    // The place of the new part, were the array updated where it is.
    let Exp::Update { array, parts, .. } = &info.stmt.exp else {
        return refused();
    };
    for old in memory.of(array).iter().filter_map(Storage::home) {
        let Some(part) = slice_of(&old.lmad, parts, &index.env) else {
            return refused();
        };
        for from in memory.storage.get(var).into_iter().flatten() {
            let apart = from.home().is_some_and(|from| {
                from.block != old.block
                    || disjoint(
                        &index.normalised(&from.lmad),
                        &index.normalised(&part),
                        &index.known,
                    )
                    .is_disjoint()
            });
            if !apart {
                return refused();
            }
        }
    }
    Ok(())
}

/// Whether a loop binds a variable anew before each iteration.
fn is_state(index: &Index<'_>, body: &BodyInfo<'_>, var: &Var) -> bool {
    let stmt = body
        .around
        .and_then(|at| index.stmts.get(at))
        .map(|info| &info.stmt.exp);
    match stmt {
        Some(Exp::Loop(looped)) => looped.params.iter().any(|(param, _)| param.var == *var),
        Some(Exp::Op(op)) => op
            .functions
            .iter()
            .any(|f| f.params.iter().any(|param| param.var == *var)),
        _ => false,
    }
}
