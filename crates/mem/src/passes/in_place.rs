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

use super::{Log, Note, Obstacle};
use crate::check::{check_change, check_memory};
use crate::copies::{Role, copy_points};
use crate::derive::slice_of;
use crate::index::{Aliases, BodyInfo, BodyKind, Index, Moment, StmtInfo, blocks_read, direct_uses};
use crate::ir::{Annotated, Given, Home, Memory, Storage, key};
use crate::relocate::relocate;
use almach_core::{Atom, Exp, Var};
use almach_lmad::{Verdict, disjoint};
use std::collections::HashSet;

pub fn in_place(program: Annotated, log: &mut Log) -> Annotated {
    // A check looks at the whole program, so there is one for all steps. Where it finds something, one after each step says which.
    let mut steps = Log::default();
    let memory = updated(&program, Check::AtTheEnd, &mut steps);
    let memory = match check_memory(&program.core, &memory) {
        Ok(()) => memory,
        Err(_) => {
            steps = Log::default();
            updated(&program, Check::EachStep, &mut steps)
        }
    };
    log.notes.extend(steps.notes);
    Annotated {
        core: program.core,
        memory,
    }
}

/// When what was done is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Check {
    EachStep,
    AtTheEnd,
}

fn updated(program: &Annotated, check: Check, log: &mut Log) -> Memory {
    let mut index = Index::new(&program.core);
    index.count_iterations(&program.memory);
    let mut memory = program.memory.clone();
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
                let why = format!("`{}` is in no block, so its update makes one", index.name(old));
                log.notes.push(Note::left(&value.var, why.into()));
                continue;
            };
            if index.same_home(&home, &point.to) {
                continue;
            }
            match update(&index, &memory, info, (&value.var, point.leaf), &home, check) {
                Ok((better, proofs)) => {
                    memory = better;
                    let why = format!(
                        "`{}` is updated in place: nothing uses its old value afterwards",
                        index.name(old)
                    );
                    log.notes.push(Note::done(&value.var, why).proved(proofs));
                }
                Err(obstacle) => log.notes.push(Note::left(&value.var, obstacle)),
            }
        }
    }
    memory
}

/// Better memory, and what was proved for it; or what is in the way.
type Attempt = Result<(Memory, Vec<String>), Obstacle>;

