//! Successive plans, and what the report keeps of their rounds.

use evenkeel_wire::record::{Marker, Record};

use super::trace::*;
use crate::findings::reasons::NotTimed;
use crate::profile::Unpatched;
use crate::rounds::plans::PlanChange;
use crate::sites::{INDIRECT, Kind};
use crate::{Analysis, Pick, ProbeCost, RunFacts, SLOWEST, Started};

const A: u32 = 0;
const B: u32 = 1;
const C: u32 = 2;
const D: u32 = 3;

/// An interval under a generation of the plan, from `start` on.
pub fn under(generation: u64, start: u64, steps: &[Step]) -> Vec<Record> {
    let payload = generation << 1 | 1;
    let mut records = interval(start, steps);
    let end = records.len() - 1;
    records[0] = Record::marker(Marker::Begin, records[0].start, payload);
    records[end] = Record::marker(Marker::End, records[end].start, payload);
    records
}

fn continues(generation: u32, continues: u32, added: &[u32]) -> PlanChange {
    PlanChange {
        generation,
        probes: 9,
        continues: Some(continues),
        added: added.to_vec(),
        ..PlanChange::default()
    }
}

/// Ten intervals under generation 1, then ten under generation 2, which adds B without a call of it: twenty of one
/// round. The first call of B begins the second round. Later intervals under generation 1 still belong to the first.
#[test]
fn a_probe_that_never_runs_changes_nothing() {
    let mut analysis = started(ProbeCost::default());
    let table = sites(&[("a", "r+1", 0), ("b", "r+2", 0)]);
    for at in 0..10 {
        analysis.push(1, &under(1, 1000 * at, &[leaf(A, 10 + at)]));
    }
    analysis.plan_changed(continues(2, 1, &[B]));
    for at in 10..20 {
        analysis.push(1, &under(2, 1000 * at, &[leaf(A, 10 + at)]));
    }
    let profile = analysis.profile(&table, &options());
    assert_eq!((profile.intervals, profile.rounds.len()), (20, 1));
    assert_eq!(profile.rounds[0].probes, 9);
    analysis.push(1, &under(2, 30_000, &[leaf(A, 10), leaf(B, 5)]));
    analysis.push(1, &under(1, 31_000, &[leaf(A, 10)]));
    analysis.push(1, &under(2, 32_000, &[leaf(A, 10)]));
    let rounds: Vec<u64> = analysis
        .profile(&table, &options())
        .rounds
        .iter()
        .map(|round| round.intervals)
        .collect();
    assert_eq!(rounds, [21, 2]);
}

/// While calls are trapped, intervals are only counted. Then the previous round continues.
#[test]
fn a_round_goes_on_after_calls_were_trapped() {
    let mut analysis = started(ProbeCost::default());
    analysis.push(1, &under(1, 1000, &[leaf(A, 10)]));
    analysis.plan_changed(PlanChange {
        generation: 2,
        probes: 4,
        trapping: true,
        ..PlanChange::default()
    });
    analysis.push(1, &under(2, 2000, &[leaf(A, 999)]));
    // The probe was called, so a plan without it would begin a round.
    assert!(analysis.was_called(1, A) && !analysis.was_called(1, B));
    analysis.plan_changed(continues(3, 1, &[]));
    analysis.push(1, &under(3, 3000, &[leaf(A, 10)]));
    let profile = analysis.profile(&sites(&[("a", "r+1", 0)]), &options());
    assert_eq!((profile.intervals, profile.mean_ns), (2, 10.0));
    assert_eq!(profile.round, 1);
}

