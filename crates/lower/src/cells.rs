//! How the cells of recursive types lie in their stores.
//!
//! ```text
//! data Tree = Leaf f64 | Fork i64 Tree Tree     tag | f64 | i64 | i64 | i64
//!                                        Leaf     0 |  x  |     |     |
//!                                        Fork     1 |     |  n  |  l  |  r
//! ```
//!
//! A value of a recursive type is the number of a row. Fields are taken apart to scalars, and constructors share the columns
//! of a type, since a row has one constructor. A row also knows the table it belongs to, once it has one.
//!
//! An array in a field is a run of rows in a store of its own, one for every place of the type that holds arrays; the cell has
//! its bounds. Arrays in arrays have stores of their own in the same way:
//!
//! ```text
//! data Rose = Rose i32 [?]Rose                  Rose: tag | i32 | i64 | i64       Rose$0: i64
//!                                                Rose   0 |  x  | begin | end        of each element: its row
//! ```

use crate::crossing::{Group, Way};
use crate::error::{Lowering, bug};
use almach_base::{Name, Span};
use almach_core::{DataDef, DataId, Dim, ForeignId, Program, Recursive, Type};
use almach_dpia::store::{Reference, Store, TAG};
use almach_imp as imp;
use almach_imp::{Expr, Index, Stmt};
use almach_value::{Scalar, ScalarType};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The stores that a program was found to need.
pub(crate) struct AllCells<'a> {
    program: &'a Program,
    /// Types that share a store.
    groups: &'a [Group],
    made: RefCell<BTreeMap<DataId, Rc<Cells>>>,
}

#[derive(Clone)]
pub(crate) struct Cells {
    pub(crate) store: Store,
    /// The number that the first constructor has in the store: other types may share it.
    pub(crate) first: u32,
    /// By constructor, by field.
    pub(crate) constructors: Vec<Vec<Field>>,
    /// The stores of arrays, numbered as the pools of a node's layout are (`stage1/layout.rs`).
    pub(crate) arrays: Vec<Elements>,
    /// Of the store of a group: its cells with the references that stay in a type.
    pub(crate) by_type: Option<Rc<Cells>>,
}

/// The elements of all arrays at one place of a type.
#[derive(Clone)]
pub(crate) struct Elements {
    pub(crate) store: Store,
    /// The scalars of an element: one column each.
    pub(crate) leaves: Vec<Leaf>,
}

/// The scalars of a field, from left to right.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) leaves: Vec<Leaf>,
}

#[derive(Clone)]
pub(crate) struct Leaf {
    pub(crate) column: u32,
    pub(crate) ty: ScalarType,
    pub(crate) refers: Refers,
    /// The sums that a reference stands in, from the outermost on. It is there where all of them have these constructors.
    pub(crate) sums: Vec<InSum>,
}

/// A constructor of a sum that a scalar belongs to.
#[derive(Clone, Copy)]
pub(crate) struct InSum {
    /// How many scalars before this one the tag is.
    pub(crate) back: usize,
    /// The column of the tag.
    pub(crate) tag: u32,
    pub(crate) number: u32,
}

/// What a scalar of a field refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refers {
    Nothing,
    /// A cell of the same type.
    Own,
    /// A cell of another recursive type.
    Other(DataId),
    /// The first of the rows that are an array, in the store of that number.
    Begin(usize),
    /// The one behind the last of them.
    End(usize),
}

impl<'a> AllCells<'a> {
    pub(crate) fn new(program: &'a Program, groups: &'a [Group]) -> AllCells<'a> {
        AllCells {
            program,
            groups,
            made: RefCell::default(),
        }
    }

    /// Which way a function goes between a type and that of its group; none where it is a C function.
    pub(crate) fn cast(&self, function: ForeignId) -> Option<Way> {
        self.groups.iter().find_map(|group| group.cast(function))
    }

    /// Whether a type has the constructors of a group.
    pub(crate) fn is_merged(&self, id: DataId) -> bool {
        self.groups.iter().any(|group| group.merged == id)
    }

    /// The cells of a recursive type.
    pub(crate) fn of(&self, id: DataId, span: Span) -> Lowering<Rc<Cells>> {
        if let Some(known) = self.made.borrow().get(&id) {
            return Ok(Rc::clone(known));
        }
        let group = self
            .groups
            .iter()
            .find(|group| group.merged == id || group.members.contains(&id));
        let made = match group {
            Some(group) => group_cells(self.program, group, span)?,
            None => vec![(id, cells(self.program, id, span)?)],
        };
        let made = made.into_iter().map(|(id, cells)| (id, Rc::new(cells)));
        self.made.borrow_mut().extend(made);
        match self.made.borrow().get(&id) {
            Some(cells) => Ok(Rc::clone(cells)),
            None => bug("a type without cells", span),
        }
    }

    /// Those of every store, once.
    pub(crate) fn all(&self) -> Vec<Rc<Cells>> {
        let is_member = |id: &DataId| self.groups.iter().any(|group| group.members.contains(id));
        let made = self.made.borrow();
        let made = made.iter().filter(|(id, _)| !is_member(id));
        made.map(|(_, cells)| Rc::clone(cells)).collect()
    }
}

