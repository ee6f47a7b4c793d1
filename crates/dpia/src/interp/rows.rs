//! Rows of stores: recursive data.

use super::commands::{comm, each, number};
use super::expressions::{reader, take};
use super::store::{Step, Store, integer};
use super::{Meaning, Run, broken};
use crate::store::{Reference, Row};
use almach_base::Name;
use almach_prim::Level;
use almach_value::{Scalar, ScalarType};
use std::collections::HashMap;
use std::rc::Rc;

/// The rows of one store.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    rows: Vec<Made>,
    references: Vec<Vec<Reference>>,
    links: Vec<Vec<Reference>>,
}

/// A row, and the table it belongs to once it has one: first row and number of rows.
#[derive(Clone, Debug, Default)]
struct Made {
    tag: u32,
    columns: HashMap<u32, Scalar>,
    table: Option<(i64, i64)>,
}

impl Table {
    pub(super) fn of(store: &crate::store::Store) -> (Name, Table) {
        let constants = store.constants.iter().map(|tag| Made {
            tag: *tag,
            ..Made::default()
        });
        let zeros = (0..store.zeros).map(|_| Made::default());
        let table = Table {
            rows: constants.chain(zeros).collect(),
            references: store.references.clone(),
            links: store.links.clone(),
        };
        (store.name.clone(), table)
    }

    fn row(&self, at: i64) -> Run<&Made> {
        usize::try_from(at)
            .ok()
            .and_then(|at| self.rows.get(at))
            .ok_or_else(|| broken(format!("there is no row {at}")))
    }

    /// A number in a column of a row.
    fn number(&self, at: i64, column: u32) -> Run<i64> {
        let scalar = self.row(at)?.columns.get(&column).copied();
        integer(scalar.ok_or_else(|| broken("a reference that nothing wrote"))?)
    }

    fn push(&mut self, row: Made) -> i64 {
        self.rows.push(row);
        self.rows.len() as i64 - 1
    }
}

impl Store {
    fn table(&self, name: &Name) -> Run<&Table> {
        self.tables
            .get(name)
            .ok_or_else(|| broken(format!("there is no store `{name}`")))
    }

    fn table_mut(&mut self, name: &Name) -> Run<&mut Table> {
        self.tables
            .get_mut(name)
            .ok_or_else(|| broken(format!("there is no store `{name}`")))
    }

    /// Where a row of a store of cells refers to others.
    fn references_of(&self, name: &Name, at: i64) -> Run<Vec<Reference>> {
        let table = self.table(name)?;
        let tag = table.row(at)?.tag as usize;
        Ok(table.references.get(tag).cloned().unwrap_or_default())
    }

    /// As [`Store::references_of`], whosever they are.
    fn links_of(&self, name: &Name, at: i64) -> Run<Vec<Reference>> {
        let table = self.table(name)?;
        let tag = table.row(at)?.tag as usize;
        Ok(table.links.get(tag).cloned().unwrap_or_default())
    }

    /// The references that a row has, where its sums have the constructors that hold them.
    fn present(&self, name: &Name, at: i64, references: &[Reference]) -> Run<Vec<Reference>> {
        let mut found = Vec::new();
        for reference in references {
            match reference {
                Reference::Cell(_) | Reference::Rows { .. } => found.push(reference.clone()),
                Reference::Under { tag, number, within } => {
                    let row = self.table(name)?.row(at)?;
                    if row.columns.get(tag) == Some(&Scalar::U32(*number)) {
                        found.extend(self.present(name, at, within)?);
                    }
                }
            }
        }
        Ok(found)
    }

