//! A second record of the held locks, kept by the transactions themselves.
//!
//! A transaction enters a lock after it was granted, and leaves before it releases it, so an entered lock is surely
//! held: two incompatible entries are two incompatible grants. Compatibility is computed here, not by the code under
//! test.

use std::sync::Mutex;

use evenkeel_locks::{Mode, TxnId};

/// A violation found in a run, in words.
pub type Violation = String;

/// Gray et al. 1976, table 1, by the modes' discriminants: IS, IX, S, SIX, X.
const COMPATIBLE: [[u8; Mode::COUNT]; Mode::COUNT] = [
    [1, 1, 1, 1, 0],
    [1, 1, 0, 0, 0],
    [1, 0, 1, 0, 0],
    [1, 0, 0, 0, 0],
    [0, 0, 0, 0, 0],
];

fn compatible(a: Mode, b: Mode) -> bool {
    COMPATIBLE[a as usize][b as usize] == 1
}

/// The holders, by object.
pub struct Shadow {
    holders: Vec<Mutex<Vec<(TxnId, Mode)>>>,
}

impl Shadow {
    /// Nothing held on `objects` objects.
    pub fn new(objects: u64) -> Shadow {
        Shadow {
            holders: (0..objects).map(|_| Mutex::default()).collect(),
        }
    }

    /// `txn` was granted `mode`, instead of what it held on `object`.
    pub fn enter(&self, object: u64, txn: TxnId, mode: Mode) -> Result<(), Violation> {
        let mut holders = self.holders[object as usize].lock().expect("no panic");
        holders.retain(|&(holder, _)| holder != txn);
        let conflict = holders.iter().find(|&&(_, held)| !compatible(held, mode));
        if let Some((other, held)) = conflict {
            return Err(format!(
                "{txn} was granted {mode:?} on object {object} while {other} holds {held:?}"
            ));
        }
        holders.push((txn, mode));
        Ok(())
    }

    /// `txn` is about to release `object`.
    pub fn leave(&self, object: u64, txn: TxnId) {
        let mut holders = self.holders[object as usize].lock().expect("no panic");
        holders.retain(|&(holder, _)| holder != txn);
    }
}
