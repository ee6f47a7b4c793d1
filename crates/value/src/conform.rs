//! Whether a value is one of a type, sizes included.

use crate::ty::Scoped;
use crate::{ArrayValue, DimType, Elements, Value, ValueType};
use almach_base::Name;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Sizes that named dimensions have been seen to have.
pub type Sizes = HashMap<Name, i64>;

/// Where a value is not of its type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nonconformity {
    /// From the whole value to the part: `.x[3].1`; empty for the whole.
    pub path: String,
    pub expected: String,
    pub found: String,
}

impl fmt::Display for Nonconformity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "at {}: ", self.path)?;
        }
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

/// Whether a value is one of a type. Named sizes must agree within the value.
pub fn conforms(value: &Value, ty: &ValueType) -> Result<(), Nonconformity> {
    conforms_with(value, ty, &mut Sizes::new())
}

/// As [`conforms`], with the sizes other values gave to names; those of this value are added.
pub fn conforms_with(value: &Value, ty: &ValueType, sizes: &mut Sizes) -> Result<(), Nonconformity> {
    let mut check = Check {
        sizes,
        steps: Vec::new(),
        pending: vec![Pending {
            value: value.clone(),
            ty: Scoped::new(ty),
            path: None,
        }],
        seen: HashSet::new(),
    };
    while let Some(next) = check.pending.pop() {
        check.value(next)?;
    }
    Ok(())
}

/// A step from a value to a part of it, with the steps before.
struct Step {
    before: Option<usize>,
    text: String,
}

struct Pending<'t> {
    value: Value,
    ty: Scoped<'t>,
    path: Option<usize>,
}

struct Check<'t, 's> {
    sizes: &'s mut Sizes,
    steps: Vec<Step>,
    pending: Vec<Pending<'t>>,
    /// Data already looked at, with the type they were looked at: tables may be cyclic.
    seen: HashSet<(crate::datum::NodeIdentity, usize)>,
}

