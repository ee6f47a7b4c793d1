//! Commands to statements (Fig. 6a).

use super::expressions::joined;
use super::storage::{self, Place, Storage, Tree};
use super::{Binding, Generator, Parallel, Path, Step};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::{Data, Instance, Phrase, PhraseType, Prim, Side, Space};
use almach_imp::{Expr, Index, LoopMode, Site, Stmt};
use almach_nat::Range;
use almach_prim::Level;
use almach_value::{BinOp, Scalar, ScalarType};
use std::rc::Rc;

impl Generator<'_> {
    pub(crate) fn command(&mut self, phrase: &Phrase) -> Lowering<()> {
        if let Phrase::At(span, inner) = phrase {
            let outer = std::mem::replace(&mut self.span, *span);
            self.emit(Stmt::At(*span));
            self.command(inner)?;
            self.span = outer;
            return Ok(());
        }
        let (head, arguments) = phrase.spine();
        match head {
            Phrase::Lam(..) => self.redex(head, &arguments),
            Phrase::Prim(instance) => self.prim_command(instance, &arguments),
            Phrase::Project(side, inner) => match (side, inner.unmarked()) {
                (Side::First, Phrase::Pair(part, _)) | (Side::Second, Phrase::Pair(_, part)) => {
                    self.command(part)
                }
                _ => self.bug("a component that is no command"),
            },
            _ => self.call(head, &arguments),
        }
    }

    /// A function written in place, at arguments. Scalars are computed once; all else is another name for its phrase.
    fn redex(&mut self, function: &Phrase, arguments: &[&Phrase]) -> Lowering<()> {
        let mut body = function.unmarked();
        let mut rest = arguments.iter();
        while let Phrase::Lam(name, ty, inner) = body {
            let Some(argument) = rest.next() else {
                break;
            };
            let binding = match &**ty {
                PhraseType::Exp(data @ (Data::Scalar(_) | Data::Index(_))) => {
                    Binding::Scalar(self.computed(name, data, argument)?)
                }
                _ => self.alias(argument),
            };
            self.bindings.insert(name.clone(), binding);
            body = inner.unmarked();
        }
        match rest.as_slice() {
            [] => self.command(body),
            more => self.command(&body.clone().apply(more.iter().map(|phrase| (*phrase).clone()))),
        }
    }

    fn alias(&self, argument: &Phrase) -> Binding {
        match argument.unmarked() {
            Phrase::Var(name) => match self.bindings.get(name) {
                Some(binding) => binding.clone(),
                None => Binding::Alias(Rc::new(argument.clone()), Vec::new()),
            },
            _ => Binding::Alias(Rc::new(argument.clone()), Vec::new()),
        }
    }

    /// A scalar under a name, unless it has one already.
    fn computed(&mut self, name: &Name, data: &Data, argument: &Phrase) -> Lowering<Expr> {
        let value = self.read(argument, Vec::new())?;
        let ty = match data {
            Data::Scalar(scalar) => *scalar,
            _ => ScalarType::I64,
        };
        Ok(match value {
            Expr::Const(_) => value,
            Expr::Var(ref known) if !self.assigned.contains(known) => value,
            Expr::Index(_) => value,
            _ => {
                self.emit(Stmt::Let {
                    name: name.clone(),
                    ty,
                    value,
                });
                Expr::Var(name.clone())
            }
        })
    }

    fn prim_command(&mut self, instance: &Instance, arguments: &[&Phrase]) -> Lowering<()> {
        let pair = |phrase: &Phrase| match phrase.unmarked() {
            Phrase::Pair(left, right) => Some(((**left).clone(), (**right).clone())),
            _ => None,
        };
        match (&instance.prim, arguments) {
            (Prim::Skip, []) => Ok(()),
            (Prim::Seq, [both]) => match both.unmarked() {
                Phrase::Pair(first, second) => {
                    self.command(first)?;
                    self.command(second)
                }
                _ => self.bug("a sequence of something else"),
            },
            (Prim::Assign, [both]) => match (pair(both), instance.datas.as_slice()) {
                (Some((acceptor, exp)), [data]) => self.assign(data, &acceptor, Vec::new(), &exp, Vec::new()),
                _ => self.bug("an assignment of something else"),
            },
            (Prim::New(space), [body]) => self.new_variable(*space, instance, body),
            (Prim::NewGrowing, [body]) => self.new_growing(body),
            (Prim::Append, [cell, count, body]) => self.append(cell, count, body),
            (Prim::For, [body]) => self.for_loop(instance, body),
            (Prim::ParFor(level), [acceptor, body]) => self.parfor(*level, instance, acceptor, body),
            (Prim::If, [all]) => match pair(all).and_then(|(c, branches)| Some((c, pair(&branches)?))) {
                Some((condition, (then, otherwise))) => self.branch(&condition, &then, &otherwise),
                None => self.bug("a branch of something else"),
            },
            (Prim::While, [both]) => match pair(both) {
                Some((condition, body)) => self.while_loop(&condition, &body),
                None => self.bug("a loop of something else"),
            },
            (Prim::Check(site, _), [condition, values @ ..]) => self.check(site, condition, values),
            (Prim::Construct(row), [columns @ .., out]) => self.construct(row, columns, out),
            (Prim::NewTable(level, store, _), [function, out]) => {
                self.new_table(*level, store, instance, function, out)
            }
            (Prim::TableOf(store), [cell, out]) => self.table_of(store, cell, out),
            (Prim::Trace(label, ty), [value]) => self.trace(label, ty, instance, value),
            (Prim::Foreign(function), arguments) => self.foreign(function, instance, arguments),
            (Prim::LetNat, [value, body]) => self.let_nat(value, body),
            (Prim::Fill, [cell, rest @ ..]) => self.fill(cell, rest),
            (Prim::Open, [cell, body]) => self.open(cell, body),
            (Prim::Move, [both]) => match pair(both) {
                Some((to, from)) => self.move_variable(&to, &from),
                None => self.bug("a move of something else"),
            },
            (
                Prim::ScanI(..)
                | Prim::FilterI(_)
                | Prim::PartitionI(_)
                | Prim::ScatterI(..)
                | Prim::PermuteI(..)
                | Prim::ReduceByIndexI(..),
                _,
            ) => self.collective(instance, arguments),
            (other, _) => self.bug(format!("`{}` is no command here", other.name())),
        }
    }

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
            if count.is_zero() {
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

    fn new_variable(&mut self, space: Space, instance: &Instance, body: &Phrase) -> Lowering<()> {
        let (Phrase::Lam(name, _, inner), [data]) = (body.unmarked(), instance.datas.as_slice()) else {
            return self.bug("a variable without a body");
        };
        let data = self.index_data(data)?;
        let storage = Rc::new(storage::of(&data, name));
        self.declare(&storage, space);
        self.bindings
            .insert(name.clone(), Binding::Storage(storage.clone()));
        self.command(inner)?;
        for leaf in storage.leaves().into_iter().rev() {
            if leaf.cells.is_some() {
                self.emit(Stmt::Free(leaf.name));
            }
        }
        Ok(())
    }

    /// Declares variables and buffers; those that are no cell's get their memory at once.
    pub(crate) fn declare(&mut self, storage: &Storage, space: Space) {
        for name in &storage.sizes {
            self.assigned.insert(name.clone());
            let zero = Some(Expr::int(0));
            self.emit(Stmt::Var {
                name: name.clone(),
                ty: ScalarType::I64,
                value: zero,
            });
        }
        for leaf in storage.leaves() {
            match leaf.cells {
                None => {
                    self.assigned.insert(leaf.name.clone());
                    self.emit(Stmt::Var {
                        name: leaf.name,
                        ty: leaf.ty,
                        value: None,
                    });
                }
                Some(size) => {
                    let space = match space {
                        Space::Any => almach_imp::Space::Host,
                        Space::Global => almach_imp::Space::Global,
                        Space::Local => almach_imp::Space::Local,
                        Space::Private => almach_imp::Space::Private,
                    };
                    self.emit(Stmt::Buffer {
                        name: leaf.name.clone(),
                        ty: leaf.ty,
                        space,
                    });
                    if storage.sizes.is_empty() {
                        let size = self.simplify(&size);
                        let span = self.span;
                        self.emit(Stmt::Alloc {
                            buffer: leaf.name,
                            size,
                            span,
                        });
                    }
                }
            }
        }
    }

    /// A loop around what `body` makes.
    pub(crate) fn counted(
        &mut self,
        index: Name,
        count: Index,
        mode: LoopMode,
        body: impl FnOnce(&mut Self) -> Lowering<()>,
    ) -> Lowering<()> {
        let count = self.simplify(&count);
        if count.as_constant().is_some_and(|count| count <= 0) {
            return Ok(());
        }
        self.types.insert(index.clone(), ScalarType::I64);
        let ((), stmts) = self.capture(|this| {
            this.ranges.set(index.clone(), Range::below(&count));
            body(this)
        })?;
        self.emit(Stmt::For {
            index,
            count,
            mode,
            body: stmts,
        });
        Ok(())
    }

    fn for_loop(&mut self, instance: &Instance, body: &Phrase) -> Lowering<()> {
        let (Phrase::Lam(index, _, inner), [size]) = (body.unmarked(), instance.nats.as_slice()) else {
            return self.bug("a loop without a body");
        };
        let count = self.size(size);
        self.bindings
            .insert(index.clone(), Binding::Scalar(Expr::Var(index.clone())));
        self.counted(index.clone(), count, LoopMode::Seq, |this| this.command(inner))
    }

    /// The place of each iteration is its cell of the acceptor.
    fn parfor(
        &mut self,
        level: Level,
        instance: &Instance,
        acceptor: &Phrase,
        body: &Phrase,
    ) -> Lowering<()> {
        let (Phrase::Lam(index, _, inner), [size]) = (body.unmarked(), instance.nats.as_slice()) else {
            return self.bug("a loop without a body");
        };
        let Phrase::Lam(out, _, inner) = inner.unmarked() else {
            return self.bug("a parallel loop without a place for its results");
        };
        let count = self.size(size);
        self.bindings
            .insert(index.clone(), Binding::Scalar(Expr::Var(index.clone())));
        let place = Binding::Alias(
            Rc::new(acceptor.clone()),
            vec![Step::At(Index::var(index.clone()))],
        );
        self.bindings.insert(out.clone(), place);
        self.at_level(level, index.clone(), count, |this| this.command(inner))
    }

    /// A loop at a level.
    pub(crate) fn at_level(
        &mut self,
        level: Level,
        index: Name,
        count: Index,
        body: impl FnOnce(&mut Self) -> Lowering<()>,
    ) -> Lowering<()> {
        let mode = match (level, self.parallel) {
            (Level::Seq, _) => LoopMode::Seq,
            (Level::Vec, _) => LoopMode::Simd,
            (Level::Par | Level::Grid(_) | Level::Group(_), Parallel::Outside) => LoopMode::Par,
            (Level::Par | Level::Grid(_) | Level::Group(_), Parallel::Inside) | (Level::Local(_), _) => {
                LoopMode::Seq
            }
        };
        let outer = self.parallel;
        if mode != LoopMode::Seq {
            self.parallel = Parallel::Inside;
        }
        let result = self.counted(index, count, mode, body);
        self.parallel = outer;
        result
    }

    fn branch(&mut self, condition: &Phrase, then: &Phrase, otherwise: &Phrase) -> Lowering<()> {
        let condition = self.read(condition, Vec::new())?;
        match condition {
            Expr::Const(Scalar::Bool(true)) => return self.command(then),
            Expr::Const(Scalar::Bool(false)) => return self.command(otherwise),
            _ => {}
        }
        let ((), then) = self.capture(|this| this.command(then))?;
        let ((), otherwise) = self.capture(|this| this.command(otherwise))?;
        self.emit(Stmt::If {
            condition,
            then,
            otherwise,
        });
        Ok(())
    }

    fn while_loop(&mut self, condition: &Phrase, body: &Phrase) -> Lowering<()> {
        let condition = self.read(condition, Vec::new())?;
        let ((), body) = self.capture(|this| this.command(body))?;
        self.emit(Stmt::While { condition, body });
        Ok(())
    }

    fn check(&mut self, site: &almach_dpia::Site, condition: &Phrase, values: &[&Phrase]) -> Lowering<()> {
        let condition = self.read(condition, Vec::new())?;
        if condition == Expr::Const(Scalar::Bool(true)) {
            return Ok(());
        }
        let arguments = values
            .iter()
            .map(|value| self.read(value, Vec::new()))
            .collect::<Lowering<Vec<_>>>()?;
        self.learn(&condition);
        let never = condition == Expr::Const(Scalar::Bool(false));
        let site = Site {
            code: site.code,
            span: site.span,
            text: site.text.clone(),
        };
        self.emit(Stmt::Check {
            condition,
            site,
            arguments,
        });
        self.unreachable |= never;
        Ok(())
    }

    /// What holds once a check has passed.
    fn learn(&mut self, condition: &Expr) {
        let Expr::Binary(op, left, right) = condition else {
            return;
        };
        match (op, &**left, &**right) {
            (BinOp::And, left, right) => {
                self.learn(left);
                self.learn(right);
            }
            (BinOp::Ge, Expr::Var(name), Expr::Const(Scalar::I64(0))) if self.is_constant_i64(name) => {
                let upper = self.ranges.range(name).upper.clone();
                self.ranges.set(
                    name.clone(),
                    Range {
                        lower: Some(Index::zero()),
                        upper,
                    },
                );
            }
            (BinOp::Lt, Expr::Var(name), bound) if self.is_constant_i64(name) => {
                if let Some(bound) = index_of(bound) {
                    let lower = self.ranges.range(name).lower.clone();
                    let upper = Some(bound - Index::one());
                    self.ranges.set(name.clone(), Range { lower, upper });
                }
            }
            (BinOp::Ge, Expr::Index(index), Expr::Const(Scalar::I64(0))) => {
                self.ranges.assume_nonneg(index.clone());
            }
            _ => {}
        }
    }

    fn is_constant_i64(&self, name: &Name) -> bool {
        self.types.get(name) == Some(&ScalarType::I64) && !self.assigned.contains(name)
    }

    fn let_nat(&mut self, value: &Phrase, body: &Phrase) -> Lowering<()> {
        let Phrase::TypeLam(name, _, inner) = body.unmarked() else {
            return self.bug("a size without a body");
        };
        let value = self.read(value, Vec::new())?;
        let known = match &value {
            Expr::Index(index) => Some(index.clone()),
            Expr::Const(Scalar::I64(value)) => Some(Index::constant(*value)),
            Expr::Var(known) if !self.assigned.contains(known) => Some(Index::var(known.clone())),
            _ => None,
        };
        match known {
            Some(index) => {
                self.nats.insert(name.clone(), index);
            }
            None => self.emit(Stmt::Let {
                name: name.clone(),
                ty: ScalarType::I64,
                value,
            }),
        }
        self.command(inner)
    }

    /// The cell a phrase stands for.
    pub(crate) fn cell(&mut self, phrase: &Phrase) -> Lowering<Rc<Storage>> {
        match phrase.unmarked() {
            Phrase::Var(name) => match self.bindings.get(name).cloned() {
                Some(Binding::Storage(storage)) => Ok(storage),
                Some(Binding::Alias(inner, path)) if path.is_empty() => self.cell(&inner),
                _ => self.bug(format!("`{name}` is no cell")),
            },
            Phrase::Project(_, inner) => self.cell(inner),
            other => self.bug(format!("`{other}` is no cell")),
        }
    }

    fn fill(&mut self, cell: &Phrase, rest: &[&Phrase]) -> Lowering<()> {
        let storage = self.cell(cell)?;
        let Some((body, sizes)) = rest.split_last() else {
            return self.bug("a cell without contents");
        };
        let values = sizes
            .iter()
            .map(|size| self.read(size, Vec::new()))
            .collect::<Lowering<Vec<_>>>()?;
        for (name, value) in storage.sizes.iter().zip(values) {
            self.emit(Stmt::Assign {
                name: name.clone(),
                value,
            });
        }
        for leaf in storage.leaves() {
            if let Some(size) = leaf.cells {
                let span = self.span;
                self.emit(Stmt::Alloc {
                    buffer: leaf.name,
                    size,
                    span,
                });
            }
        }
        self.with_contents(&storage, body)
    }

    fn open(&mut self, cell: &Phrase, body: &Phrase) -> Lowering<()> {
        let storage = self.cell(cell)?;
        self.with_contents(&storage, body)
    }

    /// Runs the body of `fill` or `open`: its sizes are the cell's, its last parameter the cell's contents.
    fn with_contents(&mut self, storage: &Rc<Storage>, body: &Phrase) -> Lowering<()> {
        let mut body = body.unmarked();
        let mut sizes = storage.sizes.iter();
        while let Phrase::TypeLam(name, _, inner) = body {
            let Some(size) = sizes.next() else {
                return self.bug("a cell with fewer sizes than its contents");
            };
            // A name of its own: the cell may be filled anew while its old size is still in use.
            let value = Expr::Var(size.clone());
            self.emit(Stmt::Let {
                name: name.clone(),
                ty: ScalarType::I64,
                value,
            });
            self.ranges.set(name.clone(), Range::natural());
            body = inner.unmarked();
        }
        let Phrase::Lam(name, ty, inner) = body else {
            return self.bug("a cell whose contents have no name");
        };
        let (PhraseType::Exp(data) | PhraseType::Acc(data)) = &**ty else {
            return self.bug("contents of a cell that are no data");
        };
        let data = self.index_data(data)?;
        let tree = resized(&storage.tree, &data);
        let contents = Storage {
            sizes: Vec::new(),
            capacity: None,
            tree,
        };
        self.bindings
            .insert(name.clone(), Binding::Storage(Rc::new(contents)));
        self.command(inner)
    }

    fn move_variable(&mut self, to: &Phrase, from: &Phrase) -> Lowering<()> {
        let (to, from) = (self.cell(to)?, self.cell(from)?);
        for (to, from) in to.sizes.iter().zip(&from.sizes) {
            self.emit(Stmt::Assign {
                name: to.clone(),
                value: Expr::Var(from.clone()),
            });
        }
        for (to, from) in to.leaves().into_iter().zip(from.leaves()) {
            match to.cells {
                Some(_) => self.emit(Stmt::Swap(to.name, from.name)),
                None => self.emit(Stmt::Assign {
                    name: to.name,
                    value: Expr::Var(from.name),
                }),
            }
        }
        Ok(())
    }
}

/// The same buffers with the sizes of another type of the same form.
fn resized(tree: &Tree, data: &Data) -> Tree {
    match (tree, data) {
        (Tree::Array(_, element), Data::Array(size, inner)) => {
            Tree::Array(size.clone(), Box::new(resized(element, inner)))
        }
        (Tree::Tuple(parts), Data::Tuple(types)) => Tree::Tuple(
            parts
                .iter()
                .zip(types)
                .map(|(part, data)| resized(part, data))
                .collect(),
        ),
        _ => tree.clone(),
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
        .map(|leaf| Some((leaf.name, place.start(&leaf.path), leaf.cells?)));
    blocks.collect()
}

fn index_of(expr: &Expr) -> Option<Index> {
    match expr {
        Expr::Index(index) => Some(index.clone()),
        Expr::Const(Scalar::I64(value)) => Some(Index::constant(*value)),
        Expr::Var(name) => Some(Index::var(name.clone())),
        _ => None,
    }
}
