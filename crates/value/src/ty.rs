//! Types of values as the border sees them: with the names of records' fields and of constructors.

use crate::{NodeReferences, References, ScalarType};
use almach_base::Name;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// A type of values: monomorphic, without functions. Core erases records to tuples; this keeps the names, so that
/// values can be read and printed as the user wrote them.
#[derive(Clone, PartialEq, Debug)]
pub enum ValueType {
    Scalar(ScalarType),
    /// `vec n t`.
    Vector(u32, ScalarType),
    /// `()` is the empty tuple.
    Tuple(Vec<ValueType>),
    Record(Vec<(Name, ValueType)>),
    Array(DimType, Box<ValueType>),
    Sum(Arc<SumType>),
    /// A reference to an enclosing [`SumType`] by name (recursive types).
    Recursive(Name),
}

/// One dimension of an array type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DimType {
    Known(i64),
    /// A size variable of the entry: equal names are equal sizes.
    Named(Name),
    /// An expression over named sizes, as text for messages; checked by the program itself.
    Expression(String),
    /// `[]` or the unknown size of a result.
    Unknown,
    /// `?`: each row has its own.
    Jagged,
}

/// A sum with its type arguments filled in. `name` is what the user would write: `Maybe f32`.
#[derive(Clone, PartialEq, Debug)]
pub struct SumType {
    pub name: Name,
    pub constructors: Vec<Constructor>,
    /// Whether it is part of the values around it although it mentions their type: no datum of its own.
    pub part: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Constructor {
    pub name: Name,
    pub fields: Vec<ValueType>,
}

impl ValueType {
    pub fn unit() -> ValueType {
        ValueType::Tuple(Vec::new())
    }

    pub fn array(dim: DimType, element: ValueType) -> ValueType {
        ValueType::Array(dim, Box::new(element))
    }

    /// Whether there are rows of their own sizes.
    pub fn has_rows(&self) -> bool {
        match self {
            ValueType::Scalar(_) | ValueType::Vector(..) | ValueType::Recursive(_) => false,
            ValueType::Tuple(parts) => parts.iter().any(ValueType::has_rows),
            ValueType::Record(fields) => fields.iter().any(|(_, field)| field.has_rows()),
            ValueType::Array(DimType::Jagged, _) => true,
            ValueType::Array(_, element) => element.has_rows(),
            ValueType::Sum(sum) => {
                let fields = sum
                    .constructors
                    .iter()
                    .flat_map(|constructor| &constructor.fields);
                fields.into_iter().any(ValueType::has_rows)
            }
        }
    }
}

impl SumType {
    /// Whether its values are recursive data: it mentions itself, or a sum around it (through which it comes back).
    pub fn is_recursive(&self) -> bool {
        !self.part && self.mentions_outside(&mut Vec::new())
    }

    /// Whether it mentions a sum that is not in `inside`.
    fn mentions_outside<'t>(&'t self, inside: &mut Vec<&'t Name>) -> bool {
        self.constructors
            .iter()
            .flat_map(|constructor| &constructor.fields)
            .any(|field| type_mentions_outside(field, inside))
    }

    /// Whether there is a reference to a sum of this name in it.
    pub fn mentions(&self, name: &Name) -> bool {
        let fields = self.constructors.iter().flat_map(|it| &it.fields);
        fields.into_iter().any(|field| mentions(field, name))
    }

    pub fn constructor(&self, name: &str) -> Option<(u32, &Constructor)> {
        (0..)
            .zip(&self.constructors)
            .find(|(_, c)| c.name.as_str() == name)
    }

    /// Where node values of this type hold references to nodes of their table.
    pub fn references(&self) -> NodeReferences {
        let field_references = |constructor: &Constructor| {
            constructor
                .fields
                .iter()
                .map(|field| references(field, &self.name))
                .collect()
        };
        self.constructors.iter().map(field_references).collect()
    }
}

fn mentions(ty: &ValueType, wanted: &Name) -> bool {
    match ty {
        ValueType::Scalar(_) | ValueType::Vector(..) => false,
        ValueType::Tuple(components) => components.iter().any(|it| mentions(it, wanted)),
        ValueType::Record(fields) => fields.iter().any(|(_, field)| mentions(field, wanted)),
        ValueType::Array(_, element) => mentions(element, wanted),
        ValueType::Sum(sum) => sum.mentions(wanted),
        ValueType::Recursive(name) => name == wanted,
    }
}

fn type_mentions_outside<'t>(ty: &'t ValueType, inside: &mut Vec<&'t Name>) -> bool {
    match ty {
        ValueType::Scalar(_) | ValueType::Vector(..) => false,
        ValueType::Tuple(components) => components.iter().any(|c| type_mentions_outside(c, inside)),
        ValueType::Record(fields) => fields.iter().any(|(_, f)| type_mentions_outside(f, inside)),
        ValueType::Array(_, element) => type_mentions_outside(element, inside),
        ValueType::Sum(sum) => {
            inside.push(&sum.name);
            let found = sum.mentions_outside(inside);
            inside.pop();
            found
        }
        ValueType::Recursive(name) => !inside.contains(&name),
    }
}

