//! Why a process is not attached to. Each text ends with what to do.

use thiserror::Error;

/// Nothing was changed in the process, or everything is as it was.
#[derive(Debug, Error)]
pub enum Refused {
    /// There is no such process.
    #[error("there is no process {pid}; see `ps -e`")]
    Gone {
        /// As asked for.
        pid: i32,
    },
    /// The system does not let this user trace the process.
    #[error("process {pid} may not be traced: {why}")]
    NotPermitted {
        /// The process.
        pid: i32,
        /// Why, and what to do.
        why: String,
    },
    /// The process is of a kind that cannot be attached to.
    #[error("process {pid} cannot be attached to: {why}")]
    Unfit {
        /// The process.
        pid: i32,
        /// Why, and what to do.
        why: String,
    },
    /// It can be neither traced nor stopped at the moment.
    #[error(
        "process {pid} sleeps in the kernel for a device (state D), or is about to end; attach again when it runs"
    )]
    Asleep {
        /// The process.
        pid: i32,
    },
    /// No thread came to a safe point in time.
    #[error(
        "no thread of process {pid} was at a safe point within {limit_ms} ms ({why}); the process is unchanged: try again, or start it with `evenkeel profile`"
    )]
    NoSafePoint {
        /// The process.
        pid: i32,
        /// Time after which attaching gave up.
        limit_ms: u64,
        /// Activity of the last thread that was examined.
        why: String,
    },
    /// A function called in the process failed.
    #[error("process {pid} could not load the agent: {why}")]
    Failed {
        /// The process.
        pid: i32,
        /// The failure, and what to do.
        why: String,
    },
    /// This machine.
    #[error(
        "attaching is not supported on this architecture ({0}); start the program with `evenkeel profile` on x86-64"
    )]
    Architecture(&'static str),
}

impl Refused {
    /// Whether a later attempt may succeed, without anything being done about it.
    pub fn may_pass(&self) -> bool {
        matches!(self, Refused::Asleep { .. } | Refused::NoSafePoint { .. })
    }
}
