//! Normal sizes: every size in a type is written with the variables that nothing defines.
//!
//! ```text
//! let m: i64 = n * 2i64             let m: i64 = n * 2i64
//! let xs: [m]i64 = iota m      =>   let xs: [2*n]i64 = iota m
//! in xs                             in xs
//! ```
//!
//! It stands last. What later rooms make of a program depends on how its sizes are written; so two programs that differ in
//! that only become one, in particular a program and what its own source elaborates to.
//!
//! Removes: variables from types that are sums and products of others. Introduces: nothing.

use crate::facts::Facts;
use crate::{Log, Pass};
use almach_core::visit::{WalkMut, walk_function_mut};
use almach_core::{Program, Type};

pub const PASS: Pass = Pass {
    name: "normal-sizes",
    description: "writes sizes in their normal form",
    run,
};

pub fn run(mut program: Program, _: &mut Log) -> Program {
    let mut normal = Normal(Facts::of(&program));
    for function in &mut program.functions {
        walk_function_mut(&mut normal, function);
    }
    program
}

struct Normal(Facts);

impl WalkMut for Normal {
    fn ty(&mut self, ty: &mut Type) {
        *ty = self.0.env.normalise(ty);
    }
}