fn references(ty: &ValueType, sum: &Name) -> References {
    let some = |all: Vec<References>| match all.iter().all(References::is_none) {
        true => References::None,
        false => References::Tuple(all),
    };
    match ty {
        ValueType::Recursive(name) if name == sum => References::Position,
        ValueType::Scalar(_) | ValueType::Vector(..) | ValueType::Recursive(_) => References::None,
        // What another recursive type holds is whole.
        ValueType::Sum(other) if !other.part => References::None,
        ValueType::Sum(other) => {
            let constructors = other.constructors.iter();
            let constructors: NodeReferences = constructors
                .map(|it| it.fields.iter().map(|field| references(field, sum)).collect())
                .collect();
            match constructors.iter().flatten().all(References::is_none) {
                true => References::None,
                false => References::Sum(constructors),
            }
        }
        ValueType::Tuple(components) => some(components.iter().map(|c| references(c, sum)).collect()),
        ValueType::Record(fields) => some(fields.iter().map(|(_, f)| references(f, sum)).collect()),
        ValueType::Array(_, element) => match references(element, sum) {
            References::None => References::None,
            inside => References::Array(Box::new(inside)),
        },
    }
}

/// A type seen from inside the sums around it, so that [`ValueType::Recursive`] can be followed.
#[derive(Clone, Debug)]
pub struct Scoped<'t> {
    pub ty: &'t ValueType,
    scope: Option<Rc<Scope<'t>>>,
}

#[derive(Debug)]
struct Scope<'t> {
    sum: &'t Arc<SumType>,
    outer: Option<Rc<Scope<'t>>>,
}

/// A sum type found where a [`Scoped`] type stands.
#[derive(Clone, Debug)]
pub struct ScopedSum<'t> {
    pub sum: &'t Arc<SumType>,
    inside: Rc<Scope<'t>>,
}

impl<'t> Scoped<'t> {
    pub fn new(ty: &'t ValueType) -> Scoped<'t> {
        Scoped { ty, scope: None }
    }

    /// A part of this type (a component, a field, an element).
    pub fn part(&self, ty: &'t ValueType) -> Scoped<'t> {
        Scoped {
            ty,
            scope: self.scope.clone(),
        }
    }

    /// The sum this is, also by way of a reference to one around it.
    pub fn sum(&self) -> Option<ScopedSum<'t>> {
        match self.ty {
            ValueType::Sum(sum) => Some(ScopedSum {
                sum,
                inside: Rc::new(Scope {
                    sum,
                    outer: self.scope.clone(),
                }),
            }),
            ValueType::Recursive(name) => {
                let mut scope = self.scope.as_ref();
                while let Some(level) = scope {
                    if level.sum.name == *name {
                        return Some(ScopedSum {
                            sum: level.sum,
                            inside: Rc::clone(level),
                        });
                    }
                    scope = level.outer.as_ref();
                }
                None
            }
            _ => None,
        }
    }
}

impl<'t> ScopedSum<'t> {
    /// The type of a field.
    pub fn field(&self, constructor: u32, field: usize) -> Option<Scoped<'t>> {
        let ty = self
            .sum
            .constructors
            .get(constructor as usize)?
            .fields
            .get(field)?;
        Some(Scoped {
            ty,
            scope: Some(Rc::clone(&self.inside)),
        })
    }
}

impl fmt::Display for DimType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DimType::Known(size) => write!(f, "[{size}]"),
            DimType::Named(name) => write!(f, "[{name}]"),
            DimType::Expression(text) => write!(f, "[{text}]"),
            DimType::Unknown => f.write_str("[]"),
            DimType::Jagged => f.write_str("[?]"),
        }
    }
}

/// As users write types; a sum by its name.
impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueType::Scalar(ty) => write!(f, "{ty}"),
            ValueType::Vector(width, ty) => write!(f, "vec {width} {ty}"),
            ValueType::Tuple(components) => {
                let texts: Vec<String> = components.iter().map(ValueType::to_string).collect();
                write!(f, "({})", texts.join(", "))
            }
            ValueType::Record(fields) => {
                let texts: Vec<String> = fields.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
                write!(f, "{{{}}}", texts.join(", "))
            }
            ValueType::Array(dim, element) => match &**element {
                ValueType::Vector(..) => write!(f, "{dim}({element})"),
                ValueType::Sum(sum) if sum.name.contains(' ') => write!(f, "{dim}({element})"),
                _ => write!(f, "{dim}{element}"),
            },
            ValueType::Sum(sum) => write!(f, "{}", sum.name),
            ValueType::Recursive(name) => write!(f, "{name}"),
        }
    }
}
