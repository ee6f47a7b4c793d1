//! How many bytes are held at once, as a formula in sizes.

use almach_base::{Name, counted};
use almach_imp::Index;
use almach_nat::Ranges;
use almach_value::BinOp;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

/// Cells of one width, in memory of their own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    pub cells: Index,
    pub width: i64,
    /// It is on the stack where it has at most so many cells.
    pub room: Option<i64>,
}

/// What is held at one moment.
#[derive(Clone, PartialEq, Debug)]
pub struct Together {
    pub blocks: Vec<Block>,
    /// What the iterations of a loop hold, each of those that run at once: how many iterations there are, and the most of one.
    pub parallel: Vec<(Index, Vec<Together>)>,
    /// Whether every call comes to this moment.
    pub reached: Reached,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    Always,
    Perhaps,
}

/// What a number is that is no polynomial of the entry's sizes.
#[derive(Clone, PartialEq, Debug)]
pub enum Number {
    Index(Index),
    /// What an operation gives: `n / b`, `max(n - 2, 0)`.
    Of(BinOp, Box<Number>, Box<Number>),
    /// One of two, by a comparison.
    Chosen(Box<Number>, Box<Number>, Box<Number>),
    /// Known only when the program runs.
    AtMost(Index),
    Unknown,
}

/// A number of bytes for given sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Predicted {
    pub bytes: i64,
    pub precision: Precision,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// Every call with these sizes holds as much.
    Exact,
    /// None holds more.
    Bound,
}

/// In front of a block is its head, and it ends where a line of the cache does; a large one has a page in front, and ends where one does
/// (`emit/src/runtime.rs`).
const LINE: i64 = 64;
const PAGE: i64 = 4096;
const LARGE: i64 = 1 << 20;

pub(super) struct Sizes<'a> {
    pub given: &'a dyn Fn(&Name) -> Option<i64>,
    pub numbers: &'a HashMap<Name, Number>,
    pub threads: i64,
}

impl Sizes<'_> {
    fn index(&self, index: &Index) -> Option<(i64, Precision)> {
        let mut precision = Precision::Exact;
        let mut values = HashMap::new();
        for var in index.free_vars() {
            let (value, one) = match (self.given)(var) {
                Some(value) => (value, Precision::Exact),
                None => self.number(self.numbers.get(var)?)?,
            };
            if one == Precision::Bound {
                precision = Precision::Bound;
            }
            values.insert(var.clone(), value);
        }
        // A bound of a number is one of the sum where it is added.
        let grows = index.terms().iter().all(|(_, coefficient)| *coefficient >= 0);
        if precision == Precision::Bound && (!grows || index.has_quotients()) {
            return None;
        }
        Some((index.eval(&|var| values.get(var).copied())?, precision))
    }

    fn number(&self, number: &Number) -> Option<(i64, Precision)> {
        match number {
            Number::Index(index) => self.index(index),
            Number::AtMost(index) => Some((self.index(index)?.0, Precision::Bound)),
            Number::Of(BinOp::Min, a, b) => match (self.number(a), self.number(b)) {
                (Some(a), Some(b)) => Some((a.0.min(b.0), worse(a.1, b.1))),
                (Some(one), None) | (None, Some(one)) => Some((one.0, Precision::Bound)),
                (None, None) => None,
            },
            Number::Of(op, a, b) => {
                let (a, b) = (self.number(a)?, self.number(b)?);
                let precision = worse(a.1, b.1);
                let grows = matches!(op, BinOp::Max | BinOp::Add);
                // A bound of a number is one of what grows with it.
                let is_of_use = precision == Precision::Exact || grows;
                is_of_use.then_some((applied(*op, a.0, b.0)?, precision))
            }
            Number::Chosen(condition, then, otherwise) => match self.number(condition)? {
                (0, Precision::Exact) => self.number(otherwise),
                (_, Precision::Exact) => self.number(then),
                (_, Precision::Bound) => None,
            },
            Number::Unknown => None,
        }
    }

    fn together(&self, together: &Together) -> Option<Predicted> {
        let mut bytes: i64 = 0;
        let mut precision = match together.reached {
            Reached::Always => Precision::Exact,
            Reached::Perhaps => Precision::Bound,
        };
        for block in &together.blocks {
            let (cells, one) = self.index(&block.cells)?;
            precision = worse(precision, one);
            if block.room.is_some_and(|room| (0..=room).contains(&cells)) {
                continue;
            }
            let cells = cells.max(0).checked_mul(block.width)?;
            let front = if cells < LARGE { LINE } else { PAGE };
            bytes = bytes.checked_add(cells.checked_add(2 * front - 1)? / front * front)?;
        }
        for (count, most) in &together.parallel {
            let (count, _) = self.index(count)?;
            let one = self.most(most)?.bytes;
            bytes = bytes.checked_add(count.clamp(0, self.threads).checked_mul(one)?)?;
            precision = Precision::Bound;
        }
        Some(Predicted { bytes, precision })
    }

    pub(super) fn most(&self, most: &[Together]) -> Option<Predicted> {
        let all: Option<Vec<Predicted>> = most.iter().map(|one| self.together(one)).collect();
        let all = all?;
        let largest = all.iter().map(|one| one.bytes).max().unwrap_or(0);
        let exact = all
            .iter()
            .any(|one| one.bytes == largest && one.precision == Precision::Exact);
        Some(Predicted {
            bytes: largest,
            precision: match exact || all.is_empty() {
                true => Precision::Exact,
                false => Precision::Bound,
            },
        })
    }
}

