//! Acceptors to l-values (Fig. 6b): whatever an acceptor goes through, it ends at memory.

use super::expressions::joined;
use super::storage::{Place, Tree};
use super::{Binding, Generator, Path, Step};
use crate::error::Lowering;
use almach_dpia::{Instance, Phrase, Prim, Side};
use almach_imp::{Expr, Index, Stmt};
use std::rc::Rc;

impl Generator<'_> {
    /// The memory at a path of an acceptor.
    pub(crate) fn target(&mut self, phrase: &Phrase, path: Path) -> Lowering<Place> {
        let (head, arguments) = phrase.spine();
        match head {
            Phrase::Var(name) => match self.bindings.get(name).cloned() {
                Some(Binding::Alias(inner, prefix)) => self.target(&inner, joined(prefix, path)),
                Some(Binding::Storage(storage)) => self.place(&storage.tree, &path),
                Some(Binding::Scalar(_)) | None => self.bug(format!("`{name}` is no acceptor")),
            },
            Phrase::Project(side, inner) => match (side, inner.unmarked()) {
                (Side::First, Phrase::Pair(part, _)) | (Side::Second, Phrase::Pair(_, part)) => {
                    self.target(part, path)
                }
                (_, variable) => self.target(variable, path),
            },
            Phrase::Lam(..) => self.with_arguments(head, &arguments, |this, body| this.target(body, path)),
            Phrase::Prim(instance) if instance.prim == Prim::MapAcc => self.mapped_target(&arguments, path),
            Phrase::Prim(instance) => {
                let (at, path) = self.target_path(instance, &arguments, path)?;
                match arguments.get(at) {
                    Some(argument) => self.target(argument, path),
                    None => self.bug(format!("`{}` without its acceptor", instance.prim.name())),
                }
            }
            other => self.bug(format!("`{other}` is no acceptor")),
        }
    }

    /// An element of `mapAcc F A` is what `F` makes of the element of `A`.
    fn mapped_target(&mut self, arguments: &[&Phrase], path: Path) -> Lowering<Place> {
        let [function, array] = arguments else {
            return self.bug("`mapAcc` without its arguments");
        };
        let Phrase::Lam(name, _, body) = function.unmarked() else {
            return self.bug("`mapAcc` of what is no function");
        };
        let (at, rest) = self.first_index(path)?;
        let element = Binding::Alias(Rc::new((*array).clone()), vec![Step::At(at)]);
        let before = self.bindings.insert(name.clone(), element);
        let result = self.target(body, rest);
        match before {
            Some(binding) => self.bindings.insert(name.clone(), binding),
            None => self.bindings.remove(name),
        };
        result
    }

    fn place(&mut self, tree: &Tree, path: &Path) -> Lowering<Place> {
        match Place::follow(tree, path) {
            Some(place) => Ok(place),
            None => self.bug(format!("the path {path:?} does not fit the memory {tree:?}")),
        }
    }

    /// Which argument is written, and where.
    fn target_path(
        &mut self,
        instance: &Instance,
        arguments: &[&Phrase],
        path: Path,
    ) -> Lowering<(usize, Path)> {
        let size = |this: &Self, at: usize| match instance.nats.get(at) {
            Some(nat) => Ok(this.size(nat)),
            None => this.bug(format!("`{}` without its sizes", instance.prim.name())),
        };
        let number = |this: &mut Self, at: usize| match arguments.get(at) {
            Some(argument) => this.index(argument),
            None => this.bug(format!("`{}` without its numbers", instance.prim.name())),
        };
        let under = |index: Index, rest: Path| joined(vec![Step::At(index)], rest);
        match &instance.prim {
            Prim::IdxAcc => {
                let at = number(self, 1)?;
                return Ok((0, under(at, path)));
            }
            Prim::TupleAcc(at, _) => return Ok((0, joined(vec![Step::Field(*at)], path))),
            Prim::CoerceAcc => return Ok((0, path)),
            Prim::UnzipAcc(_) => {
                return match path.as_slice() {
                    [at, Step::Field(field), rest @ ..] => {
                        Ok((*field, joined(vec![at.clone()], rest.to_vec())))
                    }
                    _ => self.bug("a path that does not go into a tuple"),
                };
            }
            _ => {}
        }
        let (at, rest) = self.first_index(path)?;
        Ok(match &instance.prim {
            Prim::ZipAcc(field, _) => (0, joined(vec![Step::At(at), Step::Field(*field)], rest)),
            Prim::ReverseAcc => (0, under(size(self, 0)? - Index::one() - at, rest)),
            Prim::SliceAcc => {
                let (begin, step) = (number(self, 0)?, number(self, 1)?);
                (2, under(begin + step * at, rest))
            }
            Prim::RotateAcc => {
                let by = number(self, 0)?;
                let n = size(self, 0)?;
                (1, under(self.rem(&(at + by), &n), rest))
            }
            Prim::TakeAcc => (0, under(at, rest)),
            Prim::DropAcc => (0, under(at + size(self, 0)?, rest)),
            Prim::SplitAcc => {
                let row = size(self, 1)?;
                (
                    0,
                    joined(
                        vec![Step::At(self.div(&at, &row)), Step::At(self.rem(&at, &row))],
                        rest,
                    ),
                )
            }
            Prim::AsVectorAcc(width, _) => {
                let width = Index::constant((*width).into());
                (
                    0,
                    joined(
                        vec![Step::At(self.div(&at, &width)), Step::Lane(self.rem(&at, &width))],
                        rest,
                    ),
                )
            }
            Prim::AsScalarAcc(width, _) => match rest.split_first() {
                Some((Step::Lane(lane), rest)) => (
                    0,
                    under(at * Index::constant((*width).into()) + lane, rest.to_vec()),
                ),
                _ => return self.bug("a path that does not go into a vector"),
            },
            prim => {
                let (inner, rest) = self.first_index(rest)?;
                match prim {
                    Prim::JoinAcc => (0, under(at * size(self, 1)? + inner, rest)),
                    Prim::TransposeAcc => (0, joined(vec![Step::At(inner), Step::At(at)], rest)),
                    other => return self.bug(format!("`{}` is no acceptor", other.name())),
                }
            }
        })
    }

    /// Writes a scalar to a place.
    pub(crate) fn write(&mut self, place: &Place, value: Expr) -> Lowering<()> {
        match &place.tree {
            Tree::Scalar(name, _) => self.emit(Stmt::Assign {
                name: name.clone(),
                value,
            }),
            Tree::Buffer(name, ..) => {
                let index = self.simplify(&place.offset());
                self.emit(Stmt::Store {
                    buffer: name.clone(),
                    index,
                    value,
                });
            }
            _ => return self.bug("a scalar is written to what is none"),
        }
        Ok(())
    }
}
