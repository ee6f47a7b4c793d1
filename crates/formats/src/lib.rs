//! Values in files: `.npy` and `.npz` (NumPy's), JSON, and text. Everything here is pure: bytes in, values out, and the
//! other way round. Files come from anywhere, so nothing in them is trusted: no size is believed before as many bytes
//! have been seen, and nothing makes the reader panic or recurse without bound.

mod error;
mod flat;
mod json;
mod npy;
mod npz;
mod table;
mod text;

pub use error::FormatError;
pub use json::{read_json, write_json};
pub use npy::{read_npy, write_npy};
pub use npz::{read_npz, write_npz};
pub use text::{read_text, write_text};