/// Comparisons give 0 or 1; none where the program would fail, or a number does not fit.
fn applied(op: BinOp, a: i64, b: i64) -> Option<i64> {
    match op {
        BinOp::Add => a.checked_add(b),
        BinOp::Sub => a.checked_sub(b),
        BinOp::Mul => a.checked_mul(b),
        BinOp::Div => a.checked_div(b),
        BinOp::Rem => a.checked_rem(b),
        BinOp::Min => Some(a.min(b)),
        BinOp::Max => Some(a.max(b)),
        BinOp::Eq => Some(i64::from(a == b)),
        BinOp::Ne => Some(i64::from(a != b)),
        BinOp::Lt => Some(i64::from(a < b)),
        BinOp::Le => Some(i64::from(a <= b)),
        BinOp::Gt => Some(i64::from(a > b)),
        BinOp::Ge => Some(i64::from(a >= b)),
        _ => None,
    }
}

impl Number {
    /// As a polynomial, where it is one for sizes that are not negative: `max(n*m, 0)` is `n*m` then.
    fn as_polynomial(&self) -> Option<&Index> {
        match self {
            Number::Index(index) => Some(index),
            Number::Of(BinOp::Max, a, b) => {
                let (a, b) = (a.as_polynomial()?, b.as_polynomial()?);
                let known = Ranges::naturals();
                match known.is_nonneg(&(a - b)) {
                    true => Some(a),
                    false => known.is_nonneg(&(b - a)).then_some(b),
                }
            }
            Number::Of(..) | Number::Chosen(..) | Number::AtMost(_) | Number::Unknown => None,
        }
    }
}

fn worse(a: Precision, b: Precision) -> Precision {
    match (a, b) {
        (Precision::Exact, Precision::Exact) => Precision::Exact,
        _ => Precision::Bound,
    }
}

impl Block {
    fn bytes(&self) -> Index {
        &self.cells * &Index::constant(self.width)
    }
}

/// Adds a moment, unless another one holds as much in any case; those that hold less go.
pub(super) fn add(most: &mut Vec<Together>, new: Together) {
    if most.iter().any(|old| covers(old, &new)) {
        return;
    }
    most.retain(|old| !covers(&new, old));
    most.push(new);
}

fn covers(large: &Together, small: &Together) -> bool {
    let as_sure = small.reached == Reached::Perhaps || large.reached == Reached::Always;
    as_sure && is_as_large(large, small)
}

/// Whether one holds as much as the other whatever the sizes are.
fn is_as_large(large: &Together, small: &Together) -> bool {
    if small.parallel.iter().any(|one| !large.parallel.contains(one)) {
        return false;
    }
    let known = Ranges::naturals();
    let mut left: Vec<&Block> = large.blocks.iter().collect();
    let mut rest = Vec::new();
    for block in &small.blocks {
        match left.iter().position(|other| *other == block) {
            Some(at) => {
                left.swap_remove(at);
            }
            None => rest.push(block),
        }
    }
    rest.into_iter().all(|block| {
        let at = left
            .iter()
            .position(|other| other.room <= block.room && known.is_nonneg(&(other.bytes() - block.bytes())));
        at.map(|at| left.swap_remove(at)).is_some()
    })
}

/// A formula with the names that users know.
pub(super) struct Shown<'a> {
    pub most: &'a [Together],
    pub names: &'a HashMap<Name, Name>,
    pub numbers: &'a HashMap<Name, Number>,
}

