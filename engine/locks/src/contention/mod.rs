//! What happens where requests conflict: the engine shared by the lock manager and the simulator.
//!
//! [`Contention`] holds the queues and the wait-for graph and applies one schedule, one starvation policy and one
//! deadlock policy to them. It is single-threaded and deterministic: the same calls give the same effects. The lock
//! manager keeps one behind a mutex and brings only contended objects into it; the simulator keeps every object in it.

mod deadlocks;
mod outcome;
mod rules;

pub use outcome::{Effects, Granted, Outcome, Refusal};
pub use rules::Rules;

use crate::deadlock::DeadlockPolicy;
use crate::draws::Draws;
use crate::graph::{Graph, QueueIndex, TxnIndex, TxnMeta};
use crate::modes::Mode;
use crate::observe::Counters;
use crate::queue::Waiter;
use crate::remaining::RemainingTimes;
use crate::schedule::{Decision, Schedule, ScheduleKind, SetSizes};
use crate::starvation::Starvation;

/// Queues, wait-for graph and the rules applied to them.
pub struct Contention {
    graph: Graph,
    rules: Rules,
    schedule: Box<dyn Schedule>,
    draws: Draws,
    remaining: RemainingTimes,
    counters: Counters,
    /// Objects whose waiters have to be looked at.
    dirty: Vec<QueueIndex>,
    picked: Vec<usize>,
}

impl Contention {
    /// Nothing held, nothing waiting.
    pub fn new(rules: Rules) -> Contention {
        let approximates = rules.schedule.needs_sizes() && rules.sizes == SetSizes::Approximate;
        let schedule = match rules.deadlocks {
            DeadlockPolicy::WoundWait => ScheduleKind::Vats,
            _ => rules.schedule,
        };
        Contention {
            graph: Graph::new(approximates || rules.track_effective_sizes),
            rules,
            schedule: schedule.build(),
            draws: Draws::new(rules.seed),
            remaining: RemainingTimes::default(),
            counters: Counters::default(),
            dirty: Vec::new(),
            picked: Vec::new(),
        }
    }

    /// Who holds and waits for what.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The rules in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What was counted so far.
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

    /// Takes a lock out without looking at waiters, of which there are none: the object is contended no more.
    pub fn disown(&mut self, txn: TxnIndex, queue: QueueIndex) {
        debug_assert_eq!(self.graph.queue(queue).waiter_count(), 0);
        self.graph.unhold(txn, queue);
    }

    /// A transaction of `class` ended `remaining_ns` after a scheduled grant (section 4.7.3).
    pub fn observe_remaining(&mut self, class: u32, remaining_ns: f64) {
        self.remaining.observe(class, remaining_ns);
    }

    /// Asks for `mode` on `queue`; of a holder, for what it holds and `mode` together. `locks_held` is the number of
    /// locks the transaction holds anywhere.
    ///
    /// # Errors
    /// The request was refused and does not wait. Others may have been granted or refused all the same.
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
                // A stronger lock may now stand in the way of waiters the prevention policies would not have let wait.
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

    fn withdraw(&mut self, txn: TxnIndex) -> bool {
        let Some((queue, _)) = self.graph.end_wait(txn) else {
            return false;
        };
        self.dirty.push(queue);
        true
    }

    fn refuse(&mut self, txn: TxnIndex, refusal: Refusal, effects: &mut Effects) {
        self.counters.refusals += 1;
        self.withdraw(txn);
        effects.refused.push((txn, refusal));
    }

    /// Grants whatever can be granted on the objects that changed, until nothing can.
    fn settle(&mut self, now_ns: u64, effects: &mut Effects) {
        while let Some(queue) = self.dirty.pop() {
            self.graph.account(queue);
            self.grant_waiters(queue, now_ns, effects);
            self.enforce_order(queue, effects);
            effects.touched.push(queue);
        }
    }

