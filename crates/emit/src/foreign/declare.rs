//! What the header says of C functions: the parameters of each, and the structs of their tuples and sums.

use crate::tree::scalar_c_name;
use almach_value::{DimType, ScalarType, ValueType};
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    In,
    /// Into a function for kernels, which gets arrays in the device's memory.
    InKernel,
    Out,
}

/// The parameters that pass a value.
pub(super) fn declare(ty: &ValueType, name: &str, way: Way, structs: &mut Structs, params: &mut Vec<String>) {
    let star = if way == Way::Out { "*" } else { "" };
    match ty {
        ValueType::Scalar(scalar) => params.push(format!("{} {star}{name}", plain(*scalar))),
        ValueType::Vector(_, scalar) => {
            let fixed = if way == Way::Out { "" } else { "const " };
            params.push(format!("{fixed}{} *{name}", scalar_c_name(*scalar)));
        }
        ValueType::Array(..) => {
            let mut names = Names::of(name);
            for cells in array_cells(ty) {
                let Some(name) = names.next(cells) else {
                    continue;
                };
                let pointer = |cell: &str| match way {
                    Way::In => format!("const {cell} *{name}"),
                    Way::InKernel => format!("GLOBAL const {cell} *{name}"),
                    Way::Out => format!("{cell} **{name}"),
                };
                params.push(match cells {
                    Cells::Size | Cells::Total => format!("int64_t {star}{name}"),
                    Cells::Offsets => pointer("int64_t"),
                    Cells::Data(ScalarType::Bool) if way == Way::InKernel => pointer("uint8_t"),
                    Cells::Data(scalar) => pointer(scalar_c_name(scalar)),
                });
            }
        }
        _ if is_nothing(ty) => {}
        _ => params.push(format!("struct {} {star}{name}", structs.name(ty))),
    }
}

/// Whether a value takes no parameter: it is a tuple of nothing.
pub(super) fn is_nothing(ty: &ValueType) -> bool {
    parts(ty).is_some_and(|parts| parts.into_iter().all(is_nothing))
}

/// Names of what passes an array: `x_size`, `x_offsets`, `x_data`, then `x_size_2`, `x_offsets_2`, `x_data_1`.
pub(super) struct Names<'n> {
    name: &'n str,
    sizes: usize,
    offsets: usize,
    data: usize,
}

impl Names<'_> {
    pub(super) fn of(name: &str) -> Names<'_> {
        Names {
            name,
            sizes: 0,
            offsets: 0,
            data: 0,
        }
    }

    /// None for what C has no name for.
    pub(super) fn next(&mut self, cells: Cells) -> Option<String> {
        let numbered = |what: &str, number: usize, first: usize| match number == first {
            true => format!("{}_{what}", self.name),
            false => format!("{}_{what}_{number}", self.name),
        };
        Some(match cells {
            Cells::Size => {
                self.sizes += 1;
                numbered("size", self.sizes, 1)
            }
            Cells::Offsets => {
                self.offsets += 1;
                numbered("offsets", self.offsets, 1)
            }
            Cells::Data(_) => {
                self.data += 1;
                numbered("data", self.data - 1, 0)
            }
            Cells::Total => return None,
        })
    }
}

/// A scalar as C functions take it.
pub(super) fn plain(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::Bool => "int",
        other => scalar_c_name(other),
    }
}

static TAG: ValueType = ValueType::Scalar(ScalarType::U32);

/// The components of a tuple or record; a sum is the number of its constructor and the fields of all constructors.
pub(super) fn parts(ty: &ValueType) -> Option<Vec<&ValueType>> {
    match ty {
        ValueType::Tuple(parts) => Some(parts.iter().collect()),
        ValueType::Record(fields) => Some(fields.iter().map(|(_, field)| field).collect()),
        ValueType::Sum(sum) => {
            let fields = sum
                .constructors
                .iter()
                .flat_map(|constructor| &constructor.fields);
            Some(std::iter::once(&TAG).chain(fields).collect())
        }
        ValueType::Scalar(_) | ValueType::Vector(..) | ValueType::Array(..) | ValueType::Recursive(_) => None,
    }
}

