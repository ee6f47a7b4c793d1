//! The definition of a program with memory: Core, and beside it where every array lives (FUNMEM, section 3).
//!
//! ```text
//! let map_mem: mem = alloc f32 (n)
//! let @{for i} ys: [n]f32 @ map_mem -> 0 + {(n : 1)} = map (\(x: f32): f32 -> …) xs
//! ```
//!
//! - Core itself is untouched: [`Annotated::core`] is the program, and erasing the memory is taking it alone. No memory pass
//!   changes it; all that passes move about is [`Memory`].
//! - A *block* is a one-dimensional run of cells of one scalar type. An array of scalars is a block and a descriptor of its cells
//!   ([`Home`]); an array of tuples is one such array per component, and lanes of vectors are one more dimension, the last.
//! - An array of rows of their own lengths is a block with the places where rows begin, and one or more with the elements of all rows
//!   ([`Rows`]). How many elements there are is an integer that the statement hands on.
//! - An array that is not in a block is a *view* (its elements are computed when they are read: `iota`, `gather`) or is *held*
//!   elsewhere (recursive data, arrays in fields).
//! - Where a body ends, and in operations that move whole arrays (`concat`, `with`, `materialise`), an array is copied to where
//!   the annotation says the result lives, **unless it lives there already**. That is the only rule about copies: a plan without
//!   copies is one in which the places agree.
//!
//! Annotations belong to variables; those of a statement to the first variable it binds.

use almach_core::{Atom, Pattern, Program, Size, Stmt, Var};
use almach_lmad::Lmad;
use almach_value::ScalarType;
use std::collections::BTreeMap;

/// A program and where its arrays live.
#[derive(Clone, Debug)]
pub struct Annotated {
    pub core: Program,
    pub memory: Memory,
}

impl Annotated {
    /// The program without its memory (FUNMEM, Figure 9).
    pub fn erase(self) -> Program {
        self.core
    }
}

#[derive(Clone, PartialEq, Default, Debug)]
pub struct Memory {
    /// Of every variable that holds an array, or a tuple with arrays: one per leaf of its type ([`crate::leaves`]).
    pub storage: BTreeMap<Var, Vec<Storage>>,
    /// Blocks made just before a statement.
    pub allocs: BTreeMap<Var, Vec<Alloc>>,
    /// What a statement binds beside its pattern.
    pub heads: BTreeMap<Var, Head>,
    /// In the order of the program's functions.
    pub functions: Vec<FunctionMemory>,
    /// Variables with this number or a higher one are free.
    pub next_var: u32,
}

/// Where one leaf of a variable is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Storage {
    Placed(Home),
    Rows(Rows),
    View,
    Held,
}

/// Rows of their own lengths (NOVA, section 5.1), each array filling its block from the start: `rows + 1` numbers, of which the i-th
/// says where row i begins and the last where the last one ends, and the elements of all rows one after another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rows {
    pub segments: Home,
    /// One per leaf of an array of all elements.
    pub elements: Vec<Storage>,
}

/// A block and which of its cells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Home {
    pub block: Var,
    pub lmad: Lmad<Var>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alloc {
    pub block: Var,
    pub element: ScalarType,
    pub cells: Size,
}

/// Beside a statement's pattern.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Head {
    /// Which iteration of the operation's functions it is.
    pub index: Option<Var>,
    pub items: Vec<Item>,
}

/// A block or integer that a statement binds, for the homes of its pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    pub var: Var,
    pub kind: Kind,
    /// Of a loop: what holds it inside.
    pub inside: Option<Var>,
    /// At the end of each branch, in order; of a loop, before the first iteration and after each. None: the statement makes
    /// the block, or finds the number (a call, or an operation that alone knows the size of its result).
    pub given: Vec<Given>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Block(ScalarType),
    Integer,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Given {
    Block(Var),
    /// A new block of so many cells.
    Alloc(Size),
    Integer(Size),
    /// Of rows that are in no block there: a new block as large as they need, or how many elements they have.
    Found,
}

/// What a function's parameters need beside its sizes, and the blocks of its results: each leaf of a result fills its block in
/// row-major order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FunctionMemory {
    pub context: Vec<(Var, Kind)>,
    pub results: Vec<Item>,
}

