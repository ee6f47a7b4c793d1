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
//! and in `with` where the array is updated in place. What an `if` or `case` gives is built there by each branch that makes it.
//!
//! The conditions, for an array `x` made by a statement and copied to a place `p` by a later one of the same body:
//! - the block of `p`, and the variables of its descriptor, are there before `x` is made (an allocation is moved up);
//! - between the two, nothing is read from or written to the block of `p`, unless `almach_lmad` proves that it is disjoint from `p`;
//! - everything derived from `x` has a descriptor in the new place.
//!
//! - Removes: blocks of arrays that are copied once, and those copies.
//! - Introduces: nothing.
//! - Guarantees: nothing but places changes.

mod branches;
mod undisturbed;

use super::{Log, Note, Obstacle};
use crate::check::Changes;
use crate::copies::{CopyPoint, Role, copy_points};
use crate::draft::Draft;
use crate::index::{BodyId, BodyInfo, BodyKind, Index, Moment, StmtInfo};
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
    let mut pass = ShortCircuit {
        changes: Changes::of(&index),
        draft: Draft::new(&index, program.memory),
        refused: HashSet::new(),
    };
    // A step may make another one possible that comes before it.
    while pass.sweep(log) == Sweep::Changed {}
    let memory = pass.draft.into_memory();
    Annotated {
        core: program.core,
        memory,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sweep {
    Changed,
    Unchanged,
}

struct ShortCircuit<'i, 'p> {
    draft: Draft<'i, 'p>,
    changes: Changes,
    refused: HashSet<(Var, usize, Moment)>,
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

impl ShortCircuit<'_, '_> {
    /// Tries all copies. Ends first: what a result is put together from then goes where the result is.
    fn sweep(&mut self, log: &mut Log) -> Sweep {
        let index = self.draft.index();
        let mut sweep = Sweep::Unchanged;
        for (id, info) in index.bodies.iter().enumerate() {
            while self.step(body_end(&self.draft, BodyId(id), info), log) == Sweep::Changed {
                sweep = Sweep::Changed;
            }
        }
        for (at, info) in index.stmts.iter().enumerate() {
            while self.step(statement(&self.draft, at, info), log) == Sweep::Changed {
                sweep = Sweep::Changed;
            }
        }
        sweep
    }

    /// The first of these copies that need not be; then the others are looked at anew.
    fn step(&mut self, copies: Vec<Copy>, log: &mut Log) -> Sweep {
        let index = self.draft.index();
        for copy in copies {
            let home = self
                .draft
                .storage
                .get(&copy.source)
                .and_then(|all| all.get(copy.leaf));
            let in_place = home
                .and_then(Storage::home)
                .is_some_and(|home| index.same_home(home, &copy.to));
            let refused = (copy.source.clone(), copy.leaf, copy.at);
            if in_place || self.refused.contains(&refused) {
                continue;
            }
            let mark = self.draft.mark();
            match attempt(&mut self.draft, &mut self.changes, &copy) {
                Ok(proofs) => {
                    let why = format!(
                        "`{}` is built where it will be, in `{}`",
                        index.name(&copy.source),
                        copy.to.block.name
                    );
                    log.notes.push(Note::done(&copy.source, why).proved(proofs));
                    return Sweep::Changed;
                }
                Err(obstacle) => {
                    self.draft.rollback(mark);
                    self.refused.insert(refused);
                    log.notes.push(Note::left(&copy.source, obstacle));
                }
            }
        }
        Sweep::Unchanged
    }
}

/// Copies that a statement makes.
fn statement(draft: &Draft<'_, '_>, at: usize, info: &StmtInfo<'_>) -> Vec<Copy> {
    let index = draft.index();
    let points = copy_points(info.stmt, draft, &index.env);
    let old_in_place = points
        .iter()
        .filter(|point| point.role == Role::Old)
        .all(|point| is_there(index, draft, point));
    if !old_in_place {
        return Vec::new();
    }
    let parts = points.into_iter().filter(|point| point.role == Role::Part);
    let copies = parts.filter_map(|point| match point.source {
        Atom::Var(source) => Some(Copy {
            source,
            leaf: point.leaf,
            to: point.to,
            body: info.body,
            at: info.start,
            stmt: Some(at),
            fresh: None,
        }),
        Atom::Const(_) => None,
    });
    copies.collect()
}

fn is_there(index: &Index<'_>, memory: &Memory, point: &CopyPoint) -> bool {
    let home = memory.of(&point.source).get(point.leaf).and_then(Storage::home);
    home.is_some_and(|home| index.same_home(home, &point.to))
}

/// Copies at the ends of the functions of `map`, and of functions.
fn body_end(draft: &Draft<'_, '_>, body: BodyId, info: &BodyInfo<'_>) -> Vec<Copy> {
    let index = draft.index();
    let mut out = Vec::new();
    match info.kind {
        BodyKind::Lambda => {
            let around = info.around.and_then(|at| index.stmts.get(at));
            if let Some(around) = around {
                map_end(index, draft, around.stmt, body, &mut out);
            }
        }
        BodyKind::Function(function) => function_end(index, draft, function, body, &mut out),
        BodyKind::Branch | BodyKind::Loop => {}
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

/// What was proved for a step; or what is in the way.
type Attempt = Result<Vec<String>, Obstacle>;

/// The draft is to be rolled back where something is in the way.
fn attempt(draft: &mut Draft<'_, '_>, changes: &mut Changes, copy: &Copy) -> Attempt {
    let index = draft.index();
    let (owner, leaf, lmad) = owner_of(index, draft, copy)?;
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
    let home = draft.storage.get(&owner).and_then(|all| all.get(leaf));
    let Some(home) = home.and_then(Storage::home).cloned() else {
        return Err(format!("`{}` is in no block", index.name(&owner)).into());
    };
    let array = Array {
        owner,
        leaf,
        home,
        made,
    };
    let is_chosen = matches!(made.stmt.exp, Exp::If { .. } | Exp::Case { .. });
    if !is_chosen {
        has_own_block(draft, &array)?;
    }
    let mark = draft.mark();
    let to = Home {
        block: make_block(draft, copy, made),
        lmad,
    };
    there_before(draft, &to, made.start)?;
    let proofs = match is_chosen {
        true => branches::build_there(draft, &array, &to, copy)?,
        false => {
            let proofs = undisturbed(draft, &to, &array.home, made, copy)?;
            unchanged_after(draft, &to, &array.home, copy)?;
            put_there(draft, &array, &to)?;
            proofs
        }
    };
    match changes.check(draft, mark) {
        Ok(()) => Ok(proofs),
        Err(broken) => Err(broken.message.into()),
    }
}

/// A leaf of an array, where it is now and the statement that makes it.
struct Array<'i, 'p> {
    owner: Var,
    leaf: usize,
    home: Home,
    made: &'i StmtInfo<'p>,
}

/// Whether the statement that makes an array makes its block, for it alone. (A larger block was moved up for something that this array
/// is part of, and which has to stay with it.)
fn has_own_block(draft: &Draft<'_, '_>, array: &Array<'_, '_>) -> Result<(), String> {
    let index = draft.index();
    let own = key(array.made.stmt).and_then(|key| draft.allocs.get(key));
    let leaves = index.leaves(&array.owner);
    let cells = leaves.get(array.leaf).map_or_else(Size::zero, Leaf::cells);
    let is_own = |alloc: &Alloc| alloc.block == array.home.block && index.env.same_size(&alloc.cells, &cells);
    match own.is_some_and(|allocs| allocs.iter().any(is_own)) {
        true => Ok(()),
        false => Err(format!(
            "`{}` is in a block that others have made",
            index.name(&array.owner)
        )),
    }
}

fn put_there(draft: &mut Draft<'_, '_>, array: &Array<'_, '_>, to: &Home) -> Result<(), String> {
    let stays = cannot_follow(draft.index(), array, to);
    relocate(draft, &array.owner, array.leaf, to).ok_or(stays)
}

fn cannot_follow(index: &Index<'_>, array: &Array<'_, '_>, to: &Home) -> String {
    format!(
        "something that is taken from `{}` has no descriptor in `{}`",
        index.name(&array.owner),
        to.block.name
    )
}

/// The block that an array is copied to, which is made before the array is.
fn make_block(draft: &mut Draft<'_, '_>, copy: &Copy, made: &StmtInfo<'_>) -> Var {
    let Some(before) = key(made.stmt) else {
        return copy.to.block.clone();
    };
    if let Some((alloc, place)) = &copy.fresh {
        let block = draft.fresh(&alloc.block.name);
        let first = Alloc {
            block: block.clone(),
            ..alloc.clone()
        };
        draft.add_alloc(before, first);
        let function = draft.functions.get(place.function);
        let mut results = function.map_or_else(Vec::new, |function| function.results.clone());
        if let Some(item) = results.get_mut(place.result) {
            item.given = vec![Given::Block(block.clone())];
        }
        draft.set_results(place.function, results);
        return block;
    }
    let block = copy.to.block.clone();
    let copying = copy.stmt.and_then(|at| draft.index().stmts.get(at));
    let beside = draft.alloc(&block).map(|(_, info)| info.start) == copying.map(|info| info.start);
    if copying.is_some()
        && beside
        && let Some(alloc) = draft.remove_alloc(&block)
    {
        draft.add_alloc(before, alloc);
    }
    block
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

/// The block, its size and the parts of the descriptor are known at that moment.
fn there_before(draft: &Draft<'_, '_>, to: &Home, start: Moment) -> Result<(), String> {
    let known = |size: &Size| {
        size.free_vars()
            .all(|var| draft.when(var).is_some_and(|moment| moment < start))
    };
    if draft.when(&to.block).is_none_or(|moment| moment > start) {
        return Err(format!("the block `{}` is made only after it", to.block.name));
    }
    let alloc = draft.alloc(&to.block).map(|(alloc, _)| alloc);
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

/// After the copy, nothing is written to one of the two while the other is used: what was copied would be overwritten with what
/// it was copied to, and the other way round.
fn unchanged_after(draft: &Draft<'_, '_>, to: &Home, from: &Home, copy: &Copy) -> Result<(), String> {
    let copying = copy.stmt.and_then(|at| draft.index().stmts.get(at));
    let copied = copying.map_or(copy.at, |info| info.end);
    let (theirs, own) = (draft.class(&to.block), draft.class(&from.block));
    used_after_writes(draft, copied, &own, &theirs)?;
    used_after_writes(draft, copied, &theirs, &own)
}

/// Of some blocks, nothing that was there before is used while or after something is made in others, from a moment on: two views
/// of a block are one array each, and only the one that is written to in place is known to be dead.
fn used_after_writes(
    draft: &Draft<'_, '_>,
    since: Moment,
    used: &HashSet<Var>,
    written: &HashSet<Var>,
) -> Result<(), String> {
    let index = draft.index();
    let placed = written.iter().flat_map(|block| draft.placed_in(block));
    let makers = placed.filter_map(|var| {
        let at = index.defs.get(&var).copied()?;
        let info = index.stmts.get(at)?;
        let derived = info.stmt.pattern.values.len() == 1 && draft.is_derived(at);
        (info.start >= since && !derived).then_some((info.start, var))
    });
    let makers: Vec<(Moment, Var)> = makers.collect();
    for var in draft.readers(used) {
        let bound = index.bound.get(&var).copied().unwrap_or(0);
        let last = index.uses.get(&var).into_iter().flatten().max();
        let disturbed = makers
            .iter()
            .find(|(start, made)| *made != var && bound <= *start && last.is_some_and(|last| *last > *start));
        if let Some((_, made)) = disturbed {
            return Err(format!(
                "`{}` is used after `{}` is made in the same memory",
                index.name(&var),
                index.name(made)
            ));
        }
    }
    Ok(())
}