    /// The cells that a row refers to, in order.
    fn referred(&self, name: &Name, at: i64, references: &[Reference], found: &mut Vec<i64>) -> Run<()> {
        let table = self.table(name)?;
        for reference in &self.present(name, at, references)? {
            match reference {
                Reference::Under { .. } => {}
                Reference::Cell(column) => found.push(table.number(at, *column)?),
                Reference::Rows {
                    begin,
                    end,
                    store,
                    within,
                } => {
                    for row in table.number(at, *begin)?..table.number(at, *end)? {
                        self.referred(store, row, within, found)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A copy of a row that refers to other cells; what it has in other stores is copied too.
    fn moved(
        &mut self,
        name: &Name,
        at: i64,
        references: &[Reference],
        place: &dyn Fn(i64) -> i64,
    ) -> Run<Made> {
        let mut row = self.table(name)?.row(at)?.clone();
        for reference in &self.present(name, at, references)? {
            match reference {
                Reference::Under { .. } => {}
                Reference::Cell(column) => {
                    let to = self.table(name)?.number(at, *column)?;
                    row.columns.insert(*column, Scalar::I64(place(to)));
                }
                Reference::Rows {
                    begin,
                    end,
                    store,
                    within,
                } => {
                    let table = self.table(name)?;
                    let old = table.number(at, *begin)?..table.number(at, *end)?;
                    let mut rows = Vec::new();
                    for from in old {
                        rows.push(self.moved(store, from, within, place)?);
                    }
                    let to = &mut self.table_mut(store)?.rows;
                    let first = to.len() as i64;
                    to.append(&mut rows);
                    row.columns.insert(*begin, Scalar::I64(first));
                    row.columns.insert(*end, Scalar::I64(to.len() as i64));
                }
            }
        }
        Ok(row)
    }

    /// The table of a row; makes it where there is none.
    fn table_of(&mut self, name: &Name, root: i64) -> Run<(i64, i64)> {
        if let Some(table) = self.table(name)?.row(root)?.table {
            return Ok(table);
        }
        let table = self.copy_of(name, root)?;
        let rows = &mut self.table_mut(name)?.rows;
        if let Some(made) = usize::try_from(root).ok().and_then(|at| rows.get_mut(at)) {
            made.table = Some(table);
        }
        Ok(table)
    }

    /// A table of what can be reached from a row. That of a row outside of its table is one.
    fn reach_of(&mut self, name: &Name, root: i64) -> Run<(i64, i64)> {
        match self.table(name)?.row(root)?.table {
            Some((first, count)) if (first..first + count).contains(&root) => self.copy_of(name, root),
            Some(_) | None => self.table_of(name, root),
        }
    }

    /// The rows of a list from one on, and the position that the last refers to.
    fn order_of(&self, name: &Name, root: i64) -> Run<(Vec<i64>, i64)> {
        let (mut order, mut positions) = (Vec::new(), HashMap::new());
        let mut at = root;
        loop {
            positions.insert(at, order.len() as i64);
            order.push(at);
            let mut found = Vec::new();
            self.referred(name, at, &self.references_of(name, at)?, &mut found)?;
            match found.first() {
                None => return Ok((order, -1)),
                Some(to) => match positions.get(to) {
                    Some(back) => return Ok((order, *back)),
                    None => at = *to,
                },
            }
        }
    }

    /// A new table of what can be reached from a row.
    fn copy_of(&mut self, name: &Name, root: i64) -> Run<(i64, i64)> {
        let (mut order, mut positions, mut pending) = (Vec::new(), HashMap::new(), vec![root]);
        while let Some(at) = pending.pop() {
            if positions.contains_key(&at) {
                continue;
            }
            positions.insert(at, order.len() as i64);
            order.push(at);
            let mut found = Vec::new();
            self.referred(name, at, &self.references_of(name, at)?, &mut found)?;
            pending.extend(found.into_iter().rev());
        }
        let table = (self.table(name)?.rows.len() as i64, order.len() as i64);
        for at in order {
            let references = self.references_of(name, at)?;
            let place = |to: i64| table.0 + positions.get(&to).copied().unwrap_or(0);
            let mut row = self.moved(name, at, &references, &place)?;
            row.table = Some(table);
            self.table_mut(name)?.push(row);
        }
        Ok(table)
    }

    /// A copy of all that can be reached from a row, whosever it is: the row there.
    fn group_of(&mut self, name: &Name, root: i64) -> Run<i64> {
        let (mut order, mut positions, mut pending) = (Vec::new(), HashMap::new(), vec![root]);
        while let Some(at) = pending.pop() {
            if positions.contains_key(&at) {
                continue;
            }
            let table = self.table(name)?.row(at)?.table;
            let table = table.filter(|(first, count)| (*first..first + count).contains(&at));
            let (first, count) = table.unwrap_or((at, 1));
            let mark = table.map_or(0, |_| order.len() as i64 + 1);
            let mut found = Vec::new();
            for row in first..first + count {
                positions.insert(row, order.len() as i64);
                order.push((row, mark));
                self.referred(name, row, &self.links_of(name, row)?, &mut found)?;
            }
            pending.extend(found.into_iter().rev());
        }
        let table = (self.table(name)?.rows.len() as i64, order.len() as i64);
        for (at, mark) in order {
            let links = self.links_of(name, at)?;
            let place = |to: i64| table.0 + positions.get(&to).copied().unwrap_or(0);
            let mut row = self.moved(name, at, &links, &place)?;
            row.columns.insert(MARK, Scalar::I64(mark));
            row.table = Some(table);
            self.table_mut(name)?.push(row);
        }
        Ok(table.0 + positions.get(&root).copied().unwrap_or(0))
    }

    /// Puts rows into the tables that they say.
    fn put_in_tables(&mut self, name: &Name, first: i64, size: i64) -> Run<()> {
        let table = self.table(name)?;
        let marks = (0..size).map(|at| table.number(first + at, MARK));
        let marks = marks.collect::<Run<Vec<i64>>>()?;
        let mut counts: HashMap<i64, i64> = HashMap::new();
        for mark in &marks {
            *counts.entry(*mark).or_insert(0) += 1;
        }
        let rows = &mut self.table_mut(name)?.rows;
        let rows = rows.iter_mut().skip(usize::try_from(first).unwrap_or(usize::MAX));
        for (row, mark) in rows.zip(&marks).filter(|(_, mark)| **mark != 0) {
            row.table = counts.get(mark).map(|count| (first + mark - 1, *count));
        }
        Ok(())
    }
}

/// The column of a group's store that says which table a row is in.
const MARK: u32 = 0;

pub(super) fn tag<'p>(store: Name, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let [at] = take(arguments)?;
    let at = at.exp()?;
    Ok(reader(move |memory, _| {
        let at = integer(at(memory, &[])?)?;
        Ok(Scalar::U32(memory.table(&store)?.row(at)?.tag))
    }))
}

/// What nothing wrote is zero: the constructor of the row does not have it.
pub(super) fn column<'p>(
    store: Name,
    column: u32,
    ty: ScalarType,
    arguments: Vec<Meaning<'p>>,
) -> Run<Meaning<'p>> {
    let [at] = take(arguments)?;
    let at = at.exp()?;
    Ok(reader(move |memory, _| {
        let at = integer(at(memory, &[])?)?;
        let found = memory.table(&store)?.row(at)?.columns.get(&column).copied();
        Ok(found.unwrap_or(Scalar::zero(ty)))
    }))
}

pub(super) fn construct<'p>(row: Row, mut arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let acceptor = arguments
        .pop()
        .ok_or_else(|| broken("a row without a place for its number"))?
        .acc()?;
    let values = super::expressions::exps(arguments)?;
    comm(move |memory| {
        let mut made = Made {
            tag: row.tag,
            ..Made::default()
        };
        for ((column, _), value) in row.columns.iter().zip(&values) {
            made.columns.insert(*column, value(memory, &[])?);
        }
        let at = memory.table_mut(&row.store)?.push(made);
        acceptor(memory, &[], Scalar::I64(at))
    })
}

pub(super) fn new_table<'p>(
    level: Level,
    store: Name,
    size: i64,
    arguments: Vec<Meaning<'p>>,
) -> Run<Meaning<'p>> {
    made_at_once(level, store, size, Kind::Table, arguments)
}

