//! Redo: repeating every change that the pages lack.

use std::collections::{HashMap, HashSet};

use evenkeel_log::Lsn;
use evenkeel_pages::{PageId, Pool};
use foldhash::fast::RandomState;

use crate::checkpoint::Checkpoint;
use crate::error::StoreError;
use crate::storage::apply;
use crate::tree::change::Change;
use crate::tree::node::Node;

/// Repeats changes.
pub(crate) struct Redo<'p> {
    pool: &'p Pool,
    begin: Lsn,
    /// Pages that may have lacked changes from before `begin`, and from which on.
    dirty: HashMap<PageId, Lsn, RandomState>,
    /// Pages known to be sound nodes: checked once, because a change of one entry that [applies](Change::is_applicable) leaves a
    /// sound node sound. Checking takes as long as the node has entries, which for each record would be most of recovery's work.
    sound: HashSet<PageId, RandomState>,
}

impl<'p> Redo<'p> {
    pub(crate) fn new(pool: &'p Pool, checkpoint: &Checkpoint) -> Redo<'p> {
        Redo {
            pool,
            begin: checkpoint.begin,
            dirty: checkpoint.dirty.iter().copied().collect(),
            sound: HashSet::default(),
        }
    }

    /// Makes the changes of record `lsn` in the pages that lack them.
    ///
    /// # Errors
    /// If a page cannot be read, or is not one that the change was made to.
    pub(crate) fn repeat(
        &mut self,
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

    fn repeat_one(&mut self, id: PageId, change: &Change<'_>, lsn: Lsn) -> Result<(), StoreError> {
        let mut page = match change {
            // What the file has of the page may be newer: all that was done to it since is in the log, and repeated after this.
            Change::Format { .. } => self.pool.write_anew_for_redo(id)?,
            _ => self.pool.write_for_redo(id)?,
        };
        if page.lsn() >= lsn {
            return Ok(());
        }
        let sound = change.is_of_any_page() || self.is_sound(id, &page);
        if !(sound && change.is_applicable(&page)) {
            return Err(StoreError::CorruptPage {
                page: id,
                what: "a logged change does not apply to it",
            });
        }
        apply(&mut page, change, lsn);
        if !change.is_of_one_entry() {
            self.sound.remove(&id);
        }
        Ok(())
    }

    fn is_sound(&mut self, id: PageId, page: &[u8]) -> bool {
        self.sound.contains(&id) || Node(page).is_sound() && self.sound.insert(id)
    }
}
