//! Partial results of chunks are combined a round of chunks at a time.
//!
//! ```text
//! alloc partials[n/16384]                        alloc partials[2048]
//! par for i < n/16384 {                          for round < (n/16384 + 2047)/2048 {
//!   … partials[i] = …                              let count: i64 = min(2048, {n/16384 - 2048*round})
//! }                                                par for here < count {
//! for j < n/16384 {                    ~~>           let i: i64 = {2048*round + here}
//!   acc = acc + partials[j]                          … partials[here] = …
//! }                                                }
//!                                                  for next < count { acc = acc + partials[next] }
//!                                                }
//! ```
//!
//! The grouping of a reduction says which elements are combined before which, not how many partial results there are at a time. So a
//! reduction holds as much memory for a billion elements as for a few million, and has it on the stack. A round is so long that what threads wait for
//! each other at its end is nothing beside it. Devices hold all of their partial results: they start a kernel for each round.
//!
//! Removes: memory that grows with the number of chunks. Introduces: loops over rounds. Guarantees: the same results bit for bit, and the same failure: what
//! combines cannot fail, and neither loop sees what the other one writes, partial results apart.

use crate::buffers::mentions;
use crate::rename::binders;
use crate::slots::{Slots, frees};
use crate::whole_copies::values;
use almach_base::{Name, Span};
use almach_imp::{Access, Expr, Index, LoopMode, Proc, Space, Stmt, Touched, Width, is_column};
use almach_nat::Atom;
use almach_value::{BinOp, ScalarType};
use std::collections::{HashMap, HashSet};

/// How long rounds are.
#[derive(Clone, Copy)]
struct Lengths {
    /// Bytes of partial results that are held at once, at most.
    bytes: i64,
    /// Chunks of a round, at most; and at least: with fewer, many threads would wait for each other too often.
    most: i64,
    least: i64,
    /// Elements of a chunk, at least: an iteration with fewer is not worth much, and a round of them is not worth starting threads.
    elements: i64,
}

/// What is held fits on the stack.
const LENGTHS: Lengths = Lengths {
    bytes: 16 * 1024,
    most: 2048,
    least: 64,
    elements: 4096,
};

pub(crate) fn rounds(proc: &mut Proc) {
    rounds_of(proc, LENGTHS);
}

fn rounds_of(proc: &mut Proc, lengths: Lengths) {
    let mut names: HashSet<Name> = proc.params.iter().map(|param| param.name.clone()).collect();
    binders(&proc.body, &mut names);
    let mut pass = Rounds {
        lengths,
        values: values(proc),
        names,
    };
    pass.block(&mut proc.body);
}

struct Rounds {
    lengths: Lengths,
    /// What scalars are that get one value.
    values: HashMap<Name, Index>,
    names: HashSet<Name>,
}

/// A loop over chunks.
#[derive(Clone, Copy)]
struct Loop<'s> {
    index: &'s Name,
    count: &'s Index,
    body: &'s [Stmt],
}

/// A buffer with so many cells for every chunk.
struct Partial {
    name: Name,
    cells: i64,
    bytes: i64,
    /// The slot of its allocation.
    allocated: usize,
    span: Span,
}

/// Two loops of a block that take turns.
struct Pair {
    makes: usize,
    combines: usize,
    partials: Vec<Partial>,
    chunks: i64,
}

impl Rounds {
    fn block(&mut self, stmts: &mut Vec<Stmt>) {
        for stmt in stmts.iter_mut() {
            stmt.blocks_mut().into_iter().for_each(|inner| self.block(inner));
        }
        let is_chunked =
            |stmt: &Stmt| Loop::of(stmt, LoopMode::Par).is_some_and(|found| self.is_chunked(found.count));
        let chunked: Vec<usize> = (0..)
            .zip(stmts.iter())
            .filter(|(_, stmt)| is_chunked(stmt))
            .map(|(at, _)| at)
            .collect();
        if chunked.is_empty() {
            return;
        }
        let mut slots = Slots::of(std::mem::take(stmts));
        for at in chunked {
            if let Some(pair) = pair(&slots, at, self.lengths) {
                self.in_rounds(&mut slots, &pair);
            }
        }
        *stmts = slots.into_stmts();
    }

