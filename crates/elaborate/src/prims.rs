//! Primitives with their functions in place.

use crate::conform::{Place, Sizes};
use crate::emit::Moment;
use crate::errors::bug;
use crate::expr::accepted;
use crate::signature::solve_sizes;
use crate::statics::{Env, Function, Static};
use crate::ty::{Extent, SizedTy, Ty};
use crate::{Elaborator, Res};
use almach_base::Span;
use almach_core::{Atom, Body, Dim, Exp, Lambda, Op, Param, ResultType, Size, Type, Var};
use almach_prim::{Annotation, Prim};
use almach_types::tree::Foreach;
use std::collections::HashMap;

/// How many arguments a primitive takes; `arrays` is how many of them are arrays for `map`.
pub(crate) fn arity(prim: Prim, arrays: usize, ty: &Ty) -> usize {
    match prim {
        Prim::Map => 1 + arrays,
        Prim::Reduce
        | Prim::ReduceComm
        | Prim::ReduceSeq
        | Prim::Scan
        | Prim::ScanExclusive
        | Prim::ScanRows
        | Prim::ScanRowsExclusive
        | Prim::Scatter
        | Prim::Range
        | Prim::Slide
        | Prim::PadEdge
        | Prim::Build => 3,
        Prim::ReduceByIndex => 5,
        Prim::Pad => 4,
        Prim::Filter
        | Prim::Partition
        | Prim::Gather
        | Prim::Permute
        | Prim::Replicate
        | Prim::Zip
        | Prim::Concat
        | Prim::Rotate
        | Prim::Split
        | Prim::Take
        | Prim::Drop
        | Prim::Unflatten
        | Prim::AsVector
        | Prim::FromNodes => 2,
        Prim::Iota
        | Prim::Length
        | Prim::Unzip
        | Prim::Reverse
        | Prim::Transpose
        | Prim::Join
        | Prim::Flatten
        | Prim::Segments
        | Prim::Jagged
        | Prim::AsScalar
        | Prim::Materialise
        | Prim::Nodes
        | Prim::RootOf
        | Prim::Reach
        | Prim::Constructed => 1,
        // What is placed is a value: a function of two arguments waits for both.
        Prim::ToGlobal | Prim::ToLocal | Prim::ToPrivate => {
            let mut count = 0;
            let mut at = ty;
            while let Ty::Function(function) = at {
                count += 1;
                at = &function.1;
            }
            count
        }
    }
}

