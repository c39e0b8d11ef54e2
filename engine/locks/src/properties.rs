//! Random histories against a naive model: every schedule, starvation and deadlock policy.
//!
//! The model knows only who holds what and who waits for what; it recomputes everything from its definition.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::contention::{Contention, Effects, Outcome, Rules};
use crate::deadlock::{DeadlockPolicy, Victim};
use crate::graph::{QueueIndex, TxnIndex, TxnMeta};
use crate::modes::{MODES, Mode};
use crate::schedule::{DelayFactor, ScheduleKind, SetSizes};
use crate::starvation::Starvation;

const TXNS: usize = 8;
const OBJECTS: usize = 4;

/// One step of a history; numbers are reduced to what exists.
#[derive(Clone, Copy, Debug)]
enum Step {
    Request {
        txn: usize,
        object: usize,
        mode: Mode,
    },
    Release {
        txn: usize,
        which: usize,
    },
    End {
        txn: usize,
    },
    Cancel {
        txn: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let mode = prop_oneof![1 => Just(Mode::IS), 1 => Just(Mode::IX), 4 => Just(Mode::S), 1 => Just(Mode::SIX), 4 => Just(Mode::X)];
    let request = (0..TXNS, 0..OBJECTS, mode).prop_map(|(txn, object, mode)| Step::Request {
        txn,
        object,
        mode,
    });
    let step = prop_oneof![
        8 => request,
        1 => (0..TXNS, 0..OBJECTS).prop_map(|(txn, which)| Step::Release { txn, which }),
        2 => (0..TXNS).prop_map(|txn| Step::End { txn }),
        1 => (0..TXNS).prop_map(|txn| Step::Cancel { txn }),
    ];
    prop::collection::vec(step, 1..120)
}

fn rules() -> impl Strategy<Value = Rules> {
    let schedule = prop_oneof![
        4 => prop::sample::select(ScheduleKind::ALL.to_vec()),
        1 => prop::sample::select(DelayFactor::ALL.to_vec()).prop_map(ScheduleKind::Bldsf),
    ];
    let starvation = prop_oneof![
        Just(Starvation::Unprevented),
        Just(Starvation::Barrier),
        Just(Starvation::Ageing { size_per_ns: 0.5 }),
        (0u32..4).prop_map(|overtakes_max| Starvation::BoundedBypass { overtakes_max }),
    ];
    let deadlocks = prop::sample::select(vec![
        DeadlockPolicy::Detect(Victim::Youngest),
        DeadlockPolicy::Detect(Victim::FewestLocks),
        DeadlockPolicy::Detect(Victim::SmallestDependencySet),
        DeadlockPolicy::WaitDie,
        DeadlockPolicy::WoundWait,
        DeadlockPolicy::NoWait,
    ]);
    let sizes = prop_oneof![Just(SetSizes::Exact), Just(SetSizes::Approximate)];
    (schedule, starvation, deadlocks, sizes, any::<u64>()).prop_map(
        |(schedule, starvation, deadlocks, sizes, seed)| Rules {
            schedule,
            sizes,
            starvation,
            deadlocks,
            seed,
            track_effective_sizes: true,
        },
    )
}

struct Model {
    contention: Contention,
    txns: Vec<TxnIndex>,
    objects: Vec<QueueIndex>,
    held: BTreeMap<(TxnIndex, QueueIndex), Mode>,
    waits: BTreeMap<TxnIndex, (QueueIndex, Mode)>,
    /// Must abort: refused or wounded.
    doomed: BTreeSet<TxnIndex>,
    effects: Effects,
    now_ns: u64,
}

impl Model {
    fn new(rules: Rules) -> Model {
        let mut contention = Contention::new(rules);
        let meta = |id: usize| TxnMeta {
            id: id as u64,
            birth_ns: (id * 7 % TXNS) as u64,
            class: id as u32 % 3,
            expected_remaining_ns: Some((id % 3) as f64 * 10.0),
        };
        let txns = (0..TXNS).map(|id| contention.add_txn(meta(id))).collect();
        let objects = (0..OBJECTS).map(|_| contention.add_queue()).collect();
        let (held, waits, doomed) = Default::default();
        Model {
            contention,
            txns,
            objects,
            held,
            waits,
            doomed,
            effects: Effects::default(),
            now_ns: 0,
        }
    }

    fn take(&mut self, step: Step) {
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
        }
        self.apply_effects();
    }

    fn request(&mut self, txn: TxnIndex, object: QueueIndex, mode: Mode) {
        if self.waits.contains_key(&txn) || self.doomed.contains(&txn) {
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
                self.waits.insert(txn, (object, target));
            }
            Err(_) => {
                self.doomed.insert(txn);
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
        self.doomed.remove(&txn);
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
            self.doomed.insert(txn);
        }
        self.doomed
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

    /// Whom a waiter waits for, by the definition in the module `queue`.
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

    fn check(&self) {
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
                    DeadlockPolicy::WaitDie => assert!(meta(txn).is_elder_than(&meta(blocker))),
                    DeadlockPolicy::WoundWait => {
                        assert!(
                            meta(blocker).is_elder_than(&meta(txn))
                                || self.doomed.contains(&blocker)
                        );
                    }
                    DeadlockPolicy::NoWait => panic!("nobody waits"),
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
            assert_eq!(
                graph.effective_size(txn),
                graph.effective_size_by_definition(txn),
                "{txn:?}"
            );
            assert!(graph.effective_size(txn) >= exact);
            assert!(u64::from(graph.depth(txn)) <= exact);
        }
    }

