//! The frame of a function just called: its return address is in a register.

use gimli::{AArch64, Register};

/// The stack pointer in frame descriptions.
pub(crate) const STACK_POINTER: Register = AArch64::SP;
/// What the canonical frame address is above it.
pub(crate) const CALLED_OFFSET: u64 = 0;
