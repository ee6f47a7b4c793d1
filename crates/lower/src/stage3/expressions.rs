//! Expressions to r-values (Fig. 6c).

use super::storage::{Place, Tree};
use super::{Binding, Generator, Path, Step};
use crate::cells::{column_name, tag_name};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Instance, Phrase, Prim, Side};
use almach_imp::{Expr, Index, Stmt};
use almach_nat::Range;
use almach_value::{BinOp, Scalar, ScalarType, UnOp};
use std::rc::Rc;

impl Generator<'_> {
    /// The scalar at a path of an expression.
    pub(crate) fn read(&mut self, phrase: &Phrase, path: Path) -> Lowering<Expr> {
        self.through_views(|this| this.read_at(phrase, path))
    }

    fn read_at(&mut self, phrase: &Phrase, path: Path) -> Lowering<Expr> {
        let (head, arguments) = phrase.spine();
        match head {
            Phrase::Var(name) => match self.bindings.get(name).cloned() {
                Some(Binding::Scalar(expr)) => Ok(expr),
                Some(Binding::Alias(inner, prefix)) => self.read(&inner, joined(prefix, path)),
                Some(Binding::Storage(storage)) => self.load(&storage.tree, &path),
                None => self.bug(format!("`{name}` is not bound")),
            },
            Phrase::Project(side, inner) => self.read_component(*side, inner, path),
            Phrase::Lam(..) => self.with_arguments(head, &arguments, |this, body| this.read(body, path)),
            Phrase::Prim(instance) => self.read_prim(instance, &arguments, path),
            other => self.bug(format!("`{other}` is no expression")),
        }
    }

    fn read_component(&mut self, side: Side, inner: &Phrase, path: Path) -> Lowering<Expr> {
        match (side, inner.unmarked()) {
            (Side::First, Phrase::Pair(part, _)) | (Side::Second, Phrase::Pair(_, part)) => {
                self.read(part, path)
            }
            (_, variable) => self.read(variable, path),
        }
    }

    /// Loads a scalar from storage.
    pub(crate) fn load(&mut self, tree: &Tree, path: &Path) -> Lowering<Expr> {
        let Some(place) = Place::follow(tree, path) else {
            return self.bug(format!("the path {path:?} does not fit the memory {tree:?}"));
        };
        match &place.tree {
            Tree::Scalar(name, _) => Ok(Expr::Var(name.clone())),
            Tree::Buffer(name, ..) => Ok(Expr::Load(name.clone(), self.simplify(&place.offset()))),
            Tree::ChosenLane(lanes, at) => Ok(chosen_lane(lanes, at)),
            _ => self.bug(format!("the path {path:?} ends before a scalar")),
        }
    }

    /// Binds the parameters of a function to arguments and goes on with its body.
    pub(crate) fn with_arguments<T>(
        &mut self,
        function: &Phrase,
        arguments: &[&Phrase],
        then: impl FnOnce(&mut Self, &Phrase) -> Lowering<T>,
    ) -> Lowering<T> {
        let mut body = function.unmarked();
        let mut rest = arguments.iter();
        let mut shadowed = Vec::new();
        let mut left = Vec::new();
        while let Some(argument) = rest.next() {
            match body {
                Phrase::Lam(name, _, inner) => {
                    let alias = Binding::Alias(Rc::new((*argument).clone()), Vec::new());
                    shadowed.push((name.clone(), self.bindings.insert(name.clone(), alias)));
                    body = inner.unmarked();
                }
                _ => {
                    left.push(*argument);
                    left.extend(rest.by_ref().copied());
                }
            }
        }
        let result = match left.is_empty() {
            true => then(self, body),
            false => then(self, &body.clone().apply(left.into_iter().cloned())),
        };
        for (name, before) in shadowed.into_iter().rev() {
            match before {
                Some(binding) => self.bindings.insert(name, binding),
                None => self.bindings.remove(&name),
            };
        }
        result
    }

    /// The value of an index expression.
    pub(crate) fn index(&mut self, phrase: &Phrase) -> Lowering<Index> {
        let expr = self.read(phrase, Vec::new())?;
        Ok(self.as_index(expr))
    }

    fn read_prim(&mut self, instance: &Instance, arguments: &[&Phrase], path: Path) -> Lowering<Expr> {
        let argument = |this: &Self, at: usize| match arguments.get(at) {
            Some(argument) => Ok(*argument),
            None => this.bug(format!("`{}` without its arguments", instance.prim.name())),
        };
        match &instance.prim {
            Prim::Literal(scalar) => Ok(Expr::Const(*scalar)),
            Prim::NatValue => match instance.nats.as_slice() {
                [nat] => Ok(index_expr(self.size(nat))),
                _ => self.bug("a size without its size"),
            },
            Prim::Unary(op, _) => Ok(fold_unary(*op, self.read(argument(self, 0)?, path)?)),
            Prim::Binary(op, _) => {
                let (left, right) = (argument(self, 0)?, argument(self, 1)?);
                let left = self.read(left, path.clone())?;
                let right = self.read(right, path)?;
                Ok(self.fold_binary(*op, left, right))
            }
            Prim::Ternary(op, _) => {
                let a = self.read(argument(self, 0)?, path.clone())?;
                let b = self.read(argument(self, 1)?, path.clone())?;
                let c = self.read(argument(self, 2)?, path)?;
                Ok(Expr::ternary(*op, a, b, c))
            }
            Prim::Select => {
                let condition = self.read(argument(self, 0)?, Vec::new())?;
                let (then, otherwise) = (argument(self, 1)?, argument(self, 2)?);
                let otherwise_path = path.clone();
                self.choose(
                    condition,
                    |this| this.read(then, path),
                    |this| this.read(otherwise, otherwise_path),
                )
            }
            Prim::Splat(..) => self.read(argument(self, 0)?, Vec::new()),
            Prim::Tag(store) => self.load_column(tag_name(store), argument(self, 0)?),
            Prim::Column(store, at, _) => self.load_column(column_name(store, *at), argument(self, 0)?),
            Prim::Map(_) => {
                let (function, array) = (argument(self, 0)?, argument(self, 1)?);
                let (at, rest) = self.first_index(path)?;
                let Phrase::Lam(name, _, body) = function.unmarked() else {
                    return self.bug("a view of every element that is no function");
                };
                let element = Binding::Alias(Rc::new(array.clone()), vec![Step::At(at)]);
                let before = self.bindings.insert(name.clone(), element);
                let result = self.read(body, rest);
                match before {
                    Some(binding) => self.bindings.insert(name.clone(), binding),
                    None => self.bindings.remove(name),
                };
                result
            }
            _ => self.view(instance, arguments, path),
        }
    }

    /// One of two values: an expression, or a branch where computing either needs statements.
    pub(crate) fn choose(
        &mut self,
        condition: Expr,
        then: impl FnOnce(&mut Self) -> Lowering<Expr>,
        otherwise: impl FnOnce(&mut Self) -> Lowering<Expr>,
    ) -> Lowering<Expr> {
        match condition {
            Expr::Const(Scalar::Bool(true)) => return then(self),
            Expr::Const(Scalar::Bool(false)) => return otherwise(self),
            _ => {}
        }
        let (a, mut a_stmts) = self.capture(then)?;
        let (b, mut b_stmts) = self.capture(otherwise)?;
        if a_stmts.is_empty() && b_stmts.is_empty() {
            return Ok(Expr::select(condition, a, b));
        }
        let Some(ty) = self.type_of(&a) else {
            return self.bug("a choice between values of no type");
        };
        let name = self.fresh("chosen");
        a_stmts.push(Stmt::Assign {
            name: name.clone(),
            value: a,
        });
        b_stmts.push(Stmt::Assign {
            name: name.clone(),
            value: b,
        });
        self.emit(Stmt::Var {
            name: name.clone(),
            ty,
            value: None,
        });
        self.emit(Stmt::If {
            condition,
            then: a_stmts,
            otherwise: b_stmts,
        });
        Ok(Expr::Var(name))
    }

    pub(crate) fn first_index(&self, path: Path) -> Lowering<(Index, Path)> {
        let mut steps = path.into_iter();
        match steps.next() {
            Some(Step::At(index)) => Ok((index, steps.collect())),
            other => self.bug(format!("a path starts with {other:?} where an index should be")),
        }
    }

    fn view(&mut self, instance: &Instance, arguments: &[&Phrase], path: Path) -> Lowering<Expr> {
        let argument = |this: &Self, at: usize| match arguments.get(at) {
            Some(argument) => Ok(*argument),
            None => this.bug(format!("`{}` without its arguments", instance.prim.name())),
        };
        let size = |this: &Self, at: usize| match instance.nats.get(at) {
            Some(nat) => Ok(this.size(nat)),
            None => this.bug(format!("`{}` without its sizes", instance.prim.name())),
        };
        match &instance.prim {
            Prim::Coerce | Prim::ToIndex | Prim::OfIndex => self.read(argument(self, 0)?, path),
            Prim::Idx => {
                let index = self.index(argument(self, 1)?)?;
                self.read(argument(self, 0)?, joined(vec![Step::At(index)], path))
            }
            Prim::Get(at, _) => self.read(argument(self, 0)?, joined(vec![Step::Field(*at)], path)),
            Prim::Tuple(_) => match path.split_first() {
                Some((Step::Field(at), rest)) => self.read(argument(self, *at)?, rest.to_vec()),
                _ => self.bug("a path that does not go into a tuple"),
            },
            Prim::Zip(_) => match path.as_slice() {
                [at, Step::Field(field), rest @ ..] => {
                    self.read(argument(self, *field)?, joined(vec![at.clone()], rest.to_vec()))
                }
                _ => self.bug("a path that does not go into a tuple"),
            },
            Prim::Iota => {
                let (at, _) = self.first_index(path)?;
                Ok(index_expr(at))
            }
            Prim::Concat => {
                let (at, rest) = self.first_index(path)?;
                let first = size(self, 0)?;
                let (left, right) = (argument(self, 0)?, argument(self, 1)?);
                let condition = self.less(&at, &first);
                let other = joined(vec![Step::At(&at - &first)], rest.clone());
                let one = joined(vec![Step::At(at)], rest);
                self.choose(
                    condition,
                    |this| this.read(left, one),
                    |this| this.read(right, other),
                )
            }
            Prim::Pad => {
                let (at, rest) = self.first_index(path)?;
                let inside = &at - &size(self, 0)?;
                let (padding, array) = (argument(self, 0)?, argument(self, 1)?);
                let low = self.less(&Index::constant(-1), &inside);
                let high = self.less(&inside, &size(self, 1)?);
                let condition = self.fold_binary(BinOp::And, low, high);
                let inner = joined(vec![Step::At(inside)], rest.clone());
                self.choose(
                    condition,
                    |this| this.read(array, inner),
                    |this| this.read(padding, rest),
                )
            }
            _ => {
                let (from, path) = self.moved(instance, arguments, path)?;
                self.read(argument(self, from)?, path)
            }
        }
    }

    /// Views that only change the path: which argument to read, and where.
    fn moved(&mut self, instance: &Instance, arguments: &[&Phrase], path: Path) -> Lowering<(usize, Path)> {
        let size = |this: &Self, at: usize| match instance.nats.get(at) {
            Some(nat) => Ok(this.size(nat)),
            None => this.bug(format!("`{}` without its sizes", instance.prim.name())),
        };
        let number = |this: &mut Self, at: usize| match arguments.get(at) {
            Some(argument) => this.index(argument),
            None => this.bug(format!("`{}` without its numbers", instance.prim.name())),
        };
        let (at, rest) = self.first_index(path)?;
        let under = |index: Index, rest: Path| joined(vec![Step::At(index)], rest);
        Ok(match &instance.prim {
            Prim::Replicate => (0, rest),
            Prim::Unzip(field, _) => (0, joined(vec![Step::At(at), Step::Field(*field)], rest)),
            Prim::Reverse => (0, under(size(self, 0)? - Index::one() - at, rest)),
            Prim::Slice => {
                let (begin, step) = (number(self, 0)?, number(self, 1)?);
                (2, under(begin + step * at, rest))
            }
            Prim::Rotate => {
                let by = number(self, 0)?;
                let n = size(self, 0)?;
                self.ranges_below(&by, &n);
                (1, under(self.rem(&(at + by), &n), rest))
            }
            Prim::Gather(scalar) => {
                let Some(indices) = arguments.first() else {
                    return self.bug("`gather` without its indices");
                };
                let index = self.read(indices, vec![Step::At(at)])?;
                let index = match scalar {
                    ScalarType::I64 => index,
                    _ => Expr::unary(UnOp::Convert(ScalarType::I64), index),
                };
                (1, under(self.as_index(index), rest))
            }
            Prim::PadEdge => {
                let inside = index_expr(&at - &size(self, 0)?);
                let last = index_expr(size(self, 1)? - Index::one());
                let low = Expr::binary(BinOp::Max, inside, Expr::int(0));
                let clamped = Expr::binary(BinOp::Min, low, last);
                (0, under(self.as_index(clamped), rest))
            }
            Prim::Join => {
                let row = size(self, 1)?;
                (
                    0,
                    joined(
                        vec![Step::At(self.div(&at, &row)), Step::At(self.rem(&at, &row))],
                        rest,
                    ),
                )
            }
            Prim::AsScalar(width, _) => {
                let width = Index::constant((*width).into());
                let (vector, lane) = (self.div(&at, &width), self.rem(&at, &width));
                (0, joined(vec![Step::At(vector), Step::Lane(lane)], rest))
            }
            Prim::AsVector(width, _) => match rest.split_first() {
                Some((Step::Lane(lane), rest)) => (
                    0,
                    under(at * Index::constant((*width).into()) + lane, rest.to_vec()),
                ),
                _ => return self.bug("a path that does not go into a vector"),
            },
            prim => {
                let (inner, rest) = self.first_index(rest)?;
                match prim {
                    Prim::Split => (0, under(at * size(self, 1)? + inner, rest)),
                    Prim::Transpose => (0, joined(vec![Step::At(inner), Step::At(at)], rest)),
                    Prim::Slide => {
                        let step = number(self, 0)?;
                        (1, under(at * step + inner, rest))
                    }
                    other => return self.bug(format!("`{}` is no view", other.name())),
                }
            }
        })
    }

    fn ranges_below(&mut self, index: &Index, size: &Index) {
        if let Some(name) = index.as_var() {
            let name = name.clone();
            self.ranges.set(name, Range::below(size));
        }
    }

    pub(crate) fn div(&self, at: &Index, by: &Index) -> Index {
        self.ranges.div(at, by)
    }

    pub(crate) fn rem(&self, at: &Index, by: &Index) -> Index {
        self.ranges.rem(at, by)
    }

    /// `a < b`, decided where the ranges tell.
    pub(crate) fn less(&self, a: &Index, b: &Index) -> Expr {
        let (a, b) = (self.simplify(a), self.simplify(b));
        match (self.ranges.is_less(&a, &b), self.ranges.is_at_most(&b, &a)) {
            (true, _) => Expr::Const(Scalar::Bool(true)),
            (_, true) => Expr::Const(Scalar::Bool(false)),
            _ => Expr::binary(BinOp::Lt, index_expr(a), index_expr(b)),
        }
    }

    /// A binary operator, folded where both sides are known.
    pub(crate) fn fold_binary(&self, op: BinOp, left: Expr, right: Expr) -> Expr {
        match (op, &left, &right) {
            (BinOp::And, Expr::Const(Scalar::Bool(true)), _) => return right,
            (BinOp::And, _, Expr::Const(Scalar::Bool(true))) => return left,
            (BinOp::And, Expr::Const(Scalar::Bool(false)), _) => return left,
            (BinOp::Or, Expr::Const(Scalar::Bool(true)), _) => return left,
            (BinOp::Or, Expr::Const(Scalar::Bool(false)), _) => return right,
            (BinOp::Or, _, Expr::Const(Scalar::Bool(false))) => return left,
            _ => {}
        }
        if left == right && self.type_of(&left).is_some_and(|ty| !ty.is_float()) {
            match op {
                BinOp::Eq | BinOp::Le | BinOp::Ge => return Expr::Const(Scalar::Bool(true)),
                BinOp::Ne | BinOp::Lt | BinOp::Gt => return Expr::Const(Scalar::Bool(false)),
                _ => {}
            }
        }
        if let Some(value) = self.decide(op, &left, &right) {
            return Expr::Const(Scalar::Bool(value));
        }
        if let (Expr::Const(a), Expr::Const(b)) = (&left, &right)
            && !a.ty().is_float()
            && let Some(Ok(value)) = op.eval(*a, *b)
        {
            return Expr::Const(value);
        }
        Expr::binary(op, left, right)
    }

    /// A comparison of indices that the ranges decide.
    fn decide(&self, op: BinOp, left: &Expr, right: &Expr) -> Option<bool> {
        let (a, b) = (self.known_index(left)?, self.known_index(right)?);
        let known = |holds: bool, fails: bool| match (holds, fails) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let ranges = &self.ranges;
        match op {
            BinOp::Lt => known(ranges.is_less(&a, &b), ranges.is_at_most(&b, &a)),
            BinOp::Le => known(ranges.is_at_most(&a, &b), ranges.is_less(&b, &a)),
            BinOp::Gt => known(ranges.is_less(&b, &a), ranges.is_at_most(&a, &b)),
            BinOp::Ge => known(ranges.is_at_most(&b, &a), ranges.is_less(&a, &b)),
            BinOp::Eq => known(a == b, ranges.is_less(&a, &b) || ranges.is_less(&b, &a)),
            BinOp::Ne => known(ranges.is_less(&a, &b) || ranges.is_less(&b, &a), a == b),
            _ => None,
        }
    }

    fn known_index(&self, expr: &Expr) -> Option<Index> {
        match expr {
            Expr::Index(index) => Some(index.clone()),
            Expr::Const(Scalar::I64(value)) => Some(Index::constant(*value)),
            Expr::Var(name) if self.types.get(name) == Some(&ScalarType::I64) => {
                Some(Index::var(name.clone()))
            }
            _ => None,
        }
    }

    /// The type of an expression made here.
    pub(crate) fn type_of(&self, expr: &Expr) -> Option<ScalarType> {
        Some(match expr {
            Expr::Const(scalar) => scalar.ty(),
            Expr::Var(name) | Expr::Load(name, _) => *self.types.get(name)?,
            Expr::Index(_) => ScalarType::I64,
            Expr::Unary(op, argument) => op.result_type(self.type_of(argument)?)?,
            Expr::Binary(op, left, _) => op.result_type(self.type_of(left)?)?,
            Expr::Ternary(op, first, ..) => op.result_type(self.type_of(first)?)?,
            Expr::Select(_, then, _) => self.type_of(then)?,
        })
    }
}

