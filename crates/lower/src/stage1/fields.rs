//! Fields of cells: values as scalars in columns, arrays in them as rows of stores of their own, and back.
//!
//! ```text
//! Rose x rs                     newRows<seq,Rose$array0,i64>[n] (\j. \row. …) made.1;
//!                               construct<Rose,0,0:i32,1:i64,2:i64> x made.2 (add<i64> made.2 n) cell.1
//! case r of | Rose x rs -> …    … rs is  map (\i. column<Rose$array0,0,i64> i) (iota[end])  from begin to end
//! ```
//!
//! Rows are only ever made, so a view of them is good for the rest of the call.

use super::Translator;
use super::checks::{and, binary, int, not};
use super::layout::{Held, Layout, Packed, Pool, ends};
use super::rows::{add, element_at, subtract};
use crate::cells::{Cells, Elements, Leaf, Refers};
use crate::error::{Lowering, bug};
use almach_base::Name;
use almach_core::DataId;
use almach_dpia::store::TAG;
use almach_dpia::{Data, Nat, Phrase, PhraseType, Prim, build};
use almach_prim::Level;
use almach_value::{BinOp, Scalar, ScalarType};

const I64: Data = Data::Scalar(ScalarType::I64);

/// Rows that are made of nodes, whose references are positions.
pub(crate) struct Run {
    pub(crate) first: Phrase,
    pub(crate) count: Nat,
    pub(crate) kind: Runs,
}

pub(crate) enum Runs {
    /// Each node has the row of its number.
    Table,
    /// As constructors make them: a constructor without fields has one row for all, and references go to later nodes.
    Cells {
        /// The node at hand.
        here: Phrase,
        nodes: Phrase,
        node: Data,
        /// The constructors without fields, and their rows.
        constants: Vec<(u32, i64)>,
    },
}

impl Run {
    /// The row of the node at a position that is one.
    pub(crate) fn row_of(&self, first: &Phrase, position: Phrase) -> Phrase {
        let row = binary(BinOp::Add, ScalarType::I64, first.clone(), position.clone());
        let Runs::Cells {
            nodes,
            node,
            constants,
            ..
        } = &self.kind
        else {
            return row;
        };
        let Data::Tuple(parts) = node else { return row };
        let at = build::to_index(self.count.clone(), position);
        let element = build::idx(self.count.clone(), node.clone(), nodes.clone(), at);
        let tag = build::get(0, parts, element);
        let select = Phrase::prim(Prim::Select, vec![], vec![I64]);
        constants.iter().fold(row, |row, (constructor, constant)| {
            let number = build::literal(Scalar::U32(*constructor));
            let is_it = binary(BinOp::Eq, TAG, tag.clone(), number);
            select.clone().apply([is_it, int(*constant), row])
        })
    }
}

