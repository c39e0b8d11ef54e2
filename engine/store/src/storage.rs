//! Pages and log together: what changes trees.

use std::sync::Arc;

use evenkeel_log::{Depends, Log, LogError, Lsn, NewRecord};
use evenkeel_pages::{PageId, PageWrite, Pool};

use crate::error::StoreError;
use crate::record::{RecordKind, put_changes};
use crate::tree::change::Change;

/// The pages of a store and the log of their changes.
pub(crate) struct Storage {
    pub(crate) pool: Arc<Pool>,
    pub(crate) log: Arc<Log>,
}

/// Their threads end here, and what they are writing is through: whoever lets go of the lock on the directory does so
/// after this.
impl Drop for Storage {
    fn drop(&mut self) {
        self.pool.stop_writer();
        self.log.stop_flusher();
        // For the lazy policies. Should it fail, what is lost is what they may lose.
        let _ = self.log.flush_all();
    }
}

impl Storage {
    /// Appends a record of no transaction.
    pub(crate) fn append_structure(
        &self,
        changes: &[(PageId, Change<'_>)],
        depends: Depends<'_>,
    ) -> Result<Lsn, LogError> {
        let mut payload = Vec::new();
        put_changes(changes, &mut payload);
        self.log.append(&NewRecord {
            txn: 0,
            prev: Lsn::ZERO,
            kind: RecordKind::Structure as u8,
            depends,
            payload: &payload,
        })
    }
}

/// Changes a page as the record `lsn` says.
pub(crate) fn apply(page: &mut PageWrite<'_>, change: &Change<'_>, lsn: Lsn) {
    change.apply(page);
    page.mark_dirty(lsn);
}

/// Bytes an entry may have in this store, its slot included.
pub(crate) fn check_entry(pool: &Pool, table: &str, bytes: usize) -> Result<(), StoreError> {
    let bytes_max = crate::tree::node::entry_bytes_max(pool.body_bytes());
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(StoreError::KeyTooLong {
        table: table.to_owned(),
        bytes,
        bytes_max,
    })
}
