//! Tests of more than one module, and what they share.

pub(crate) mod example;
mod hooks;
mod program;
mod refiner;
mod searches;
