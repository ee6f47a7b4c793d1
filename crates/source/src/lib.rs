//! Core as Almach source: what `almach emit --stage strategy` shows. Compiling the text again gives the same program up
//! to names, because every Core operation has a surface name and its annotation fixes it (design, section 2).
//!
//! ```text
//! fun dot {n} (xs: [n]f32, ys: [n]f32): f32 =            entry dot [n] (xs: [n]f32) (ys: [n]f32): f32 =
//!   let ps: [n]f32 = map@par (\(x: f32, y: f32): f32 ->    let ps = map@par (\x y -> let p = x * y in p) xs ys
//!     let p: f32 = x * y in p) xs ys                  =>   let s = reduce@seq (\a b -> let c = a + b in c) 0.0f32 ps
//!   let s: f32 = reduce@seq (\(a: f32, b: f32): f32 ->     in s
//!     let c: f32 = a + b in c) 0.0f32 ps
//!   in s
//! ```
//!
//! - Contexts are implicit in the surface language. A size that only an operation knows (`filter`) gets its name from
//!   the value that has it: `let k = length ys`, or `let [k] (ys: [n][k]t) = …` where no array has it outermost.
//! - Several results are a tuple. A tuple of one component is a record of one field.
//! - Records are tuples in Core; where the border shows records (entries, fields of constructors) `:>` goes from one to
//!   the other.
//! - What Core knows about sizes and the type checker might not is said with `:>`, which costs nothing where it is provable.

mod bodies;
mod items;
mod names;
mod operations;
mod parts;
mod records;
mod scalars;
mod types;
mod uses;

use almach_base::FileId;
use almach_core::Program;
use almach_syntax::format_file;
use std::collections::HashSet;

pub use names::is_keyword;

/// The source of a program. No name in it is one of `taken` (those of the prelude).
pub fn program_to_source(program: &Program, taken: &HashSet<String>) -> String {
    let text = items::Printer::new(program, taken).program();
    // What does not parse is a bug that its reader should see as it is.
    format_file(FileId(0), &text).unwrap_or(text)
}
