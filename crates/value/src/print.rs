//! Values as text in Almach's syntax. What is printed reads back to the same value.
//!
//! Data of a recursive type print by their constructors. Where that would not end (cycles), or take far more text than
//! there are nodes (shared parts), they print as their table: `from_nodes 0 [#Cons 1 1, #Cons 2 0]`.

use crate::ty::{Scoped, ScopedSum};
use crate::{ArrayValue, Buffer, Datum, Elements, NodeTable, References, Scalar, SumValue, Value, ValueType};
use crate::{RowLengths, with_buffer};
use std::fmt::{self, Write};
use std::ops::Range;
use std::sync::Arc;

/// How much to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Everything.
    Full,
    /// Of arrays longer than this, the first and last elements only.
    Abridged { longest: usize },
}

/// The text of a value of a type.
pub fn print(value: &Value, ty: &ValueType, extent: Extent) -> String {
    let mut printer = Printer {
        out: String::new(),
        extent,
        pending: Vec::new(),
    };
    printer.push_value(value.clone(), Scoped::new(ty), Place::Free);
    while let Some(item) = printer.pending.pop() {
        printer.item(item);
    }
    printer.out
}

/// Floats in the shortest form that reads back to the same bits, always with a point or an exponent.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::I8(v) => write!(f, "{v}"),
            Scalar::I16(v) => write!(f, "{v}"),
            Scalar::I32(v) => write!(f, "{v}"),
            Scalar::I64(v) => write!(f, "{v}"),
            Scalar::U8(v) => write!(f, "{v}"),
            Scalar::U16(v) => write!(f, "{v}"),
            Scalar::U32(v) => write!(f, "{v}"),
            Scalar::U64(v) => write!(f, "{v}"),
            Scalar::F32(v) if v.is_nan() => f.write_str("nan"),
            Scalar::F64(v) if v.is_nan() => f.write_str("nan"),
            Scalar::F32(v) => write!(f, "{v:?}"),
            Scalar::F64(v) => write!(f, "{v:?}"),
            Scalar::Bool(v) => write!(f, "{v}"),
        }
    }
}

/// Where a value stands: an argument of a constructor needs parentheses when it is more than one word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    Argument,
}

/// What remains to print. Pieces go on the list backwards, so deep values need no deep stack.
enum Item<'t> {
    Text(String),
    Value {
        value: Value,
        ty: Scoped<'t>,
        place: Place,
        /// The table whose nodes are known to unfold to a reasonable text.
        unfolding: Option<Arc<NodeTable>>,
    },
    /// Some elements of an array.
    Elements {
        array: Arc<ArrayValue>,
        range: Range<usize>,
        ty: Scoped<'t>,
    },
    /// A node value: references are positions.
    Node {
        node: SumValue,
        sum: ScopedSum<'t>,
        references: Vec<References>,
    },
    /// A part of a node value that holds references.
    NodePart {
        value: Value,
        ty: Scoped<'t>,
        references: References,
        place: Place,
    },
}

struct Printer<'t> {
    out: String,
    extent: Extent,
    pending: Vec<Item<'t>>,
}

impl<'t> Printer<'t> {
    fn push_value(&mut self, value: Value, ty: Scoped<'t>, place: Place) {
        self.pending.push(Item::Value {
            value,
            ty,
            place,
            unfolding: None,
        });
    }

    /// Puts items on the list so that the first is printed first.
    fn push_all(&mut self, items: Vec<Item<'t>>) {
        self.pending.extend(items.into_iter().rev());
    }

    fn item(&mut self, item: Item<'t>) {
        match item {
            Item::Text(text) => self.out.push_str(&text),
            Item::Value {
                value,
                ty,
                place,
                unfolding,
            } => self.value(value, ty, place, unfolding),
            Item::Elements { array, range, ty } => self.elements(&array, range, &ty),
            Item::Node {
                node,
                sum,
                references,
            } => self.node(node, &sum, &references),
            Item::NodePart {
                value,
                ty,
                references,
                place,
            } => self.node_part(value, ty, references, place),
        }
    }

