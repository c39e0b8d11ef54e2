//! Contents of a ring other than well-formed intervals.

use std::collections::BTreeMap;

use evenkeel_wire::record::{Marker, Record};
use evenkeel_wire::{KeepRate, Stamp};

use super::trace::*;
use crate::findings::warnings::Warning;
use crate::intervals::interval::{LeftOut, Reason};
use crate::{Analysis, ProbeCost};

const A: u32 = 0;
const B: u32 = 1;

fn begin(at: u64) -> Record {
    Record::marker(Marker::Begin, at, PAYLOAD)
}

fn end(at: u64) -> Record {
    Record::marker(Marker::End, at, PAYLOAD)
}

/// Intervals kept, and discarded by reason.
fn outcome(records: &[Record]) -> (u64, BTreeMap<LeftOut, u64>) {
    let mut analysis = started(ProbeCost::default());
    analysis.push(1, records);
    let profile = analysis.profile(&sites(&[]), &options());
    let discarded: u64 = profile.discarded_by_reason.values().sum();
    assert_eq!(
        (profile.discarded, profile.intervals_seen),
        (discarded, profile.intervals + discarded)
    );
    (profile.intervals, profile.discarded_by_reason)
}

#[track_caller]
fn discarded(records: &[Record], reason: Reason) {
    assert_eq!(
        outcome(records),
        (0, BTreeMap::from([(LeftOut::Known(reason), 1)]))
    );
}

#[track_caller]
fn kept(records: &[Record], intervals: u64) {
    assert_eq!(outcome(records), (intervals, BTreeMap::new()));
}

#[test]
fn records_outside_of_intervals_are_ignored() {
    kept(
        &[
            end(5),
            Record::new(1, 2, A),
            Record::marker(Marker::Gap, 0, 3),
            begin(10),
            end(20),
            end(30),
        ],
        1,
    );
    kept(&[begin(10), Record::new(12, 3, A)], 0);
}

#[test]
fn losses_discard() {
    discarded(
        &[begin(10), Record::marker(Marker::Gap, 0, 1), end(20)],
        Reason::RecordsLost,
    );
    discarded(
        &[begin(10), Record::marker(Marker::Abandon, 0, 0), end(20)],
        Reason::Abandoned,
    );
    discarded(
        &[begin(10), Record::marker(Marker::End, 20, 2 << 1 | 1)],
        Reason::PlanChanged,
    );
    let generation_zero = [
        Record::marker(Marker::Begin, 10, 1),
        Record::marker(Marker::End, 20, 1),
    ];
    discarded(&generation_zero, Reason::BeforeFirstRound);
    let left = BTreeMap::from([(LeftOut::Known(Reason::LeftEarly), 1)]);
    assert_eq!(
        outcome(&[begin(10), Record::new(11, 2, A), begin(15), end(20)]),
        (1, left)
    );
}

/// Of latencies 10, 10, 40 and 40 the last two are left by an error: the class explains all.
#[test]
fn intervals_left_by_an_error_are_a_class() {
    let left = |at| Record::end_of_interval(at, 1, KeepRate::ALL, true);
    let mut analysis = started(ProbeCost::default());
    let records = [
        [begin(100), end(110)],
        [begin(200), left(240)],
        [begin(300), end(310)],
        [begin(400), left(440)],
    ];
    analysis.push(1, records.as_flattened());
    let profile = analysis.profile(&sites(&[]), &options());
    let classes = profile.classes;
    let rows: Vec<_> = classes
        .classes
        .iter()
        .map(|class| (class.name.as_str(), class.intervals))
        .collect();
    assert_eq!(rows, [("(error)", 2), ("(no label)", 2)]);
    assert!((classes.between_fraction - 1.0).abs() < 1e-9, "{classes:?}");
}

