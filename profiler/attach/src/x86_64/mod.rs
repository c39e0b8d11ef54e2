//! Everything of this crate that knows x86-64.

pub mod frame;
pub mod registers;

/// Whether processes can be attached to here.
pub const SUPPORTED: bool = true;
