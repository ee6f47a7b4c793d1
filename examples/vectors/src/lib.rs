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
//! `syntax` reads text to a tree; `compile` builds the program from it and from the table `functions.txt`.

mod compile;
mod syntax;

use std::ops::Range;

/// What is wanted, or a message and the bytes it is about.
type Made<T> = Result<T, (String, Range<usize>)>;

fn wrong<T>(message: impl Into<String>, place: &Range<usize>) -> Made<T> {
    Err((message.into(), place.clone()))
}

/// Compiles a program; `name` is what messages call it.
pub fn compile(name: &str, text: &str) -> Result<almach::Program, String> {
    let module = compile::program(name, text).map_err(|(message, place)| {
        let before = &text[..place.start];
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        format!("{name}:{}:{column}: {message}", before.matches('\n').count() + 1)
    })?;
    module.finish().map_err(|errors| errors.to_string())
}
