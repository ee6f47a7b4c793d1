//! `E04xx, W04xx`: sizes of arrays.

codes! {}
