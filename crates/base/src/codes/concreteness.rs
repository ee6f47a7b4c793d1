//! `E06xx, W06xx`: what cannot be made concrete (monomorphic, first-order) during elaboration.

codes! {}
