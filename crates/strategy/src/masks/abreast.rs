//! Elements of a map abreast: where a function is much work on arrays, and the same work for every element, a group of elements is done at a
//! time, one on each lane. What differs by element has the lanes as its innermost dimension; what does not is computed once for a group.
//!
//! ```text
//! map (\x: [d]t ->                         map@seq (\xs: [8][d]t ->
//!   sum (map (\i ->                          let columns: [d][8]t = materialise (transpose xs)
//!     let row = l[k i : k i + i]      =>     in reduceSeq (\acc i ->
//!     in sum (map (*) row x[0:i]))             let row = l[k i : k i + i]
//!     (iota d)))                               let s: [8]t = reduceSeq (\acc (c, lanes) -> map@vec (\a x -> fma c x a) acc lanes) … (zip row columns[0:i])
//!   xss                                        in map@vec (+) acc s) … (iota d)) (split 8 xss)   … and what is left over as it stands
//! ```
//!
//! It is done where a function reduces arrays whose sizes differ from one iteration to the next, as the rows of a triangle do: on lanes of
//! their own these are rarely full, abreast they always are. (What differs by element is turned round first, which sums of whole rows would
//! feel more than what they gain.) A reduction on lanes is in order on each, so its grouping is that of the program.
//!
//! This file finds such functions; `arrays` writes them. Guarantees: what can fail is the same for all elements of a group, and fails once for
//! them, with the same place and values.

use super::Group;
use super::lifting::{Lifting, Work};
use crate::cost::{is_scalars, is_simple};
use crate::operator::Operator;
use crate::producers::Plan;
use crate::write::{at_level, levelled, view};
use crate::{Around, Choice, Chooser, Fusion, Machine, Topic};
use almach_base::Span;
use almach_core::typing::Typed;
use almach_core::visit::{Walk, fresh_lambda};
use almach_core::{Atom, Body, Dim, Exp, Lambda, Op, Param, ResultType, Stmt, Type, Var};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::is_fixed;
use almach_value::ScalarType;
use std::collections::{HashMap, HashSet};

/// Bytes of the lanes of a group ([`Topic::Abreast`] has the names of the answers).
const VECTOR: i64 = 64;

/// Lanes of a group at most: what a function computes on the way may be wider than what it gives.
const MOST_LANES: i64 = 16;

/// Why.
const REASON: &str = "its function is the same work on arrays for every element";

/// A function of a group of elements of each array it takes; it gives an element for each.
#[derive(Clone)]
pub(crate) struct Abreast {
    pub(crate) function: Lambda,
    pub(crate) lanes: i64,
}

/// What is found on the way through a function.
struct Search<'c> {
    chooser: &'c Chooser,
    /// The variables that differ by lane.
    differing: HashMap<Var, Type>,
    /// The variables of functions inside the function.
    inner: HashSet<Var>,
    /// Whether a reduction of what differs has another size in another iteration.
    own_sizes: bool,
}

impl Chooser {
    /// How many elements of arrays a function is worth being done for at a time; none where it is better, or has to be, done one by one.
    pub(crate) fn lanes_abreast(&self, function: &Lambda, span: Span, around: Around) -> Option<i64> {
        if self.machine == Machine::Device || around == Around::Lane || !self.may_be_grouped(function) {
            return None;
        }
        let plain = function.context.is_empty() && function.result.context.is_empty();
        let takes = |param: &Param| is_scalars(&param.ty) || is_row(&param.ty);
        let [Type::Scalar(result)] = function.result.types.as_slice() else {
            return None;
        };
        if !plain || !function.params.iter().all(takes) || is_simple(function, &self.facts) {
            return None;
        }
        let mut search = Search {
            chooser: self,
            differing: HashMap::new(),
            inner: HashSet::new(),
            own_sizes: false,
        };
        search.differ(&function.params);
        let fits = search.body(&function.body);
        let own_sizes = search.own_sizes;
        if !fits || (self.ask(span, Topic::Abreast, 2) == 0) != own_sizes {
            return None;
        }
        Some((VECTOR / result.bytes().max(1) as i64).min(MOST_LANES))
    }

