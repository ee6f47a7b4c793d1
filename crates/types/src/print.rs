//! Types as text, in the syntax they are written in.

use crate::tree::{Constraint, DataId, Dim, Program, Scheme, Size, Type, TypeVar, Var};
use almach_base::Name;
use std::fmt;

/// What a printer has to know about names. Solved and open metavariables are the business of the checker's own.
pub trait Names {
    fn data(&self, id: DataId) -> Name;

    fn type_var(&self, var: &TypeVar) -> String {
        format!("'{}", var.name)
    }

    fn size_var(&self, var: &Var) -> String {
        var.name.to_string()
    }

    fn reference(&self, _reference: u32) -> String {
        "node".to_string()
    }
}

impl Names for Program {
    fn data(&self, id: DataId) -> Name {
        self.data
            .get(id.0 as usize)
            .map_or_else(|| Name::from("?"), |data| data.name.clone())
    }
}

/// How tightly the text must hold together where it stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tightness {
    /// `t -> u` may stand here.
    Function,
    /// Left of an arrow: no bare function.
    Parameter,
    /// The element of an array: one thing, or another array.
    Element,
    /// An argument of a type: one thing.
    Atom,
}

pub fn type_text(ty: &Type, names: &dyn Names) -> String {
    Printed {
        ty,
        names,
        tightness: Tightness::Function,
    }
    .to_string()
}

pub fn size_text(size: &Size, names: &dyn Names) -> String {
    size.display(|var: &Var, f: &mut fmt::Formatter<'_>| f.write_str(&names.size_var(var)))
        .to_string()
}

/// `dot [n] : [n]f32 -> [n]f32 -> f32`, with a comment for what type variables must be.
pub fn scheme_text(name: &Name, scheme: &Scheme, ty: &Type, names: &dyn Names) -> String {
    let mut text = name.to_string();
    for size in &scheme.sizes {
        text.push_str(&format!(" [{}]", names.size_var(size)));
    }
    text.push_str(" : ");
    text.push_str(&type_text(ty, names));
    let constraints: Vec<String> = scheme
        .types
        .iter()
        .filter_map(|(var, constraint)| {
            Some(format!(
                "{} {}",
                names.type_var(var),
                constraint_text(*constraint)?
            ))
        })
        .collect();
    if !constraints.is_empty() {
        text.push_str(&format!("  -- {}", constraints.join(", ")));
    }
    text
}

/// `is a number`, …; none for any type.
pub fn constraint_text(constraint: Constraint) -> Option<&'static str> {
    Some(match constraint {
        Constraint::Any => return None,
        Constraint::Equality => "has equality",
        Constraint::Order => "has an order",
        Constraint::Scalar => "is a number or bool",
        Constraint::Number => "is a number",
        Constraint::Bits => "is an integer or bool",
        Constraint::Integer => "is an integer",
        Constraint::Float => "is a float",
    })
}

struct Printed<'a> {
    ty: &'a Type,
    names: &'a dyn Names,
    tightness: Tightness,
}

impl<'a> Printed<'a> {
    fn part(&self, ty: &'a Type, tightness: Tightness) -> Printed<'a> {
        Printed {
            ty,
            names: self.names,
            tightness,
        }
    }

    fn parenthesised(
        &self,
        loosest: Tightness,
        f: &mut fmt::Formatter<'_>,
        write: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result,
    ) -> fmt::Result {
        if self.tightness > loosest {
            f.write_str("(")?;
            write(f)?;
            f.write_str(")")
        } else {
            write(f)
        }
    }

    fn named(
        &self,
        prefix: &str,
        data: DataId,
        args: &'a [Type],
        reference: Option<&'a Type>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let write = |f: &mut fmt::Formatter<'_>| {
            write!(f, "{prefix}{}", self.names.data(data))?;
            for arg in args {
                write!(f, " {}", self.part(arg, Tightness::Atom))?;
            }
            if let Some(reference) = reference {
                write!(f, " over {}", self.part(reference, Tightness::Atom))?;
            }
            Ok(())
        };
        if args.is_empty() && reference.is_none() {
            write(f)
        } else {
            self.parenthesised(Tightness::Parameter, f, write)
        }
    }
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty {
            Type::Scalar(scalar) => write!(f, "{scalar}"),
            Type::Vector(width, element) => self.parenthesised(Tightness::Parameter, f, |f| {
                write!(
                    f,
                    "vec {} {}",
                    size_text(width, self.names),
                    self.part(element, Tightness::Atom)
                )
            }),
            Type::Tuple(parts) => {
                f.write_str("(")?;
                for (at, part) in parts.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", self.part(part, Tightness::Function))?;
                }
                f.write_str(")")
            }
            Type::Record(fields) => {
                f.write_str("{")?;
                for (at, (name, ty)) in fields.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{name}: {}", self.part(ty, Tightness::Function))?;
                }
                f.write_str("}")
            }
            Type::Array(dim, element) => self.parenthesised(Tightness::Element, f, |f| {
                match dim {
                    Dim::Size(size) => match size_text(size, self.names).as_str() {
                        "_" => f.write_str("[]")?,
                        text => write!(f, "[{text}]")?,
                    },
                    Dim::Unknown => f.write_str("[?]")?,
                }
                write!(f, "{}", self.part(element, Tightness::Element))
            }),
            Type::Data(data, args) => self.named("", *data, args, None, f),
            Type::Node {
                data,
                args,
                reference,
            } => self.named("#", *data, args, Some(reference), f),
            Type::Reference(reference) => f.write_str(&self.names.reference(*reference)),
            Type::Function(function) => self.parenthesised(Tightness::Function, f, |f| {
                match &function.binder {
                    Some(binder) => write!(
                        f,
                        "({}: {})",
                        self.names.size_var(binder),
                        self.part(&function.param, Tightness::Function)
                    )?,
                    None => write!(f, "{}", self.part(&function.param, Tightness::Parameter))?,
                }
                write!(f, " -> {}", self.part(&function.result, Tightness::Function))
            }),
            Type::Var(var) => f.write_str(&self.names.type_var(var)),
        }
    }
}
