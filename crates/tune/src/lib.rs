//! The search for a fast program (Lin, chapter 6): from a program without annotations to others of the same value that run
//! otherwise.
//!
//! - [`space`]: what can be decided otherwise, and the program for given decisions.
//! - [`effects`](mod@effects): effects put on operations, so that they compose.
//! - [`cost`]: how long a program takes, estimated from its Imp and the sizes of its arguments.
//! - [`search`]: at random, or from better to better by the cost.
//! - [`picture`]: the distribution of times, as text and as SVG.
//!
//! Nothing is measured here: this room touches neither files nor processes.

pub mod cost;
mod effects;
pub mod picture;
mod random;
pub mod search;
pub mod space;

pub use cost::{Cost, Estimate};
pub use picture::{Picture, Reference};
pub use search::{Candidate, Found, Origin, heuristic, random};
pub use space::{Change, Drawn, Made, Space, Variant};
