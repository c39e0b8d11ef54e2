//! When the kernel had a thread off its processor, why, and who made it ready again.

/// Why a thread did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Off {
    /// It blocked, in a way that a signal can end, or it is not known in which.
    Blocked,
    /// It could have run: the processor was taken from it, or not yet given to it.
    Preempted,
    /// It blocked, and no signal could have ended it: for a device, or for a lock of the kernel's own.
    Device,
    /// It blocked until a page was read from a device.
    Fault,
}

/// A stretch of time that a thread did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchedOut {
    /// From, ticks of the target's time stamp counter.
    pub start: u64,
    /// To, ticks.
    pub end: u64,
    /// Why it did not run.
    pub off: Off,
    /// Key of the thread of the target that made it ready to run at `end`. `None` if no thread of the target did, if
    /// it was not recorded, or if the thread was preempted.
    pub by: Option<u64>,
}