    fn value(&mut self, value: Value, ty: Scoped<'t>, place: Place, unfolding: Option<Arc<NodeTable>>) {
        match (value, ty.ty) {
            (Value::Scalar(scalar), _) => self.scalar(scalar, place),
            (Value::Vector(lanes), _) => self.vector(&lanes, place),
            (Value::Tuple(fields), ValueType::Record(types)) => {
                let mut items = Vec::new();
                for (index, (field, (name, field_type))) in fields.iter().zip(types).enumerate() {
                    let separator = if index == 0 { "{" } else { ", " };
                    items.push(Item::Text(format!("{separator}{name} = ")));
                    items.push(free(field.clone(), ty.part(field_type), &unfolding));
                }
                items.push(Item::Text(if fields.is_empty() { "{}" } else { "}" }.to_owned()));
                self.push_all(items);
            }
            (Value::Tuple(fields), ValueType::Tuple(types)) => {
                let mut items = vec![Item::Text("(".to_owned())];
                for (index, (field, field_type)) in fields.iter().zip(types).enumerate() {
                    if index > 0 {
                        items.push(Item::Text(", ".to_owned()));
                    }
                    items.push(free(field.clone(), ty.part(field_type), &unfolding));
                }
                items.push(Item::Text(")".to_owned()));
                self.push_all(items);
            }
            (Value::Array(array), ValueType::Array(_, element)) => self.array(array, ty.part(element)),
            (Value::Sum(sum), _) => {
                let SumValue { constructor, fields } = Arc::unwrap_or_clone(sum);
                self.constructed(constructor, fields, &ty, place, None);
            }
            (Value::Datum(datum), _) => self.datum(&datum, &ty, place, unfolding),
            (Value::Tuple(_) | Value::Array(_), _) => self.misfit(&ty),
        }
    }

    /// A value that is not of its type: a mistake of the caller, shown rather than hidden.
    fn misfit(&mut self, ty: &Scoped<'_>) {
        let _ = write!(self.out, "<not a value of type {}>", ty.ty);
    }

    fn scalar(&mut self, scalar: Scalar, place: Place) {
        let start = self.out.len();
        let _ = write!(self.out, "{scalar}");
        if place == Place::Argument && self.out[start..].starts_with('-') {
            self.out.insert(start, '(');
            self.out.push(')');
        }
    }

    fn vector(&mut self, lanes: &[Scalar], place: Place) {
        let texts: Vec<String> = lanes.iter().map(Scalar::to_string).collect();
        let text = format!("vec [{}]", texts.join(", "));
        match place {
            Place::Free => self.out.push_str(&text),
            Place::Argument => {
                let _ = write!(self.out, "({text})");
            }
        }
    }

    fn array(&mut self, array: Arc<ArrayValue>, element: Scoped<'t>) {
        let mut items = vec![Item::Text("[".to_owned())];
        let elements = |range: Range<usize>| Item::Elements {
            array: Arc::clone(&array),
            range,
            ty: element.clone(),
        };
        match self.extent {
            Extent::Abridged { longest } if array.len > longest => {
                let head = longest.div_ceil(2);
                let tail = array.len - longest / 2;
                items.push(elements(0..head));
                items.push(Item::Text(", ...".to_owned()));
                if tail < array.len {
                    items.push(Item::Text(", ".to_owned()));
                    items.push(elements(tail..array.len));
                }
            }
            _ => items.push(elements(0..array.len)),
        }
        items.push(Item::Text("]".to_owned()));
        self.push_all(items);
    }

    fn elements(&mut self, array: &Arc<ArrayValue>, range: Range<usize>, ty: &Scoped<'t>) {
        if let Elements::Scalars(buffer) = &array.elements {
            return self.scalars(buffer, range);
        }
        // One element at a time keeps the list of pending items short.
        if range.is_empty() {
            return;
        }
        let rest = range.start + 1..range.end;
        let mut items = Vec::new();
        if let Some(value) = array.get(range.start) {
            items.push(free(value, ty.clone(), &None));
        }
        if !rest.is_empty() {
            items.push(Item::Text(", ".to_owned()));
            items.push(Item::Elements {
                array: Arc::clone(array),
                range: rest,
                ty: ty.clone(),
            });
        }
        self.push_all(items);
    }

