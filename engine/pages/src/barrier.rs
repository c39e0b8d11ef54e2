//! The log-before-page rule.

use evenkeel_log::{Log, LogError, Lsn};

/// The write-ahead rule: before a page is written, the log is durable up to the page's LSN.
pub trait LogBarrier: Send + Sync {
    /// Returns when the record with this LSN, and all it depends on, is durable. Smaller LSNs are asked for by
    /// themselves.
    ///
    /// # Errors
    /// If it cannot be made so; the page is not written then.
    fn flush_log_to(&self, lsn: Lsn) -> Result<(), LogError>;
}

impl LogBarrier for Log {
    fn flush_log_to(&self, lsn: Lsn) -> Result<(), LogError> {
        self.flush_to(lsn)
    }
}