/// One slot of an array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cells {
    Size,
    /// Where rows of their own sizes begin and end.
    Offsets,
    /// The number of elements of all rows: the last offset, so that C needs no parameter for it.
    Total,
    Data(ScalarType),
}

/// The slots of an array.
pub(super) fn array_cells(ty: &ValueType) -> Vec<Cells> {
    #[derive(Clone, Copy, PartialEq)]
    enum Inside {
        Nothing,
        Array,
    }
    fn walk(ty: &ValueType, inside: Inside, cells: &mut Vec<Cells>) {
        match ty {
            ValueType::Array(DimType::Jagged, element) if inside == Inside::Array => {
                cells.extend([Cells::Offsets, Cells::Total]);
                walk(element, Inside::Array, cells);
            }
            ValueType::Array(_, element) => {
                cells.push(Cells::Size);
                walk(element, Inside::Array, cells);
            }
            ValueType::Scalar(scalar) | ValueType::Vector(_, scalar) => cells.push(Cells::Data(*scalar)),
            other => {
                for part in parts(other).unwrap_or_default() {
                    walk(part, inside, cells);
                }
            }
        }
    }
    let mut cells = Vec::new();
    walk(ty, Inside::Nothing, &mut cells);
    cells
}

/// Structs of tuples. They are named after their types, so that several headers, and files of the user's, may define them.
#[derive(Default)]
pub(super) struct Structs {
    known: BTreeSet<String>,
    pub(super) text: String,
}

impl Structs {
    /// The struct of a tuple, which is defined where it was not yet.
    fn name(&mut self, ty: &ValueType) -> String {
        let name = struct_name(ty);
        if self.known.insert(name.clone()) {
            let mut fields = Vec::new();
            for (at, part) in parts(ty).unwrap_or_default().into_iter().enumerate() {
                self.field(part, &format!("v{at}"), &mut fields);
            }
            let guard = name.to_ascii_uppercase();
            let fields: String = fields.iter().map(|field| format!("  {field};\n")).collect();
            self.text.push_str(&format!(
                "#ifndef {guard}\n#define {guard}\nstruct {name} {{\n{fields}}};\n#endif\n\n"
            ));
        }
        name
    }

    fn field(&mut self, ty: &ValueType, name: &str, fields: &mut Vec<String>) {
        match ty {
            ValueType::Array(..) => {
                let mut names = Names::of(name);
                for cells in array_cells(ty) {
                    let Some(name) = names.next(cells) else {
                        continue;
                    };
                    fields.push(match cells {
                        Cells::Size | Cells::Total => format!("int64_t {name}"),
                        Cells::Offsets => format!("int64_t *{name}"),
                        Cells::Data(scalar) => format!("{} *{name}", scalar_c_name(scalar)),
                    });
                }
            }
            ValueType::Vector(width, scalar) => {
                fields.push(format!("{} {name}[{width}]", scalar_c_name(*scalar)));
            }
            other => declare(other, name, Way::In, self, fields),
        }
    }
}

/// `almach_tuple_i32_f64`.
pub(super) fn struct_name(ty: &ValueType) -> String {
    fn code(ty: &ValueType) -> String {
        match ty {
            ValueType::Array(DimType::Jagged, element) => format!("rows_{}", code(element)),
            ValueType::Array(_, element) => format!("array_{}", code(element)),
            ValueType::Scalar(scalar) => scalar.to_string(),
            ValueType::Vector(width, scalar) => format!("vec{width}_{scalar}"),
            other => {
                let parts: Vec<String> = parts(other).unwrap_or_default().into_iter().map(code).collect();
                format!("tuple_{}_end", parts.join("_"))
            }
        }
    }
    let name = format!("almach_{}", code(ty));
    name.strip_suffix("_end").map_or(name.clone(), str::to_owned)
}
