//! The schedules that look at ages across dependency sets, by hand and for starvation.

use proptest::prelude::*;

use crate::contention::{Contention, Effects, Outcome, Rules};
use crate::graph::{QueueIndex, TxnIndex, TxnMeta};
use crate::modes::Mode::{self, S, X};
use crate::schedule::{AgePower, ScheduleKind};

const LINEAR: ScheduleKind = ScheduleKind::Ldaf(AgePower::Linear);
const SQUARE: ScheduleKind = ScheduleKind::Ldaf(AgePower::Square);
/// When the decisions by hand are made.
const NOW_NS: u64 = 100;

/// An object with an exclusive holder, and its future waiters.
struct Scene {
    contention: Contention,
    effects: Effects,
    object: QueueIndex,
    holder: TxnIndex,
    born: u64,
}

impl Scene {
    fn new(schedule: ScheduleKind) -> Scene {
        let mut contention = Contention::new(Rules::new(schedule));
        let mut effects = Effects::default();
        let object = contention.add_queue();
        let holder = contention.add_txn(meta(0, 0, None));
        let held = contention.request(holder, object, X, 0, 0, &mut effects);
        assert_eq!(held, Ok(Outcome::Granted));
        Scene {
            contention,
            effects,
            object,
            holder,
            born: 0,
        }
    }

    /// A transaction of this age at [`NOW_NS`].
    fn aged(&mut self, age_ns: u64, remaining_ns: Option<f64>) -> TxnIndex {
        self.born += 1;
        let meta = meta(self.born, NOW_NS - age_ns, remaining_ns);
        self.contention.add_txn(meta)
    }

    fn request(&mut self, txn: TxnIndex, object: QueueIndex, mode: Mode) {
        let locks_held = self.contention.graph().txn(txn).holds.len() as u32;
        let asked =
            self.contention
                .request(txn, object, mode, locks_held, NOW_NS, &mut self.effects);
        assert!(asked.is_ok(), "{asked:?}");
    }

    /// A waiter of this age; transactions of `dependents` ages wait for it.
    fn waiter(&mut self, mode: Mode, age_ns: u64, dependents: &[u64]) -> TxnIndex {
        self.waiter_of(mode, age_ns, dependents, None)
    }

    fn waiter_of(
        &mut self,
        mode: Mode,
        age_ns: u64,
        dependents: &[u64],
        remaining_ns: Option<f64>,
    ) -> TxnIndex {
        let txn = self.aged(age_ns, remaining_ns);
        let own = self.contention.add_queue();
        self.request(txn, own, X);
        for &age_ns in dependents {
            let dependent = self.aged(age_ns, None);
            self.request(dependent, own, X);
        }
        self.request(txn, self.object, mode);
        txn
    }

    /// The transactions granted once the object is free.
    fn granted(mut self) -> Vec<TxnIndex> {
        self.contention
            .release_all(self.holder, NOW_NS, &mut self.effects);
        let granted = self.effects.granted.iter();
        granted.map(|granted| granted.txn).collect()
    }
}

fn meta(id: u64, birth_ns: u64, expected_remaining_ns: Option<f64>) -> TxnMeta {
    TxnMeta {
        id,
        birth_ns,
        class: 0,
        expected_remaining_ns,
    }
}

/// A lone transaction of age 11 against one of age 4 that keeps two of ages 8 and 3 waiting. With one added to each age:
/// sums 12 against 5 + 9 + 4 = 18, squares 144 against 25 + 81 + 16 = 122.
#[test]
fn the_power_decides_between_many_and_old() {
    for (schedule, many) in [
        (ScheduleKind::Ldsf, true),
        (LINEAR, true),
        (SQUARE, false),
        (ScheduleKind::Edsf, false),
        (ScheduleKind::Svats, false),
    ] {
        let mut scene = Scene::new(schedule);
        let old = scene.waiter(X, 11, &[]);
        let young = scene.waiter(X, 4, &[8, 3]);
        let expected = if many { young } else { old };
        assert_eq!(scene.granted(), [expected], "{schedule:?}");
    }
}

/// The young holder of what an old transaction waits for is as urgent as that one; for VATS it is young.
#[test]
fn age_is_inherited_from_dependents() {
    for (schedule, inherits) in [
        (ScheduleKind::Edsf, true),
        (SQUARE, true),
        (LINEAR, true),
        (ScheduleKind::Svats, false),
        (ScheduleKind::Vats, false),
    ] {
        let mut scene = Scene::new(schedule);
        let old = scene.waiter(X, 10, &[]);
        let young = scene.waiter(X, 4, &[20]);
        let expected = if inherits { young } else { old };
        assert_eq!(scene.granted(), [expected], "{schedule:?}");
    }
}

