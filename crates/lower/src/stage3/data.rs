//! Rows of stores.
//!
//! ```text
//! construct<List,1,0:i64,1:i64> x rest out   ~~>   reserve cell = List[1]; List$tag[cell] = 1u32; List$0[cell] = x; …; out = cell
//! ```

use super::calls::Call;
use super::expressions::index_expr;
use super::storage::{Part, Storage, Tree};
use super::{Binding, Generator, Step};
use crate::cells::{
    column_name, count_name, first_name, group_of_name, into_tables_name, order_in_name, order_of_name,
    table_name, tables_name, tag_name,
};
use crate::error::Lowering;
use almach_base::Name;
use almach_dpia::store::{Row, TAG};
use almach_dpia::{Data, Instance, Phrase, Prim, Program};
use almach_imp::{Argument, Expr, Index, Stmt};
use almach_prim::Level;
use almach_value::{Scalar, ScalarType};
use std::collections::HashMap;
use std::rc::Rc;

/// The types of all columns.
pub(super) fn column_types(program: &Program) -> HashMap<Name, ScalarType> {
    let mut types = HashMap::new();
    for store in &program.stores {
        for (at, ty) in (0u32..).zip(&store.columns) {
            types.insert(column_name(&store.name, at), *ty);
        }
        // Elements of arrays have no constructors and no tables.
        if store.references.is_empty() {
            continue;
        }
        types.insert(tag_name(&store.name), TAG);
        for name in [table_name, first_name, count_name] {
            types.insert(name(&store.name), ScalarType::I64);
        }
    }
    types
}

