//! Everything of the agent that knows 64-bit ARM.

pub mod calibration;
pub mod dlsym;
pub mod longjmp;
pub mod relocations;
pub mod replacement;
pub mod start;
pub mod syscall;
pub mod versions;
