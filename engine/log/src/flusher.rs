//! The log's background thread: it writes and syncs under the lazy policies, and makes spare files before a committer
//! needs one.
//!
//! The thread holds the log weakly, so a log without users is not kept alive. It knows of the log only [`Flushed`], so that this file
//! does not depend on that of the log, which starts the thread.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_disk::{Background, Cause};

use crate::error::LogError;
use crate::settings::{FlushPolicy, LogSettings};

/// The log, as a flusher sees it.
pub(crate) trait Flushed: Send + Sync + 'static {
    /// The settings in force.
    fn settings(&self) -> LogSettings;

    /// Makes the spare files that streams lack.
    fn prepare_spares(&self);

    /// Makes everything appended durable.
    ///
    /// # Errors
    /// If the log has failed; it stays with the log, too.
    fn flush_all(&self) -> Result<(), LogError>;
}

/// Starts the thread.
pub(crate) fn start(thread: &Background, log: &Arc<impl Flushed>) -> io::Result<()> {
    let log = Arc::downgrade(log);
    let mut last_flush = Instant::now();
    thread.start("log-flusher", Duration::ZERO, move |cause| {
        let log = log.upgrade()?;
        // Only when a leader asks for them: while the log is opened, redo may need the room.
        if cause == Cause::Woken {
            log.prepare_spares();
        }
        let settings = log.settings();
        if last_flush.elapsed() >= settings.flush_interval {
            last_flush = Instant::now();
            // A failure stays with the log, where the next commit finds it.
            if settings.policy != FlushPolicy::EagerFlush {
                log.flush_all().ok()?;
            }
        }
        Some(settings.flush_interval.saturating_sub(last_flush.elapsed()))
    })
}