/// The variable that stands for a statement.
pub fn key(stmt: &Stmt) -> Option<&Var> {
    key_of(&stmt.pattern)
}

pub fn key_of(pattern: &Pattern) -> Option<&Var> {
    let context = pattern.context.iter();
    context
        .chain(pattern.values.iter().map(|value| &value.var))
        .next()
}

impl Memory {
    /// The leaves of an atom; constants have none.
    pub fn of(&self, atom: &Atom) -> &[Storage] {
        match atom {
            Atom::Var(var) => self.storage.get(var).map_or(&[], Vec::as_slice),
            Atom::Const(_) => &[],
        }
    }

    pub fn fresh(&mut self, name: &str) -> Var {
        let id = self.next_var;
        self.next_var += 1;
        Var {
            id,
            name: name.into(),
        }
    }

    /// What is in a block, or hands it on, names another one.
    pub fn rename_block(&mut self, old: &Var, new: &Var) {
        for storage in self.storage.values_mut().flatten() {
            storage.rename_block(old, new);
        }
        let heads = self.heads.values_mut().flat_map(|head| head.items.iter_mut());
        let results = self
            .functions
            .iter_mut()
            .flat_map(|function| function.results.iter_mut());
        for given in heads.chain(results).flat_map(|item| item.given.iter_mut()) {
            if let Given::Block(block) = given
                && *block == *old
            {
                *block = new.clone();
            }
        }
    }

    /// Every block that is made somewhere, with its cells where they are known before.
    pub fn blocks_made(&self) -> usize {
        let given = |items: &[Item]| {
            items
                .iter()
                .filter(|item| matches!(item.kind, Kind::Block(_)))
                .map(|item| match item.given.is_empty() {
                    true => 1,
                    false => item
                        .given
                        .iter()
                        .filter(|given| matches!(given, Given::Alloc(_) | Given::Found))
                        .count(),
                })
                .sum::<usize>()
        };
        let allocs: usize = self.allocs.values().map(Vec::len).sum();
        let heads: usize = self.heads.values().map(|head| given(&head.items)).sum();
        let results: usize = self
            .functions
            .iter()
            .map(|function| given(&function.results))
            .sum();
        allocs + heads + results
    }
}

impl Storage {
    /// Of an array of scalars. Rows of their own lengths have several.
    pub fn home(&self) -> Option<&Home> {
        match self {
            Storage::Placed(home) => Some(home),
            Storage::Rows(_) | Storage::View | Storage::Held => None,
        }
    }

    /// Every place in a block.
    pub fn homes(&self) -> Vec<&Home> {
        match self {
            Storage::Placed(home) => vec![home],
            Storage::Rows(rows) => {
                let elements = rows.elements.iter().flat_map(Storage::homes);
                std::iter::once(&rows.segments).chain(elements).collect()
            }
            Storage::View | Storage::Held => Vec::new(),
        }
    }

    pub fn is_in_blocks(&self) -> bool {
        match self {
            Storage::Placed(_) | Storage::Rows(_) => true,
            Storage::View | Storage::Held => false,
        }
    }

    /// What is in one block is in another.
    pub fn rename_block(&mut self, old: &Var, new: &Var) {
        let rename = |home: &mut Home| {
            if home.block == *old {
                home.block = new.clone();
            }
        };
        match self {
            Storage::Placed(home) => rename(home),
            Storage::Rows(rows) => {
                rename(&mut rows.segments);
                for one in &mut rows.elements {
                    one.rename_block(old, new);
                }
            }
            Storage::View | Storage::Held => {}
        }
    }
}

impl Rows {
    /// How many elements all rows have together.
    pub fn total(&self) -> Option<Size> {
        self.elements.iter().find_map(|one| match one {
            Storage::Placed(home) => home.lmad.dims.first().map(|dim| dim.length.clone()),
            Storage::Rows(rows) => rows
                .segments
                .lmad
                .dims
                .first()
                .map(|dim| &dim.length - &Size::one()),
            Storage::View | Storage::Held => None,
        })
    }
}
