//! Introduces memory (FUNMEM, section 3.5): every array that a statement makes gets a block of its own, everything derived from
//! an array the descriptor of its part.
//!
//! ```text
//! let ys: [n]f32 = map (\(x: f32): f32 -> …) xs          let ys_mem: mem = alloc f32 (n)
//! let zs: [n]f32 = reverse ys                       ~>   let @{for i} ys: [n]f32 @ ys_mem -> 0 + {(n : 1)} = map …
//!                                                        let zs: [n]f32 @ ys_mem -> n - 1 + {(n : -1)} = reverse ys
//! ```
//!
//! Branches and loops hand on the blocks of their results, with the parts of descriptors in which branches differ, so that no
//! array is copied because of them. What a loop carries fills its block in row-major order; a new block comes out of every
//! iteration.
//!
//! - Removes: nothing.
//! - Introduces: storage of every array, blocks, heads of statements, memory of functions.
//! - Guarantees: what [`crate::check`] asks for; no array is overwritten.

mod control;
mod operations;
mod rows;

use crate::derive::{Derived, derive, is_view};
use crate::ir::{Alloc, Annotated, FunctionMemory, Given, Home, Item, Kind, Memory, Storage, key};
use crate::leaves::{Leaf, leaves};
use almach_core::build::{enter_params, enter_pattern};
use almach_core::typing::Env;
use almach_core::{Atom, Body, Exp, Function, Op, Param, Pattern, Program, Size, Stmt, Type, Var};
use almach_lmad::{Dim, Lmad};
use almach_prim::{Effect, Prim};
use std::collections::{HashMap, HashSet};

pub fn introduce(core: Program) -> Annotated {
    let mut pass = Introduce {
        memory: Memory {
            next_var: core.next_var,
            ..Memory::default()
        },
        env: Env::new(),
        scope: HashSet::new(),
        bound: Vec::new(),
        unplaced: 0,
        binders: HashMap::new(),
    };
    for (id, function) in core.functions.iter().enumerate() {
        let entry = core.entries.iter().any(|entry| entry.function.0 as usize == id);
        pass.function(function, if entry { Caller::Outside } else { Caller::Inside });
    }
    Annotated {
        core,
        memory: pass.memory,
    }
}

/// Who calls a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    /// Arguments are whole arrays in row-major order, and results are blocks of their own.
    Outside,
    Inside,
}

struct Introduce {
    memory: Memory,
    env: Env,
    scope: HashSet<Var>,
    /// What is in scope, in order, to leave it.
    bound: Vec<Var>,
    /// How many views are around: what is inside one is in no block.
    unplaced: usize,
    /// The statement that binds a block beside its pattern.
    binders: HashMap<Var, Var>,
}

impl Introduce {
    fn function(&mut self, function: &Function, caller: Caller) {
        let mut memory = FunctionMemory::default();
        self.bind_params(&function.context, &function.params);
        for param in &function.params {
            let leaves = self.leaves(&param.ty);
            let storage = leaves
                .iter()
                .map(|leaf| self.parameter(param, leaf, caller, &mut memory));
            let storage: Vec<Storage> = storage.collect();
            self.store(&param.var, storage);
        }
        self.stmts(&function.body.stmts);
        let mut taken: HashSet<Var> = match caller {
            Caller::Outside => memory.context.iter().map(|(var, _)| var.clone()).collect(),
            Caller::Inside => HashSet::new(),
        };
        for value in &function.body.values {
            for (leaf, storage) in self.leaves_of(value) {
                let Leaf::Cells { element, .. } = &leaf else {
                    let (_, items) = self.handed_rows(&leaf, "out", &[&storage]);
                    // An entry gives blocks of its own.
                    let items = items.into_iter().map(|item| match caller {
                        Caller::Outside => own(item, &mut taken),
                        Caller::Inside => item,
                    });
                    memory.results.extend(items);
                    continue;
                };
                let mut given = whole_block(&leaf, &storage);
                if let (Caller::Outside, Given::Block(block)) = (caller, &given)
                    && !taken.insert(block.clone())
                {
                    given = Given::Alloc(leaf.cells());
                }
                memory.results.push(Item {
                    var: self.memory.fresh("out_mem"),
                    kind: Kind::Block(*element),
                    inside: None,
                    given: vec![given],
                });
            }
        }
        self.leave(0);
        self.memory.functions.push(memory);
    }

