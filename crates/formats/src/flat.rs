//! Values as named regular arrays of scalars: what `.npy` holds one of and `.npz` several.
//!
//! A tuple is its components under `arr_0`, `arr_1`, …; a record its fields under their names; an array of tuples one array
//! per component. Jagged rows are `data`, all rows end to end, and `segments`, the n+1 offsets of the rows in it. Names of
//! parts of parts are joined with dots. Every part is read and written together with the regular dimensions around it,
//! so that a scalar inside two dimensions is one array of two dimensions.
//!
//! A sum is its `tag`, the number of its constructor, and an array for every field of every constructor (`Some.arr_0`), which holds zeros where the value has another
//! constructor. Recursive data are their table, `nodes`, with positions for references, and the position of the `root` in it.

mod sums;

use crate::FormatError;
use almach_base::Name;
use almach_base::codes::cli;
use almach_value::{ArrayValue, Buffer, DimType, Elements, RowLengths, Scalar, ScalarType, Value, ValueType};
use std::collections::HashMap;
use std::sync::Arc;

/// A regular array of scalars, the last dimension varying fastest.
pub(crate) struct Raw {
    pub shape: Vec<usize>,
    pub buffer: Buffer,
}

/// Where named arrays come from.
pub(crate) trait Members {
    fn array(&mut self, path: &str, ty: ScalarType) -> Result<Raw, FormatError>;
}

/// What a type has that a single regular array has not.
pub(crate) fn beyond_npy(ty: &ValueType) -> Option<&'static str> {
    match ty {
        ValueType::Scalar(_) | ValueType::Vector(..) => None,
        ValueType::Tuple(_) => Some("a tuple"),
        ValueType::Record(_) => Some("a record"),
        ValueType::Array(DimType::Jagged, _) => Some("rows of different lengths"),
        ValueType::Array(_, element) => beyond_npy(element),
        ValueType::Sum(_) | ValueType::Recursive(_) => Some("a sum type"),
    }
}

/// The value of a type from its arrays.
pub(crate) fn read(ty: &ValueType, members: &mut dyn Members) -> Result<Value, FormatError> {
    let mut reader = Reader {
        members,
        sizes: HashMap::new(),
    };
    let part = reader.part(ty, "", 0)?;
    only(&part.array).ok_or_else(|| FormatError::malformed("the file holds no value"))
}

struct Reader<'m> {
    members: &'m mut dyn Members,
    /// What named sizes were seen to be, and where.
    sizes: HashMap<Name, (usize, String)>,
}

/// All values of a part of the type, one for each index into the dimensions around it.
struct Part {
    /// The sizes of the dimensions around.
    outer: Vec<usize>,
    array: ArrayValue,
}

