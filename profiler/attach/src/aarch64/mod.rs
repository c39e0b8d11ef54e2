//! Attaching is not supported on 64-bit ARM: every function here returns that error.

pub mod frame;
pub mod registers;

/// Whether processes can be attached to here.
pub const SUPPORTED: bool = false;
