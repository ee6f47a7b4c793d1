//! Almach as a library: parse, check, compile, run and inspect data-parallel functional programs in memory.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use almach::{Program, Value};
//!
//! let program = Program::almach("entry main [n] (xs: [n]f32) (ys: [n]f32): f32 = reduce (+) 0 (map (*) xs ys)")?;
//! let machine = program.interpreter()?;
//! let xs = [1.0f32, 2.0, 3.0];
//! let dot = machine.call("main", &[Value::from(&xs), Value::from([4.0f32, 5.0, 6.0])])?;
//! assert_eq!(dot.scalar::<f32>(), Some(32.0));
//! # Ok(())
//! # }
//! ```
//!
//! A [`Program`] is checked: what is wrong with its text comes back as [`Errors`], which know their places and print as the
//! command line prints them. [`Program::interpreter`] runs it by its definition, [`Program::compile`] makes a library of it with the
//! system's C compiler ([`Settings`]); both give a [`Machine`], which any number of threads may call at once.
//! [`Program::stage`] shows what the compiler made of it at each step and [`Program::c`] gives the files to put into another
//! program. [`build`] makes programs without text, for compilers of other languages.
//!
//! Nothing here prints, reads the command line or keeps state between calls. Only [`Program::compile`] touches files (the
//! folder of compiled libraries) and starts a process (the C compiler).

pub mod build;
mod error;
mod machine;
mod outside;
mod program;
mod settings;
mod stack;
mod types;
mod value;

pub use almach_driver::{Files, NoFiles};
pub use almach_value::ScalarType;
pub use error::{Errors, Problem, Severity};
pub use machine::Machine;
pub use outside::{NothingOutside, Outside};
pub use program::{C, Program, Signature, Stage};
pub use settings::{Settings, Target, UnknownPass, passes};
pub use types::{Entry, Param, Type};
pub use value::{Element, ShapeError, Value};
