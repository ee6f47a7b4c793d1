//! Stores: where the cells of recursive data live (Nishimura & Ohori's systems of equations, held as tables).
//!
//! A store is a table that only grows; a reference is the number of a row. A row is written when it is made and never again.
//! `construct` makes a row, `newTable` and `newRows` many at once. Arrays in cells are rows of stores of their own: a cell has
//! the numbers of the first and of the one behind the last. Since a row's number is known to nobody before it is written, making
//! rows interferes with nothing, and reading one (`tag`, `column`) is an expression: that is an axiom of the checker, as the
//! collectives are. Which numbers rows get is not known; no program can tell, since references are only followed.

use crate::prim::Prim;
use almach_base::Name;
use almach_value::ScalarType;

/// The cells of one recursive type. A row has a tag and the columns that its constructor needs; constructors share columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Store {
    pub name: Name,
    pub columns: Vec<ScalarType>,
    /// By constructor, where it refers to rows of this store, in the order of its fields. None for the store of arrays.
    pub references: Vec<Vec<Reference>>,
    /// Where types that refer to each other share the store: by constructor, where it refers to rows of it, whosever they
    /// are. Their first column says of a row that came from outside, or goes there, which table it is in: the position of
    /// that table's first row, counted from 1; 0 where it is in none.
    pub links: Vec<Vec<Reference>>,
    /// The constructors without fields, in order. Each has one row for all: the first rows are theirs.
    pub constants: Vec<u32>,
    /// How many rows of zeros there are at the start: what a node has for an array of this size where its constructor has
    /// none.
    pub zeros: u32,
}

/// Where a row refers to rows of a store of cells.
#[derive(Clone, PartialEq, Debug)]
pub enum Reference {
    /// A column holds the number of a row.
    Cell(u32),
    /// Two columns hold the bounds of rows of another store, whose columns refer to cells.
    Rows {
        begin: u32,
        end: u32,
        store: Name,
        within: Vec<Reference>,
    },
    /// Those of a sum in the row, where the column of its tag holds this number.
    Under {
        tag: u32,
        number: u32,
        within: Vec<Reference>,
    },
}

/// What `construct` writes: the columns of a constructor.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub store: Name,
    pub tag: u32,
    pub columns: Vec<(u32, ScalarType)>,
}

/// The type of tags.
pub const TAG: ScalarType = ScalarType::U32;

/// Why a primitive does not fit the stores of the program; none where it does.
pub(crate) fn problem(stores: &[Store], prim: &Prim) -> Option<String> {
    let find = |name: &Name| stores.iter().find(|store| store.name == *name);
    let missing = |name: &Name| Some(format!("there is no store `{name}`"));
    let columns_fit = |store: &Store, columns: &[(u32, ScalarType)]| {
        let wrong = columns
            .iter()
            .find(|(at, ty)| store.columns.get(*at as usize) != Some(ty));
        wrong.map(|(at, ty)| format!("column {at} of `{}` holds no {ty}", store.name))
    };
    match prim {
        Prim::Tag(name) | Prim::TableOf(name) | Prim::ReachOf(name) if find(name).is_none() => missing(name),
        Prim::OrderOf(name) => match find(name) {
            Some(store) if store.references.iter().all(|all| is_link(all)) => None,
            Some(store) => Some(format!("rows of `{}` refer to several others", store.name)),
            None => missing(name),
        },
        Prim::GroupOf(name) => match find(name) {
            Some(store) => no_group(store),
            None => missing(name),
        },
        Prim::NewGroup(_, name, columns) => match find(name) {
            Some(store) if store.columns == *columns => no_group(store),
            Some(store) => Some(format!("rows of `{}` have other columns", store.name)),
            None => missing(name),
        },
        Prim::Column(name, at, ty) => match find(name) {
            Some(store) => columns_fit(store, &[(*at, *ty)]),
            None => missing(name),
        },
        Prim::Construct(row) => match find(&row.store) {
            Some(store) if row.tag as usize >= store.references.len() => {
                Some(format!("`{}` has no constructor {}", row.store, row.tag))
            }
            Some(store) => columns_fit(store, &row.columns),
            None => missing(&row.store),
        },
        Prim::NewTable(_, name, columns)
        | Prim::NewCells(_, name, columns)
        | Prim::NewRows(_, name, columns) => match find(name) {
            Some(store) if store.columns == *columns => None,
            Some(store) => Some(format!("rows of `{}` have other columns", store.name)),
            None => missing(name),
        },
        _ => None,
    }
}

/// Whether a row with these references refers to one other at most.
fn is_link(references: &[Reference]) -> bool {
    matches!(references, [] | [Reference::Cell(_)])
}

/// Why a store is none of types that refer to each other.
fn no_group(store: &Store) -> Option<String> {
    match (store.links.is_empty(), store.columns.first()) {
        (false, Some(ScalarType::I64)) => None,
        _ => Some(format!("`{}` is no store of a group of types", store.name)),
    }
}