/// Nine intervals of 10 ticks are kept; one of 910 loses a record, so that the mean seems 10 instead of 100.
#[test]
fn loss_that_depends_on_the_latency_is_reported() {
    let interval = |n: u64| [begin(1000 * n), end(1000 * n + 10)];
    let mut records: Vec<Record> = (1..=9).flat_map(interval).collect();
    let warnings = |records: &[Record]| {
        let mut analysis = started(ProbeCost::default());
        analysis.push(1, records);
        analysis.profile(&sites(&[]), &options()).warnings
    };
    let is_loss = |warning: &&Warning| matches!(warning, Warning::LossDependsOnLatency { .. });
    let without = [&records[..], &[begin(10_000)]].concat();
    assert_eq!(warnings(&without).iter().find(is_loss), None);
    records.extend([
        begin(10_000),
        Record::marker(Marker::Gap, 10_905, 1),
        end(10_910),
    ]);
    let loss = Warning::LossDependsOnLatency {
        intervals: 1,
        lost_ns: 910.0,
        kept_ns: 10.0,
        mean_ns: 100.0,
    };
    assert_eq!(warnings(&records).iter().find(is_loss), Some(&loss));
}

/// The same, followed by a plan without losses: 1,500 intervals of 2,000 ticks, all in a call that was not timed
/// before.
#[test]
fn losses_before_the_plan_are_not_missing_in_it() {
    let mut analysis = started(ProbeCost::default());
    let lossy = |n: u64| {
        let gap = Record::marker(Marker::Gap, 10_000 * n + 9_005, 1);
        [begin(10_000 * n), gap, end(10_000 * n + 9_010)]
    };
    let short = |n: u64| [begin(1_000_000 + 100 * n), end(1_000_000 + 100 * n + 10)];
    analysis.push(1, &(0..90).flat_map(lossy).collect::<Vec<_>>());
    analysis.push(1, &(0..900).flat_map(short).collect::<Vec<_>>());
    let warnings = |analysis: &Analysis| analysis.profile(&sites(&[]), &options()).warnings;
    let is_loss = |warning: &Warning| {
        matches!(
            warning,
            Warning::LossDependsOnLatency { intervals: 90, .. }
                | Warning::Discarded {
                    reason: Reason::RecordsLost,
                    ..
                }
        )
    };
    let before = warnings(&analysis);
    let lost = before.iter().filter(|warning| is_loss(warning)).count();
    assert_eq!(lost, 2, "{before:?}");
    let stamp = Stamp {
        generation: STAMP.generation + 1,
        ..STAMP
    };
    analysis.begin_round(stamp.generation, 4);
    let marker = |kind, at| Record::marker(kind, at, stamp.payload());
    let long = |n: u64| {
        let at = 2_000_000 + 10_000 * n;
        [
            marker(Marker::Begin, at),
            Record::new(at, 2_000 + n % 7, A),
            marker(Marker::End, at + 2_000 + n % 7),
        ]
    };
    analysis.push(1, &(0..1500).flat_map(long).collect::<Vec<_>>());
    let after = warnings(&analysis);
    assert!(!after.iter().any(is_loss), "{after:?}");
}

#[test]
fn too_many_calls_discard() {
    let mut records = vec![begin(1)];
    records.extend((0..(1 << 20) + 1).map(|at| Record::new(2 + at, 1, A)));
    records.push(end(3 << 20));
    discarded(&records, Reason::TooManyCalls);
}

#[test]
fn overlapping_calls_are_malformed() {
    let malformed = |calls: &[Record]| {
        discarded(
            &[&[begin(100)], calls, &[end(200)]].concat(),
            Reason::Malformed,
        );
    };
    malformed(&[Record::new(110, 30, A), Record::new(120, 50, B)]); // partial overlap
    malformed(&[Record::new(110, 100, A)]); // ends after the interval
    malformed(&[Record::new(50, 20, A)]); // ended before the interval
    malformed(&[Record::new(110, 10, B), Record::new(105, 10, A)]); // the child ends after its parent
    malformed(&[
        Record::new(110, 30, A),
        Record::marker(Marker::Open, 120, B.into()),
    ]); // open, but not around A
    malformed(&[
        Record::marker(Marker::Open, 150, B.into()),
        Record::marker(Marker::Open, 140, A.into()),
    ]);
    discarded(&[begin(100), end(90)], Reason::Malformed);
    // A signal's handler may call A before the call of B that it interrupted is recorded.
    let handled = [
        begin(100),
        Record::new(150, 10, A),
        Record::new(110, 10, B),
        end(200),
    ];
    assert_eq!(outcome(&handled), (1, BTreeMap::new()));
}

