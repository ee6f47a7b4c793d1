//! Operations with functions: the functions see rows where they are in the array, and accumulate in a block.

use super::{Introduce, same_cells, stays_a_view};
use crate::ir::{Given, Memory, Storage, key};
use crate::leaves::Leaf;
use almach_core::visit::{Walk, walk_body, walk_stmt};
use almach_core::{Atom, Lambda, Op, Stmt, Var};
use almach_prim::Prim;
use std::collections::HashSet;

impl Introduce {
    pub(super) fn operation(&mut self, stmt: &Stmt, op: &Op) {
        if stays_a_view(op) && !matches!(op.prim, Prim::ToGlobal | Prim::ToLocal | Prim::ToPrivate) {
            return self.operation_as_view(stmt, op);
        }
        let index = self.memory.fresh("i");
        let mark = self.bound.len();
        self.in_scope(&index);
        let [function] = op.functions.as_slice() else {
            self.bind_pattern(stmt);
            return self.held(&stmt.pattern);
        };
        match op.prim {
            Prim::Reduce | Prim::ReduceComm | Prim::ReduceSeq => {
                let arrays = op.args.get(1..).unwrap_or_default();
                let state = self.fold(stmt, function, arrays, (mark, &index));
                self.bind_pattern(stmt);
                self.reduced(stmt, state);
            }
            Prim::Scan | Prim::ScanExclusive | Prim::ReduceByIndex => {
                let arrays = op.args.last().map(std::slice::from_ref).unwrap_or_default();
                self.fold(stmt, function, arrays, (mark, &index));
                self.bind_pattern(stmt);
                self.manifest(stmt);
            }
            // Its elements are scalars, and rows of their own sizes are in no block.
            Prim::ScanRows | Prim::ScanRowsExclusive => {
                self.fold(stmt, function, &[], (mark, &index));
                self.bind_pattern(stmt);
                self.manifest(stmt);
            }
            Prim::ToGlobal | Prim::ToLocal | Prim::ToPrivate => {
                for (param, arg) in function.params.iter().zip(&op.args) {
                    let storage = self.memory.of(arg).to_vec();
                    self.store(&param.var, storage);
                }
                self.lambda(function);
                self.leave(mark);
                self.bind_pattern(stmt);
                self.manifest(stmt);
            }
            _ => {
                self.rows(function, &op.args, 0, &index);
                self.lambda(function);
                self.leave(mark);
                self.bind_pattern(stmt);
                self.manifest(stmt);
            }
        }
        self.set_index(stmt, index);
    }

    /// The function of a fold, and where its state is. A function that gives a rearrangement of its own state cannot write it where
    /// it reads it: such a state is in no block.
    fn fold(
        &mut self,
        stmt: &Stmt,
        function: &Lambda,
        arrays: &[Atom],
        (mark, index): (usize, &Var),
    ) -> Vec<Storage> {
        let arrays_in_state = function
            .params
            .first()
            .is_some_and(|param| !self.leaves(&param.ty).is_empty());
        let blocks_before = key(stmt)
            .and_then(|key| self.memory.allocs.get(key))
            .map_or(0, Vec::len);
        let state = self.accumulator(stmt, function);
        self.leave_index(mark, index);
        let lambda = |pass: &mut Introduce| {
            pass.with_index(index, |pass| {
                pass.rows(function, arrays, 1, index);
                pass.lambda(function);
            });
        };
        lambda(self);
        if !arrays_in_state || !self.meets_its_state(function, &state) {
            return state;
        }
        self.leave(mark);
        walk_body(&mut Forget(&mut self.memory), &function.body);
        if let Some(allocs) = key(stmt).and_then(|key| self.memory.allocs.get_mut(key)) {
            allocs.truncate(blocks_before);
        }
        if let Some(key) = key(stmt).filter(|key| self.memory.allocs.get(key).is_some_and(Vec::is_empty)) {
            self.memory.allocs.remove(key);
        }
        let held: Vec<Storage> = state.iter().map(|_| Storage::Held).collect();
        if let Some(param) = function.params.first() {
            self.store(&param.var, held.clone());
        }
        lambda(self);
        held
    }

    /// Whether a result of the function may be in a block of its state, but not just where it is to be.
    fn meets_its_state(&self, function: &Lambda, state: &[Storage]) -> bool {
        let blocks: HashSet<&Var> = state
            .iter()
            .filter_map(Storage::home)
            .map(|home| &home.block)
            .collect();
        if blocks.is_empty() {
            return false;
        }
        let results = function
            .body
            .values
            .iter()
            .flat_map(|value| self.memory.of(value));
        results.zip(state).any(|(result, state)| match (result, state) {
            (Storage::Placed(result), Storage::Placed(state)) => {
                let there = result.block == state.block && same_cells(&result.lmad, &state.lmad);
                !there && self.may_be(&result.block, &blocks)
            }
            (Storage::View, Storage::Placed(_)) => true,
            _ => false,
        })
    }

