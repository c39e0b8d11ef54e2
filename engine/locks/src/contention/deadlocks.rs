//! Applies the deadlock policy where a wait begins and where the holders in a waiter's way change.

use super::outcome::{Effects, Refusal};
use super::state::Contention;
use crate::deadlock::{DeadlockPolicy, Victim, choose_victim, find_cycle};
use crate::graph::{QueueIndex, TxnIndex};

impl Contention {
    /// Aborts a member of every cycle the wait of `txn` closed. Effective sizes are brought up to date by the caller,
    /// once the graph has no cycle.
    pub(super) fn break_cycles(
        &mut self,
        txn: TxnIndex,
        queue: QueueIndex,
        victim: Victim,
        effects: &mut Effects,
    ) {
        while self.graph.txn(txn).waiting.is_some() {
            let Some(cycle) = self.new_cycle(txn, queue) else {
                return;
            };
            self.counters.deadlocks += 1;
            let chosen = choose_victim(&self.graph, &cycle, victim);
            let refusal = self.cycle_refusal(chosen, &cycle);
            self.refuse(chosen, refusal, effects);
        }
    }

    fn new_cycle(&self, txn: TxnIndex, queue: QueueIndex) -> Option<Vec<TxnIndex>> {
        find_cycle(&self.graph, txn).or_else(|| {
            if !self.graph.has_new_blockers(queue) {
                return None;
            }
            self.graph
                .queue(queue)
                .waiting()
                .iter()
                .find_map(|waiter| find_cycle(&self.graph, waiter.txn))
        })
    }

    fn cycle_refusal(&self, victim: TxnIndex, cycle: &[TxnIndex]) -> Refusal {
        let id = |txn: TxnIndex| self.graph.txn(txn).meta.id;
        let upgrades = |txn: TxnIndex| {
            let queue = self.graph.txn(txn).waiting?;
            self.graph
                .queue(queue)
                .upgrading()
                .iter()
                .any(|waiter| waiter.txn == txn)
                .then_some(queue)
        };
        if let (&[first, second], Some(object)) = (cycle, upgrades(cycle[0]))
            && upgrades(second) == Some(object)
        {
            let with = if victim == first { second } else { first };
            return Refusal::UpgradeConflict { with: id(with) };
        }
        Refusal::Deadlock {
            cycle: cycle.iter().map(|&txn| id(txn)).collect(),
        }
    }

    /// Applies wait-die or wound-wait to every waiter of `queue`: their blockers may have changed.
    pub(super) fn enforce_order(&mut self, queue: QueueIndex, effects: &mut Effects) {
        if !matches!(
            self.rules.deadlocks,
            DeadlockPolicy::WaitDie | DeadlockPolicy::WoundWait
        ) {
            return;
        }
        let object = self.graph.queue(queue);
        let waiters: Vec<TxnIndex> = object
            .upgrading()
            .iter()
            .chain(object.waiting())
            .map(|w| w.txn)
            .collect();
        for waiter in waiters {
            for blocker in self.graph.blockers(waiter) {
                let (waiting, blocking) =
                    (self.graph.txn(waiter).meta, self.graph.txn(blocker).meta);
                match self.rules.deadlocks {
                    DeadlockPolicy::WaitDie if blocking.is_older_than(&waiting) => {
                        self.refuse(waiter, Refusal::Died { older: blocking.id }, effects);
                        break;
                    }
                    DeadlockPolicy::WoundWait if waiting.is_older_than(&blocking) => {
                        self.wound(blocker, waiting.id, effects);
                    }
                    _ => {}
                }
            }
        }
    }

    fn wound(&mut self, txn: TxnIndex, older: u64, effects: &mut Effects) {
        if self.graph.txn(txn).waiting.is_some() {
            self.refuse(txn, Refusal::Wounded { older }, effects);
        } else if self.graph.mark_wounded(txn) {
            effects.wounded.push((txn, older));
        }
    }
}