/// The first round times c below a. a takes 10 + 2i, and c has 2i of this; b varies by twice as much. The second round
/// times d below b, which has most of the variance, and c made room for it. The profile rests on the second round. The
/// report keeps c and its share, with the number of its round.
#[test]
fn what_an_earlier_round_found_stays_in_the_report() {
    let mut analysis = started(ProbeCost::default());
    let table = sites(&[
        ("a", "r+1", 1),
        ("b", "r+2", 1),
        ("c", "a+3", 0),
        ("d", "b+4", 0),
    ]);
    let varies = |at: u64| (2 * (at % 10), 4 * (at * 7 % 11));
    for at in 0..400 {
        let (c, b) = varies(at);
        let steps = [call(A, [work(10), leaf(C, c)]), leaf(B, 10 + b)];
        analysis.push(1, &under(1, 1000 * at, &steps));
    }
    analysis.begin_round(2, 3);
    for at in 400..800 {
        let (a, d) = varies(at);
        let steps = [leaf(A, 10 + a), call(B, [work(10), leaf(D, d)])];
        analysis.push(1, &under(2, 1000 * at, &steps));
    }
    let profile = analysis.profile(&table, &options());
    assert_eq!(
        (profile.round, profile.intervals, profile.rounds.len()),
        (2, 400, 2)
    );
    let seen = profile
        .seen_elsewhere
        .iter()
        .find(|seen| seen.path.ends_with("c [a+3]"));
    let others: Vec<&str> = profile
        .seen_elsewhere
        .iter()
        .map(|seen| &*seen.path)
        .collect();
    let seen = seen.unwrap_or_else(|| panic!("{others:?}"));
    assert_eq!(seen.path, "root > a [r+1] > c [a+3]");
    assert_eq!((seen.round, seen.intervals), (1, 400));
    near(seen.mean_ns, 9.0);
    // It is also listed in the finding that has its time.
    let of = |function: &str| {
        let mut findings = profile.findings.iter();
        findings.find(|finding| finding.function == function)
    };
    let inside = of("a").and_then(|finding| finding.timed_inside.as_ref());
    let inside = inside.unwrap_or_else(|| panic!("{:?}", profile.findings));
    assert_eq!((inside.round, inside.intervals), (1, 400));
    assert_eq!(inside.functions, ["c"]);
    assert!(inside.of_share > 0.9, "{}", inside.of_share);
    assert_eq!(
        of("d").and_then(|finding| finding.timed_inside.as_ref()),
        None
    );
}

/// The slowest interval was in a round of twenty intervals, which the profile does not rest on. It is kept whole, with
/// its largest parts.
#[test]
fn the_slowest_intervals_are_of_the_whole_run() {
    let mut analysis = started(ProbeCost::default());
    let table = sites(&[("a", "r+1", 1), ("b", "r+2", 0)]);
    for at in 0..20 {
        let took = if at == 7 { 90_000 } else { 10 };
        let steps = [leaf(B, took), work(5)];
        analysis.push(1, &under(1, 100_000 * at, &steps));
    }
    analysis.begin_round(2, 3);
    for at in 20..420 {
        analysis.push(1, &under(2, 100_000 * at, &[leaf(A, 10 + at % 7)]));
    }
    let mut options = options();
    options.timelines = vec![Pick::Rank(1), Pick::Id(21)];
    options.started = Some(Started {
        ticks: 0,
        unix_ns: 1_000_000_000,
    });
    let profile = analysis.profile(&table, &options);
    assert_eq!((profile.round, profile.slowest.len()), (2, SLOWEST));
    let slowest = &profile.slowest[0];
    assert_eq!((slowest.id, slowest.round), (7, 1));
    near(slowest.since_ns, 700_000.0);
    let top: Vec<_> = slowest
        .top
        .iter()
        .map(|part| (&*part.name, part.own_ns))
        .collect();
    assert_eq!(top, [("b", 90_000.0), ("root", 5.0)]);
    assert_eq!(slowest.top[0].path, "root > b [r+2]");
    let unix_ns = slowest.unix_ns.unwrap();
    assert!(unix_ns.abs_diff(1_000_000_000 + slowest.begin_ns as u64) <= 1);
    let picked: Vec<_> = profile
        .timelines
        .iter()
        .map(|it| (&*it.pick, it.id))
        .collect();
    assert_eq!(picked, [("max", 7)]);
    let spans: Vec<_> = profile.timelines[0]
        .spans
        .iter()
        .map(|span| &*span.name)
        .collect();
    assert_eq!(spans, ["b", "root"]);
}

