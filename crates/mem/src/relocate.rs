//! Moves an array to another place, and everything that is derived from it with it.

use crate::derive::{Derived, derive};
use crate::index::{Index, direct_uses, function_of};
use crate::introduce::same_cells;
use crate::ir::{Given, Home, Item, Memory, Storage};
use crate::leaves::Leaf;
use almach_core::{Atom, Size, Var};
use almach_prim::Prim;
use std::collections::HashSet;

/// Memory in which the block of an array is gone, and all that was in it is where `to` says. None where something in the block
/// cannot follow: it is handed on as a block of its own, or has no descriptor in the new place.
pub fn relocate(index: &Index<'_>, memory: &Memory, owner: &Var, leaf: usize, to: &Home) -> Option<Memory> {
    let old = memory.storage.get(owner)?.get(leaf)?.home()?.clone();
    if old.block == to.block {
        return None;
    }
    let mut moved = memory.clone();
    let removed = remove_alloc(&mut moved, &old.block);
    if !removed {
        return None;
    }
    let moves = with_rows(index, memory, &old, to);
    let mut touched = HashSet::new();
    for (var, leaves) in &mut moved.storage {
        for storage in leaves {
            let Storage::Placed(home) = storage else {
                continue;
            };
            let new = moves.iter().find(|(old, _)| index.same_home(home, old));
            if let Some((_, new)) = new
                && let Some(lmad) = crate::derive::with_lengths(&new.lmad, &lengths(home))
            {
                *home = Home {
                    block: new.block.clone(),
                    lmad,
                };
                touched.insert(var.clone());
            }
        }
    }
    if same_cells(&index.normalised(&old.lmad), &index.normalised(&to.lmad)) {
        rename_given(&mut moved, &old.block, &to.block);
    }
    follow(index, memory, &mut moved, touched)?;
    (!mentions(&moved, &old.block)).then_some(moved)
}

/// A place and its new one, and those of the rows that iterations build there.
fn with_rows(index: &Index<'_>, memory: &Memory, old: &Home, to: &Home) -> Vec<(Home, Home)> {
    let mut moves = vec![(old.clone(), to.clone())];
    // In the order of the text, so that rows of rows follow.
    for info in &index.stmts {
        let counter = crate::ir::key(info.stmt)
            .and_then(|key| memory.heads.get(key))
            .and_then(|head| head.index.as_ref());
        let (Some((op, _)), Some(counter)) = (function_of(&info.stmt.exp), counter) else {
            continue;
        };
        if op.prim != Prim::Map {
            continue;
        }
        let at = Size::var(counter.clone());
        let values = info.stmt.pattern.values.iter();
        let homes = values
            .filter_map(|value| memory.storage.get(&value.var))
            .flatten();
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

pub fn remove_alloc(memory: &mut Memory, block: &Var) -> bool {
    let mut removed = false;
    for allocs in memory.allocs.values_mut() {
        let before = allocs.len();
        allocs.retain(|alloc| alloc.block != *block);
        removed |= allocs.len() < before;
    }
    memory.allocs.retain(|_, allocs| !allocs.is_empty());
    removed
}

fn all_items(memory: &mut Memory) -> impl Iterator<Item = &mut Item> {
    let heads = memory.heads.values_mut().flat_map(|head| head.items.iter_mut());
    heads.chain(
        memory
            .functions
            .iter_mut()
            .flat_map(|function| function.results.iter_mut()),
    )
}

fn rename_given(memory: &mut Memory, old: &Var, new: &Var) {
    for item in all_items(memory) {
        for given in &mut item.given {
            if matches!(given, Given::Block(block) if block == old) {
                *given = Given::Block(new.clone());
            }
        }
    }
}

/// Whether anything is in a block, or hands it on.
pub fn mentions(memory: &Memory, block: &Var) -> bool {
    let placed = memory
        .storage
        .values()
        .flatten()
        .filter_map(Storage::home)
        .any(|home| home.block == *block);
    placed || is_given(memory, block)
}

pub fn is_given(memory: &Memory, block: &Var) -> bool {
    given(memory).any(|given| given == block)
}

/// The blocks that statements and functions hand on.
pub fn all_given(memory: &Memory) -> HashSet<Var> {
    given(memory).cloned().collect()
}

fn given(memory: &Memory) -> impl Iterator<Item = &Var> {
    let heads = memory.heads.values().flat_map(|head| &head.items);
    let results = memory.functions.iter().flat_map(|function| &function.results);
    let given = heads.chain(results).flat_map(|item| &item.given);
    given.filter_map(|given| match given {
        Given::Block(block) => Some(block),
        Given::Alloc(_) | Given::Integer(_) => None,
    })
}

/// Derives again what was derived before, from what was touched.
fn follow(index: &Index<'_>, before: &Memory, after: &mut Memory, mut touched: HashSet<Var>) -> Option<()> {
    for info in &index.stmts {
        let stmt = info.stmt;
        let mut concerned = false;
        direct_uses(&stmt.exp, &mut |atom| {
            concerned |= matches!(atom, Atom::Var(var) if touched.contains(var));
        });
        if !concerned {
            continue;
        }
        if let Some((op, function)) = function_of(&stmt.exp) {
            let head = crate::ir::key(stmt).and_then(|key| after.heads.get(key));
            if let Some(counter) = head.and_then(|head| head.index.clone()) {
                let (first, arrays): (usize, &[Atom]) = match op.prim {
                    Prim::Map | Prim::Filter | Prim::Partition => (0, &op.args),
                    Prim::ToGlobal | Prim::ToLocal | Prim::ToPrivate => {
                        for (param, arg) in function.params.iter().zip(&op.args) {
                            let storage = after.of(arg).to_vec();
                            if !storage.is_empty() {
                                after.storage.insert(param.var.clone(), storage);
                                touched.insert(param.var.clone());
                            }
                        }
                        continue;
                    }
                    _ => (1, op.args.last().map(std::slice::from_ref).unwrap_or_default()),
                };
                for (param, array) in function.params.iter().skip(first).zip(arrays) {
                    rows(index, after, &param.var, array, &counter);
                    touched.insert(param.var.clone());
                }
            }
            continue;
        }
        let [value] = stmt.pattern.values.as_slice() else {
            continue;
        };
        match (
            derive(&stmt.exp, &value.ty, before, &index.env),
            derive(&stmt.exp, &value.ty, after, &index.env),
        ) {
            (Derived::Same(_), Derived::Same(storage)) => {
                if !storage.is_empty() {
                    after.storage.insert(value.var.clone(), storage);
                    touched.insert(value.var.clone());
                }
            }
            (Derived::Not, Derived::Not) => {}
            _ => return None,
        }
    }
    Some(())
}

/// Rows that were in a block are where they are in the array now.
fn rows(index: &Index<'_>, memory: &mut Memory, param: &Var, array: &Atom, counter: &Var) {
    let Atom::Var(var) = array else {
        return;
    };
    let at = Size::var(counter.clone());
    let found = index.leaves(var);
    let pairs = found.iter().zip(memory.of(array));
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
    for (storage, row) in memory.storage.get_mut(param).into_iter().flatten().zip(rows) {
        if let (Storage::Placed(home), Some(row)) = (storage, row) {
            *home = row;
        }
    }
}
