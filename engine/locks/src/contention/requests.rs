//! Requests of transactions: to lock, and to release.

use super::outcome::{Effects, Outcome, Refusal};
use super::state::Contention;
use crate::deadlock::DeadlockPolicy;
use crate::graph::{QueueIndex, TxnIndex};
use crate::modes::Mode;

impl Contention {
    /// Asks for `mode` on `queue`; of a holder, for what it holds and `mode` together. `locks_held` is the number of
    /// locks the transaction holds anywhere.
    ///
    /// # Errors
    /// The request was refused and does not wait. Others may have been granted or refused nevertheless.
    pub fn request(
        &mut self,
        txn: TxnIndex,
        queue: QueueIndex,
        mode: Mode,
        locks_held: u32,
        now_ns: u64,
        effects: &mut Effects,
    ) -> Result<Outcome, Refusal> {
        debug_assert!(
            self.graph.txn(txn).waiting.is_none(),
            "one wait a transaction"
        );
        self.counters.requests += 1;
        self.graph.set_locks_held(txn, locks_held);
        let object = self.graph.queue(queue);
        let held = object.granted.mode_of(&txn);
        let target = held.map_or(mode, |held| held.supremum(mode));
        if held == Some(target) {
            return Ok(Outcome::AlreadyHeld);
        }
        let admitted = match held {
            Some(held) => object.granted.admits_upgrade(held, target),
            None => object.admits_newcomer(target),
        };
        if admitted {
            self.counters.immediate_grants += 1;
            self.give(txn, queue, target);
            if held.is_some() {
                // A stronger lock may block waiters that the prevention policies would have refused.
                effects.touched.push(queue);
                self.enforce_order(queue, effects);
                self.settle(now_ns, effects);
            }
            return Ok(Outcome::Granted);
        }
        if self.rules.deadlocks == DeadlockPolicy::NoWait {
            self.counters.refusals += 1;
            return Err(Refusal::WouldWait);
        }
        self.counters.note_wait(object.waiter_count());
        self.graph
            .begin_wait(txn, queue, target, held.is_some(), now_ns);
        effects.touched.push(queue);
        self.admit_wait(txn, queue, now_ns, effects)
    }

    /// Makes sure that the wait that has just begun cannot deadlock, and reports what became of it.
    fn admit_wait(
        &mut self,
        txn: TxnIndex,
        queue: QueueIndex,
        now_ns: u64,
        effects: &mut Effects,
    ) -> Result<Outcome, Refusal> {
        if let DeadlockPolicy::Detect(victim) = self.rules.deadlocks {
            self.break_cycles(txn, queue, victim, effects);
        } else {
            self.enforce_order(queue, effects);
        }
        // Withdrawn waits take edges away, this wait can only add some: in this order no cycle is ever counted.
        for &other in self.dirty.iter().filter(|&&other| other != queue) {
            self.graph.account(other);
        }
        self.graph.account(queue);
        if self.graph.txn(txn).waiting.is_some() {
            self.graph.link(txn);
        }
        self.settle(now_ns, effects);
        if self.graph.txn(txn).waiting.is_some() {
            return Ok(Outcome::Waiting);
        }
        // A victim's leaving, or a refusal, may already have ended the wait.
        if let Some(at) = effects
            .refused
            .iter()
            .position(|&(refused, _)| refused == txn)
        {
            return Err(effects.refused.remove(at).1);
        }
        effects.granted.retain(|granted| granted.txn != txn);
        Ok(Outcome::Granted)
    }

    /// Takes the lock of `txn` on `queue` back and grants what that makes possible. Returns the mode it held.
    pub fn release(
        &mut self,
        txn: TxnIndex,
        queue: QueueIndex,
        now_ns: u64,
        effects: &mut Effects,
    ) -> Option<Mode> {
        let mode = self.graph.unhold(txn, queue)?;
        self.dirty.push(queue);
        self.settle(now_ns, effects);
        Some(mode)
    }

    /// Takes back the wait of `txn`, if any, and every lock it holds here, then grants what that makes possible.
    pub fn release_all(&mut self, txn: TxnIndex, now_ns: u64, effects: &mut Effects) {
        self.withdraw(txn);
        while let Some(&(queue, _)) = self.graph.txn(txn).holds.last() {
            self.graph.unhold(txn, queue);
            self.dirty.push(queue);
        }
        self.settle(now_ns, effects);
    }

    /// Takes the wait of `txn` back (a timeout, a cancellation). Whether it waited.
    pub fn cancel(&mut self, txn: TxnIndex, now_ns: u64, effects: &mut Effects) -> bool {
        let waited = self.withdraw(txn);
        self.settle(now_ns, effects);
        waited
    }

    fn give(&mut self, txn: TxnIndex, queue: QueueIndex, mode: Mode) {
        if self.graph.queue(queue).granted.mode_of(&txn).is_some() {
            self.graph.upgrade(txn, queue, mode);
        } else {
            self.graph.hold(txn, queue, mode);
        }
    }
}
