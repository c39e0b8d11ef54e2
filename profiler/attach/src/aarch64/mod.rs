//! Attaching is not supported on 64-bit ARM: what is here only says so.

pub mod frame;
pub mod registers;

/// Whether processes can be attached to here.
pub const SUPPORTED: bool = false;
