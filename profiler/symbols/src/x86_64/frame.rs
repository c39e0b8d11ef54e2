//! The frame of a function just called: its return address is on the stack.

use gimli::{Register, X86_64};

/// The stack pointer in frame descriptions.
pub(crate) const STACK_POINTER: Register = X86_64::RSP;
/// Distance of the canonical frame address above the stack pointer at entry.
pub(crate) const CALLED_OFFSET: u64 = 8;
