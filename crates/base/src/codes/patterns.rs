//! `E05xx, W05xx`: patterns and cases.

codes! {}
