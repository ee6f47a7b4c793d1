//! Programs without text, for compilers of other languages.
//!
//! A [`Module`] collects definitions; [`Module::finish`] checks them as if they had been read. What is built means what the same
//! Almach source means, so `docs/language.md` is the reference; every built-in and every function of the prelude has its name there.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use almach::build::{Module, Operator, Ty, call, float, operator, var};
//! use almach::{ScalarType, Value};
//!
//! let vector = || Ty::sized("n", Ty::F32);
//! let products = call("map", [operator(Operator::Mul), var("xs"), var("ys")]);
//! let sum = call("reduce", [operator(Operator::Add), float(0.0, ScalarType::F32), products]);
//! let program = Module::new("dot")
//!     .entry("main", [("xs", vector()), ("ys", vector())], Ty::F32, sum)
//!     .finish()?;
//! let arrays = [Value::from([1.0f32, 2.0]), Value::from([3.0f32, 4.0])];
//! assert_eq!(program.interpreter()?.call("main", &arrays)?.scalar::<f32>(), Some(11.0));
//! # Ok(())
//! # }
//! ```
//!
//! Errors point into the text that a program was built from: [`Module::source`] gives that text, and `at` of every part the
//! bytes it comes from.

mod expr;
mod module;
mod pattern;
mod ty;

pub use expr::{
    Expr, Operator, apply, array, assert, boolean, call, case, coerce, constructor, float, if_, int, lambda,
    let_, let_rec, loop_for, loop_while, operator, quote, select, tuple, var,
};
pub use module::{Module, Sizes};
pub use pattern::Pattern;
pub use ty::Ty;

use almach_base::{Name, Span};
use almach_driver::load::ROOT;
use almach_syntax::ast;
use std::ops::Range;

/// Where a part comes from.
fn span(place: Range<usize>) -> Span {
    Span::new(ROOT, place.start, place.end.max(place.start))
}

fn ident(name: &str) -> ast::Ident {
    ast::Ident {
        name: Name::from(name),
        span: NOWHERE,
    }
}

/// `x`, or `M.x`, which nothing built needs.
fn path(name: &str) -> ast::Path {
    ast::Path {
        qualifier: None,
        name: ident(name),
        span: NOWHERE,
    }
}

/// The start of the text, for parts that do not say where they come from.
const NOWHERE: Span = Span {
    file: ROOT,
    start: 0,
    end: 0,
};