pub(crate) fn data_def(program: &Program, id: DataId, span: Span) -> Lowering<&DataDef> {
    match program.data.get(id.0 as usize) {
        Some(def) => Ok(def),
        None => bug("a data type that is not there", span),
    }
}

pub(crate) fn is_recursive(program: &Program, id: DataId) -> bool {
    let def = program.data.get(id.0 as usize);
    def.is_some_and(|def| def.recursive == Recursive::Yes)
}

fn cells(program: &Program, id: DataId, span: Span) -> Lowering<Cells> {
    let def = data_def(program, id, span)?;
    let mut walk = FieldWalk {
        program,
        own: id,
        span,
        arrays: Vec::new(),
    };
    let mut columns: Vec<ScalarType> = Vec::new();
    let mut constructors = Vec::new();
    for constructor in &def.constructors {
        let mut taken = vec![false; columns.len()];
        let mut fields = Vec::new();
        for field in &constructor.fields {
            let mut found = Vec::new();
            walk.scalars(field, &mut found)?;
            let leaves = placed(found, &mut |_, ty| free_column(ty, &mut columns, &mut taken));
            fields.push(Field { leaves });
        }
        constructors.push(fields);
    }
    let arrays: Vec<Elements> = walk
        .arrays
        .into_iter()
        .enumerate()
        .map(|(at, found)| Elements {
            store: Store {
                name: array_name(&def.name, at),
                columns: found.leaves.iter().map(|leaf| leaf.ty).collect(),
                references: Vec::new(),
                links: Vec::new(),
                constants: Vec::new(),
                zeros: found.size,
            },
            leaves: found.leaves,
        })
        .collect();
    let references = constructors.iter().map(|fields| {
        let leaves: Vec<Leaf> = fields.iter().flat_map(|field| &field.leaves).cloned().collect();
        references(&leaves, &arrays)
    });
    let constants = (0..).zip(&def.constructors);
    let constants = constants.filter(|(_, constructor)| constructor.fields.is_empty());
    let store = Store {
        name: def.name.clone(),
        columns,
        references: references.collect(),
        links: Vec::new(),
        constants: constants.map(|(tag, _)| tag).collect(),
        zeros: 0,
    };
    Ok(Cells {
        store,
        first: 0,
        constructors,
        arrays,
        by_type: None,
    })
}

/// The cells of types that refer to each other, in one store: those of the type that has all constructors, and those of each.
fn group_cells(program: &Program, group: &Group, span: Span) -> Lowering<Vec<(DataId, Cells)>> {
    let mut whole = cells(program, group.merged, span)?;
    let mut by_type = whole.clone();
    let mut members: Vec<(DataId, Cells)> = Vec::new();
    let (mut first, mut first_array) = (0, 0);
    let mut own_references = Vec::new();
    for id in group.members.iter() {
        let mut view = cells(program, *id, span)?;
        let places = by_type.constructors.iter_mut().skip(first);
        for (fields, places) in view.constructors.iter_mut().zip(places) {
            // The first field is the table, and no type's own.
            places.remove(0);
            let leaves = fields.iter_mut().flat_map(|field| &mut field.leaves);
            let places = places.iter_mut().flat_map(|field| &mut field.leaves);
            for (leaf, place) in leaves.zip(places) {
                leaf.column = place.column;
                place.refers = within_type(place.refers, leaf.refers);
            }
        }
        let places = by_type.arrays.iter_mut().skip(first_array);
        for (elements, place) in view.arrays.iter_mut().zip(places) {
            elements.store = place.store.clone();
            for (leaf, place) in elements.leaves.iter().zip(&mut place.leaves) {
                place.refers = within_type(place.refers, leaf.refers);
            }
        }
        own_references.extend(view.constructors.iter().map(|fields| {
            let leaves: Vec<Leaf> = fields.iter().flat_map(|field| &field.leaves).cloned().collect();
            references(&leaves, &view.arrays)
        }));
        view.first = first as u32;
        first += view.constructors.len();
        first_array += view.arrays.len();
        members.push((*id, view));
    }
    let store = &mut whole.store;
    store.links = std::mem::replace(&mut store.references, own_references);
    let constants = (0..)
        .zip(&by_type.constructors)
        .filter(|(_, fields)| fields.is_empty());
    store.constants = constants.map(|(tag, _)| tag).collect();
    by_type.store = store.clone();
    for (_, view) in &mut members {
        view.store = store.clone();
    }
    whole.by_type = Some(Rc::new(by_type));
    members.push((group.merged, whole));
    Ok(members)
}