impl Reader<'_> {
    fn part(&mut self, ty: &ValueType, path: &str, outer: usize) -> Result<Part, FormatError> {
        match ty {
            ValueType::Scalar(scalar) => {
                let raw = self.array(path, *scalar, outer)?;
                Ok(Part {
                    outer: raw.shape,
                    array: ArrayValue::scalars(raw.buffer),
                })
            }
            ValueType::Vector(width, scalar) => self.vectors(*width as usize, *scalar, path, outer),
            ValueType::Tuple(types) => {
                let parts = types.iter().enumerate();
                self.tuples(parts.map(|(at, ty)| (format!("arr_{at}"), ty)), path, outer)
            }
            ValueType::Record(fields) => {
                let parts = fields.iter();
                self.tuples(parts.map(|(name, ty)| (name.to_string(), ty)), path, outer)
            }
            ValueType::Array(DimType::Jagged, element) => self.jagged(element, path, outer),
            ValueType::Array(dim, element) => self.rows(dim, element, path, outer),
            ValueType::Sum(sum) => self.sums(sum, path, outer),
            ValueType::Recursive(_) => Err(no_data(ty, path)),
        }
    }

    fn array(&mut self, path: &str, ty: ScalarType, dimensions: usize) -> Result<Raw, FormatError> {
        let raw = self.members.array(path, ty).map_err(|error| error.at(path))?;
        if raw.shape.len() != dimensions {
            let message = format!(
                "expected {}, and the file holds {}",
                counted(dimensions),
                counted(raw.shape.len())
            );
            return Err(FormatError::shape(message).at(path));
        }
        Ok(raw)
    }

    fn vectors(
        &mut self,
        width: usize,
        ty: ScalarType,
        path: &str,
        outer: usize,
    ) -> Result<Part, FormatError> {
        let mut raw = self.array(path, ty, outer + 1)?;
        let found = raw.shape.pop().unwrap_or(0);
        if found != width {
            let message = format!("expected vectors of {width} in the last dimension, found {found}");
            return Err(FormatError::shape(message).at(path));
        }
        let array = ArrayValue {
            len: raw.shape.iter().product(),
            elements: Elements::Vectors {
                width,
                lanes: raw.buffer,
            },
        };
        Ok(Part {
            outer: raw.shape,
            array,
        })
    }

    fn tuples<'t>(
        &mut self,
        parts: impl Iterator<Item = (String, &'t ValueType)>,
        path: &str,
        outer: usize,
    ) -> Result<Part, FormatError> {
        let mut components = Vec::new();
        let mut sizes: Option<Vec<usize>> = None;
        for (name, ty) in parts {
            let path = join(path, &name);
            let part = self.part(ty, &path, outer)?;
            match &sizes {
                Some(sizes) if *sizes != part.outer => {
                    let message = format!(
                        "its sizes {:?} differ from the sizes {sizes:?} of the part before",
                        part.outer
                    );
                    return Err(FormatError::shape(message).at(path));
                }
                _ => sizes = Some(part.outer),
            }
            components.push(Arc::new(part.array));
        }
        let outer = match sizes {
            Some(sizes) => sizes,
            None if outer == 0 => Vec::new(),
            None => return Err(no_units(path)),
        };
        let len = outer.iter().product();
        let array = ArrayValue::tuples(len, components)
            .map_err(|error| FormatError::shape(error.to_string()).at(path))?;
        Ok(Part { outer, array })
    }

    fn rows(
        &mut self,
        dim: &DimType,
        element: &ValueType,
        path: &str,
        outer: usize,
    ) -> Result<Part, FormatError> {
        let mut part = self.part(element, path, outer + 1)?;
        let row = part.outer.pop().unwrap_or(0);
        self.check_size(dim, row, path)?;
        let len = part.outer.iter().product();
        let array = ArrayValue::rows(len, row, Arc::new(part.array))
            .map_err(|error| FormatError::shape(error.to_string()).at(path))?;
        Ok(Part {
            outer: part.outer,
            array,
        })
    }

    fn check_size(&mut self, dim: &DimType, found: usize, path: &str) -> Result<(), FormatError> {
        let message = match dim {
            DimType::Known(size) if usize::try_from(*size) != Ok(found) => {
                format!("expected a dimension of {size}, found {found}")
            }
            DimType::Named(name) => match self.sizes.get(name) {
                Some((size, place)) if *size != found => {
                    let place = if place.is_empty() {
                        String::new()
                    } else {
                        format!(" (from {place})")
                    };
                    format!("expected a dimension of {name} = {size}{place}, found {found}")
                }
                Some(_) => return Ok(()),
                None => {
                    self.sizes.insert(name.clone(), (found, path.to_owned()));
                    return Ok(());
                }
            },
            DimType::Known(_) | DimType::Expression(_) | DimType::Unknown | DimType::Jagged => return Ok(()),
        };
        Err(FormatError::shape(message).at(path))
    }

    fn jagged(&mut self, element: &ValueType, path: &str, outer: usize) -> Result<Part, FormatError> {
        if outer == 0 {
            return Err(jagged_alone(path));
        }
        let at = join(path, "segments");
        let raw = self.array(&at, ScalarType::I64, 1)?;
        let data = self.part(element, &join(path, "data"), 1)?;
        let Buffer::I64(offsets) = raw.buffer else {
            return Err(FormatError::malformed("segments are 64-bit integers").at(at));
        };
        let lengths = row_lengths(&offsets, data.array.len).map_err(|error| error.at(&at))?;
        let outer = if outer == 1 {
            vec![lengths.rows()]
        } else {
            self.shape(outer, lengths.rows(), path)?
        };
        let array = ArrayValue::jagged(lengths, Arc::new(data.array))
            .map_err(|error| FormatError::shape(error.to_string()).at(path))?;
        Ok(Part { outer, array })
    }

    /// Segments have one dimension; where rows lie in several, `shape` has their sizes.
    fn shape(&mut self, dimensions: usize, rows: usize, path: &str) -> Result<Vec<usize>, FormatError> {
        let at = join(path, "shape");
        let raw = self.array(&at, ScalarType::I64, 1)?;
        let sizes: Vec<usize> = match &raw.buffer {
            Buffer::I64(sizes) => sizes
                .iter()
                .filter_map(|size| usize::try_from(*size).ok())
                .collect(),
            _ => Vec::new(),
        };
        let product = sizes
            .iter()
            .try_fold(1usize, |product, size| product.checked_mul(*size));
        if sizes.len() != dimensions || raw.buffer.len() != dimensions || product != Some(rows) {
            let message = format!("expected {dimensions} sizes whose product is {rows}");
            return Err(FormatError::shape(message).at(at));
        }
        Ok(sizes)
    }
}

