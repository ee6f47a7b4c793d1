//! Short-circuiting (FUNMEM, section 6, and the authors' SC'22 paper): an array that is copied somewhere is built there.
//!
//! ```text
//! let a_mem: mem = alloc f32 (n)                          let c_mem: mem = alloc f32 (n + m)
//! let a: [n]f32 @ a_mem -> 0 + {(n : 1)} = map f xs       let a: [n]f32 @ c_mem -> 0 + {(n : 1)} = map f xs
//! let b_mem: mem = alloc f32 (m)                     ~>   let b: [m]f32 @ c_mem -> n + {(m : 1)} = map g ys
//! let b: [m]f32 @ b_mem -> 0 + {(m : 1)} = map g ys       let c: [n + m]f32 @ c_mem -> 0 + {(n + m : 1)} = concat a b
//! let c_mem: mem = alloc f32 (n + m)
//! let c: [n + m]f32 @ c_mem -> … = concat a b
//! ```
//!
//! The same at the end of a `map`'s function (a row is built in its row of the result), at the end of a function (a result that
//! is a transposition or reversal of something is built so that it fills its block in row-major order), in array literals,
//! and in `with` where the array is updated in place.
//!
//! The conditions, for an array `x` made by a statement and copied to a place `p` by a later one of the same body:
//! - the block of `p`, and the variables of its descriptor, are there before `x` is made (an allocation is moved up);
//! - between the two, nothing is read from or written to the block of `p`, unless `almach_lmad` proves that it is disjoint from `p`;
//! - everything derived from `x` has a descriptor in the new place.
//!
//! - Removes: blocks of arrays that are copied once, and those copies.
//! - Introduces: nothing.
//! - Guarantees: nothing but places changes.

mod undisturbed;

use super::{Log, Note, Obstacle};
use crate::check::check_change;
use crate::copies::{CopyPoint, Role, copy_points};
use crate::index::{BodyId, BodyKind, Index, Moment, StmtInfo, blocks_read};
use crate::ir::{Alloc, Annotated, Given, Home, Memory, Storage, key};
use crate::leaves::Leaf;
use crate::relocate::relocate;
use almach_core::{Atom, Dim, Exp, Op, Size, Stmt, Type, Var};
use almach_lmad::Lmad;
use almach_prim::Prim;
use std::collections::HashSet;
use undisturbed::undisturbed;

pub fn short_circuit(program: Annotated, log: &mut Log) -> Annotated {
    let mut index = Index::new(&program.core);
    index.count_iterations(&program.memory);
    let mut memory = program.memory;
    let mut refused = HashSet::new();
    while let Some(better) = one(&index, &memory, &mut refused, log) {
        memory = better;
    }
    Annotated {
        core: program.core.clone(),
        memory,
    }
}

/// Somewhere an array is copied to, at the end of what it is made in.
struct Copy {
    source: Var,
    leaf: usize,
    to: Home,
    body: BodyId,
    at: Moment,
    /// The statement that copies; its block may be made earlier.
    stmt: Option<usize>,
    /// A block for it is to be made.
    fresh: Option<(Alloc, FunctionResult)>,
}

#[derive(Clone, Copy)]
struct FunctionResult {
    function: usize,
    result: usize,
}

fn one(
    index: &Index<'_>,
    memory: &Memory,
    refused: &mut HashSet<(Var, usize, Moment)>,
    log: &mut Log,
) -> Option<Memory> {
    // Ends first: what a result is put together from then goes where the result is.
    let copies = ends(index, memory).into_iter().chain(statements(index, memory));
    for copy in copies {
        let in_place = memory
            .storage
            .get(&copy.source)
            .and_then(|all| all.get(copy.leaf))
            .and_then(Storage::home)
            .is_some_and(|home| index.same_home(home, &copy.to));
        if in_place || refused.contains(&(copy.source.clone(), copy.leaf, copy.at)) {
            continue;
        }
        match attempt(index, memory, &copy) {
            Ok((better, proofs)) => {
                let why = format!(
                    "`{}` is built where it will be, in `{}`",
                    index.name(&copy.source),
                    copy.to.block.name
                );
                log.notes.push(Note::done(&copy.source, why).proved(proofs));
                return Some(better);
            }
            Err(obstacle) => {
                refused.insert((copy.source.clone(), copy.leaf, copy.at));
                log.notes.push(Note::left(&copy.source, obstacle));
            }
        }
    }
    None
}