    /// Afterwards no waiter of `queue` is eligible: nobody is left waiting for nothing.
    fn grant_waiters(&mut self, queue: QueueIndex, now_ns: u64, effects: &mut Effects) {
        if self.graph.queue(queue).waiter_count() == 0 {
            return;
        }
        loop {
            while let Some(upgrader) = self.graph.queue(queue).ready_upgrader() {
                self.grant_upgrade(upgrader, now_ns, effects);
            }
            let eligible = self.graph.queue(queue).eligible_modes();
            if eligible.is_empty() {
                break;
            }
            self.decide(queue, eligible, now_ns);
            self.grant_picked(queue, now_ns, effects);
        }
        self.graph.account(queue);
    }

    /// Fills `picked` with the places of the waiters to grant.
    fn decide(&mut self, queue: QueueIndex, eligible: crate::modes::ModeSet, now_ns: u64) {
        self.picked.clear();
        self.counters
            .note_decision(self.graph.queue(queue).waiting().len());
        let starvation = self.rules.starvation;
        starvation.overdue(self.graph.queue(queue), eligible, &mut self.picked);
        if !self.picked.is_empty() {
            return;
        }
        let arrival_limit = starvation.arrival_limit(self.graph.queue_mut(queue), eligible);
        let decision = Decision {
            graph: &self.graph,
            queue,
            eligible,
            arrival_limit,
            now_ns,
            sizes: self.rules.sizes,
            size_per_ns: starvation.size_per_ns(),
            remaining: &self.remaining,
        };
        self.schedule
            .pick(&decision, &mut self.draws, &mut self.picked);
    }

    /// Grants what was picked, as far as it is compatible with the granted set: a schedule is never trusted.
    fn grant_picked(&mut self, queue: QueueIndex, now_ns: u64, effects: &mut Effects) {
        let object = self.graph.queue(queue);
        let mut taken = object.granted.modes();
        self.picked.retain(|&place| {
            let mode = object.waiting()[place].mode;
            let admitted = mode.conflicts().intersection(taken).is_empty();
            taken = if admitted { taken.with(mode) } else { taken };
            admitted
        });
        assert!(
            !self.picked.is_empty(),
            "a schedule picks an eligible waiter"
        );
        let mut latest = [None; Mode::COUNT];
        for waiter in self.graph.grant_places(queue, &self.picked) {
            let of_mode = &mut latest[waiter.mode as usize];
            *of_mode = (*of_mode).max(Some(waiter.arrival));
            self.report_grant(queue, &waiter, now_ns, effects);
        }
        if matches!(self.rules.starvation, Starvation::BoundedBypass { .. }) {
            self.graph.queue_mut(queue).note_overtaking(latest);
        }
    }

    fn report_grant(
        &mut self,
        queue: QueueIndex,
        waiter: &Waiter,
        now_ns: u64,
        effects: &mut Effects,
    ) {
        let waited_ns = now_ns.saturating_sub(waiter.since_ns);
        self.counters.scheduled_grants += 1;
        self.counters.waited_ns += waited_ns;
        effects.granted.push(Granted {
            txn: waiter.txn,
            queue,
            mode: waiter.mode,
            waited_ns,
        });
    }

    /// Grants an upgrader what it waits for.
    fn grant_upgrade(&mut self, txn: TxnIndex, now_ns: u64, effects: &mut Effects) {
        let (queue, waiter) = self.graph.end_wait(txn).expect("only a waiter is granted");
        self.graph.upgrade(txn, queue, waiter.mode);
        self.report_grant(queue, &waiter, now_ns, effects);
    }

    fn give(&mut self, txn: TxnIndex, queue: QueueIndex, mode: Mode) {
        if self.graph.queue(queue).granted.mode_of(&txn).is_some() {
            self.graph.upgrade(txn, queue, mode);
        } else {
            self.graph.hold(txn, queue, mode);
        }
    }
}
