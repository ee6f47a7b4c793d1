//! Recursive data (Nishimura & Ohori): constructors, `case`, and tables of nodes.
//!
//! ```text
//! Cons x rest                       construct<List,1,0:i64,1:i64> x rest cell.1
//! case l of | Cons x rest -> …      if eq<u32> (tag<List> l) #1u32 then … column<List,0,i64> l … column<List,1,i64> l …
//! nodes l                           tableOf<List> l table.1; … map (\i. … column<List,0,i64> (add<i64> first i) …) (iota[n])
//! from_nodes r ns                   newTable<par,List,i64,i64>[n] (\first. \i. \row. …) first'.1
//! reach l                           reachOf<List> l table.1; … as `nodes`
//! constructed ns                    newCells<par,List,i64,i64>[n] (\first. \i. \row. …) first'.1
//! ```

use super::checks::{and, binary, int, or};
use super::fields::{Run, Runs, assemble, column, where_there};
use super::in_arrays::order_data;
use super::layout::{Held, Layout, Packed, Pool};
use super::{Dest, Item, Translator, name_of};
use crate::cells::{Cells, Refers, is_recursive};
use crate::crossing::Way;
use crate::error::{Lowering, bug};
use almach_core::{Arm, Atom, Body, DataId, Exp, Op, Pattern, Type};
use almach_dpia::store::{Row, TAG};
use almach_dpia::{Data, Nat, Phrase, PhraseType, Prim, build};
use almach_prim::{Level, Prim as Operation};
use almach_value::{BinOp, Failure, Scalar, ScalarType};

const I64: Data = Data::Scalar(ScalarType::I64);

/// A cell of a list, where it stands in the order.
pub(super) struct Ordered {
    /// Where the cell is.
    pub(super) at: Phrase,
    pub(super) tag: Phrase,
    /// The position that it refers to.
    pub(super) reference: Phrase,
}

/// How the cells of a list are looked up.
pub(super) struct LookUp<'a> {
    /// The constructors that refer to another cell.
    pub(super) links: Vec<u32>,
    /// The tag of a cell.
    pub(super) tag: &'a dyn Fn(&Translator<'_>, Phrase) -> Lowering<Phrase>,
    /// The node value of a cell.
    pub(super) node: &'a dyn Fn(&Translator<'_>, &Ordered) -> Lowering<Phrase>,
}

