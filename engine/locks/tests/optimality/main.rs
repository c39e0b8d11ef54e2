//! Small instances solved by brute force: what the schedule chooses is the best of everything it could have chosen.

mod forest;
mod system;
mod vats;

use evenkeel_locks::contention::Contention;
use evenkeel_locks::graph::{TxnIndex, TxnMeta};

/// Adds a transaction born at this time.
fn add(contention: &mut Contention, birth_ns: u64) -> TxnIndex {
    contention.add_txn(TxnMeta {
        id: birth_ns,
        birth_ns,
        class: 0,
        expected_remaining_ns: None,
    })
}
