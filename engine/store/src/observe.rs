//! Watching transactions from outside.

/// Notified of every transaction that ends; [`Store::observe`](crate::Store::observe) installs one. Called by the transaction's own thread
/// after it has released its locks; it should be quick.
pub trait Observer: Send + Sync {
    /// A transaction ended.
    fn ended(&self, trace: &Trace<'_>);
}

/// Events of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Trace<'t> {
    /// Its class.
    pub class: u32,
    /// Whether it committed.
    pub committed: bool,
    /// Its age at the end, in nanoseconds since its birth.
    pub age_ns: u64,
    /// Its age at each lock grant, in nanoseconds; `age_ns - granted` is the time that remained (dissertation, figure 3.2).
    pub grants: &'t [Grant],
}

/// A granted lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// Age of the transaction when it was granted, in nanoseconds.
    pub age_ns: u64,
    /// Time that the transaction waited for it, in nanoseconds; a few hundred without a wait.
    pub waited_ns: u64,
}