/// What a scalar of a group's cell refers to, where only references to the same type count.
fn within_type(in_group: Refers, in_type: Refers) -> Refers {
    match in_group {
        Refers::Own => in_type,
        Refers::Nothing | Refers::Other(_) | Refers::Begin(_) | Refers::End(_) => in_group,
    }
}

/// Where scalars refer to cells of the same type.
fn references(leaves: &[Leaf], arrays: &[Elements]) -> Vec<Reference> {
    let mut found = Vec::new();
    for (at, leaf) in leaves.iter().enumerate() {
        match leaf.refers {
            Refers::Own => {
                let cell = Reference::Cell(leaf.column);
                found.push(leaf.sums.iter().rev().fold(cell, |inside, sum| Reference::Under {
                    tag: sum.tag,
                    number: sum.number,
                    within: vec![inside],
                }));
            }
            Refers::Begin(array) => {
                let (Some(end), Some(elements)) = (leaves.get(at + 1), arrays.get(array)) else {
                    continue;
                };
                let within = references(&elements.leaves, arrays);
                if !within.is_empty() {
                    found.push(Reference::Rows {
                        begin: leaf.column,
                        end: end.column,
                        store: elements.store.name.clone(),
                        within,
                    });
                }
            }
            Refers::End(_) | Refers::Nothing | Refers::Other(_) => {}
        }
    }
    found
}

/// Scalars in their columns.
fn placed(found: Vec<Found>, column: &mut dyn FnMut(usize, ScalarType) -> u32) -> Vec<Leaf> {
    let mut leaves: Vec<Leaf> = Vec::with_capacity(found.len());
    for (at, scalar) in found.into_iter().enumerate() {
        let sums = scalar.sums.iter().filter_map(|(tag, number)| {
            Some(InSum {
                back: at - tag,
                tag: leaves.get(*tag)?.column,
                number: *number,
            })
        });
        let sums = sums.collect();
        leaves.push(Leaf {
            column: column(at, scalar.ty),
            ty: scalar.ty,
            refers: scalar.refers,
            sums,
        });
    }
    leaves
}

/// A column of a type that the constructor does not use yet.
fn free_column(ty: ScalarType, columns: &mut Vec<ScalarType>, taken: &mut Vec<bool>) -> u32 {
    let free = columns
        .iter()
        .zip(taken.iter())
        .position(|(column, taken)| *column == ty && !taken);
    let at = free.unwrap_or_else(|| {
        columns.push(ty);
        taken.push(false);
        columns.len() - 1
    });
    if let Some(taken) = taken.get_mut(at) {
        *taken = true;
    }
    at as u32
}

/// Finds what fields are made of.
struct FieldWalk<'a> {
    program: &'a Program,
    own: DataId,
    span: Span,
    arrays: Vec<FoundArray>,
}

/// A scalar of a field.
struct Found {
    ty: ScalarType,
    refers: Refers,
    /// The tags of the sums around a reference, by their places, and the constructors.
    sums: Vec<(usize, u32)>,
}

impl Found {
    fn new(ty: ScalarType, refers: Refers) -> Found {
        Found {
            ty,
            refers,
            sums: Vec::new(),
        }
    }
}

