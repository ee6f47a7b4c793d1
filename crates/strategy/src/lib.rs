//! Choosing how: from Core to a strategy program, Core with a level on every operation that takes one (design, section 3).
//! What the user wrote stays.
//!
//! ```text
//! let ps: [n]f32 = map (\x y -> x * y) xs ys       let chunks = split 65536 (take (n / 65536 * 65536) (zip xs ys))
//! let s: f32 = reduce (+) 0.0 ps               =>  let partials = map@par (\chunk -> … fma … on lanes …) chunks
//! in s                                             let s = reduceSeq (+) 0.0 partials   … and what is left over
//! ```
//!
//! Everything that rounding depends on is written out here, sizes of chunks, numbers of lanes and accumulators, each `fma`,
//! so that from the strategy program down all agree bit for bit.
//!
//! - [`calls`](mod@calls): a function has a copy for every level it is called at; [`same_copies`](mod@same_copies) are one again.
//! - [`levels`](mod@levels): the outermost operation goes to threads, the innermost to the lanes of a processor.
//! - [`chunks`](mod@chunks): how scans, filters and histograms are cut.
//! - [`producers`](mod@producers): what feeds a reduction is computed where it is used.
//! - [`reductions`](mod@reductions): chunks for threads. [`lanes`](mod@lanes): lanes and accumulators.
//! - [`counts`](mod@counts): sums of small numbers, on narrow lanes.
//! - [`groups`](mod@groups): reductions by the work-items of a group, for devices.
//! - [`rows`](mod@rows): which nests of maps and reductions groups and grids share.
//! - [`scans`](mod@scans): scans by groups.
//! - [`columns`](mod@columns): reductions of columns, for devices.
//! - [`hierarchy`]: which levels may stand inside which, checked on what the user wrote. [`written`](mod@written): what is chosen
//!   around that respects it.
//! - [`effects`]: which effects compose, checked on what the user wrote.
//! - [`sources`](mod@sources): what feeds a scan, a filter or a histogram is computed where it is read.
//! - [`streams`](mod@streams): what a map makes of a scan or filter is written by that.
//! - [`bins`](mod@bins): what a map makes for a histogram goes into its bins group by group.
//! - [`interchange`](mod@interchange): rows on the outside, where an access would stride.
//! - [`long_rows`](mod@long_rows): rows of their own lengths, the long ones by all threads.
//! - [`nests`](mod@nests): few rows by all threads, many by one each, as sizes say when the program runs.
//! - [`row_cells`](mod@row_cells): rows that are much work, by all threads.
//! - [`masks`](mod@masks): loops inside a map, on lanes until the last of them is done.
//! - [`products`](mod@products): tiles, where every row meets every column. [`transposition`](mod@transposition): tiles, where rows
//!   are made of columns.
//! - [`tactics`](mod@tactics): what these rules could have done otherwise, for a search.
//! - [`within`](mod@within): which elements are there without a test.
//! - [`operator`](mod@operator): which operators may be reordered. [`cost`](mod@cost): how much work a function is.

mod bins;
mod calls;
mod chunks;
mod columns;
mod cost;
mod counts;
mod decision;
pub mod effects;
mod groups;
pub mod hierarchy;
mod interchange;
mod lanes;
mod levels;
mod long_rows;
mod masks;
mod nests;
mod operator;
mod producers;
mod products;
mod recursion;
mod reductions;
mod row_cells;
mod rows;
mod same_copies;
mod scans;
mod sources;
mod streams;
mod tactics;
mod transposition;
pub mod weights;
mod within;
mod write;
mod written;

pub use decision::{Choice, Decision};
pub use tactics::{Asked, Question, Tactics, Topic};

use almach_base::{Diagnostic, Span, compiler_bug};
use almach_core::build::Builder;
use almach_core::typing::TypeError;
use almach_core::visit::UseCounts;
use almach_core::{Atom, Program, Var};
use almach_prim::Level;
use almach_rewrite::facts::Facts;
use almach_rewrite::pipelines::Without;
use almach_rewrite::{Log, Pass, constant_folding, copy_propagation, cse, dead_code, fusion};
use calls::Variants;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use written::WrittenLevels;

/// What runs the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Machine {
    /// One thread.
    Sequential,
    /// The threads of one processor.
    Threads,
    /// Groups of work-items, with memory that is fast where neighbours read neighbours.
    Device,
}

/// A strategy program, and what was decided on the way.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub program: Program,
    /// In the order of the operations in each function.
    pub decisions: Vec<Decision>,
    /// What could have been decided otherwise, in the order of places.
    pub asked: Vec<Asked>,
}

/// Copies that the rewrites leave, and what they have no use for.
const CLEAN: &[&Pass] = &[
    &copy_propagation::PASS,
    &constant_folding::PASS,
    &copy_propagation::PASS,
    &cse::PASS,
    &dead_code::PASS,
];

/// Chooses a strategy. It fails where a rewrite makes what does not type, which is a bug of the compiler.
pub fn choose(program: Program, machine: Machine) -> Result<Chosen, Box<Diagnostic>> {
    choose_without(program, machine, Without::default())
}

