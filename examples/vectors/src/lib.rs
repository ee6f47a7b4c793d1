//! A small vector language in the manner of R, compiled through the crate `almach`: an example of a front end.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let program = almach_vectors::compile("main.r", "main <- function(x) sqrt(mean((x - mean(x)) ^ 2))")?;
//! let deviation = program.interpreter()?.call("main", &[[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into()])?;
//! assert_eq!(deviation.scalar::<f64>(), Some(2.0));
//! # Ok(())
//! # }
//! ```
//!
//! A program is a list of `name <- function(…) body`; `main` is what can be called. Values are numbers (doubles), logicals
//! and vectors of them. Arithmetic, comparisons and most functions work on whole vectors; a number meets every element of a
//! vector, and two vectors must have one length. `main`'s parameters are vectors of numbers, or numbers where they are written `k: number`.
//!
//! [`syntax`] reads text to a tree. [`compile`](compile::program) gives every expression a kind (a number, a vector of logicals, …), which
//! decides where a `map` stands, and builds the program; functions are expanded where they are called.

mod compile;
mod syntax;

use std::fmt;
use std::ops::Range;

/// What is wrong with a program.
#[derive(Debug)]
pub enum Error {
    /// In this language.
    Here {
        message: String,
        line: usize,
        column: usize,
    },
    /// Found by Almach; it points into the same text.
    Almach(almach::Errors),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Here {
                message,
                line,
                column,
            } => write!(f, "{line}:{column}: {message}"),
            Error::Almach(errors) => errors.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// A message, and the bytes it is about.
struct Wrong {
    message: String,
    place: Range<usize>,
}

/// Compiles a program; `name` is what messages call it.
pub fn compile(name: &str, text: &str) -> Result<almach::Program, Error> {
    let module = compile::program(name, text).map_err(|wrong| {
        let before = text.get(..wrong.place.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Error::Here {
            message: wrong.message,
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or("").chars().count() + 1,
        }
    })?;
    module.finish().map_err(Error::Almach)
}
