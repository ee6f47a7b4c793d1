//! `E02xx, W02xx`: names, imports and modules.

codes! {}
