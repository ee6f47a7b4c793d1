//! `E08xx`: errors of a running program.

codes! {}