impl Translator<'_> {
    /// The row that a position in a run stands for, once it is known to be one of a node. In a sum that has another
    /// constructor there is no position to look at.
    fn row_of_position(&mut self, run: &Run, position: Phrase, is_there: Option<Phrase>) -> Phrase {
        let position = match &is_there {
            Some(is_there) => {
                let select = Phrase::prim(Prim::Select, vec![], vec![I64]);
                select.apply([is_there.clone(), position, int(0)])
            }
            None => position,
        };
        let position = self.let_exp("position", &I64, position);
        let absent = is_there.map(not);
        match &run.kind {
            Runs::Table => self.check_position(position.clone(), &run.count),
            Runs::Cells { here, .. } => {
                self.check_later(position.clone(), here.clone(), &run.count, absent);
            }
        }
        run.row_of(&run.first, position)
    }

    /// The scalars that columns get of a value; its arrays become rows. In a run of nodes positions become rows, once they
    /// are known to be some.
    pub(crate) fn store_columns(
        &mut self,
        cells: &Cells,
        held: &Held,
        leaves: &mut std::slice::Iter<'_, Leaf>,
        run: Option<&Run>,
        scalars: &mut Vec<Phrase>,
    ) -> Lowering<()> {
        match &held.layout {
            Layout::Plain(data) => {
                let mut found = Vec::new();
                flatten(data, held.data.clone(), &mut found);
                for scalar in found {
                    let Some(leaf) = leaves.next() else {
                        return bug("a field that does not fit its columns", self.span);
                    };
                    let scalar = match (leaf.refers, run) {
                        (Refers::Own, Some(run)) => {
                            let tags = leaf.sums.iter().filter_map(|sum| {
                                Some((scalars.get(scalars.len() - sum.back)?.clone(), sum.number))
                            });
                            let is_there = all_tags(tags);
                            self.row_of_position(run, scalar, is_there)
                        }
                        _ => scalar,
                    };
                    scalars.push(scalar);
                }
                Ok(())
            }
            Layout::Tuple(parts) => (0..parts.len()).try_for_each(|at| match held.component(at) {
                Some(part) => self.store_columns(cells, &part, leaves, run, scalars),
                None => bug("a tuple without its components", self.span),
            }),
            Layout::Row(..) => match (leaves.next().map(|leaf| leaf.refers), leaves.next()) {
                (Some(Refers::Begin(array)), Some(_)) => match cells.arrays.get(array) {
                    Some(elements) => self.new_rows(cells, elements, held, run, scalars),
                    None => bug("an array without a store", self.span),
                },
                _ => bug("an array that does not fit its columns", self.span),
            },
            Layout::Array(..) => bug("an array that is no row", self.span),
        }
    }

    /// The elements of an array as new rows; gives their bounds.
    fn new_rows(
        &mut self,
        cells: &Cells,
        elements: &Elements,
        held: &Held,
        run: Option<&Run>,
        scalars: &mut Vec<Phrase>,
    ) -> Lowering<()> {
        let Layout::Row(pool, element) = &held.layout else {
            return bug("rows of what is no array", self.span);
        };
        let Some(pool) = held.pools.get(*pool) else {
            return bug("rows without a pool", self.span);
        };
        let (begin, end) = ends(&held.data);
        let begin = self.let_exp("begin", &I64, begin);
        let count = self.let_nat("count", subtract(end, begin.clone()));
        let (j, row) = (self.fresh("j"), self.fresh("row"));
        let number = build::of_index(count.clone(), Phrase::Var(j.clone()));
        let value = held.part(element, element_at(pool, add(begin, number)), Packed::No);
        let columns: Vec<Data> = elements.leaves.iter().map(|leaf| Data::Scalar(leaf.ty)).collect();
        let body = self.block(|this| {
            let mut written = Vec::new();
            this.store_columns(cells, &value, &mut elements.leaves.iter(), run, &mut written)?;
            for (at, (data, scalar)) in columns.iter().zip(written).enumerate() {
                let place = build::tuple_acc(at, &columns, Phrase::Var(row.clone()));
                this.push(build::assign(data.clone(), place, scalar));
            }
            Ok(())
        })?;
        let made = self.make_rows(elements, count.clone(), (j, row), body);
        scalars.push(made.clone());
        scalars.push(add(made, build::nat_value(count)));
        Ok(())
    }

    /// `newRows`; the number of the first.
    fn make_rows(&mut self, elements: &Elements, count: Nat, (j, row): (Name, Name), body: Phrase) -> Phrase {
        let columns = elements.store.columns.clone();
        let data = Data::Tuple(columns.iter().map(|ty| Data::Scalar(*ty)).collect());
        let function = Phrase::lam(row, PhraseType::Acc(data), body);
        let function = Phrase::lam(j, PhraseType::Exp(Data::Index(count.clone())), function);
        let prim = Prim::NewRows(Level::Seq, elements.store.name.clone(), columns);
        let made = self.new_var("made", &I64);
        let make = Phrase::prim(prim, vec![count], vec![]);
        self.push(make.apply([function, made.clone().writer()]));
        made.reader()
    }

    /// A number that all rows of a store that are known here are below.
    pub(crate) fn rows_so_far(&mut self, elements: &Elements) -> Phrase {
        let names = (self.fresh("j"), self.fresh("row"));
        self.make_rows(elements, Nat::zero(), names, build::skip())
    }

    /// The rows of a store, up to a size, as a pool. References are numbers of rows, or positions from a first row on.
    pub(crate) fn pool_of_rows(
        &mut self,
        elements: &Elements,
        layout: &Layout,
        size: Phrase,
        first: Option<&Phrase>,
    ) -> Lowering<Pool> {
        let size = self.let_nat("size", size);
        let i = self.fresh("i");
        let mut scalars = elements.leaves.iter().map(|leaf| {
            let row = Phrase::Var(i.clone());
            let value = column(&elements.store.name, leaf, row.clone());
            match (leaf.refers, first) {
                (Refers::Own, Some(first)) => {
                    let position = binary(BinOp::Sub, ScalarType::I64, value, first.clone());
                    where_there(&elements.store.name, leaf, &row, position)
                }
                _ => value,
            }
        });
        let element = layout.data();
        let body = assemble(&element, &mut scalars, self)?;
        let function = Phrase::lam(i, PhraseType::Exp(I64), body);
        let rows = Phrase::prim(Prim::Iota, vec![size.clone()], vec![]);
        let map = Phrase::prim(
            Prim::Map(Level::Seq),
            vec![size.clone()],
            vec![I64, element.clone()],
        );
        Ok(Pool {
            size,
            element,
            elements: map.apply([function, rows]),
        })
    }

    /// The fields of a cell, as they are stored.
    pub(crate) fn fields_of_cell(
        &mut self,
        id: DataId,
        cells: &Cells,
        constructor: u32,
        cell: &Phrase,
    ) -> Lowering<Vec<Held>> {
        let at = constructor as usize;
        let def = self.data_def(id)?.constructors.get(at);
        let (Some(def), Some(places)) = (def.cloned(), cells.constructors.get(at)) else {
            return bug("a constructor that is not there", self.span);
        };
        let mut fields = Vec::new();
        for (ty, place) in def.fields.iter().zip(places) {
            let layout = self.layout(ty)?.stored();
            let mut scalars = place
                .leaves
                .iter()
                .map(|leaf| column(cells.name(), leaf, cell.clone()));
            let data = assemble(&layout.data(), &mut scalars, self)?;
            let mut pools = Vec::new();
            // Arrays are numbered in order, so those of a field follow each other.
            let begins = place.leaves.iter().zip(place.leaves.iter().skip(1));
            let begins: Vec<(usize, &Leaf)> = begins
                .filter_map(|(begin, end)| match begin.refers {
                    Refers::Begin(array) => Some((array, end)),
                    _ => None,
                })
                .collect();
            let first = begins.first().map_or(0, |(array, _)| *array);
            for (element, array) in layout.pools().iter().zip(first..) {
                let Some(elements) = cells.arrays.get(array) else {
                    return bug("an array without a store", self.span);
                };
                // Of the array itself the end is known; of arrays in it some bound will do.
                let size = match begins.iter().find(|(known, _)| *known == array) {
                    Some((_, end)) => column(cells.name(), end, cell.clone()),
                    None => self.rows_so_far(elements),
                };
                pools.push(self.pool_of_rows(elements, element, size, None)?);
            }
            let packed = match pools.is_empty() {
                true => Packed::Yes,
                false => Packed::No,
            };
            fields.push(Held {
                layout,
                data,
                pools,
                packed,
            });
        }
        Ok(fields)
    }
}