    /// Whether a number of iterations is one of chunks with many elements each.
    fn is_chunked(&self, count: &Index) -> bool {
        let known = count.as_var().and_then(|name| self.values.get(name));
        match known.unwrap_or(count).as_atom() {
            Some(Atom::Quotient(ratio)) => ratio
                .divisor
                .as_constant()
                .is_some_and(|elements| elements >= self.lengths.elements),
            Some(Atom::Var(_) | Atom::Remainder(_) | Atom::Unfolded(_)) | None => false,
        }
    }

    /// Both loops go where the second one was: what is between them does not mind.
    fn in_rounds(&mut self, slots: &mut Slots, pair: &Pair) -> Option<()> {
        let makes = Loop::of(slots.only(pair.makes)?, LoopMode::Par)?;
        let combines = Loop::of(slots.only(pair.combines)?, LoopMode::Seq)?;
        let round = self.round(makes, combines, pair);
        slots.replace(pair.combines, vec![round]);
        slots.replace(pair.makes, Vec::new());
        for partial in &pair.partials {
            let few = Stmt::Alloc {
                buffer: partial.name.clone(),
                size: Index::constant(pair.chunks * partial.cells),
                span: partial.span,
            };
            slots.replace(partial.allocated, vec![few]);
        }
        Some(())
    }

    fn round(&mut self, makes: Loop<'_>, combines: Loop<'_>, pair: &Pair) -> Stmt {
        let (round, count) = (self.fresh("round"), self.fresh("chunks"));
        let chunks = Index::constant(pair.chunks);
        let start = &chunks * &Index::var(round.clone());
        let left = Expr::Index(makes.count - &start);
        let here = Stmt::Let {
            name: count.clone(),
            ty: ScalarType::I64,
            value: Expr::binary(BinOp::Min, Expr::int(pair.chunks), left),
        };
        let count = Index::var(count);
        let body = vec![
            here,
            self.part(makes, LoopMode::Par, &start, &count, &pair.partials),
            self.part(combines, LoopMode::Seq, &start, &count, &pair.partials),
        ];
        Stmt::For {
            index: round,
            width: Width::W64,
            count: (makes.count + &chunks - Index::one()).div(&chunks),
            mode: LoopMode::Seq,
            body,
        }
    }

    /// The iterations of a loop that belong to a round.
    fn part(
        &mut self,
        whole: Loop<'_>,
        mode: LoopMode,
        start: &Index,
        count: &Index,
        partials: &[Partial],
    ) -> Stmt {
        let here = self.fresh(&format!("{}_here", whole.index));
        let place = Place {
            number: whole.index,
            here: &Index::var(here.clone()),
            partials,
        };
        let mut body = whole.body.to_vec();
        body.iter_mut().for_each(|stmt| place.stmt(stmt));
        if Touched::of(&body).read.contains(whole.index) {
            let number = Stmt::Let {
                name: whole.index.clone(),
                ty: ScalarType::I64,
                value: Expr::Index(start + Index::var(here.clone())),
            };
            body.insert(0, number);
        }
        Stmt::For {
            index: here,
            width: Width::W64,
            count: count.clone(),
            mode,
            body,
        }
    }

    fn fresh(&mut self, stem: &str) -> Name {
        let numbered = (2..).map(|number| format!("{stem}_{number}"));
        let mut names = std::iter::once(stem.to_string()).chain(numbered).map(Name::from);
        // There are more numbers than names.
        let name = names
            .find(|name| !self.names.contains(name))
            .unwrap_or_else(|| stem.into());
        self.names.insert(name.clone());
        name
    }
}

