//! Assignment: scalar by scalar, or a block of memory at a time.

use crate::error::Lowering;
use crate::stage3::expressions::joined;
use crate::stage3::storage::{self, Cells, LeafStep, Place, Storage, Tree};
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
                if self.copy_block(acceptor, &to, exp, &from)?
                    || self.is_there_already(data, (acceptor, &to), (exp, &from))?
                {
                    return Ok(());
                }
                let index = self.fresh("i");
                let count = self.size(size);
                let here = vec![Step::At(Index::var(index.clone()))];
                if let Some(only) = self.only_iteration(acceptor, joined(to.clone(), here), &index)? {
                    let at = vec![Step::At(only.at.clone())];
                    return self.once(&only, &count, |this| {
                        this.assign(element, acceptor, joined(to, at.clone()), exp, joined(from, at))
                    });
                }
                self.counted(index.clone(), count, LoopMode::Seq, |this| {
                    let at = vec![Step::At(Index::var(index))];
                    this.assign(element, acceptor, joined(to, at.clone()), exp, joined(from, at))
                })
            }
            Data::Some(..) | Data::Var(_) => self.bug(format!("an assignment at type `{data}`")),
        }
    }

    /// Copies arrays that lie in memory on both sides; false where they do not.
    fn copy_block(&mut self, acceptor: &Phrase, to: &Path, exp: &Phrase, from: &Path) -> Lowering<bool> {
        let Some(source) = self.source(exp, from.clone())? else {
            return Ok(false);
        };
        let Some(target) = self.source(acceptor, to.clone())? else {
            return Ok(false);
        };
        let (Some(targets), Some(sources)) = (cells(&target), cells(&source)) else {
            return Ok(false);
        };
        for (to, from) in targets.iter().zip(&sources) {
            self.copy_cells(to, from)?;
        }
        Ok(true)
    }

    /// Copies cells: nothing where they are the same, at once where they are consecutive, else row by row.
    pub(crate) fn copy_cells(&mut self, to: &Cells, from: &Cells) -> Lowering<()> {
        if self.are_same(to, from) {
            return Ok(());
        }
        let (to_index, from_index) = (self.simplify(&to.first), self.simplify(&from.first));
        let Some((length, _)) = to.dims.first().cloned() else {
            self.emit(Stmt::Store {
                buffer: to.buffer.clone(),
                index: to_index,
                value: Expr::Load(from.buffer.clone(), from_index),
            });
            return Ok(());
        };
        if let (Some(count), Some(_)) = (to.consecutive(), from.consecutive()) {
            let count = self.simplify(&count);
            if !count.is_zero() {
                self.emit(Stmt::Copy {
                    to: to.buffer.clone(),
                    to_index,
                    from: from.buffer.clone(),
                    from_index,
                    count,
                });
            }
            return Ok(());
        }
        let i = self.fresh("i");
        let at = Index::var(i.clone());
        self.counted(i, length, LoopMode::Seq, |this| {
            this.copy_cells(&to.at(&at), &from.at(&at))
        })
    }

    /// Whether what lives in cells is where it should go already.
    fn are_same(&self, a: &Cells, b: &Cells) -> bool {
        let same = |a: &Index, b: &Index| self.is_same(&self.simplify(a), &self.simplify(b));
        let mut dims = a.dims.iter().zip(&b.dims);
        a.buffer == b.buffer
            && same(&a.first, &b.first)
            && dims.all(|((length, a), (_, b))| *length == Index::one() || same(a, b))
    }

    /// Whether an array is a view of the very cells that it should go to, as the memory plan has it.
    fn is_there_already(
        &mut self,
        data: &Data,
        (acceptor, to): (&Phrase, &Path),
        (exp, from): (&Phrase, &Path),
    ) -> Lowering<bool> {
        if !self.shares_memory || !self.is_view(exp) {
            return Ok(false);
        }
        for leaf in storage::of(data, &Name::from("copied")).leaves() {
            let Some(path) = self.any_element(&leaf.path) else {
                return Ok(false);
            };
            let (read, stmts) = self.capture(|this| this.read(exp, joined(from.clone(), path.clone())))?;
            let (Expr::Load(from, from_index), true) = (read, stmts.is_empty()) else {
                return Ok(false);
            };
            let (place, stmts) = self.capture(|this| this.target(acceptor, joined(to.clone(), path)))?;
            let same = match &place.tree {
                Tree::Buffer(to, ..) if place.kept_where.is_empty() => {
                    *to == from && self.is_same(&self.simplify(&place.offset()), &from_index)
                }
                _ => false,
            };
            if !same || !stmts.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A way to a scalar of a leaf, through elements of any number.
    pub(crate) fn any_element(&mut self, path: &[LeafStep]) -> Option<Path> {
        let steps = path.iter().map(|step| match step {
            LeafStep::Field(at) => Some(Step::Field(*at)),
            LeafStep::Each(_) => Some(Step::At(Index::var(self.fresh("at")))),
            LeafStep::Lane(_) | LeafStep::EachLane(_) => None,
        });
        steps.collect()
    }

    /// Whether an expression is a part of memory, seen in some order: looking at an element of it computes nothing.
    fn is_view(&self, phrase: &Phrase) -> bool {
        let (head, arguments) = phrase.spine();
        match head {
            Phrase::Var(name) => match self.bindings.get(name) {
                Some(Binding::Alias(inner, _)) => self.is_view(inner),
                Some(Binding::Storage(_)) | None => true,
                Some(Binding::Scalar(_)) => false,
            },
            Phrase::Project(_, inner) => self.is_view(inner),
            Phrase::Lam(_, _, body) => self.is_view(body),
            Phrase::Prim(instance) => match (&instance.prim, arguments.as_slice()) {
                (Prim::Idx, [array, _]) | (Prim::Slice, [_, _, array]) => self.is_view(array),
                (Prim::Get(..), [inner]) => self.is_view(inner),
                // Of one of them something is looked at.
                (Prim::Zip(_), parts) => parts.iter().any(|part| self.is_view(part)),
                (Prim::Map(_), [function, array]) => self.is_view(function) && self.is_view(array),
                (Prim::Coerce | Prim::Split | Prim::Join | Prim::Transpose | Prim::Reverse, [array]) => {
                    self.is_view(array)
                }
                _ => false,
            },
            _ => false,
        }
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
                    slice: Some((size, first)),
                    ..place
                })
            }
            _ => None,
        })
    }
}

/// The cells of the buffers of an array; none where there are none.
fn cells(place: &Place) -> Option<Vec<Cells>> {
    let storage = Storage {
        sizes: Vec::new(),
        capacity: None,
        tree: place.tree.clone(),
    };
    let leaves = storage.leaves().into_iter();
    leaves
        .map(|leaf| leaf.cells.is_some().then(|| place.cells(&leaf)))
        .collect()
}