#[test]
fn voided_records_are_ignored() {
    kept(
        &[
            begin(100),
            Record::new(0, 7, A),
            Record::new(110, 20, B),
            end(200),
        ],
        1,
    );
}

/// Begin at 100, end at 200. Open f since 40 (clipped to 100), in it a completed call of g from 60 to 130 (clipped:
/// 30), in it h from 110 to 120; and after it open k since 150.
///   f 100 = g 30 + k 50 + own 20; g 30 = h 10 + own 20; root own 0.
#[test]
fn calls_around_the_bounds_are_clipped() {
    let (f, g, h, k) = (0u32, 1, 2, 3u32);
    let records = [
        begin(100),
        Record::new(110, 10, h),
        Record::new(60, 70, g),
        Record::marker(Marker::Open, 40, f.into()),
        Record::marker(Marker::Open, 150, k.into()),
        end(200),
    ];
    let mut analysis = started(ProbeCost::default());
    analysis.push(1, &records);
    let table = sites(&[
        ("f", "r+1", 0),
        ("g", "r+2", 0),
        ("h", "r+3", 0),
        ("k", "r+4", 0),
    ]);
    let tree = analysis.profile(&table, &options()).tree;
    let f = child(&tree, "f");
    let g = child(f, "g");
    assert_eq!(
        [tree.mean_ns, f.mean_ns, g.mean_ns, child(g, "h").mean_ns],
        [100.0, 100.0, 30.0, 10.0]
    );
    assert_eq!(
        [child(f, "k").mean_ns, child(f, "body of f").mean_ns],
        [50.0, 20.0]
    );
    assert_eq!(
        [
            child(&tree, "body of root").mean_ns,
            child(g, "body of g").mean_ns
        ],
        [0.0, 20.0]
    );
}

/// However a stream is cut into pushes, and however threads interleave, the intervals are the same.
#[test]
fn pushes_may_cut_anywhere() {
    let records = [
        interval(100, &[call(A, [work(3), leaf(B, 4)])]),
        interval(300, &[leaf(B, 9)]),
    ]
    .concat();
    let table = sites(&[("a", "r+1", 0), ("b", "r+2", 0)]);
    let mut whole = started(ProbeCost::default());
    whole.push(1, &records);
    whole.push(2, &records);
    let mut cut = started(ProbeCost::default());
    for record in &records {
        cut.push(1, std::slice::from_ref(record));
        cut.push(2, std::slice::from_ref(record));
    }
    let (whole, cut) = (
        whole.profile(&table, &options()),
        cut.profile(&table, &options()),
    );
    assert_eq!((whole.intervals, whole.mean_ns), (4, 8.0));
    assert_eq!(
        (cut.intervals, cut.mean_ns, cut.histogram),
        (4, 8.0, whole.histogram)
    );
}

#[test]
fn a_thread_that_ends_takes_its_open_interval_along() {
    let mut analysis = started(ProbeCost::default());
    analysis.push(1, &[begin(10)]);
    assert_eq!(analysis.in_flight(), 1);
    analysis.thread_ended(1);
    analysis.push(1, &[end(20)]);
    assert_eq!((analysis.in_flight(), analysis.intervals_seen()), (0, 0));
}

/// Two slots (2^31 ticks each) with 300 intervals of each kind, 11 ticks with probes against 10 without.
#[test]
fn bypassed_intervals_only_measure_the_cost() {
    let mut analysis = started(ProbeCost::default());
    for slot in 0..2 {
        let at = slot << 31;
        let bypassed = [Record::marker(Marker::Begin, at + 10, 1 << 1), end(at + 20)];
        let probed = [begin(at + 10), end(at + 21)];
        (0..300).for_each(|_| analysis.push(1, &probed));
        (0..300).for_each(|_| analysis.push(1, &bypassed));
    }
    let profile = analysis.profile(&sites(&[]), &options());
    assert_eq!(
        (profile.intervals, profile.intervals_seen, profile.mean_ns),
        (600, 1200, 11.0)
    );
    near(profile.overhead.measured_fraction.unwrap(), 0.1);
    near(profile.overhead.measured_se.unwrap(), 0.0);
}

