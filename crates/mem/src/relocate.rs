//! Moves an array to another place, and everything that is derived from it with it.

use crate::copies::{Role, copy_points_to};
use crate::derive::{Derived, derive, with_lengths};
use crate::draft::Draft;
use crate::index::{Index, StmtInfo, function_of};
use crate::introduce::same_cells;
use crate::ir::{Home, Storage, key};
use crate::leaves::Leaf;
use almach_core::{Atom, Lambda, Op, Size, Var};
use almach_prim::Prim;
use std::collections::BTreeSet;

/// Takes the block of an array away, and puts all that was in it where `to` says. None where something in the block cannot follow:
/// it is handed on as a block of its own, or has no descriptor in the new place. The draft is then to be rolled back.
pub fn relocate(draft: &mut Draft<'_, '_>, owner: &Var, leaf: usize, to: &Home) -> Option<()> {
    let old = draft.storage.get(owner)?.get(leaf)?.home()?.clone();
    if old.block == to.block {
        return None;
    }
    draft.remove_alloc(&old.block)?;
    empty(draft, &old, to)
}

/// Puts all that is in a block, which nobody makes any more, where `to` says that the array at `old` is now.
pub fn empty(draft: &mut Draft<'_, '_>, old: &Home, to: &Home) -> Option<()> {
    let index = draft.index();
    let moves = with_parts(draft, old, to);
    let mut touched = Vec::new();
    for var in draft.placed_in(&old.block) {
        let mut storage = draft.storage.get(&var)?.clone();
        let mut moved = false;
        for one in &mut storage {
            let Storage::Placed(home) = one else {
                continue;
            };
            let new = moves.iter().find(|(old, _)| index.same_home(home, old));
            if let Some((_, new)) = new
                && let Some(lmad) = with_lengths(&new.lmad, &lengths(home))
            {
                *home = Home {
                    block: new.block.clone(),
                    lmad,
                };
                moved = true;
            }
        }
        if moved {
            draft.set_storage(&var, storage);
            touched.push(var);
        }
    }
    if same_cells(&index.normalised(&old.lmad), &index.normalised(&to.lmad)) {
        draft.rename_given(&old.block, &to.block);
    }
    follow(draft, touched)?;
    (!draft.mentions(&old.block)).then_some(())
}

/// A place and its new one, and those of what was built there: rows that iterations make, and parts that statements would copy to
/// it.
fn with_parts(draft: &Draft<'_, '_>, old: &Home, to: &Home) -> Vec<(Home, Home)> {
    let index = draft.index();
    let mut moves = vec![(old.clone(), to.clone())];
    let placed = draft.placed_in(&old.block);
    let stmts: BTreeSet<usize> = placed
        .iter()
        .filter_map(|var| index.defs.get(var).copied())
        .collect();
    let stmts: Vec<&StmtInfo<'_>> = stmts.into_iter().filter_map(|at| index.stmts.get(at)).collect();
    // In the order of the text, so that rows of rows follow. A part is made before what it is part of, so its own are found when all are
    // looked at again.
    let mut before = 0;
    while before < moves.len() {
        before = moves.len();
        for info in &stmts {
            let found = match function_of(&info.stmt.exp) {
                Some((op, _)) => rows_of(draft, info, op, &moves),
                None => parts_of(draft, info, &moves),
            };
            for (old, new) in found {
                if !moves.iter().any(|(known, _)| index.same_home(known, &old)) {
                    moves.push((old, new));
                }
            }
        }
    }
    moves
}

fn moved<'m>(draft: &Draft<'_, '_>, home: &Home, moves: &'m [(Home, Home)]) -> Option<&'m (Home, Home)> {
    moves.iter().find(|(old, _)| draft.index().same_home(home, old))
}

/// The rows that iterations of a `map` make.
fn rows_of(draft: &Draft<'_, '_>, info: &StmtInfo<'_>, op: &Op, moves: &[(Home, Home)]) -> Vec<(Home, Home)> {
    let counter = key(info.stmt)
        .and_then(|key| draft.heads.get(key))
        .and_then(|head| head.index.as_ref());
    let (Some(counter), Prim::Map) = (counter, op.prim) else {
        return Vec::new();
    };
    let at = Size::var(counter.clone());
    let row = |home: &Home| {
        Some(Home {
            block: home.block.clone(),
            lmad: home.lmad.index(&at)?,
        })
    };
    let values = info.stmt.pattern.values.iter();
    let homes = values.filter_map(|value| draft.storage.get(&value.var)).flatten();
    let homes = homes.filter_map(Storage::home);
    homes
        .filter_map(|home| {
            let (old, new) = moved(draft, home, moves)?;
            Some((row(old)?, row(new)?))
        })
        .collect()
}

