//! The worked examples of dissertation chapter 4 (figures 4.1 to 4.7 and 4.20). The figures are drawings; the graphs
//! here are built from what the text says of them.

use std::collections::HashMap;

use crate::contention::{Contention, Effects, Outcome, Rules};
use crate::graph::{QueueIndex, TxnIndex, TxnMeta};
use crate::modes::Mode::{self, S, X};
use crate::schedule::{DelayFactor, ScheduleKind, SetSizes};
use crate::starvation::Starvation;

/// A dependency graph with names.
struct Figure {
    contention: Contention,
    txns: HashMap<&'static str, TxnIndex>,
    objects: HashMap<&'static str, QueueIndex>,
    effects: Effects,
}

impl Figure {
    fn new(schedule: ScheduleKind) -> Figure {
        let rules = Rules {
            sizes: SetSizes::Exact,
            starvation: Starvation::None,
            track_effective_sizes: true,
            ..Rules::new(schedule)
        };
        Figure {
            contention: Contention::new(rules),
            txns: HashMap::new(),
            objects: HashMap::new(),
            effects: Effects::default(),
        }
    }

    fn txn(&mut self, name: &'static str) -> TxnIndex {
        let id = self.txns.len() as u64;
        let meta = TxnMeta {
            id,
            birth_ns: id,
            class: 0,
            expected_remaining_ns: None,
        };
        *self
            .txns
            .entry(name)
            .or_insert_with(|| self.contention.add_txn(meta))
    }

    fn request(&mut self, txn: &'static str, object: &'static str, mode: Mode, outcome: Outcome) {
        let txn = self.txn(txn);
        let object = *self
            .objects
            .entry(object)
            .or_insert_with(|| self.contention.add_queue());
        let locks_held = self.contention.graph().txn(txn).holds.len() as u32;
        let became = self
            .contention
            .request(txn, object, mode, locks_held, 0, &mut self.effects);
        assert_eq!(became, Ok(outcome));
    }

    fn holds(&mut self, txn: &'static str, object: &'static str, mode: Mode) {
        self.request(txn, object, mode, Outcome::Granted);
    }

    fn waits(&mut self, txn: &'static str, object: &'static str, mode: Mode) {
        self.request(txn, object, mode, Outcome::Waiting);
    }

    /// The names of those granted, sorted, when `txn` gives everything back.
    fn granted_when_ends(&mut self, txn: &'static str) -> Vec<&'static str> {
        self.effects.clear();
        self.contention
            .release_all(self.txns[txn], 0, &mut self.effects);
        let name = |txn| {
            *self
                .txns
                .iter()
                .find(|(_, index)| **index == txn)
                .expect("a named transaction")
                .0
        };
        let mut granted: Vec<_> = self
            .effects
            .granted
            .iter()
            .map(|granted| name(granted.txn))
            .collect();
        granted.sort_unstable();
        granted
    }

    fn exact(&self, txn: &str) -> u64 {
        self.contention.graph().dependency_set_size(self.txns[txn])
    }

    fn effective(&self, txn: &str) -> u64 {
        self.contention.graph().effective_size(self.txns[txn])
    }
}

/// Figure 4.1: `t1` holds the most locks, all unpopular; `t2` holds fewer, but popular ones.
fn figure_4_1(schedule: ScheduleKind) -> Vec<&'static str> {
    let mut figure = Figure::new(schedule);
    figure.holds("t0", "o1", X);
    for object in ["a", "b", "c"] {
        figure.holds("t1", object, X);
    }
    figure.holds("t2", "o2", X);
    figure.waits("t3", "o2", X);
    figure.waits("t4", "o2", X);
    figure.waits("t1", "o1", X);
    figure.waits("t2", "o1", X);
    figure.granted_when_ends("t0")
}

#[test]
fn figure_4_1_most_locks_first_is_misled_by_unpopular_objects() {
    assert_eq!(figure_4_1(ScheduleKind::Mlf), ["t1"]);
    assert_eq!(figure_4_1(ScheduleKind::Mblf), ["t2"]);
    assert_eq!(figure_4_1(ScheduleKind::Ldsf), ["t2"]);
}

/// Figure 4.2: two locks of `t2` block one transaction each; one lock of `t1` blocks `t3`, which blocks three others.
fn figure_4_2(schedule: ScheduleKind) -> Figure {
    let mut figure = Figure::new(schedule);
    figure.holds("t0", "o1", X);
    figure.holds("t1", "o2", X);
    figure.holds("t2", "o3", X);
    figure.holds("t2", "o4", X);
    figure.holds("t3", "o5", X);
    for waiter in ["t6", "t7", "t8"] {
        figure.waits(waiter, "o5", X);
    }
    figure.waits("t3", "o2", X);
    figure.waits("t4", "o3", X);
    figure.waits("t5", "o4", X);
    figure.waits("t1", "o1", X);
    figure.waits("t2", "o1", X);
    figure
}

