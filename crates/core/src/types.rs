//! Helpers on types: making them, walking their sizes, opening and closing jagged dimensions, and printing.

use crate::ir::{DataDef, DataId, Dim, ResultType, Size, Type, Var};
use almach_nat::Poly;
use almach_value::ScalarType;
use std::fmt;

impl Type {
    pub const I64: Type = Type::Scalar(ScalarType::I64);
    pub const BOOL: Type = Type::Scalar(ScalarType::Bool);

    pub fn unit() -> Type {
        Type::Tuple(Vec::new())
    }

    /// `[size]element`.
    pub fn array(size: Size, element: Type) -> Type {
        Type::Array(Dim::Size(size), Box::new(element))
    }

    /// `[?]element`.
    pub fn jagged(element: Type) -> Type {
        Type::Array(Dim::Jagged, Box::new(element))
    }

    /// Whether values of the type are held by one machine word or vector register.
    pub fn is_scalar(&self) -> bool {
        matches!(self, Type::Scalar(_))
    }

    /// Whether values of the type are a scalar, or a tuple of them.
    pub fn is_scalars(&self) -> bool {
        match self {
            Type::Scalar(_) => true,
            Type::Tuple(parts) => parts.iter().all(Type::is_scalars),
            Type::Vector(..) | Type::Array(..) | Type::Data(_) | Type::Node(_) => false,
        }
    }

    /// Calls `visit` on every dimension, from the outside in, tuples from left to right.
    pub fn for_each_dim<'t>(&'t self, visit: &mut dyn FnMut(&'t Dim)) {
        match self {
            Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => {}
            Type::Tuple(parts) => parts.iter().for_each(|part| part.for_each_dim(visit)),
            Type::Array(dim, element) => {
                visit(dim);
                element.for_each_dim(visit);
            }
        }
    }

    /// The same type with every dimension replaced.
    pub fn map_dims(&self, replace: &mut dyn FnMut(&Dim) -> Dim) -> Type {
        match self {
            Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => self.clone(),
            Type::Tuple(parts) => Type::Tuple(parts.iter().map(|part| part.map_dims(replace)).collect()),
            Type::Array(dim, element) => {
                let dim = replace(dim);
                Type::Array(dim, Box::new(element.map_dims(replace)))
            }
        }
    }

    /// The same type with variables in sizes replaced.
    pub fn substitute(&self, replacement: &dyn Fn(&Var) -> Option<Size>) -> Type {
        self.map_dims(&mut |dim| match dim {
            Dim::Size(size) => Dim::Size(substitute_size(size, replacement)),
            Dim::Jagged => Dim::Jagged,
        })
    }

    /// Calls `visit` on every occurrence of a variable in a size.
    pub fn for_each_size_var<'t>(&'t self, visit: &mut dyn FnMut(&'t Var)) {
        self.for_each_dim(&mut |dim| {
            if let Dim::Size(size) = dim {
                size.occurrences().for_each(&mut *visit);
            }
        });
    }

    pub fn mentions(&self, wanted: &dyn Fn(&Var) -> bool) -> bool {
        let mut found = false;
        self.for_each_size_var(&mut |var| found |= wanted(var));
        found
    }

    /// Replaces the jagged dimensions that have no array around them by sizes from `fresh`: what an element of a
    /// jagged array, or a field of a constructor, is once it is taken out.
    pub fn open(&self, fresh: &mut dyn FnMut() -> Var) -> Type {
        match self {
            Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => self.clone(),
            Type::Tuple(parts) => Type::Tuple(parts.iter().map(|part| part.open(fresh)).collect()),
            Type::Array(Dim::Size(_), _) => self.clone(),
            Type::Array(Dim::Jagged, element) => Type::Array(Dim::Size(Size::var(fresh())), element.clone()),
        }
    }

