//! Which transactions have changed something and not ended: what keeps log records needed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_log::{Log, Lsn};
use foldhash::fast::RandomState;
use parking_lot::Mutex;

/// The running transactions, with a lower bound of the LSN of their first record.
pub(crate) struct Running {
    first_lsns: Mutex<HashMap<u64, Lsn, RandomState>>,
    /// Number of the next transaction. Numbers in one log never repeat: those of a lock manager begin again at each opening.
    next: AtomicU64,
}

impl Running {
    /// `next` is greater than every number in the log.
    pub(crate) fn new(next: u64) -> Running {
        Running {
            first_lsns: Mutex::new(HashMap::default()),
            next: AtomicU64::new(next),
        }
    }

    /// Enters a transaction that is about to append its first record; its number.
    pub(crate) fn enter(&self, log: &Log) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut first_lsns = self.first_lsns.lock();
        // Read under the lock: a checkpoint that does not see this entry has seen a smaller last LSN.
        first_lsns.insert(number, Lsn(log.last_lsn().0 + 1));
        number
    }

    /// The transaction's last record is appended.
    pub(crate) fn leave(&self, number: u64) {
        self.first_lsns.lock().remove(&number);
    }

    /// No running transaction has an older record.
    pub(crate) fn first_lsn(&self) -> Option<Lsn> {
        self.first_lsns.lock().values().min().copied()
    }

    /// A number greater than all given so far.
    pub(crate) fn next_number(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }
}
