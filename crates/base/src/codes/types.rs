//! `E03xx, W03xx`: types.

codes! {}
