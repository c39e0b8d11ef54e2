//! Shared parts of the tests: programs built on the spot, a ring to record into, and a plan over a loaded library.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod library;
pub mod plan;
pub mod ring;
