//! A naive model of the contention core: it knows only holders and waiters, and recomputes everything from its
//! definition.

use std::collections::{BTreeMap, BTreeSet};

use super::steps::{OBJECTS, Step, TXNS};
use crate::contention::{Contention, Effects, Outcome, Rules};
use crate::deadlock::DeadlockPolicy;
use crate::graph::{QueueIndex, TxnIndex, TxnMeta};
use crate::modes::Mode;
use crate::starvation::Starvation;

/// The contention core beside what it should have made of the steps so far.
pub(super) struct Model {
    contention: Contention,
    txns: Vec<TxnIndex>,
    objects: Vec<QueueIndex>,
    held: BTreeMap<(TxnIndex, QueueIndex), Mode>,
    waits: BTreeMap<TxnIndex, (QueueIndex, Mode)>,
    /// Must abort: refused or wounded.
    must_abort: BTreeSet<TxnIndex>,
    effects: Effects,
    now_ns: u64,
}

impl Model {
    /// Transactions that hold nothing.
    pub(super) fn new(rules: Rules) -> Model {
        let mut contention = Contention::new(rules);
        let meta = |id: usize| TxnMeta {
            id: id as u64,
            birth_ns: (id * 7 % TXNS) as u64,
            class: id as u32 % 3,
            expected_remaining_ns: Some((id % 3) as f64 * 10.0),
        };
        let txns = (0..TXNS).map(|id| contention.add_txn(meta(id))).collect();
        let objects = (0..OBJECTS).map(|_| contention.add_queue()).collect();
        let (held, waits, must_abort) = Default::default();
        Model {
            contention,
            txns,
            objects,
            held,
            waits,
            must_abort,
            effects: Effects::default(),
            now_ns: 0,
        }
    }

    /// Takes one step, unless the transaction it is of cannot take it now.
    pub(super) fn take(&mut self, step: Step) {
        self.now_ns += 1;
        match step {
            Step::Request { txn, object, mode } => {
                self.request(self.txns[txn], self.objects[object], mode)
            }
            Step::Release { txn, which } => self.release(self.txns[txn], which),
            Step::End { txn } => self.end(self.txns[txn]),
            Step::Cancel { txn } => {
                let txn = self.txns[txn];
                let waited = self.contention.cancel(txn, self.now_ns, &mut self.effects);
                assert_eq!(waited, self.waits.remove(&txn).is_some());
            }
            Step::SetRules(rules) => {
                self.contention
                    .set_rules(rules, self.now_ns, &mut self.effects);
            }
        }
        self.apply_effects();
    }

    fn request(&mut self, txn: TxnIndex, object: QueueIndex, mode: Mode) {
        if self.waits.contains_key(&txn) || self.must_abort.contains(&txn) {
            return;
        }
        let before = self.held.get(&(txn, object)).copied();
        let target = before.map_or(mode, |held| held.supremum(mode));
        let locks_held = self.held.keys().filter(|held| held.0 == txn).count() as u32;
        match self.contention.request(
            txn,
            object,
            mode,
            locks_held,
            self.now_ns,
            &mut self.effects,
        ) {
            Ok(Outcome::AlreadyHeld) => assert_eq!(before, Some(target)),
            Ok(Outcome::Granted) => {
                self.held.insert((txn, object), target);
            }
            Ok(Outcome::Waiting) => {
                let policy = self.contention.rules().deadlocks;
                assert_ne!(policy, DeadlockPolicy::NoWait, "nobody begins to wait");
                self.waits.insert(txn, (object, target));
            }
            Err(_) => {
                self.must_abort.insert(txn);
            }
        }
    }

    fn release(&mut self, txn: TxnIndex, which: usize) {
        let locks: Vec<QueueIndex> = self
            .held
            .keys()
            .filter(|held| held.0 == txn)
            .map(|held| held.1)
            .collect();
        if locks.is_empty() || self.waits.contains_key(&txn) {
            return;
        }
        let object = locks[which % locks.len()];
        let mode = self
            .contention
            .release(txn, object, self.now_ns, &mut self.effects);
        assert_eq!(mode, self.held.remove(&(txn, object)));
    }

    fn end(&mut self, txn: TxnIndex) {
        self.contention
            .release_all(txn, self.now_ns, &mut self.effects);
        self.held.retain(|held, _| held.0 != txn);
        self.waits.remove(&txn);
        // A new transaction takes its place.
        let meta = self.contention.graph().txn(txn).meta;
        self.contention.remove_txn(txn);
        let fresh = TxnMeta {
            id: meta.id + TXNS as u64,
            birth_ns: self.now_ns,
            ..meta
        };
        assert_eq!(self.contention.add_txn(fresh), txn);
        self.must_abort.remove(&txn);
    }

    fn apply_effects(&mut self) {
        for granted in self.effects.granted.drain(..) {
            assert_eq!(
                self.waits.remove(&granted.txn),
                Some((granted.queue, granted.mode))
            );
            self.held.insert((granted.txn, granted.queue), granted.mode);
        }
        for (txn, _) in self.effects.refused.drain(..) {
            assert!(
                self.waits.remove(&txn).is_some(),
                "only a waiter is refused later"
            );
            self.must_abort.insert(txn);
        }
        self.must_abort
            .extend(self.effects.wounded.drain(..).map(|(txn, _)| txn));
        self.effects.clear();
    }

