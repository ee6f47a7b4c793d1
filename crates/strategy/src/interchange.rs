//! Interchange: a map over columns, each reduced, becomes a reduction over rows, each added to all columns at once, so
//! that memory is read in its order.
//!
//! ```text
//! let cols: [m][n]f32 = transpose xss              let start: [m]f32 = replicate m 0.0
//! let ys: [m]f32 = map (\col ->                    let ys: [m]f32 = reduceSeq (\acc row ->
//!   let s: f32 = reduce (+) 0.0 col           =>     let next: [m]f32 = map@vec (\a x -> a + x) acc row
//!   in s) cols                                       in next) start xss
//! ```
//!
//! Each column is still reduced in order. On the host threads share strips of columns, whose states stay in the cache; of the
//! columns that are left over, too few to share, the rows are split into chunks for threads, as those of any other
//! reduction. That takes an operator whose identity is known.
//!
//! Removes: a map over a transposition. Introduces: `reduceSeq` over rows, `map@vec` over columns. Guarantees: nothing that can
//! fail is moved; each column's elements are combined in their order.

use crate::producers::Plan;
use crate::reductions::Reduction;
use crate::write::{Definitions, at_level, int, view};
use crate::{Around, Choice, Chooser, Machine, cost};
use almach_base::Span;
use almach_core::build::{enter_params, op as plain_op};
use almach_core::typing::Typed;
use almach_core::visit::{Vars, Walk, walk_function, walk_stmt};
use almach_core::{Atom, Body, Dim, Exp, Function, Lambda, Op, Param, Stmt, Type, Var};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::is_fixed;
use std::collections::HashMap;

/// Rows of a chunk.
const ROWS: i64 = 128;

/// Bytes of the states of a strip of columns.
const STRIP_BYTES: i64 = 4096;

/// Bytes of the states of a strip that one worker keeps in registers.
const REGISTER_BYTES: i64 = 256;

/// Strips come in so many at once: fewer are too few for threads to share.
const STRIPS: i64 = 8;

/// What every variable bound to a free transposition transposes.
pub(crate) fn transposed(function: &Function) -> HashMap<Var, Atom> {
    struct Finder(HashMap<Var, Atom>);
    impl Walk for Finder {
        fn stmt(&mut self, stmt: &Stmt) {
            if let (Exp::Op(op), [value]) = (&stmt.exp, stmt.pattern.values.as_slice())
                && op.prim == Prim::Transpose
                && !is_fixed(op)
                && let [array] = op.args.as_slice()
            {
                self.0.insert(value.var.clone(), array.clone());
            }
            walk_stmt(self, stmt);
        }
    }
    let mut finder = Finder(HashMap::new());
    walk_function(&mut finder, function);
    finder.0
}

/// A map over the columns of an array that reduces each.
pub(crate) struct Nest<'o> {
    function: &'o Lambda,
    /// The array whose columns they are.
    rows: Atom,
    /// The other arrays, with their parameters: a scalar for every column.
    others: Vec<(&'o Param, &'o Atom)>,
    /// Those that feed the reduction, from the source on.
    producers: Vec<&'o Stmt>,
    reduce: &'o Stmt,
    /// What happens to the result of each column.
    after: &'o [Stmt],
    /// The arrays that feed the reduction; none stands for the column.
    sources: Vec<Option<&'o Atom>>,
}

impl<'o> Nest<'o> {
    pub(crate) fn rows(&self) -> &Atom {
        &self.rows
    }

    pub(crate) fn sources(&self) -> &[Option<&'o Atom>] {
        &self.sources
    }

    pub(crate) fn producers(&self) -> &[&'o Stmt] {
        &self.producers
    }

    pub(crate) fn reduce(&self) -> &'o Stmt {
        self.reduce
    }

    /// Whether nothing happens to the result of a column.
    pub(crate) fn is_only_a_reduction(&self) -> bool {
        let result = self.reduce.pattern.values.first().map(|value| &value.var);
        let given = match self.function.body.values.as_slice() {
            [Atom::Var(var)] => Some(var),
            _ => None,
        };
        self.after.is_empty() && self.others.is_empty() && given == result
    }
}

