//! What feeds a histogram is made group by group, and goes into its bins as it is made: no array of all keys is stored.
//!
//! ```text
//! let keys: [n]i64 = map f xs                     let groups: [n/64][64]f32 = split 64 (take (n / 64 * 64) xs)
//! let s: [k]f32 = reduce_by_index d (+) 0 keys vs =>  let s = loop (acc = d) for g < n / 64 do
//!                                                       let keys: [64]i64 = map@vec f groups[g]
//!                                                       in reduce_by_index@seq acc (+) 0 keys vs[64 * g : 64 * g + 64]
//!                                                     … and what is left over, one element at a time
//! ```
//!
//! What is little work is computed again wherever it is read (`sources`); this is for everything else. A group goes through loops on lanes, as it
//! would in a map (`masks`). Threads take parts of the groups, each with bins of its own, where bins are few beside elements; where they are
//! not, keys are stored as before: there are not many for each bin then. That takes an operator whose identity is known.
//!
//! Removes: maps with one use. Introduces: loops over groups. Guarantees: bins take elements in their order, in 16 parts where threads share
//! them; no failure changes its place.

use crate::masks::{Group, LOOPS};
use crate::operator::Operator;
use crate::producers::Plan;
use crate::streams::Streams;
use crate::write::{at_level, int, view};
use crate::{Around, Choice, Chooser, Machine, Topic, cost};
use almach_base::Span;
use almach_core::typing::Typed;
use almach_core::visit::fresh_lambda;
use almach_core::{Atom, Body, Exp, Lambda, Loop, LoopForm, Op, Param, ResultType, Stmt, Type, Var};
use almach_prim::{Level, Prim};
use almach_rewrite::facts::is_fixed;
use almach_value::BinOp;
use std::collections::{HashMap, HashSet};

/// Parts with bins of their own, as of other histograms (`chunks`).
const PARTS: i64 = 16;

/// Elements of a group of what has no loops.
const LANES: i64 = 64;

/// Where the keys and the values of a histogram are among its arguments: behind the destination and the neutral value.
const ELEMENTS: usize = 2;

/// The maps of a body that feed histograms group by group.
#[derive(Default)]
pub(crate) struct Feeds {
    /// For a histogram the places of what feeds it, in order.
    fed: HashMap<usize, Vec<usize>>,
    given: HashSet<usize>,
}

impl Feeds {
    pub(crate) fn of(
        chooser: &Chooser,
        body: &Body,
        views: &HashMap<usize, Prim>,
        streams: &Streams,
        around: Around,
    ) -> Feeds {
        let mut made_by: HashMap<&Var, usize> = HashMap::new();
        let mut feeds = Feeds::default();
        for (at, stmt) in body.stmts.iter().enumerate() {
            if let Exp::Op(op) = &stmt.exp
                && chooser.takes_groups(op, stmt.span, around)
            {
                let mut givers: Vec<usize> = elements(op)
                    .filter_map(|var| made_by.get(var).copied())
                    .filter(|from| !views.contains_key(from) && streams.read_by(*from).is_none())
                    .filter(|from| chooser.may_feed(body, *from, at))
                    .collect();
                givers.sort_unstable();
                givers.dedup();
                if !givers.is_empty() {
                    feeds.given.extend(givers.iter().copied());
                    feeds.fed.insert(at, givers);
                }
            }
            for value in &stmt.pattern.values {
                made_by.insert(&value.var, at);
            }
        }
        feeds
    }

    pub(crate) fn is_given(&self, at: usize) -> bool {
        self.given.contains(&at)
    }

    /// The places of what feeds the histogram at that place.
    pub(crate) fn fed(&self, at: usize) -> Option<&[usize]> {
        self.fed.get(&at).map(Vec::as_slice)
    }
}

