//! Locks that were released before their commit was durable.
//!
//! Under eager flush a transaction releases its locks as soon as its commit record is in the log, and then waits for
//! the disk (DeWitt et al., SIGMOD 1984; Johnson et al., "Aether", VLDB 2010, section 3). So others wait for
//! transactions, not for the disk, and share the sync. InnoDB does the same.
//!
//! The next holder of such a lock may see data that is not durable, so it *needs* that commit. Its commit record
//! depends on it; if the holder only reads, its commit waits for it. The needs are found here by the names of the
//! locks (as with the tags of Graefe et al., "Controlled Lock Violation", SIGMOD 2013). Exclusive locks suffice:
//! every change of a transaction is seen under the lock of its row or unique value. That includes deletions, because
//! a ghost stays until its deletion is durable.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_log::Lsn;
use foldhash::fast::{FixedState, RandomState};
use parking_lot::Mutex;

use crate::locking::LockName;

/// Number of independently locked parts; a power of two.
const SHARDS: usize = 64;

/// The locks, each with the commit that its next holder needs.
pub(crate) struct Released {
    shards: Box<[Shard]>,
}

#[derive(Default)]
#[repr(align(128))]
struct Shard {
    /// Fast path: a reader that finds zero skips the mutex. This is safe: the entry is added before the lock is
    /// released, and the reader acquired that lock afterwards.
    count: AtomicUsize,
    commits: Mutex<HashMap<LockName, Lsn, RandomState>>,
}

impl Released {
    pub(crate) fn new() -> Released {
        Released {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
        }
    }

    fn shard(&self, name: LockName) -> &Shard {
        &self.shards[FixedState::default().hash_one(name) as usize & (SHARDS - 1)]
    }

    /// The holder of the lock is about to release it; its commit is not durable. It replaces an earlier one, which it needs.
    pub(crate) fn add(&self, name: LockName, commit: Lsn) {
        let shard = self.shard(name);
        let mut commits = shard.commits.lock();
        commits.insert(name, commit);
        shard.count.store(commits.len(), Ordering::Release);
    }

    /// The commit is durable.
    pub(crate) fn remove(&self, name: LockName, commit: Lsn) {
        let shard = self.shard(name);
        let mut commits = shard.commits.lock();
        if commits.get(&name) == Some(&commit) {
            commits.remove(&name);
            shard.count.store(commits.len(), Ordering::Release);
        }
    }

    /// The commit that the holder of the lock needs.
    pub(crate) fn commit_of(&self, name: LockName) -> Option<Lsn> {
        let shard = self.shard(name);
        if shard.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        shard.commits.lock().get(&name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use evenkeel_pages::PageId;

    #[test]
    fn a_lock_needs_its_latest_commit_until_that_is_durable() {
        let released = Released::new();
        let name = |key: &[u8]| LockName::row(Tree { root: PageId(2) }, key);
        released.add(name(b"a"), Lsn(5));
        released.add(name(b"a"), Lsn(8));
        released.remove(name(b"a"), Lsn(5));
        assert_eq!(released.commit_of(name(b"a")), Some(Lsn(8)));
        assert_eq!(released.commit_of(name(b"b")), None);
        released.remove(name(b"a"), Lsn(8));
        assert_eq!(released.commit_of(name(b"a")), None);
    }
}