/// The first round is of a quiet time and times d below a, which varies by little there. The second is of the load,
/// with a as most of the variance. The share of d is of another load, so the finding does not mention it.
#[test]
fn a_round_of_another_load_says_nothing_of_a_finding() {
    let mut analysis = started(ProbeCost::default());
    let table = sites(&[("a", "r+1", 1), ("d", "a+3", 0)]);
    for at in 0..400 {
        let steps = [call(A, [leaf(B, 10 + at % 7)])];
        analysis.push(1, &under(1, 10_000 * at, &steps));
    }
    analysis.begin_round(2, 3);
    for at in 400..800 {
        let steps = [leaf(A, 1000 + 700 * (at * 7 % 11))];
        analysis.push(1, &under(2, 10_000 * at, &steps));
    }
    let profile = analysis.profile(&table, &options());
    assert_eq!(profile.round, 2);
    assert_eq!(profile.findings[0].function, "a");
    assert_eq!(profile.seen_elsewhere.len(), 1);
    assert_eq!(profile.findings[0].timed_inside, None);
}

/// Four hundred intervals time a, called by the root; then ten time b as well. The report rests on the first round. If
/// b was planted in both rounds, it was not called in the first. Otherwise its time may be part of the root's own time
/// there. The report then names b, and the round that timed it.
#[test]
fn a_call_that_only_another_round_timed_may_hide_in_its_callers_time() {
    let table = sites(&[("a", "r+1", 0), ("b", "r+2", 0)]);
    let cases = [
        (vec![A], [20; 10], Some("b at r+2")),
        (vec![A, B], [20; 10], None),
        // A tick of some forty.
        (vec![A], [1; 10], Some("b at r+2")),
        // Two of some four hundred.
        (vec![A], [0, 0, 0, 0, 2, 0, 0, 0, 0, 0], None),
    ];
    for (from_the_start, ticks, hidden) in cases {
        let mut analysis = Analysis::new(ProbeCost::default());
        let changes = [(1, from_the_start.clone()), (2, vec![A, B])];
        let mut before: Vec<u32> = Vec::new();
        for (generation, planted) in changes {
            let toggled = planted.iter().copied();
            let toggled = toggled.filter(|probe| !before.contains(probe)).collect();
            analysis.plan_changed(PlanChange {
                generation,
                probes: 2,
                toggled: Some(toggled),
                ..PlanChange::default()
            });
            before = planted;
        }
        for at in 0..400 {
            let steps = [work(20), leaf(A, 10 + 2 * (at % 10))];
            analysis.push(1, &under(1, 1000 * at, &steps));
        }
        for at in 400..410 {
            let ticks = ticks[at as usize - 400];
            let steps = [work(20), leaf(B, ticks), leaf(A, 10 + 2 * (at % 10))];
            analysis.push(1, &under(2, 1000 * at, &steps));
        }
        let profile = analysis.profile(&table, &options());
        assert_eq!((profile.round, profile.intervals), (1, 400));
        let unpatched = profile.unpatched.first().map(|call| call.site.as_str());
        assert_eq!(unpatched, hidden, "{:?}", profile.unpatched);
        let says_where =
            |call: &Unpatched| call.hides_time && call.reason == NotTimed::TimedInRound(2);
        assert!(profile.unpatched.iter().all(says_where));
    }
}

/// The interval calls through a pointer, whose own time varies, and has timed calls: what lies between them is not
/// expanded. The comparison of slow and middle intervals says so, as the tree does.
#[test]
fn cohorts_name_what_is_not_expanded_as_the_tree_does() {
    let mut analysis = started(ProbeCost::default());
    let table = sites(&[(INDIRECT, "root+1", 2), ("b", "f+2", 0)]);
    for at in 0..400 {
        let slow = if at % 20 == 0 { 5_000 } else { 0 };
        let steps = [call(A, [work(100 + at % 7 + slow), leaf(B, 10)])];
        analysis.push(1, &interval(10_000 * at, &steps));
    }
    let profile = analysis.finished(&table, &options(), &RunFacts::default());
    let cohorts = profile.cohorts.unwrap();
    let body = cohorts
        .nodes
        .iter()
        .find(|node| node.kind == Kind::NotOpened);
    assert!(
        body.is_some_and(|body| body.part > 0.9),
        "{:?}",
        cohorts.nodes
    );
    let in_tree = &profile.tree.children[0].children;
    assert!(in_tree.iter().any(|node| node.kind == Kind::NotOpened));
}