    fn scalars(&mut self, buffer: &Buffer, range: Range<usize>) {
        let out = &mut self.out;
        with_buffer!(buffer, v => {
            for (index, x) in v.get(range).unwrap_or(&[]).iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                let _ = write!(out, "{}", Scalar::from(*x));
            }
        });
    }

    /// A constructor and its fields.
    fn constructed(
        &mut self,
        constructor: u32,
        fields: Vec<Value>,
        ty: &Scoped<'t>,
        place: Place,
        unfolding: Option<Arc<NodeTable>>,
    ) {
        let Some(sum) = ty.sum() else {
            return self.misfit(ty);
        };
        let Some(definition) = sum.sum.constructors.get(constructor as usize) else {
            return self.misfit(ty);
        };
        if fields.is_empty() {
            self.out.push_str(&definition.name);
            return;
        }
        let (open, close) = match place {
            Place::Free => ("", ""),
            Place::Argument => ("(", ")"),
        };
        let mut items = vec![Item::Text(format!("{open}{}", definition.name))];
        for (index, field) in fields.into_iter().enumerate() {
            items.push(Item::Text(" ".to_owned()));
            match sum.field(constructor, index) {
                Some(ty) => items.push(Item::Value {
                    value: field,
                    ty,
                    place: Place::Argument,
                    unfolding: unfolding.clone(),
                }),
                None => return self.misfit(ty),
            }
        }
        if !close.is_empty() {
            items.push(Item::Text(close.to_owned()));
        }
        self.push_all(items);
    }

    fn datum(&mut self, datum: &Datum, ty: &Scoped<'t>, place: Place, unfolding: Option<Arc<NodeTable>>) {
        if let (Datum::InTable { table, .. }, Some(known)) = (datum, &unfolding)
            && Arc::ptr_eq(table, known)
        {
            return self.constructed(datum.constructor(), datum.fields(), ty, place, unfolding);
        }
        let Some(sum) = ty.sum() else {
            return self.misfit(ty);
        };
        let (table, at) = datum.in_table(&Arc::new(sum.sum.references()));
        if unfolds_reasonably(&table, at) {
            let datum = Datum::InTable {
                table: Arc::clone(&table),
                at,
            };
            self.constructed(datum.constructor(), datum.fields(), ty, place, Some(table));
        } else {
            self.table(&table, at, &sum, place);
        }
    }

    fn table(&mut self, table: &NodeTable, root: usize, sum: &ScopedSum<'t>, place: Place) {
        let (open, close) = match place {
            Place::Free => ("", ""),
            Place::Argument => ("(", ")"),
        };
        let mut items = vec![Item::Text(format!("{open}from_nodes {root} ["))];
        for (index, node) in table.nodes.iter().enumerate() {
            if index > 0 {
                items.push(Item::Text(", ".to_owned()));
            }
            let references = table.references.get(node.constructor as usize);
            items.push(Item::Node {
                node: node.clone(),
                sum: sum.clone(),
                references: references.cloned().unwrap_or_default(),
            });
        }
        items.push(Item::Text(format!("]{close}")));
        self.push_all(items);
    }

    fn node(&mut self, node: SumValue, sum: &ScopedSum<'t>, references: &[References]) {
        let name = sum.sum.constructors.get(node.constructor as usize);
        let mut items = vec![Item::Text(format!("#{}", name.map_or("?", |c| c.name.as_str())))];
        for (index, field) in node.fields.into_iter().enumerate() {
            let (Some(ty), Some(references)) = (sum.field(node.constructor, index), references.get(index))
            else {
                continue;
            };
            items.push(Item::Text(" ".to_owned()));
            items.push(Item::NodePart {
                value: field,
                ty,
                references: references.clone(),
                place: Place::Argument,
            });
        }
        self.push_all(items);
    }

    fn node_part(&mut self, value: Value, ty: Scoped<'t>, references: References, place: Place) {
        match (references, value, ty.ty) {
            (References::None, value, _) => self.value(value, ty, place, None),
            (References::Position, Value::Scalar(scalar), _) => self.scalar(scalar, place),
            (References::Tuple(parts), Value::Tuple(fields), ValueType::Tuple(types)) => {
                let mut items = vec![Item::Text("(".to_owned())];
                for (index, ((field, part), part_type)) in fields.iter().zip(parts).zip(types).enumerate() {
                    if index > 0 {
                        items.push(Item::Text(", ".to_owned()));
                    }
                    items.push(node_part(field.clone(), ty.part(part_type), part));
                }
                items.push(Item::Text(")".to_owned()));
                self.push_all(items);
            }
            (References::Tuple(parts), Value::Tuple(fields), ValueType::Record(types)) => {
                let mut items = Vec::new();
                for (index, ((field, part), (name, part_type))) in
                    fields.iter().zip(parts).zip(types).enumerate()
                {
                    let separator = if index == 0 { "{" } else { ", " };
                    items.push(Item::Text(format!("{separator}{name} = ")));
                    items.push(node_part(field.clone(), ty.part(part_type), part));
                }
                items.push(Item::Text("}".to_owned()));
                self.push_all(items);
            }
            (References::Array(inside), Value::Array(array), ValueType::Array(_, element)) => {
                let mut items = vec![Item::Text("[".to_owned())];
                for (index, value) in array.values().enumerate() {
                    if index > 0 {
                        items.push(Item::Text(", ".to_owned()));
                    }
                    items.push(node_part(value, ty.part(element), (*inside).clone()));
                }
                items.push(Item::Text("]".to_owned()));
                self.push_all(items);
            }
            (References::Sum(constructors), Value::Sum(value), _) => {
                self.node_sum(&value, &ty, &constructors, place);
            }
            _ => self.misfit(&ty),
        }
    }

    /// A sum in a node, which holds positions.
    fn node_sum(
        &mut self,
        value: &SumValue,
        ty: &Scoped<'t>,
        constructors: &[Vec<References>],
        place: Place,
    ) {
        let constructor = value.constructor as usize;
        let (Some(sum), Some(references)) = (ty.sum(), constructors.get(constructor)) else {
            return self.misfit(ty);
        };
        let Some(definition) = sum.sum.constructors.get(constructor) else {
            return self.misfit(ty);
        };
        let (open, close) = match place {
            Place::Argument if !value.fields.is_empty() => ("(", ")"),
            Place::Argument | Place::Free => ("", ""),
        };
        let mut items = vec![Item::Text(format!("{open}{}", definition.name))];
        for (index, (field, references)) in value.fields.iter().zip(references).enumerate() {
            let Some(ty) = sum.field(value.constructor, index) else {
                return self.misfit(ty);
            };
            items.push(Item::Text(" ".to_owned()));
            items.push(Item::NodePart {
                value: field.clone(),
                ty,
                references: references.clone(),
                place: Place::Argument,
            });
        }
        items.push(Item::Text(close.to_owned()));
        self.push_all(items);
    }
}

