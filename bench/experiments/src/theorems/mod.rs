//! Theorems by brute force, where their instances are finite.

pub mod delay;
pub mod ldsf;
pub mod one_object;
pub mod vats;