/// A reduction of every column.
struct Columns<'c> {
    nest: &'c Nest<'c>,
    reduction: &'c Reduction,
    /// Which of the arrays that feed it holds the columns.
    at: usize,
    initial: &'c Atom,
}

impl Chooser {
    /// Whether an operation is such a map.
    pub(crate) fn column_nest<'o>(&self, op: &'o Op) -> Option<Nest<'o>> {
        let [function] = op.functions.as_slice() else {
            return None;
        };
        let is_plain = function.context.is_empty() && function.result.context.is_empty();
        if op.prim != Prim::Map || is_fixed(op) || !is_plain || function.result.types.len() != 1 {
            return None;
        }
        let at = op.args.iter().position(|arg| self.columns_of(arg).is_some())?;
        let (rows, column) = (
            self.columns_of(op.args.get(at)?)?.clone(),
            function.params.get(at)?,
        );
        let pairs = function.params.iter().zip(&op.args).enumerate();
        let others: Vec<_> = pairs
            .filter(|(other, _)| *other != at)
            .map(|(_, pair)| pair)
            .collect();
        let scalars = others.iter().all(|(param, _)| cost::is_scalars(&param.ty));
        if !scalars || !is_column(&column.ty) || self.uses.of(&column.var) != 1 {
            return None;
        }
        let (producers, reduce, after) = self.reduce_of(&function.body)?;
        let Exp::Op(reduction) = &reduce.exp else {
            return None;
        };
        let array = reduction.args.get(1)?;
        let arrays = match producers.first().map(|stmt| &stmt.exp) {
            Some(Exp::Op(giver)) => giver.args.as_slice(),
            _ => std::slice::from_ref(array),
        };
        let is_the_column = |atom: &Atom| matches!(atom, Atom::Var(var) if *var == column.var);
        if !arrays.iter().any(is_the_column) {
            return None;
        }
        let sources = arrays.iter().map(|atom| (!is_the_column(atom)).then_some(atom));
        let nest = Nest {
            function,
            rows,
            others,
            sources: sources.collect(),
            producers,
            reduce,
            after,
        };
        self.may_interchange(&nest).then_some(nest)
    }

    /// The array whose columns an array has as its rows.
    pub(crate) fn columns_of(&self, arg: &Atom) -> Option<&Atom> {
        match arg {
            Atom::Var(var) => self.transposed.get(var),
            Atom::Const(_) => None,
        }
    }

    /// The one reduction of a body that has nothing else before it.
    fn reduce_of<'o>(&self, body: &'o Body) -> Option<(Vec<&'o Stmt>, &'o Stmt, &'o [Stmt])> {
        let at = body.stmts.iter().position(|stmt| match &stmt.exp {
            Exp::Op(op) => matches!(op.prim, Prim::Reduce | Prim::ReduceComm) && !is_fixed(op),
            _ => false,
        })?;
        let plan = Plan::of(self, body);
        if !(0..at).all(|before| plan.is_absorbed(before)) {
            return None;
        }
        let producers = plan.producers(at).filter_map(|at| body.stmts.get(at)).collect();
        Some((producers, body.stmts.get(at)?, body.stmts.get(at + 1..)?))
    }

    /// What is inside must be scalar code that does not depend on the column but through its elements.
    fn may_interchange(&self, nest: &Nest<'_>) -> bool {
        let Exp::Op(reduction) = &nest.reduce.exp else {
            return false;
        };
        let ([operator], Some(initial)) = (reduction.functions.as_slice(), reduction.args.first()) else {
            return false;
        };
        let giver = |stmt: &&Stmt| matches!(&stmt.exp, Exp::Op(op) if op.prim == Prim::Map);
        if !nest.producers.iter().all(giver)
            || !self.is_simple_chain(&nest.producers, cost::is_scalars)
            || !cost::is_simple(operator, &self.facts)
        {
            return false;
        }
        let mut used = Vars::of_lambda(operator);
        for producer in &nest.producers {
            if let Exp::Op(op) = &producer.exp {
                op.functions.iter().for_each(|function| used.lambda(function));
            }
        }
        used.atom(initial);
        nest.sources.iter().flatten().for_each(|source| used.atom(source));
        let of_this_column = nest
            .function
            .params
            .iter()
            .any(|param| used.used.contains(&param.var));
        !of_this_column && cost::is_simple(&after(nest), &self.facts)
    }

    pub(crate) fn interchanged(&mut self, stmt: &Stmt, nest: &Nest<'_>, around: Around) -> Typed<()> {
        let Exp::Op(op) = &nest.reduce.exp else {
            return Ok(());
        };
        let ([function], [initial, _]) = (op.functions.as_slice(), op.args.as_slice()) else {
            return Ok(());
        };
        enter_params(
            &mut self.builder.env,
            &nest.function.context,
            &nest.function.params,
        );
        let span = stmt.span;
        self.decide(
            span,
            Prim::Map,
            Choice::Interchanged,
            "its function reduces columns, which lie across memory",
        );
        let reduction = self.described(
            nest.reduce,
            op,
            function,
            initial,
            &nest.producers,
            Type::unit(),
            around,
        )?;
        let columns = Columns {
            nest,
            reduction: &reduction,
            at: nest.sources.iter().position(Option::is_none).unwrap_or(0),
            initial,
        };
        let all = match around {
            Around::Nothing => self.shared_columns(&columns)?,
            Around::Parallel if self.machine != Machine::Device => self.columns_in_registers(&columns)?,
            Around::Nest(_) | Around::Group | Around::Parallel | Around::Lane => {
                self.fold_columns(&columns, &nest.rows)?
            }
        };
        let after = after(nest);
        let result = match (after.body.stmts.as_slice(), after.body.values.as_slice()) {
            ([], [Atom::Var(value)]) if after.params.first().is_some_and(|param| param.var == *value) => {
                Exp::Atom(all)
            }
            _ => {
                let level = match around {
                    Around::Nothing => Level::Par,
                    Around::Nest(_) | Around::Group | Around::Parallel => Level::Vec,
                    Around::Lane => Level::Seq,
                };
                let mut args = vec![all];
                args.extend(nest.others.iter().map(|(_, array)| (*array).clone()));
                at_level(Prim::Map, level, vec![after], args)
            }
        };
        self.builder.push(stmt.pattern.clone(), result, span);
        Ok(())
    }

    /// What feeds the reduction, where the columns are those of `rows`.
    fn elements_of(&mut self, nest: &Nest<'_>, rows: &Atom, span: Span) -> Typed<Option<Atom>> {
        let arrays: Vec<Atom> = nest
            .sources
            .iter()
            .map(|source| source.cloned().unwrap_or_else(|| rows.clone()))
            .collect();
        self.zipped(&arrays, span)
    }

    /// All columns of some rows, by one worker.
    fn fold_columns(&mut self, columns: &Columns<'_>, rows: &Atom) -> Typed<Atom> {
        let span = columns.reduction.span;
        let start = self.filled(rows, columns.initial, span)?;
        match self.elements_of(columns.nest, rows, span)? {
            Some(elements) => self.fold_rows(columns.reduction, columns.at, &start, &elements),
            None => Ok(start),
        }
    }

    /// All columns, by one worker: strips whose states stay in registers.
    fn columns_in_registers(&mut self, columns: &Columns<'_>) -> Typed<Atom> {
        let Columns { nest, reduction, .. } = *columns;
        let width = REGISTER_BYTES / scalar_bytes(&reduction.state).clamp(1, REGISTER_BYTES);
        let is_narrow = match self.array_type(&nest.rows) {
            Some((_, Type::Array(Dim::Size(size), _))) => {
                size.as_constant().is_some_and(|size| size < 2 * width)
            }
            _ => true,
        };
        if is_narrow || width < 2 {
            return self.fold_columns(columns, &nest.rows);
        }
        self.in_strips(columns, width, width, Level::Seq, |this, rest| {
            this.fold_columns(columns, rest)
        })
    }

    /// All columns, by threads: strips of them; chunks of the rows of those that are left over.
    fn shared_columns(&mut self, columns: &Columns<'_>) -> Typed<Atom> {
        let Columns { nest, reduction, .. } = *columns;
        let span = reduction.span;
        let width = STRIP_BYTES / scalar_bytes(&reduction.state).clamp(1, STRIP_BYTES);
        let is_narrow = match self.array_type(&nest.rows) {
            Some((_, Type::Array(Dim::Size(size), _))) => {
                size.as_constant().is_some_and(|size| size < width * STRIPS)
            }
            _ => true,
        };
        if is_narrow {
            return self.row_chunks(columns, &nest.rows);
        }
        let reason = "strips of columns are shared by threads";
        self.decide(span, reduction.operation, Choice::Chunks(width), reason);
        self.in_strips(columns, width, width * STRIPS, Level::Par, |this, rest| {
            this.row_chunks(columns, rest)
        })
    }

    /// Strips of so many columns, as many as make multiples of `together`, and then those that are left over.
    fn in_strips(
        &mut self,
        columns: &Columns<'_>,
        width: i64,
        together: i64,
        level: Level,
        rest_of: impl FnOnce(&mut Self, &Atom) -> Typed<Atom>,
    ) -> Typed<Atom> {
        let span = columns.reduction.span;
        let all = self.transpose(columns.nest.rows.clone(), "columns", span)?;
        let (whole, rest) = self.multiple_of(&all, together, span)?;
        let strips = self.bind(view(Prim::Split, vec![int(width), whole]), "strips", span)?;
        let each = self.lambda_over("strip", std::slice::from_ref(&strips), |this, strip| {
            let strip = strip.into_iter().next().unwrap_or_else(|| int(0));
            let rows = this.transpose(strip, "rows", span)?;
            this.fold_columns(columns, &rows)
        })?;
        let done = at_level(Prim::Map, level, vec![each], vec![strips]);
        let done = self.bind(done, "done", span)?;
        let done = self.bind(view(Prim::Join, vec![done]), "done", span)?;
        let rest = self.transpose(rest, "rest", span)?;
        let left = rest_of(self, &rest)?;
        self.bind(
            at_level(Prim::Concat, Level::Seq, vec![], vec![done, left]),
            "all",
            span,
        )
    }

    /// A value for every column.
    pub(crate) fn filled(&mut self, rows: &Atom, value: &Atom, span: Span) -> Typed<Atom> {
        let Some((_, Type::Array(Dim::Size(columns), _))) = self.array_type(rows) else {
            return Ok(value.clone());
        };
        let count = self.builder.size_atom(&columns, span)?;
        let fill = at_level(Prim::Replicate, Level::Seq, vec![], vec![count, value.clone()]);
        self.bind(fill, "start", span)
    }

    /// Rows reduced into the states of all columns, in order; `at` says which of the zipped arrays holds the rows.
    pub(crate) fn fold_rows(
        &mut self,
        reduction: &Reduction,
        at: usize,
        start: &Atom,
        elements: &Atom,
    ) -> Typed<Atom> {
        let span = reduction.span;
        let Some((_, element)) = self.array_type(elements) else {
            return Ok(start.clone());
        };
        let params = [("acc", self.builder.type_of(start)?), ("x", element)];
        let step = self.lambda_of(params, |this, [acc, x]| {
            let parts = this.unzipped(&x, reduction.arity, &mut Definitions::new(), span)?;
            let row = parts.get(at).cloned().unwrap_or(x);
            let Some((_, value)) = this.array_type(&row) else {
                return Ok(acc);
            };
            let inner = [("acc", reduction.state.clone()), ("x", value)];
            let column = this.lambda_of(inner, |this, [acc, x]| {
                let mut values = parts;
                if let Some(slot) = values.get_mut(at) {
                    *slot = x;
                }
                this.step_with(reduction, &acc, values)
            })?;
            let next = at_level(Prim::Map, Level::Vec, vec![column], vec![acc, row]);
            this.bind(next, "next", span)
        })?;
        let fold = plain_op(Prim::ReduceSeq, vec![step], vec![start.clone(), elements.clone()]);
        self.bind(fold, "columns", span)
    }

    /// Chunks of rows for threads, whose results are combined in order, where the operator's identity is known.
    fn row_chunks(&mut self, columns: &Columns<'_>, rows: &Atom) -> Typed<Atom> {
        let Columns {
            nest,
            reduction,
            at,
            initial,
        } = *columns;
        let Some(operator) = &reduction.operator else {
            return self.fold_columns(columns, rows);
        };
        let span = reduction.span;
        let start = self.filled(rows, initial, span)?;
        let Some(elements) = self.elements_of(nest, rows, span)? else {
            return Ok(start);
        };
        let reason = "rows are added to all columns, by one thread for each chunk";
        self.decide(span, reduction.operation, Choice::Chunks(ROWS), reason);
        let (head, rest) = self.multiple_of(&elements, ROWS, span)?;
        let chunks = self.bind(view(Prim::Split, vec![int(ROWS), head]), "chunks", span)?;
        let Some((_, chunk)) = self.array_type(&chunks) else {
            return Ok(chunks);
        };
        let each = self.lambda_of([("chunk", chunk)], |this, [chunk]| {
            let identity = this.identity(operator, span)?;
            let nothing = this.filled(rows, &identity, span)?;
            this.fold_rows(reduction, at, &nothing, &chunk)
        })?;
        let partials = at_level(Prim::Map, Level::Par, vec![each], vec![chunks]);
        let partials = self.bind(partials, "partials", span)?;
        let states = self.builder.type_of(&start)?;
        let params = [("acc", states.clone()), ("part", states)];
        let state = reduction.state.clone();
        let combine = self.lambda_of(params, |this, params| {
            let inner = [("acc", state.clone()), ("part", state)];
            let column = this.lambda_of(inner, |this, [acc, part]| {
                this.combine(reduction, &acc, &part, &Definitions::new())
            })?;
            let next = at_level(Prim::Map, Level::Vec, vec![column], params.to_vec());
            this.bind(next, "next", span)
        })?;
        let all = plain_op(Prim::ReduceSeq, vec![combine], vec![start, partials]);
        let all = self.bind(all, "all", span)?;
        self.fold_rows(reduction, at, &all, &rest)
    }
}

/// Bytes of scalars, and of tuples of them.
fn scalar_bytes(ty: &Type) -> i64 {
    match ty {
        Type::Scalar(scalar) => scalar.bytes() as i64,
        Type::Tuple(parts) => parts.iter().map(scalar_bytes).sum(),
        Type::Vector(..) | Type::Array(..) | Type::Data(_) | Type::Node(_) => STRIP_BYTES,
    }
}

/// An array of scalars.
fn is_column(ty: &Type) -> bool {
    matches!(ty, Type::Array(Dim::Size(_), element) if cost::is_scalars(element))
}

/// What happens to the result of a column, as a function of it and of the other arrays' elements.
fn after(nest: &Nest<'_>) -> Lambda {
    let result = nest.reduce.pattern.values.iter();
    let params = result.chain(nest.others.iter().map(|(param, _)| *param));
    Lambda {
        context: Vec::new(),
        params: params.cloned().collect(),
        result: nest.function.result.clone(),
        body: Body {
            stmts: nest.after.to_vec(),
            ..nest.function.body.clone()
        },
    }
}
