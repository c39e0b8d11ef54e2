//! The state of the contended part, and the primitive changes all others are composed of.

use super::outcome::{Effects, Refusal};
use super::rules::Rules;
use crate::counters::Counters;
use crate::graph::{Graph, QueueIndex, TxnIndex, TxnMeta};
use crate::modes::Mode;
use crate::remaining::RemainingTimes;
use crate::rng::Rng;
use crate::schedule::Schedule;

/// Queues, wait-for graph and the rules applied to them.
pub struct Contention {
    pub(super) graph: Graph,
    pub(super) rules: Rules,
    pub(super) schedule: Box<dyn Schedule>,
    pub(super) rng: Rng,
    pub(super) remaining: RemainingTimes,
    pub(super) counters: Counters,
    /// Objects whose waiters have to be looked at.
    pub(super) dirty: Vec<QueueIndex>,
    pub(super) picked: Vec<usize>,
}

impl Contention {
    /// Nothing held, nothing waiting.
    pub fn new(rules: Rules) -> Contention {
        let mut counters = Counters::default();
        counters.put_in_force(rules.schedule_in_force());
        Contention {
            graph: Graph::new(rules.tracks_sizes()),
            rules,
            schedule: rules.schedule_in_force().build(),
            rng: Rng::new(rules.seed),
            remaining: RemainingTimes::default(),
            counters,
            dirty: Vec::new(),
            picked: Vec::new(),
        }
    }

    /// Holders, waiters and their objects.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Frees memory that earlier contention needed, if nothing is contended.
    pub(crate) fn forget_spare_memory(&mut self) {
        self.graph.forget_spare_memory();
    }

    /// The rules in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Counters since the beginning.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Adds a transaction.
    pub fn add_txn(&mut self, meta: TxnMeta) -> TxnIndex {
        self.graph.add_txn(meta)
    }

    /// Removes a transaction that holds nothing and waits for nothing.
    pub fn remove_txn(&mut self, txn: TxnIndex) {
        self.graph.remove_txn(txn);
    }

    /// Adds an object nobody holds.
    pub fn add_queue(&mut self) -> QueueIndex {
        self.graph.add_queue()
    }

    /// Removes an object nobody holds or waits for.
    pub fn remove_queue(&mut self, queue: QueueIndex) {
        self.graph.remove_queue(queue);
    }

    /// Enters a lock that was granted elsewhere: the object has just become contended.
    pub fn adopt(&mut self, txn: TxnIndex, queue: QueueIndex, mode: Mode) {
        self.graph.hold(txn, queue, mode);
    }

    /// Takes a lock out of an object without waiters: the object leaves the graph.
    pub fn disown(&mut self, txn: TxnIndex, queue: QueueIndex) {
        debug_assert_eq!(self.graph.queue(queue).waiter_count(), 0);
        self.graph.unhold(txn, queue);
    }

    /// A transaction of `class` ended `remaining_ns` after a scheduled grant (section 4.7.3).
    pub fn observe_remaining(&mut self, class: u32, remaining_ns: f64) {
        self.remaining.observe(class, remaining_ns);
    }

    /// Takes the wait of `txn` out of the graph; whether it waited. Its object has to be looked at.
    pub(super) fn withdraw(&mut self, txn: TxnIndex) -> bool {
        let Some((queue, _)) = self.graph.end_wait(txn) else {
            return false;
        };
        self.dirty.push(queue);
        true
    }

    /// Ends the wait of `txn` with a refusal.
    pub(super) fn refuse(&mut self, txn: TxnIndex, refusal: Refusal, effects: &mut Effects) {
        self.counters.refusals += 1;
        self.withdraw(txn);
        effects.refused.push((txn, refusal));
    }

    /// Works by `rules` from now on; what is granted stays granted, and nobody loses a place in a queue.
    ///
    /// Waits begun under another deadlock policy are held to the new one at once: wait-die refuses, and wound-wait
    /// wounds, the transactions that it would have. They closed no cycle, so detection finds none among them; no-wait
    /// lets them wait. The random schedule begins its stream again, and overtaking is counted from now on.
    pub fn set_rules(&mut self, rules: Rules, now_ns: u64, effects: &mut Effects) {
        self.rules = rules;
        self.schedule = rules.schedule_in_force().build();
        self.counters.put_in_force(rules.schedule_in_force());
        self.rng = Rng::new(rules.seed);
        self.graph.track_sizes(rules.tracks_sizes());
        let queues: Vec<QueueIndex> = self.graph.queue_indices().collect();
        for queue in queues {
            self.graph.queue_mut(queue).forget_overtaking();
            self.enforce_order(queue, effects);
        }
        self.settle(now_ns, effects);
    }
}
