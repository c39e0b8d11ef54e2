//! The frame of a function just called: its return address is in a register.

use gimli::{AArch64, Register};

/// The stack pointer in frame descriptions.
pub(crate) const STACK_POINTER: Register = AArch64::SP;
/// Distance of the canonical frame address above the stack pointer at entry.
pub(crate) const CALLED_OFFSET: u64 = 0;
