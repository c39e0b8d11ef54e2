//! Everything of the agent that knows the processor.

pub mod dlsym;
