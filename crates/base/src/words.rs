//! Words of messages.

use std::fmt::Display;

/// A number of things: `1 thread`, `2 threads`.
pub fn counted(number: impl Display, thing: &str) -> String {
    let number = number.to_string();
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {thing}{plural}")
}