fn update(
    index: &Index<'_>,
    memory: &Memory,
    info: &StmtInfo<'_>,
    (new, leaf): (&Var, usize),
    home: &Home,
    check: Check,
) -> Attempt {
    match try_update(index, memory, info, (new, leaf), home, check) {
        Ok(better) => Ok(better),
        Err(obstacle) => {
            let class = Aliases::new(index, memory).may_be(&home.block);
            let copied = copied_at_the_start(index, memory, &class).into_iter();
            let mut better =
                copied.filter_map(|copied| try_update(index, &copied, info, (new, leaf), home, check).ok());
            better.next().ok_or(obstacle)
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
    (new, leaf): (&Var, usize),
    home: &Home,
    check: Check,
) -> Attempt {
    let aliases = Aliases::new(index, memory);
    let class = aliases.may_be(&home.block);
    owned(index, memory, info, &class)?;
    let proofs = dead(index, memory, info, new, &class)?;
    let moved = relocate(index, memory, new, leaf, home)
        .ok_or_else(|| "its block is handed on in a way that the other cannot be".to_string())?;
    if check == Check::EachStep {
        check_change(index.program, memory, &moved).map_err(|broken| broken.message)?;
    }
    Ok((moved, proofs))
}

/// No block of the class belongs to a caller, or to what is outside of a function whose iterations may run at once.
fn owned(
    index: &Index<'_>,
    memory: &Memory,
    info: &StmtInfo<'_>,
    class: &HashSet<Var>,
) -> Result<(), Obstacle> {
    for function in &memory.functions {
        if let Some((block, _)) = function.context.iter().find(|(block, _)| class.contains(block)) {
            let whose = array_in(memory, block);
            let why = format!("it may be in the memory of {whose}, which belongs to the caller");
            return Err(Obstacle::from(why)
                .help("update an array that the program makes, or copy the caller's first (`materialise`)"));
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
        Some(block) => {
            let whose = array_in(memory, block);
            let why = format!("it may be in the memory of {whose}, which all iterations share");
            Err(Obstacle::from(why).help("update an array that the iteration makes itself"))
        }
        None => Ok(()),
    }
}

/// The first array that is in a block, in words; the block where there is none.
fn array_in(memory: &Memory, block: &Var) -> String {
    let is_there = |storage: &Storage| storage.home().is_some_and(|home| home.block == *block);
    let mut arrays = memory.storage.iter();
    let array = arrays.find(|(_, storage)| storage.iter().any(is_there));
    format!("`{}`", array.map_or(block, |(array, _)| array).name)
}

/// Nothing that was bound before the update and may be in the block is used after it, nor read while it is written. Gives the
/// proofs that a new part has other cells than what it is taken from.
fn dead(
    index: &Index<'_>,
    memory: &Memory,
    info: &StmtInfo<'_>,
    new: &Var,
    class: &HashSet<Var>,
) -> Result<Vec<String>, Obstacle> {
    let around: Vec<&BodyInfo<'_>> = index
        .around(info.body)
        .into_iter()
        .filter_map(|body| index.bodies.get(body.0))
        .collect();
    let mut proofs = Vec::new();
    let mut readers: Vec<_> = blocks_read(index, memory).into_iter().collect();
    readers.sort_by_key(|(var, _)| var.id);
    for (var, blocks) in readers {
        if var == *new || blocks.is_disjoint(class) {
            continue;
        }
        let bound = index.bound.get(&var).copied().unwrap_or(0);
        if bound > info.start {
            continue;
        }
        let uses = || index.uses.get(&var).into_iter().flatten().copied();
        let later = uses().find(|at| *at > info.end && !elsewhere(index, &around, *at));
        if let Some(at) = later {
            let why = format!("`{}`, which may be in the same memory, is used later", var.name);
            return Err(Obstacle::from(why)
                .at(index.span_at(at))
                .help("use the old value before the update, or only the new one after it"));
        }
        let repeated = around
            .iter()
            .filter(|body| matches!(body.kind, BodyKind::Loop | BodyKind::Lambda));
        for body in repeated {
            let inside = uses().find(|at| *at > body.start && *at <= body.end);
            if let Some(at) = inside.filter(|_| bound < body.start && !is_state(index, body, &var)) {
                let why = format!(
                    "`{}`, which may be in the same memory, is used in the next iteration",
                    var.name
                );
                return Err(Obstacle::from(why)
                    .at(index.span_at(at))
                    .help("let the loop carry the array, so that each iteration updates what the one before it gave"));
            }
        }
        if let Some(at) = uses().find(|at| *at > info.start && *at <= info.end) {
            let proof = read_meanwhile(index, memory, info, &var).map_err(|why| {
                Obstacle::from(why).at(index.span_at(at)).help(
                    "make what is written first (`materialise`), or from other cells than those it goes to",
                )
            })?;
            proofs.extend(proof);
        }
    }
    Ok(proofs)
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
fn read_meanwhile(
    index: &Index<'_>,
    memory: &Memory,
    info: &StmtInfo<'_>,
    var: &Var,
) -> Result<Vec<String>, String> {
    let refused = || {
        Err(format!(
            "`{}`, which may be in the same memory, is read while it is written",
            var.name
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
        return Ok(Vec::new());
    }
    if !matches!(&info.stmt.exp, Exp::Update { .. }) || of(Role::Part).next().is_none() {
        return refused();
    }
    // The place of the new part, were the array updated where it is.
    let Exp::Update { array, parts, .. } = &info.stmt.exp else {
        return refused();
    };
    let mut proofs = Vec::new();
    for old in memory.of(array).iter().filter_map(Storage::home) {
        let Some(part) = slice_of(&old.lmad, parts, &index.env) else {
            return refused();
        };
        let part = index.normalised(&part);
        for from in memory.storage.get(var).into_iter().flatten() {
            let Some(from) = from.home() else {
                return refused();
            };
            if from.block != old.block {
                continue;
            }
            let from = index.normalised(&from.lmad);
            match disjoint(&from, &part, &index.known) {
                Verdict::Disjoint(proof) => proofs.push(format!(
                    "the cells {from} of `{}` are not the cells {part} that it goes to: {proof}",
                    var.name
                )),
                Verdict::Overlapping | Verdict::Unknown => {
                    return Err(format!(
                        "`{}`, the cells {from} of that memory, is read while the cells {part} are written, and the two may meet",
                        var.name
                    ));
                }
            }
        }
    }
    Ok(proofs)
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