/// Copies that statements make.
fn statements(index: &Index<'_>, memory: &Memory) -> Vec<Copy> {
    let mut out = Vec::new();
    for (at, info) in index.stmts.iter().enumerate() {
        let points = copy_points(info.stmt, memory, &index.env);
        let old_in_place = points
            .iter()
            .filter(|point| point.role == Role::Old)
            .all(|point| is_there(index, memory, point));
        if !old_in_place {
            continue;
        }
        for point in points.into_iter().filter(|point| point.role == Role::Part) {
            if let Atom::Var(source) = point.source {
                out.push(Copy {
                    source,
                    leaf: point.leaf,
                    to: point.to,
                    body: info.body,
                    at: info.start,
                    stmt: Some(at),
                    fresh: None,
                });
            }
        }
    }
    out
}

fn is_there(index: &Index<'_>, memory: &Memory, point: &CopyPoint) -> bool {
    let home = memory.of(&point.source).get(point.leaf).and_then(Storage::home);
    home.is_some_and(|home| index.same_home(home, &point.to))
}

/// Copies at the ends of the functions of `map`, and of functions.
fn ends(index: &Index<'_>, memory: &Memory) -> Vec<Copy> {
    let mut out = Vec::new();
    for (id, info) in index.bodies.iter().enumerate() {
        match info.kind {
            BodyKind::Lambda => {
                let stmt = info
                    .around
                    .and_then(|at| index.stmts.get(at))
                    .map(|info| info.stmt);
                if let Some(stmt) = stmt {
                    map_end(index, memory, stmt, BodyId(id), &mut out);
                }
            }
            BodyKind::Function(function) => function_end(index, memory, function, BodyId(id), &mut out),
            BodyKind::Branch | BodyKind::Loop => {}
        }
    }
    out
}

fn map_end(index: &Index<'_>, memory: &Memory, stmt: &Stmt, body: BodyId, out: &mut Vec<Copy>) {
    let counter = key(stmt)
        .and_then(|key| memory.heads.get(key))
        .and_then(|head| head.index.clone());
    let (Exp::Op(op), Some(counter), Some(info)) = (&stmt.exp, counter, index.bodies.get(body.0)) else {
        return;
    };
    if op.prim != Prim::Map {
        return;
    }
    let at = Size::var(counter);
    for (pattern, value) in stmt.pattern.values.iter().zip(&info.body.values) {
        let Atom::Var(source) = value else {
            continue;
        };
        let storage = memory.storage.get(&pattern.var).map_or(&[][..], Vec::as_slice);
        let rows = index.leaves(&pattern.var);
        let rows = rows
            .iter()
            .zip(storage)
            .filter(|(leaf, _)| matches!(leaf, Leaf::Cells { dims, .. } if dims.len() > 1));
        for (leaf, (_, storage)) in rows.enumerate() {
            if let Some(home) = storage.home()
                && let Some(lmad) = home.lmad.index(&at)
            {
                out.push(Copy {
                    source: source.clone(),
                    leaf,
                    to: Home {
                        block: home.block.clone(),
                        lmad,
                    },
                    body,
                    at: info.end,
                    stmt: None,
                    fresh: None,
                });
            }
        }
    }
}

fn function_end(index: &Index<'_>, memory: &Memory, function: usize, body: BodyId, out: &mut Vec<Copy>) {
    let (Some(info), Some(results)) = (index.bodies.get(body.0), memory.functions.get(function)) else {
        return;
    };
    let mut items = results.results.iter().enumerate();
    for value in &info.body.values {
        let Atom::Var(source) = value else {
            continue;
        };
        for (leaf, shape) in index.leaves(source).iter().enumerate() {
            let Leaf::Cells { element, .. } = shape else {
                continue;
            };
            let Some((result, item)) = items.next() else {
                return;
            };
            if let [Given::Alloc(cells)] = item.given.as_slice() {
                let alloc = Alloc {
                    block: item.var.clone(),
                    element: *element,
                    cells: cells.clone(),
                };
                out.push(Copy {
                    source: source.clone(),
                    leaf,
                    to: Home {
                        block: item.var.clone(),
                        lmad: Lmad::row_major(Size::zero(), &shape.shape()),
                    },
                    body,
                    at: info.end,
                    stmt: None,
                    fresh: Some((alloc, FunctionResult { function, result })),
                });
            }
        }
    }
}

/// Better memory, and what was proved for it; or what is in the way.
type Attempt = Result<(Memory, Vec<String>), Obstacle>;