/// Readers of ages 5 and 2 around a writer of age 4. VATS stops at the writer; the others let both readers in: oldest 5
/// against 4, sums 6 + 3 against 5, squares 36 + 9 against 25.
#[test]
fn readers_go_together() {
    for (schedule, both) in [
        (ScheduleKind::Vats, false),
        (ScheduleKind::Svats, true),
        (ScheduleKind::Edsf, true),
        (LINEAR, true),
        (SQUARE, true),
    ] {
        let mut scene = Scene::new(schedule);
        let older = scene.waiter(S, 5, &[]);
        scene.waiter(X, 4, &[]);
        let younger = scene.waiter(S, 2, &[]);
        let expected = if both {
            vec![older, younger]
        } else {
            vec![older]
        };
        assert_eq!(scene.granted(), expected, "{schedule:?}");
    }
}

/// Two readers of age 1 both block one transaction of age 9, and a writer of age 13 waits alone. The sum of the
/// readers is 2 + 2 + 10 = 14, and equals the writer's; the shared requests win a tie. Counted twice, the dependent
/// would make 24; squares would be 4 + 4 + 100 = 108 against 196.
#[test]
fn a_dependent_of_two_readers_counts_once() {
    for (schedule, writer_age, readers) in
        [(LINEAR, 13, true), (LINEAR, 14, false), (SQUARE, 13, false)]
    {
        let mut scene = Scene::new(schedule);
        let shared = scene.contention.add_queue();
        let both = [scene.aged(1, None), scene.aged(1, None)];
        for reader in both {
            scene.request(reader, shared, S);
        }
        let dependent = scene.aged(9, None);
        scene.request(dependent, shared, X);
        let writer = scene.waiter(X, writer_age, &[]);
        for reader in both {
            scene.request(reader, scene.object, S);
        }
        let expected = if readers { both.to_vec() } else { vec![writer] };
        assert_eq!(scene.granted(), expected, "{schedule:?} {writer_age}");
    }
}

/// Squares 100 for one that takes 10 more, 49 for one that takes 4: 10 a nanosecond against 12.25.
#[test]
fn hldaf_divides_by_the_remaining_time() {
    for (schedule, quick_first) in [(SQUARE, false), (ScheduleKind::Hldaf, true)] {
        let mut scene = Scene::new(schedule);
        let slow = scene.waiter_of(X, 9, &[], Some(10.0));
        let quick = scene.waiter_of(X, 6, &[], Some(4.0));
        let expected = if quick_first { quick } else { slow };
        assert_eq!(scene.granted(), [expected], "{schedule:?}");
    }
}

/// Decisions until a patient writer of age 0 is granted, if every nanosecond another newborn writer joins that keeps
/// `dependents` newborn ones waiting.
fn decisions_until_granted(schedule: ScheduleKind, dependents: u64) -> u64 {
    let mut contention = Contention::new(Rules::new(schedule));
    let mut effects = Effects::default();
    let mut id = 0;
    let mut begin = |contention: &mut Contention, birth_ns| {
        id += 1;
        contention.add_txn(meta(id, birth_ns, Some(1.0)))
    };
    let mut ask = |contention: &mut Contention, txn, object, now_ns| {
        let asked = contention.request(txn, object, X, 0, now_ns, &mut effects);
        assert!(asked.is_ok());
        effects.clear();
    };
    let object = contention.add_queue();
    let mut running = begin(&mut contention, 0);
    ask(&mut contention, running, object, 0);
    let patient = begin(&mut contention, 0);
    ask(&mut contention, patient, object, 0);
    let mut now_ns = 0;
    while running != patient {
        now_ns += 1;
        let newcomer = begin(&mut contention, now_ns);
        let own = contention.add_queue();
        ask(&mut contention, newcomer, own, now_ns);
        for _ in 0..dependents {
            let dependent = begin(&mut contention, now_ns);
            ask(&mut contention, dependent, own, now_ns);
        }
        ask(&mut contention, newcomer, object, now_ns);
        let mut granted = Effects::default();
        contention.release_all(running, now_ns, &mut granted);
        let next = granted
            .granted
            .iter()
            .find(|granted| granted.queue == object);
        running = next.expect("somebody waits").txn;
    }
    now_ns
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// At time `n` the patient one weighs `n + 1` to the power, a newcomer with its dependents `dependents + 1`.
    #[test]
    fn waiting_alone_brings_a_waiter_to_the_front(dependents in 0u64..40) {
        let first = |power: u32| (1..).find(|n: &u64| (n + 1).pow(power) > dependents);
        for (schedule, expected) in [
            (LINEAR, first(1)),
            (SQUARE, first(2)),
            (ScheduleKind::Hldaf, first(2)),
            (ScheduleKind::Edsf, Some(1)),
            (ScheduleKind::Svats, Some(1)),
        ] {
            prop_assert_eq!(Some(decisions_until_granted(schedule, dependents)), expected, "{:?}", schedule);
        }
    }
}