impl Generator<'_> {
    pub(super) fn load_column(&mut self, column: Name, row: &Phrase) -> Lowering<Expr> {
        let row = self.index(row)?;
        Ok(Expr::Load(column, self.simplify(&row)))
    }

    pub(super) fn construct(&mut self, row: &Row, columns: &[&Phrase], out: &Phrase) -> Lowering<()> {
        let values = columns.iter().map(|value| self.read(value, Vec::new()));
        let values = values.collect::<Lowering<Vec<Expr>>>()?;
        let cell = self.reserve("cell", &row.store, Index::one());
        let at = Index::var(cell.clone());
        self.put_in_row(tag_name(&row.store), &at, Expr::Const(Scalar::U32(row.tag)));
        for ((column, _), value) in row.columns.iter().zip(values) {
            self.put_in_row(column_name(&row.store, *column), &at, value);
        }
        let place = self.target(out, Vec::new())?;
        self.write(&place, Expr::Var(cell))
    }

    fn reserve(&mut self, stem: &str, store: &Name, count: Index) -> Name {
        let name = self.fresh(stem);
        let span = self.span;
        self.emit(Stmt::Reserve {
            name: name.clone(),
            store: store.clone(),
            count,
            span,
        });
        name
    }

    fn put_in_row(&mut self, column: Name, row: &Index, value: Expr) {
        self.emit(Stmt::Store {
            buffer: column,
            index: row.clone(),
            value,
        });
    }

    /// Rows in a run, filled at once, and an entry in the list of tables.
    pub(super) fn new_table(
        &mut self,
        (level, owner): (Level, Owner),
        store: &Name,
        instance: &Instance,
        function: &Phrase,
        out: &Phrase,
    ) -> Lowering<()> {
        let [size] = instance.nats.as_slice() else {
            return self.bug("a table without a size");
        };
        let Some(known) = self.program.stores.iter().find(|known| known.name == *store) else {
            return self.bug("a table of a store that is not there");
        };
        let Some((first, index, row, body)) = parameters(function) else {
            return self.bug("a table without its rows");
        };
        let count = self.size(size);
        let made = self.reserve("made", store, count.clone());
        let table = match owner {
            Owner::Run => Some(self.list_table(store, &made, &count)),
            Owner::Said | Owner::Nobody => None,
        };
        let mut columns = vec![Tree::Buffer(tag_name(store), TAG, Part::Own)];
        let fields = (0u32..).zip(&known.columns);
        columns.extend(fields.map(|(at, ty)| Tree::Buffer(column_name(store, at), *ty, Part::Own)));
        let here = Index::var(made.clone()) + Index::var(index.clone());
        self.bind_row(row, columns, count.clone(), here.clone());
        self.bindings
            .insert(first.clone(), Binding::Scalar(Expr::Var(made.clone())));
        self.bindings
            .insert(index.clone(), Binding::Scalar(Expr::Var(index.clone())));
        self.at_level(level, index.clone(), count.clone(), |this| {
            if let Some(table) = table {
                let owner = Expr::Index(table + Index::one());
                this.put_in_row(table_name(store), &here, owner);
            }
            this.command(body)
        })?;
        if owner == Owner::Said {
            let span = self.span;
            let made = Argument::Value(Expr::Var(made.clone()));
            let count = Argument::Value(super::expressions::index_expr(count));
            self.emit(Stmt::Call {
                proc: into_tables_name(store),
                arguments: vec![made, count],
                span,
            });
        }
        let place = self.target(out, Vec::new())?;
        self.write(&place, Expr::Var(made))
    }

    /// An entry in the list of tables.
    fn list_table(&mut self, store: &Name, first: &Name, count: &Index) -> Index {
        let table = self.reserve("table", &tables_name(store), Index::one());
        let table = Index::var(table);
        self.put_in_row(first_name(store), &table, Expr::Var(first.clone()));
        let count = super::expressions::index_expr(count.clone());
        self.put_in_row(count_name(store), &table, count);
        table
    }

    /// Rows that are an array of a cell.
    pub(super) fn new_rows(
        &mut self,
        level: Level,
        store: &Name,
        instance: &Instance,
        function: &Phrase,
        out: &Phrase,
    ) -> Lowering<()> {
        let (Prim::NewRows(_, _, columns), [size]) = (&instance.prim, instance.nats.as_slice()) else {
            return self.bug("rows without a number");
        };
        let Phrase::Lam(index, _, inner) = function.unmarked() else {
            return self.bug("rows without an index");
        };
        let Phrase::Lam(row, _, body) = inner.unmarked() else {
            return self.bug("rows without a place");
        };
        let count = self.size(size);
        let made = self.reserve("made", store, count.clone());
        let columns = (0u32..).zip(columns);
        let columns = columns.map(|(at, ty)| Tree::Buffer(column_name(store, at), *ty, Part::Own));
        let here = Index::var(made.clone()) + Index::var(index.clone());
        self.bind_row(row, columns.collect(), count.clone(), here);
        self.bindings
            .insert(index.clone(), Binding::Scalar(Expr::Var(index.clone())));
        self.at_level(level, index.clone(), count, |this| this.command(body))?;
        let place = self.target(out, Vec::new())?;
        self.write(&place, Expr::Var(made))
    }

    /// A name for a row of some columns.
    fn bind_row(&mut self, name: &Name, columns: Vec<Tree>, count: Index, at: Index) {
        // How many rows there are does not matter to where one lies.
        let rows = Storage {
            sizes: Vec::new(),
            capacity: None,
            tree: Tree::Array(count, Box::new(Tree::Tuple(columns))),
        };
        let all = self.fresh("rows");
        self.bindings.insert(all.clone(), Binding::Storage(Rc::new(rows)));
        let place = Binding::Alias(Rc::new(Phrase::Var(all)), vec![Step::At(at)]);
        self.bindings.insert(name.clone(), place);
    }

    pub(super) fn group_of(&mut self, store: &Name, cell: &Phrase, out: &Phrase) -> Lowering<()> {
        let there = self.call_on_cell(group_of_name(store), "there", cell)?;
        let place = self.target(out, Vec::new())?;
        self.write(&place, Expr::Var(there))
    }

    /// The bounds of the table that a procedure finds or makes for a cell.
    pub(super) fn table_of(
        &mut self,
        procedure: Name,
        store: &Name,
        cell: &Phrase,
        out: &Phrase,
    ) -> Lowering<()> {
        let table = self.call_on_cell(procedure, "table", cell)?;
        for (field, column) in [first_name(store), count_name(store)].into_iter().enumerate() {
            let place = self.target(out, vec![Step::Field(field)])?;
            self.write(&place, Expr::Load(column, Index::var(table.clone())))?;
        }
        Ok(())
    }
}