fn attempt(index: &Index<'_>, memory: &Memory, copy: &Copy) -> Attempt {
    let (owner, leaf, lmad) = owner_of(index, memory, copy)?;
    let Some(made) = index.stmt_of(&owner) else {
        return Err(format!("`{}` is not made here", index.name(&owner)).into());
    };
    if made.body != copy.body || made.end > copy.at {
        return Err(format!(
            "`{}` is made in another place than it is copied from",
            index.name(&owner)
        )
        .into());
    }
    let home = memory
        .storage
        .get(&owner)
        .and_then(|all| all.get(leaf))
        .and_then(Storage::home);
    let Some(home) = home else {
        return Err(format!("`{}` is in no block", index.name(&owner)).into());
    };
    let own = key(made.stmt).and_then(|key| memory.allocs.get(key));
    if !own.is_some_and(|allocs| allocs.iter().any(|alloc| alloc.block == home.block)) {
        return Err(format!("`{}` is in a block that others have made", index.name(&owner)).into());
    }
    let mut to = Home {
        block: copy.to.block.clone(),
        lmad,
    };
    let mut better = memory.clone();
    if let Some((alloc, place)) = &copy.fresh {
        let block = better.fresh(&alloc.block.name);
        to.block = block.clone();
        let first = Alloc {
            block: block.clone(),
            ..alloc.clone()
        };
        insert_alloc(&mut better, made.stmt, first);
        let item = better
            .functions
            .get_mut(place.function)
            .and_then(|f| f.results.get_mut(place.result));
        if let Some(item) = item {
            item.given = vec![Given::Block(block)];
        }
    } else if let Some(stmt) = copy.stmt.and_then(|at| index.stmts.get(at)) {
        move_alloc(&mut better, stmt.stmt, made.stmt, &to.block);
    }
    there_before(index, &better, &to, made.start)?;
    let proofs = undisturbed(index, &better, &to, home, made, copy)?;
    unchanged_after(index, &better, &to, home, copy)?;
    let moved = relocate(index, &better, &owner, leaf, &to).ok_or_else(|| {
        format!(
            "something that is taken from `{}` has no descriptor in `{}`",
            index.name(&owner),
            to.block.name
        )
    })?;
    match check_change(index.program, memory, &moved) {
        Ok(()) => Ok((moved, proofs)),
        Err(broken) => Err(broken.message.into()),
    }
}

/// The array whose block a copied array is in, and where it must be for the copied one to be in place.
fn owner_of(index: &Index<'_>, memory: &Memory, copy: &Copy) -> Result<(Var, usize, Lmad<Var>), String> {
    let (mut var, mut lmad) = (copy.source.clone(), copy.to.lmad.clone());
    loop {
        let Some(info) = index.stmt_of(&var) else {
            return Err(format!("`{}` comes from outside", index.name(&var)));
        };
        let whole = matches!(
            crate::derive::derive(
                &info.stmt.exp,
                index.types.get(&var).unwrap_or(&Type::Tuple(Vec::new())),
                memory,
                &index.env
            ),
            crate::derive::Derived::Same(_)
        );
        if !whole {
            return Ok((var, copy.leaf, lmad));
        }
        let Some((operand, before)) = inverse(index, &info.stmt.exp, &lmad) else {
            return Err(format!(
                "`{}` is a part of something else, or of a layout that cannot be turned round",
                index.name(&var)
            ));
        };
        (var, lmad) = (operand, before);
    }
}

/// Where an operand must be for its view to be at a place (Lin's inverse views).
fn inverse(index: &Index<'_>, exp: &Exp, lmad: &Lmad<Var>) -> Option<(Var, Lmad<Var>)> {
    match exp {
        Exp::Atom(Atom::Var(var))
        | Exp::Trace {
            value: Atom::Var(var),
            ..
        } => Some((var.clone(), lmad.clone())),
        Exp::Op(Op { prim, args, .. }) => {
            let Some(Atom::Var(var)) = args.last() else {
                return None;
            };
            let before = match (prim, args.len()) {
                (Prim::Reverse, 1) => lmad.reverse(0)?,
                (Prim::Transpose, 1) => {
                    let order: Vec<usize> = [1, 0].into_iter().chain(2..lmad.dims.len()).collect();
                    lmad.permute(&order)?
                }
                (Prim::Split, 2) => lmad.join(0)?,
                (Prim::Join, 1) => {
                    let ty = index.env.normalise(index.types.get(var)?);
                    let Type::Array(Dim::Size(rows), inner) = ty else {
                        return None;
                    };
                    let Type::Array(Dim::Size(row), _) = *inner else {
                        return None;
                    };
                    lmad.split(0, &rows, &row)?
                }
                _ => return None,
            };
            Some((var.clone(), before))
        }
        _ => None,
    }
}