/// A position where the sums around it have the constructors that hold it, else 0.
pub(crate) fn where_there(store: &Name, leaf: &Leaf, row: &Phrase, position: Phrase) -> Phrase {
    let tags = leaf.sums.iter().map(|sum| {
        let tag = Phrase::prim(Prim::Column(store.clone(), sum.tag, TAG), vec![], vec![]);
        (tag.app(row.clone()), sum.number)
    });
    match all_tags(tags) {
        Some(is_there) => {
            let select = Phrase::prim(Prim::Select, vec![], vec![I64]);
            select.apply([is_there, position, int(0)])
        }
        None => position,
    }
}

/// Whether all tags are these numbers; none where there are no tags.
fn all_tags(tags: impl Iterator<Item = (Phrase, u32)>) -> Option<Phrase> {
    let tests = tags.map(|(tag, number)| binary(BinOp::Eq, TAG, tag, build::literal(Scalar::U32(number))));
    tests.reduce(and)
}

/// A column of a row.
pub(crate) fn column(store: &Name, leaf: &Leaf, row: Phrase) -> Phrase {
    Phrase::prim(Prim::Column(store.clone(), leaf.column, leaf.ty), vec![], vec![]).app(row)
}

/// The scalars of a value, from left to right.
fn flatten(data: &Data, value: Phrase, scalars: &mut Vec<Phrase>) {
    match data {
        Data::Tuple(parts) => {
            for (at, part) in parts.iter().enumerate() {
                flatten(part, build::get(at, parts, value.clone()), scalars);
            }
        }
        Data::Vector(width, scalar) => {
            let size = Nat::constant((*width).into());
            let lanes = build::lanes(*width, *scalar, value);
            scalars.extend((0..*width).map(|lane| {
                let at = build::to_index(size.clone(), int(lane.into()));
                build::idx(size.clone(), Data::Scalar(*scalar), lanes.clone(), at)
            }));
        }
        _ => scalars.push(value),
    }
}