#[test]
fn figure_4_2_blocking_locks_do_not_count_those_blocked_indirectly() {
    assert_eq!(
        figure_4_2(ScheduleKind::Mblf).granted_when_ends("t0"),
        ["t2"]
    );
    let mut figure = figure_4_2(ScheduleKind::Ldsf);
    assert_eq!((figure.exact("t1"), figure.exact("t2")), (5, 3));
    assert_eq!(figure.granted_when_ends("t0"), ["t1"]);
}

/// Figure 4.3: a chain of three ends in `t1`; two transactions and a fourth wait for `t2` directly.
fn figure_4_3(schedule: ScheduleKind) -> Figure {
    let mut figure = Figure::new(schedule);
    figure.holds("t0", "o1", X);
    figure.holds("t1", "o2", X);
    figure.holds("t3", "o3", X);
    figure.waits("t4", "o3", X);
    figure.waits("t3", "o2", X);
    for (waiter, object) in [("t5", "o4"), ("t6", "o5"), ("t7", "o6")] {
        figure.holds("t2", object, X);
        figure.waits(waiter, object, X);
    }
    figure.waits("t1", "o1", X);
    figure.waits("t2", "o1", X);
    figure
}

#[test]
fn figure_4_3_the_deepest_need_not_unblock_the_most() {
    let mut figure = figure_4_3(ScheduleKind::Ddf);
    let depth = |figure: &Figure, txn| figure.contention.graph().depth(figure.txns[txn]);
    assert_eq!((depth(&figure, "t1"), depth(&figure, "t2")), (3, 2));
    assert_eq!(figure.granted_when_ends("t0"), ["t1"]);
    assert_eq!(
        figure_4_3(ScheduleKind::Ldsf).granted_when_ends("t0"),
        ["t2"]
    );
}

#[test]
fn figure_4_4_the_largest_dependency_set_goes_first() {
    // |g(t1)| = 5 and |g(t2)| = 4, both ask for an exclusive lock.
    let mut figure = Figure::new(ScheduleKind::Ldsf);
    figure.holds("t0", "o1", X);
    figure.holds("t1", "o2", X);
    figure.holds("t2", "o3", X);
    for waiter in ["t3", "t4", "t5", "t6"] {
        figure.waits(waiter, "o2", X);
    }
    for waiter in ["t7", "t8", "t9"] {
        figure.waits(waiter, "o3", X);
    }
    figure.waits("t2", "o1", X);
    figure.waits("t1", "o1", X);
    assert_eq!((figure.exact("t1"), figure.exact("t2")), (5, 4));
    assert_eq!(figure.granted_when_ends("t0"), ["t1"]);
}

#[test]
fn figure_4_5_a_waiter_depends_on_every_shared_holder() {
    // t1 waits for o3, held in shared mode by t5 and t6, which wait for o1 (shared by t2 and t3) and o2 (held by t3).
    let mut figure = Figure::new(ScheduleKind::Ldsf);
    figure.holds("t2", "o1", S);
    figure.holds("t3", "o1", S);
    figure.holds("t3", "o2", X);
    figure.holds("t5", "o3", S);
    figure.holds("t6", "o3", S);
    figure.waits("t5", "o1", X);
    figure.waits("t6", "o2", X);
    figure.waits("t1", "o3", X);
    // Reverse reachability by hand: t1 and t5 reach t2; t1, t5 and t6 reach t3.
    assert_eq!((figure.exact("t2"), figure.exact("t3")), (3, 4));
    assert_eq!(
        (figure.exact("t5"), figure.exact("t6"), figure.exact("t1")),
        (2, 2, 1)
    );
    // t3 releasing o1 does not help t5 while t2 still reads it.
    assert_eq!(figure.granted_when_ends("t3"), ["t6"]);
    assert_eq!(figure.granted_when_ends("t2"), ["t5"]);
}

/// The four that wait for the object of figure 4.6.
const READERS_AND_WRITER: [&str; 4] = ["t1", "t2", "t3", "t4"];

