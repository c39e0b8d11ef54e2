//! The plan of one validation run, drawn from a seed.

use evenkeel_locks::rng::Rng;
use evenkeel_locks::{Config, DeadlockPolicy, Rules};

/// One run. Percentages are of the draws they are about.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seed of everything each thread draws; the interleaving of the threads is the operating system's.
    pub seed: u64,
    /// The lock manager under test, with the rules it begins with.
    pub config: Config,
    /// Rules it is switched to while it runs, in turn.
    pub later_rules: Vec<Rules>,
    /// Threads that run transactions.
    pub threads: u64,
    /// Transactions each of them brings to an end.
    pub txns_each: u64,
    /// Objects; each transaction asks for some at random, in no order.
    pub objects: u64,
    /// Requests of one transaction, at most.
    pub requests_max: u64,
    /// Requests that wait no longer than a drawn timeout.
    pub timeouts_percent: u64,
    /// Requests that do not wait at all.
    pub tries_percent: u64,
    /// Requests that wait asynchronously; a quarter of them is dropped while it waits.
    pub async_percent: u64,
    /// Requests after which a lock is released early.
    pub releases_percent: u64,
    /// Grants after which the thread lets others run: few, because on a busy machine that can take long.
    pub yields_percent: u64,
    /// How long the thread works after a grant, in turns of a spinning loop, fewer than this.
    pub spins_end: u64,
    /// Whether another thread cancels transactions.
    pub cancels: bool,
    /// Whether every grant and every error is checked.
    pub checks: bool,
}

impl Plan {
    /// A run of everything under these rules.
    pub fn of(seed: u64, rules: Rules) -> Plan {
        let mut rng = Rng::new(seed);
        let config = Config {
            rules: Rules { seed, ..rules },
            shards: 1 << rng.below(5),
            locks_max: 3 + rng.below(6) as usize,
            metrics: rng.below(2) == 0,
        };
        Plan {
            seed,
            config,
            later_rules: Vec::new(),
            threads: 2 + rng.below(7),
            txns_each: 40,
            objects: 1 + rng.below(12),
            requests_max: 2 + rng.below(7),
            timeouts_percent: rng.below(40),
            tries_percent: rng.below(20),
            async_percent: rng.below(40),
            releases_percent: rng.below(20),
            yields_percent: 1 + rng.below(6),
            spins_end: 1 + rng.below(200),
            cancels: rng.below(2) == 0,
            checks: true,
        }
    }

    /// Whether a policy that `is_meant` accepts was in force at some time.
    pub fn ever(&self, is_meant: impl Fn(DeadlockPolicy) -> bool) -> bool {
        let mut rules = self.later_rules.iter().chain([&self.config.rules]);
        rules.any(|rules| is_meant(rules.deadlocks))
    }
}