/// Offsets that start at 0, never fall, and end at the length of the data.
fn row_lengths(offsets: &[i64], total: usize) -> Result<RowLengths, FormatError> {
    let wrong = |message: String| Err(FormatError::shape(message));
    let (Some(0), Some(last)) = (offsets.first(), offsets.last()) else {
        return wrong("the offsets of rows must start with 0".to_owned());
    };
    if usize::try_from(*last) != Ok(total) {
        return wrong(format!(
            "the last offset is {last}, and there are {total} elements"
        ));
    }
    if let Some(at) = offsets.windows(2).position(|pair| pair.first() > pair.last()) {
        return wrong(format!(
            "the offset after row {at} is smaller than the one before"
        ));
    }
    Ok(RowLengths {
        offsets: offsets
            .iter()
            .filter_map(|offset| usize::try_from(*offset).ok())
            .collect(),
    })
}

/// Gives the arrays of a value, with their names, to `member`.
pub(crate) fn write(
    value: &Value,
    ty: &ValueType,
    member: &mut dyn FnMut(&str, Raw) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    let array = alone(value);
    Writer { member }.part(&array, ty, "", &[])
}

struct Writer<'m> {
    member: &'m mut dyn FnMut(&str, Raw) -> Result<(), FormatError>,
}

impl Writer<'_> {
    fn part(
        &mut self,
        array: &ArrayValue,
        ty: &ValueType,
        path: &str,
        outer: &[usize],
    ) -> Result<(), FormatError> {
        let differs = || FormatError::malformed(format!("the value is not of type {ty}")).at(path);
        match (&array.elements, ty) {
            (Elements::Scalars(buffer), ValueType::Scalar(_)) => self.array(path, outer.to_vec(), buffer),
            (Elements::Vectors { width, lanes }, ValueType::Vector(..)) => {
                self.array(path, with(outer, *width), lanes)
            }
            (Elements::Tuples(components), ValueType::Tuple(types)) if components.len() == types.len() => {
                if types.is_empty() && !outer.is_empty() {
                    return Err(no_units(path));
                }
                for (at, (component, ty)) in components.iter().zip(types).enumerate() {
                    self.part(component, ty, &join(path, &format!("arr_{at}")), outer)?;
                }
                Ok(())
            }
            (Elements::Tuples(components), ValueType::Record(fields)) if components.len() == fields.len() => {
                if fields.is_empty() && !outer.is_empty() {
                    return Err(no_units(path));
                }
                for (component, (name, ty)) in components.iter().zip(fields) {
                    self.part(component, ty, &join(path, name), outer)?;
                }
                Ok(())
            }
            (_, ValueType::Array(DimType::Jagged, element)) => self.jagged(array, element, path, outer),
            (Elements::Rows { row, inner }, ValueType::Array(_, element)) => {
                self.part(inner, element, path, &with(outer, *row))
            }
            (Elements::Boxed(values), ValueType::Sum(sum)) => self.sums(values, sum, path, outer),
            (_, ValueType::Recursive(_)) => Err(no_data(ty, path)),
            _ => Err(differs()),
        }
    }

    fn array(&mut self, path: &str, shape: Vec<usize>, buffer: &Buffer) -> Result<(), FormatError> {
        (self.member)(
            path,
            Raw {
                shape,
                buffer: buffer.clone(),
            },
        )
    }

    fn jagged(
        &mut self,
        array: &ArrayValue,
        element: &ValueType,
        path: &str,
        outer: &[usize],
    ) -> Result<(), FormatError> {
        if outer.is_empty() {
            return Err(jagged_alone(path));
        }
        let (offsets, inner): (Vec<usize>, _) = match &array.elements {
            Elements::Jagged { lengths, inner } => (lengths.offsets.clone(), inner),
            Elements::Rows { row, inner } => ((0..=array.len).map(|at| at * row).collect(), inner),
            _ => return Err(FormatError::malformed("the value has no rows").at(path)),
        };
        let offsets = Buffer::I64(offsets.into_iter().map(|offset| offset as i64).collect());
        self.array(&join(path, "segments"), vec![offsets.len()], &offsets)?;
        if outer.len() > 1 {
            let sizes = Buffer::I64(outer.iter().map(|size| *size as i64).collect());
            self.array(&join(path, "shape"), vec![outer.len()], &sizes)?;
        }
        self.part(inner, element, &join(path, "data"), &[inner.len])
    }
}