impl<'s> Loop<'s> {
    fn of(stmt: &'s Stmt, wanted: LoopMode) -> Option<Loop<'s>> {
        match stmt {
            Stmt::For {
                index,
                count,
                mode,
                body,
                ..
            } if *mode == wanted => Some(Loop { index, count, body }),
            _ => None,
        }
    }
}

/// The loop of a slot over chunks, and the one behind it that combines what it makes.
fn pair(slots: &Slots, makes: usize, lengths: Lengths) -> Option<Pair> {
    let first = Loop::of(slots.only(makes)?, LoopMode::Par)?;
    let is_loop = |at: usize| slots.get(at).iter().any(|stmt| matches!(stmt, Stmt::For { .. }));
    let combines = (makes + 1..slots.len()).find(|at| is_loop(*at))?;
    let second = Loop::of(slots.only(combines)?, LoopMode::Seq)?;
    if first.count != second.count || !second.body.iter().all(cannot_fail) {
        return None;
    }
    let made = Touched::of(first.body);
    let made = made.free_cells().filter(|(_, access)| *access == Access::Write);
    let partials: Vec<Partial> = made
        .filter_map(|(name, _)| partial(slots, name, (makes, first), (combines, second)))
        .collect();
    let of_a_chunk: i64 = partials.iter().map(|partial| partial.bytes).sum();
    let fit = lengths.bytes.checked_div(of_a_chunk)?.min(lengths.most);
    let chunks = 1 << fit.checked_ilog2()?;
    let between: Vec<&Stmt> = (makes + 1..combines).flat_map(|at| slots.get(at)).collect();
    let may_take_turns =
        chunks >= lengths.least && are_apart(first, second, &partials) && may_come_first(&between, first);
    may_take_turns.then_some(Pair {
        makes,
        combines,
        partials,
        chunks,
    })
}

/// Partial results that are allocated in this block, filled by one loop, read by the other one, and used nowhere else.
fn partial(
    slots: &Slots,
    name: &Name,
    (makes, first): (usize, Loop<'_>),
    (combines, second): (usize, Loop<'_>),
) -> Option<Partial> {
    let allocated = slots.before(name, makes).next()?;
    let Stmt::Alloc { size, span, .. } = slots.only(allocated)? else {
        return None;
    };
    let declared = slots.before(name, allocated).next()?;
    let Stmt::Buffer {
        ty,
        space: Space::Host,
        ..
    } = slots.only(declared)?
    else {
        return None;
    };
    let is_first = slots.before(name, declared).next().is_none();
    let is_only_freed = slots.after(name, makes).filter(|at| *at != combines).all(|at| {
        at > combines
            && slots
                .get(at)
                .iter()
                .all(|stmt| frees(stmt, name) || !mentions(stmt, name))
    });
    let cells = size
        .exact_div(first.count)?
        .as_constant()
        .filter(|cells| *cells > 0)?;
    let row = |index| Row {
        buffer: name,
        cells,
        chunk: index,
        lengths: HashMap::new(),
    };
    let is_by_chunks =
        row(first.index).all(first.body, Access::Write) && row(second.index).all(second.body, Access::Read);
    (is_first && is_only_freed && is_by_chunks).then(|| Partial {
        name: name.clone(),
        cells,
        bytes: cells.saturating_mul(i64::try_from(ty.bytes()).unwrap_or(8)),
        allocated,
        span: *span,
    })
}

/// The cells of a buffer that belong to an iteration.
struct Row<'s> {
    buffer: &'s Name,
    cells: i64,
    chunk: &'s Name,
    /// How many iterations the loops around have, where that is a constant.
    lengths: HashMap<Name, i64>,
}

impl Row<'_> {
    /// Whether statements use the buffer in this one way only, and only the cells of the iteration.
    fn all(&mut self, stmts: &[Stmt], access: Access) -> bool {
        stmts.iter().all(|stmt| self.stmt(stmt, access))
    }

    fn stmt(&mut self, stmt: &Stmt, access: Access) -> bool {
        let mut is_own = true;
        stmt.for_each_expr(&mut |expr| is_own &= self.expr(expr, access));
        if let Stmt::Store { buffer, index, .. } = stmt
            && buffer == self.buffer
        {
            return is_own && access == Access::Write && self.is_inside(index);
        }
        if let Stmt::For { index, count, .. } = stmt
            && let Some(count) = count.as_constant()
        {
            self.lengths.insert(index.clone(), count);
        }
        let blocks = stmt.blocks();
        match blocks.is_empty() {
            true => is_own && (is_plain(stmt) || !mentions(stmt, self.buffer)),
            false => is_own && blocks.into_iter().all(|block| self.all(block, access)),
        }
    }

    fn expr(&self, expr: &Expr, access: Access) -> bool {
        match expr {
            Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => true,
            Expr::Load(buffer, index) => {
                buffer != self.buffer || (access == Access::Read && self.is_inside(index))
            }
            Expr::Unary(_, a) => self.expr(a, access),
            Expr::Binary(_, a, b) => self.expr(a, access) && self.expr(b, access),
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().all(|part| self.expr(part, access))
            }
        }
    }

