//! Cells, and paths into them.

use super::{Acc, Env, Exp, Meaning, Run, RunError, broken};
use crate::ty::Data;
use almach_base::Name;
use almach_value::{Scalar, ScalarType};
use rustc_hash::FxHashMap;
use std::collections::HashMap;
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

/// Scalars by their paths.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    pub scalars: FxHashMap<Vec<Step>, Scalar>,
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
        let found = self.block(cell)?.scalars.get(path).copied();
        found.ok_or_else(|| broken(format!("nothing was written at {path:?} before it is read")))
    }

    fn write(&mut self, cell: CellId, path: &[Step], scalar: Scalar) -> Run<()> {
        let block = self
            .cells
            .get_mut(cell.0)
            .ok_or_else(|| broken("a cell is used after its end"))?;
        if let [owner @ .., Step::Grown] = path {
            let mut size = owner.to_vec();
            size.push(Step::Size(0));
            block.scalars.insert(size, scalar);
            return Ok(());
        }
        if let [.., Step::Size(0)] = path {
            // New sizes: the old contents are gone.
            let owner = &path[..path.len() - 1];
            block.scalars.retain(|known, _| !known.starts_with(owner));
        }
        block.scalars.insert(path.to_vec(), scalar);
        Ok(())
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

impl<'p> Env<'p> {
    /// All scalars of an expression of a data type, with their paths; sizes of cells come before what they hold.
    pub(crate) fn scalars(
        &self,
        data: &'p Data,
        exp: &Exp<'p>,
        store: &Store,
    ) -> Run<Vec<(Vec<Step>, Scalar)>> {
        let mut found = Vec::new();
        self.collect(data, exp, store, &mut Vec::new(), &mut found)?;
        Ok(found)
    }

    fn collect(
        &self,
        data: &'p Data,
        exp: &Exp<'p>,
        store: &Store,
        path: &mut Vec<Step>,
        found: &mut Vec<(Vec<Step>, Scalar)>,
    ) -> Run<()> {
        let under = |env: &Env<'p>, step: Step, data: &'p Data, path: &mut Vec<Step>, found: &mut Vec<_>| {
            path.push(step);
            let result = env.collect(data, exp, store, path, found);
            path.pop();
            result
        };
        match data {
            Data::Scalar(_) | Data::Index(_) => {
                found.push((path.clone(), exp(store, path)?));
                Ok(())
            }
            Data::Vector(width, _) => (0..*width).try_for_each(|lane| {
                let path = below(path, Step::Lane(lane));
                let scalar = exp(store, &path)?;
                found.push((path, scalar));
                Ok(())
            }),
            Data::Array(size, element) => {
                let size = self.size(size)?;
                (0..size).try_for_each(|at| under(self, Step::At(at), element, path, found))
            }
            Data::Tuple(parts) => {
                let mut parts = parts.iter().enumerate();
                parts.try_for_each(|(at, part)| under(self, Step::Field(at), part, path, found))
            }
            Data::Some(names, body) => {
                let mut env = self.clone();
                for (at, name) in names.iter().enumerate() {
                    let path = below(path, Step::Size(at));
                    let size = exp(store, &path)?;
                    found.push((path, size));
                    env = env.nat(name, integer(size)?);
                }
                under(&env, Step::Contents, body, path, found)
            }
            Data::Var(name) => Err(broken(format!("the data type `{name}` has no value"))),
        }
    }
}

fn below(path: &[Step], step: Step) -> Vec<Step> {
    path.iter().copied().chain([step]).collect()
}

pub(crate) fn integer(scalar: Scalar) -> Run<i64> {
    let value = scalar.as_integer().and_then(|value| i64::try_from(value).ok());
    value.ok_or_else(|| broken("an index that is no integer"))
}
