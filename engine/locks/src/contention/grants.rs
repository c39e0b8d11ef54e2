//! Grants to those who wait, as the schedule decides.

use super::outcome::{Effects, Granted};
use super::state::Contention;
use crate::graph::{QueueIndex, TxnIndex};
use crate::modes::{Mode, ModeSet};
use crate::queue::Waiter;
use crate::schedule::Decision;
use crate::starvation::Starvation;

impl Contention {
    /// Grants whatever can be granted on the objects that changed, until nothing can.
    pub(super) fn settle(&mut self, now_ns: u64, effects: &mut Effects) {
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
    fn decide(&mut self, queue: QueueIndex, eligible: ModeSet, now_ns: u64) {
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
            .pick(&decision, &mut self.rng, &mut self.picked);
    }

    /// Grants the picked waiters that are compatible with the granted set: a schedule is never trusted.
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
}
