//! Naming an interval: what the user typed or a preset knows, found in a program's file.
//!
//! ```text
//! spec          what the user typed
//! presets       intervals of servers, known by the program
//! interval      either, resolved: which instructions begin and end it
//! kinds         what a function's time is spent on, by its name
//! calling_back  functions of the C library that call the program back
//! ```

pub mod calling_back;
mod error;
pub mod interval;
pub mod kinds;
pub mod presets;
pub mod spec;

pub use error::Error;
pub use spec::IntervalSpec;
