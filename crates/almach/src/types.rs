//! Entry points and the types of what goes in and out.

use crate::Value;
use almach_core::Entry as CoreEntry;
use almach_value::{Extent, ValueType, conforms, parse, print};
use std::fmt;

/// The type of a value at an entry point, printed as the language writes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Type(pub(crate) ValueType);

impl Type {
    /// Reads a value of this type from text in the language's syntax.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let program = almach::Program::almach("entry main (xs: [](i32, bool)): i64 = length xs")?;
    /// let entry = program.entry("main").ok_or("no main")?;
    /// let value = entry.params[0].ty.read("[(1, true), (2, false)]")?;
    /// assert_eq!(program.interpreter()?.call("main", &[value])?.scalar::<i64>(), Some(2));
    /// # Ok(())
    /// # }
    /// ```
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let value = parse(text, &self.0).map_err(|error| error.to_string())?;
        Ok(Value(value))
    }

    /// A value of this type as text in the language's syntax; why not, where it has another type.
    pub fn show(&self, value: &Value) -> Result<String, String> {
        conforms(&value.0, &self.0).map_err(|wrong| wrong.to_string())?;
        Ok(print(&value.0, &self.0, Extent::Full))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A parameter of an entry point.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    pub name: String,
    pub ty: Type,
}

/// An entry point: what can be called.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    pub name: String,
    pub params: Vec<Param>,
    pub result: Type,
}

impl Entry {
    pub(crate) fn of(entry: &CoreEntry) -> Entry {
        Entry {
            name: entry.name.to_string(),
            params: entry
                .params
                .iter()
                .map(|(name, ty)| Param {
                    name: name.to_string(),
                    ty: Type(ty.clone()),
                })
                .collect(),
            result: Type(entry.result.clone()),
        }
    }
}