/// The same, with nothing fused where fusion is switched off, and tidied by the rewrites that are not.
pub fn choose_without(
    program: Program,
    machine: Machine,
    without: Without,
) -> Result<Chosen, Box<Diagnostic>> {
    choose_with(program, machine, without, &Tactics::default())
}

/// The same, with other answers to what could be decided otherwise.
pub fn choose_with(
    program: Program,
    machine: Machine,
    without: Without,
    tactics: &Tactics,
) -> Result<Chosen, Box<Diagnostic>> {
    let (program, row_cells) = row_cells::shared(program, machine, tactics);
    let program = recursion::in_order(program);
    let (program, shared) = long_rows::shared(program, machine, tactics);
    let fusion = match without.has(&fusion::PASS) {
        true => Fusion::Off,
        false => Fusion::On,
    };
    let chosen = chosen(&program, machine, fusion, tactics).map_err(|error| {
        let text = format!("choosing a strategy: {}", error.message);
        Box::new(compiler_bug(Span::NONE, text))
    })?;
    let program = without.of(CLEAN).iter().fold(chosen.program, |program, pass| {
        (pass.run)(program, &mut Log::default())
    });
    let (mut decisions, mut asked) = (shared.decisions, shared.asked);
    decisions.extend(row_cells.decisions);
    asked.extend(row_cells.asked);
    decisions.extend(chosen.decisions);
    asked.extend(chosen.asked);
    Ok(Chosen {
        program,
        decisions,
        asked,
    })
}

fn chosen(
    program: &Program,
    machine: Machine,
    fusion: Fusion,
    tactics: &Tactics,
) -> Result<Chosen, TypeError> {
    let mut chooser = Chooser {
        machine,
        fusion,
        tactics: tactics.clone(),
        asked: RefCell::default(),
        facts: Facts::of(program),
        builder: Builder::for_program(program),
        uses: UseCounts::default(),
        written: WrittenLevels::of(program),
        transposed: HashMap::new(),
        numbers: HashSet::new(),
        windows: HashSet::new(),
        repeated: HashSet::new(),
        variants: Variants::default(),
        decisions: Vec::new(),
    };
    let program = chooser.program(program)?;
    // A reduction is written once for whole chunks and once for what is left over.
    let mut decisions: Vec<Decision> = Vec::with_capacity(chooser.decisions.len());
    for decision in chooser.decisions {
        if !decisions.contains(&decision) {
            decisions.push(decision);
        }
    }
    let asked = chooser.asked.into_inner().into_values().collect();
    Ok(Chosen {
        program,
        decisions,
        asked,
    })
}

/// What an operation stands in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Around {
    /// All threads are free.
    Nothing,
    /// An iteration of a map on a device whose only operation is a map: that has this dimension of the grid.
    Nest(u8),
    /// One group of a device: its work-items are free.
    Group,
    /// One worker's share, or a machine with one thread.
    Parallel,
    /// One lane of a processor: what stands here runs in order.
    Lane,
}

impl Around {
    fn on(machine: Machine) -> Around {
        match machine {
            Machine::Sequential => Around::Parallel,
            Machine::Threads | Machine::Device => Around::Nothing,
        }
    }

    /// The level of an operation without one.
    fn level(self) -> Level {
        match self {
            Around::Nothing => Level::Par,
            Around::Nest(_) | Around::Group | Around::Parallel | Around::Lane => Level::Seq,
        }
    }

    /// What the functions of an operation at that level stand in.
    fn inside(self, level: Option<Level>, machine: Machine) -> Around {
        match (level, machine) {
            (Some(Level::Seq) | None, _) => self,
            (Some(Level::Vec), _) => Around::Lane,
            (Some(Level::Group(_)), Machine::Device) => Around::Group,
            (Some(Level::Grid(dimension @ 1..)), Machine::Device) => Around::Nest(dimension - 1),
            (Some(Level::Par | Level::Grid(_) | Level::Local(_)), Machine::Device) => Around::Lane,
            (Some(Level::Par | Level::Grid(_) | Level::Group(_) | Level::Local(_)), _) => Around::Parallel,
        }
    }
}

/// Whether operations take over what feeds them (`producers`, `sources`, `streams`): part of the pass `fusion`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fusion {
    On,
    Off,
}

pub(crate) struct Chooser {
    machine: Machine,
    fusion: Fusion,
    tactics: Tactics,
    /// What was asked so far: also by those that only look.
    asked: RefCell<BTreeMap<Question, Asked>>,
    /// About the program before strategies.
    facts: Facts,
    builder: Builder,
    /// Of the program before strategies.
    written: WrittenLevels,
    /// Of the function that is being worked on.
    uses: UseCounts,
    /// The arrays that transpositions of that function transpose.
    transposed: HashMap<Var, Atom>,
    /// The arrays of that function that are `iota n`.
    numbers: HashSet<Var>,
    /// The windows of that function that roll (`slide@E`).
    windows: HashSet<Var>,
    /// The variables that every iteration of a loop has anew.
    repeated: HashSet<Var>,
    variants: Variants,
    decisions: Vec<Decision>,
}

#[cfg(test)]
mod tests;
