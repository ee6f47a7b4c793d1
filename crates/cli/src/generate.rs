//! Inputs for `almach bench`: the same ones for the same seed and sizes, on every machine.

use crate::failure::complaint;
use almach_base::codes::cli as codes;
use almach_base::{Diagnostic, Name};
use almach_value::{DimType, Scalar, ScalarType, Value, ValueType, collect};
use std::collections::HashMap;

/// `1000`, `n=100,m=20`, or both: `1000,m=20`.
pub struct Sizes {
    default: usize,
    named: HashMap<String, usize>,
}

impl Sizes {
    pub fn parse(text: &str) -> Result<Sizes, Diagnostic> {
        let mut sizes = Sizes {
            default: 1_000_000,
            named: HashMap::new(),
        };
        for part in text.split(',') {
            let (name, number) = match part.split_once('=') {
                Some((name, number)) => (Some(name.trim()), number),
                None => (None, part),
            };
            let number: usize = number.trim().parse().map_err(|_| {
                complaint(codes::BAD_OPTION, format!("`{part}` is not a size"))
                    .help("write a number, or `n=100,m=20` for named sizes")
            })?;
            match name {
                Some(name) => {
                    sizes.named.insert(name.to_owned(), number);
                }
                None => sizes.default = number,
            }
        }
        Ok(sizes)
    }

    /// None larger than that.
    pub fn at_most(self, most: usize) -> Sizes {
        let named = self.named.into_iter().map(|(name, size)| (name, size.min(most)));
        Sizes {
            default: self.default.min(most),
            named: named.collect(),
        }
    }

    /// Whether the text of an option gives a size for a name.
    pub fn gives(text: &str, name: &str) -> bool {
        text.split(',').any(|part| match part.split_once('=') {
            Some((given, _)) => given.trim() == name,
            None => true,
        })
    }

    fn of(&self, dim: &DimType) -> usize {
        match dim {
            DimType::Known(size) => usize::try_from(*size).unwrap_or(0),
            DimType::Named(name) => self.named.get(name.as_str()).copied().unwrap_or(self.default),
            DimType::Expression(_) | DimType::Unknown | DimType::Jagged => self.default,
        }
    }
}

/// A counter-based generator (SplitMix64): small, fast, reproducible.
pub struct Generator {
    state: u64,
    sizes: Sizes,
}

impl Generator {
    pub fn new(seed: u64, sizes: Sizes) -> Generator {
        Generator { state: seed, sizes }
    }

    /// A value of a parameter's type: floats in [0, 1), integers in [0, 100), arrays of the asked sizes.
    pub fn value(&mut self, param: &Name, ty: &ValueType) -> Result<Value, Diagnostic> {
        self.of(ty).ok_or_else(|| {
            complaint(
                codes::BAD_OPTION,
                format!("no input can be generated for the parameter `{param}`"),
            )
            .note(format!("its type is {ty}"))
            .help("give arguments on the command line")
        })
    }

    fn of(&mut self, ty: &ValueType) -> Option<Value> {
        match ty {
            ValueType::Scalar(scalar) => Some(Value::Scalar(self.scalar(*scalar))),
            ValueType::Vector(width, scalar) => {
                Some(Value::Vector((0..*width).map(|_| self.scalar(*scalar)).collect()))
            }
            ValueType::Tuple(parts) => self.tuple(parts.iter()),
            ValueType::Record(fields) => self.tuple(fields.iter().map(|(_, ty)| ty)),
            ValueType::Array(dim, element) => {
                let size = match dim {
                    DimType::Jagged => (self.next() % 20) as usize,
                    dim => self.sizes.of(dim),
                };
                let elements: Option<Vec<Value>> = (0..size).map(|_| self.of(element)).collect();
                collect(element, elements?).ok().map(Value::array)
            }
            ValueType::Sum(_) | ValueType::Recursive(_) => None,
        }
    }

    fn tuple<'a>(&mut self, parts: impl Iterator<Item = &'a ValueType>) -> Option<Value> {
        let parts: Option<Vec<Value>> = parts.map(|part| self.of(part)).collect();
        Some(Value::Tuple(parts?.into()))
    }

    fn scalar(&mut self, ty: ScalarType) -> Scalar {
        let bits = self.next();
        let small = bits % 100;
        match ty {
            ScalarType::F32 => Scalar::F32((bits >> 40) as f32 / (1u64 << 24) as f32),
            ScalarType::F64 => Scalar::F64((bits >> 11) as f64 / (1u64 << 53) as f64),
            ScalarType::Bool => Scalar::Bool(bits & 1 == 1),
            ScalarType::I8 => Scalar::I8(small as i8),
            ScalarType::I16 => Scalar::I16(small as i16),
            ScalarType::I32 => Scalar::I32(small as i32),
            ScalarType::I64 => Scalar::I64(small as i64),
            ScalarType::U8 => Scalar::U8(small as u8),
            ScalarType::U16 => Scalar::U16(small as u16),
            ScalarType::U32 => Scalar::U32(small as u32),
            ScalarType::U64 => Scalar::U64(small),
        }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
