//! Everything that knows x86-64: instructions, relocations, frames.

pub(crate) mod callsites;
pub(crate) mod confining;
pub(crate) mod elf;
pub(crate) mod frame;
pub(crate) mod members;
mod operand;
pub(crate) mod plt;
pub(crate) mod prologue;
pub(crate) mod scan;
mod tail_jumps;