    fn holders(&self, object: QueueIndex) -> impl Iterator<Item = (TxnIndex, Mode)> + '_ {
        self.held
            .iter()
            .filter(move |(held, _)| held.1 == object)
            .map(|(held, &mode)| (held.0, mode))
    }

    fn waiters(&self, object: QueueIndex) -> impl Iterator<Item = (TxnIndex, Mode)> + '_ {
        self.waits
            .iter()
            .filter(move |(_, wait)| wait.0 == object)
            .map(|(&txn, wait)| (txn, wait.1))
    }

    /// Holders other than `txn` that conflict with `mode`.
    fn in_the_way(&self, txn: TxnIndex, object: QueueIndex, mode: Mode) -> BTreeSet<TxnIndex> {
        self.holders(object)
            .filter(|&(holder, held)| holder != txn && !held.compatible(mode))
            .map(|h| h.0)
            .collect()
    }

    /// The blockers of a waiter, by the definition in the module `queue`.
    fn waits_for(&self, txn: TxnIndex) -> BTreeSet<TxnIndex> {
        let Some(&(object, mode)) = self.waits.get(&txn) else {
            return BTreeSet::new();
        };
        let mut blockers = self.in_the_way(txn, object, mode);
        if !self.held.contains_key(&(txn, object)) {
            let rivals = self
                .waiters(object)
                .filter(|&(other, wanted)| other != txn && !wanted.compatible(mode));
            for (_, wanted) in rivals {
                blockers.extend(
                    self.holders(object)
                        .filter(|&(_, held)| !held.compatible(wanted))
                        .map(|h| h.0),
                );
            }
            blockers.remove(&txn);
        }
        blockers
    }

    fn dependents(&self, txn: TxnIndex) -> BTreeSet<TxnIndex> {
        let mut set = BTreeSet::from([txn]);
        loop {
            let more: Vec<TxnIndex> = self
                .waits
                .keys()
                .copied()
                .filter(|w| !set.contains(w) && !self.waits_for(*w).is_disjoint(&set))
                .collect();
            if more.is_empty() {
                return set;
            }
            set.extend(more);
        }
    }

    /// The contention core agrees with the definitions.
    pub(super) fn check(&self) {
        self.check_grants();
        for &txn in self.waits.keys() {
            assert!(
                !self.waits_for(txn).is_empty(),
                "{txn:?} waits for nobody: a lost wake-up"
            );
            let found: BTreeSet<TxnIndex> =
                self.contention.graph().blockers(txn).into_iter().collect();
            assert_eq!(found, self.waits_for(txn));
        }
        self.check_order();
        self.check_sizes();
    }

    fn check_grants(&self) {
        for &object in &self.objects {
            let holders: Vec<_> = self.holders(object).collect();
            for (at, a) in holders.iter().enumerate() {
                assert!(
                    holders[at + 1..].iter().all(|b| a.1.compatible(b.1)),
                    "conflicting grants {holders:?}"
                );
            }
            let graph = self.contention.graph().queue(object);
            let granted: BTreeMap<_, _> = graph
                .granted
                .iter()
                .map(|grant| (grant.owner, grant.mode))
                .collect();
            assert_eq!(granted, holders.into_iter().collect());
        }
    }

    fn check_order(&self) {
        let meta = |txn: TxnIndex| self.contention.graph().txn(txn).meta;
        for &txn in self.waits.keys() {
            for blocker in self.waits_for(txn) {
                match self.contention.rules().deadlocks {
                    DeadlockPolicy::Detect(_) => {
                        assert!(
                            !self.dependents(txn).contains(&blocker),
                            "an unresolved cycle"
                        );
                    }
                    DeadlockPolicy::WaitDie => assert!(meta(txn).is_older_than(&meta(blocker))),
                    DeadlockPolicy::WoundWait => {
                        assert!(
                            meta(blocker).is_older_than(&meta(txn))
                                || self.must_abort.contains(&blocker)
                        );
                    }
                    // The wait began under another policy.
                    DeadlockPolicy::NoWait => {}
                }
            }
        }
        if let Starvation::BoundedBypass { overtakes_max } = self.contention.rules().starvation {
            for &object in &self.objects {
                let waiting = self.contention.graph().queue(object).waiting();
                assert!(
                    waiting
                        .iter()
                        .all(|waiter| waiter.overtaken <= overtakes_max)
                );
            }
        }
    }

    fn check_sizes(&self) {
        let graph = self.contention.graph();
        for &txn in &self.txns {
            let exact = self.dependents(txn).len() as u64;
            assert_eq!(graph.dependency_set_size(txn), exact);
            if self.contention.rules().track_effective_sizes {
                let effective = graph.effective_size(txn);
                assert_eq!(
                    effective,
                    graph.effective_size_by_definition(txn),
                    "{txn:?}"
                );
                assert!(effective >= exact);
            }
            assert!(u64::from(graph.depth(txn)) <= exact);
        }
    }

    /// Ends running transactions until none waits: every wait ends.
    pub(super) fn drain(&mut self) {
        while !self.waits.is_empty() {
            let running = self.txns.iter().copied().find(|txn| {
                !self.waits.contains_key(txn) && self.held.keys().any(|held| held.0 == *txn)
            });
            self.end(running.expect("somebody who holds a lock runs"));
            self.apply_effects();
            self.check();
        }
    }
}