#[derive(Default)]
struct FoundArray {
    leaves: Vec<Leaf>,
    /// The size that the type says; 0 where it says none.
    size: u32,
}

impl FieldWalk<'_> {
    /// The scalars of a type, in the order of its walk.
    fn scalars(&mut self, ty: &Type, found: &mut Vec<Found>) -> Lowering<()> {
        match ty {
            Type::Scalar(scalar) => found.push(Found::new(*scalar, Refers::Nothing)),
            Type::Vector(width, scalar) => {
                found.extend((0..*width).map(|_| Found::new(*scalar, Refers::Nothing)));
            }
            Type::Tuple(parts) => {
                for part in parts {
                    self.scalars(part, found)?;
                }
            }
            Type::Array(dim, element) => {
                let array = self.arrays.len();
                self.arrays.push(FoundArray::default());
                let mut inside = Vec::new();
                self.scalars(element, &mut inside)?;
                let leaves = placed(inside, &mut |at, _| at as u32);
                let size = match dim {
                    Dim::Size(size) => size.as_constant(),
                    Dim::Jagged => None,
                };
                if let Some(found) = self.arrays.get_mut(array) {
                    found.leaves = leaves;
                    found.size = size.and_then(|size| u32::try_from(size).ok()).unwrap_or(0);
                }
                found.push(Found::new(ScalarType::I64, Refers::Begin(array)));
                found.push(Found::new(ScalarType::I64, Refers::End(array)));
            }
            Type::Data(id) if *id == self.own => found.push(Found::new(ScalarType::I64, Refers::Own)),
            Type::Data(id) if is_recursive(self.program, *id) => {
                found.push(Found::new(ScalarType::I64, Refers::Other(*id)));
            }
            Type::Data(id) | Type::Node(id) => {
                let tag = found.len();
                found.push(Found::new(TAG, Refers::Nothing));
                let constructors = &data_def(self.program, *id, self.span)?.constructors;
                for (number, constructor) in (0u32..).zip(constructors) {
                    let first = found.len();
                    for field in &constructor.fields {
                        self.scalars(field, found)?;
                    }
                    let inside = found.iter_mut().skip(first);
                    inside
                        .filter(|scalar| scalar.refers == Refers::Own)
                        .for_each(|scalar| scalar.sums.insert(0, (tag, number)));
                }
            }
        }
        Ok(())
    }
}

impl Cells {
    pub(crate) fn name(&self) -> &Name {
        &self.store.name
    }

    /// The row of a constructor without fields.
    pub(crate) fn constant(&self, constructor: u32) -> Option<i64> {
        let tag = self.first + constructor;
        let at = self.store.constants.iter().position(|known| *known == tag)?;
        Some(at as i64)
    }

    /// The cells with the references that stay in a type.
    pub(crate) fn own(&self) -> &Cells {
        self.by_type.as_deref().unwrap_or(self)
    }

    /// Of a list, a type whose constructors refer to a cell of it once at most: each that does, and the column.
    pub(crate) fn links(&self) -> Option<Vec<(u32, u32)>> {
        let mut links = Vec::new();
        for (tag, references) in (0u32..).zip(&self.store.references) {
            match references.as_slice() {
                [] => {}
                [Reference::Cell(column)] => links.push((tag, *column)),
                _ => return None,
            }
        }
        Some(links)
    }

    /// The constructors without fields, and their rows.
    pub(crate) fn constant_rows(&self) -> Vec<(u32, i64)> {
        let constructors = 0..self.constructors.len() as u32;
        constructors
            .filter_map(|constructor| Some((constructor, self.constant(constructor)?)))
            .collect()
    }