pub(super) fn new_cells<'p>(
    level: Level,
    store: Name,
    size: i64,
    arguments: Vec<Meaning<'p>>,
) -> Run<Meaning<'p>> {
    made_at_once(level, store, size, Kind::Cells, arguments)
}

pub(super) fn new_group<'p>(
    level: Level,
    store: Name,
    size: i64,
    arguments: Vec<Meaning<'p>>,
) -> Run<Meaning<'p>> {
    made_at_once(level, store, size, Kind::Group, arguments)
}

/// Rows that are an array of a cell. They are written before anyone knows their numbers.
pub(super) fn new_rows<'p>(
    level: Level,
    store: Name,
    size: i64,
    arguments: Vec<Meaning<'p>>,
) -> Run<Meaning<'p>> {
    made_at_once(level, store, size, Kind::Rows, arguments)
}

/// What rows that are made at once are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A table of their own. Each has a constructor, which is written like a column before the others, and who fills it knows
    /// the first.
    Table,
    /// As those of a table, but in none.
    Cells,
    /// As those of a table, and each says which one it is in.
    Group,
    Rows,
}

impl Made {
    /// Writes a column, or the constructor.
    fn write(&mut self, kind: Kind, field: usize, scalar: Scalar) {
        match (kind, field, scalar) {
            (Kind::Table | Kind::Cells | Kind::Group, 0, Scalar::U32(tag)) => self.tag = tag,
            (Kind::Table | Kind::Cells | Kind::Group, ..) => {
                self.columns.insert(field as u32 - 1, scalar);
            }
            (Kind::Rows, ..) => {
                self.columns.insert(field as u32, scalar);
            }
        }
    }
}

