//! `.npy`: one regular array of numbers or booleans. A scalar is an array without dimensions.

mod header;

use crate::FormatError;
use crate::flat::{self, Members, Raw};
use almach_base::codes::cli;
use almach_value::{Buffer, ScalarType, Value, ValueType};
use header::Order;

/// Rows without elements take no bytes, so a few bytes could ask for any number of them.
const MAX_EMPTY_ROWS: usize = 1 << 24;

/// Reads the only array of a file.
pub fn read_npy(bytes: &[u8], ty: &ValueType) -> Result<Value, FormatError> {
    if let Some(part) = flat::beyond_npy(ty) {
        return Err(FormatError::cannot_hold(format!(
            "a .npy file holds one regular array of numbers, and {ty} has {part}"
        ))
        .help("read it from .json or .npz"));
    }
    flat::read(ty, &mut OneFile(Some(bytes)))
}

/// Writes a regular array or a scalar.
pub fn write_npy(value: &Value, ty: &ValueType) -> Result<Vec<u8>, FormatError> {
    if let Some(part) = flat::beyond_npy(ty) {
        return Err(FormatError::cannot_hold(format!(
            "a .npy file holds one regular array of numbers, and {ty} has {part}"
        ))
        .help("write it to .json or .npz"));
    }
    let mut bytes = Vec::new();
    flat::write(value, ty, &mut |_, array| {
        bytes = write_raw(&array.shape, &array.buffer);
        Ok(())
    })?;
    Ok(bytes)
}

struct OneFile<'a>(Option<&'a [u8]>);

impl Members for OneFile<'_> {
    fn array(&mut self, _path: &str, ty: ScalarType) -> Result<Raw, FormatError> {
        let bytes = self
            .0
            .take()
            .ok_or_else(|| FormatError::malformed("one file, one array"))?;
        read_raw(bytes, ty)
    }
}

/// The array in a file, whose elements must have a type.
pub(crate) fn read_raw(bytes: &[u8], ty: ScalarType) -> Result<Raw, FormatError> {
    let (header, data) = header::read(bytes)?;
    let endian = element_type(&header.descr, ty)?;
    let count = header
        .shape
        .iter()
        .try_fold(1usize, |product, size| product.checked_mul(*size));
    let wanted = count.and_then(|count| count.checked_mul(ty.bytes()));
    // A product can overflow before it meets a 0.
    let wanted = if header.shape.contains(&0) {
        Some(0)
    } else {
        wanted
    };
    match wanted {
        Some(wanted) if wanted == data.len() => {}
        Some(wanted) if wanted > data.len() => {
            return Err(FormatError::malformed(format!(
                "the file is cut short: its header says shape {}, which takes {wanted} bytes, and {} are there",
                tuple(&header.shape),
                data.len()
            )));
        }
        Some(wanted) => {
            return Err(FormatError::malformed(format!(
                "{} bytes follow the array of shape {}",
                data.len() - wanted,
                tuple(&header.shape)
            )));
        }
        None => {
            return Err(FormatError::malformed(format!(
                "the header says shape {}, which is larger than any memory",
                tuple(&header.shape)
            )));
        }
    }
    if wanted == Some(0) {
        let too_many = header.shape.iter().take_while(|size| **size > 0);
        let rows = too_many.fold(1usize, |product, size| product.saturating_mul(*size));
        if rows > MAX_EMPTY_ROWS {
            return Err(FormatError::malformed(format!(
                "the header says shape {}: that many rows without elements make no sense",
                tuple(&header.shape)
            )));
        }
    }
    let data = match header.order {
        Order::C => std::borrow::Cow::Borrowed(data),
        Order::Fortran => std::borrow::Cow::Owned(transposed(data, &header.shape, ty.bytes())),
    };
    Ok(Raw {
        shape: header.shape,
        buffer: decode(&data, ty, endian)?,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Endian {
    Little,
    Big,
}

/// The byte order of elements that have the type; an error that names both types where they have another.
fn element_type(descr: &str, expected: ScalarType) -> Result<Endian, FormatError> {
    let (order, kind) = match descr.strip_prefix(['<', '=', '|']) {
        Some(kind) => (Endian::Little, kind),
        None => match descr.strip_prefix('>') {
            Some(kind) => (Endian::Big, kind),
            None => (Endian::Little, descr),
        },
    };
    let found = match kind {
        "b1" | "?" => Some(ScalarType::Bool),
        "i1" => Some(ScalarType::I8),
        "i2" => Some(ScalarType::I16),
        "i4" => Some(ScalarType::I32),
        "i8" => Some(ScalarType::I64),
        "u1" => Some(ScalarType::U8),
        "u2" => Some(ScalarType::U16),
        "u4" => Some(ScalarType::U32),
        "u8" => Some(ScalarType::U64),
        "f4" => Some(ScalarType::F32),
        "f8" => Some(ScalarType::F64),
        _ => None,
    };
    if found == Some(expected) {
        return Ok(order);
    }
    let found = match (found, kind.chars().next()) {
        (Some(found), _) => found.to_string(),
        (None, Some('f')) => format!("floats of a size Almach does not have (NumPy type {descr})"),
        (None, Some('c')) => format!("complex numbers (NumPy type {descr})"),
        (None, Some('S' | 'U' | 'a')) => format!("strings (NumPy type {descr})"),
        (None, Some('O')) => "Python objects".to_owned(),
        (None, Some('M' | 'm')) => format!("dates or times (NumPy type {descr})"),
        (None, _) => format!("elements of the NumPy type {descr:?}"),
    };
    Err(FormatError::new(
        cli::ELEMENT_TYPE_MISMATCH,
        format!("expected elements of type {expected}, and the file holds {found}"),
    )
    .help(format!(
        "convert them in NumPy with `.astype(np.{})`",
        numpy_name(expected)
    )))
}

fn numpy_name(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::I8 => "int8",
        ScalarType::I16 => "int16",
        ScalarType::I32 => "int32",
        ScalarType::I64 => "int64",
        ScalarType::U8 => "uint8",
        ScalarType::U16 => "uint16",
        ScalarType::U32 => "uint32",
        ScalarType::U64 => "uint64",
        ScalarType::F32 => "float32",
        ScalarType::F64 => "float64",
        ScalarType::Bool => "bool_",
    }
}

fn descr_of(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::I8 => "|i1",
        ScalarType::I16 => "<i2",
        ScalarType::I32 => "<i4",
        ScalarType::I64 => "<i8",
        ScalarType::U8 => "|u1",
        ScalarType::U16 => "<u2",
        ScalarType::U32 => "<u4",
        ScalarType::U64 => "<u8",
        ScalarType::F32 => "<f4",
        ScalarType::F64 => "<f8",
        ScalarType::Bool => "|b1",
    }
}

/// A shape as Python prints it.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("({})", sizes.join(", "))
        }
    }
}