/// Figure 4.6: three readers and a writer. Reader t1 and the writer keep four transactions waiting each. Returns the
/// batches that are granted one after the other, each when all of the last one have ended, and the sizes of the
/// dependency sets.
fn figure_4_6(schedule: ScheduleKind) -> (Vec<Vec<&'static str>>, [u64; 4]) {
    let mut figure = Figure::new(schedule);
    figure.holds("t0", "o", X);
    figure.holds("t1", "p", X);
    figure.holds("t4", "q", X);
    for waiter in ["a1", "a2", "a3", "a4"] {
        figure.waits(waiter, "p", X);
    }
    for waiter in ["b1", "b2", "b3", "b4"] {
        figure.waits(waiter, "q", X);
    }
    for (waiter, mode) in [("t1", S), ("t2", S), ("t3", S), ("t4", X)] {
        figure.waits(waiter, "o", mode);
    }
    let sizes = READERS_AND_WRITER.map(|txn| figure.exact(txn));
    let (mut batches, mut running) = (Vec::new(), vec!["t0"]);
    while !running.is_empty() {
        let granted: Vec<_> = running
            .iter()
            .flat_map(|&txn| figure.granted_when_ends(txn))
            .collect();
        let next = READERS_AND_WRITER
            .into_iter()
            .filter(|txn| granted.contains(txn));
        running = next.collect();
        batches.push(running.clone());
    }
    batches.pop();
    (batches, sizes)
}

#[test]
fn figure_4_6_a_batch_of_shared_locks_beats_all_of_them() {
    // f(2) = 1.5 and f(3) = 2 is f5. What waits for a batch waits for all batches before it.
    let factor = DelayFactor::HalfLinear;
    assert_eq!((factor.at(2), factor.at(3)), (1.5, 2.0));
    let total = |batches: &[Vec<&str>], sizes: [u64; 4]| {
        let (mut passed, mut total) = (0.0, 0.0);
        for batch in batches {
            let of = |txn: &&str| READERS_AND_WRITER.iter().position(|one| one == txn);
            let waiting: u64 = batch.iter().filter_map(of).map(|at| sizes[at]).sum();
            total += passed * waiting as f64;
            passed += factor.at(batch.len());
        }
        total
    };
    let (batches, sizes) = figure_4_6(ScheduleKind::Bldsf(factor));
    assert_eq!(sizes, [5, 1, 1, 5]);
    assert_eq!(batches, [vec!["t1"], vec!["t4"], vec!["t2", "t3"]]);
    assert_eq!(total(&batches, sizes), 9.0);
    // LDSF lets all three read at once: the union of seven exceeds five.
    let (batches, sizes) = figure_4_6(ScheduleKind::Ldsf);
    assert_eq!(batches, [vec!["t1", "t2", "t3"], vec!["t4"]]);
    assert_eq!(total(&batches, sizes), 10.0);
}

#[test]
fn figure_4_7_the_effective_size_counts_overlaps_twice() {
    // t4 waits for an object t2 and t3 share, and both wait for t1: {t1, t2, t3, t4}, counted as 1 + 2 + 2.
    let mut figure = Figure::new(ScheduleKind::Ldsf);
    figure.holds("t2", "o2", S);
    figure.holds("t3", "o2", S);
    figure.holds("t1", "o1", X);
    figure.holds("t1", "o3", X);
    figure.waits("t2", "o1", X);
    figure.waits("t3", "o3", X);
    figure.waits("t4", "o2", X);
    assert_eq!((figure.exact("t1"), figure.effective("t1")), (4, 5));
}

#[test]
fn figure_4_20_a_short_transaction_goes_before_a_long_query_with_more_dependents() {
    // |g(t1)| = 4 and |g(t2)| = 3 give 7 E(R1) + 3 E(R2) + 5 E(R3) for t1 first, 4 E(R1) + 7 E(R2) + 5 E(R3) for t2 first.
    let build = |schedule| {
        let mut figure = Figure::new(schedule);
        for (name, id, expected_ns) in [("t1", 100, 100.0), ("t2", 101, 1.0)] {
            let meta = TxnMeta {
                id,
                birth_ns: 0,
                class: 0,
                expected_remaining_ns: Some(expected_ns),
            };
            let index = figure.contention.add_txn(meta);
            figure.txns.insert(name, index);
        }
        figure.holds("t0", "o", X);
        figure.holds("t1", "p", X);
        figure.holds("t2", "q", X);
        for waiter in ["t3", "t4", "t5"] {
            figure.waits(waiter, "p", S);
        }
        for waiter in ["t6", "t7"] {
            figure.waits(waiter, "q", S);
        }
        figure.waits("t1", "o", X);
        figure.waits("t2", "o", X);
        assert_eq!((figure.exact("t1"), figure.exact("t2")), (4, 3));
        figure.granted_when_ends("t0")
    };
    assert_eq!(build(ScheduleKind::Ldsf), ["t1"]);
    assert_eq!(build(ScheduleKind::Hldsf), ["t2"]);
}