    fn parameter(
        &mut self,
        param: &Param,
        leaf: &Leaf,
        caller: Caller,
        memory: &mut FunctionMemory,
    ) -> Storage {
        let name = param.var.name.as_str();
        let Leaf::Cells { element, .. } = leaf else {
            return self.rows_place(leaf, name, &mut |_, var, kind| {
                memory.context.push((var.clone(), kind));
            });
        };
        let block = self.bind_new(&format!("{name}_mem"));
        memory.context.push((block.clone(), Kind::Block(*element)));
        if caller == Caller::Outside {
            return placed(block, leaf);
        }
        let mut integer = |pass: &mut Introduce, what: &str| {
            let var = pass.bind_new(&format!("{name}_{what}"));
            memory.context.push((var.clone(), Kind::Integer));
            Size::var(var)
        };
        let offset = integer(self, "offset");
        let dims = leaf.shape().into_iter().map(|length| Dim {
            length,
            stride: integer(self, "stride"),
        });
        let lmad = Lmad {
            offset,
            dims: dims.collect(),
        };
        Storage::Placed(Home { block, lmad })
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.exp {
            Exp::If { then, otherwise, .. } => {
                self.branches(stmt, &[(&[], &[], then), (&[], &[], otherwise)])
            }
            Exp::Case { arms, default, .. } => {
                let mut bodies: Vec<control::Branch<'_>> = Vec::new();
                for arm in arms {
                    bodies.push((&arm.context, &arm.fields, &arm.body));
                }
                if let Some(body) = default {
                    bodies.push((&[], &[], body));
                }
                self.branches(stmt, &bodies);
            }
            Exp::Loop(looped) => self.looped(stmt, looped),
            // A function writes where its caller says, where the caller knows how much that is.
            Exp::Call { .. } if stmt.pattern.context.is_empty() && !self.makes_rows(&stmt.pattern) => {
                self.bind_pattern(stmt);
                self.manifest(stmt);
            }
            Exp::Call { .. } | Exp::Foreign { .. } => {
                self.bind_pattern(stmt);
                self.made_by_statement(stmt);
            }
            Exp::Op(op) if !op.functions.is_empty() => self.operation(stmt, op),
            _ => {
                self.bind_pattern(stmt);
                self.first_order(stmt);
            }
        }
    }

    /// A statement without bodies.
    fn first_order(&mut self, stmt: &Stmt) {
        let [value] = stmt.pattern.values.as_slice() else {
            return self.held(&stmt.pattern);
        };
        if let Derived::Same(storage) = derive(&stmt.exp, &value.ty, &self.memory, &self.env) {
            return self.store(&value.var, storage);
        }
        match &stmt.exp {
            Exp::Op(op) if stays_a_view(op) => {
                let leaves = self.leaves(&value.ty);
                let storage = leaves.iter().map(|leaf| match leaf {
                    Leaf::Cells { .. } => Storage::View,
                    Leaf::Rows { .. } | Leaf::Held => Storage::Held,
                });
                self.store(&value.var, storage.collect());
            }
            _ => self.manifest(stmt),
        }
    }