fn insert_alloc(memory: &mut Memory, before: &Stmt, alloc: Alloc) {
    if let Some(key) = key(before) {
        memory.allocs.entry(key.clone()).or_default().push(alloc);
    }
}

/// Makes a block earlier.
fn move_alloc(memory: &mut Memory, from: &Stmt, to: &Stmt, block: &Var) {
    let Some(allocs) = key(from).and_then(|key| memory.allocs.get_mut(key)) else {
        return;
    };
    if let Some(at) = allocs.iter().position(|alloc| alloc.block == *block) {
        let alloc = allocs.remove(at);
        if allocs.is_empty()
            && let Some(key) = key(from)
        {
            memory.allocs.remove(key);
        }
        insert_alloc(memory, to, alloc);
    }
}

/// The block, its size and the parts of the descriptor are known at that moment.
fn there_before(index: &Index<'_>, memory: &Memory, to: &Home, start: Moment) -> Result<(), String> {
    let bound = index.memory_bound(memory);
    let when = |var: &Var| bound.get(var).or_else(|| index.bound.get(var)).copied();
    let known = |size: &Size| {
        size.free_vars()
            .all(|var| when(var).is_some_and(|moment| moment < start))
    };
    if when(&to.block).is_none_or(|moment| moment > start) {
        return Err(format!("the block `{}` is made only after it", to.block.name));
    }
    let alloc = memory
        .allocs
        .values()
        .flatten()
        .find(|alloc| alloc.block == to.block);
    let parts = to
        .lmad
        .dims
        .iter()
        .flat_map(|dim| [&dim.length, &dim.stride])
        .chain([&to.lmad.offset]);
    match parts
        .chain(alloc.map(|alloc| &alloc.cells))
        .find(|part| !known(part))
    {
        Some(part) => Err(format!("`{part}` is known only after it")),
        None => Ok(()),
    }
}

/// When a block is made, if a statement of its own makes it.
fn made_at(index: &Index<'_>, memory: &Memory, block: &Var) -> Option<Moment> {
    let mut stmts = index.stmts.iter();
    let made = stmts.find(|info| {
        let allocs = key(info.stmt).and_then(|key| memory.allocs.get(key));
        allocs.is_some_and(|allocs| allocs.iter().any(|alloc| alloc.block == *block))
    });
    made.map(|info| info.start)
}

/// Where what was copied is used after the copy, nothing else is written to where it then is before that.
fn unchanged_after(
    index: &Index<'_>,
    memory: &Memory,
    to: &Home,
    from: &Home,
    copy: &Copy,
) -> Result<(), String> {
    let copying = copy.stmt.and_then(|at| index.stmts.get(at));
    let copied = copying.map_or(copy.at, |info| info.end);
    let readers = blocks_read(index, memory);
    let readers = readers.iter().filter(|(_, blocks)| blocks.contains(&from.block));
    let last = readers
        .filter_map(|(var, _)| Some((var, *index.uses.get(var)?.iter().max()?)))
        .filter(|(_, last)| *last > copied)
        .max_by_key(|(_, last)| *last);
    let Some((var, last)) = last else {
        return Ok(());
    };
    let class = crate::index::Aliases::new(index, memory).class(&to.block);
    let writes = |info: &StmtInfo<'_>| {
        let [value] = info.stmt.pattern.values.as_slice() else {
            return true;
        };
        !matches!(
            crate::derive::derive(&info.stmt.exp, &value.ty, memory, &index.env),
            crate::derive::Derived::Same(_)
        )
    };
    let mut later = index
        .stmts
        .iter()
        .filter(|info| info.start >= copied && info.start < last);
    let writer = later.find(|info| {
        let values = info.stmt.pattern.values.iter();
        let mut homes = values
            .filter_map(|value| memory.storage.get(&value.var))
            .flatten()
            .filter_map(Storage::home);
        homes.any(|home| class.contains(&home.block)) && writes(info)
    });
    match writer {
        Some(_) => Err(format!(
            "`{}` is used after `{}` is written to again",
            index.name(var),
            to.block.name
        )),
        None => Ok(()),
    }
}