impl Generator<'_> {
    /// The rows of a list from a cell on.
    pub(super) fn order_of(
        &mut self,
        store: &Name,
        cell: &Phrase,
        out: &Phrase,
        back: &Phrase,
    ) -> Lowering<()> {
        let cell = self.read(cell, Vec::new())?;
        let storage = self.cell(out)?;
        let leaves = storage.leaves();
        let ([size], [rows]) = (storage.sizes.as_slice(), leaves.as_slice()) else {
            return self.bug("rows of a list that are no array");
        };
        let closes = self.fresh("closes");
        self.assigned.insert(closes.clone());
        self.emit(Stmt::Var {
            name: closes.clone(),
            ty: ScalarType::I64,
            value: None,
        });
        let span = self.span;
        let arguments = vec![
            Argument::Value(cell),
            Argument::Owned(rows.name.clone()),
            Argument::Out(size.clone()),
            Argument::Out(closes.clone()),
        ];
        self.emit(Stmt::Call {
            proc: order_of_name(store),
            arguments,
            span,
        });
        let place = self.target(back, Vec::new())?;
        self.write(&place, Expr::Var(closes))
    }

    /// The nodes of a list in an array of links. Some of these are marked while it is followed, so they lie in a block that can be written (Imp's checker
    /// asks for that): stage I makes one for them.
    pub(super) fn order_in(
        &mut self,
        width: ScalarType,
        instance: &Instance,
        (links, root): (&Phrase, &Phrase),
        (out, back): (&Phrase, &Phrase),
    ) -> Lowering<()> {
        let [size] = instance.nats.as_slice() else {
            return self.bug("an order of an array without a size");
        };
        let storage = self.cell(out)?;
        let leaves = storage.leaves();
        let ([count], [rows]) = (storage.sizes.as_slice(), leaves.as_slice()) else {
            return self.bug("nodes of a list that are no array");
        };
        let mut call = Call::default();
        let nodes = self.simplify(&self.size(size));
        call.arguments.push(Argument::Value(index_expr(nodes)));
        self.pass_in(&Data::array(size.clone(), Data::Scalar(width)), links, &mut call)?;
        let root = self.read(root, Vec::new())?;
        let closes = self.fresh("closes");
        self.assigned.insert(closes.clone());
        self.emit(Stmt::Var {
            name: closes.clone(),
            ty: ScalarType::I64,
            value: None,
        });
        call.arguments.extend([
            Argument::Value(root),
            Argument::Owned(rows.name.clone()),
            Argument::Out(count.clone()),
            Argument::Out(closes.clone()),
        ]);
        self.emit(Stmt::Call {
            proc: order_in_name(width),
            arguments: std::mem::take(&mut call.arguments),
            span: self.span,
        });
        self.end_call(call)?;
        let place = self.target(back, Vec::new())?;
        self.write(&place, Expr::Var(closes))
    }

    /// What a procedure gives of a cell.
    fn call_on_cell(&mut self, proc: Name, stem: &str, cell: &Phrase) -> Lowering<Name> {
        let cell = self.read(cell, Vec::new())?;
        let given = self.fresh(stem);
        self.assigned.insert(given.clone());
        self.emit(Stmt::Var {
            name: given.clone(),
            ty: ScalarType::I64,
            value: None,
        });
        let span = self.span;
        self.emit(Stmt::Call {
            proc,
            arguments: vec![Argument::Value(cell), Argument::Out(given.clone())],
            span,
        });
        Ok(given)
    }
}

/// Which table the rows of a run are in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The run is one.
    Run,
    /// Each says which.
    Said,
    /// None, as constructors make them.
    Nobody,
}

/// The three parameters of the function that fills a row, and its body.
fn parameters(function: &Phrase) -> Option<(&Name, &Name, &Name, &Phrase)> {
    let Phrase::Lam(first, _, inner) = function.unmarked() else {
        return None;
    };
    let Phrase::Lam(index, _, second) = inner.unmarked() else {
        return None;
    };
    let Phrase::Lam(row, _, body) = second.unmarked() else {
        return None;
    };
    Some((first, index, row, body))
}
