//! Values for parameters, as the command line takes them.

use super::Generator;
use crate::tree::{FIELDS, Size, Ty, constructor};
use almach_value::ScalarType;

/// Empty, one, primes, powers of two and their neighbours.
const SIZES: [usize; 10] = [0, 1, 2, 3, 4, 5, 8, 13, 16, 17];

impl Generator {
    pub(super) fn arguments(&mut self, params: &[(String, Ty)]) -> Vec<String> {
        let n = self.rng.pick(&SIZES).copied().unwrap_or(3);
        let m = self.rng.pick(&SIZES).copied().unwrap_or(2);
        params.iter().map(|(_, ty)| self.argument(ty, n, m)).collect()
    }

    fn argument(&mut self, ty: &Ty, n: usize, m: usize) -> String {
        let list = |this: &mut Generator, parts: &[Ty]| {
            parts
                .iter()
                .map(|part| this.argument(part, n, m))
                .collect::<Vec<_>>()
                .join(", ")
        };
        match ty {
            Ty::Scalar(scalar) => self.argument_scalar(*scalar),
            Ty::Wild(scalar) => self.argument_wild(*scalar),
            Ty::Tuple(parts) => format!("({})", list(self, parts)),
            Ty::Record(parts) => {
                let fields: Vec<String> = FIELDS
                    .iter()
                    .zip(parts)
                    .map(|(name, part)| format!("{name} = {}", self.argument(part, n, m)))
                    .collect();
                format!("{{{}}}", fields.join(", "))
            }
            Ty::Maybe(inner) => match self.rng.below(3) {
                0 => "None".to_owned(),
                _ => format!("Some ({})", self.argument(inner, n, m)),
            },
            Ty::Sum(constructors) => {
                let at = self.rng.below(constructors.len());
                let mut text = constructor(at);
                for field in constructors.get(at).into_iter().flatten() {
                    let field = self.argument(field, n, m);
                    match field.starts_with(['(', '[', '{']) {
                        true => text.push_str(&format!(" {field}")),
                        false => text.push_str(&format!(" ({field})")),
                    }
                }
                text
            }
            Ty::Array(size, element) => {
                let count = match size {
                    Size::Literal(count) => *count,
                    Size::Name(name) if name == "n" => n,
                    Size::Name(_) => m,
                };
                format!("[{}]", list(self, &vec![element.as_ref().clone(); count]))
            }
            Ty::Unknown(inner) => {
                let count = self.rng.below(4);
                format!("[{}]", list(self, &vec![inner.as_ref().clone(); count]))
            }
        }
    }

    /// Now and then an extreme.
    fn argument_scalar(&mut self, ty: ScalarType) -> String {
        let number = self.rng.below(20) as i64;
        match ty {
            ScalarType::Bool => if number < 10 { "true" } else { "false" }.to_owned(),
            ScalarType::F32 | ScalarType::F64 => format!("{}.0", number - 10),
            _ if number == 19 => least(ty).to_owned(),
            _ if number == 18 => greatest(ty).to_owned(),
            _ if ty.is_signed_integer() => (number - 10).to_string(),
            _ => number.to_string(),
        }
    }

    fn argument_wild(&mut self, ty: ScalarType) -> String {
        let odd = [
            "nan",
            "inf",
            "-inf",
            "-0.0",
            "1e30",
            "-1e-30",
            "0.1",
            "1e-42",
            "16777217.0",
        ];
        match self.rng.below(16) {
            at if at < odd.len() => odd.get(at).copied().unwrap_or("nan").to_owned(),
            at => format!(
                "{}",
                (at as f64 - 12.5) * if ty == ScalarType::F64 { 0.3 } else { 0.25 }
            ),
        }
    }
}

pub(super) fn least(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::I8 => "-128",
        ScalarType::I16 => "-32768",
        ScalarType::I32 => "-2147483648",
        ScalarType::I64 => "-9223372036854775808",
        _ => "0",
    }
}

pub(super) fn greatest(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::I8 => "127",
        ScalarType::I16 => "32767",
        ScalarType::I32 => "2147483647",
        ScalarType::I64 => "9223372036854775807",
        ScalarType::U8 => "255",
        ScalarType::U16 => "65535",
        ScalarType::U32 => "4294967295",
        _ => "18446744073709551615",
    }
}