    /// How many sizes [`Type::open`] asks for.
    pub fn open_count(&self) -> usize {
        match self {
            Type::Scalar(_) | Type::Vector(..) | Type::Data(_) | Type::Node(_) => 0,
            Type::Tuple(parts) => parts.iter().map(Type::open_count).sum(),
            Type::Array(Dim::Size(_), _) => 0,
            Type::Array(Dim::Jagged, _) => 1,
        }
    }

    /// Makes every dimension jagged that mentions a variable `bound` by each iteration: the rows of a `map`'s result.
    pub fn close(&self, bound: &dyn Fn(&Var) -> bool) -> Type {
        self.map_dims(&mut |dim| match dim {
            Dim::Size(size) if !size.occurrences().any(bound) => Dim::Size(size.clone()),
            Dim::Size(_) | Dim::Jagged => Dim::Jagged,
        })
    }

    /// Printed with the names of `data`.
    pub fn display<'t>(&'t self, data: &'t [DataDef]) -> impl fmt::Display + 't {
        TypeDisplay { ty: self, data }
    }
}

/// Replaces variables in a size; cheap where none of them is replaced.
pub fn substitute_size(size: &Size, replacement: &dyn Fn(&Var) -> Option<Size>) -> Size {
    if size.occurrences().all(|var| replacement(var).is_none()) {
        return size.clone();
    }
    size.substitute(replacement)
}

/// A size provably not negative: a sum of products of things that are not negative, where `n - m*(n/m)` is a remainder.
pub fn provably_not_negative<V: Ord + Clone>(size: &Poly<V>, not_negative: &dyn Fn(&V) -> bool) -> bool {
    let is_sum = |size: &Poly<V>| sum_is_not_negative(size, not_negative);
    is_sum(size) || size.terms().iter().any(|(_, factor)| *factor < 0) && is_sum(&size.with_remainders())
}

fn sum_is_not_negative<V: Ord + Clone>(size: &Poly<V>, not_negative: &dyn Fn(&V) -> bool) -> bool {
    size.terms().iter().all(|(monomial, coefficient)| {
        *coefficient >= 0
            && monomial.factors().iter().all(|(atom, power)| {
                power % 2 == 0
                    || match atom {
                        almach_nat::Atom::Var(var) => not_negative(var),
                        almach_nat::Atom::Quotient(ratio) => {
                            provably_not_negative(&ratio.dividend, not_negative)
                                && provably_not_negative(&ratio.divisor, not_negative)
                        }
                        almach_nat::Atom::Remainder(ratio) => {
                            provably_not_negative(&ratio.divisor, not_negative)
                        }
                        almach_nat::Atom::Unfolded(operation) => {
                            provably_not_negative(&operation.left, not_negative)
                                && provably_not_negative(&operation.right, not_negative)
                        }
                    }
            })
    })
}

impl ResultType {
    /// One value, no context.
    pub fn one(ty: Type) -> ResultType {
        ResultType {
            context: Vec::new(),
            types: vec![ty],
        }
    }
}

struct TypeDisplay<'t> {
    ty: &'t Type,
    data: &'t [DataDef],
}

impl fmt::Display for TypeDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = |ty| TypeDisplay { ty, data: self.data };
        let name = |f: &mut fmt::Formatter<'_>, id: &DataId| match self.data.get(id.0 as usize) {
            Some(def) => write!(f, "{}", def.name),
            None => write!(f, "data_{}", id.0),
        };
        match self.ty {
            Type::Scalar(ty) => write!(f, "{ty}"),
            Type::Vector(width, ty) => write!(f, "vec {width} {ty}"),
            Type::Tuple(parts) => {
                write!(f, "(")?;
                for (at, part) in parts.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", inner(part))?;
                }
                // One comma tells a tuple of one from a type in parentheses.
                write!(f, "{})", if parts.len() == 1 { "," } else { "" })
            }
            Type::Array(Dim::Size(size), element) => write!(f, "[{size}]{}", inner(element)),
            Type::Array(Dim::Jagged, element) => write!(f, "[?]{}", inner(element)),
            Type::Data(id) => name(f, id),
            Type::Node(id) => {
                write!(f, "#")?;
                name(f, id)
            }
        }
    }
}
