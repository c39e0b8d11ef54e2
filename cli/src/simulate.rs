//! `evenkeel simulate`.

use std::process::ExitCode;

pub use evenkeel_simulate::command::Args as Arguments;

use crate::output::Failure;

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    Ok(evenkeel_simulate::command::run(arguments)?)
}