impl Translator<'_> {
    pub(crate) fn is_recursive(&self, id: DataId) -> bool {
        is_recursive(self.program, id)
    }

    /// A constructor without fields has one row for all.
    pub(crate) fn constant_cell(&self, id: DataId, constructor: u32) -> Lowering<Phrase> {
        match self.all_cells.of(id, self.span)?.constant(constructor) {
            Some(row) => Ok(int(row)),
            None => bug("a constructor with fields and without values for them", self.span),
        }
    }

    /// `C x y` of a recursive type: a new row.
    pub(crate) fn construct_cell(
        &mut self,
        id: DataId,
        constructor: u32,
        fields: &[Atom],
        acceptors: Vec<Phrase>,
    ) -> Lowering<()> {
        let cells = self.all_cells.of(id, self.span)?;
        let Some(places) = cells.constructors.get(constructor as usize) else {
            return bug("a constructor that is not there", self.span);
        };
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for (field, place) in fields.iter().zip(places) {
            let held = self.held(field)?;
            let held = self.convert(&held, &held.layout.stored())?;
            columns.extend(place.leaves.iter().map(|leaf| (leaf.column, leaf.ty)));
            self.store_columns(&cells, &held, &mut place.leaves.iter(), None, &mut values)?;
        }
        if columns.len() != values.len() {
            return bug("a field that does not fit its columns", self.span);
        }
        let row = Row {
            store: cells.name().clone(),
            tag: cells.first + constructor,
            columns,
        };
        let construct = Phrase::prim(Prim::Construct(Box::new(row)), vec![], vec![]);
        self.push(construct.apply(values).apply(acceptors));
        Ok(())
    }

    pub(crate) fn case_of_datum(
        &mut self,
        id: DataId,
        scrutinee: &Atom,
        arms: &[Arm],
        default: Option<&Body>,
        dest: Dest,
    ) -> Lowering<()> {
        let cells = self.all_cells.of(id, self.span)?;
        let cell = self.value(scrutinee)?;
        let cell = self.let_exp("cell", &I64, cell);
        let tag = Phrase::prim(Prim::Tag(cells.name().clone()), vec![], vec![]).app(cell.clone());
        let tag = match arms.len() + usize::from(default.is_some()) {
            // One test at most.
            0..=2 => tag,
            _ => self.let_exp("tag", &Data::Scalar(TAG), tag),
        };
        let mut branches = Vec::new();
        for arm in arms {
            let body = self.block(|this| {
                let fields = this.fields_of_cell(id, &cells, arm.constructor, &cell)?;
                this.bind_fields(&arm.context, &arm.fields, fields)?;
                this.body_into(&arm.body, dest.again())
            })?;
            branches.push((cells.first + arm.constructor, body));
        }
        self.branches(tag, branches, default, dest)
    }

    /// `nodes`, `root_of`, `from_nodes`, `reach` and `constructed`.
    pub(crate) fn bind_table(&mut self, op: &Op, exp: &Exp, pattern: &Pattern) -> Lowering<()> {
        match (op.prim, op.args.as_slice()) {
            (Operation::FromNodes, [root, nodes]) => {
                let mut values = pattern.values.iter();
                if values.any(|value| self.stay_in_arrays.contains(&value.var)) {
                    return self.bind_in_array(op, (root, nodes), (exp, pattern));
                }
                let value = self.rows_of_nodes(op, Some(root), nodes)?;
                self.bind_one(pattern, exp, value)
            }
            (Operation::Constructed, [nodes]) => {
                let value = self.rows_of_nodes(op, None, nodes)?;
                self.bind_one(pattern, exp, value)
            }
            (_, [datum]) => {
                let Type::Data(id) = self.type_of(datum)? else {
                    return bug("a table of what is no datum", self.span);
                };
                if let Some(root) = self.root_in_array(datum) {
                    return match op.prim {
                        Operation::Reach => self.cells_in_array(id, datum, (exp, pattern)),
                        _ => self.bind_one(pattern, exp, root),
                    };
                }
                let cells = self.all_cells.of(id, self.span)?;
                let cell = self.value(datum)?;
                let cell = self.let_exp("cell", &I64, cell);
                if let (Operation::Reach, Some(links)) = (op.prim, cells.own().links()) {
                    return self.bind_list(id, &cells, &links, cell, exp, pattern);
                }
                let pair = [I64, I64];
                let table = self.new_var("table", &Data::Tuple(pair.to_vec()));
                let find = match op.prim {
                    Operation::Reach => Prim::ReachOf(cells.name().clone()),
                    _ => Prim::TableOf(cells.name().clone()),
                };
                let find = Phrase::prim(find, vec![], vec![]);
                self.push(find.apply([cell.clone(), table.clone().writer()]));
                let first = build::get(0, &pair, table.clone().reader());
                let count = build::get(1, &pair, table.reader());
                let first = self.let_exp("first", &I64, first);
                match op.prim {
                    Operation::RootOf => {
                        let position = binary(BinOp::Sub, ScalarType::I64, cell, first);
                        let position = self.let_exp("position", &I64, position);
                        // A cell that is not in its table is the first there.
                        let inside = within(position.clone(), count);
                        let select = Phrase::prim(Prim::Select, vec![], vec![I64]);
                        self.bind_one(pattern, exp, select.apply([inside, position, int(0)]))
                    }
                    _ => self.bind_nodes(id, &cells, (first, count), exp, pattern),
                }
            }
            _ => bug("a table of something else", self.span),
        }
    }

    /// A datum of a type as one of the type of its group, or back. The one from outside has its rows in the store they share.
    pub(crate) fn bind_cast(
        &mut self,
        way: Way,
        args: &[Atom],
        exp: &Exp,
        pattern: &Pattern,
    ) -> Lowering<()> {
        let [datum] = args else {
            return bug("a cast of several values", self.span);
        };
        let cell = self.value(datum)?;
        let value = match (way, self.type_of(datum)?) {
            (Way::In, _) => cell,
            (Way::Out, Type::Data(id)) => {
                let cells = self.all_cells.of(id, self.span)?;
                let there = self.new_var("there", &I64);
                let find = Phrase::prim(Prim::GroupOf(cells.name().clone()), vec![], vec![]);
                self.push(find.apply([cell, there.clone().writer()]));
                there.reader()
            }
            _ => return bug("a cast of what is no datum", self.span),
        };
        self.bind_one(pattern, exp, value)
    }

    /// A table's rows as an array: a view, since rows never change.
    fn bind_nodes(
        &mut self,
        id: DataId,
        cells: &Cells,
        (first, count): (Phrase, Phrase),
        exp: &Exp,
        pattern: &Pattern,
    ) -> Lowering<()> {
        let ([size], [value]) = (pattern.context.as_slice(), pattern.values.as_slice()) else {
            return bug("`nodes` gives an array and its size", self.span);
        };
        almach_core::build::enter_pattern(&mut self.env, pattern, exp);
        let name = name_of(size);
        self.items.push(Item::LetNat {
            name: name.clone(),
            value: count,
        });
        let n = Nat::var(name);
        self.values.insert(size.clone(), build::nat_value(n.clone()));
        let node = self.layout(&Type::Node(id))?.stored();
        let i = self.fresh("i");
        let row = binary(BinOp::Add, ScalarType::I64, first.clone(), Phrase::Var(i.clone()));
        let body = self.node_at(cells, &node.data(), row, first.clone())?;
        let function = Phrase::lam(i, PhraseType::Exp(I64), body);
        let rows = Phrase::prim(Prim::Iota, vec![n.clone()], vec![]);
        let map = Phrase::prim(Prim::Map(Level::Seq), vec![n.clone()], vec![I64, node.data()]);
        let mut pools = Vec::new();
        for (elements, layout) in cells.arrays.iter().zip(node.pools()) {
            let size = self.rows_so_far(elements);
            pools.push(self.pool_of_rows(elements, &layout, size, Some(&first))?);
        }
        let held = Held {
            layout: Layout::array(n, node).numbered(&mut 0),
            data: map.apply([function, rows]),
            pools,
            packed: Packed::No,
        };
        let held = self.converted_to(&held, &value.ty)?;
        self.bind_held(&value.var, held);
        Ok(())
    }

    /// The cells of a list in their order, as an array: the numbers of their rows, and a view.
    fn bind_list(
        &mut self,
        id: DataId,
        cells: &Cells,
        links: &[(u32, u32)],
        cell: Phrase,
        exp: &Exp,
        pattern: &Pattern,
    ) -> Lowering<()> {
        let (rows, back) = (self.new_var("order", &order_data()), self.new_var("back", &I64));
        let find = Phrase::prim(Prim::OrderOf(cells.name().clone()), vec![], vec![]);
        self.push(find.apply([cell, rows.clone().writer(), back.clone().writer()]));
        let mut pools = Vec::new();
        let node = self.layout(&Type::Node(id))?.stored();
        for (elements, layout) in cells.arrays.iter().zip(node.pools()) {
            let size = self.rows_so_far(elements);
            pools.push(self.pool_of_rows(elements, &layout, size, None)?);
        }
        let look_up = LookUp {
            links: links.iter().map(|(link, _)| *link).collect(),
            tag: &|_, row| Ok(Phrase::prim(Prim::Tag(cells.name().clone()), vec![], vec![]).app(row)),
            node: &|this, cell| {
                let place = (cell.tag.clone(), cell.at.clone());
                this.node_of(cells, &node.data(), place, &|_| cell.reference.clone())
            },
        };
        self.bind_ordered(id, (rows, back, pools), (exp, pattern), &look_up)
    }

    /// What finds the cells of a list has found, as an array: a view.
    pub(super) fn bind_ordered(
        &mut self,
        id: DataId,
        (order, back, pools): (Phrase, Phrase, Vec<Pool>),
        (exp, pattern): (&Exp, &Pattern),
        look_up: &LookUp<'_>,
    ) -> Lowering<()> {
        let ([size], [value]) = (pattern.context.as_slice(), pattern.values.as_slice()) else {
            return bug("`reach` gives an array and its size", self.span);
        };
        almach_core::build::enter_pattern(&mut self.env, pattern, exp);
        let back = self.let_exp("back", &I64, back.reader());
        let (name, contents) = (name_of(size), self.fresh("rows"));
        self.items.push(Item::Open {
            cell: order.reader(),
            data: order_data(),
            sizes: vec![name.clone()],
            contents: contents.clone(),
        });
        let n = Nat::var(name);
        self.values.insert(size.clone(), build::nat_value(n.clone()));
        let node = self.layout(&Type::Node(id))?.stored();
        let i = self.fresh("i");
        let position = build::to_index(n.clone(), Phrase::Var(i.clone()));
        let next = binary(BinOp::Add, ScalarType::I64, Phrase::Var(i.clone()), int(1));
        let count = build::nat_value(n.clone());
        let inside = binary(BinOp::Lt, ScalarType::I64, next.clone(), count);
        let select = |ty: Data| Phrase::prim(Prim::Select, vec![], vec![ty]);
        let at = |position| build::idx(n.clone(), I64, Phrase::Var(contents.clone()), position);
        let tag = match look_up.links.as_slice() {
            // All but the last have the one constructor that refers to another, so memory is asked once.
            [link] => {
                let count = build::nat_value(n.clone());
                let last = binary(BinOp::Sub, ScalarType::I64, count, int(1));
                let last = at(build::to_index(n.clone(), last));
                let last = (look_up.tag)(self, last)?;
                let last = self.let_exp("last_tag", &Data::Scalar(TAG), last);
                let link = build::literal(Scalar::U32(*link));
                select(Data::Scalar(TAG)).apply([inside.clone(), link, last])
            }
            _ => (look_up.tag)(self, at(position.clone()))?,
        };
        let cell = Ordered {
            at: at(position),
            tag,
            reference: select(I64).apply([inside, next, back]),
        };
        let body = (look_up.node)(self, &cell)?;
        let function = Phrase::lam(i, PhraseType::Exp(I64), body);
        let rows = Phrase::prim(Prim::Iota, vec![n.clone()], vec![]);
        let map = Phrase::prim(Prim::Map(Level::Seq), vec![n.clone()], vec![I64, node.data()]);
        let held = Held {
            layout: Layout::array(n, node).numbered(&mut 0),
            data: map.apply([function, rows]),
            pools,
            packed: Packed::No,
        };
        let held = self.converted_to(&held, &value.ty)?;
        self.bind_held(&value.var, held);
        Ok(())
    }

    fn converted_to(&mut self, held: &Held, ty: &Type) -> Lowering<Held> {
        let to = self.layout(ty)?;
        self.convert(held, &to)
    }

    /// The node value of a row, with positions relative to the first row of its table.
    fn node_at(&self, cells: &Cells, node: &Data, row: Phrase, first: Phrase) -> Lowering<Phrase> {
        let tag = Phrase::prim(Prim::Tag(cells.name().clone()), vec![], vec![]).app(row.clone());
        self.node_of(cells, node, (tag, row), &|reference| {
            binary(BinOp::Sub, ScalarType::I64, reference, first.clone())
        })
    }

    /// The node value of a row with a tag; the function gives the position that a reference stands for.
    fn node_of(
        &self,
        cells: &Cells,
        node: &Data,
        (tag, row): (Phrase, Phrase),
        position: &dyn Fn(Phrase) -> Phrase,
    ) -> Lowering<Phrase> {
        let Data::Tuple(parts) = node else {
            return bug("a node that is no tuple", self.span);
        };
        let mut components = vec![own_tag(tag.clone(), cells, BinOp::Sub)];
        for ((number, part), fields) in (0u32..).zip(parts.iter().skip(1)).zip(&cells.constructors) {
            let leaves = fields.iter().flat_map(|field| &field.leaves);
            let mut scalars = leaves.map(|leaf| {
                let value = column(cells.name(), leaf, row.clone());
                match leaf.refers {
                    Refers::Own => where_there(cells.name(), leaf, &row, position(value)),
                    // Another constructor has something else in this column; its arrays here are empty.
                    Refers::Begin(_) | Refers::End(_) => {
                        let number = build::literal(Scalar::U32(cells.first + number));
                        let here = binary(BinOp::Eq, TAG, tag.clone(), number);
                        let select = Phrase::prim(Prim::Select, vec![], vec![I64]);
                        select.apply([here, value, int(0)])
                    }
                    Refers::Nothing | Refers::Other(_) => value,
                }
            });
            components.push(assemble(part, &mut scalars, self)?);
        }
        Ok(build::tuple(parts, components))
    }

    /// Rows of their own for an array of nodes: a table with a root, or cells as constructors make them.
    fn rows_of_nodes(&mut self, op: &Op, root: Option<&Atom>, nodes: &Atom) -> Lowering<Phrase> {
        let Type::Array(_, element) = self.type_of(nodes)? else {
            return bug("nodes that are no array", self.span);
        };
        let Type::Node(id) = *element else {
            return bug("nodes that are none", self.span);
        };
        let cells = self.all_cells.of(id, self.span)?;
        let (n, _) = self.array_of(nodes)?;
        let position = match root {
            Some(root) => self.value(root)?,
            None => int(0),
        };
        let position = self.let_exp("root", &I64, position);
        self.check_position(position.clone(), &n);
        let held = self.held(nodes)?;
        let node = self.layout(&Type::Node(id))?.stored();
        let held = self.convert(&held, &Layout::array(n.clone(), node.clone()).numbered(&mut 0))?;
        let (first, i, o) = (self.fresh("first"), self.fresh("i"), self.fresh("row"));
        let mut row = vec![Data::Scalar(TAG)];
        row.extend(cells.store.columns.iter().map(|ty| Data::Scalar(*ty)));
        let element = build::idx(n.clone(), node.data(), held.data.clone(), Phrase::Var(i.clone()));
        let element = held.part(&node, element, Packed::No);
        let (base, place) = (Phrase::Var(first.clone()), Phrase::Var(o.clone()));
        let run = Run {
            first: base,
            count: n.clone(),
            kind: match root {
                Some(_) => Runs::Table,
                None => Runs::Cells {
                    here: build::of_index(n.clone(), Phrase::Var(i.clone())),
                    nodes: held.data.clone(),
                    node: node.data(),
                    constants: cells.constant_rows(),
                },
            },
        };
        let body = self.block(|this| this.fill_row(&cells, element, &run, (&row, &place)))?;
        let function = Phrase::lam(o, PhraseType::Acc(Data::Tuple(row)), body);
        let function = Phrase::lam(i, PhraseType::Exp(Data::Index(n.clone())), function);
        let function = Phrase::lam(first, PhraseType::Exp(I64), function);
        let level = op.annotation.level.unwrap_or(Level::Par);
        let (name, columns) = (cells.name().clone(), cells.store.columns.clone());
        let prim = match (root, self.all_cells.is_merged(id)) {
            (Some(_), true) => Prim::NewGroup(level, name, columns),
            (Some(_), false) => Prim::NewTable(level, name, columns),
            (None, _) => Prim::NewCells(level, name, columns),
        };
        let made = self.new_var("made", &I64);
        let make = Phrase::prim(prim, vec![n], vec![]);
        self.push(make.apply([function, made.clone().writer()]));
        match root {
            Some(_) => Ok(binary(BinOp::Add, ScalarType::I64, made.reader(), position)),
            None => Ok(run.row_of(&made.reader(), int(0))),
        }
    }

    /// Writes a node to its row; its positions must be those of nodes.
    fn fill_row(
        &mut self,
        cells: &Cells,
        mut node: Held,
        run: &Run,
        (row, place): (&[Data], &Phrase),
    ) -> Lowering<()> {
        node.data = self.let_exp("node", &node.layout.data(), node.data);
        let Some(tag) = node.component(0) else {
            return bug("a node that is no tuple", self.span);
        };
        let tag = self.let_exp("tag", &Data::Scalar(TAG), tag.data);
        let write = |this: &mut Self, at: usize, ty: ScalarType, value: Phrase| {
            let cell = build::tuple_acc(at, row, place.clone());
            this.push(build::assign(Data::Scalar(ty), cell, value));
        };
        write(self, 0, TAG, own_tag(tag.clone(), cells, BinOp::Add));
        let mut rest = build::skip();
        for (constructor, fields) in cells.constructors.iter().enumerate().rev() {
            let Some(values) = node.component(constructor + 1) else {
                return bug("a node without a constructor", self.span);
            };
            let body = self.block(|this| {
                let mut written = Vec::new();
                for (at, field) in fields.iter().enumerate() {
                    let Some(value) = values.component(at) else {
                        return bug("a node without its fields", this.span);
                    };
                    let leaves = &mut field.leaves.iter();
                    this.store_columns(cells, &value, leaves, Some(run), &mut written)?;
                }
                let leaves = fields.iter().flat_map(|field| &field.leaves);
                for (leaf, scalar) in leaves.zip(written) {
                    write(this, leaf.column as usize + 1, leaf.ty, scalar);
                }
                Ok(())
            })?;
            let number = build::literal(Scalar::U32(constructor as u32));
            let test = binary(BinOp::Eq, TAG, tag.clone(), number);
            rest = match fields.is_empty() {
                true => rest,
                false => build::if_then_else(test, body, rest),
            };
        }
        self.push(rest);
        Ok(())
    }

    pub(super) fn check_position(&mut self, position: Phrase, n: &Nat) {
        let count = build::nat_value(n.clone());
        let inside = within(position.clone(), count.clone());
        self.check(inside, Failure::BadReference, vec![position, count]);
    }

    /// The position of a node behind this one, unless there is none.
    pub(super) fn check_later(&mut self, position: Phrase, here: Phrase, n: &Nat, absent: Option<Phrase>) {
        let count = build::nat_value(n.clone());
        let later = and(
            binary(BinOp::Gt, ScalarType::I64, position.clone(), here.clone()),
            binary(BinOp::Lt, ScalarType::I64, position.clone(), count.clone()),
        );
        let later = match absent {
            Some(absent) => or(absent, later),
            None => later,
        };
        self.check(later, Failure::EarlierReference, vec![position, count, here]);
    }
}

/// The number of a constructor in its type, of one in its store, or the other way round.
fn own_tag(tag: Phrase, cells: &Cells, way: BinOp) -> Phrase {
    match cells.first {
        0 => tag,
        first => binary(way, TAG, tag, build::literal(Scalar::U32(first))),
    }
}

/// `0 <= number < count`.
fn within(number: Phrase, count: Phrase) -> Phrase {
    and(
        binary(BinOp::Ge, ScalarType::I64, number.clone(), int(0)),
        binary(BinOp::Lt, ScalarType::I64, number, count),
    )
}
