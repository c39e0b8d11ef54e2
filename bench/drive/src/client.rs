//! A client, as the load loops see it: it draws transactions and attempts them.

use std::time::Duration;

use crate::error::Error;

/// Why an attempt was undone by the target, so that trying again may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was chosen as a deadlock's victim.
    Deadlock,
    /// It could not be serialised with another transaction.
    Serialization,
    /// It waited too long for a lock.
    LockTimeout,
}

impl Reason {
    /// Number of kinds.
    pub const COUNT: usize = 3;
    /// All of them, in the order of their values.
    pub const ALL: [Reason; Reason::COUNT] =
        [Reason::Deadlock, Reason::Serialization, Reason::LockTimeout];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Deadlock => "deadlock",
            Reason::Serialization => "serialization_failure",
            Reason::LockTimeout => "lock_timeout",
        }
    }
}

/// End of an attempt that the target did not undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It committed.
    Committed,
    /// It rolled back by the workload's own rules, for this reason.
    RolledBack(&'static str),
}

/// Why an attempt failed.
#[derive(Debug)]
pub enum Abort {
    /// The target undid it; it may be tried again.
    Retry(Reason),
    /// Something that no repetition mends; it ends the run.
    Fatal(Error),
}

/// A client of the target: a connection, or a thread with a handle of the embedded store, and a stream of transactions.
pub trait Client: Send {
    /// Draws the next transaction with all its inputs and returns the index of its type.
    fn draw(&mut self) -> u8;

    /// Runs the drawn transaction once. After [`Abort::Retry`] nothing of it is left on the target, and it can be run
    /// again with the same inputs.
    ///
    /// # Errors
    /// See [`Abort`].
    fn attempt(&mut self) -> Result<Attempt, Abort>;

    /// The drawn transaction has come to its end; `committed` is false if it was rolled back or given up.
    fn finished(&mut self, committed: bool) {
        let _ = committed;
    }

    /// Time that a person takes before the drawn transaction starts (keying) and after it ended (thinking).
    fn pauses(&mut self) -> (Duration, Duration) {
        (Duration::ZERO, Duration::ZERO)
    }
}
