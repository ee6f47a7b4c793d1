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

use crate::error::{Lowering, bug, refuse};
use almach_base::{Name, Span};
use almach_core::{DataDef, DataId, Program, Recursive, Type};
use almach_dpia::store::{Store, TAG};
use almach_imp as imp;
use almach_imp::{Expr, Index, Stmt};
use almach_value::{Scalar, ScalarType};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The stores that a program was found to need.
pub(crate) struct AllCells<'a> {
    program: &'a Program,
    made: RefCell<BTreeMap<DataId, Rc<Cells>>>,
}

pub(crate) struct Cells {
    pub(crate) store: Store,
    /// By constructor, by field.
    pub(crate) constructors: Vec<Vec<Field>>,
}

/// The scalars of a field, from left to right.
pub(crate) struct Field {
    pub(crate) leaves: Vec<Leaf>,
}

#[derive(Clone, Copy)]
pub(crate) struct Leaf {
    pub(crate) column: u32,
    pub(crate) ty: ScalarType,
    pub(crate) refers: Refers,
}

/// What a scalar of a field refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refers {
    Nothing,
    /// A cell of the same type.
    Own,
    /// A cell of another recursive type.
    Other(DataId),
}

impl<'a> AllCells<'a> {
    pub(crate) fn new(program: &'a Program) -> AllCells<'a> {
        AllCells {
            program,
            made: RefCell::default(),
        }
    }

    /// The cells of a recursive type.
    pub(crate) fn of(&self, id: DataId, span: Span) -> Lowering<Rc<Cells>> {
        if let Some(known) = self.made.borrow().get(&id) {
            return Ok(Rc::clone(known));
        }
        let cells = Rc::new(cells(self.program, id, span)?);
        self.made.borrow_mut().insert(id, Rc::clone(&cells));
        Ok(cells)
    }

    pub(crate) fn all(&self) -> Vec<Rc<Cells>> {
        self.made.borrow().values().cloned().collect()
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

/// A field's type in a node value: a position where the type mentions itself.
pub(crate) fn with_positions(ty: &Type, own: DataId) -> Type {
    match ty {
        Type::Data(id) if *id == own => Type::I64,
        Type::Tuple(parts) => Type::Tuple(parts.iter().map(|part| with_positions(part, own)).collect()),
        Type::Array(dim, element) => Type::Array(dim.clone(), Box::new(with_positions(element, own))),
        Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => ty.clone(),
    }
}

fn cells(program: &Program, id: DataId, span: Span) -> Lowering<Cells> {
    let def = data_def(program, id, span)?;
    let mut columns: Vec<ScalarType> = Vec::new();
    let (mut constructors, mut references) = (Vec::new(), Vec::new());
    for constructor in &def.constructors {
        let mut taken = vec![false; columns.len()];
        let (mut fields, mut own) = (Vec::new(), Vec::new());
        for field in &constructor.fields {
            let mut found = Vec::new();
            scalars(program, field, id, span, &mut found)?;
            let mut leaves = Vec::new();
            for (ty, refers) in found {
                let column = free_column(ty, &mut columns, &mut taken);
                if refers == Refers::Own {
                    own.push(column);
                }
                leaves.push(Leaf { column, ty, refers });
            }
            fields.push(Field { leaves });
        }
        constructors.push(fields);
        references.push(own);
    }
    let constants = (0..).zip(&def.constructors);
    let constants = constants.filter(|(_, constructor)| constructor.fields.is_empty());
    let store = Store {
        name: def.name.clone(),
        columns,
        references,
        constants: constants.map(|(tag, _)| tag).collect(),
    };
    Ok(Cells { store, constructors })
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

/// The scalars of a type, in the order of its walk.
fn scalars(
    program: &Program,
    ty: &Type,
    own: DataId,
    span: Span,
    found: &mut Vec<(ScalarType, Refers)>,
) -> Lowering<()> {
    match ty {
        Type::Scalar(scalar) => found.push((*scalar, Refers::Nothing)),
        Type::Tuple(parts) => {
            for part in parts {
                scalars(program, part, own, span, found)?;
            }
        }
        Type::Data(id) if *id == own => found.push((ScalarType::I64, Refers::Own)),
        Type::Data(id) if is_recursive(program, *id) => found.push((ScalarType::I64, Refers::Other(*id))),
        Type::Data(id) | Type::Node(id) => {
            found.push((TAG, Refers::Nothing));
            for constructor in &data_def(program, *id, span)?.constructors {
                for field in &constructor.fields {
                    scalars(program, field, own, span, found)?;
                }
            }
        }
        Type::Vector(..) => return refuse("a short vector in a recursive type", span),
        Type::Array(..) => return refuse("an array in a recursive type", span),
    }
    Ok(())
}

impl Cells {
    pub(crate) fn name(&self) -> &Name {
        &self.store.name
    }

    /// The row of a constructor without fields.
    pub(crate) fn constant(&self, constructor: u32) -> Option<i64> {
        let at = self.store.constants.iter().position(|tag| *tag == constructor)?;
        Some(at as i64)
    }

    /// Makes the rows of constructors without fields, which are the first.
    pub(crate) fn make_constants(&self, span: Span) -> Vec<Stmt> {
        let constants = &self.store.constants;
        if constants.is_empty() {
            return Vec::new();
        }
        let first = Name::from(format!("constants_of_{}", self.name()));
        let mut stmts = vec![Stmt::Reserve {
            name: first.clone(),
            store: self.name().clone(),
            count: Index::constant(constants.len() as i64),
            span,
        }];
        stmts.extend((0i64..).zip(constants).map(|(at, tag)| Stmt::Store {
            buffer: tag_name(self.name()),
            index: Index::var(first.clone()) + Index::constant(at),
            value: Expr::Const(Scalar::U32(*tag)),
        }));
        stmts
    }

    /// The store of the cells, and that of the tables they are in.
    pub(crate) fn imp_stores(&self) -> [imp::Store; 2] {
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
        [
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
        ]
    }
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
