//! Lists that are only asked for their cells stay in the arrays that their nodes are in.
//!
//! ```text
//! let d: L = from_nodes r ns                 new{n.i32} (\links. parfor … links.1 (what node i refers to, checked, or -1);
//! let {k} cells: [k]#L = reach d      ~~>      orderIn<i32>[n] links.2 r order.1 back.1);
//!                                            open order.2 … cells[i] = ns[order[i]], in front of the next one
//! ```
//!
//! No rows are made for them. References are checked where `from_nodes` stands, all of them. Positions have 32 bits where there are
//! few enough nodes: what is walked in no order is then half as large.

use super::Translator;
use super::checks::{binary, int, unary};
use super::data::{LookUp, Ordered};
use super::layout::{Held, Layout};
use crate::cells::AllCells;
use crate::error::{Lowering, bug};
use almach_base::Name;
use almach_core::chains::links;
use almach_core::groups::group_of;
use almach_core::visit::UseCounts;
use almach_core::{Atom, DataId, Exp, Function, Op, Pattern, Program, Type, Var};
use almach_dpia::store::TAG;
use almach_dpia::{Data, Nat, Phrase, Prim, build};
use almach_prim::{Level, Prim as Operation};
use almach_value::{BinOp, Scalar, ScalarType, UnOp};
use std::collections::HashSet;

const I64: Data = Data::Scalar(ScalarType::I64);

/// A list in an array of nodes, with its order.
#[derive(Clone)]
pub(crate) struct InArray {
    root: Phrase,
    nodes: Held,
    size: Nat,
    /// The field of each constructor that refers to the rest.
    links: Vec<Option<usize>>,
    order: Phrase,
    back: Phrase,
}

/// Data that a function makes of nodes, outside of everything else, and only asks for its cells there, and for its root.
pub(super) fn in_arrays(program: &Program, all_cells: &AllCells<'_>, function: &Function) -> HashSet<Var> {
    let uses = UseCounts::of_function(function);
    let stmts = || function.body.stmts.iter();
    let asked = |wanted: &[Operation], datum: &Var| {
        let ops = stmts().filter(|stmt| match &stmt.exp {
            Exp::Op(op) => wanted.contains(&op.prim) && op.args == [Atom::Var(datum.clone())],
            _ => false,
        });
        ops.count()
    };
    let made = stmts().filter_map(|stmt| match (&stmt.exp, stmt.pattern.values.as_slice()) {
        (Exp::Op(op), [value]) if op.prim == Operation::FromNodes => Some(value),
        _ => None,
    });
    let lists = made.filter(|value| match value.ty {
        Type::Data(id) => {
            links(&program.data, id).is_some()
                && group_of(&program.data, id).is_none()
                && all_cells
                    .of(id, function.span)
                    .is_ok_and(|cells| cells.arrays.is_empty())
        }
        _ => false,
    });
    let lists = lists.map(|value| &value.var).filter(|datum| {
        let reached = asked(&[Operation::Reach], datum);
        reached > 0 && reached + asked(&[Operation::RootOf], datum) == uses.of(datum)
    });
    lists.cloned().collect()
}

