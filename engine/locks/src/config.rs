//! Options of a lock manager and of its transactions.

use crate::contention::Rules;
use crate::schedule::ScheduleKind;

/// The most shards of a table: more only cost memory.
pub const SHARDS_MAX: usize = 1 << 16;
/// The highest limit of locks a transaction may hold: victims are chosen by 32-bit counts.
pub const LOCKS_MAX_MAX: usize = u32::MAX as usize;

/// Why a [`Config`] cannot be used.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// Too many shards, or none.
    #[error("{shards} shards; choose 1 to {SHARDS_MAX}, some times the number of processors")]
    Shards {
        /// As many as were asked for.
        shards: usize,
    },
    /// The limit of locks a transaction may hold is out of range.
    #[error("{locks_max} locks a transaction; choose 1 to {LOCKS_MAX_MAX}")]
    LocksMax {
        /// The limit asked for.
        locks_max: usize,
    },
    /// The ageing rule would make dependency sets smaller, or no number.
    #[error(
        "ageing by {size_per_ns} a nanosecond; choose a finite number of dependents, not below 0"
    )]
    Ageing {
        /// The number asked for.
        size_per_ns: f64,
    },
}

/// Configuration of a lock manager.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Rules for conflicts: the only part that can change later ([`crate::LockManager::set_rules`]).
    pub rules: Rules,
    /// Parts of the table locked separately, rounded up to a power of two; at most [`SHARDS_MAX`].
    pub shards: usize,
    /// Locks one transaction may hold; at most [`LOCKS_MAX_MAX`].
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

    /// Whether a lock manager can be made with it.
    ///
    /// # Errors
    /// Which field is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Config {
            shards, locks_max, ..
        } = *self;
        if !(1..=SHARDS_MAX).contains(&shards) {
            return Err(ConfigError::Shards { shards });
        }
        if !(1..=LOCKS_MAX_MAX).contains(&locks_max) {
            return Err(ConfigError::LocksMax { locks_max });
        }
        self.rules.check()
    }
}

impl Rules {
    /// Whether conflicts can be decided by these rules.
    ///
    /// # Errors
    /// [`ConfigError::Ageing`] for an ageing rule that is negative or no finite number: decisions compare sizes, which age makes larger.
    pub fn check(&self) -> Result<(), ConfigError> {
        let size_per_ns = self.starvation.size_per_ns();
        match size_per_ns.is_finite() && size_per_ns >= 0.0 {
            true => Ok(()),
            false => Err(ConfigError::Ageing { size_per_ns }),
        }
    }
}

/// Facts about a transaction at its beginning.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct TxnOptions {
    /// Its type, for hLDSF's estimates and for the metrics.
    pub class: u32,
    /// The birth of the transaction this one is a retry of, see [`crate::Transaction::birth_ns`]: it keeps its age.
    pub birth_ns: Option<u64>,
    /// Its expected remaining time, where known.
    pub expected_remaining_ns: Option<f64>,
}