/// The names of the arrays that hold a type, in order.
pub(crate) fn member_names(ty: &ValueType) -> Vec<String> {
    let mut names = Vec::new();
    collect_names(ty, "", 0, &mut names);
    names
}

fn collect_names(ty: &ValueType, path: &str, outer: usize, names: &mut Vec<String>) {
    match ty {
        ValueType::Scalar(_) | ValueType::Vector(..) => names.push(path.to_owned()),
        ValueType::Tuple(types) => {
            for (at, ty) in types.iter().enumerate() {
                collect_names(ty, &join(path, &format!("arr_{at}")), outer, names);
            }
        }
        ValueType::Record(fields) => {
            for (name, ty) in fields {
                collect_names(ty, &join(path, name), outer, names);
            }
        }
        ValueType::Array(DimType::Jagged, element) => {
            names.push(join(path, "segments"));
            if outer > 1 {
                names.push(join(path, "shape"));
            }
            collect_names(element, &join(path, "data"), 1, names);
        }
        ValueType::Array(_, element) => collect_names(element, path, outer + 1, names),
        ValueType::Sum(sum) => sums::member_names(sum, path, outer, names),
        ValueType::Recursive(_) => {}
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn with(outer: &[usize], size: usize) -> Vec<usize> {
    let mut shape = outer.to_vec();
    shape.push(size);
    shape
}

fn counted(dimensions: usize) -> String {
    match dimensions {
        0 => "a single number".to_owned(),
        1 => "an array of 1 dimension".to_owned(),
        _ => format!("an array of {dimensions} dimensions"),
    }
}

fn no_data(ty: &ValueType, path: &str) -> FormatError {
    FormatError::cannot_hold(format!(
        "NumPy's formats have a table for recursive data by themselves, and nothing for {ty} in an array or in other data"
    ))
    .at(path)
    .help("use .json or .txt")
}

fn no_units(path: &str) -> FormatError {
    FormatError::cannot_hold("NumPy's formats have nothing for an array of empty tuples")
        .at(path)
        .help("use .json or .txt")
}

fn jagged_alone(path: &str) -> FormatError {
    FormatError::new(
        cli::UNKNOWN_FORMAT,
        "rows of different lengths must lie in an array",
    )
    .at(path)
}

/// An array of just this value.
fn alone(value: &Value) -> ArrayValue {
    let elements = match value {
        Value::Scalar(scalar) => Elements::Scalars(Buffer::repeat(*scalar, 1)),
        Value::Vector(lanes) => match lanes_buffer(lanes) {
            Some(buffer) => Elements::Vectors {
                width: lanes.len(),
                lanes: buffer,
            },
            None => Elements::Boxed(vec![value.clone()]),
        },
        Value::Tuple(components) => {
            let arrays = components.iter().map(|component| Arc::new(alone(component)));
            Elements::Tuples(arrays.collect())
        }
        Value::Array(array) => Elements::Rows {
            row: array.len,
            inner: Arc::clone(array),
        },
        Value::Sum(_) | Value::Datum(_) => Elements::Boxed(vec![value.clone()]),
    };
    ArrayValue { len: 1, elements }
}

fn lanes_buffer(lanes: &[Scalar]) -> Option<Buffer> {
    let ty = lanes.first()?.ty();
    almach_value::buffer_of(ty, lanes.iter().copied())
}

/// The only element of an array, without copying rows.
fn only(array: &ArrayValue) -> Option<Value> {
    match &array.elements {
        Elements::Rows { inner, .. } if array.len == 1 => Some(Value::Array(Arc::clone(inner))),
        Elements::Tuples(components) if array.len == 1 => {
            let values: Option<Vec<Value>> = components.iter().map(|component| only(component)).collect();
            Some(Value::tuple(values?))
        }
        _ => array.get(0),
    }
}