    /// Whether a block is one of these, or may have been handed on from one.
    fn may_be(&self, block: &Var, blocks: &HashSet<&Var>) -> bool {
        let mut seen: HashSet<Var> = HashSet::new();
        let mut open = vec![block.clone()];
        while let Some(block) = open.pop() {
            if blocks.contains(&block) {
                return true;
            }
            if !seen.insert(block.clone()) {
                continue;
            }
            let head = self
                .binders
                .get(&block)
                .and_then(|stmt| self.memory.heads.get(stmt));
            let items = head.into_iter().flat_map(|head| &head.items);
            for item in items.filter(|item| item.var == block || item.inside.as_ref() == Some(&block)) {
                // A call may give a block that it was given.
                if item.given.is_empty() {
                    return true;
                }
                open.extend(item.given.iter().filter_map(|given| match given {
                    Given::Block(block) => Some(block.clone()),
                    Given::Alloc(_) | Given::Integer(_) | Given::Found => None,
                }));
            }
        }
        false
    }

    /// Blocks of accumulators stay in scope after the index has left it.
    fn leave_index(&mut self, mark: usize, index: &Var) {
        self.scope.remove(index);
        if self.bound.get(mark) == Some(index) {
            self.bound.remove(mark);
        }
    }

    fn with_index(&mut self, index: &Var, inside: impl FnOnce(&mut Introduce)) {
        let mark = self.bound.len();
        self.in_scope(index);
        inside(self);
        self.leave(mark);
    }

    fn set_index(&mut self, stmt: &Stmt, index: Var) {
        if self.unplaced == 0
            && let Some(key) = key(stmt)
        {
            self.memory.heads.entry(key.clone()).or_default().index = Some(index);
        }
    }

    /// A view's functions run when its elements are read, wherever that is: nothing inside is in a block.
    fn operation_as_view(&mut self, stmt: &Stmt, op: &Op) {
        self.unplaced += 1;
        for function in &op.functions {
            for param in &function.params {
                let storage = crate::leaves::leaves(&param.ty)
                    .iter()
                    .map(|_| Storage::Held)
                    .collect();
                self.store(&param.var, storage);
            }
            self.lambda(function);
        }
        self.unplaced -= 1;
        self.bind_pattern(stmt);
        for value in &stmt.pattern.values {
            let leaves = self.leaves(&value.ty);
            let storage = leaves.iter().map(|leaf| match leaf {
                Leaf::Cells { .. } if self.unplaced == 0 => Storage::View,
                _ => Storage::Held,
            });
            self.store(&value.var, storage.collect());
        }
    }

    fn lambda(&mut self, function: &Lambda) {
        self.inside(&function.context, &function.params, &function.body, |_| ());
    }

    /// Parameters from `first` on are rows of the arrays.
    fn rows(&mut self, function: &Lambda, arrays: &[Atom], first: usize, index: &Var) {
        for (param, array) in function.params.iter().skip(first).zip(arrays) {
            let storage = match function.context.is_empty() {
                true => self.row(array, index, &param.ty),
                false => self.leaves(&param.ty).iter().map(|_| Storage::Held).collect(),
            };
            self.store(&param.var, storage);
        }
    }

    /// Where the first parameter is: a block that serves all steps, or nowhere where its size changes.
    fn accumulator(&mut self, stmt: &Stmt, function: &Lambda) -> Vec<Storage> {
        let Some(param) = function.params.first() else {
            return Vec::new();
        };
        let fixed = function.context.is_empty() && function.result.context.is_empty();
        let storage: Vec<Storage> = self
            .leaves(&param.ty)
            .iter()
            .map(|leaf| match fixed {
                true => self.own_block(stmt, &param.var, leaf),
                false => Storage::Held,
            })
            .collect();
        self.store(&param.var, storage.clone());
        storage
    }

    /// A reduction's result is where it was accumulated.
    fn reduced(&mut self, stmt: &Stmt, state: Vec<Storage>) {
        let [value] = stmt.pattern.values.as_slice() else {
            return self.manifest(stmt);
        };
        let leaves = self.leaves(&value.ty);
        let held = |storage: &Storage| *storage == Storage::Held;
        if leaves.len() != state.len() || state.iter().any(held) {
            return self.manifest(stmt);
        }
        self.store(&value.var, state);
    }
}

/// Takes the memory of statements away, so that it can be introduced anew.
struct Forget<'a>(&'a mut Memory);

impl Walk for Forget<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        if let Some(key) = key(stmt) {
            self.0.allocs.remove(key);
            self.0.heads.remove(key);
        }
        for value in &stmt.pattern.values {
            self.0.storage.remove(&value.var);
        }
        walk_stmt(self, stmt);
    }
}