/// What the function of an operation must give.
enum Gives<'t> {
    /// Anything; `map` makes rows of it, of this type.
    Rows(&'t SizedTy),
    /// A state: this type, at sizes of its own where the context says so.
    State(&'t State),
    /// What it gives.
    Anything,
}

/// Where `pad` puts something.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

fn has_rows_of_own_sizes(ty: &Type) -> bool {
    let mut found = false;
    ty.for_each_dim(&mut |dim| found |= *dim == Dim::Jagged);
    found
}

/// The type of an accumulator whose outermost sizes may change from step to step.
struct State {
    context: Vec<Var>,
    ty: Type,
}

impl<'a> Elaborator<'a> {
    pub(crate) fn prim(
        &mut self,
        prim: Prim,
        annotation: Annotation,
        ty: &SizedTy,
        args: Vec<Static<'a>>,
        span: Span,
    ) -> Res<Static<'a>> {
        let args = self.shaped_args(ty, args, span)?;
        match prim {
            Prim::Map => self.map(annotation, ty, &args, span),
            Prim::Reduce | Prim::ReduceComm | Prim::Scan | Prim::ScanExclusive => {
                self.reduce(prim, annotation, &args, span)
            }
            Prim::ScanRows => self.scan_rows((prim, Prim::Scan), annotation, &args, span),
            Prim::ScanRowsExclusive => self.scan_rows((prim, Prim::ScanExclusive), annotation, &args, span),
            Prim::ReduceSeq => self.reduce_seq(annotation, ty, &args, span),
            Prim::Filter | Prim::Partition => {
                let [predicate, array] = take(&args, span)?;
                let array = self.atom(array, span)?;
                let (_, element) = self.array_type(&array, span)?;
                let lambda = self.lambda(predicate, &[element], &Gives::Anything, span)?;
                self.op_with(prim, annotation, lambda, vec![array], span)
            }
            Prim::ReduceByIndex => self.reduce_by_index(annotation, &args, span),
            Prim::ToGlobal | Prim::ToLocal | Prim::ToPrivate => self.placed(prim, annotation, &args, span),
            Prim::Build => self.build(annotation, &args, span),
            Prim::Length => {
                let [array] = take(&args, span)?;
                let array = self.atom(array, span)?;
                let (size, _) = self.array_type(&array, span)?;
                Ok(Static::Size(size))
            }
            Prim::Concat => {
                let [left, right] = take(&args, span)?;
                self.concat(left, right, annotation, span)
            }
            _ => self.first_order_prim(prim, annotation, &args, span),
        }
    }

    /// Arguments as regular or jagged as the primitive's type says.
    fn shaped_args(&mut self, ty: &SizedTy, args: Vec<Static<'a>>, span: Span) -> Res<Vec<Static<'a>>> {
        let mut at = ty.clone();
        let mut shaped = Vec::with_capacity(args.len());
        for arg in args {
            match at.function() {
                Some((param, result)) => {
                    shaped.push(self.conform(arg, &param, Sizes::WhereMissing, span)?);
                    at = result;
                }
                None => shaped.push(arg),
            }
        }
        Ok(shaped)
    }

    fn first_order_prim(
        &mut self,
        prim: Prim,
        annotation: Annotation,
        args: &[Static<'a>],
        span: Span,
    ) -> Res<Static<'a>> {
        let atoms: Res<Vec<Atom>> = args.iter().map(|arg| self.atom(arg, span)).collect();
        let mut atoms = atoms?;
        match (prim, atoms.as_mut_slice()) {
            (Prim::Zip | Prim::Permute, [first, second]) => {
                let (size, _) = self.array_type(first, span)?;
                *second = self.with_size(second.clone(), &size, span)?;
            }
            (Prim::Scatter, [dest, indices, values]) => {
                let (_, cell) = self.array_type(dest, span)?;
                let (size, _) = self.array_type(indices, span)?;
                *values = self.coerce(values.clone(), &Type::array(size, cell), span)?;
            }
            (Prim::Pad, [_, _, value, array]) => {
                let (_, element) = self.array_type(array, span)?;
                let own = self.type_of(value, span)?;
                *value = self.coerce(value.clone(), &accepted(&own, &element), span)?;
                if has_rows_of_own_sizes(&element) {
                    return self.padded_rows(atoms, annotation, span).map(Static::Dynamic);
                }
            }
            _ => {}
        }
        self.emit_op(prim, annotation, atoms, span).map(Static::Dynamic)
    }

    /// `pad` of rows of their own sizes: the row on either side has a size of its own as well, and is one of them as part of an array.
    fn padded_rows(&mut self, atoms: Vec<Atom>, annotation: Annotation, span: Span) -> Res<Atom> {
        let [left, right, row, array] = <[Atom; 4]>::try_from(atoms)
            .map_err(|_| bug(span, "`pad` takes two numbers, an element and an array"))?;
        let (_, element) = self.array_type(&array, span)?;
        let mut padded = array;
        for (count, side) in [(left, Side::Before), (right, Side::After)] {
            let rows = self.emit_op(Prim::Replicate, Annotation::NONE, vec![count, row.clone()], span)?;
            let (size, _) = self.array_type(&rows, span)?;
            let rows = self.coerce(rows, &Type::array(size, element.clone()), span)?;
            let parts = match side {
                Side::Before => vec![rows, padded],
                Side::After => vec![padded, rows],
            };
            padded = self.emit_op(Prim::Concat, annotation, parts, span)?;
        }
        Ok(padded)
    }

    /// The array with its outermost dimension of this size.
    fn with_size(&mut self, array: Atom, size: &Size, span: Span) -> Res<Atom> {
        let (_, element) = self.array_type(&array, span)?;
        self.coerce(array, &Type::array(size.clone(), element), span)
    }

    pub(crate) fn concat(
        &mut self,
        left: &Static<'a>,
        right: &Static<'a>,
        annotation: Annotation,
        span: Span,
    ) -> Res<Static<'a>> {
        let left = self.atom(left, span)?;
        let right = self.atom(right, span)?;
        let (_, element) = self.array_type(&left, span)?;
        let (size, _) = self.array_type(&right, span)?;
        let right = self.coerce(right, &Type::array(size, element), span)?;
        self.emit_op(Prim::Concat, annotation, vec![left, right], span)
            .map(Static::Dynamic)
    }

    fn op_with(
        &mut self,
        prim: Prim,
        annotation: Annotation,
        function: Lambda,
        args: Vec<Atom>,
        span: Span,
    ) -> Res<Static<'a>> {
        let op = Op {
            prim,
            annotation,
            functions: vec![function],
            args,
        };
        self.emit_value(Exp::Op(op), prim.name(), span)
    }

    fn map(
        &mut self,
        annotation: Annotation,
        ty: &SizedTy,
        args: &[Static<'a>],
        span: Span,
    ) -> Res<Static<'a>> {
        let Some((function, arrays)) = args.split_first() else {
            return Err(bug(span, "`map` without a function"));
        };
        let atoms: Res<Vec<Atom>> = arrays.iter().map(|array| self.atom(array, span)).collect();
        let mut atoms = atoms?;
        let first = atoms.first().ok_or_else(|| bug(span, "`map` without an array"))?;
        let (size, _) = self.array_type(first, span)?;
        let mut elements = Vec::with_capacity(atoms.len());
        for atom in &mut atoms {
            *atom = self.with_size(atom.clone(), &size, span)?;
            elements.push(self.array_type(atom, span)?.1);
        }
        let result = ty.after(args.len());
        let rows = result
            .element()
            .ok_or_else(|| bug(span, "`map` gives no array"))?;
        let lambda = self.lambda(function, &elements, &Gives::Rows(&rows), span)?;
        let array = self.op_with(Prim::Map, annotation, lambda, atoms, span)?;
        self.conform(array, &result, Sizes::WhereMissing, span)
    }

    /// A `map` that the compiler itself writes, over an array of scalars.
    pub(crate) fn map_scalar(
        &mut self,
        array: Atom,
        element: Type,
        span: Span,
        inside: impl FnOnce(&mut Self, Atom) -> Res<Atom>,
    ) -> Res<Atom> {
        let param = self.builder.param("x", element);
        let var = Atom::Var(param.var.clone());
        let (stmts, value) = self.in_body(|this| inside(this, var))?;
        let ty = self.type_of(&value, span)?;
        let function = Lambda {
            context: Vec::new(),
            params: vec![param],
            result: ResultType::one(ty),
            body: Body {
                stmts,
                context: Vec::new(),
                values: vec![value],
            },
        };
        let op = Op {
            prim: Prim::Map,
            annotation: Annotation::NONE,
            functions: vec![function],
            args: vec![array],
        };
        self.emit(Exp::Op(op), "map", span)
    }

    /// A function for parameters that are elements of these types (rows of jagged arrays get sizes of their own).
    fn lambda(
        &mut self,
        function: &Static<'a>,
        elements: &[Type],
        gives: &Gives<'_>,
        span: Span,
    ) -> Res<Lambda> {
        let since = self.moment();
        let mut context = Vec::new();
        let mut params: Vec<Param> = Vec::with_capacity(elements.len());
        for element in elements {
            let builder = &mut self.builder;
            let opened = element.open(&mut || {
                let var = builder.size_var("rows");
                context.push(var.clone());
                var
            });
            params.push(self.builder.param("x", opened));
        }
        let args = params
            .iter()
            .map(|param| Static::var(param.var.clone()))
            .collect();
        let (stmts, (result, sizes, value)) = self.in_body(|this| {
            let value = this.apply_in_place(function, args, span)?;
            this.lambda_result(value, gives, since, span)
        })?;
        Ok(Lambda {
            context,
            params,
            result,
            body: Body {
                stmts,
                context: sizes,
                values: vec![value],
            },
        })
    }

    /// The function of an operation is used here only, however large it is.
    fn apply_in_place(
        &mut self,
        function: &Static<'a>,
        args: Vec<Static<'a>>,
        span: Span,
    ) -> Res<Static<'a>> {
        if let Static::Function(function) = function {
            match &**function {
                Function::Lambda(closure) if closure.params.len() == args.len() => {
                    return self.inline_closure(closure, args);
                }
                Function::Partial(inner, given, place) => {
                    let args = given.iter().cloned().chain(args).collect();
                    let span = crate::apply::written(inner, *place, span);
                    return self.apply_in_place(&Static::Function(inner.clone()), args, span);
                }
                _ => {}
            }
        }
        self.apply(function, args, span)
    }

    fn lambda_result(
        &mut self,
        value: Static<'a>,
        gives: &Gives<'_>,
        since: Moment,
        span: Span,
    ) -> Res<(ResultType, Vec<Atom>, Atom)> {
        match gives {
            Gives::Rows(ty) => {
                let value = self.conform(value, ty, Sizes::WhereMissing, span)?;
                let value = self.conform(value, ty, Sizes::WhereLocal(since), span)?;
                let atom = self.atom(&value, span)?;
                let known = |var: &Var| since.is_after(var);
                let own = unknown_dims(&ty.ty);
                let (result, sizes) = self.declare_open(std::slice::from_ref(&atom), &known, &own, span)?;
                Ok((result, sizes, atom))
            }
            Gives::Anything => {
                let atom = self.atom(&value, span)?;
                let known = |var: &Var| since.is_after(var);
                let (result, sizes) = self.declare_result(std::slice::from_ref(&atom), &known, span)?;
                Ok((result, sizes, atom))
            }
            Gives::State(state) => {
                let atom = self.atom(&value, span)?;
                let (sizes, atom) = self.as_state(atom, state, span)?;
                let result = ResultType {
                    context: state.context.clone(),
                    types: vec![state.ty.clone()],
                };
                Ok((result, sizes, atom))
            }
        }
    }

    /// A value coerced to a state's type, and the sizes it has there.
    fn as_state(&mut self, atom: Atom, state: &State, span: Span) -> Res<(Vec<Atom>, Atom)> {
        let found = self.type_of(&atom, span)?;
        let mut solution = HashMap::new();
        let wanted = |var: &Var| state.context.contains(var);
        solve_sizes(&state.ty, &found, &wanted, &mut solution);
        let mut sizes = Vec::with_capacity(state.context.len());
        for var in &state.context {
            let size = solution.get(var).cloned();
            let size = size.ok_or_else(|| bug(span, "a state without a size"))?;
            let size = self.size_atom(&size, span)?;
            solution.insert(var.clone(), self.size_of(&Static::Dynamic(size.clone()), span)?);
            sizes.push(size);
        }
        let to = state.ty.substitute(&|var| solution.get(var).cloned());
        Ok((sizes, self.coerce(atom, &to, span)?))
    }

    /// The state that elements of an array are.
    fn element_state(&mut self, element: &Type) -> State {
        let mut context = Vec::new();
        let builder = &mut self.builder;
        let ty = element.open(&mut || {
            let var = builder.fresh("n");
            context.push(var.clone());
            var
        });
        State { context, ty }
    }

    fn reduce(
        &mut self,
        prim: Prim,
        annotation: Annotation,
        args: &[Static<'a>],
        span: Span,
    ) -> Res<Static<'a>> {
        let [function, initial, array] = take(args, span)?;
        let initial = self.atom(initial, span)?;
        let array = self.atom(array, span)?;
        let (_, element) = self.array_type(&array, span)?;
        let state = self.element_state(&element);
        let (_, initial) = self.as_state(initial, &state, span)?;
        let operands = [element.clone(), element];
        let lambda = self.lambda(function, &operands, &Gives::State(&state), span)?;
        self.op_with(prim, annotation, lambda, vec![initial, array], span)
    }

    /// All rows at once, where elements are scalars; else a scan for each row.
    fn scan_rows(
        &mut self,
        (whole, each): (Prim, Prim),
        annotation: Annotation,
        args: &[Static<'a>],
        span: Span,
    ) -> Res<Static<'a>> {
        let [function, initial, rows] = take(args, span)?;
        let rows = self.atom(rows, span)?;
        let (_, row) = self.array_type(&rows, span)?;
        let Type::Array(_, element) = &row else {
            return Err(bug(span, "rows that are no arrays"));
        };
        if element.is_scalars() {
            let initial = self.atom(initial, span)?;
            let state = self.element_state(element);
            let (_, initial) = self.as_state(initial, &state, span)?;
            let operands = [(**element).clone(), (**element).clone()];
            let lambda = self.lambda(function, &operands, &Gives::State(&state), span)?;
            return self.op_with(whole, annotation, lambda, vec![initial, rows], span);
        }
        let since = self.moment();
        let mut context = Vec::new();
        let builder = &mut self.builder;
        let opened = row.open(&mut || {
            let var = builder.size_var("rows");
            context.push(var.clone());
            var
        });
        let param = self.builder.param("row", opened);
        let array = Static::var(param.var.clone());
        let (stmts, (result, sizes, value)) = self.in_body(|this| {
            let args = [function.clone(), initial.clone(), array];
            let scanned = this.reduce(each, Annotation::NONE, &args, span)?;
            this.lambda_result(scanned, &Gives::Anything, since, span)
        })?;
        let lambda = Lambda {
            context,
            params: vec![param],
            result,
            body: Body {
                stmts,
                context: sizes,
                values: vec![value],
            },
        };
        let annotation = Annotation {
            chunk: None,
            ..annotation
        };
        self.op_with(Prim::Map, annotation, lambda, vec![rows], span)
    }

    fn reduce_seq(
        &mut self,
        annotation: Annotation,
        ty: &SizedTy,
        args: &[Static<'a>],
        span: Span,
    ) -> Res<Static<'a>> {
        let [function, initial, array] = take(args, span)?;
        let initial = self.atom(initial, span)?;
        let array = self.atom(array, span)?;
        let (_, element) = self.array_type(&array, span)?;
        let accumulator = self.type_of(&initial, span)?;
        let accumulator = forget_unknown(&accumulator, &ty.after(args.len()).ty);
        let state = self.element_state(&accumulator);
        let (_, initial) = self.as_state(initial, &state, span)?;
        let operands = [accumulator, element];
        let lambda = self.lambda(function, &operands, &Gives::State(&state), span)?;
        self.op_with(Prim::ReduceSeq, annotation, lambda, vec![initial, array], span)
    }

    fn reduce_by_index(
        &mut self,
        annotation: Annotation,
        args: &[Static<'a>],
        span: Span,
    ) -> Res<Static<'a>> {
        let [dest, function, neutral, indices, values] = take(args, span)?;
        let dest = self.atom(dest, span)?;
        let neutral = self.atom(neutral, span)?;
        let indices = self.atom(indices, span)?;
        let values = self.atom(values, span)?;
        let (_, cell) = self.array_type(&dest, span)?;
        let (size, _) = self.array_type(&indices, span)?;
        let values = self.coerce(values, &Type::array(size, cell.clone()), span)?;
        let state = self.element_state(&cell);
        let (_, neutral) = self.as_state(neutral, &state, span)?;
        let operands = [cell.clone(), cell];
        let lambda = self.lambda(function, &operands, &Gives::State(&state), span)?;
        let args = vec![dest, neutral, indices, values];
        self.op_with(Prim::ReduceByIndex, annotation, lambda, args, span)
    }

    /// `toLocal f x`.
    fn placed(
        &mut self,
        prim: Prim,
        annotation: Annotation,
        args: &[Static<'a>],
        span: Span,
    ) -> Res<Static<'a>> {
        let Some((function, args)) = args.split_first() else {
            return Err(bug(span, "nothing to place"));
        };
        let atoms: Res<Vec<Atom>> = args.iter().map(|arg| self.atom(arg, span)).collect();
        let atoms = atoms?;
        let types: Res<Vec<Type>> = atoms.iter().map(|atom| self.type_of(atom, span)).collect();
        let lambda = self.lambda(function, &types?, &Gives::Anything, span)?;
        self.op_with(prim, annotation, lambda, atoms, span)
    }

    /// `build n root f`: all nodes at once, then the datum around them. A reference is the position itself.
    fn build(&mut self, annotation: Annotation, args: &[Static<'a>], span: Span) -> Res<Static<'a>> {
        let [count, root, function] = take(args, span)?;
        let count = self.atom(count, span)?;
        let root = self.atom(root, span)?;
        let positions = self.emit_op(Prim::Iota, Annotation::NONE, vec![count], span)?;
        let param = self.builder.param("i", Type::I64);
        let position = Static::var(param.var.clone());
        let (stmts, value) = self.in_body(|this| {
            let reference = Static::function(Function::Identity);
            let node = this.apply_in_place(function, vec![position, reference], span)?;
            this.atom(&node, span)
        })?;
        let nodes = self.map_nodes(annotation, param, stmts, value, positions, span)?;
        self.emit_op(Prim::FromNodes, Annotation::NONE, vec![root, nodes], span)
            .map(Static::Dynamic)
    }

    fn map_nodes(
        &mut self,
        annotation: Annotation,
        param: Param,
        stmts: Vec<almach_core::Stmt>,
        value: Atom,
        array: Atom,
        span: Span,
    ) -> Res<Atom> {
        let ty = self.type_of(&value, span)?;
        let function = Lambda {
            context: Vec::new(),
            params: vec![param],
            result: ResultType::one(ty),
            body: Body {
                stmts,
                context: Vec::new(),
                values: vec![value],
            },
        };
        let op = Op {
            prim: Prim::Map,
            annotation,
            functions: vec![function],
            args: vec![array],
        };
        self.emit(Exp::Op(op), "nodes", span)
    }

    /// `foreach x in e with f, d do body`: a `map` over the table. `d` looks up in it, `f` is the identity on positions.
    pub(crate) fn foreach(&mut self, foreach: &'a Foreach, env: &Env<'a>, span: Span) -> Res<Static<'a>> {
        let datum = self.expr_atom(&foreach.datum, env)?;
        let table = self.emit_op(Prim::Nodes, Annotation::NONE, vec![datum.clone()], span)?;
        let root = self.emit_op(Prim::RootOf, Annotation::NONE, vec![datum], span)?;
        let (_, element) = self.array_type(&table, span)?;
        let param = self
            .builder
            .param(crate::matching::name_of(&foreach.node), element);
        let node = Static::var(param.var.clone());
        let mut inner = env.clone();
        inner.bind(&foreach.rename, Static::function(Function::Identity));
        inner.bind(&foreach.down, Static::function(Function::Lookup(table.clone())));
        let (stmts, value) = self.in_body(|this| {
            this.bind_pattern(&foreach.node, &node, &mut inner)?;
            this.expr_atom(&foreach.body, &inner)
        })?;
        let nodes = self.map_nodes(Annotation::NONE, param, stmts, value, table, span)?;
        self.emit_op(Prim::FromNodes, Annotation::NONE, vec![root, nodes], span)
            .map(Static::Dynamic)
    }
}

