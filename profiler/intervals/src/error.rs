//! Why an interval cannot be found in a program, each with what to do next.

use std::path::PathBuf;

use evenkeel_symbols::FindError;
use thiserror::Error;

/// Why an interval cannot be found in a program.
#[derive(Debug, Error)]
pub enum Error {
    /// The interval's specification cannot be read.
    #[error("the interval {text:?} cannot be read: {what}")]
    BadSpec {
        /// As typed.
        text: String,
        /// The mistake, and the correct form.
        what: String,
    },
    /// The interval's functions are not in the program.
    #[error("in {}: {source}", path.display())]
    NotFound {
        /// The program or library.
        path: PathBuf,
        /// The missing thing.
        source: FindError,
    },
    /// The preset does not fit the program.
    #[error("{} is not a program that the preset {preset} knows: {what}; name the interval with --interval", path.display())]
    PresetMismatch {
        /// The program.
        path: PathBuf,
        /// The preset.
        preset: &'static str,
        /// The requested thing.
        what: String,
    },
    /// No such preset.
    #[error("there is no preset {name}; there are: {known}")]
    NoPreset {
        /// As typed.
        name: String,
        /// All of them.
        known: String,
    },
    /// The interval's boundary cannot be hooked.
    #[error(
        "the interval's boundary at {site} cannot be hooked: {reason}; name another function, or a call site as caller>callee"
    )]
    BoundaryRefused {
        /// The call site or function.
        site: String,
        /// Why it cannot be hooked.
        reason: String,
    },
}