/// 600 intervals of 11 ticks, 10 without probes. Then 200 come of 110 ticks: the mean of all is 35.75, and a tick is a
/// smaller part of those that came last. The profile is of all.
#[test]
fn what_probes_cost_is_a_smaller_part_of_slow_intervals() {
    let mut analysis = started(ProbeCost::default());
    let probed = |analysis: &mut Analysis, at: u64, latency| {
        analysis.push(1, &[begin(at), end(at + latency)]);
    };
    for slot in 0..2 {
        let at = slot << 31;
        let bypassed = [Record::marker(Marker::Begin, at + 10, 1 << 1), end(at + 20)];
        (0..300).for_each(|_| probed(&mut analysis, at, 11));
        (0..300).for_each(|_| analysis.push(1, &bypassed));
    }
    let fraction = |analysis: &mut Analysis| {
        let look = analysis.look(&sites(&[]), &options());
        look.self_cost.unwrap().fraction
    };
    near(fraction(&mut analysis), 0.1);
    (0..200).for_each(|_| probed(&mut analysis, 2 << 31, 110));
    near(fraction(&mut analysis), 0.1 * 35.75 / 110.0);
    let profile = analysis.profile(&sites(&[]), &options());
    near(profile.overhead.measured_fraction.unwrap(), 0.1);
}

/// Two rounds: the second opens a's call of b. Below 300 intervals the larger one is reported, then the last.
#[test]
fn rounds_do_not_mix() {
    let mut analysis = started(ProbeCost::default());
    (0..5).for_each(|_| analysis.push(1, &interval(100, &[leaf(A, 7)])));
    analysis.begin_round(3, 9);
    let second = [
        Record::marker(Marker::Begin, 10, 3 << 1 | 1),
        Record::new(12, 3, B),
        Record::marker(Marker::End, 20, 3 << 1 | 1),
    ];
    analysis.push(1, &second);
    let table = sites(&[("a", "r+1", 0), ("b", "r+2", 0)]);
    assert_eq!(analysis.profile(&table, &options()).intervals, 5);
    let look = analysis.look(&table, &options());
    assert_eq!(look.intervals_by_round, [5, 1]);
    // The calls say what a step would cost.
    let b = look.round.children.iter().find(|node| node.name == "b");
    assert_eq!(b.unwrap().calls_mean, 1.0);
    (1..300).for_each(|_| analysis.push(1, &second));
    assert_eq!(analysis.profile(&table, &options()).intervals, 300);
    (300..1000).for_each(|_| analysis.push(1, &second));
    let profile = analysis.profile(&table, &options());
    assert_eq!(
        (
            profile.intervals,
            profile.mean_ns,
            profile.tree.children.len()
        ),
        (1000, 10.0, 2)
    );
    let rounds: Vec<_> = profile
        .rounds
        .iter()
        .map(|round| (round.probes, round.intervals))
        .collect();
    assert_eq!(rounds, [(4, 5), (9, 1000)]);
}

/// Text comes in chunks of 13 bytes and is cut at 260; integers are read as signed.
#[test]
fn labels_are_put_together() {
    let text = format!("SELECT {} FROM t", "a, ".repeat(200));
    let chunks: Vec<_> = text
        .as_bytes()
        .chunks(13)
        .take(20)
        .map(Record::from_label_chunk)
        .collect();
    let mut analysis = started(ProbeCost::default());
    analysis.push(1, &labelled(100, &chunks, &[leaf(A, 5)]));
    let integer = Record::marker(Marker::LabelInteger, -3i64 as u64, 0);
    analysis.push(1, &labelled(200, &[integer], &[leaf(A, 6)]));
    analysis.push(1, &labelled(300, &[], &[leaf(A, 7)]));
    let classes = analysis.profile(&sites(&[]), &options()).classes.classes;
    let names: Vec<_> = classes.iter().map(|class| class.name.clone()).collect();
    let select = format!("select {}", "a, ".repeat(200));
    assert_eq!(names, ["(no label)", "-3", &select[..120]]);
}
