//! Everything that knows x86-64 instructions.

pub(crate) mod callsites;
pub(crate) mod operand;
pub(crate) mod plt;
pub(crate) mod prologue;
pub(crate) mod scan;
pub(crate) mod tail_jumps;
