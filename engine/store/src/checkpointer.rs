//! Fuzzy checkpoints: taken without stopping anybody.
//!
//! The log is flushed after the list of running transactions is taken and before the file is written: a transaction missing in
//! the list has a durable end.

use std::sync::atomic::Ordering::Relaxed;

use evenkeel_log::Lsn;

use crate::checkpoint::{Checkpoint, CheckpointState};
use crate::error::StoreError;
use crate::inner::StoreInner;

impl StoreInner {
    /// Takes a checkpoint and lets the log reuse what is not needed any more.
    ///
    /// # Errors
    /// If pages, log or checkpoint file cannot be written; the checkpoint before still counts.
    pub(crate) fn checkpoint(&self) -> Result<(), StoreError> {
        let mut state = self.checkpoints.lock();
        match self.take_checkpoint(&mut state) {
            Err(error) if error.is_disk_full() => {
                // Without dirty pages the checkpoint is smallest.
                self.storage.pool.flush_all()?;
                self.take_checkpoint(&mut state)
            }
            taken => taken,
        }
    }

    fn take_checkpoint(&self, state: &mut CheckpointState) -> Result<(), StoreError> {
        self.check()?;
        let (pool, log) = (&self.storage.pool, &self.storage.log);
        let record_bytes = log.statistics().record_bytes;
        // What was dirty before the last one began keeps log records from being reused.
        pool.flush_before(state.begin)?;
        let begin = log.last_lsn();
        let dirty: Vec<_> = pool
            .dirty_pages()
            .iter()
            .map(|dirty| (dirty.page, dirty.recovery_lsn))
            .collect();
        let first_running = self.running.first_lsn();
        log.flush_all()?;
        let needed = dirty.iter().map(|&(_, lsn)| lsn).chain(first_running);
        let scan_from = needed
            .min()
            .map_or(Lsn(begin.0 + 1), |lsn| lsn.min(Lsn(begin.0 + 1)));
        let next_number = self.running.next_number();
        let catalog = Some(self.catalog.root);
        Checkpoint {
            scan_from,
            begin,
            next_number,
            catalog,
            dirty,
        }
        .write(&*self.directory)?;
        Checkpoint::reserve(&*self.directory);
        log.recycle_before(scan_from)?;
        *state = CheckpointState {
            begin,
            record_bytes,
        };
        self.counters.checkpoints.add_one();
        Ok(())
    }

    /// Whether enough was logged since the last checkpoint for another.
    pub(crate) fn is_checkpoint_due(&self) -> bool {
        let since = self.checkpoints.lock().record_bytes;
        let due = self.checkpoint_log_bytes.load(Relaxed);
        self.storage
            .log
            .statistics()
            .record_bytes
            .saturating_sub(since)
            >= due
    }
}
