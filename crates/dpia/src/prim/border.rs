//! The types of what reaches outside of a program: C functions, and `trace`.

use almach_value::{DimType, ForeignType, ScalarType, ValueType};

/// `(n0: nat) -> exp[n0.f64] -> acc[some k0'. k0'.f64] -> comm`.
pub(super) fn foreign_scheme(function: &ForeignType) -> Option<String> {
    let (mut sizes, mut chosen) = (Sizes::new("n"), Sizes::new("k"));
    let mut params = String::new();
    for param in &function.params {
        params.push_str(&format!("exp[{}] -> ", sizes.passed(param)?));
    }
    let result = chosen.passed(&function.result)?;
    let result = match chosen.names().as_slice() {
        [] => result,
        names => format!("some {}. {result}", names.join(" ")),
    };
    Some(format!("{}{params}acc[{result}] -> comm", sizes.binders()))
}

/// `(n0: nat) -> exp[n0.f64] -> comm`.
pub(super) fn trace_scheme(ty: &ValueType) -> Option<String> {
    let mut sizes = Sizes::new("n");
    let data = sizes.passed(ty)?;
    Some(format!("{}exp[{data}] -> comm", sizes.binders()))
}

/// Types at the border as data types, with a size of its own for every array.
struct Sizes {
    stem: &'static str,
    count: usize,
}

impl Sizes {
    fn new(stem: &'static str) -> Sizes {
        Sizes { stem, count: 0 }
    }

    fn names(&self) -> Vec<String> {
        (0..self.count).map(|at| format!("{}{at}'", self.stem)).collect()
    }

    fn binders(&self) -> String {
        self.names()
            .iter()
            .map(|name| format!("({name}: nat) -> "))
            .collect()
    }

    fn tuple(&mut self, parts: Vec<String>) -> String {
        match parts.as_slice() {
            [one] => format!("({one},)"),
            _ => format!("({})", parts.join(", ")),
        }
    }

    fn fresh(&mut self) -> String {
        let name = format!("{}{}'", self.stem, self.count);
        self.count += 1;
        name
    }

    /// What passes a value: itself, or where it has rows of their own sizes a tuple of columns.
    ///
    /// ```text
    /// [n](i32, [?]f32)   is   (n.i32, (n + 1).i64, k.f32)
    /// ```
    fn passed(&mut self, ty: &ValueType) -> Option<String> {
        if !ty.has_rows() {
            return self.data(ty);
        }
        let mut columns = Vec::new();
        self.columns(ty, None, &mut columns)?;
        Some(self.tuple(columns))
    }

    /// The columns of a value, or of that many.
    fn columns(&mut self, ty: &ValueType, many: Option<&str>, columns: &mut Vec<String>) -> Option<()> {
        let times = |size: String| match many {
            None => size,
            Some(many) => format!("({many} * {size})"),
        };
        match ty {
            _ if !ty.has_rows() => {
                let data = self.data(ty)?;
                columns.push(match many {
                    None => data,
                    Some(many) => format!("{many}.{data}"),
                });
                Some(())
            }
            ValueType::Array(DimType::Jagged, element) => {
                if let Some(many) = many {
                    columns.push(format!("({many} + 1).i64"));
                }
                let size = self.fresh();
                self.columns(element, Some(&size), columns)
            }
            ValueType::Array(_, element) => {
                let size = times(self.fresh());
                self.columns(element, Some(&size), columns)
            }
            ValueType::Tuple(parts) => parts
                .iter()
                .try_for_each(|part| self.columns(part, many, columns)),
            ValueType::Record(fields) => fields
                .iter()
                .try_for_each(|(_, part)| self.columns(part, many, columns)),
            ValueType::Sum(sum) => {
                self.columns(&ValueType::Scalar(ScalarType::U32), many, columns)?;
                for constructor in &sum.constructors {
                    let fields = ValueType::Tuple(constructor.fields.clone());
                    self.columns(&fields, many, columns)?;
                }
                Some(())
            }
            ValueType::Scalar(_) | ValueType::Vector(..) | ValueType::Recursive(_) => None,
        }
    }

    fn data(&mut self, ty: &ValueType) -> Option<String> {
        Some(match ty {
            ValueType::Scalar(scalar) => scalar.to_string(),
            ValueType::Vector(width, scalar) => format!("{scalar}<{width}>"),
            ValueType::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.data(part)).collect::<Option<_>>()?;
                self.tuple(parts)
            }
            ValueType::Record(fields) => {
                let parts = fields
                    .iter()
                    .map(|(_, part)| self.data(part))
                    .collect::<Option<_>>()?;
                self.tuple(parts)
            }
            ValueType::Array(_, element) => {
                let name = self.fresh();
                format!("{name}.{}", self.data(element)?)
            }
            // A sum is its tag and the fields of every constructor.
            ValueType::Sum(sum) => {
                let mut parts = vec![ScalarType::U32.to_string()];
                for constructor in &sum.constructors {
                    let fields = constructor
                        .fields
                        .iter()
                        .map(|field| self.data(field))
                        .collect::<Option<_>>()?;
                    parts.push(self.tuple(fields));
                }
                self.tuple(parts)
            }
            ValueType::Recursive(_) => return None,
        })
    }
}