/// A lane of a vector in variables that is only known when the program runs.
fn chosen_lane(lanes: &[Name], at: &Index) -> Expr {
    let mut lanes = lanes.iter().enumerate().rev();
    let mut chosen = lanes
        .next()
        .map_or(Expr::int(0), |(_, last)| Expr::Var(last.clone()));
    for (lane, name) in lanes {
        let here = Expr::binary(BinOp::Eq, index_expr(at.clone()), Expr::int(lane as i64));
        chosen = Expr::select(here, Expr::Var(name.clone()), chosen);
    }
    chosen
}

/// An index as an expression: constants and names as such.
pub(crate) fn index_expr(index: Index) -> Expr {
    match (index.as_constant(), index.as_var()) {
        (Some(value), _) => Expr::int(value),
        (_, Some(name)) => Expr::Var(name.clone()),
        _ => Expr::Index(index),
    }
}

fn fold_unary(op: UnOp, argument: Expr) -> Expr {
    match (op, &argument) {
        (UnOp::Not, _) => fold_not(argument),
        (_, Expr::Const(scalar)) => match op.eval(*scalar) {
            Some(value) if !value.ty().is_float() => Expr::Const(value),
            _ => Expr::unary(op, argument),
        },
        _ => Expr::unary(op, argument),
    }
}

pub(crate) fn fold_not(argument: Expr) -> Expr {
    match argument {
        Expr::Const(Scalar::Bool(value)) => Expr::Const(Scalar::Bool(!value)),
        other => Expr::unary(UnOp::Not, other),
    }
}

pub(crate) fn joined(mut prefix: Path, rest: Path) -> Path {
    prefix.extend(rest);
    prefix
}
