//! Operations that compute arrays or combine them: each becomes its imperative combinator (Fig. 4c and the combinators
//! with communication between iterations).

use super::bodies::component;
use super::layout::{Held, Layout, Packed};
use super::types::together;
use super::{Dest, Item, Translator};
use crate::error::{Lowering, bug, refuse};
use almach_base::Name;
use almach_core::{Atom, Exp, Lambda, Op, Pattern};
use almach_dpia::{Data, Nat, Output, Phrase, PhraseType, Prim, ScanKind, Space, build};
use almach_prim::{Chunk, Effect, Level, Prim as Operation};
use almach_value::{Failure, ScalarType};

impl Translator<'_> {
    pub(crate) fn bind_op(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        if self.bind_with_rows(op, exp, pattern)? {
            return Ok(());
        }
        if op.prim == Operation::Concat && self.is_built_in_place(pattern) {
            return self.compute_new(pattern, exp, |this, dest| this.op_into(op, exp, pattern, dest));
        }
        if self.bind_windows(op, exp, pattern)? {
            return Ok(());
        }
        if let Some(view) = self.view(op, pattern)? {
            return match is_stored(op) {
                true => self.bind_stored(op, exp, pattern, view),
                false => self.bind_one(pattern, exp, view),
            };
        }
        match op.prim {
            Operation::Reduce | Operation::ReduceComm | Operation::ReduceSeq => match op.grouping() {
                Some(chunk) => self.reduce_chunks(op, chunk, exp, pattern),
                None => self.bind_reduce(op, exp, pattern),
            },
            Operation::ReduceByIndex | Operation::Scatter => self.bind_in_copy(op, exp, pattern),
            Operation::ToGlobal => self.placed(op, exp, pattern, Space::Global),
            Operation::ToLocal => self.placed(op, exp, pattern, Space::Local),
            Operation::ToPrivate => self.placed(op, exp, pattern, Space::Private),
            Operation::Map
            | Operation::Scan
            | Operation::ScanExclusive
            | Operation::Filter
            | Operation::Partition
            | Operation::Gather
            | Operation::Permute
            | Operation::Materialise => {
                self.compute_new(pattern, exp, |this, dest| this.op_into(op, exp, pattern, dest))
            }
            Operation::Nodes
            | Operation::RootOf
            | Operation::FromNodes
            | Operation::Reach
            | Operation::Constructed => self.bind_table(op, exp, pattern),
            other => refuse(format!("`{}`", other.name()), self.span),
        }
    }

    pub(crate) fn op_into(&mut self, op: &Op, exp: &Exp, pattern: &Pattern, dest: Dest) -> Lowering<()> {
        if self.binds_rows(pattern)? {
            return self.bind_then_give(exp, pattern, dest);
        }
        match (op.prim, dest) {
            (Operation::Map, Dest::Each(acceptors)) => self.map_into(op, pattern, acceptors),
            (Operation::Scan, Dest::Each(acceptors)) => self.scan_into(op, ScanKind::Inclusive, acceptors),
            (Operation::ScanExclusive, Dest::Each(acceptors)) => {
                self.scan_into(op, ScanKind::Exclusive, acceptors)
            }
            (Operation::Gather, Dest::Each(acceptors)) => self.gather_into(op, acceptors),
            (Operation::Concat, Dest::Each(acceptors)) if self.is_built_in_place(pattern) => {
                self.concat_into(op, acceptors)
            }
            (Operation::Permute, Dest::Each(acceptors)) => self.permute_into(op, acceptors),
            (Operation::Filter | Operation::Partition, Dest::Cell { acceptor, .. }) => {
                self.filter_into(op, acceptor)
            }
            (Operation::Materialise, Dest::Each(acceptors)) => {
                let [value] = arguments(op, self)?;
                let (phrase, data) = (self.value(&value)?, self.data_of(&value)?);
                for acceptor in acceptors {
                    self.copy_into(self.level(op), &data, acceptor, phrase.clone());
                }
                Ok(())
            }
            (_, Dest::Each(acceptors)) if is_stored(op) => {
                match (self.view(op, pattern)?, acceptors.as_slice()) {
                    (Some(view), [acceptor]) => {
                        let data = together(&self.pattern_data(pattern, exp)?.values());
                        self.copy_into(self.level(op), &data, acceptor.clone(), view);
                        Ok(())
                    }
                    _ => bug("a view that is stored in several places", self.span),
                }
            }
            (_, dest @ Dest::Cell { .. }) if is_stored(op) => {
                self.bind_viewed(exp, pattern)?;
                self.give_bound(pattern, dest)
            }
            (_, dest) => self.bind_then_give(exp, pattern, dest),
        }
    }

    /// A view that is written as eager (Lin, section 4.2.5), or a destination view that is not written through.
    fn bind_stored(&mut self, op: &Op, exp: &Exp, pattern: &Pattern, view: Phrase) -> Lowering<()> {
        let result = self.pattern_data(pattern, exp)?;
        let datas = result.values();
        let ([bound], [data]) = (pattern.values.as_slice(), datas.as_slice()) else {
            return bug("a view that gives several values", self.span);
        };
        let memory = self.new_var_of(&bound.var, Space::Any, &bound.var.name, data);
        self.copy_into(self.level(op), data, memory.clone().writer(), view);
        self.values.insert(bound.var.clone(), memory.reader());
        Ok(())
    }

    /// Binds a view as one, where it is copied right after.
    pub(crate) fn bind_viewed(&mut self, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let view = match exp {
            Exp::Op(op) => self.view(op, pattern)?,
            _ => None,
        };
        match view {
            Some(view) => self.bind_one(pattern, exp, view),
            None => self.bind(exp, pattern),
        }
    }

    /// Writes a value to its place, an array at a level.
    fn copy_into(&mut self, level: Level, data: &Data, acceptor: Phrase, value: Phrase) {
        match (level, data) {
            (Level::Seq | Level::Vec, _) => self.push(build::assign(data.clone(), acceptor, value)),
            (_, Data::Array(size, element)) => {
                let (x, o) = (self.fresh("x"), self.fresh("o"));
                let (from, to) = (Phrase::Var(x.clone()), Phrase::Var(o.clone()));
                let assign = build::assign((**element).clone(), to, from);
                let inner = Phrase::lam(o, PhraseType::Acc((**element).clone()), assign);
                let function = Phrase::lam(x, PhraseType::Exp((**element).clone()), inner);
                let elements = vec![(**element).clone(), (**element).clone()];
                let map = Phrase::prim(Prim::MapI(level), vec![size.clone()], elements);
                self.push(map.apply([function, value, acceptor]));
            }
            (_, _) => self.push(build::assign(data.clone(), acceptor, value)),
        }
    }

    fn is_built_in_place(&self, pattern: &Pattern) -> bool {
        matches!(pattern.values.as_slice(), [value] if self.plan.is_built_in_place(&value.var))
    }

    /// Both parts go where they should be; the plan has built them there already.
    fn concat_into(&mut self, op: &Op, acceptors: Vec<Phrase>) -> Lowering<()> {
        let [first, second] = arguments(op, self)?;
        let ((n, element), (m, _)) = (self.array_of(&first)?, self.array_of(&second)?);
        let [acceptor] = acceptors.as_slice() else {
            return bug("a concatenation of several arrays", self.span);
        };
        for (prim, atom, size) in [(Prim::TakeAcc, first, &n), (Prim::DropAcc, second, &m)] {
            let part = Phrase::prim(prim, vec![n.clone(), m.clone()], vec![element.clone()]);
            let data = Data::array(size.clone(), element.clone());
            let value = self.value(&atom)?;
            self.push(build::assign(data, part.app(acceptor.clone()), value));
        }
        Ok(())
    }

    pub(crate) fn level(&self, op: &Op) -> Level {
        op.annotation.level.unwrap_or(Level::Seq)
    }

    /// `mapI F (zip xs ys) out`.
    fn map_into(&mut self, op: &Op, pattern: &Pattern, acceptors: Vec<Phrase>) -> Lowering<()> {
        if self.map_windows(op, &acceptors)? {
            return Ok(());
        }
        let lambda = function(op, self)?;
        let (size, arrays) = self.arrays(&op.args)?;
        let (source, elements) = zipped(&size, &arrays);
        let element = together(&elements);
        let (x, o) = (self.fresh("x"), self.fresh("o"));
        let x_phrase = Phrase::Var(x.clone());
        let params = arrays.iter().enumerate().map(|(at, (array, element))| {
            let value = match elements.len() {
                1 => x_phrase.clone(),
                _ => build::get(at, &elements, x_phrase.clone()),
            };
            array.part(element, value, Packed::No)
        });
        let params = params.collect();
        let place = Phrase::Var(o.clone());
        if let Some(key) = almach_mem::key_of(pattern) {
            self.rows.insert(key.clone(), o.clone());
        }
        let mut results = Vec::new();
        let body = self.block(|this| {
            this.bind_params(lambda, params)?;
            results = lambda
                .result
                .types
                .iter()
                .map(|ty| this.data(ty))
                .collect::<Lowering<Vec<_>>>()?;
            let count = results.len();
            let places = (0..count).map(|at| component(&place, &results, at, count).0);
            this.body_into(&lambda.body, Dest::Each(places.collect()))
        })?;
        let result = together(&results);
        let acceptor = zipped_acceptor(size.clone(), results, acceptors);
        let inner = Phrase::lam(o, PhraseType::Acc(result.clone()), body);
        let function = Phrase::lam(x, PhraseType::Exp(element.clone()), inner);
        let map = Phrase::prim(Prim::MapI(self.level(op)), vec![size], vec![element, result]);
        self.push(map.apply([function, source, acceptor]));
        Ok(())
    }

    /// Arrays of one size, each with the layout of its elements.
    pub(crate) fn arrays(&self, atoms: &[Atom]) -> Lowering<(Nat, Vec<(Held, Layout)>)> {
        let mut size = None;
        let mut arrays = Vec::new();
        for atom in atoms {
            let (array, n, element) = self.array(atom)?;
            size.get_or_insert(n);
            arrays.push((array, element));
        }
        match size {
            Some(size) => Ok((size, arrays)),
            None => bug("`map` of nothing", self.span),
        }
    }

    /// An array, its size, and the layout of its elements.
    pub(crate) fn array(&self, atom: &Atom) -> Lowering<(Held, Nat, Layout)> {
        let array = self.held(atom)?;
        match array.layout.elements() {
            Some((size, element)) => Ok((array, size, element)),
            None => bug("expected an array", self.span),
        }
    }

    /// `\a: exp[s]. \b: exp[t]. \o: acc[r]. body`, for operators. The operands have these layouts.
    pub(crate) fn operator(
        &mut self,
        lambda: &Lambda,
        operands: [&Held; 2],
        swap: Order,
    ) -> Lowering<Phrase> {
        let (a, b, o) = (self.fresh("a"), self.fresh("b"), self.fresh("o"));
        let place = Phrase::Var(o.clone());
        let [first, second] = operands;
        let named = |operand: &Held, name: &almach_base::Name| Held {
            data: Phrase::Var(name.clone()),
            ..operand.clone()
        };
        let given = match swap {
            Order::AsGiven => vec![named(first, &a), named(second, &b)],
            Order::Swapped => vec![named(second, &b), named(first, &a)],
        };
        let body = self.block(|this| {
            this.bind_params(lambda, given)?;
            this.body_into(&lambda.body, Dest::Each(vec![place]))
        })?;
        let (first, second) = (first.layout.data(), second.layout.data());
        let result = match swap {
            Order::AsGiven => first.clone(),
            Order::Swapped => second.clone(),
        };
        let inner = Phrase::lam(o, PhraseType::Acc(result), body);
        let inner = Phrase::lam(b, PhraseType::Exp(second), inner);
        Ok(Phrase::lam(a, PhraseType::Exp(first), inner))
    }

    /// `reduceChunksI F I E r`, where chunks are combined on their own.
    fn reduce_chunks(&mut self, op: &Op, chunk: Chunk, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let lambda = function(op, self)?;
        let [initial, array] = arguments(op, self)?;
        let (size, element) = self.array_of(&array)?;
        let operand = Held::plain(element.clone(), build::skip());
        let function = self.operator(lambda, [&operand, &operand], Order::AsGiven)?;
        let (initial, array) = (self.value(&initial)?, self.value(&array)?);
        let result = self.new_var("reduced", &element);
        let prim = Prim::ReduceChunksI(self.level(op), chunk);
        let reduction = Phrase::prim(prim, vec![size], vec![element]);
        self.push(reduction.apply([function, initial, array, result.clone().writer()]));
        self.bind_one(pattern, exp, result.reader())
    }

    /// `reduceI F I E (\r. rest)`. The combinator's function takes the element first, the language's the accumulator.
    fn bind_reduce(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let lambda = function(op, self)?;
        let [initial, array] = arguments(op, self)?;
        let (source, size, element) = self.array(&array)?;
        let initial = self.held(&initial)?;
        let operand = source.part(&element, source.data.clone(), Packed::No);
        let function = self.operator(lambda, [&operand, &initial], Order::Swapped)?;
        let state = initial.layout.data();
        let reduction = Phrase::prim(Prim::ReduceI, vec![size], vec![element.data(), state.clone()])
            .apply([function, initial.data, source.data])
            .at(self.span);
        let result = self.fresh("r");
        self.items.push(Item::Reduce {
            reduction,
            name: result.clone(),
            data: state,
        });
        self.bind_one(pattern, exp, Phrase::Var(result))
    }

    /// `scanI F I E out`, or `scanI F G I E out` where a map of its results has been joined to it (`streams`).
    fn scan_into(&mut self, op: &Op, kind: ScanKind, acceptors: Vec<Phrase>) -> Lowering<()> {
        let (lambda, mapped) = with_output(op, self)?;
        let [initial, array, others @ ..] = op.args.as_slice() else {
            return bug("`scan` without its arguments", self.span);
        };
        let (size, element) = self.array_of(array)?;
        let operand = Held::plain(element.clone(), build::skip());
        let function = self.operator(lambda, [&operand, &operand], Order::AsGiven)?;
        let output = output(mapped);
        let mut datas = vec![element.clone()];
        let mut functions = vec![function];
        let mut acceptors = acceptors;
        if let Some(mapped) = mapped {
            let i = self.fresh("i");
            let (x, o, results, body) = self.mapped(mapped, &element, |this| {
                let at = |other: &Atom| {
                    let (n, element) = this.array_of(other)?;
                    let index = Phrase::Var(i.clone());
                    let value = build::idx(n, element.clone(), this.value(other)?, index);
                    Ok(Held::plain(element, value))
                };
                others.iter().map(at).collect()
            })?;
            let result = together(&results);
            let function = Phrase::lam(o, PhraseType::Acc(result.clone()), body);
            let function = Phrase::lam(x, PhraseType::Exp(element), function);
            let index = PhraseType::Exp(Data::Index(size.clone()));
            functions.push(Phrase::lam(i, index, function));
            datas.push(result);
            if acceptors.len() > 1 {
                let unzip = Phrase::prim(Prim::UnzipAcc(acceptors.len()), vec![size.clone()], results);
                acceptors = vec![unzip.apply(acceptors)];
            }
        }
        let prim = Prim::ScanI(self.level(op), kind, op.grouping(), output);
        let scan = Phrase::prim(prim, vec![size], datas)
            .apply(functions)
            .apply([self.value(initial)?, self.value(array)?])
            .apply(acceptors);
        self.push(scan);
        Ok(())
    }

    /// The function of a map whose first argument is an element that a combinator is about to write: names for that and for the
    /// place, the types of what it gives, and what it does.
    fn mapped(
        &mut self,
        lambda: &Lambda,
        element: &Data,
        others: impl FnOnce(&mut Self) -> Lowering<Vec<Held>>,
    ) -> Lowering<(Name, Name, Vec<Data>, Phrase)> {
        let (x, o) = (self.fresh("x"), self.fresh("o"));
        let place = Phrase::Var(o.clone());
        let mut given = vec![Held::plain(element.clone(), Phrase::Var(x.clone()))];
        given.extend(others(self)?);
        let mut results = Vec::new();
        let body = self.block(|this| {
            this.bind_params(lambda, given)?;
            let types = lambda.result.types.iter().map(|ty| this.data(ty));
            results = types.collect::<Lowering<Vec<_>>>()?;
            let count = results.len();
            let places = (0..count).map(|at| component(&place, &results, at, count).0);
            this.body_into(&lambda.body, Dest::Each(places.collect()))
        })?;
        Ok((x, o, results, body))
    }

    pub(crate) fn filter_into(&mut self, op: &Op, acceptor: Phrase) -> Lowering<()> {
        let (lambda, mapped) = with_output(op, self)?;
        let [array] = arguments(op, self)?;
        let (source, size, element) = self.array(&array)?;
        let (x, o) = (self.fresh("x"), self.fresh("o"));
        let argument = source.part(&element, Phrase::Var(x.clone()), Packed::No);
        let (element, place) = (element.data(), Phrase::Var(o.clone()));
        let body = self.block(|this| {
            this.bind_params(lambda, vec![argument])?;
            this.body_into(&lambda.body, Dest::Each(vec![place]))
        })?;
        let inner = Phrase::lam(o, PhraseType::Acc(Data::Scalar(ScalarType::Bool)), body);
        let function = Phrase::lam(x, PhraseType::Exp(element.clone()), inner);
        let prim = match op.prim {
            Operation::Filter => Prim::FilterI(self.level(op), op.annotation.chunk, output(mapped)),
            _ => Prim::PartitionI(self.level(op), op.annotation.chunk),
        };
        let mut datas = vec![element.clone()];
        let mut functions = vec![function];
        if let Some(mapped) = mapped {
            let (x, o, results, body) = self.mapped(mapped, &element, |_| Ok(Vec::new()))?;
            let result = together(&results);
            let function = Phrase::lam(o, PhraseType::Acc(result.clone()), body);
            functions.push(Phrase::lam(x, PhraseType::Exp(element), function));
            datas.push(result);
        }
        let filter = Phrase::prim(prim, vec![size], datas).apply(functions);
        self.push(filter.apply([source.data, acceptor]));
        Ok(())
    }

    /// A map over the indices, each checked.
    pub(crate) fn gather_into(&mut self, op: &Op, acceptors: Vec<Phrase>) -> Lowering<()> {
        let [indices, array] = arguments(op, self)?;
        let (count, index) = self.array_of(&indices)?;
        let (size, element) = self.array_of(&array)?;
        let Data::Scalar(scalar) = index else {
            return bug("indices that are no scalars", self.span);
        };
        let source = self.value(&array)?;
        let (x, o) = (self.fresh("i"), self.fresh("o"));
        let (argument, place) = (Phrase::Var(x.clone()), Phrase::Var(o.clone()));
        let body = self.block(|this| {
            let at = this.checked_index(scalar, argument, &size);
            let value = build::idx(size.clone(), element.clone(), source, at);
            this.push(build::assign(element.clone(), place, value));
            Ok(())
        })?;
        let inner = Phrase::lam(o, PhraseType::Acc(element.clone()), body);
        let function = Phrase::lam(x, PhraseType::Exp(index.clone()), inner);
        let map = Phrase::prim(Prim::MapI(self.level(op)), vec![count], vec![index, element]);
        let map = map.apply([function, self.value(&indices)?]).apply(acceptors);
        self.push(map);
        Ok(())
    }

    /// `gather@S`: the indices are checked, at the operation's level; elements are read where they are needed.
    pub(crate) fn gather_view(&mut self, op: &Op) -> Lowering<Phrase> {
        let [indices, array] = arguments(op, self)?;
        let (count, index) = self.array_of(&indices)?;
        let (size, element) = self.array_of(&array)?;
        let Data::Scalar(scalar) = index else {
            return bug("indices that are no scalars", self.span);
        };
        let (x, o) = (self.fresh("i"), self.fresh("o"));
        let argument = Phrase::Var(x.clone());
        let body = self.block(|this| {
            this.checked_index(scalar, argument, &size);
            Ok(())
        })?;
        // The iterations give nothing.
        let nothing = Data::Tuple(Vec::new());
        let inner = Phrase::lam(o, PhraseType::Acc(nothing.clone()), body);
        let function = Phrase::lam(x, PhraseType::Exp(index.clone()), inner);
        let checked = self.new_var("checked", &Data::array(count.clone(), nothing.clone()));
        let (indices, array) = (self.value(&indices)?, self.value(&array)?);
        let checks = Phrase::prim(
            Prim::MapI(self.level(op)),
            vec![count.clone()],
            vec![index, nothing],
        );
        self.push(checks.apply([function, indices.clone(), checked.writer()]));
        Ok(Phrase::prim(Prim::Gather(scalar), vec![count, size], vec![element]).apply([indices, array]))
    }

    pub(crate) fn permute_into(&mut self, op: &Op, acceptors: Vec<Phrase>) -> Lowering<()> {
        let [indices, array] = arguments(op, self)?;
        let (_, index) = self.array_of(&indices)?;
        let (size, element) = self.array_of(&array)?;
        let Data::Scalar(scalar) = index else {
            return bug("indices that are no scalars", self.span);
        };
        let site = Box::new(self.failure_site(Failure::NotAPermutation));
        let permute = Phrase::prim(
            Prim::PermuteI(self.level(op), scalar, site),
            vec![size],
            vec![element],
        );
        let permute = permute
            .apply([self.value(&indices)?, self.value(&array)?])
            .apply(acceptors);
        self.push(permute);
        Ok(())
    }

    /// Indices that are a permutation: they are checked by permuting elements of no cells.
    pub(crate) fn checked_permutation(
        &mut self,
        op: &Op,
        indices: &Atom,
        scalar: ScalarType,
        size: &Nat,
    ) -> Lowering<Phrase> {
        let nothing = Data::Tuple(Vec::new());
        let site = Box::new(self.failure_site(Failure::NotAPermutation));
        let permute = Prim::PermuteI(self.level(op), scalar, site);
        let permute = Phrase::prim(permute, vec![size.clone()], vec![nothing.clone()]);
        let checked = self.new_var("checked", &Data::array(size.clone(), nothing.clone()));
        let unit = Phrase::prim(Prim::Tuple(0), vec![], vec![]);
        let units = Phrase::prim(Prim::Replicate, vec![size.clone()], vec![nothing]).app(unit);
        let indices = self.value(indices)?;
        self.push(permute.apply([indices.clone(), units, checked.writer()]));
        Ok(indices)
    }

    /// `reduce_by_index` and `scatter` change a copy of their destination.
    fn bind_in_copy(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        let (dest, indices, values) = match op.args.as_slice() {
            [dest, indices, values] => (dest, indices, values),
            [dest, _, indices, values] => (dest, indices, values),
            _ => return bug("an operation without its arguments", self.span),
        };
        let (size, cell) = self.array_of(dest)?;
        let (count, index) = self.array_of(indices)?;
        let Data::Scalar(scalar) = index else {
            return bug("indices that are no scalars", self.span);
        };
        let whole = Data::array(size.clone(), cell.clone());
        let start = self.value(dest)?;
        let copy = match pattern.values.as_slice() {
            [value] => self.new_var_of(&value.var, Space::Any, "updated", &whole),
            _ => self.new_var("updated", &whole),
        };
        self.push(build::assign(whole, copy.clone().writer(), start));
        let nats = vec![count, size];
        let command = match op.prim {
            Operation::Scatter => {
                let site = Box::new(self.failure_site(Failure::ScatterConflict));
                Phrase::prim(Prim::ScatterI(self.level(op), scalar, site), nats, vec![cell])
            }
            _ => {
                let lambda = function(op, self)?;
                let operand = Held::plain(cell.clone(), build::skip());
                let function = self.operator(lambda, [&operand, &operand], Order::AsGiven)?;
                let histogram = Prim::ReduceByIndexI(self.level(op), scalar, op.grouping());
                Phrase::prim(histogram, nats, vec![cell]).app(function)
            }
        };
        let command = command.apply([self.value(indices)?, self.value(values)?, copy.clone()]);
        self.push(command);
        self.bind_one(pattern, exp, copy.reader())
    }

    /// `toLocal f x`: what `f x` gives, in that address space (section 6.2).
    fn placed(&mut self, op: &Op, exp: &Exp, pattern: &Pattern, space: Space) -> Lowering<()> {
        let lambda = function(op, self)?;
        let given = op
            .args
            .iter()
            .map(|atom| self.held(atom))
            .collect::<Lowering<Vec<_>>>()?;
        let result = self.pattern_data(pattern, exp)?;
        self.compute_into(space, pattern, &result, |this, dest| {
            let body = this.block(|this| {
                this.bind_params(lambda, given)?;
                this.body_into(&lambda.body, dest)
            })?;
            this.push(body);
            Ok(())
        })
    }

    pub(crate) fn array_literal(
        &mut self,
        elements: &[Atom],
        exp: &Exp,
        pattern: &Pattern,
        acceptors: Vec<Phrase>,
    ) -> Lowering<()> {
        let result = self.pattern_data(pattern, exp)?;
        let values = result.values();
        let ([acceptor], [Data::Array(size, element)]) = (acceptors.as_slice(), values.as_slice()) else {
            return bug("an array literal that is no array", self.span);
        };
        for (at, atom) in elements.iter().enumerate() {
            let index = build::to_index(size.clone(), super::checks::int(at as i64));
            let place = build::idx_acc(size.clone(), (**element).clone(), acceptor.clone(), index);
            let from = self.data_of(atom)?;
            let value = super::bodies::coerce(&from, element, self.value(atom)?);
            self.push(build::assign((**element).clone(), place, value));
        }
        Ok(())
    }
}