/// Elements with the first dimension varying fastest, brought into the order with the last one varying fastest.
fn transposed(data: &[u8], shape: &[usize], width: usize) -> Vec<u8> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = width;
    for size in shape {
        strides.push(stride);
        stride = stride.saturating_mul(*size);
    }
    let mut result = Vec::with_capacity(data.len());
    let mut index = vec![0usize; shape.len()];
    let mut at = 0;
    while let Some(element) = data.get(at..at + width) {
        result.extend_from_slice(element);
        if result.len() >= data.len() {
            break;
        }
        // Counts up like an odometer, the last dimension first.
        for dimension in (0..shape.len()).rev() {
            let (Some(digit), Some(size), Some(stride)) = (
                index.get_mut(dimension),
                shape.get(dimension),
                strides.get(dimension),
            ) else {
                break;
            };
            *digit += 1;
            at += stride;
            if *digit < *size {
                break;
            }
            at -= stride * *digit;
            *digit = 0;
        }
    }
    result
}

fn decode(data: &[u8], ty: ScalarType, endian: Endian) -> Result<Buffer, FormatError> {
    macro_rules! numbers {
        ($variant:ident, $rust:ty) => {{
            let (elements, _) = data.as_chunks();
            Buffer::$variant(match endian {
                Endian::Little => elements.iter().map(|e| <$rust>::from_le_bytes(*e)).collect(),
                Endian::Big => elements.iter().map(|e| <$rust>::from_be_bytes(*e)).collect(),
            })
        }};
    }
    Ok(match ty {
        ScalarType::I8 => numbers!(I8, i8),
        ScalarType::I16 => numbers!(I16, i16),
        ScalarType::I32 => numbers!(I32, i32),
        ScalarType::I64 => numbers!(I64, i64),
        ScalarType::U8 => numbers!(U8, u8),
        ScalarType::U16 => numbers!(U16, u16),
        ScalarType::U32 => numbers!(U32, u32),
        ScalarType::U64 => numbers!(U64, u64),
        ScalarType::F32 => numbers!(F32, f32),
        ScalarType::F64 => numbers!(F64, f64),
        ScalarType::Bool => {
            if let Some(other) = data.iter().find(|byte| **byte > 1) {
                return Err(FormatError::malformed(format!(
                    "a boolean is the byte {other}, and should be 0 or 1"
                )));
            }
            Buffer::Bool(data.iter().map(|byte| *byte == 1).collect())
        }
    })
}

/// The bytes of a file with an array.
pub(crate) fn write_raw(shape: &[usize], buffer: &Buffer) -> Vec<u8> {
    let mut bytes = header::write(descr_of(buffer.ty()), shape);
    macro_rules! numbers {
        ($values:expr) => {
            bytes.extend($values.iter().flat_map(|value| value.to_le_bytes()))
        };
    }
    match buffer {
        Buffer::I8(values) => numbers!(values),
        Buffer::I16(values) => numbers!(values),
        Buffer::I32(values) => numbers!(values),
        Buffer::I64(values) => numbers!(values),
        Buffer::U8(values) => numbers!(values),
        Buffer::U16(values) => numbers!(values),
        Buffer::U32(values) => numbers!(values),
        Buffer::U64(values) => numbers!(values),
        Buffer::F32(values) => numbers!(values),
        Buffer::F64(values) => numbers!(values),
        Buffer::Bool(values) => bytes.extend(values.iter().map(|value| u8::from(*value))),
    }
    bytes
}