/// The type with `?` where the closed type leaves an outermost size open.
fn forget_unknown(found: &Type, ty: &Ty) -> Type {
    match (found, ty) {
        (Type::Array(_, element), Ty::Array(Extent::Unknown, _)) => Type::Array(Dim::Jagged, element.clone()),
        (Type::Tuple(parts), _) => {
            let types = ty.components().unwrap_or_default();
            Type::Tuple(
                parts
                    .iter()
                    .zip(types)
                    .map(|(part, ty)| forget_unknown(part, ty))
                    .collect(),
            )
        }
        _ => found.clone(),
    }
}

fn take<'s, 'a, const N: usize>(args: &'s [Static<'a>], span: Span) -> Res<[&'s Static<'a>; N]> {
    let args: Vec<&Static<'a>> = args.iter().collect();
    args.try_into()
        .map_err(|_| bug(span, "a primitive with the wrong number of arguments"))
}

/// For every dimension of a row whether the type checker knows no size for it: such rows are jagged, even where Core knows.
fn unknown_dims(ty: &Ty) -> Vec<bool> {
    fn add(ty: &Ty, place: Place, dims: &mut Vec<bool>) {
        match ty {
            Ty::Array(extent, element) => {
                dims.push(place == Place::Outermost && *extent == Extent::Unknown);
                add(element, Place::BelowArray, dims);
            }
            Ty::Tuple(parts) => parts.iter().for_each(|part| add(part, place, dims)),
            Ty::Record(fields) => fields.iter().for_each(|(_, part)| add(part, place, dims)),
            Ty::Scalar(_)
            | Ty::Vector(..)
            | Ty::Data(..)
            | Ty::Node(..)
            | Ty::Reference
            | Ty::Function(_) => {}
        }
    }
    let mut dims = Vec::new();
    add(ty, Place::Outermost, &mut dims);
    dims
}
