//! Shared parts of the end-to-end tests: the agent, the known-answer programs, and runs of the command that reveal
//! leftovers.

#![allow(dead_code)] // each test binary uses a part

pub mod build;
pub mod java;
pub mod planted;
pub mod planted_java;
pub mod run;
pub mod servers;
pub mod terminal;
pub mod tuning;
