//! Acceptors to l-values (Fig. 6b): whatever an acceptor goes through, it ends at memory.

use super::expressions::{index_expr, joined};
use super::storage::{Place, Tree};
use super::{Binding, Generator, Path, Step};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Instance, Phrase, Prim, Side};
use almach_imp::{Expr, Index, Stmt};
use almach_nat::Atom;
use almach_value::{BinOp, ScalarType, UnOp};
use std::rc::Rc;

/// Acceptors of which something is written nowhere.
fn keeps_a_part(prim: &Prim) -> bool {
    matches!(prim, Prim::OnlyAcc(..) | Prim::AtAcc)
}

/// Whether a phrase has acceptors that keep one element.
pub(crate) fn keeps_elements(phrase: &Phrase) -> bool {
    match phrase {
        Phrase::Var(_) => false,
        Phrase::Prim(instance) => instance.prim == Prim::AtAcc,
        Phrase::App(left, right) | Phrase::Pair(left, right) => keeps_elements(left) || keeps_elements(right),
        Phrase::Lam(_, _, inner)
        | Phrase::TypeLam(_, _, inner)
        | Phrase::NatApp(inner, _)
        | Phrase::DataApp(inner, _)
        | Phrase::Project(_, inner)
        | Phrase::At(_, inner) => keeps_elements(inner),
    }
}

/// The only iteration of a loop that writes something that is kept.
pub(crate) struct Only {
    pub(crate) at: Index,
    /// A loop with so many iterations has it for certain.
    pub(crate) within: Option<Index>,
}

/// The iteration in which an index, `index` itself or moved or counted backwards, is the one of `size` that is kept.
fn iteration_at(at: &Index, kept: &Index, size: &Index, index: &Name) -> Option<Only> {
    if at.as_var() == Some(index) {
        return Some(Only {
            at: kept.clone(),
            within: Some(size.clone()),
        });
    }
    let (factor, rest) = at.linear_in(&Atom::Var(index.clone()))?;
    let at = match factor.as_constant()? {
        1 => kept - &rest,
        -1 => &rest - kept,
        _ => return None,
    };
    Some(Only { at, within: None })
}