impl<'t> Check<'t, '_> {
    fn step(&mut self, before: Option<usize>, text: String) -> Option<usize> {
        self.steps.push(Step { before, text });
        Some(self.steps.len() - 1)
    }

    fn path(&self, mut at: Option<usize>) -> String {
        let mut texts = Vec::new();
        while let Some(step) = at.and_then(|at| self.steps.get(at)) {
            texts.push(step.text.as_str());
            at = step.before;
        }
        texts.reverse();
        texts.concat()
    }

    fn wrong(&self, next: &Pending<'_>, found: String) -> Nonconformity {
        Nonconformity {
            path: self.path(next.path),
            expected: next.ty.ty.to_string(),
            found,
        }
    }

    fn value(&mut self, next: Pending<'t>) -> Result<(), Nonconformity> {
        match (&next.value, next.ty.ty) {
            (Value::Scalar(scalar), ValueType::Scalar(ty)) if scalar.ty() == *ty => Ok(()),
            (Value::Vector(lanes), ValueType::Vector(width, ty))
                if lanes.len() == *width as usize && lanes.iter().all(|lane| lane.ty() == *ty) =>
            {
                Ok(())
            }
            (Value::Tuple(fields), ValueType::Tuple(types)) if fields.len() == types.len() => {
                // Backwards, so that the first is looked at first.
                for (index, (field, ty)) in fields.iter().zip(types).enumerate().rev() {
                    self.part(&next, field.clone(), ty, format!(".{index}"));
                }
                Ok(())
            }
            (Value::Tuple(fields), ValueType::Record(types)) if fields.len() == types.len() => {
                for (field, (name, ty)) in fields.iter().zip(types).rev() {
                    self.part(&next, field.clone(), ty, format!(".{name}"));
                }
                Ok(())
            }
            (Value::Array(array), ValueType::Array(dim, element)) => {
                self.dimension(&next, dim, array.len)?;
                self.elements(&next, array, element)
            }
            (Value::Sum(_) | Value::Datum(_), ValueType::Sum(_) | ValueType::Recursive(_)) => self.sum(next),
            (value, _) => Err(self.wrong(&next, value.kind().to_owned())),
        }
    }

    fn part(&mut self, whole: &Pending<'t>, value: Value, ty: &'t ValueType, step: String) {
        let path = self.step(whole.path, step);
        self.pending.push(Pending {
            value,
            ty: whole.ty.part(ty),
            path,
        });
    }

    fn dimension(&mut self, next: &Pending<'_>, dim: &DimType, len: usize) -> Result<(), Nonconformity> {
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        let expected = match dim {
            DimType::Known(size) => *size,
            DimType::Named(name) => *self.sizes.entry(name.clone()).or_insert(len),
            DimType::Expression(_) | DimType::Unknown | DimType::Jagged => return Ok(()),
        };
        if expected == len {
            return Ok(());
        }
        let named = match dim {
            DimType::Named(name) => format!(" ({name} is {expected} elsewhere)"),
            _ => String::new(),
        };
        Err(Nonconformity {
            path: self.path(next.path),
            expected: format!("{expected} elements{named}"),
            found: len.to_string(),
        })
    }

    /// Checks all elements of an array at once where they are flat, one by one where they are boxed.
    fn elements(
        &mut self,
        next: &Pending<'t>,
        array: &ArrayValue,
        element: &'t ValueType,
    ) -> Result<(), Nonconformity> {
        match (&array.elements, element) {
            (Elements::Scalars(buffer), ValueType::Scalar(ty)) if buffer.ty() == *ty => Ok(()),
            (Elements::Vectors { width, lanes }, ValueType::Vector(lane_count, ty))
                if *width == *lane_count as usize && lanes.ty() == *ty =>
            {
                Ok(())
            }
            (Elements::Tuples(parts), ValueType::Tuple(types)) if parts.len() == types.len() => parts
                .iter()
                .zip(types)
                .try_for_each(|(part, ty)| self.elements(next, part, ty)),
            (Elements::Tuples(parts), ValueType::Record(fields)) if parts.len() == fields.len() => parts
                .iter()
                .zip(fields)
                .try_for_each(|(part, (_, ty))| self.elements(next, part, ty)),
            (Elements::Rows { row, inner }, ValueType::Array(dim, ty)) if *dim != DimType::Jagged => {
                // Without rows their size is nothing that could disagree.
                if array.len > 0 {
                    self.dimension(next, dim, *row)?;
                }
                self.elements(next, inner, ty)
            }
            (Elements::Jagged { inner, .. }, ValueType::Array(DimType::Jagged, ty)) => {
                self.elements(next, inner, ty)
            }
            (Elements::Boxed(values), ValueType::Sum(_) | ValueType::Recursive(_)) => {
                for (index, value) in values.iter().enumerate().rev() {
                    self.part(next, value.clone(), element, format!("[{index}]"));
                }
                Ok(())
            }
            _ => Err(Nonconformity {
                path: self.path(next.path),
                expected: format!("elements of type {element}"),
                found: format!("elements of type {}", array.element_shape()),
            }),
        }
    }

    fn sum(&mut self, next: Pending<'t>) -> Result<(), Nonconformity> {
        let Some(sum) = next.ty.sum() else {
            return Err(self.wrong(&next, "a type without a definition".to_owned()));
        };
        let (constructor, fields) = match &next.value {
            Value::Sum(value) if !sum.sum.is_recursive() => (value.constructor, value.fields.clone()),
            Value::Datum(datum) if sum.sum.is_recursive() => {
                let key = (datum.identity(), std::sync::Arc::as_ptr(sum.sum) as usize);
                if datum.is_shared() && !self.seen.insert(key) {
                    return Ok(());
                }
                (datum.constructor(), datum.fields())
            }
            value => return Err(self.wrong(&next, value.kind().to_owned())),
        };
        let Some(definition) = sum.sum.constructors.get(constructor as usize) else {
            return Err(self.wrong(&next, format!("constructor number {constructor}")));
        };
        if definition.fields.len() != fields.len() {
            let found = format!("{} with {} fields", definition.name, fields.len());
            return Err(self.wrong(&next, found));
        }
        for (index, field) in fields.into_iter().enumerate().rev() {
            let Some(ty) = sum.field(constructor, index) else {
                continue;
            };
            let path = self.step(next.path, format!(".{}.{index}", definition.name));
            self.pending.push(Pending {
                value: field,
                ty,
                path,
            });
        }
        Ok(())
    }
}
