//! Emitted C as running code: the system's C compiler, a cache of what it made, and calls into the libraries.
//!
//! Besides the command line this is the one crate that touches files and processes. Only [`raw`] is unsafe.

mod cache;
mod entry;
mod kernel_text;
mod library;
#[allow(
    unsafe_code,
    reason = "loading a library and calling functions in it is unsafe by nature"
)]
mod raw;
mod toolchain;

pub use almach_emit::Interface;
pub use kernel_text::kernel_text;
pub use library::{Account, Argument, Idle, KernelTime, Library, Output};
pub use toolchain::{Compiled, Origin, Toolchain};
