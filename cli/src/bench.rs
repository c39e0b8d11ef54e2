//! `evenkeel bench`.

use std::process::ExitCode;

pub use evenkeel_drive::command::Args as Arguments;

use crate::output::Failure;

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    // A server that ends closes its sockets: that is an error to report, not a reason to be ended by a signal.
    // SAFETY: before any thread exists.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    Ok(evenkeel_drive::command::run(arguments)?)
}