/// The arrays of keys and values of a histogram that have names.
fn elements(op: &Op) -> impl Iterator<Item = &Var> {
    let arrays = op.args.get(ELEMENTS..).unwrap_or_default();
    arrays.iter().filter_map(|array| match array {
        Atom::Var(var) => Some(var),
        Atom::Const(_) => None,
    })
}

/// A histogram with the maps that feed it.
struct Fed<'s> {
    stmt: &'s Stmt,
    op: &'s Op,
    start: &'s Atom,
    givers: Vec<Giver<'s>>,
    /// With levels inside.
    function: Lambda,
    /// The arrays that are cut into groups: those of all givers, and keys or values that are there already.
    arrays: Vec<Atom>,
    lanes: i64,
    /// What functions of elements stand in.
    inside: Around,
}

struct Giver<'s> {
    stmt: &'s Stmt,
    op: &'s Op,
    function: &'s Lambda,
    group: Option<Group>,
}

/// Groups of arrays: which of them are taken.
struct Share {
    groups: Vec<Atom>,
    lanes: i64,
    first: Option<Atom>,
    count: Atom,
}

impl Chooser {
    /// Whether a histogram can take its elements in groups.
    fn takes_groups(&self, op: &Op, span: Span, around: Around) -> bool {
        let ([function], Some(bins), false) = (op.functions.as_slice(), op.args.first(), is_fixed(op)) else {
            return false;
        };
        let of_scalars = self
            .array_type(bins)
            .is_some_and(|(_, element)| cost::is_scalars(&element));
        op.prim == Prim::ReduceByIndex
            && self.machine != Machine::Device
            && around != Around::Lane
            && of_scalars
            && !self.facts.body_holds_fixed(&function.body)
            && (self.level(op, span, around).0 == Level::Seq || Operator::of(function).is_some())
    }

    /// Whether what a statement makes is a map's, of which the histogram at `to` is the only use, and no failure changes its place there.
    fn may_feed(&self, body: &Body, from: usize, to: usize) -> bool {
        let (Some(giver), Some(taker)) = (body.stmts.get(from), body.stmts.get(to)) else {
            return false;
        };
        let (Exp::Op(map), Exp::Op(histogram)) = (&giver.exp, &taker.exp) else {
            return false;
        };
        let ([function], Prim::Map, false) = (map.functions.as_slice(), map.prim, is_fixed(map)) else {
            return false;
        };
        let is_long = |array: &Atom| {
            let size = self.array_type(array).map(|(size, _)| size);
            size.is_some_and(|size| size.as_constant().is_none_or(|size| size > LANES))
        };
        let taken: Vec<&Var> = elements(histogram).collect();
        let mut values = giver.pattern.values.iter();
        let goes = values.all(|value| taken.contains(&&value.var) && self.uses.of(&value.var) == 1);
        let mut between = body.stmts.get(from + 1..to).unwrap_or_default().iter();
        let may_fail = self.facts.can_fail(&giver.exp);
        goes && giver.pattern.context.is_empty()
            && function.context.is_empty()
            && function.result.context.is_empty()
            && function.result.types.iter().all(cost::is_scalars)
            && map.args.iter().all(is_long)
            && !self.facts.holds_fixed(&giver.exp)
            && !self.facts.prints(&giver.exp)
            && (!may_fail
                || (!self.facts.can_fail(&taker.exp) && between.all(|stmt| self.passes_unseen(stmt))))
            && self.is_usual(giver.span, Topic::Stream)
    }

