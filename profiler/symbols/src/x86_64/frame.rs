//! The frame of a function just called: its return address is on the stack.

use gimli::{Register, X86_64};

/// The stack pointer in frame descriptions.
pub(crate) const STACK_POINTER: Register = X86_64::RSP;
/// What the canonical frame address is above it.
pub(crate) const CALLED_OFFSET: u64 = 8;
