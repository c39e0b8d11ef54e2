//! A transaction in the system, across its attempts.

use evenkeel_locks::graph::{TxnIndex, TxnMeta};

use crate::workload::Step;

/// A transaction in the system.
pub(crate) struct Active {
    pub(crate) txn: TxnIndex,
    pub(crate) meta: TxnMeta,
    /// Place in the order of arrival.
    pub(crate) number: u64,
    /// Which of all transactions it is, whatever the schedule.
    pub(crate) draw: u64,
    pub(crate) client: u32,
    pub(crate) steps: Vec<Step>,
    pub(crate) at: usize,
    pub(crate) held: u32,
    /// Counts aborts and reuses of the slot, so that events meant for earlier attempts are known.
    pub(crate) attempt: u32,
    pub(crate) retries: u32,
    pub(crate) state: State,
    /// When it was granted locks after waiting, in this attempt.
    pub(crate) granted_at: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// For a lock.
    Waiting,
    /// For a processor.
    Ready,
    /// Works.
    Running,
    /// Was aborted and will begin again.
    BackingOff,
    /// The slot is free.
    Gone,
}

impl Active {
    /// A slot nobody has.
    pub(crate) fn vacant() -> Active {
        Active {
            txn: TxnIndex(0),
            meta: TxnMeta {
                id: 0,
                birth_ns: 0,
                class: 0,
                expected_remaining_ns: None,
            },
            number: 0,
            draw: 0,
            client: 0,
            steps: Vec::new(),
            at: 0,
            held: 0,
            attempt: 0,
            retries: 0,
            state: State::Gone,
            granted_at: Vec::new(),
        }
    }
}