fn free<'t>(value: Value, ty: Scoped<'t>, unfolding: &Option<Arc<NodeTable>>) -> Item<'t> {
    Item::Value {
        value,
        ty,
        place: Place::Free,
        unfolding: unfolding.clone(),
    }
}

fn node_part(value: Value, ty: Scoped<'_>, references: References) -> Item<'_> {
    Item::NodePart {
        value,
        ty,
        references,
        place: Place::Free,
    }
}

/// Whether a node's unfolding ends and is not far larger than its table.
pub fn unfolds_reasonably(table: &NodeTable, root: usize) -> bool {
    let children = children_of(table);
    let count = table.nodes.len();
    let limit = 16 * count as u64 + 1024;
    // Sizes of unfoldings, from the leaves up; a node on the way down is `Open`.
    let mut sizes = vec![Size::Unknown; count];
    let mut pending = vec![(root, Visit::Enter)];
    while let Some((node, visit)) = pending.pop() {
        let below = children
            .range(node)
            .and_then(|r| children.all.get(r))
            .unwrap_or(&[]);
        match (visit, sizes.get(node).copied()) {
            (Visit::Enter, Some(Size::Unknown)) => {
                set(&mut sizes, node, Size::Open);
                pending.push((node, Visit::Leave));
                for child in below {
                    match sizes.get(*child) {
                        Some(Size::Open) | None => return false,
                        Some(Size::Unknown) => pending.push((*child, Visit::Enter)),
                        Some(Size::Known(_)) => {}
                    }
                }
            }
            // Reached twice before it was entered, or done meanwhile.
            (Visit::Enter, _) => {}
            (Visit::Leave, _) => {
                let mut size: u64 = 1;
                for child in below {
                    match sizes.get(*child) {
                        Some(Size::Known(part)) => size = size.saturating_add(*part),
                        _ => return false,
                    }
                }
                if size > limit {
                    return false;
                }
                set(&mut sizes, node, Size::Known(size));
            }
        }
    }
    true
}

#[derive(Clone, Copy)]
enum Size {
    Unknown,
    Open,
    Known(u64),
}

#[derive(Clone, Copy)]
enum Visit {
    Enter,
    Leave,
}

fn set(sizes: &mut [Size], node: usize, size: Size) {
    if let Some(slot) = sizes.get_mut(node) {
        *slot = size;
    }
}

/// The references of every node, one after the other.
struct Children {
    all: Vec<usize>,
    rows: RowLengths,
}

impl Children {
    fn range(&self, node: usize) -> Option<Range<usize>> {
        self.rows.range(node)
    }
}

fn children_of(table: &NodeTable) -> Children {
    let mut children = Children {
        all: Vec::new(),
        rows: RowLengths::none(),
    };
    for node in &table.nodes {
        let before = children.all.len();
        if let Some(references) = table.references.get(node.constructor as usize) {
            for (field, references) in node.fields.iter().zip(references) {
                collect_positions(field, references, &mut children.all);
            }
        }
        let found = children.all.len() - before;
        children.rows.push(found);
    }
    children
}

fn collect_positions(value: &Value, references: &References, found: &mut Vec<usize>) {
    match (references, value) {
        (References::Position, Value::Scalar(Scalar::I64(at))) => found.push(*at as usize),
        (References::Tuple(parts), Value::Tuple(fields)) => {
            for (field, part) in fields.iter().zip(parts) {
                collect_positions(field, part, found);
            }
        }
        (References::Array(inside), Value::Array(array)) => {
            for value in array.values() {
                collect_positions(&value, inside, found);
            }
        }
        (References::Sum(constructors), Value::Sum(sum)) => {
            let fields = constructors.get(sum.constructor as usize).into_iter().flatten();
            for (part, field) in fields.zip(&sum.fields) {
                collect_positions(field, part, found);
            }
        }
        _ => {}
    }
}
