//! What operations weigh: the numbers that the rules of this crate and the search (`almach-tune`) share.

use almach_value::{BinOp, UnOp};

/// What an operation over an array of unknown size, a loop or a call is taken to repeat.
pub const UNKNOWN: u64 = 256;

/// Scalar operations that are done again rather than written to memory.
pub const LITTLE: u64 = 4;

/// Work below which starting threads costs more than it brings, in scalar operations.
pub const WORTH_THREADS: u64 = 1 << 15;

pub fn unary(op: UnOp) -> u64 {
    match op {
        UnOp::Sqrt | UnOp::Rsqrt => 4,
        op if op.is_transcendental() => 16,
        _ => 1,
    }
}

pub fn binary(op: BinOp) -> u64 {
    match op {
        BinOp::Div | BinOp::Rem => 4,
        BinOp::Pow | BinOp::Atan2 | BinOp::Hypot => 16,
        _ => 1,
    }
}