    /// `cells*chunk + e`, with a number below `cells` for `e`.
    fn is_inside(&self, index: &Index) -> bool {
        let within = index - &(Index::constant(self.cells) * Index::var(self.chunk.clone()));
        let most = within.terms().iter().try_fold(0i64, |most, (monomial, factor)| {
            let largest = match monomial.factors() {
                [] => 1,
                [(Atom::Var(name), 1)] => self.lengths.get(name)? - 1,
                _ => return None,
            };
            (*factor >= 0).then_some(())?;
            most.checked_add(factor.checked_mul(largest)?)
        });
        most.is_some_and(|most| most < self.cells)
    }
}

/// Statements that use buffers by nothing but their expressions.
fn is_plain(stmt: &Stmt) -> bool {
    matches!(
        stmt,
        Stmt::Let { .. }
            | Stmt::Var { .. }
            | Stmt::Assign { .. }
            | Stmt::Store { .. }
            | Stmt::Check { .. }
            | Stmt::At(_)
    )
}

/// Whether a statement ends, without an error, and shows nothing.
fn cannot_fail(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Let { .. }
        | Stmt::Var { .. }
        | Stmt::Assign { .. }
        | Stmt::Store { .. }
        | Stmt::Copy { .. }
        | Stmt::At(_) => true,
        Stmt::For {
            mode: LoopMode::Seq | LoopMode::Simd,
            body,
            ..
        } => body.iter().all(cannot_fail),
        Stmt::If { then, otherwise, .. } => then.iter().chain(otherwise).all(cannot_fail),
        _ => false,
    }
}

/// Whether neither loop sees what the other one does, but for partial results.
fn are_apart(first: Loop<'_>, second: Loop<'_>, partials: &[Partial]) -> bool {
    let (makes, combines) = (Touched::of(first.body), Touched::of(second.body));
    let is_partial = |name: &Name| partials.iter().any(|partial| partial.name == *name);
    let counts = |name: &Name| first.count.free_vars().any(|known| known == name);
    let by_first =
        written(&makes).all(|name| !counts(name) && (is_partial(name) || !combines.mentions(name)));
    let by_second = written(&combines).all(|name| !counts(name) && !makes.mentions(name));
    let hands_on = |touched: &Touched| touched.moved.iter().any(|name| !touched.declared.contains(name));
    let has_column = combines.cells.keys().any(|name| is_column(name));
    by_first && by_second && !hands_on(&makes) && !hands_on(&combines) && !has_column
}

/// Scalars and buffers of the outside that statements write.
fn written(touched: &Touched) -> impl Iterator<Item = &Name> {
    let cells = touched
        .free_cells()
        .filter(|(_, access)| *access == Access::Write);
    touched.results().chain(cells.map(|(name, _)| name))
}

/// Whether statements may come before the loop that they are behind.
fn may_come_first(between: &[&Stmt], first: Loop<'_>) -> bool {
    let (makes, others) = (Touched::of(first.body), Touched::of(between.iter().copied()));
    let is_simple = |stmt: &&Stmt| {
        matches!(
            stmt,
            Stmt::Let { .. } | Stmt::Var { .. } | Stmt::Assign { .. } | Stmt::Buffer { .. } | Stmt::At(_)
        )
    };
    let counts = |name: &Name| first.count.free_vars().any(|known| known == name);
    between.iter().all(is_simple)
        && written(&makes).all(|name| !others.mentions(name))
        && others
            .assigned
            .iter()
            .all(|name| !counts(name) && !makes.mentions(name))
}

/// Where the partial results of a chunk are.
struct Place<'p> {
    number: &'p Name,
    here: &'p Index,
    partials: &'p [Partial],
}