fn made_at_once<'p>(
    level: Level,
    store: Name,
    size: i64,
    kind: Kind,
    arguments: Vec<Meaning<'p>>,
) -> Run<Meaning<'p>> {
    let [function, out] = take(arguments)?;
    let out = out.acc()?;
    comm(move |memory| {
        let table = memory.table_mut(&store)?;
        let first = table.rows.len() as i64;
        for _ in 0..size {
            table.push(Made {
                table: (kind == Kind::Table).then_some((first, size)),
                ..Made::default()
            });
        }
        each(level, size, |at| {
            let name = store.clone();
            let place = Meaning::Acc(Rc::new(move |memory: &mut Store, path: &[Step], scalar| {
                let rows = &mut memory.table_mut(&name)?.rows;
                let row = usize::try_from(first + at).ok().and_then(|at| rows.get_mut(at));
                match (row, path) {
                    (Some(row), [Step::Field(field)]) => row.write(kind, *field, scalar),
                    _ => return Err(broken("a row is written that is not there")),
                }
                Ok(())
            }));
            let body = match kind {
                Kind::Table | Kind::Cells | Kind::Group => function.clone().apply(number(first))?,
                Kind::Rows => function.clone(),
            };
            body.apply(number(at))?.apply(place)?.run(memory)
        })?;
        if kind == Kind::Group {
            memory.put_in_tables(&store, first, size)?;
        }
        out(memory, &[], Scalar::I64(first))
    })
}

pub(super) fn table_of<'p>(store: Name, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let [at, out] = take(arguments)?;
    let (at, out) = (at.exp()?, out.acc()?);
    comm(move |memory| {
        let at = integer(at(memory, &[])?)?;
        let (first, count) = memory.table_of(&store, at)?;
        out(memory, &[Step::Field(0)], Scalar::I64(first))?;
        out(memory, &[Step::Field(1)], Scalar::I64(count))
    })
}

pub(super) fn order_of<'p>(store: Name, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let [at, out, closes] = take(arguments)?;
    let (at, out, closes) = (at.exp()?, out.acc()?, closes.acc()?);
    comm(move |memory| {
        let at = integer(at(memory, &[])?)?;
        let (order, back) = memory.order_of(&store, at)?;
        out(memory, &[Step::Size(0)], Scalar::I64(order.len() as i64))?;
        for (position, row) in order.into_iter().enumerate() {
            out(
                memory,
                &[Step::Contents, Step::At(position as i64)],
                Scalar::I64(row),
            )?;
        }
        closes(memory, &[], Scalar::I64(back))
    })
}

/// The definition: a walk.
pub(super) fn order_in<'p>(size: i64, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let [links, from, out, closes] = take(arguments)?;
    let (links, from, out, closes) = (links.exp()?, from.exp()?, out.acc()?, closes.acc()?);
    comm(move |memory| {
        let mut at = integer(from(memory, &[])?)?;
        let (mut order, mut places) = (Vec::new(), HashMap::new());
        while (0..size).contains(&at) && !places.contains_key(&at) {
            places.insert(at, order.len() as i64);
            order.push(at);
            at = integer(links(memory, &[Step::At(at)])?)?;
        }
        let back = places.get(&at).copied().unwrap_or(-1);
        out(memory, &[Step::Size(0)], Scalar::I64(order.len() as i64))?;
        for (position, node) in (0..).zip(order) {
            out(memory, &[Step::Contents, Step::At(position)], Scalar::I64(node))?;
        }
        closes(memory, &[], Scalar::I64(back))
    })
}

pub(super) fn reach_of<'p>(store: Name, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let [at, out] = take(arguments)?;
    let (at, out) = (at.exp()?, out.acc()?);
    comm(move |memory| {
        let at = integer(at(memory, &[])?)?;
        let (first, count) = memory.reach_of(&store, at)?;
        out(memory, &[Step::Field(0)], Scalar::I64(first))?;
        out(memory, &[Step::Field(1)], Scalar::I64(count))
    })
}

pub(super) fn group_of<'p>(store: Name, arguments: Vec<Meaning<'p>>) -> Run<Meaning<'p>> {
    let [at, out] = take(arguments)?;
    let (at, out) = (at.exp()?, out.acc()?);
    comm(move |memory| {
        let at = integer(at(memory, &[])?)?;
        let row = memory.group_of(&store, at)?;
        out(memory, &[], Scalar::I64(row))
    })
}
