//! What an interpreted program asks of its surroundings, and whether the answers fit.

use crate::types::Type;
use crate::value::Value;
use almach_base::Name;
use almach_base::codes::runtime::FOREIGN_FAILED;
use almach_core::interp::{ForeignError, Host, border_type};
use almach_core::{Dim, ForeignDef, Program as Core, Type as CoreType};
use almach_value::{DimType, Sizes, ValueType, conforms_with};

/// What an interpreted program asks of its surroundings.
pub trait Outside {
    /// `trace "label" value` was evaluated.
    fn trace(&mut self, label: &str, value: &Value, ty: &Type) {
        let _ = (label, value, ty);
    }

    /// Calls a foreign function; the error says why that is not possible.
    fn foreign(&mut self, name: &str, args: &[Value]) -> Result<Value, String> {
        let _ = args;
        Err(format!("the foreign function `{name}` is not linked"))
    }
}

/// Ignores traces and knows no foreign functions.
#[derive(Clone, Copy, Default, Debug)]
pub struct NothingOutside;

impl Outside for NothingOutside {}

/// The caller's answers, for the interpreter.
pub(crate) struct Asking<'a> {
    pub outside: &'a mut dyn Outside,
    /// The data types and foreign functions of the program.
    pub core: &'a Core,
}

impl Host for Asking<'_> {
    fn trace(&mut self, label: &str, value: &almach_value::Value, ty: &ValueType) {
        self.outside
            .trace(label, &Value(value.clone()), &Type(ty.clone()));
    }

    fn foreign(
        &mut self,
        function: &ForeignDef,
        args: Vec<almach_value::Value>,
    ) -> Result<Vec<almach_value::Value>, ForeignError> {
        let args: Vec<Value> = args.into_iter().map(Value).collect();
        let answer = self.outside.foreign(&function.name, &args).and_then(|value| {
            self.fits(function, &args, &value)?;
            Ok(vec![value.0])
        });
        answer.map_err(|message| ForeignError {
            code: FOREIGN_FAILED,
            message,
        })
    }
}

impl Asking<'_> {
    /// A result must be of its type, with the sizes that the arguments give it.
    fn fits(&self, function: &ForeignDef, args: &[Value], value: &Value) -> Result<(), String> {
        let mut sizes = Sizes::default();
        for (param, arg) in function.params.iter().zip(args) {
            let ty = named_type(&param.ty, self.core)?;
            conforms_with(&arg.0, &ty, &mut sizes).map_err(|wrong| wrong.to_string())?;
        }
        let [result] = function.result.types.as_slice() else {
            return Err(format!("`{}` has several results", function.name));
        };
        let ty = named_type(result, self.core)?;
        conforms_with(&value.0, &ty, &mut sizes).map_err(|wrong| {
            format!(
                "the foreign function `{}` gave a value that is not of its type `{ty}`: {wrong}",
                function.name
            )
        })
    }
}

/// A type at the border whose sizes keep their variables.
fn named_type(ty: &CoreType, core: &Core) -> Result<ValueType, String> {
    Ok(match (ty, border_type(ty, core)?) {
        (CoreType::Array(dim, element), ValueType::Array(border, _)) => {
            let dim = match (dim, border) {
                (Dim::Size(size), DimType::Unknown) => match size.as_var() {
                    Some(var) => DimType::Named(Name::from(format!("{}_{}", var.name, var.id))),
                    None => return Err("a size that is computed can only be had from linked C".to_owned()),
                },
                (_, border) => border,
            };
            ValueType::array(dim, named_type(element, core)?)
        }
        (CoreType::Tuple(parts), ValueType::Tuple(_)) => {
            let parts: Result<Vec<_>, _> = parts.iter().map(|part| named_type(part, core)).collect();
            ValueType::Tuple(parts?)
        }
        (_, border) => border,
    })
}
