//! Everything of the agent that knows x86-64.

pub mod calibration;
pub mod dlsym;
pub mod longjmp;
pub mod relocations;
pub mod replacement;
pub mod start;
pub mod syscall;
pub mod versions;
