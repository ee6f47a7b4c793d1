//! Sums as arrays: a tag, and every field of every constructor. Recursive data as tables.

use super::{Part, Reader, Writer, collect_names, join, no_data};
use crate::FormatError;
use crate::table::{datum, node_type};
use almach_value::{
    ArrayValue, Buffer, Constructor, Datum, DimType, Elements, Scalar, ScalarType, SumType, SumValue, Value,
    ValueType, collect, element_shape,
};
use std::sync::Arc;

const TAG: &str = "tag";
const NODES: &str = "nodes";
const ROOT: &str = "root";

/// Where a field of a constructor is.
fn field_path(path: &str, constructor: &Constructor, at: usize) -> String {
    join(path, &format!("{}.arr_{at}", constructor.name))
}

/// The type of all values of a field: where there are several, an array in it has a size of its own in each.
fn in_field(ty: &ValueType, outer: usize) -> ValueType {
    match ty {
        _ if outer == 0 => ty.clone(),
        ValueType::Array(DimType::Known(_), _) => ty.clone(),
        ValueType::Array(_, element) => ValueType::array(DimType::Jagged, (**element).clone()),
        ValueType::Tuple(parts) => ValueType::Tuple(parts.iter().map(|ty| in_field(ty, outer)).collect()),
        ValueType::Record(fields) => {
            let fields = fields
                .iter()
                .map(|(name, ty)| (name.clone(), in_field(ty, outer)));
            ValueType::Record(fields.collect())
        }
        ValueType::Scalar(_) | ValueType::Vector(..) | ValueType::Sum(_) | ValueType::Recursive(_) => {
            ty.clone()
        }
    }
}

impl Reader<'_> {
    pub(super) fn sums(&mut self, sum: &SumType, path: &str, outer: usize) -> Result<Part, FormatError> {
        match (sum.is_recursive(), outer) {
            (true, 0) => self.datum(sum, path),
            (true, _) => Err(no_data(&ValueType::Sum(Arc::new(sum.clone())), path)),
            (false, _) => self.tagged(sum, path, outer),
        }
    }

    fn tagged(&mut self, sum: &SumType, path: &str, outer: usize) -> Result<Part, FormatError> {
        let at = join(path, TAG);
        let tags = self.array(&at, ScalarType::U32, outer)?;
        let Buffer::U32(numbers) = &tags.buffer else {
            return Err(FormatError::malformed("tags are unsigned 32-bit integers").at(at));
        };
        let mut constructors = Vec::new();
        for constructor in &sum.constructors {
            let mut fields = Vec::new();
            for (number, ty) in constructor.fields.iter().enumerate() {
                let path = field_path(path, constructor, number);
                let part = self.part(&in_field(ty, outer), &path, outer)?;
                if part.outer != tags.shape {
                    let message = format!(
                        "its sizes {:?} differ from the sizes {:?} of `{at}`",
                        part.outer, tags.shape
                    );
                    return Err(FormatError::shape(message).at(path));
                }
                fields.push(part.array);
            }
            constructors.push(fields);
        }
        let mut values = Vec::with_capacity(numbers.len());
        for (element, number) in numbers.iter().enumerate() {
            let Some(fields) = constructors.get(*number as usize) else {
                let message = format!(
                    "element {element} has the tag {number}, and {} has {} constructors",
                    sum.name,
                    sum.constructors.len()
                );
                return Err(FormatError::malformed(message).at(at));
            };
            let fields: Option<Vec<Value>> = fields.iter().map(|field| field.get(element)).collect();
            let fields = fields.ok_or_else(|| FormatError::malformed("a field is missing").at(path))?;
            values.push(Value::sum(*number, fields));
        }
        Ok(Part {
            outer: tags.shape,
            array: boxed(values),
        })
    }

    /// A table and a root.
    fn datum(&mut self, sum: &SumType, path: &str) -> Result<Part, FormatError> {
        let nodes = self.sums(&node_type(sum), &join(path, NODES), 1)?;
        let root = self.part(&ValueType::Scalar(ScalarType::I64), &join(path, ROOT), 0)?;
        let root = root.array.get(0).and_then(|root| root.as_i64());
        let root = root.ok_or_else(|| FormatError::malformed("the root is missing").at(path))?;
        let datum = datum(&Value::array(nodes.array), root, sum);
        let datum = datum.map_err(|message| FormatError::malformed(message).at(path))?;
        Ok(Part {
            outer: Vec::new(),
            array: boxed(vec![datum]),
        })
    }
}

fn boxed(values: Vec<Value>) -> ArrayValue {
    ArrayValue {
        len: values.len(),
        elements: Elements::Boxed(values),
    }
}

