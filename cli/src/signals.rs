//! Signals that ask a command to come to its end.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::output::Failure;

/// A flag that Ctrl-C, SIGTERM and SIGHUP raise, any number of times.
pub fn interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&interrupted)).map_err(refused)?;
    }
    Ok(interrupted)
}

/// A flag that the first Ctrl-C or SIGTERM raises; the second ends the process as usual.
pub fn first_interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal meets a flag that is not raised yet.
        flag::register_conditional_default(signal, Arc::clone(&interrupted)).map_err(refused)?;
        flag::register(signal, Arc::clone(&interrupted)).map_err(refused)?;
    }
    Ok(interrupted)
}

/// The error where the system does not let this process handle a signal.
pub fn refused(error: std::io::Error) -> Failure {
    Failure::Usage(format!("cannot listen for signals: {error}"))
}