    /// A histogram and what feeds it.
    pub(crate) fn fed_histogram(
        &mut self,
        body: &Body,
        at: usize,
        givers: &[usize],
        plan: &Plan,
        around: Around,
    ) -> Typed<()> {
        let Some(stmt) = body.stmts.get(at) else {
            return Ok(());
        };
        let Some(fed) = self.with_givers(body, stmt, givers, around)? else {
            return Ok(());
        };
        let level = self.level(fed.op, stmt.span, around).0;
        let exp = match (level, Operator::of(&fed.function)) {
            (Level::Par, Some(operator)) => {
                let is_many = self.has_few_bins(&fed)?;
                let then = self.branch(|this| this.in_parts(&fed, &operator))?;
                let otherwise = self.branch(|this| this.stored(body, &fed, givers, plan, around))?;
                let types = stmt.pattern.values.iter().map(|value| value.ty.clone());
                Exp::If {
                    condition: is_many,
                    then,
                    otherwise,
                    result: ResultType {
                        context: Vec::new(),
                        types: types.collect(),
                    },
                }
            }
            _ => Exp::Atom(self.in_order_by_groups(&fed)?),
        };
        self.builder.push(stmt.pattern.clone(), exp, stmt.span);
        Ok(())
    }

    fn branch(&mut self, inside: impl FnOnce(&mut Self) -> Typed<Atom>) -> Typed<Body> {
        self.builder.enter();
        let value = inside(self)?;
        Ok(self.builder.leave(Vec::new(), vec![value]))
    }