    /// The function of a map for groups of elements of those arrays.
    pub(crate) fn abreast(&mut self, function: &Lambda, lanes: i64, span: Span) -> Typed<Abreast> {
        let size = almach_core::Size::constant(lanes);
        let mut rows = Vec::with_capacity(function.params.len());
        for param in &function.params {
            let ty = Type::Array(Dim::Size(size.clone()), Box::new(param.ty.clone()));
            rows.push(self.builder.param("elements", ty));
        }
        self.repeat(function);
        self.builder.enter();
        let mut columns = Vec::with_capacity(rows.len());
        for (param, row) in function.params.iter().zip(&rows) {
            let row = Atom::Var(row.var.clone());
            columns.push(match is_row(&param.ty) {
                true => {
                    let turned = levelled(view(Prim::Transpose, vec![row]));
                    let turned = self.bind(turned, "columns", span)?;
                    let stored = at_level(Prim::Materialise, Level::Seq, Vec::new(), vec![turned]);
                    self.bind(stored, "columns", span)?
                }
                false => row,
            });
        }
        let some = rows.first().map(|row| Atom::Var(row.var.clone()));
        let group = Group {
            lanes,
            mask: ScalarType::I64,
        };
        let values = Lifting::over(self, function, &columns, some.as_ref(), group, span).whole(function)?;
        let types = values.iter().map(|value| self.builder.type_of(value));
        let types = types.collect::<Typed<Vec<Type>>>()?;
        let body = self.builder.leave(Vec::new(), values);
        let function = Lambda {
            context: Vec::new(),
            params: rows,
            result: ResultType {
                context: Vec::new(),
                types,
            },
            body,
        };
        Ok(Abreast { function, lanes })
    }

    /// How many elements of a map that gives scalars are worth being done at a time.
    pub(crate) fn mapped_abreast(&self, op: &Op, span: Span, around: Around) -> Option<i64> {
        let ([function], true) = (op.functions.as_slice(), op.prim == Prim::Map && !is_fixed(op)) else {
            return None;
        };
        let lanes = self.lanes_abreast(function, span, around)?;
        let (size, _) = self.array_type(op.args.first()?)?;
        size.as_constant()
            .is_none_or(|size| size >= lanes)
            .then_some(lanes)
    }

    /// The map in groups, and what is left over as it stands.
    pub(crate) fn on_lanes_abreast(&mut self, stmt: &Stmt, op: &Op, lanes: i64, around: Around) -> Typed<()> {
        let span = stmt.span;
        let [function] = op.functions.as_slice() else {
            return Ok(());
        };
        let (level, _) = self.level(op, span, around);
        self.decide(span, op.prim, Choice::Abreast(lanes), REASON);
        let (groups, rests) = self.cut_in_groups(op, lanes, span)?;
        let one = self.lambda(function, around.inside(Some(level), self.machine))?;
        let each = self.abreast(function, lanes, span)?.function;
        let each = fresh_lambda(&each, &mut self.builder.supply);
        self.groups_and_rest(stmt, level, (each, groups), (one, rests))
    }

    /// The same for a reduction that a map feeds, where its operator has lanes.
    pub(crate) fn fed_abreast(
        &mut self,
        operator: Option<&Operator>,
        producers: &[&Stmt],
        around: Around,
    ) -> Typed<Option<Abreast>> {
        let ([producer], Some(Operator::Scalar(..))) = (producers, operator) else {
            return Ok(None);
        };
        let Exp::Op(op) = &producer.exp else {
            return Ok(None);
        };
        let ([function], true) = (op.functions.as_slice(), op.prim == Prim::Map && !is_fixed(op)) else {
            return Ok(None);
        };
        let Some(lanes) = self.lanes_abreast(function, producer.span, around) else {
            return Ok(None);
        };
        self.decide(producer.span, op.prim, Choice::Abreast(lanes), REASON);
        self.abreast(function, lanes, producer.span).map(Some)
    }

