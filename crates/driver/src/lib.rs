//! The pipeline as functions: source text in, any stage out. No files, no processes, no printing.

pub mod back;
pub mod explain;
pub mod foreign;
pub mod front;
pub mod load;
pub mod source;
pub mod tests;
pub mod updates;

pub use almach_imp::interface::Entry as NativeEntry;
pub use front::{Extra, ExtraKind, Front, front};
pub use load::{Files, Language, Loaded, NoFiles, load, load_built};