    /// Ends whoever runs until nobody waits: every wait comes to an end.
    fn drain(&mut self) {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn random_histories_agree_with_the_model(rules in rules(), steps in steps()) {
        let mut model = Model::new(rules);
        for step in steps {
            model.take(step);
            model.check();
        }
        model.drain();
    }

    /// Under each policy a waiter is granted although others keep coming: within the number of decisions it allows.
    #[test]
    fn nobody_starves(
        schedule in prop::sample::select(ScheduleKind::ALL.to_vec()),
        overtakes_max in 0u32..5,
        newcomers in prop::collection::vec(prop::sample::select(MODES.to_vec()), 40),
    ) {
        let starvations = [
            Starvation::Barrier,
            Starvation::BoundedBypass { overtakes_max },
        ];
        for starvation in starvations {
            let rules = Rules { starvation, sizes: SetSizes::Exact, ..Rules::new(schedule) };
            let mut contention = Contention::new(rules);
            let mut effects = Effects::default();
            let mut id = 0;
            let mut begin = |contention: &mut Contention| {
                id += 1;
                // Younger transactions pretend to be elder, so that VATS prefers them.
                contention.add_txn(TxnMeta { id, birth_ns: 1000 - id, class: 0, expected_remaining_ns: None })
            };
            let object = contention.add_queue();
            let first = begin(&mut contention);
            contention.request(first, object, Mode::X, 0, 0, &mut effects).expect("a free object");
            let patient = begin(&mut contention);
            contention.request(patient, object, Mode::X, 0, 0, &mut effects).expect("waits");
            let mut decisions = 0;
            let mut newcomers = newcomers.iter();
            while contention.graph().txn(patient).waiting.is_some() {
                for dependents in 1..=2 {
                    // Newcomers with dependents, so that the contention-aware schedules prefer them.
                    let Some(&mode) = newcomers.next() else { break };
                    let newcomer = begin(&mut contention);
                    let own = contention.add_queue();
                    contention.request(newcomer, own, Mode::X, 0, 0, &mut effects).expect("a free object");
                    for _ in 0..dependents {
                        let dependent = begin(&mut contention);
                        contention.request(dependent, own, Mode::X, 0, 0, &mut effects).expect("waits");
                    }
                    contention.request(newcomer, object, mode, 1, 0, &mut effects).expect("waits");
                }
                let holders: Vec<_> = contention.graph().queue(object).granted.iter().map(|g| g.owner).collect();
                for holder in holders {
                    effects.clear();
                    contention.release_all(holder, 0, &mut effects);
                    decisions += u32::from(effects.granted.iter().any(|granted| granted.queue == object));
                }
            }
            let bound = match starvation {
                // All that stood ahead of the first barrier: the patient one and the first two newcomers.
                Starvation::Barrier => 3,
                _ => overtakes_max + 1,
            };
            prop_assert!(decisions <= bound, "{starvation:?} under {schedule:?}: {decisions} > {bound}");
        }
    }

    /// Ageing at one dependent a nanosecond: newcomers with `dependents` dependents that are born more than as many
    /// nanoseconds later no longer go before the patient one.
    #[test]
    fn ageing_bounds_the_head_start_of_newcomers(
        schedule in prop::sample::select(vec![
            ScheduleKind::Ldsf,
            ScheduleKind::Bldsf(DelayFactor::Log),
            ScheduleKind::Hldsf,
        ]),
        dependents in 1u64..6,
    ) {
        let starvation = Starvation::Ageing { size_per_ns: 1.0 };
        let mut contention = Contention::new(Rules { starvation, ..Rules::new(schedule) });
        let mut effects = Effects::default();
        let mut id = 0;
        let mut begin = |contention: &mut Contention, birth_ns| {
            id += 1;
            contention.add_txn(TxnMeta { id, birth_ns, class: 0, expected_remaining_ns: Some(1.0) })
        };
        let object = contention.add_queue();
        let mut running = begin(&mut contention, 0);
        contention.request(running, object, Mode::X, 0, 0, &mut effects).expect("a free object");
        let patient = begin(&mut contention, 0);
        contention.request(patient, object, Mode::X, 0, 0, &mut effects).expect("waits");
        let mut now_ns = 0;
        while running != patient {
            now_ns += 1;
            let newcomer = begin(&mut contention, now_ns);
            let own = contention.add_queue();
            contention.request(newcomer, own, Mode::X, 0, now_ns, &mut effects).expect("a free object");
            for _ in 0..dependents {
                let dependent = begin(&mut contention, now_ns);
                contention.request(dependent, own, Mode::X, 0, now_ns, &mut effects).expect("waits");
            }
            contention.request(newcomer, object, Mode::X, 1, now_ns, &mut effects).expect("waits");
            effects.clear();
            contention.release_all(running, now_ns, &mut effects);
            running = effects.granted.iter().find(|granted| granted.queue == object).expect("a grant").txn;
        }
        prop_assert!(now_ns <= dependents + 1, "after {now_ns} decisions");
    }
}
