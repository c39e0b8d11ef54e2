//! Redo: repeating every change that the pages lack.

use std::collections::HashMap;

use evenkeel_log::Lsn;
use evenkeel_pages::{PageId, Pool};

use crate::checkpoint::Checkpoint;
use crate::error::StoreError;
use crate::storage::apply;
use crate::tree::change::Change;

/// Repeats changes.
pub(crate) struct Redo<'p> {
    pool: &'p Pool,
    begin: Lsn,
    /// Pages that may have lacked changes from before `begin`, and from which on.
    dirty: HashMap<PageId, Lsn>,
}

impl<'p> Redo<'p> {
    pub(crate) fn new(pool: &'p Pool, checkpoint: &Checkpoint) -> Redo<'p> {
        Redo {
            pool,
            begin: checkpoint.begin,
            dirty: checkpoint.dirty.iter().copied().collect(),
        }
    }

    /// Makes the changes of record `lsn` in the pages that lack them.
    ///
    /// # Errors
    /// If a page cannot be read, or is not one that the change was made to.
    pub(crate) fn repeat(
        &self,
        lsn: Lsn,
        changes: &[(PageId, Change<'_>)],
    ) -> Result<(), StoreError> {
        for (page, change) in changes {
            match change {
                Change::Format { .. } => self.pool.redo_allocate(&[*page], lsn)?,
                Change::Free => {
                    self.pool.redo_free(&[*page], lsn)?;
                    continue;
                }
                _ => {}
            }
            if self.may_lack(*page, lsn) {
                self.repeat_one(*page, change, lsn)?;
            }
        }
        Ok(())
    }

    /// Whether the page in the file may lack the change, by the checkpoint.
    fn may_lack(&self, page: PageId, lsn: Lsn) -> bool {
        lsn > self.begin || self.dirty.get(&page).is_some_and(|&first| first <= lsn)
    }

    fn repeat_one(&self, id: PageId, change: &Change<'_>, lsn: Lsn) -> Result<(), StoreError> {
        let mut page = self.pool.write_for_redo(id)?;
        if page.lsn() >= lsn {
            return Ok(());
        }
        if !change.is_applicable(&page) {
            return Err(StoreError::CorruptPage {
                page: id,
                what: "a logged change does not apply to it",
            });
        }
        apply(&mut page, change, lsn);
        Ok(())
    }
}
