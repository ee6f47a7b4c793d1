//! Assignment: scalar by scalar, or a block of memory at a time.

use crate::error::Lowering;
use crate::stage3::expressions::joined;
use crate::stage3::storage::{Place, Storage, Tree};
use crate::stage3::{Binding, Generator, Path, Step};
use almach_base::Name;
use almach_dpia::{Data, Instance, Phrase, Prim};
use almach_imp::{Expr, Index, LoopMode, Stmt};

impl Generator<'_> {
    /// Assignment at any type: scalar by scalar, or a block at a time where both sides lie in memory in one piece.
    pub(crate) fn assign(
        &mut self,
        data: &Data,
        acceptor: &Phrase,
        to: Path,
        exp: &Phrase,
        from: Path,
    ) -> Lowering<()> {
        match data {
            Data::Scalar(_) | Data::Index(_) => {
                let value = self.read(exp, from)?;
                let place = self.target(acceptor, to)?;
                self.write(&place, value)
            }
            Data::Vector(width, scalar) => {
                // All lanes are computed before any is written: the two sides may be one variable.
                let mut values = Vec::new();
                for lane in 0..*width {
                    let step = Step::Lane(Index::constant(lane.into()));
                    let value = self.read(exp, joined(from.clone(), vec![step]))?;
                    let name = self.fresh("lane");
                    self.emit(Stmt::Let {
                        name: name.clone(),
                        ty: *scalar,
                        value,
                    });
                    values.push(Expr::Var(name));
                }
                for (lane, value) in (0i64..).zip(values) {
                    let step = Step::Lane(Index::constant(lane));
                    let place = self.target(acceptor, joined(to.clone(), vec![step]))?;
                    self.write(&place, value)?;
                }
                Ok(())
            }
            Data::Tuple(parts) => parts.iter().enumerate().try_for_each(|(at, part)| {
                let (to, from) = (
                    joined(to.clone(), vec![Step::Field(at)]),
                    joined(from.clone(), vec![Step::Field(at)]),
                );
                self.assign(part, acceptor, to, exp, from)
            }),
            Data::Array(size, element) => {
                if self.copy_block(acceptor, &to, exp, &from)? {
                    return Ok(());
                }
                let index = self.fresh("i");
                let count = self.size(size);
                self.counted(index.clone(), count, LoopMode::Seq, |this| {
                    let at = vec![Step::At(Index::var(index))];
                    this.assign(element, acceptor, joined(to, at.clone()), exp, joined(from, at))
                })
            }
            Data::Some(..) | Data::Var(_) => self.bug(format!("an assignment at type `{data}`")),
        }
    }

    /// Copies arrays whose cells are consecutive on both sides; false where they are not.
    fn copy_block(&mut self, acceptor: &Phrase, to: &Path, exp: &Phrase, from: &Path) -> Lowering<bool> {
        let Some(source) = self.source(exp, from.clone())? else {
            return Ok(false);
        };
        let Some(target) = self.source(acceptor, to.clone())? else {
            return Ok(false);
        };
        let (Some(targets), Some(sources)) = (consecutive(&target), consecutive(&source)) else {
            return Ok(false);
        };
        for ((to, to_index, count), (from, from_index, _)) in targets.into_iter().zip(sources) {
            let (to_index, from_index) = (self.simplify(&to_index), self.simplify(&from_index));
            let count = self.simplify(&count);
            // What lives where it should go is there already.
            let there = to == from && self.is_same(&to_index, &from_index);
            if count.is_zero() || there {
                continue;
            }
            self.emit(Stmt::Copy {
                to,
                to_index,
                from,
                from_index,
                count,
            });
        }
        Ok(true)
    }

    /// The memory an expression or acceptor stands for, where it is just that.
    pub(crate) fn source(&mut self, phrase: &Phrase, path: Path) -> Lowering<Option<Place>> {
        let (head, arguments) = phrase.spine();
        Ok(match head {
            Phrase::Var(name) => match self.bindings.get(name).cloned() {
                Some(Binding::Alias(inner, prefix)) => self.source(&inner, joined(prefix, path))?,
                Some(Binding::Storage(storage)) => Place::follow(&storage.tree, &path),
                Some(Binding::Scalar(_)) | None => None,
            },
            Phrase::Project(_, inner) if !matches!(inner.unmarked(), Phrase::Pair(..)) => {
                self.source(inner, path)?
            }
            Phrase::Prim(instance) => match (&instance.prim, arguments.as_slice()) {
                (Prim::Coerce | Prim::CoerceAcc, [inner]) => self.source(inner, path)?,
                (Prim::Get(at, _) | Prim::TupleAcc(at, _), [inner]) => {
                    self.source(inner, joined(vec![Step::Field(*at)], path))?
                }
                (Prim::Idx | Prim::IdxAcc, [array, index]) => {
                    // An index that needs statements of its own would be computed twice.
                    let (at, stmts) = self.capture(|this| this.index(index))?;
                    match stmts.is_empty() {
                        true => self.source(array, joined(vec![Step::At(at)], path))?,
                        false => None,
                    }
                }
                (Prim::Slice | Prim::SliceAcc, [begin, step, array]) => {
                    self.source_slice((begin, step, array), instance, path)?
                }
                (Prim::TakeAcc, [array]) => {
                    let count = instance.nats.first().map(|count| self.size(count));
                    self.source_part(Index::zero(), count, array, path)?
                }
                (Prim::DropAcc, [array]) => {
                    let (begin, count) = (instance.nats.first(), instance.nats.get(1));
                    let count = count.map(|count| self.size(count));
                    match begin.map(|begin| self.size(begin)) {
                        Some(begin) => self.source_part(begin, count, array, path)?,
                        None => None,
                    }
                }
                (Prim::Tuple(_), parts) => match path.split_first() {
                    Some((Step::Field(at), rest)) => match parts.get(*at) {
                        Some(part) => self.source(part, rest.to_vec())?,
                        None => None,
                    },
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
    }

    /// Some elements of an array in memory: one of them, or all where they are neighbours.
    fn source_slice(
        &mut self,
        (begin, step, array): (&Phrase, &Phrase, &Phrase),
        instance: &Instance,
        path: Path,
    ) -> Lowering<Option<Place>> {
        let (numbers, stmts) = self.capture(|this| Ok((this.index(begin)?, this.index(step)?)))?;
        let ((begin, step), true) = (numbers, stmts.is_empty()) else {
            return Ok(None);
        };
        if let Some((Step::At(at), rest)) = path.split_first() {
            let at = Step::At(begin + step * at);
            return self.source(array, joined(vec![at], rest.to_vec()));
        }
        let (true, Some(count)) = (step.as_constant() == Some(1), instance.nats.get(1)) else {
            return Ok(None);
        };
        let count = self.size(count);
        self.source_part(begin, Some(count), array, path)
    }

    /// Neighbours in an array in memory: one of them, or all.
    fn source_part(
        &mut self,
        begin: Index,
        count: Option<Index>,
        array: &Phrase,
        path: Path,
    ) -> Lowering<Option<Place>> {
        if let Some((Step::At(at), rest)) = path.split_first() {
            let at = Step::At(begin + at);
            return self.source(array, joined(vec![at], rest.to_vec()));
        }
        let Some(count) = count else {
            return Ok(None);
        };
        let Some(place) = self.source(array, Vec::new())? else {
            return Ok(None);
        };
        Ok(match place.tree {
            Tree::Array(size, element) => {
                let (size, first) = match place.slice {
                    Some((whole, first)) => (whole, first + begin),
                    None => (size, begin),
                };
                Some(Place {
                    tree: Tree::Array(count, element),
                    indices: place.indices,
                    slice: Some((size, first)),
                })
            }
            _ => None,
        })
    }
}

/// The buffers of an array, each with where it starts and how many cells it has; none where a dimension outside the
/// array stands inside it in memory, which does not happen, or where there are no buffers.
fn consecutive(place: &Place) -> Option<Vec<(Name, Index, Index)>> {
    let storage = Storage {
        sizes: Vec::new(),
        capacity: None,
        tree: place.tree.clone(),
    };
    let blocks = storage
        .leaves()
        .into_iter()
        .map(|leaf| Some((leaf.name.clone(), place.start(&leaf), leaf.cells?)));
    blocks.collect()
}