impl Generator<'_> {
    /// The memory at a path of an acceptor.
    pub(crate) fn target(&mut self, phrase: &Phrase, path: Path) -> Lowering<Place> {
        self.through_views(|this| this.target_at(phrase, path))
    }

    fn target_at(&mut self, phrase: &Phrase, path: Path) -> Lowering<Place> {
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
            Phrase::Prim(instance) if instance.prim == Prim::MapAcc => {
                self.in_mapped(&arguments, path, |this, body, path| this.target(body, path))
            }
            Phrase::Prim(instance) if keeps_a_part(&instance.prim) => {
                self.target_of_part(instance, &arguments, path)
            }
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
    fn in_mapped<T>(
        &mut self,
        arguments: &[&Phrase],
        path: Path,
        then: impl FnOnce(&mut Self, &Phrase, Path) -> Lowering<T>,
    ) -> Lowering<T> {
        let [function, array] = arguments else {
            return self.bug("`mapAcc` without its arguments");
        };
        let Phrase::Lam(name, _, body) = function.unmarked() else {
            return self.bug("`mapAcc` of what is no function");
        };
        let (at, rest) = self.first_index(path)?;
        let element = Binding::Alias(Rc::new((*array).clone()), vec![Step::At(at)]);
        let before = self.bindings.insert(name.clone(), element);
        let result = then(self, body, rest);
        match before {
            Some(binding) => self.bindings.insert(name.clone(), binding),
            None => self.bindings.remove(name),
        };
        result
    }

    /// Acceptors that keep one component or one element: the rest is written nowhere.
    fn target_of_part(&mut self, instance: &Instance, arguments: &[&Phrase], path: Path) -> Lowering<Place> {
        match (&instance.prim, arguments, path.split_first()) {
            (Prim::OnlyAcc(kept, _), [acceptor], Some((Step::Field(at), rest))) => match kept == at {
                true => self.target(acceptor, rest.to_vec()),
                false => Ok(Place::nowhere()),
            },
            (Prim::AtAcc, [kept, acceptor], Some((Step::At(at), rest))) => {
                let kept = self.index(kept)?;
                match self.simplify(&(at - &kept)).as_constant() {
                    Some(0) => self.target(acceptor, rest.to_vec()),
                    Some(_) => Ok(Place::nowhere()),
                    None => {
                        let mut place = self.target(acceptor, rest.to_vec())?;
                        place.kept_where.push((at.clone(), kept));
                        Ok(place)
                    }
                }
            }
            _ => self.bug(format!("`{}` at the path {path:?}", instance.prim.name())),
        }
    }

    /// The only iteration of a loop over the elements of an acceptor whose element is kept (Lin, eq. 5.48). The path ends with
    /// the loop's index.
    pub(crate) fn only_iteration(
        &mut self,
        acceptor: &Phrase,
        path: Path,
        index: &Name,
    ) -> Lowering<Option<Only>> {
        let (only, stmts) = self.capture(|this| this.kept_iteration(acceptor, path, index))?;
        if only.is_some() {
            stmts.into_iter().for_each(|stmt| self.emit(stmt));
        }
        Ok(only)
    }

    /// Runs what an iteration does, where the loop has it.
    pub(crate) fn once(
        &mut self,
        only: &Only,
        count: &Index,
        iteration: impl FnOnce(&mut Self) -> Lowering<()>,
    ) -> Lowering<()> {
        if only.within.as_ref().is_some_and(|size| self.is_same(size, count)) {
            return iteration(self);
        }
        let at = || index_expr(only.at.clone());
        let from = Expr::binary(BinOp::Ge, at(), Expr::int(0));
        let to = Expr::binary(BinOp::Lt, at(), index_expr(count.clone()));
        let ((), then) = self.capture(iteration)?;
        self.emit(Stmt::If {
            condition: Expr::binary(BinOp::And, from, to),
            then,
            otherwise: Vec::new(),
        });
        Ok(())
    }

    fn kept_iteration(&mut self, phrase: &Phrase, path: Path, index: &Name) -> Lowering<Option<Only>> {
        let is_at = |step: &Step| matches!(step, Step::At(at) if at.occurrences().any(|name| name == index));
        // What is behind does not depend on the iteration any more.
        if !path.iter().any(is_at) {
            return Ok(None);
        }
        let (head, arguments) = phrase.spine();
        match head {
            Phrase::Var(name) => match self.bindings.get(name).cloned() {
                Some(Binding::Alias(inner, prefix)) => {
                    self.kept_iteration(&inner, joined(prefix, path), index)
                }
                Some(Binding::Storage(_) | Binding::Scalar(_)) | None => Ok(None),
            },
            Phrase::Project(side, inner) => match (side, inner.unmarked()) {
                (Side::First, Phrase::Pair(part, _)) | (Side::Second, Phrase::Pair(_, part)) => {
                    self.kept_iteration(part, path, index)
                }
                (_, variable) => self.kept_iteration(variable, path, index),
            },
            Phrase::Lam(..) => self.with_arguments(head, &arguments, |this, body| {
                this.kept_iteration(body, path, index)
            }),
            Phrase::Prim(instance) => self.kept_iteration_through(instance, &arguments, path, index),
            _ => Ok(None),
        }
    }

    fn kept_iteration_through(
        &mut self,
        instance: &Instance,
        arguments: &[&Phrase],
        mut path: Path,
        index: &Name,
    ) -> Lowering<Option<Only>> {
        match (&instance.prim, arguments, path.split_first()) {
            (Prim::MapAcc, _, Some((Step::At(_), _))) => {
                self.in_mapped(arguments, path, |this, body, path| {
                    this.kept_iteration(body, path, index)
                })
            }
            (Prim::AtAcc, [kept, acceptor], Some((Step::At(at), rest))) => {
                let (kept, size) = (
                    self.index(kept)?,
                    instance.nats.first().map(|size| self.size(size)),
                );
                match size.and_then(|size| iteration_at(at, &kept, &size, index)) {
                    Some(only) => Ok(Some(only)),
                    None => self.kept_iteration(acceptor, rest.to_vec(), index),
                }
            }
            (Prim::OnlyAcc(kept, _), [acceptor], Some((Step::Field(at), rest))) if kept == at => {
                self.kept_iteration(acceptor, rest.to_vec(), index)
            }
            (Prim::OnlyAcc(..) | Prim::AtAcc | Prim::MapAcc | Prim::PermuteAcc(_), _, _) => Ok(None),
            (Prim::UnzipAcc(_) | Prim::AsScalarAcc(..), _, _) if path.len() < 2 => Ok(None),
            (prim, _, _) => {
                let needed = match prim {
                    Prim::JoinAcc | Prim::TransposeAcc => 2,
                    _ => 0,
                };
                while path.len() < needed {
                    path.push(Step::At(Index::var(self.fresh("at"))));
                }
                let (at, path) = self.target_path(instance, arguments, path)?;
                match arguments.get(at) {
                    Some(argument) => self.kept_iteration(argument, path, index),
                    None => Ok(None),
                }
            }
        }
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
            Prim::PermuteAcc(scalar) => {
                let Some(indices) = arguments.first() else {
                    return self.bug("`permuteAcc` without its indices");
                };
                let to = self.read(indices, vec![Step::At(at)])?;
                let to = match scalar {
                    ScalarType::I64 => to,
                    _ => Expr::unary(UnOp::Convert(ScalarType::I64), to),
                };
                (1, under(self.as_index(to), rest))
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

    /// Writes a scalar to a place, if it is one that is kept (Lin, eq. 5.68 and 5.69).
    pub(crate) fn write(&mut self, place: &Place, value: Expr) -> Lowering<()> {
        let equal = |(a, b): &(Index, Index)| {
            let (a, b) = (index_expr(a.clone()), index_expr(b.clone()));
            Expr::binary(BinOp::Eq, a, b)
        };
        let kept = (place.kept_where.iter().map(equal)).reduce(|all, one| Expr::binary(BinOp::And, all, one));
        match kept {
            None => self.write_always(place, value),
            Some(condition) => {
                let ((), then) = self.capture(|this| this.write_always(place, value))?;
                self.emit(Stmt::If {
                    condition,
                    then,
                    otherwise: Vec::new(),
                });
                Ok(())
            }
        }
    }

    fn write_always(&mut self, place: &Place, value: Expr) -> Lowering<()> {
        match &place.tree {
            Tree::Nowhere => {}
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