impl Writer<'_> {
    pub(super) fn sums(
        &mut self,
        values: &[Value],
        sum: &SumType,
        path: &str,
        outer: &[usize],
    ) -> Result<(), FormatError> {
        match (sum.is_recursive(), values) {
            (true, [Value::Datum(datum)]) if outer.is_empty() => self.datum(datum, sum, path),
            (true, _) => Err(no_data(&ValueType::Sum(Arc::new(sum.clone())), path)),
            (false, _) => self.tagged(values, sum, path, outer),
        }
    }

    fn tagged(
        &mut self,
        values: &[Value],
        sum: &SumType,
        path: &str,
        outer: &[usize],
    ) -> Result<(), FormatError> {
        let sums: Option<Vec<&SumValue>> = values.iter().map(as_sum).collect();
        let sums = sums.ok_or_else(|| {
            FormatError::malformed(format!("the value is not of type {}", sum.name)).at(path)
        })?;
        let tags = Buffer::U32(sums.iter().map(|value| value.constructor).collect());
        self.array(&join(path, TAG), outer.to_vec(), &tags)?;
        for (number, constructor) in (0u32..).zip(&sum.constructors) {
            for (at, ty) in constructor.fields.iter().enumerate() {
                let (path, ty) = (field_path(path, constructor, at), in_field(ty, outer.len()));
                let none = zero(&ty).ok_or_else(|| no_data(&ty, &path))?;
                let field = |value: &&SumValue| match value.constructor == number {
                    true => value.fields.get(at).unwrap_or(&none).clone(),
                    false => none.clone(),
                };
                let array = collect(&ty, sums.iter().map(field).collect());
                let array = array.map_err(|error| FormatError::shape(error.error.to_string()).at(&path))?;
                self.part(&array, &ty, &path, outer)?;
            }
        }
        Ok(())
    }

    fn datum(&mut self, datum: &Datum, sum: &SumType, path: &str) -> Result<(), FormatError> {
        let (table, root) = datum.in_table(&Arc::new(sum.references()));
        let nodes: Vec<Value> = table
            .nodes
            .iter()
            .map(|node| Value::Sum(Arc::new(node.clone())))
            .collect();
        self.sums(&nodes, &node_type(sum), &join(path, NODES), &[nodes.len()])?;
        let root = Buffer::repeat(Scalar::I64(root as i64), 1);
        self.array(&join(path, ROOT), Vec::new(), &root)
    }
}

fn as_sum(value: &Value) -> Option<&SumValue> {
    match value {
        Value::Sum(sum) => Some(sum),
        _ => None,
    }
}

/// What stands for a field where the value has another constructor; none for recursive data.
fn zero(ty: &ValueType) -> Option<Value> {
    Some(match ty {
        ValueType::Scalar(scalar) => Value::Scalar(Scalar::zero(*scalar)),
        ValueType::Vector(width, scalar) => {
            let lanes = vec![Scalar::zero(*scalar); *width as usize];
            Value::Vector(lanes.into())
        }
        ValueType::Tuple(parts) => {
            let parts: Option<Vec<Value>> = parts.iter().map(zero).collect();
            Value::tuple(parts?)
        }
        ValueType::Record(fields) => {
            let parts: Option<Vec<Value>> = fields.iter().map(|(_, ty)| zero(ty)).collect();
            Value::tuple(parts?)
        }
        ValueType::Array(DimType::Known(size), element) => {
            let values = vec![zero(element)?; usize::try_from(*size).ok()?];
            Value::array(collect(element, values).ok()?)
        }
        ValueType::Array(_, element) => Value::array(ArrayValue::with_capacity(&element_shape(element), 0)),
        ValueType::Sum(sum) if !sum.is_recursive() => {
            let fields = sum
                .constructors
                .first()
                .map_or(&[][..], |first| first.fields.as_slice());
            let fields: Option<Vec<Value>> = fields.iter().map(zero).collect();
            Value::sum(0, fields?)
        }
        ValueType::Sum(_) | ValueType::Recursive(_) => return None,
    })
}

/// The names of the arrays that hold a sum.
pub(super) fn member_names(sum: &SumType, path: &str, outer: usize, names: &mut Vec<String>) {
    if sum.is_recursive() {
        if outer == 0 {
            member_names(&node_type(sum), &join(path, NODES), 1, names);
            names.push(join(path, ROOT));
        }
        return;
    }
    names.push(join(path, TAG));
    for constructor in &sum.constructors {
        for (at, ty) in constructor.fields.iter().enumerate() {
            collect_names(
                &in_field(ty, outer),
                &field_path(path, constructor, at),
                outer,
                names,
            );
        }
    }
}