    /// What is computed inside the reductions of a body.
    pub(super) fn plan(&self, body: &Body) -> Plan {
        match self.fusion {
            Fusion::On => Plan::of(self, body),
            Fusion::Off => Plan::default(),
        }
    }
}

impl Search<'_> {
    fn differ(&mut self, params: &[Param]) {
        for param in params {
            self.differing.insert(param.var.clone(), param.ty.clone());
        }
    }

    fn body(&mut self, body: &Body) -> bool {
        let plan = self.chooser.plan(body);
        body.stmts.iter().enumerate().all(|(at, stmt)| {
            let producers: Vec<&Stmt> = plan.producers(at).filter_map(|at| body.stmts.get(at)).collect();
            plan.is_absorbed(at) || self.stmt(stmt, &producers)
        })
    }

    fn stmt(&mut self, stmt: &Stmt, producers: &[&Stmt]) -> bool {
        let Some(work) = Work::of(stmt, producers, &self.differing, &self.chooser.facts) else {
            return false;
        };
        let fits = match work {
            Work::Alike => return true,
            Work::Scalars | Work::Part { .. } => true,
            Work::Map { function, args } => self.function(function, args),
            Work::Reduce {
                operator,
                stages,
                args,
                ..
            } => {
                self.own_sizes |= args.first().is_some_and(|array| self.has_own_size(array));
                let mut fits = true;
                let mut differs: Vec<bool> = args.iter().map(|arg| self.differs(arg)).collect();
                for stage in stages {
                    fits &= self.applied(stage, &differs);
                    differs = stage
                        .body
                        .values
                        .iter()
                        .map(|value| self.differs(value))
                        .collect();
                }
                fits && is_simple(operator, &self.chooser.facts)
            }
        };
        self.differ(&stmt.pattern.values);
        fits
    }

    fn function(&mut self, function: &Lambda, args: &[Atom]) -> bool {
        let differs: Vec<bool> = args.iter().map(|arg| self.differs(arg)).collect();
        self.applied(function, &differs)
    }

    /// A function of elements of which some differ by lane. What is the same for all lanes would have to be copied for each, which is done of
    /// scalars only.
    fn applied(&mut self, function: &Lambda, differs: &[bool]) -> bool {
        struct Binders<'a>(&'a mut HashSet<Var>);
        impl Walk for Binders<'_> {
            fn binder(&mut self, var: &Var) {
                self.0.insert(var.clone());
            }
        }
        Binders(&mut self.inner).lambda(function);
        for (param, differs) in function.params.iter().zip(differs) {
            if *differs {
                self.differ(std::slice::from_ref(param));
            }
        }
        let plain = function.context.is_empty() && function.result.context.is_empty();
        plain
            && self.body(&function.body)
            && function
                .body
                .values
                .iter()
                .zip(&function.result.types)
                .all(|(value, ty)| is_scalars(ty) || (is_regular(ty) && self.differs(value)))
    }

    fn differs(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Var(var) if self.differing.contains_key(var))
    }

    fn has_own_size(&self, array: &Atom) -> bool {
        match self.chooser.facts.env.atom_type(array) {
            Ok(Type::Array(Dim::Size(size), _)) => size.free_vars().any(|var| self.inner.contains(var)),
            _ => false,
        }
    }
}

/// An array of scalars.
fn is_row(ty: &Type) -> bool {
    matches!(ty, Type::Array(Dim::Size(_), element) if is_scalars(element))
}

/// Arrays whose rows have one size, of scalars in the end.
pub(super) fn is_regular(ty: &Type) -> bool {
    match ty {
        Type::Array(Dim::Size(_), element) => is_regular(element),
        other => is_scalars(other),
    }
}
