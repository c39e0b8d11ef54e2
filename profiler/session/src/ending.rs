//! How a command ended.

/// The end of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal of somebody else's.
    Killed(i32),
    /// Because the session asked it to, cleanly or not.
    Stopped,
    /// It continues to run.
    Kept,
    /// It ended by itself; how, only its parent knows.
    Gone,
}

impl Ending {
    /// The same after a run that the user may have ended.
    pub(crate) fn after(self, interrupted: bool) -> Ending {
        match self {
            // A terminal sends Ctrl-C to the command, too, which may be faster than we are.
            Ending::Exited(_) | Ending::Killed(libc::SIGINT | libc::SIGTERM | libc::SIGHUP)
                if interrupted =>
            {
                Ending::Stopped
            }
            ending => ending,
        }
    }
}