    /// Blocks for everything a statement makes: before it where their sizes are known there.
    fn manifest(&mut self, stmt: &Stmt) {
        let known = stmt.pattern.values.iter().all(|value| {
            let leaves = self.leaves(&value.ty);
            leaves
                .iter()
                .all(|leaf| self.known_before(&leaf.cells(), &stmt.pattern))
        });
        if !known {
            return self.made_by_statement(stmt);
        }
        let mut items = Vec::new();
        for value in &stmt.pattern.values {
            let mut storage = Vec::new();
            for leaf in self.leaves(&value.ty) {
                storage.push(match leaf {
                    Leaf::Cells { .. } => self.own_block(stmt, &value.var, &leaf),
                    Leaf::Rows { .. } | Leaf::Held => self.made_here(&value.var, &leaf, &mut items),
                });
            }
            self.store(&value.var, storage);
        }
        self.head(stmt, None, items);
    }

    /// A new block before the statement, filled by the leaf.
    fn own_block(&mut self, stmt: &Stmt, owner: &Var, leaf: &Leaf) -> Storage {
        let Leaf::Cells { element, .. } = leaf else {
            return Storage::Held;
        };
        if self.unplaced > 0 {
            return Storage::Held;
        }
        let block = self.bind_new(&format!("{}_mem", owner.name));
        let alloc = Alloc {
            block: block.clone(),
            element: *element,
            cells: leaf.cells(),
        };
        if let Some(key) = key(stmt) {
            self.memory.allocs.entry(key.clone()).or_default().push(alloc);
        }
        placed(block, leaf)
    }

    fn made_by_statement(&mut self, stmt: &Stmt) {
        let mut items = Vec::new();
        for value in &stmt.pattern.values {
            let mut storage = Vec::new();
            for leaf in self.leaves(&value.ty) {
                storage.push(self.made_here(&value.var, &leaf, &mut items));
            }
            self.store(&value.var, storage);
        }
        self.head(stmt, None, items);
    }

    /// Whether something that a pattern binds has rows of their own lengths.
    fn makes_rows(&self, pattern: &Pattern) -> bool {
        let mut leaves = pattern.values.iter().flat_map(|value| self.leaves(&value.ty));
        leaves.any(|leaf| matches!(leaf, Leaf::Rows { .. }))
    }

    /// A block that the statement makes, which alone knows its size.
    fn made_here(&mut self, owner: &Var, leaf: &Leaf, items: &mut Vec<Item>) -> Storage {
        if self.unplaced > 0 {
            return Storage::Held;
        }
        let mut item = |var: &Var, kind: Kind| {
            items.push(Item {
                var: var.clone(),
                kind,
                inside: None,
                given: Vec::new(),
            });
        };
        match leaf {
            Leaf::Cells { element, .. } => {
                let block = self.bind_new(&format!("{}_mem", owner.name));
                item(&block, Kind::Block(*element));
                placed(block, leaf)
            }
            Leaf::Rows { .. } | Leaf::Held => {
                self.rows_place(leaf, &owner.name, &mut |_, var, kind| item(var, kind))
            }
        }
    }

    fn held(&mut self, pattern: &Pattern) {
        for value in &pattern.values {
            let storage = self.leaves(&value.ty).iter().map(|_| Storage::Held).collect();
            self.store(&value.var, storage);
        }
    }

    fn head(&mut self, stmt: &Stmt, index: Option<Var>, items: Vec<Item>) {
        if (index.is_some() || !items.is_empty())
            && let Some(key) = key(stmt)
        {
            for item in &items {
                let bound = std::iter::once(&item.var).chain(&item.inside);
                self.binders.extend(bound.map(|var| (var.clone(), key.clone())));
            }
            let head = self.memory.heads.entry(key.clone()).or_default();
            head.index = index.or(head.index.take());
            head.items.extend(items);
        }
    }

    fn store(&mut self, var: &Var, storage: Vec<Storage>) {
        if !storage.is_empty() {
            self.memory.storage.insert(var.clone(), storage);
        }
    }

    fn leaves(&self, ty: &Type) -> Vec<Leaf> {
        leaves(&self.env.normalise(ty))
    }

