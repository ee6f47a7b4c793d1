//! `E09xx, W09xx`: the command line, its values and files.

codes! {}
