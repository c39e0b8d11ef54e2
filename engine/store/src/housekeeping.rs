//! The store's background thread: it removes ghosts and takes checkpoints.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_disk::Background;

use crate::error::StoreError;
use crate::inner::StoreInner;

/// Interval at which it looks for work.
const INTERVAL: Duration = Duration::from_millis(10);
/// Leaves read in search of ghosts of earlier runs each time: 25 MB/s, so that transactions hardly notice.
const SEARCH_LEAVES: usize = 16;
/// Pause after a refusal of the disk.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// Starts the thread.
pub(crate) fn start(store: Arc<StoreInner>) -> io::Result<Background> {
    let thread = Background::default();
    thread.start("evenkeel-housekeeper", INTERVAL, move |_| {
        // What failed is still queued and is tried again; a transaction that writes gets the same error of the disk.
        Some(match store.tidy(SEARCH_LEAVES) {
            Ok(_) => INTERVAL,
            Err(_) => AFTER_ERROR,
        })
    })?;
    Ok(thread)
}

impl StoreInner {
    /// Removes ghosts, reading at most `leaves_max` leaves in search of them, and takes a checkpoint if one is due.
    pub(crate) fn tidy(&self, leaves_max: usize) -> Result<usize, StoreError> {
        let left = self.purge(leaves_max)?;
        if self.is_checkpoint_due() {
            self.checkpoint()?;
        }
        Ok(left)
    }
}
