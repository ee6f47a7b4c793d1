//! Types and sizes in the surface syntax.

use crate::items::Printer;
use crate::parts::{Part, part};
use almach_core::{DataId, Dim, Size, Type, Var};
use almach_nat::{Atom, Monomial, Ratio, UnfoldedOp};
use almach_value::ValueType;

/// The field of a record that stands for a tuple of one component.
pub(crate) const ONLY_FIELD: &str = "item";

/// What a size that has no name here is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unnamed {
    /// `[]`: left to inference, a size of its own.
    Inferred,
    /// `[?]` where the array itself has it: unknown to whoever sees the type only.
    Unknown,
}

/// How a type is to be written.
pub(crate) struct Writing<'w> {
    /// Sizes that cannot be named.
    pub hidden: &'w dyn Fn(&Var) -> bool,
    pub unnamed: Unnamed,
}

impl Printer<'_> {
    /// The type; none where it has no surface syntax (node values).
    pub fn ty(&self, ty: &Type, border: Option<&ValueType>, writing: &Writing<'_>) -> Option<String> {
        self.type_at(ty, border, writing, 0)
    }

    fn type_at(
        &self,
        ty: &Type,
        border: Option<&ValueType>,
        writing: &Writing<'_>,
        depth: u32,
    ) -> Option<String> {
        Some(match ty {
            Type::Scalar(ty) => ty.to_string(),
            Type::Vector(width, ty) => format!("(vec {width} {ty})"),
            Type::Tuple(parts) => {
                let mut texts = Vec::with_capacity(parts.len());
                for (at, part) in parts.iter().enumerate() {
                    let border = component(border, at).map(|(_, ty)| ty);
                    texts.push(self.type_at(part, border, writing, depth)?);
                }
                tuple_type(&texts, border)
            }
            Type::Array(dim, element) => {
                let border = match border {
                    Some(ValueType::Array(_, element)) => Some(&**element),
                    _ => None,
                };
                let element = self.type_at(element, border, writing, depth + 1)?;
                format!("[{}]{element}", self.dim(dim, writing, depth))
            }
            Type::Data(id) => self.data_type(*id),
            Type::Node(_) => return None,
        })
    }

    /// A data type; that of a sum in nodes says what it holds there.
    fn data_type(&self, id: DataId) -> String {
        let name = |id| self.names.data(id);
        match part(self.program, id) {
            Some(Part::Whole { of, declared }) => format!("({} {})", name(declared), name(of)),
            Some(Part::Positions { .. }) => format!("({} i64)", name(id)),
            None => name(id).to_owned(),
        }
    }

    fn dim(&self, dim: &Dim, writing: &Writing<'_>, depth: u32) -> String {
        match dim {
            Dim::Jagged if depth == 0 => String::new(),
            Dim::Jagged => "?".to_owned(),
            Dim::Size(size) => {
                let hidden = size.occurrences().any(writing.hidden);
                let named = if hidden { None } else { self.size(size) };
                named.unwrap_or_else(|| match writing.unnamed {
                    Unnamed::Unknown if depth == 0 => "?".to_owned(),
                    Unnamed::Unknown | Unnamed::Inferred => String::new(),
                })
            }
        }
    }

    /// The size in the syntax of sizes; none where it has none (remainders).
    pub fn size(&self, size: &Size) -> Option<String> {
        let terms = size.terms();
        let mut ordered: Vec<&(Monomial<Var>, i64)> = terms.iter().collect();
        // A size begins with no sign.
        ordered.sort_by_key(|(_, coefficient)| *coefficient < 0);
        let mut text = String::new();
        for (at, (monomial, coefficient)) in ordered.into_iter().enumerate() {
            let term = self.term(monomial, coefficient.checked_abs()?)?;
            text.push_str(match (at, *coefficient < 0) {
                (0, false) => "",
                (0, true) => "0 - ",
                (_, false) => " + ",
                (_, true) => " - ",
            });
            text.push_str(&term);
        }
        Some(if text.is_empty() { "0".to_owned() } else { text })
    }

    fn term(&self, monomial: &Monomial<Var>, coefficient: i64) -> Option<String> {
        let mut factors = Vec::new();
        if coefficient != 1 || monomial.is_one() {
            factors.push(coefficient.to_string());
        }
        for (atom, power) in monomial.factors() {
            let factor = match atom {
                Atom::Var(var) => self.names.var(var).to_owned(),
                Atom::Quotient(ratio) => self.quotient(ratio)?,
                Atom::Unfolded(operation) => {
                    let sign = match operation.op {
                        UnfoldedOp::Sum => "+",
                        UnfoldedOp::Product => "*",
                    };
                    format!(
                        "({} {sign} {})",
                        self.operand(&operation.left)?,
                        self.operand(&operation.right)?
                    )
                }
                Atom::Remainder(_) => return None,
            };
            for _ in 0..*power {
                factors.push(factor.clone());
            }
        }
        Some(factors.join(" * "))
    }

    fn quotient(&self, ratio: &Ratio<Var>) -> Option<String> {
        if ratio.divisor.is_zero() {
            return None;
        }
        Some(format!(
            "({} / {})",
            self.operand(&ratio.dividend)?,
            self.operand(&ratio.divisor)?
        ))
    }

    fn operand(&self, size: &Size) -> Option<String> {
        let text = self.size(size)?;
        let is_simple = size.as_var().is_some() || size.as_constant().is_some();
        Some(if is_simple { text } else { format!("({text})") })
    }
}

/// The name and type of a component at the border.
pub(crate) fn component(border: Option<&ValueType>, at: usize) -> Option<(Option<&str>, &ValueType)> {
    match border? {
        ValueType::Tuple(parts) => parts.get(at).map(|ty| (None, ty)),
        ValueType::Record(fields) => fields.get(at).map(|(name, ty)| (Some(name.as_str()), ty)),
        _ => None,
    }
}

pub(crate) fn tuple_type(parts: &[String], border: Option<&ValueType>) -> String {
    match (border, parts) {
        (Some(ValueType::Record(fields)), _) if fields.len() == parts.len() => {
            let fields = fields.iter().zip(parts);
            let fields: Vec<String> = fields.map(|((name, _), ty)| format!("{name}: {ty}")).collect();
            format!("{{{}}}", fields.join(", "))
        }
        (_, [only]) => format!("{{{ONLY_FIELD}: {only}}}"),
        _ => format!("({})", parts.join(", ")),
    }
}
