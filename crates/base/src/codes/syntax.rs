//! `E01xx, W01xx`: what the lexer and the parsers refuse.

codes! {}