impl Translator<'_> {
    /// `from_nodes` of a list that stays in its array.
    pub(super) fn bind_in_array(
        &mut self,
        op: &Op,
        (root, nodes): (&Atom, &Atom),
        (exp, pattern): (&Exp, &Pattern),
    ) -> Lowering<()> {
        let (Type::Array(_, element), [value]) = (self.type_of(nodes)?, pattern.values.as_slice()) else {
            return bug("nodes that are no array", self.span);
        };
        let Type::Node(id) = *element else {
            return bug("nodes that are none", self.span);
        };
        let Some(links) = links(&self.program.data, id) else {
            return bug("a list that is none", self.span);
        };
        let (size, _) = self.array_of(nodes)?;
        let root = self.value(root)?;
        let root = self.let_exp("root", &I64, root);
        self.check_position(root.clone(), &size);
        let held = self.held(nodes)?;
        let node = self.layout(&Type::Node(id))?.stored();
        let held = self.convert(&held, &Layout::array(size.clone(), node).numbered(&mut 0))?;
        let order = self.new_var("order", &order_data());
        let back = self.new_var("back", &I64);
        let list = InArray {
            root,
            nodes: held,
            size,
            links,
            order,
            back,
        };
        let level = op.annotation.level.unwrap_or(Level::Par);
        let narrow = self.block(|this| this.find_order(&list, (id, level), ScalarType::I32))?;
        let wide = self.block(|this| this.find_order(&list, (id, level), ScalarType::I64))?;
        let count = build::nat_value(list.size.clone());
        let few = binary(BinOp::Lt, ScalarType::I64, count, int(i64::from(i32::MAX)));
        self.push(build::if_then_else(few, narrow, wide));
        almach_core::build::enter_pattern(&mut self.env, pattern, exp);
        self.in_arrays.insert(value.var.clone(), list);
        Ok(())
    }

    /// Checks all references, and follows them from the root on.
    fn find_order(
        &mut self,
        list: &InArray,
        (id, level): (DataId, Level),
        width: ScalarType,
    ) -> Lowering<()> {
        let size = &list.size;
        let element = Data::Scalar(width);
        let links = self.new_var("links", &Data::array(size.clone(), element.clone()));
        let (i, out) = (self.fresh("i"), self.fresh("link"));
        let body = self.block(|this| this.link_of(list, id, &i, (&out, width)))?;
        let names = (i, out);
        self.push(build::parfor(
            level,
            size.clone(),
            element,
            links.clone().writer(),
            names,
            body,
        ));
        let find = Phrase::prim(Prim::OrderIn(width), vec![size.clone()], vec![]);
        self.push(find.apply([
            links.reader(),
            list.root.clone(),
            list.order.clone().writer(),
            list.back.clone().writer(),
        ]));
        Ok(())
    }

    /// Writes what a node refers to.
    fn link_of(
        &mut self,
        list: &InArray,
        id: DataId,
        i: &Name,
        (out, width): (&Name, ScalarType),
    ) -> Lowering<()> {
        let node = self.layout(&Type::Node(id))?.stored().data();
        let element = build::idx(
            list.size.clone(),
            node.clone(),
            list.nodes.data.clone(),
            Phrase::Var(i.clone()),
        );
        let Data::Tuple(parts) = &node else {
            return bug("a node that is no tuple", self.span);
        };
        let tag = self.let_exp("tag", &Data::Scalar(TAG), build::get(0, parts, element.clone()));
        let write = |value: Phrase| build::assign(Data::Scalar(width), Phrase::Var(out.clone()), value);
        let none = match width {
            ScalarType::I32 => Scalar::I32(-1),
            _ => Scalar::I64(-1),
        };
        let mut rest = write(build::literal(none));
        for (constructor, link) in list.links.iter().enumerate() {
            let (Some(link), Some(Data::Tuple(fields))) = (link, parts.get(constructor + 1)) else {
                continue;
            };
            let value = build::get(*link, fields, build::get(constructor + 1, parts, element.clone()));
            let body = self.block(|this| {
                let position = this.let_exp("position", &I64, value);
                this.check_position(position.clone(), &list.size);
                let position = match width {
                    ScalarType::I64 => position,
                    _ => unary(UnOp::Convert(width), ScalarType::I64, position),
                };
                this.push(write(position));
                Ok(())
            })?;
            let number = build::literal(Scalar::U32(constructor as u32));
            rest = build::if_then_else(binary(BinOp::Eq, TAG, tag.clone(), number), body, rest);
        }
        self.push(rest);
        Ok(())
    }

    /// The cells of a list in an array: its nodes in their order, each in front of the next.
    pub(super) fn cells_in_array(
        &mut self,
        id: DataId,
        datum: &Atom,
        (exp, pattern): (&Exp, &Pattern),
    ) -> Lowering<()> {
        let list = match datum {
            Atom::Var(datum) => self.in_arrays.get(datum).cloned(),
            Atom::Const(_) => None,
        };
        let Some(list) = list else {
            return bug("a list in no array", self.span);
        };
        let node = self.layout(&Type::Node(id))?.stored().data();
        let own = (0u32..).zip(&list.links).filter(|(_, link)| link.is_some());
        let own: Vec<u32> = own.map(|(constructor, _)| constructor).collect();
        let found = (list.order.clone(), list.back.clone(), list.nodes.pools.clone());
        let no_tuple = |found: Option<Phrase>, this: &Translator<'_>| {
            found.map_or_else(|| bug("a node that is no tuple", this.span), Ok)
        };
        let look_up = LookUp {
            links: own,
            tag: &|this, at| no_tuple(list.tag_at(&node, at), this),
            node: &|this, cell| no_tuple(list.node_at(&node, cell), this),
        };
        self.bind_ordered(id, found, (exp, pattern), &look_up)
    }

    /// The root of a list in an array.
    pub(super) fn root_in_array(&self, datum: &Atom) -> Option<Phrase> {
        match datum {
            Atom::Var(datum) => self.in_arrays.get(datum).map(|list| list.root.clone()),
            Atom::Const(_) => None,
        }
    }
}

impl InArray {
    fn element(&self, node: &Data, at: Phrase) -> Phrase {
        let at = build::to_index(self.size.clone(), at);
        build::idx(self.size.clone(), node.clone(), self.nodes.data.clone(), at)
    }

    fn tag_at(&self, node: &Data, at: Phrase) -> Option<Phrase> {
        match node {
            Data::Tuple(parts) => Some(build::get(0, parts, self.element(node, at))),
            _ => None,
        }
    }

    /// The node value of a cell.
    fn node_at(&self, node: &Data, cell: &Ordered) -> Option<Phrase> {
        let Data::Tuple(parts) = node else {
            return None;
        };
        let element = self.element(node, cell.at.clone());
        let mut components = vec![cell.tag.clone()];
        for (constructor, link) in self.links.iter().enumerate() {
            let Some(Data::Tuple(fields)) = parts.get(constructor + 1) else {
                return None;
            };
            let whole = build::get(constructor + 1, parts, element.clone());
            let values = (0..fields.len()).map(|field| match Some(field) == *link {
                true => cell.reference.clone(),
                false => build::get(field, fields, whole.clone()),
            });
            components.push(build::tuple(fields, values.collect()));
        }
        Some(build::tuple(parts, components))
    }
}

/// What finds the cells of a list gives.
pub(super) fn order_data() -> Data {
    let own = Name::from("k'");
    Data::Some(vec![own.clone()], Box::new(Data::array(Nat::var(own), I64)))
}
