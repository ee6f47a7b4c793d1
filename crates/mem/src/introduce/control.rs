//! Branches and loops: blocks, and parts of descriptors, are handed on with the values.

use super::{Introduce, placed, same_cells, whole_block};
use crate::ir::{Given, Home, Item, Kind, Rows, Storage};
use crate::leaves::Leaf;
use almach_core::build::enter_loop;
use almach_core::{Atom, Body, Loop, LoopForm, Param, Size, Stmt, Type, Var};
use almach_lmad::{Dim, Lmad};
use std::slice::from_ref;

/// Sizes and fields that a branch binds, and its body.
pub(super) type Branch<'a> = (&'a [Var], &'a [Param], &'a Body);

/// A leaf that a loop carries: what it is before the loop and after an iteration, and where it is inside.
type Carried = (((Leaf, Storage), (Leaf, Storage)), Storage);

/// What one branch gives: leaves of each value, and the sizes of its context.
struct Gives {
    leaves: Vec<(Leaf, Storage)>,
    sizes: Vec<Size>,
}

impl Introduce {
    pub(super) fn branches(&mut self, stmt: &Stmt, branches: &[Branch<'_>]) {
        let mut given = Vec::new();
        for (context, fields, body) in branches {
            for field in *fields {
                let storage = crate::leaves::leaves(&field.ty)
                    .iter()
                    .map(|_| Storage::Held)
                    .collect();
                self.store(&field.var, storage);
            }
            given.push(self.inside(context, fields, body, |pass| pass.gives(body)));
        }
        self.bind_pattern(stmt);
        let mut items = Vec::new();
        let mut at = 0;
        for value in &stmt.pattern.values {
            let mut storage = Vec::new();
            for leaf in self.leaves(&value.ty) {
                storage.push(self.join(stmt, &value.var, &leaf, &given, at, &mut items));
                at += 1;
            }
            self.store(&value.var, storage);
        }
        self.head(stmt, None, items);
    }

    fn gives(&self, body: &Body) -> Gives {
        let size = |atom: &Atom| self.env.size(atom).unwrap_or_else(|_| Size::zero());
        Gives {
            leaves: body
                .values
                .iter()
                .flat_map(|value| self.leaves_of(value))
                .collect(),
            sizes: body.context.iter().map(size).collect(),
        }
    }

    /// Where a leaf of the pattern is, given where it is in each branch.
    fn join(
        &mut self,
        stmt: &Stmt,
        owner: &Var,
        leaf: &Leaf,
        given: &[Gives],
        at: usize,
        items: &mut Vec<Item>,
    ) -> Storage {
        if self.unplaced > 0 {
            return Storage::Held;
        }
        let ends: Option<Vec<&(Leaf, Storage)>> = given.iter().map(|gives| gives.leaves.get(at)).collect();
        let Some(ends) = ends else {
            return Storage::Held;
        };
        let Leaf::Cells { element, .. } = leaf else {
            return self.join_rows(owner, leaf, &ends, items);
        };
        if let Some(home) = self.common_home(&ends, leaf) {
            return Storage::Placed(home);
        }
        let name = owner.name.as_str();
        let blocks = ends.iter().map(|(leaf, storage)| match storage {
            Storage::Placed(home) => Given::Block(home.block.clone()),
            Storage::Rows(_) | Storage::View | Storage::Held => Given::Alloc(leaf.cells()),
        });
        let block = self.bind_new(&format!("{name}_mem"));
        items.push(Item {
            var: block.clone(),
            kind: Kind::Block(*element),
            inside: None,
            given: blocks.collect(),
        });
        let descriptors: Vec<Lmad<Var>> = ends
            .iter()
            .map(|(leaf, storage)| match storage {
                Storage::Placed(home) => home.lmad.clone(),
                Storage::Rows(_) | Storage::View | Storage::Held => {
                    Lmad::row_major(Size::zero(), &leaf.shape())
                }
            })
            .collect();
        let likely = Lmad::row_major(Size::zero(), &leaf.shape());
        let mut component =
            |pass: &mut Introduce, likely: &Size, what: &str, of: &dyn Fn(&Lmad<Var>) -> Size| {
                let values: Vec<Size> = descriptors.iter().map(of).collect();
                pass.component(stmt, given, likely, values)
                    .unwrap_or_else(|values| {
                        let var = pass.bind_new(&format!("{name}_{what}"));
                        items.push(Item {
                            var: var.clone(),
                            kind: Kind::Integer,
                            inside: None,
                            given: values.into_iter().map(Given::Integer).collect(),
                        });
                        Size::var(var)
                    })
            };
        let offset = component(self, &likely.offset, "offset", &|lmad| lmad.offset.clone());
        let mut dims = Vec::new();
        for (dim, likely) in likely.dims.iter().enumerate() {
            let stride_of = |lmad: &Lmad<Var>| {
                lmad.dims
                    .get(dim)
                    .map_or_else(Size::zero, |dim| dim.stride.clone())
            };
            dims.push(Dim {
                length: likely.length.clone(),
                stride: component(self, &likely.stride, "stride", &stride_of),
            });
        }
        Storage::Placed(Home {
            block,
            lmad: Lmad { offset, dims },
        })
    }

    /// Rows that branches give: where they are, if that is one place that is known outside.
    fn join_rows(
        &mut self,
        owner: &Var,
        leaf: &Leaf,
        ends: &[&(Leaf, Storage)],
        items: &mut Vec<Item>,
    ) -> Storage {
        let storages: Vec<&Storage> = ends.iter().map(|(_, storage)| storage).collect();
        if let Some(first) = storages.first()
            && storages.iter().all(|storage| storage == first)
            && first.homes().iter().all(|home| {
                let lengths = home.lmad.dims.iter().map(|dim| &dim.length);
                self.scope.contains(&home.block) && lengths.into_iter().all(|length| self.is_in_scope(length))
            })
        {
            return (*first).clone();
        }
        let (place, handed) = self.handed_rows(leaf, &owner.name, &storages);
        items.extend(handed);
        place
    }

    /// One home that all branches have, if it is known outside.
    fn common_home(&self, ends: &[&(Leaf, Storage)], leaf: &Leaf) -> Option<Home> {
        let (_, first) = ends.first()?;
        let first = first.home()?;
        let shared = ends.iter().all(|(_, end)| {
            end.home()
                .is_some_and(|home| home.block == first.block && same_cells(&home.lmad, &first.lmad))
        });
        let parts = || {
            first
                .lmad
                .dims
                .iter()
                .map(|dim| &dim.stride)
                .chain([&first.lmad.offset])
        };
        let known = self.scope.contains(&first.block) && parts().all(|part| self.is_in_scope(part));
        let lmad = crate::derive::with_lengths(&first.lmad, &leaf.shape())?;
        (shared && known).then(|| Home {
            block: first.block.clone(),
            lmad,
        })
    }

    /// What part of a descriptor is after the branches, where no variable of its own is needed for it.
    fn component(
        &self,
        stmt: &Stmt,
        given: &[Gives],
        likely: &Size,
        values: Vec<Size>,
    ) -> Result<Size, Vec<Size>> {
        let in_branch = |gives: &Gives| {
            likely.substitute(|var| {
                let at = stmt.pattern.context.iter().position(|bound| bound == var)?;
                gives.sizes.get(at).cloned()
            })
        };
        if given
            .iter()
            .zip(&values)
            .all(|(gives, value)| in_branch(gives) == *value)
        {
            return Ok(likely.clone());
        }
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) && self.is_in_scope(first) => {
                Ok(first.clone())
            }
            _ => Err(values),
        }
    }

    pub(super) fn looped(&mut self, stmt: &Stmt, looped: &Loop) {
        let initial: Vec<Vec<(Leaf, Storage)>> = looped
            .params
            .iter()
            .map(|(_, initial)| self.leaves_of(initial))
            .collect();
        let (mark, facts) = (self.bound.len(), self.env.mark());
        enter_loop(&mut self.env, looped);
        for (var, _) in &looped.context {
            self.in_scope(var);
        }
        let mut places: Vec<Storage> = Vec::new();
        for (param, _) in &looped.params {
            self.in_scope(&param.var);
            let mut storage = Vec::new();
            for leaf in self.leaves(&param.ty) {
                let place = self.carried(&param.var, &leaf);
                places.push(place.clone());
                storage.push(place);
            }
            self.store(&param.var, storage);
        }
        match &looped.form {
            LoopForm::For { index, .. } => self.bind_params(&[], from_ref(index)),
            LoopForm::While(condition) => self.inside(&[], &[], condition, |_| ()),
        }
        self.stmts(&looped.body.stmts);
        let next: Vec<(Leaf, Storage)> = self.gives(&looped.body).leaves;
        self.env.rewind_facts(facts);
        self.leave(mark);

        self.bind_pattern(stmt);
        let ends: Vec<_> = initial.into_iter().flatten().zip(next).zip(places).collect();
        self.after_loop(stmt, ends);
    }

    fn carried(&mut self, owner: &Var, leaf: &Leaf) -> Storage {
        if self.unplaced > 0 {
            return Storage::Held;
        }
        match leaf {
            Leaf::Cells { .. } => {
                let block = self.bind_new(&format!("{}_mem", owner.name));
                placed(block, leaf)
            }
            Leaf::Rows { .. } | Leaf::Held => self.rows_place(leaf, &owner.name, &mut |_, _, _| ()),
        }
    }

    /// The pattern of a loop: the last blocks its state had.
    fn after_loop(&mut self, stmt: &Stmt, ends: Vec<Carried>) {
        let mut items = Vec::new();
        let mut ends = ends.into_iter();
        for value in &stmt.pattern.values {
            let mut storage = Vec::new();
            for leaf in self.leaves(&value.ty) {
                let Some(((first, next), inside)) = ends.next() else {
                    storage.push(Storage::Held);
                    continue;
                };
                let (Leaf::Cells { element, .. }, Storage::Placed(inside)) = (&leaf, &inside) else {
                    let Storage::Rows(inside) = &inside else {
                        storage.push(Storage::Held);
                        continue;
                    };
                    let (place, handed) = self.handed_rows(&leaf, &value.var.name, &[&first.1, &next.1]);
                    let names = names(inside).into_iter();
                    items.extend(handed.into_iter().zip(names).map(|(item, inside)| Item {
                        inside: Some(inside),
                        ..item
                    }));
                    storage.push(place);
                    continue;
                };
                let block = self.bind_new(&format!("{}_mem", value.var.name));
                items.push(Item {
                    var: block.clone(),
                    kind: Kind::Block(*element),
                    inside: Some(inside.block.clone()),
                    given: vec![whole_block(&first.0, &first.1), whole_block(&next.0, &next.1)],
                });
                storage.push(placed(block, &leaf));
            }
            self.store(&value.var, storage);
        }
        self.head(stmt, None, items);
    }

    /// Where a row of an array is in one iteration.
    pub(super) fn row(&self, array: &Atom, index: &Var, row: &Type) -> Vec<Storage> {
        let ty = self.env.atom_type(array);
        let found = ty.map_or_else(|_| Vec::new(), |ty| crate::leaves::leaves(&ty));
        let wanted = self.leaves(row);
        if self.unplaced > 0 || found.iter().any(|leaf| !matches!(leaf, Leaf::Cells { .. })) {
            return wanted.iter().map(|_| Storage::Held).collect();
        }
        let at = Size::var(index.clone());
        let pairs = found.iter().zip(self.memory.of(array));
        let rows = pairs.filter(|(leaf, _)| matches!(leaf, Leaf::Cells { dims, .. } if dims.len() > 1));
        rows.map(|(_, storage)| match storage {
            Storage::Placed(home) => home.lmad.index(&at).map_or(Storage::Held, |lmad| {
                Storage::Placed(Home {
                    block: home.block.clone(),
                    lmad,
                })
            }),
            other => other.clone(),
        })
        .collect()
    }
}

/// What the place of rows is called: their blocks and how many elements they have, in order.
fn names(rows: &Rows) -> Vec<Var> {
    let mut names = vec![rows.segments.block.clone()];
    names.extend(rows.total().and_then(|total| total.as_var().cloned()));
    for one in &rows.elements {
        match one {
            Storage::Placed(home) => names.push(home.block.clone()),
            Storage::Rows(rows) => names.extend(self::names(rows)),
            Storage::View | Storage::Held => {}
        }
    }
    names
}