/// The parts of what a statement makes that are there already.
fn parts_of(draft: &Draft<'_, '_>, info: &StmtInfo<'_>, moves: &[(Home, Home)]) -> Vec<(Home, Home)> {
    let index = draft.index();
    let [value] = info.stmt.pattern.values.as_slice() else {
        return Vec::new();
    };
    let Some(before) = draft.storage.get(&value.var) else {
        return Vec::new();
    };
    let mut after = before.clone();
    for one in &mut after {
        let Storage::Placed(home) = one else { continue };
        if let Some((_, new)) = moved(draft, home, moves) {
            *home = new.clone();
        }
    }
    if *before == after {
        return Vec::new();
    }
    let points = |storage: &[Storage]| copy_points_to(info.stmt, storage, &index.env);
    let pairs = points(before).into_iter().zip(points(&after));
    let in_place = pairs.filter(|(old, _)| {
        let home = draft.of(&old.source).get(old.leaf).and_then(Storage::home);
        old.role == Role::Part && home.is_some_and(|home| index.same_home(home, &old.to))
    });
    in_place.map(|(old, new)| (old.to, new.to)).collect()
}

fn lengths(home: &Home) -> Vec<Size> {
    home.lmad.dims.iter().map(|dim| dim.length.clone()).collect()
}

/// Derives again what was derived before, from what was touched.
fn follow(draft: &mut Draft<'_, '_>, touched: Vec<Var>) -> Option<()> {
    let index = draft.index();
    let takers = |var: &Var| {
        let uses = index.uses.get(var).into_iter().flatten();
        uses.filter_map(|at| index.taker_number(*at))
            .collect::<Vec<usize>>()
    };
    // What a statement touches is used by later ones, so the order of the text comes to each once.
    let mut open: BTreeSet<usize> = touched.iter().flat_map(takers).collect();
    while let Some(at) = open.pop_first() {
        let Some(info) = index.stmts.get(at) else {
            continue;
        };
        if let Some((op, function)) = function_of(&info.stmt.exp) {
            for var in follow_into(draft, info, op, function) {
                open.extend(takers(&var));
            }
            continue;
        }
        let [value] = info.stmt.pattern.values.as_slice() else {
            continue;
        };
        let found = derive(&info.stmt.exp, &value.ty, draft, &index.env);
        match (draft.is_derived(at), found) {
            (true, Derived::Same(storage)) => {
                if !storage.is_empty() {
                    draft.set_storage(&value.var, storage);
                    open.extend(takers(&value.var));
                }
            }
            (false, Derived::Not) => {}
            _ => return None,
        }
    }
    Some(())
}

/// What the function of an operation takes is where it is in the operands now.
fn follow_into(draft: &mut Draft<'_, '_>, info: &StmtInfo<'_>, op: &Op, function: &Lambda) -> Vec<Var> {
    let index = draft.index();
    let head = key(info.stmt).and_then(|key| draft.heads.get(key));
    let Some(counter) = head.and_then(|head| head.index.clone()) else {
        return Vec::new();
    };
    let mut touched = Vec::new();
    let (first, arrays): (usize, &[Atom]) = match op.prim {
        Prim::Map | Prim::Filter | Prim::Partition => (0, &op.args),
        Prim::ToGlobal | Prim::ToLocal | Prim::ToPrivate => {
            for (param, arg) in function.params.iter().zip(&op.args) {
                let storage = draft.of(arg).to_vec();
                if !storage.is_empty() {
                    draft.set_storage(&param.var, storage);
                    touched.push(param.var.clone());
                }
            }
            return touched;
        }
        _ => (1, op.args.last().map(std::slice::from_ref).unwrap_or_default()),
    };
    for (param, array) in function.params.iter().skip(first).zip(arrays) {
        if let Some(storage) = rows(index, draft, &param.var, array, &counter)
            && draft.storage.get(&param.var) != Some(&storage)
        {
            draft.set_storage(&param.var, storage);
            touched.push(param.var.clone());
        }
    }
    touched
}

/// Rows that were in a block are where they are in the array now.
fn rows(
    index: &Index<'_>,
    draft: &Draft<'_, '_>,
    param: &Var,
    array: &Atom,
    counter: &Var,
) -> Option<Vec<Storage>> {
    let Atom::Var(var) = array else {
        return None;
    };
    let at = Size::var(counter.clone());
    let found = index.leaves(var);
    let pairs = found.iter().zip(draft.of(array));
    let rows: Vec<Option<Home>> = pairs
        .filter(|(leaf, _)| matches!(leaf, Leaf::Cells { dims, .. } if dims.len() > 1))
        .map(|(_, storage)| {
            let home = storage.home()?;
            Some(Home {
                block: home.block.clone(),
                lmad: home.lmad.index(&at)?,
            })
        })
        .collect();
    let mut storage = draft.storage.get(param)?.clone();
    for (one, row) in storage.iter_mut().zip(rows) {
        if let (Storage::Placed(home), Some(row)) = (one, row) {
            *home = row;
        }
    }
    Some(storage)
}
