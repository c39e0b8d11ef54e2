//! Options of a lock manager and of its transactions.

use crate::contention::Rules;
use crate::schedule::ScheduleKind;

/// How a lock manager works.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// How conflicts are decided. The one part that can change later: [`crate::LockManager::set_rules`].
    pub rules: Rules,
    /// Parts of the table locked separately, rounded up to a power of two.
    pub shards: usize,
    /// Locks one transaction may hold.
    pub locks_max: usize,
    /// Whether to measure the time spent on contended objects and to count waits by object and by holder
    /// ([`crate::observe::Metrics`]). What is left without it are plain counters. On unless it is in the way.
    pub metrics: bool,
}

impl Config {
    /// The papers' setting for this schedule, 64 shards, a million locks a transaction, all metrics.
    pub fn new(schedule: ScheduleKind) -> Config {
        Config {
            rules: Rules::new(schedule),
            shards: 64,
            locks_max: 1 << 20,
            metrics: true,
        }
    }
}

/// What is known of a transaction when it begins.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct TxnOptions {
    /// Its type, for hLDSF's estimates and for the metrics.
    pub class: u32,
    /// The birth of the transaction this one is a retry of, see [`crate::Transaction::birth_ns`]: it keeps its age.
    pub birth_ns: Option<u64>,
    /// Its expected remaining time, where known.
    pub expected_remaining_ns: Option<f64>,
}
