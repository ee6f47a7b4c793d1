//! Cells, and paths into them.

use super::code::Layout;
use super::{Acc, Block, Env, Exp, Meaning, Run, RunError, broken};
use almach_base::Name;
use almach_value::{Scalar, ScalarType};
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;

/// One step of a path: into an array, a tuple, a vector, or a cell that holds sizes and contents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Step {
    At(i64),
    Field(usize),
    Lane(u32),
    Size(usize),
    /// The one size of a cell that grows: what it holds stays.
    Grown,
    Contents,
}

/// Steps one behind the other: those of most paths are in place.
pub(crate) enum Path {
    Short(usize, [Step; SHORT]),
    Long(Vec<Step>),
}

const SHORT: usize = 6;

impl Path {
    /// Some steps, then others.
    pub(crate) fn of(start: &[Step], rest: &[Step]) -> Path {
        let length = start.len() + rest.len();
        let mut steps = [Step::Contents; SHORT];
        match steps.get_mut(..length) {
            Some(place) => {
                let (first, second) = place.split_at_mut(start.len());
                first.copy_from_slice(start);
                second.copy_from_slice(rest);
                Path::Short(length, steps)
            }
            None => Path::Long([start, rest].concat()),
        }
    }
}

impl Deref for Path {
    type Target = [Step];

    fn deref(&self) -> &[Step] {
        match self {
            Path::Short(length, steps) => steps.get(..*length).unwrap_or(steps),
            Path::Long(steps) => steps,
        }
    }
}

/// A data type with numbers for its sizes. `Some` has its sizes only where data of it is at hand.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    Scalar(ScalarType),
    Array(i64, Box<Shape>),
    Tuple(Vec<Shape>),
    Vector(u32, ScalarType),
}

#[derive(Clone, Copy)]
pub(crate) struct CellId(usize);

#[derive(Default)]
pub struct Store {
    cells: Vec<Block>,
    /// How many calls wait for others.
    calls: usize,
    pub(super) tables: HashMap<Name, super::rows::Table>,
}

impl Store {
    /// With empty tables for the stores of a program.
    pub(crate) fn with(stores: &[crate::store::Store]) -> Store {
        Store {
            cells: Vec::new(),
            calls: 0,
            tables: stores.iter().map(super::rows::Table::of).collect(),
        }
    }

    pub(crate) fn enter_call(&mut self, most: usize) -> Run<()> {
        self.calls += 1;
        match self.calls <= most {
            true => Ok(()),
            false => Err(RunError::TooDeep),
        }
    }

    pub(crate) fn leave_call(&mut self) {
        self.calls -= 1;
    }

    pub(crate) fn allocate(&mut self, block: Block) -> CellId {
        self.cells.push(block);
        CellId(self.cells.len() - 1)
    }

    /// Cells go in the order opposite to the one they came in.
    pub(crate) fn release(&mut self, cell: CellId) {
        self.cells.truncate(cell.0);
    }

    pub(crate) fn block(&self, cell: CellId) -> Run<&Block> {
        self.cells
            .get(cell.0)
            .ok_or_else(|| broken("a cell is used after its end"))
    }

    fn read(&self, cell: CellId, path: &[Step]) -> Run<Scalar> {
        let found = self.block(cell)?.get(path);
        found.ok_or_else(|| broken(format!("nothing was written at {path:?} before it is read")))
    }

    fn write(&mut self, cell: CellId, path: &[Step], scalar: Scalar) -> Run<()> {
        let block = self
            .cells
            .get_mut(cell.0)
            .ok_or_else(|| broken("a cell is used after its end"))?;
        let written = block.set(path, scalar);
        written.ok_or_else(|| broken(format!("{path:?} is written, which is out of bounds")))
    }
}

pub(crate) fn cell_reader<'p>(cell: CellId) -> Meaning<'p> {
    let exp: Exp<'p> = Rc::new(move |store, path| store.read(cell, path));
    Meaning::Exp(exp)
}

pub(crate) fn cell_writer<'p>(cell: CellId) -> Meaning<'p> {
    let acc: Acc<'p> = Rc::new(move |store, path, scalar| store.write(cell, path, scalar));
    Meaning::Acc(acc)
}

/// Scalars and their paths, one behind the other.
#[derive(Default)]
pub(crate) struct Scalars {
    steps: Vec<Step>,
    /// Each with the end of its path in `steps`.
    scalars: Vec<(usize, Scalar)>,
}

impl Scalars {
    fn push(&mut self, path: &[Step], scalar: Scalar) {
        self.steps.extend_from_slice(path);
        self.scalars.push((self.steps.len(), scalar));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[Step], Scalar)> {
        let mut begin = 0;
        self.scalars.iter().map(move |(end, scalar)| {
            let path = &self.steps[begin..*end];
            begin = *end;
            (path, *scalar)
        })
    }

    /// Those of one type at the same paths have the same values.
    pub(crate) fn same(&self, other: &Scalars) -> bool {
        let mut pairs = self.scalars.iter().zip(&other.scalars);
        pairs.all(|((_, a), (_, b))| a.same(*b))
    }
}

impl<'p> Env<'p> {
    /// All scalars of an expression of a data type, with their paths; sizes of cells come before what they hold.
    pub(crate) fn scalars(&self, data: &Layout<'p>, exp: &Exp<'p>, store: &Store) -> Run<Scalars> {
        let mut found = Scalars::default();
        self.collect(data, exp, store, &mut Vec::new(), &mut found)?;
        Ok(found)
    }

    fn collect(
        &self,
        data: &Layout<'p>,
        exp: &Exp<'p>,
        store: &Store,
        path: &mut Vec<Step>,
        found: &mut Scalars,
    ) -> Run<()> {
        let under =
            |env: &Env<'p>, step: Step, data: &Layout<'p>, path: &mut Vec<Step>, found: &mut Scalars| {
                path.push(step);
                let result = env.collect(data, exp, store, path, found);
                path.pop();
                result
            };
        match data {
            Layout::Scalar => {
                found.push(path, exp(store, path)?);
                Ok(())
            }
            Layout::Vector(width) => (0..*width).try_for_each(|lane| {
                let path = Path::of(path, &[Step::Lane(lane)]);
                found.push(&path, exp(store, &path)?);
                Ok(())
            }),
            Layout::Array(size, element) => {
                let size = self.size(size)?;
                (0..size).try_for_each(|at| under(self, Step::At(at), element, path, found))
            }
            Layout::Tuple(parts) => {
                let mut parts = parts.iter().enumerate();
                parts.try_for_each(|(at, part)| under(self, Step::Field(at), part, path, found))
            }
            Layout::Some(count, body) => {
                let mut env = self.clone();
                for at in 0..*count {
                    let path = Path::of(path, &[Step::Size(at)]);
                    let size = exp(store, &path)?;
                    found.push(&path, size);
                    env = env.nat(integer(size)?);
                }
                under(&env, Step::Contents, body, path, found)
            }
            Layout::Var(name) => Err(broken(format!("the data type `{name}` has no value"))),
        }
    }
}

pub(crate) fn integer(scalar: Scalar) -> Run<i64> {
    let value = scalar.as_integer().and_then(|value| i64::try_from(value).ok());
    value.ok_or_else(|| broken("an index that is no integer"))
}