/// The opposite of [`flatten`].
pub(crate) fn assemble(
    data: &Data,
    scalars: &mut dyn Iterator<Item = Phrase>,
    this: &Translator<'_>,
) -> Lowering<Phrase> {
    match data {
        Data::Tuple(parts) => {
            let values = parts.iter().map(|part| assemble(part, scalars, this));
            Ok(build::tuple(parts, values.collect::<Lowering<_>>()?))
        }
        Data::Vector(width, scalar) => {
            let lanes: Vec<Phrase> = scalars.take(*width as usize).collect();
            vector(*width, *scalar, lanes, this)
        }
        _ => match scalars.next() {
            Some(scalar) => Ok(scalar),
            None => bug("a field that does not fit its columns", this.span),
        },
    }
}

/// A short vector of lanes: the one element of `asVector` of an array that is each lane at its index.
fn vector(width: u32, scalar: ScalarType, lanes: Vec<Phrase>, this: &Translator<'_>) -> Lowering<Phrase> {
    let data = Data::Scalar(scalar);
    let lane = Name::from("lane");
    let mut choice: Option<Phrase> = None;
    for (at, value) in lanes.into_iter().enumerate().rev() {
        choice = Some(match choice {
            None => value,
            Some(rest) => {
                let here = binary(
                    BinOp::Eq,
                    ScalarType::I64,
                    Phrase::Var(lane.clone()),
                    int(at as i64),
                );
                let select = Phrase::prim(Prim::Select, vec![], vec![data.clone()]);
                select.apply([here, value, rest])
            }
        });
    }
    let Some(choice) = choice else {
        return bug("a short vector without lanes", this.span);
    };
    let size = Nat::constant(width.into());
    let iota = Phrase::prim(Prim::Iota, vec![size.clone()], vec![]);
    let map = Phrase::prim(Prim::Map(Level::Seq), vec![size], vec![I64, data]);
    let array = map.apply([Phrase::lam(lane, PhraseType::Exp(I64), choice), iota]);
    let one = Nat::one();
    let vectors = Phrase::prim(Prim::AsVector(width, scalar), vec![one.clone()], vec![]).app(array);
    let first = build::to_index(one.clone(), int(0));
    Ok(build::idx(one, Data::Vector(width, scalar), vectors, first))
}
