//! What variables stand for during a run: values, blocks, the numbers of descriptors.

use super::items::{Item, Kept, Place, Stored};
use super::{Ran, Run, fault};
use crate::ir::{Given, Home, Item as HeadItem, Storage, key};
use crate::leaves::Leaf;
use almach_core::{Atom, Size, Stmt, Type, Var};
use almach_value::{Scalar, Value};

/// What a head binds.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    Block(usize),
    Integer(i64),
}

impl<'p> Run<'p> {
    pub(super) fn bind_context(&mut self, context: &[Var], sizes: &[i64]) {
        for (var, size) in context.iter().zip(sizes) {
            self.vars
                .insert(var.clone(), Item::Plain(Value::Scalar(Scalar::I64(*size))));
        }
    }

    pub(super) fn storage(&self, var: &Var) -> Vec<Storage> {
        self.program.memory.storage.get(var).cloned().unwrap_or_default()
    }

    pub(super) fn items(&self, stmt: &Stmt) -> Vec<HeadItem> {
        let head = key(stmt).and_then(|key| self.program.memory.heads.get(key));
        head.map_or_else(Vec::new, |head| head.items.clone())
    }

    /// Values that replace storage that is in a block; `place` is told where that is.
    pub(super) fn with_places(
        &mut self,
        item: Item,
        storage: &mut std::slice::Iter<'_, (Leaf, Storage)>,
        placed: &mut dyn FnMut(&mut Run<'p>, Stored, Kept) -> Ran<Stored>,
    ) -> Ran<Item> {
        Ok(match item {
            Item::Plain(value) => Item::Plain(value),
            Item::Tuple(parts) => {
                let parts = parts
                    .into_iter()
                    .map(|part| self.with_places(part, storage, placed));
                Item::Tuple(parts.collect::<Ran<_>>()?)
            }
            Item::Array { len, leaves } => {
                let mut out = Vec::new();
                for found in leaves {
                    let storage = storage.next();
                    let place = match storage {
                        Some((leaf, storage)) => self.stored_at(leaf, storage, &found)?,
                        None => None,
                    };
                    out.push(match (found, place, storage) {
                        (Stored::Kept(kept), Some(place), _) => placed(self, place, kept)?,
                        (Stored::Kept(kept), None, Some((_, Storage::Held)) | None) => {
                            Stored::Kept(Kept { guard: None, ..kept })
                        }
                        (other, ..) => other,
                    });
                }
                Item::Array { len, leaves: out }
            }
        })
    }

    pub(super) fn place(&self, home: &Home) -> Ran<Place> {
        let Some(block) = self.labels.get(&home.block) else {
            return fault(format!("the block `{}` is not there yet", home.block));
        };
        let dims = home
            .lmad
            .dims
            .iter()
            .map(|dim| Ok((self.size(&dim.length)?, self.size(&dim.stride)?)));
        Ok(Place {
            block: *block,
            offset: self.size(&home.lmad.offset)?,
            dims: dims.collect::<Ran<_>>()?,
        })
    }

    pub(super) fn size(&self, size: &Size) -> Ran<i64> {
        let value = size.eval(&|var| {
            let scalar = self.vars.get(var)?.scalar()?;
            i64::try_from(scalar.as_integer()?).ok()
        });
        value.map_or_else(|| fault(format!("`{size}` has no value")), Ok)
    }

    pub(super) fn atom(&self, atom: &Atom) -> Ran<Item> {
        match atom {
            Atom::Const(scalar) => Ok(Item::Plain(Value::Scalar(*scalar))),
            Atom::Var(var) => match self.vars.get(var) {
                Some(item) => Ok(item.clone()),
                None => fault(format!("`{var}` is not bound")),
            },
        }
    }

    pub(super) fn integer(&self, atom: &Atom) -> Ran<i64> {
        let integer = self.atom(atom)?.scalar().and_then(Scalar::as_integer);
        match integer.and_then(|integer| i64::try_from(integer).ok()) {
            Some(integer) => Ok(integer),
            None => fault(format!("`{atom:?}` is no integer")),
        }
    }

    pub(super) fn type_of(&self, atom: &Atom) -> Type {
        match atom {
            Atom::Const(scalar) => Type::Scalar(scalar.ty()),
            Atom::Var(var) => self.types.get(var).cloned().unwrap_or_else(Type::unit),
        }
    }

    /// What an item is at an end; `found` knows how large things are that have no block there.
    pub(super) fn given(
        &mut self,
        item: &HeadItem,
        at: usize,
        found: &dyn Fn(&Var) -> Option<i64>,
    ) -> Ran<Bound> {
        let Some(given) = item.given.get(at) else {
            return fault(format!("`{}` is not given", item.var));
        };
        match given {
            Given::Block(block) => match self.labels.get(block) {
                Some(label) => Ok(Bound::Block(*label)),
                None => fault(format!("the block `{block}` is not there yet")),
            },
            Given::Alloc(cells) => {
                let cells = self.size(cells)?;
                let element = match item.kind {
                    crate::ir::Kind::Block(element) => element,
                    crate::ir::Kind::Integer => return fault("an integer is no block"),
                };
                self.allocate(&item.var, element, cells).map(Bound::Block)
            }
            Given::Integer(size) => self.size(size).map(Bound::Integer),
            Given::Found => {
                let Some(size) = found(item.inside.as_ref().unwrap_or(&item.var)) else {
                    return fault(format!("nobody knows the size of `{}`", item.var));
                };
                match item.kind {
                    crate::ir::Kind::Block(element) => {
                        self.allocate(&item.var, element, size).map(Bound::Block)
                    }
                    crate::ir::Kind::Integer => Ok(Bound::Integer(size)),
                }
            }
        }
    }

    pub(super) fn bind(&mut self, var: &Var, bound: Bound) {
        match bound {
            Bound::Block(label) => {
                self.labels.insert(var.clone(), label);
            }
            Bound::Integer(value) => {
                self.vars
                    .insert(var.clone(), Item::Plain(Value::Scalar(Scalar::I64(value))));
            }
        }
    }
}