    /// An atom's leaves and where they are.
    fn leaves_of(&self, atom: &Atom) -> Vec<(Leaf, Storage)> {
        let ty = self.env.atom_type(atom);
        let leaves = ty.map_or_else(|_| Vec::new(), |ty| leaves(&ty));
        leaves
            .into_iter()
            .zip(self.memory.of(atom).iter().cloned())
            .collect()
    }

    fn bind_params(&mut self, context: &[Var], params: &[Param]) {
        enter_params(&mut self.env, context, params);
        for var in context.iter().chain(params.iter().map(|param| &param.var)) {
            self.in_scope(var);
        }
    }

    fn bind_pattern(&mut self, stmt: &Stmt) {
        enter_pattern(&mut self.env, &stmt.pattern, &stmt.exp);
        let values = stmt.pattern.values.iter().map(|value| &value.var);
        for var in stmt.pattern.context.iter().chain(values) {
            self.in_scope(var);
        }
    }

    fn bind_new(&mut self, name: &str) -> Var {
        let var = self.memory.fresh(name);
        self.in_scope(&var);
        var
    }

    fn in_scope(&mut self, var: &Var) {
        if self.scope.insert(var.clone()) {
            self.bound.push(var.clone());
        }
    }

    fn leave(&mut self, mark: usize) {
        for var in self.bound.drain(mark.min(self.bound.len())..) {
            self.scope.remove(&var);
        }
    }

    fn is_in_scope(&self, size: &Size) -> bool {
        size.free_vars().all(|var| self.scope.contains(var))
    }

    /// Whether a size is known before the statement that binds the pattern.
    fn known_before(&self, size: &Size, pattern: &Pattern) -> bool {
        size.free_vars().all(|var| !pattern.context.contains(var))
    }

    /// A body's statements in a scope of their own; `after` looks at it before it is left.
    fn inside<T>(
        &mut self,
        context: &[Var],
        params: &[Param],
        body: &Body,
        after: impl FnOnce(&mut Introduce) -> T,
    ) -> T {
        let (mark, facts) = (self.bound.len(), self.env.mark());
        self.bind_params(context, params);
        self.stmts(&body.stmts);
        let result = after(self);
        self.env.rewind_facts(facts);
        self.leave(mark);
        result
    }
}

/// The whole block in row-major order.
fn placed(block: Var, leaf: &Leaf) -> Storage {
    Storage::Placed(Home {
        block,
        lmad: Lmad::row_major(Size::zero(), &leaf.shape()),
    })
}

/// The block of something that fills it in row-major order from its start, or a new one.
fn whole_block(leaf: &Leaf, storage: &Storage) -> Given {
    match storage {
        Storage::Placed(home) if same_cells(&home.lmad, &Lmad::row_major(Size::zero(), &leaf.shape())) => {
            Given::Block(home.block.clone())
        }
        _ => Given::Alloc(leaf.cells()),
    }
}

/// A result that is one of the entry's own blocks, given once.
fn own(item: Item, taken: &mut HashSet<Var>) -> Item {
    let given = item.given.into_iter().map(|given| match given {
        Given::Block(block) if !taken.insert(block.clone()) => Given::Found,
        given => given,
    });
    Item {
        given: given.collect(),
        ..item
    }
}

/// Equal but for how lengths are written, which types decide.
pub(crate) fn same_cells(a: &Lmad<Var>, b: &Lmad<Var>) -> bool {
    a.offset == b.offset
        && a.dims.len() == b.dims.len()
        && a.dims.iter().zip(&b.dims).all(|(a, b)| a.stride == b.stride)
}

/// Operations whose elements are computed where they are read, unless an annotation says otherwise.
fn stays_a_view(op: &Op) -> bool {
    match op.prim {
        Prim::Iota
        | Prim::Range
        | Prim::Replicate
        | Prim::Rotate
        | Prim::Pad
        | Prim::PadEdge
        | Prim::Gather
        | Prim::Slide => is_view(op),
        _ => op.annotation.effect == Some(Effect::Source),
    }
}