    /// Makes the rows that are there from the start: those of constructors without fields, and those of zeros.
    pub(crate) fn make_constants(&self, span: Span) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        let mut reserve = |stem: String, store: &Store, count: usize| {
            let name = Name::from(stem);
            if count > 0 {
                stmts.push(Stmt::Reserve {
                    name: name.clone(),
                    store: store.name.clone(),
                    count: Index::constant(count as i64),
                    span,
                });
            }
            name
        };
        for (at, elements) in self.arrays.iter().enumerate() {
            let stem = format!("zeros_of_{}_{at}", self.name());
            reserve(stem, &elements.store, elements.store.zeros as usize);
        }
        let constants = &self.store.constants;
        let stem = format!("constants_of_{}", self.name());
        let first = reserve(stem, &self.store, constants.len());
        stmts.extend((0i64..).zip(constants).map(|(at, tag)| Stmt::Store {
            buffer: tag_name(self.name()),
            index: Index::var(first.clone()) + Index::constant(at),
            value: Expr::Const(Scalar::U32(*tag)),
        }));
        stmts
    }

    /// The stores that Dpia knows: that of the cells, and those of arrays in them.
    pub(crate) fn stores(&self) -> impl Iterator<Item = &Store> {
        std::iter::once(&self.store).chain(self.arrays.iter().map(|elements| &elements.store))
    }

    /// The store of the cells, that of the tables they are in, and those of arrays.
    pub(crate) fn imp_stores(&self) -> Vec<imp::Store> {
        let column = |name: Name, ty: ScalarType| imp::Column {
            name,
            ty,
            writing: imp::Writing::Plain,
        };
        let name = self.name();
        let mut columns = vec![
            column(tag_name(name), TAG),
            imp::Column {
                name: table_name(name),
                ty: ScalarType::I64,
                writing: imp::Writing::Settled,
            },
        ];
        let fields = (0u32..).zip(&self.store.columns);
        columns.extend(fields.map(|(at, ty)| column(column_name(name, at), *ty)));
        let tables = [first_name(name), count_name(name), place_name(name)];
        let mut stores = vec![
            imp::Store {
                name: name.clone(),
                columns,
            },
            imp::Store {
                name: tables_name(name),
                columns: tables
                    .into_iter()
                    .map(|name| column(name, ScalarType::I64))
                    .collect(),
            },
        ];
        stores.extend(self.arrays.iter().map(|elements| {
            let name = &elements.store.name;
            let columns = elements.leaves.iter();
            imp::Store {
                name: name.clone(),
                columns: columns
                    .map(|leaf| column(column_name(name, leaf.column), leaf.ty))
                    .collect(),
            }
        }));
        stores
    }
}

/// The store of arrays at one place of a type.
fn array_name(store: &Name, at: usize) -> Name {
    Name::from(format!("{store}$array{at}"))
}

pub(crate) fn tag_name(store: &Name) -> Name {
    Name::from(format!("{store}$tag"))
}

/// The table that a cell is in, or has, counted from 1; 0 where there is none.
pub(crate) fn table_name(store: &Name) -> Name {
    Name::from(format!("{store}$table"))
}

pub(crate) fn column_name(store: &Name, column: u32) -> Name {
    Name::from(format!("{store}${column}"))
}

/// The store of tables: for each its first cell, how many it has, and where it went when results were brought out.
pub(crate) fn tables_name(store: &Name) -> Name {
    Name::from(format!("{store}$tables"))
}

pub(crate) fn first_name(store: &Name) -> Name {
    Name::from(format!("{store}$first"))
}

pub(crate) fn count_name(store: &Name) -> Name {
    Name::from(format!("{store}$count"))
}

pub(crate) fn place_name(store: &Name) -> Name {
    Name::from(format!("{store}$place"))
}

/// The procedure that finds or makes the table of a cell.
pub(crate) fn table_of_name(store: &Name) -> Name {
    Name::from(format!("{store}$table_of"))
}

/// The procedure that finds or makes a table of exactly what can be reached from a cell.
pub(crate) fn reach_of_name(store: &Name) -> Name {
    Name::from(format!("{store}$reach_of"))
}

/// The procedure that finds the cells of a list, in their order.
pub(crate) fn order_of_name(store: &Name) -> Name {
    Name::from(format!("{store}$order_of"))
}

/// The procedure that finds the nodes of a list in an array, in their order; positions have that width there.
pub(crate) fn order_in_name(width: ScalarType) -> Name {
    Name::from(format!("nodes$order_{width}"))
}

/// The procedure that copies what can be reached from a cell to a new table.
pub(crate) fn copy_of_name(store: &Name) -> Name {
    Name::from(format!("{store}$copy_of"))
}

/// The procedure that copies what can be reached from a cell of a group.
pub(crate) fn group_of_name(store: &Name) -> Name {
    Name::from(format!("{store}$group_of"))
}

/// The procedure that puts the cells of a group into the tables they say.
pub(crate) fn into_tables_name(store: &Name) -> Name {
    Name::from(format!("{store}$into_tables"))
}
