//! Exit codes.

use std::process::ExitCode;

/// Exit code when the data is not as the workload allows.
pub const INCONSISTENT: u8 = 1;

/// The exit code of a finished benchmark.
pub fn ended(consistent: bool) -> ExitCode {
    if consistent {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCONSISTENT)
    }
}
