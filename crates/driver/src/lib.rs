//! The pipeline as functions: source text in, any stage out. No files, no processes, no printing.

pub mod back;
pub mod front;
pub mod load;
pub mod tests;

pub use front::{Extra, ExtraKind, Front, front};
pub use load::{Files, Loaded, NoFiles, load};
