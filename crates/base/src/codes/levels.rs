//! `E07xx, W07xx`: levels, effects and other annotations.

codes! {}
