//! Values as slices.

use almach_value::{ArrayValue, Buffer, Elements, RowLengths, Scalar};
use std::fmt;
use std::sync::Arc;

/// What goes into entry points and comes out. Arrays are flat: elements of one scalar type lie in one slice, however deep
/// the array; an array of tuples is one such slice per component.
///
/// ```
/// use almach::Value;
///
/// let matrix = Value::matrix(2, 3, vec![1, 2, 3, 4, 5, 6])?;
/// assert_eq!(matrix.len(), Some(2));
/// assert_eq!(matrix.slice::<i32>(), Some(&[1, 2, 3, 4, 5, 6][..]));
/// # Ok::<(), almach::ShapeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Value(pub(crate) almach_value::Value);

/// Parts that do not make an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShapeError(String);

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ShapeError {}

impl From<almach_value::ShapeError> for ShapeError {
    fn from(error: almach_value::ShapeError) -> ShapeError {
        ShapeError(error.to_string())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// The scalars of the language.
pub trait Element: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    fn buffer(elements: Vec<Self>) -> Buffer;
    #[doc(hidden)]
    fn slice(buffer: &Buffer) -> Option<&[Self]>;
    #[doc(hidden)]
    fn into_scalar(self) -> Scalar;
    #[doc(hidden)]
    fn from_scalar(scalar: Scalar) -> Option<Self>;
}

macro_rules! elements {
    ($($ty:ty => $variant:ident),*) => {$(
        impl sealed::Sealed for $ty {}

        impl Element for $ty {
            fn buffer(elements: Vec<$ty>) -> Buffer {
                Buffer::$variant(elements)
            }
            fn slice(buffer: &Buffer) -> Option<&[$ty]> {
                match buffer {
                    Buffer::$variant(elements) => Some(elements),
                    _ => None,
                }
            }
            fn into_scalar(self) -> Scalar {
                Scalar::$variant(self)
            }
            fn from_scalar(scalar: Scalar) -> Option<$ty> {
                match scalar {
                    Scalar::$variant(value) => Some(value),
                    _ => None,
                }
            }
        }

        impl From<$ty> for Value {
            fn from(scalar: $ty) -> Value {
                Value(almach_value::Value::Scalar(scalar.into_scalar()))
            }
        }
    )*};
}

elements!(
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64, bool => Bool
);

impl<T: Element> From<Vec<T>> for Value {
    fn from(elements: Vec<T>) -> Value {
        Value(almach_value::Value::array(ArrayValue::scalars(T::buffer(
            elements,
        ))))
    }
}

impl<T: Element> From<&[T]> for Value {
    fn from(elements: &[T]) -> Value {
        Value::from(elements.to_vec())
    }
}

impl<T: Element, const N: usize> From<&[T; N]> for Value {
    fn from(elements: &[T; N]) -> Value {
        Value::from(elements.to_vec())
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Value {
    fn from(elements: [T; N]) -> Value {
        Value::from(elements.to_vec())
    }
}

/// A string is a `[n]u8`.
impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::from(text.as_bytes())
    }
}

impl Value {
    /// A `[rows][columns]t`, from its elements row by row.
    pub fn matrix<T: Element>(
        rows: usize,
        columns: usize,
        elements: impl Into<Vec<T>>,
    ) -> Result<Value, ShapeError> {
        let flat = Arc::new(ArrayValue::scalars(T::buffer(elements.into())));
        Ok(Value(almach_value::Value::array(ArrayValue::rows(
            rows, columns, flat,
        )?)))
    }

    /// An array of arrays of one length each: `rows` rows cut from this array (a matrix becomes a cube, …).
    pub fn rows(self, rows: usize) -> Result<Value, ShapeError> {
        let almach_value::Value::Array(inner) = self.0 else {
            return Err(ShapeError("only an array can be cut into rows".to_owned()));
        };
        let row = inner.len.checked_div(rows).unwrap_or(0);
        Ok(Value(almach_value::Value::array(ArrayValue::rows(
            rows, row, inner,
        )?)))
    }

    /// A `[n][?]t`: this array, cut into rows of these lengths.
    pub fn jagged(self, lengths: &[usize]) -> Result<Value, ShapeError> {
        let almach_value::Value::Array(inner) = self.0 else {
            return Err(ShapeError("only an array can be cut into rows".to_owned()));
        };
        let lengths = RowLengths::from_lengths(lengths.iter().copied());
        Ok(Value(almach_value::Value::array(ArrayValue::jagged(
            lengths, inner,
        )?)))
    }

    /// A tuple, or a record with its fields in order.
    pub fn tuple(components: impl IntoIterator<Item = Value>) -> Value {
        Value(almach_value::Value::tuple(
            components.into_iter().map(|component| component.0),
        ))
    }

    /// An array of tuples, from one array of each component.
    pub fn zip(arrays: impl IntoIterator<Item = Value>) -> Result<Value, ShapeError> {
        let mut components = Vec::new();
        for array in arrays {
            let almach_value::Value::Array(array) = array.0 else {
                return Err(ShapeError("only arrays can be zipped".to_owned()));
            };
            components.push(array);
        }
        let len = components.first().map_or(0, |first| first.len);
        Ok(Value(almach_value::Value::array(ArrayValue::tuples(
            len, components,
        )?)))
    }

    /// The scalar, where it is one of this type.
    pub fn scalar<T: Element>(&self) -> Option<T> {
        T::from_scalar(self.0.as_scalar()?)
    }

    /// All elements of an array of scalars of this type, row by row where it has rows.
    pub fn slice<T: Element>(&self) -> Option<&[T]> {
        let mut array = self.0.as_array()?;
        loop {
            match &array.elements {
                Elements::Scalars(buffer) => return T::slice(buffer),
                Elements::Rows { inner, .. } | Elements::Jagged { inner, .. } => array = inner,
                Elements::Tuples(_) | Elements::Vectors { .. } | Elements::Boxed(_) => return None,
            }
        }
    }

    /// How many elements an array has.
    pub fn len(&self) -> Option<usize> {
        self.0.as_array().map(|array| array.len)
    }

    /// Whether it is an array without elements.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// The lengths of an array, outermost first; none for one that differs from row to row.
    pub fn dimensions(&self) -> Vec<Option<usize>> {
        self.0.as_array().map_or_else(Vec::new, ArrayValue::dimensions)
    }

    /// An element of an array.
    pub fn element(&self, at: usize) -> Option<Value> {
        self.0.as_array()?.get(at).map(Value)
    }

    /// A component of a tuple; of an array of tuples, the array of those components.
    pub fn component(&self, at: usize) -> Option<Value> {
        match &self.0 {
            almach_value::Value::Tuple(components) => components.get(at).cloned().map(Value),
            almach_value::Value::Array(array) => match &array.elements {
                Elements::Tuples(components) => components
                    .get(at)
                    .map(|component| Value(almach_value::Value::Array(Arc::clone(component)))),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Bit for bit; all NaNs are one value.
impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        almach_value::same(&self.0, &other.0)
    }
}
