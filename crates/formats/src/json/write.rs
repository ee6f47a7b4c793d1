//! Writing JSON, on a stack of our own.

use super::{scalar, table};
use crate::FormatError;
use almach_value::{
    ArrayValue, Datum, Elements, NodeTable, Scoped, ScopedSum, SumValue, Value, ValueType, unfolds_reasonably,
};
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

/// Writes a value on one line.
pub fn write_json(value: &Value, ty: &ValueType) -> Result<Vec<u8>, FormatError> {
    let mut writer = Writer {
        text: String::new(),
        pending: vec![Work::Value {
            value: value.clone(),
            ty: Scoped::new(ty),
            unfolding: None,
        }],
    };
    while let Some(work) = writer.pending.pop() {
        writer.step(work)?;
    }
    writer.text.push('\n');
    Ok(writer.text.into_bytes())
}

struct Writer<'t> {
    text: String,
    /// What is still to be written, the next last.
    pending: Vec<Work<'t>>,
}

/// The table around, if it has been seen to unfold to a text of reasonable size.
type Unfolding = Option<Arc<NodeTable>>;

enum Work<'t> {
    Text(Cow<'static, str>),
    Value {
        value: Value,
        ty: Scoped<'t>,
        unfolding: Unfolding,
    },
    /// A node of a table that is written as a table.
    Node {
        node: SumValue,
        sum: ScopedSum<'t>,
    },
    /// The elements of an array from one on.
    Elements {
        array: Arc<ArrayValue>,
        at: usize,
        element: Scoped<'t>,
        unfolding: Unfolding,
    },
}

impl<'t> Writer<'t> {
    fn step(&mut self, work: Work<'t>) -> Result<(), FormatError> {
        match work {
            Work::Text(text) => {
                self.text.push_str(&text);
                Ok(())
            }
            Work::Value { value, ty, unfolding } => self.value(value, ty, unfolding),
            Work::Node { node, sum } => self.constructor(&sum, node.constructor, node.fields, None),
            Work::Elements {
                array,
                at,
                element,
                unfolding,
            } => {
                self.elements(array, at, element, unfolding);
                Ok(())
            }
        }
    }

    fn value(&mut self, value: Value, ty: Scoped<'t>, unfolding: Unfolding) -> Result<(), FormatError> {
        match (value, ty.ty) {
            // In a table a reference is a position, whatever the type says.
            (Value::Scalar(scalar), ValueType::Scalar(_) | ValueType::Recursive(_)) => {
                scalar::write(scalar, &mut self.text);
            }
            (Value::Vector(lanes), ValueType::Vector(..)) => {
                self.text.push('[');
                for (at, lane) in lanes.iter().enumerate() {
                    self.text.push_str(if at > 0 { ", " } else { "" });
                    scalar::write(*lane, &mut self.text);
                }
                self.text.push(']');
            }
            (Value::Tuple(values), ValueType::Tuple(types)) if values.len() == types.len() => {
                self.text.push('[');
                self.pending.push(Work::Text(Cow::Borrowed("]")));
                self.parts(&values, types.iter().map(|part| ty.part(part)), &unfolding);
            }
            (Value::Tuple(values), ValueType::Record(fields)) if values.len() == fields.len() => {
                self.text.push('{');
                self.pending.push(Work::Text(Cow::Borrowed("}")));
                for (at, (value, (name, field))) in values.iter().zip(fields).enumerate().rev() {
                    self.pending.push(Work::Value {
                        value: value.clone(),
                        ty: ty.part(field),
                        unfolding: unfolding.clone(),
                    });
                    let separator = if at > 0 { ", " } else { "" };
                    let key = format!("{separator}{}: ", quoted(name));
                    self.pending.push(Work::Text(Cow::Owned(key)));
                }
            }
            (Value::Array(array), ValueType::Array(_, element)) => match &array.elements {
                Elements::Scalars(buffer) => scalar::write_all(buffer, &mut self.text),
                _ => {
                    self.text.push('[');
                    self.elements(array, 0, ty.part(element), unfolding);
                }
            },
            (Value::Sum(sum), ValueType::Sum(_) | ValueType::Recursive(_)) => {
                let definition = ty.sum().ok_or_else(|| differs(&ty))?;
                self.constructor(&definition, sum.constructor, sum.fields.clone(), unfolding)?;
            }
            (Value::Datum(datum), ValueType::Sum(_) | ValueType::Recursive(_)) => {
                let definition = ty.sum().ok_or_else(|| differs(&ty))?;
                self.datum(&datum, &definition, unfolding)?;
            }
            _ => return Err(differs(&ty)),
        }
        Ok(())
    }