impl Place<'_> {
    fn stmt(&self, stmt: &mut Stmt) {
        if let Stmt::Store { buffer, index, .. } = stmt {
            self.index(buffer, index);
        }
        stmt.for_each_expr_mut(&mut |expr| self.expr(expr));
        stmt.blocks_mut()
            .into_iter()
            .flatten()
            .for_each(|inner| self.stmt(inner));
    }

    fn expr(&self, expr: &mut Expr) {
        match expr {
            Expr::Const(_) | Expr::Var(_) | Expr::Index(_) => {}
            Expr::Load(buffer, index) => self.index(buffer, index),
            Expr::Unary(_, a) => self.expr(a),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| self.expr(part)),
            Expr::Ternary(_, a, b, c) | Expr::Select(a, b, c) => {
                [a, b, c].into_iter().for_each(|part| self.expr(part))
            }
        }
    }

    fn index(&self, buffer: &Name, index: &mut Index) {
        if self.partials.iter().any(|partial| partial.name == *buffer) {
            *index = index.substitute(|name| (name == self.number).then(|| self.here.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use almach_imp::Checked;
    use almach_imp::interp::{Passed, run};
    use almach_value::Scalar;

    const SHORT: Lengths = Lengths {
        bytes: 64,
        most: 4,
        least: 2,
        elements: 3,
    };

    /// A program as it is, and with rounds of at most four chunks.
    fn both(body: &str) -> (Checked, Checked) {
        let program = almach_imp::parse(&format!(
            "proc main(n: i64, xs: read i64, ys: write i64, out: out i64) {{ {body} }}"
        ))
        .unwrap();
        let mut other = program.clone();
        other.procs.iter_mut().for_each(|proc| rounds_of(proc, SHORT));
        (
            almach_imp::check(program).unwrap(),
            almach_imp::check(other).unwrap(),
        )
    }

    /// What both give, for all numbers of chunks around one and two rounds.
    fn agree(body: &str) -> String {
        let (plain, rounds) = both(body);
        for n in 0i64..32 {
            let cells = |of: &dyn Fn(i64) -> Option<Scalar>| Passed::Buffer((0..n + 3).map(of).collect());
            let arguments = vec![
                Passed::Value(Scalar::I64(n)),
                cells(&|i| Some(Scalar::I64(7 * i - 3))),
                cells(&|_| Some(Scalar::I64(0))),
                Passed::Out(None),
            ];
            let expected = format!("{:?}", run(&plain, "main", arguments.clone()));
            assert_eq!(
                format!("{:?}", run(&rounds, "main", arguments)),
                expected,
                "n = {n}"
            );
        }
        rounds.program().to_string()
    }

    const SUM: &str = "buffer parts: i64 alloc parts[n/3]
        par for i < n/3 { parts[i] = xs[3*i] + xs[3*i + 2] ys[i] = xs[i] }
        var acc: i64 = 5i64
        for j < n/3 { acc = (acc * 3i64) - parts[j] }
        free parts out = acc";

    #[test]
    fn a_round_holds_its_own_partial_results() {
        let text = agree(SUM);
        assert!(
            text.contains("alloc parts[4]") && text.contains("for round < (n + 9)/12"),
            "{text}"
        );
    }

    #[test]
    fn also_rows_of_them_and_a_number_of_chunks_that_has_a_name() {
        let text = agree(
            "let chunks: i64 = {(n + 2)/3}
            buffer parts: i64 alloc parts[2*chunks] buffer more: i64 alloc more[chunks]
            par for i < chunks { for k < 2 { parts[2*i + k] = xs[3*i + k] } more[i] = {i} }
            var acc: i64 = 0i64
            for j < chunks { acc = (acc * 3i64) + (parts[2*j] - parts[2*j + 1]) acc = acc + (more[j] * {j}) }
            free more free parts out = acc",
        );
        assert!(
            text.contains("alloc parts[4]") && text.contains("alloc more[2]"),
            "{text}"
        );
    }

    #[test]
    fn a_chunk_that_fails_is_the_first_one() {
        let failing = SUM.replace(
            "ys[i] = xs[i]",
            "check xs[i] < 50i64 else E0811(\"{} is too much\" 0:0-1, xs[i]) ys[i] = xs[i]",
        );
        assert!(agree(&failing).contains("for round"));
    }

    #[test]
    fn not_where_one_loop_sees_the_other_or_combining_fails_or_more_is_read() {
        for (from, to) in [
            (
                "acc = (acc * 3i64) - parts[j]",
                "acc = (acc * 3i64) - parts[j] ys[j] = acc",
            ),
            (
                "acc = (acc * 3i64) - parts[j]",
                "acc = (acc + parts[j]) + ys[n/3]",
            ),
            (
                "acc = (acc * 3i64) - parts[j]",
                "check acc < 9i64 else E0811(\"too much\" 0:0-1) acc = parts[j]",
            ),
            ("parts[j]", "parts[n/3 - 1 - j]"),
            ("free parts", "if n > 2i64 { acc = acc + parts[0] } free parts"),
            ("var acc: i64 = 5i64", "var acc: i64 = ys[0]"),
            ("xs[3*i] +", "parts[i] +"),
            ("n/3", "n/2"),
        ] {
            assert!(SUM.contains(from));
            let (_, rounds) = both(&SUM.replace(from, to));
            let text = rounds.program().to_string();
            assert!(!text.contains("round"), "{text}");
        }
    }
}