/// Several arrays as one of tuples, and the types of its components.
pub(crate) fn zipped(size: &Nat, arrays: &[(Held, Layout)]) -> (Phrase, Vec<Data>) {
    let elements: Vec<Data> = arrays.iter().map(|(_, element)| element.data()).collect();
    let values: Vec<Phrase> = arrays.iter().map(|(array, _)| array.data.clone()).collect();
    let source = match <[Phrase; 1]>::try_from(values) {
        Ok([one]) => one,
        Err(several) => {
            Phrase::prim(Prim::Zip(several.len()), vec![size.clone()], elements.clone()).apply(several)
        }
    };
    (source, elements)
}

/// Whether a view makes an array: it is written as eager, or as a destination view.
fn is_stored(op: &Op) -> bool {
    op.prim.is_view() && matches!(op.annotation.effect, Some(Effect::Eager | Effect::Destination))
}

/// Acceptors of several arrays as one of tuples.
pub(crate) fn zipped_acceptor(size: Nat, elements: Vec<Data>, acceptors: Vec<Phrase>) -> Phrase {
    match <[Phrase; 1]>::try_from(acceptors) {
        Ok([one]) => one,
        Err(several) => Phrase::prim(Prim::UnzipAcc(several.len()), vec![size], elements).apply(several),
    }
}

/// Whether a combinator gives its function the arguments in the language's order.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    AsGiven,
    Swapped,
}

pub(crate) fn function<'o>(op: &'o Op, this: &Translator<'_>) -> Lowering<&'o Lambda> {
    match op.functions.as_slice() {
        [one] => Ok(one),
        _ => bug(format!("`{}` without its function", op.prim.name()), this.span),
    }
}

/// The function of an operation, and that of the map that has been joined to it.
fn with_output<'o>(op: &'o Op, this: &Translator<'_>) -> Lowering<(&'o Lambda, Option<&'o Lambda>)> {
    match op.functions.as_slice() {
        [one] => Ok((one, None)),
        [one, mapped] => Ok((one, Some(mapped))),
        _ => bug(format!("`{}` without its function", op.prim.name()), this.span),
    }
}

fn output(mapped: Option<&Lambda>) -> Output {
    match mapped {
        None => Output::Element,
        Some(_) => Output::Mapped,
    }
}

pub(crate) fn arguments<const N: usize>(op: &Op, this: &Translator<'_>) -> Lowering<[Atom; N]> {
    match op.args.clone().try_into() {
        Ok(found) => Ok(found),
        Err(_) => bug(format!("`{}` without its arguments", op.prim.name()), this.span),
    }
}