impl Shown<'_> {
    fn index(&self, index: &Index) -> Index {
        index.substitute(|name| {
            let computed = self.numbers.get(name).and_then(Number::as_polynomial);
            let named = || self.names.get(name).map(|shown| Index::var(shown.clone()));
            computed.map(|index| self.index(index)).or_else(named)
        })
    }

    fn together(&self, together: &Together, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = together
            .blocks
            .iter()
            .fold(Index::zero(), |sum, block| sum + block.bytes());
        let count = together.blocks.len();
        match (count, together.parallel.is_empty()) {
            (0, true) => f.write_str("nothing")?,
            (0, false) => {}
            (_, _) => write!(f, "{} bytes in {}", self.index(&bytes), counted(count, "block"))?,
        }
        for (at, (count, most)) in together.parallel.iter().enumerate() {
            let and = if at > 0 || !together.blocks.is_empty() {
                " and "
            } else {
                ""
            };
            let one = Shown { most, ..*self };
            write!(f, "{and}min(threads, {}) times (", self.index(count))?;
            one.largest(f)?;
            f.write_str(")")?;
        }
        Ok(())
    }

    fn largest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // For what is held at most it does not matter which moments are certain.
        let mut largest: Vec<&Together> = Vec::new();
        for new in self.most {
            if !largest.iter().any(|old| is_as_large(old, new)) {
                largest.retain(|old| !is_as_large(new, old));
                largest.push(new);
            }
        }
        match largest.as_slice() {
            [] => f.write_str("nothing"),
            [only] => self.together(only, f),
            several => {
                f.write_str("the largest of")?;
                for (at, together) in several.iter().enumerate() {
                    f.write_str(if at == 0 { " " } else { "; " })?;
                    self.together(together, f)?;
                }
                Ok(())
            }
        }
    }

    /// The numbers that are no sizes of arguments, in the order of their names, and those that they are made of.
    fn others(&self) -> BTreeSet<&Name> {
        let mut open = Vec::new();
        numbers_of(self.most, &mut open);
        let (mut seen, mut found) = (HashSet::new(), BTreeSet::new());
        while let Some(name) = open.pop() {
            let Some(number) = self.numbers.get(name).filter(|_| seen.insert(name)) else {
                continue;
            };
            number.names(&mut open);
            if number.as_polynomial().is_none() {
                found.insert(name);
            }
        }
        found
    }

    fn number(&self, number: &Number) -> String {
        if let Some(index) = number.as_polynomial() {
            return self.index(index).to_string();
        }
        match number {
            Number::Index(index) => self.index(index).to_string(),
            Number::Of(BinOp::Min, a, b) => format!("min({}, {})", self.number(a), self.number(b)),
            Number::Of(BinOp::Max, a, b) => format!("max({}, {})", self.number(a), self.number(b)),
            Number::Of(op, a, b) => format!("{} {} {}", self.operand(a), op.name(), self.operand(b)),
            Number::Chosen(condition, then, otherwise) => format!(
                "{} where {}, else {}",
                self.number(then),
                self.number(condition),
                self.number(otherwise)
            ),
            Number::AtMost(index) => format!("at most {}", self.index(index)),
            Number::Unknown => "known only when it runs".to_owned(),
        }
    }

    /// A number as part of a larger text.
    fn operand(&self, number: &Number) -> String {
        let text = self.number(number);
        match text.contains(' ') {
            true => format!("({text})"),
            false => text,
        }
    }
}

impl Number {
    /// The names in it.
    fn names<'a>(&'a self, found: &mut Vec<&'a Name>) {
        match self {
            Number::Index(index) | Number::AtMost(index) => found.extend(index.free_vars()),
            Number::Of(_, a, b) => [a, b].into_iter().for_each(|part| part.names(found)),
            Number::Chosen(a, b, c) => [a, b, c].into_iter().for_each(|part| part.names(found)),
            Number::Unknown => {}
        }
    }
}

impl Together {
    /// How many cells there are of all blocks, also those of iterations, and how many iterations.
    pub(super) fn for_each_size(&mut self, change: &dyn Fn(&mut Index)) {
        self.blocks.iter_mut().for_each(|block| change(&mut block.cells));
        for (count, most) in &mut self.parallel {
            change(count);
            most.iter_mut()
                .for_each(|together| together.for_each_size(change));
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.largest(f)?;
        for (at, name) in self.others().into_iter().enumerate() {
            let number = self.numbers.get(name).unwrap_or(&Number::Unknown);
            let comma = if at == 0 { ", where" } else { " and" };
            write!(f, "{comma} {name} is {}", self.number(number))?;
        }
        Ok(())
    }
}

fn numbers_of<'a>(most: &'a [Together], found: &mut Vec<&'a Name>) {
    for together in most {
        let blocks = together.blocks.iter().map(|block| &block.cells);
        let counts = together.parallel.iter().map(|(count, _)| count);
        found.extend(blocks.chain(counts).flat_map(Index::free_vars));
        together
            .parallel
            .iter()
            .for_each(|(_, most)| numbers_of(most, found));
    }
}
