//! The target: a command that was started, or processes that were running.

use crate::attached::Attached;
use crate::launch::{self, Ending};

/// The target.
pub enum Target {
    /// A command that the session started.
    Launched(launch::Target),
    /// Somebody else's processes.
    Attached(Attached),
}

impl Target {
    /// Process id of the command, or of the process that was named.
    pub fn pid(&self) -> i32 {
        match self {
            Target::Launched(target) => target.pid(),
            Target::Attached(attached) => attached.pid(),
        }
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        match self {
            Target::Launched(target) => target.is_running(),
            Target::Attached(attached) => attached.is_running(),
        }
    }

    /// The end of the command, if it ended by itself.
    pub fn ending(&self) -> Option<Ending> {
        match self {
            Target::Launched(target) => target.ending(),
            Target::Attached(attached) => attached.ending(),
        }
    }

    /// Ends a command that the session started. Attached processes continue.
    pub fn stop(&mut self, signal: i32, meanwhile: impl FnMut()) {
        if let Target::Launched(target) = self {
            target.stop(signal, meanwhile);
        }
    }
}
