//! Which records exist: numbers for inserts, and the prefix that is acknowledged.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Numbers of records, shared by all clients (YCSB's `AcknowledgedCounterGenerator`).
#[derive(Debug)]
pub(super) struct Inserts {
    state: Mutex<State>,
    /// All records below this number exist; a copy of the state's, to be read without the lock.
    acknowledged: AtomicU64,
}

#[derive(Debug)]
struct State {
    next: u64,
    /// Numbers of inserts that were given up, to be taken again.
    returned: BTreeSet<u64>,
    /// Acknowledged numbers from `acknowledged` on.
    ahead: BTreeSet<u64>,
    acknowledged: u64,
    /// Records counted at the beginning of the run; none before `begin`.
    counted: Option<u64>,
    inserted: u64,
}

impl Inserts {
    pub(super) fn new(records: u64) -> Self {
        let state = State {
            next: records,
            returned: BTreeSet::new(),
            ahead: BTreeSet::new(),
            acknowledged: records,
            counted: None,
            inserted: 0,
        };
        Inserts {
            state: Mutex::new(state),
            acknowledged: AtomicU64::new(records),
        }
    }

    /// A run begins on a table of `count` records.
    pub(super) fn begin(&self, count: u64) {
        let mut state = self.state.lock();
        state.next = state.next.max(count);
        state.acknowledged = state.acknowledged.max(count);
        state.counted = Some(count);
        state.inserted = 0;
        self.acknowledged
            .store(state.acknowledged, Ordering::Relaxed);
    }

    /// A number to be inserted.
    pub(super) fn take(&self) -> u64 {
        let mut state = self.state.lock();
        if let Some(number) = state.returned.pop_first() {
            return number;
        }
        state.next += 1;
        state.next - 1
    }

    /// The insert of `number` has ended: it was committed, or failed because the record `exists`, or was given up.
    pub(super) fn end(&self, number: u64, committed: bool, exists: bool) {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.inserted += u64::from(committed);
        if !committed && !exists {
            state.returned.insert(number);
            return;
        }
        state.ahead.insert(number);
        while state.ahead.remove(&state.acknowledged) {
            state.acknowledged += 1;
        }
        self.acknowledged
            .store(state.acknowledged, Ordering::Relaxed);
    }

    /// All records below this number exist.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// The number of records that there must be, if the earlier number is known.
    pub(super) fn expected(&self) -> Option<u64> {
        let state = self.state.lock();
        state.counted.map(|counted| counted + state.inserted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_gapless_prefix_is_acknowledged() {
        let inserts = Inserts::new(10);
        inserts.begin(10);
        let taken: Vec<u64> = (0..3).map(|_| inserts.take()).collect();
        assert_eq!(taken, [10, 11, 12]);
        inserts.end(12, true, false);
        assert_eq!(inserts.acknowledged(), 10);
        inserts.end(10, true, false);
        assert_eq!(inserts.acknowledged(), 11);
        // 11 is given up and taken again.
        inserts.end(11, false, false);
        assert_eq!(inserts.acknowledged(), 11);
        assert_eq!(inserts.take(), 11);
        inserts.end(11, false, true);
        assert_eq!(inserts.acknowledged(), 13);
        assert_eq!(inserts.expected(), Some(12));
    }
}