    fn with_givers<'s>(
        &mut self,
        body: &'s Body,
        stmt: &'s Stmt,
        givers: &[usize],
        around: Around,
    ) -> Typed<Option<Fed<'s>>> {
        let Exp::Op(op) = &stmt.exp else { return Ok(None) };
        let ([function], Some(start)) = (op.functions.as_slice(), op.args.first()) else {
            return Ok(None);
        };
        let inside = around.max(Around::Parallel);
        let givers = givers
            .iter()
            .filter_map(|at| self.giver(body.stmts.get(*at)?, inside));
        let givers: Vec<Giver<'s>> = givers.collect();
        let lanes = givers
            .iter()
            .find_map(|giver| giver.group)
            .map_or(LANES, Group::lanes);
        for giver in &givers {
            let reason = "this operation is its only use, and takes elements in groups as they are made";
            self.decide(giver.stmt.span, Prim::Map, Choice::FusedInto(op.prim), reason);
            if giver.group.is_some() {
                self.decide(giver.stmt.span, Prim::Map, Choice::Masked(lanes), LOOPS);
            }
        }
        let made: Vec<Atom> = givers
            .iter()
            .flat_map(|giver| &giver.stmt.pattern.values)
            .map(|value| Atom::Var(value.var.clone()))
            .collect();
        let there = op
            .args
            .iter()
            .skip(ELEMENTS)
            .filter(|array| !made.contains(array));
        let arrays = givers.iter().flat_map(|giver| &giver.op.args).chain(there);
        Ok(Some(Fed {
            stmt,
            op,
            start,
            function: self.lambda(function, inside)?,
            arrays: arrays.cloned().collect(),
            lanes,
            inside,
            givers,
        }))
    }

    fn giver<'s>(&self, stmt: &'s Stmt, inside: Around) -> Option<Giver<'s>> {
        let Exp::Op(op) = &stmt.exp else { return None };
        Some(Giver {
            stmt,
            op,
            function: op.functions.first()?,
            group: self.masked(op, stmt.span, inside),
        })
    }

    /// Whether the bins of all parts are fewer than the elements.
    fn has_few_bins(&mut self, fed: &Fed<'_>) -> Typed<Atom> {
        let span = fed.stmt.span;
        let bins = self.builder.length(fed.start, span)?;
        let elements = match fed.arrays.first() {
            Some(array) => self.builder.length(array, span)?,
            None => int(0),
        };
        let own = self.arithmetic(BinOp::Mul, bins, int(PARTS), "own", span)?;
        self.arithmetic(BinOp::Lt, own, elements, "many", span)
    }

    /// The histogram as it stands, behind arrays of its elements.
    fn stored(
        &mut self,
        body: &Body,
        fed: &Fed<'_>,
        givers: &[usize],
        plan: &Plan,
        around: Around,
    ) -> Typed<Atom> {
        for at in givers {
            if let Some(giver) = body.stmts.get(*at) {
                self.stmt(body, *at, giver, plan, around)?;
            }
        }
        let span = fed.stmt.span;
        let chosen = self.op(fed.op, span, around)?;
        self.bind(Exp::Op(chosen), "bins", span)
    }

    /// All groups into the bins in order, and what is left over.
    fn in_order_by_groups(&mut self, fed: &Fed<'_>) -> Typed<Atom> {
        let (share, rest) = self.shares(fed)?;
        let bins = self.fill_bins(fed, &share, fed.start)?;
        self.fill_bins(fed, &rest, &bins)
    }

    /// The groups in parts, each with bins of its own, which are combined in order; then what is left over.
    fn in_parts(&mut self, fed: &Fed<'_>, operator: &Operator) -> Typed<Atom> {
        let span = fed.stmt.span;
        let (share, rest) = self.shares(fed)?;
        let bins = self.builder.length(fed.start, span)?;
        let parts = at_level(Prim::Iota, Level::Seq, vec![], vec![int(PARTS)]);
        let parts = self.bind(parts, "parts", span)?;
        let each = self.lambda_of([("part", Type::I64)], |this, [part]| {
            let first = this.begin_of_part(&share.count, &part, span)?;
            let next = this.arithmetic(BinOp::Add, part, int(1), "next", span)?;
            let end = this.begin_of_part(&share.count, &next, span)?;
            let count = this.arithmetic(BinOp::Sub, end, first.clone(), "count", span)?;
            let own = Share {
                groups: share.groups.clone(),
                lanes: share.lanes,
                first: Some(first),
                count,
            };
            let identity = this.identity(operator, span)?;
            let empty = at_level(Prim::Replicate, Level::Seq, vec![], vec![bins.clone(), identity]);
            let empty = this.bind(empty, "empty", span)?;
            this.fill_bins(fed, &own, &empty)
        })?;
        let own = at_level(Prim::Map, Level::Par, vec![each], vec![parts]);
        let own = self.bind(own, "own", span)?;
        let columns = self.bind(view(Prim::Transpose, vec![own]), "columns", span)?;
        let (Some((_, state)), Some((_, column))) = (self.array_type(fed.start), self.array_type(&columns))
        else {
            return Ok(columns);
        };
        let combine = fresh_lambda(&fed.function, &mut self.builder.supply);
        let combined = self.lambda_of([("bin", state), ("column", column)], |this, [bin, column]| {
            let all = almach_core::build::op(Prim::ReduceSeq, vec![combine], vec![bin, column]);
            this.bind(all, "all", span)
        })?;
        let bins = at_level(
            Prim::Map,
            Level::Par,
            vec![combined],
            vec![fed.start.clone(), columns],
        );
        let bins = self.bind(bins, "bins", span)?;
        self.fill_bins(fed, &rest, &bins)
    }

    /// The first group of a part.
    fn begin_of_part(&mut self, groups: &Atom, part: &Atom, span: Span) -> Typed<Atom> {
        let share = self.arithmetic(BinOp::Mul, part.clone(), groups.clone(), "share", span)?;
        self.arithmetic(BinOp::Div, share, int(PARTS), "first", span)
    }

    /// All whole groups, and what is left over in groups of one.
    fn shares(&mut self, fed: &Fed<'_>) -> Typed<(Share, Share)> {
        let span = fed.stmt.span;
        let (mut groups, mut singles) = (Vec::new(), Vec::new());
        for array in &fed.arrays {
            let (whole, rest) = self.multiple_of(array, fed.lanes, span)?;
            groups.push(self.bind(view(Prim::Split, vec![int(fed.lanes), whole]), "groups", span)?);
            singles.push(self.bind(view(Prim::Split, vec![int(1), rest]), "rest", span)?);
        }
        Ok((
            self.share(groups, fed.lanes, span)?,
            self.share(singles, 1, span)?,
        ))
    }

    fn share(&mut self, groups: Vec<Atom>, lanes: i64, span: Span) -> Typed<Share> {
        let count = match groups.first() {
            Some(first) => self.builder.length(first, span)?,
            None => int(0),
        };
        Ok(Share {
            groups,
            lanes,
            first: None,
            count,
        })
    }

    /// Groups of elements into bins, one after the other.
    fn fill_bins(&mut self, fed: &Fed<'_>, share: &Share, start: &Atom) -> Typed<Atom> {
        let span = fed.stmt.span;
        let ty = self.builder.type_of(start)?;
        let (index, acc) = (self.builder.param("g", Type::I64), self.builder.param("acc", ty));
        self.builder.enter();
        let mut at = Atom::Var(index.var.clone());
        if let Some(first) = &share.first {
            at = self.arithmetic(BinOp::Add, first.clone(), at, "at", span)?;
        }
        let mut rows = Vec::with_capacity(share.groups.len());
        for groups in &share.groups {
            let row = Exp::Index {
                array: groups.clone(),
                indices: vec![at.clone()],
            };
            rows.push(self.bind(row, "lanes", span)?);
        }
        let next = self.fill_from_group(fed, share.lanes, rows, &acc)?;
        let body = self.builder.leave(Vec::new(), vec![next]);
        let all = Exp::Loop(Box::new(Loop {
            context: Vec::new(),
            params: vec![(acc, start.clone())],
            form: LoopForm::For {
                index,
                bound: share.count.clone(),
            },
            body,
        }));
        self.bind(all, "bins", span)
    }

    /// The elements made of some rows, a row of each array, into bins.
    fn fill_from_group(&mut self, fed: &Fed<'_>, lanes: i64, rows: Vec<Atom>, acc: &Param) -> Typed<Atom> {
        let mut rows = rows.into_iter();
        let mut made: HashMap<&Var, Atom> = HashMap::new();
        for giver in &fed.givers {
            let own: Vec<Atom> = rows.by_ref().take(giver.op.args.len()).collect();
            let values = self.made_of_group(giver, lanes, own, fed.inside)?;
            let names = giver.stmt.pattern.values.iter().map(|value| &value.var);
            made.extend(names.zip(values));
        }
        let mut args: Vec<Atom> = vec![Atom::Var(acc.var.clone())];
        args.extend(fed.op.args.get(1).cloned());
        for array in fed.op.args.iter().skip(ELEMENTS) {
            let of_giver = match array {
                Atom::Var(var) => made.get(var).cloned(),
                Atom::Const(_) => None,
            };
            args.extend(of_giver.or_else(|| rows.next()));
        }
        let function = fresh_lambda(&fed.function, &mut self.builder.supply);
        let next = at_level(Prim::ReduceByIndex, Level::Seq, vec![function], args);
        self.bind(next, "bins", fed.stmt.span)
    }

    /// What a map makes of a group of elements of its arrays.
    fn made_of_group(
        &mut self,
        giver: &Giver<'_>,
        lanes: i64,
        rows: Vec<Atom>,
        inside: Around,
    ) -> Typed<Vec<Atom>> {
        let span = giver.stmt.span;
        if let (Some(group), true) = (giver.group, lanes > 1) {
            return self.made_on_lanes(giver.function, &rows, group.with_lanes(lanes), span);
        }
        let level = match lanes > 1 && cost::is_simple(giver.function, &self.facts) {
            true => Level::Vec,
            false => Level::Seq,
        };
        let around = match level {
            Level::Vec => Around::Lane,
            _ => inside,
        };
        let function = self.lambda(giver.function, around)?;
        let function = fresh_lambda(&function, &mut self.builder.supply);
        let names: Vec<_> = giver
            .stmt
            .pattern
            .values
            .iter()
            .map(|value| value.var.name.clone())
            .collect();
        let made = self
            .builder
            .bind_all(at_level(Prim::Map, level, vec![function], rows), &names, span)?;
        Ok(made
            .values
            .into_iter()
            .map(|value| Atom::Var(value.var))
            .collect())
    }
}
