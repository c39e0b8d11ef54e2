//! Everything of the agent that knows the processor.

pub mod calibration;
pub mod dlsym;
pub mod start;
pub mod syscall;
