//! Moves an array to another place, and everything that is derived from it with it.

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
    let index = draft.index();
    let old = draft.storage.get(owner)?.get(leaf)?.home()?.clone();
    if old.block == to.block {
        return None;
    }
    draft.remove_alloc(&old.block)?;
    let moves = with_rows(draft, &old, to);
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

/// A place and its new one, and those of the rows that iterations build there.
fn with_rows(draft: &Draft<'_, '_>, old: &Home, to: &Home) -> Vec<(Home, Home)> {
    let index = draft.index();
    let mut moves = vec![(old.clone(), to.clone())];
    let placed = draft.placed_in(&old.block);
    let stmts: BTreeSet<usize> = placed
        .iter()
        .filter_map(|var| index.defs.get(var).copied())
        .collect();
    // In the order of the text, so that rows of rows follow.
    for info in stmts.into_iter().filter_map(|at| index.stmts.get(at)) {
        let counter = key(info.stmt)
            .and_then(|key| draft.heads.get(key))
            .and_then(|head| head.index.as_ref());
        let (Some((op, _)), Some(counter)) = (function_of(&info.stmt.exp), counter) else {
            continue;
        };
        if op.prim != Prim::Map {
            continue;
        }
        let at = Size::var(counter.clone());
        let values = info.stmt.pattern.values.iter();
        let homes = values.filter_map(|value| draft.storage.get(&value.var)).flatten();
        for home in homes.filter_map(Storage::home) {
            let moved = moves.iter().find(|(old, _)| index.same_home(home, old));
            let row = |home: &Home| {
                Some(Home {
                    block: home.block.clone(),
                    lmad: home.lmad.index(&at)?,
                })
            };
            if let Some((old, new)) = moved.and_then(|(old, new)| Some((row(old)?, row(new)?))) {
                moves.push((old, new));
            }
        }
    }
    moves
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