    /// Components with commas between them.
    fn parts<I>(&mut self, values: &[Value], types: I, unfolding: &Unfolding)
    where
        I: DoubleEndedIterator<Item = Scoped<'t>> + ExactSizeIterator,
    {
        for (at, (value, ty)) in values.iter().zip(types).enumerate().rev() {
            self.pending.push(Work::Value {
                value: value.clone(),
                ty,
                unfolding: unfolding.clone(),
            });
            if at > 0 {
                self.pending.push(Work::Text(Cow::Borrowed(", ")));
            }
        }
    }

    fn elements(&mut self, array: Arc<ArrayValue>, at: usize, element: Scoped<'t>, unfolding: Unfolding) {
        let Some(value) = array.get(at) else {
            self.text.push(']');
            return;
        };
        self.text.push_str(if at > 0 { ", " } else { "" });
        self.pending.push(Work::Elements {
            array,
            at: at + 1,
            element: element.clone(),
            unfolding: unfolding.clone(),
        });
        self.pending.push(Work::Value {
            value,
            ty: element,
            unfolding,
        });
    }

    fn datum(&mut self, datum: &Datum, sum: &ScopedSum<'t>, unfolding: Unfolding) -> Result<(), FormatError> {
        let is_known = match (datum, &unfolding) {
            (Datum::InTable { table, .. }, Some(known)) => Arc::ptr_eq(table, known),
            _ => false,
        };
        if is_known {
            return self.constructor(sum, datum.constructor(), datum.fields(), unfolding);
        }
        let (table, at) = datum.in_table(&Arc::new(sum.sum.references()));
        if unfolds_reasonably(&table, at) {
            let datum = Datum::InTable {
                table: Arc::clone(&table),
                at,
            };
            return self.constructor(sum, datum.constructor(), datum.fields(), Some(table));
        }
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{{\"{}\": [", table::NODES);
        let end = format!("], \"{}\": {at}}}", table::ROOT);
        self.pending.push(Work::Text(Cow::Owned(end)));
        for (index, node) in table.nodes.iter().enumerate().rev() {
            self.pending.push(Work::Node {
                node: node.clone(),
                sum: sum.clone(),
            });
            if index > 0 {
                self.pending.push(Work::Text(Cow::Borrowed(", ")));
            }
        }
        Ok(())
    }

    fn constructor(
        &mut self,
        sum: &ScopedSum<'t>,
        number: u32,
        fields: Vec<Value>,
        unfolding: Unfolding,
    ) -> Result<(), FormatError> {
        let definition = sum.sum.constructors.get(number as usize);
        let Some(definition) = definition.filter(|found| found.fields.len() == fields.len()) else {
            let message = format!("the value is not of type {}", sum.sum.name);
            return Err(FormatError::malformed(message));
        };
        let name = quoted(&definition.name);
        let (open, close) = match fields.len() {
            0 => {
                self.text.push_str(&name);
                return Ok(());
            }
            1 => ("", "}"),
            _ => ("[", "]}"),
        };
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{{{name}: {open}");
        self.pending.push(Work::Text(Cow::Borrowed(close)));
        let types: Vec<Scoped<'t>> = (0..fields.len())
            .filter_map(|field| sum.field(number, field))
            .collect();
        self.parts(&fields, types.into_iter(), &unfolding);
        Ok(())
    }
}

fn differs(ty: &Scoped<'_>) -> FormatError {
    FormatError::malformed(format!("the value is not of type {}", ty.ty))
}

/// A name between quotes.
fn quoted(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 2);
    text.push('"');
    for letter in name.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            control if control < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(control));
            }
            other => text.push(other),
        }
    }
    text.push('"');
    text
}
