//! Several recordings together give the profile of one.

use proptest::prelude::*;

use super::combine::{Numbers, push_two_rounds, three_calls, two_rounds_of};
use super::properties::{costs, traces};
use super::trace::*;
use crate::findings::warnings::Warning;
use crate::fleet::joint::Scouted;
use crate::profile::{Node, Profile};
use crate::sites::SiteTable;
use crate::sums::vectors::ProbeCost;
use crate::{Analysis, Options};

/// Intervals that begin at these moments.
fn push(analysis: &mut Analysis, intervals: &[Vec<Step>], first: usize) {
    for (at, steps) in intervals.iter().enumerate() {
        analysis.push(1, &interval(1000 + 1_000_000 * (first + at) as u64, steps));
    }
    analysis.ended();
}

fn recording(cost: ProbeCost, intervals: &[Vec<Step>], first: usize) -> Analysis {
    let mut analysis = started(cost);
    analysis.log_rounds();
    push(&mut analysis, intervals, first);
    analysis
}

/// Recordings whose probes have one numbering.
pub fn joint_of(scouted: &[Scouted], untimed: &[bool]) -> Analysis {
    let parts: Vec<(&Scouted, &[u32])> = scouted.iter().map(|scouted| (scouted, &[][..])).collect();
    Analysis::joint(&parts, untimed)
}

/// The recordings' intervals together, without the probes that are `untimed`.
fn together(cost: ProbeCost, parts: &[&[Vec<Step>]], untimed: &[bool]) -> Analysis {
    let mut first = 0;
    let scout = |part: &&[Vec<Step>]| {
        let scouted = recording(cost, part, first).scouted();
        first += part.len();
        scouted.expect("intervals")
    };
    let scouted: Vec<Scouted> = parts.iter().map(scout).collect();
    let mut joint = joint_of(&scouted, untimed);
    first = 0;
    for (part, scouted) in parts.iter().zip(&scouted) {
        joint.begin_recording(cost, scouted);
        push(&mut joint, part, first);
        first += part.len();
    }
    joint
}

/// The trace as it would be if a probe were not there.
fn without(steps: &[Step], probe: u32) -> Vec<Step> {
    let one = |step: &Step| match step {
        Step::Work(ticks) => vec![work(*ticks)],
        Step::Call(inner) if inner.probe == probe => without(&inner.steps, probe),
        Step::Call(inner) => vec![call(inner.probe, without(&inner.steps, probe))],
    };
    steps.iter().flat_map(one).collect()
}

fn profile(analysis: &Analysis) -> Profile {
    analysis.profile(&SiteTable::default(), &options())
}

/// Errors rest on blocks of intervals in order of time, whose bounds differ where recordings meet.
pub fn without_errors(mut profile: Profile) -> Profile {
    fn clear(node: &mut Node) {
        node.se = 0.0;
        node.covariances.iter_mut().for_each(|pair| pair.se = 0.0);
        node.children.iter_mut().for_each(clear);
    }
    clear(&mut profile.tree);
    for factor in &mut profile.factors {
        (factor.se, factor.tied_with_next) = (0.0, false);
    }
    profile
}

proptest! {
    /// Exactly: every number of the profile, errors included.
    #[test]
    fn together_is_concatenated(traces in traces(), cost in costs(), cuts in (0.0f64..1.0, 0.0f64..1.0)) {
        let cut = |part: f64| (part * traces.len() as f64) as usize;
        let (first, second) = (cut(cuts.0.min(cuts.1)), cut(cuts.0.max(cuts.1)));
        let parts = [&traces[..first], &traces[first..second], &traces[second..]];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let whole = profile(&recording(cost, &traces, 0));
        prop_assert_eq!(profile(&together(cost, &parts, &[])), whole);
    }

    /// A probe that is left out leaves no trace but its cost: without cost, the profile is that of a recording that
    /// never had it.
    #[test]
    fn a_removed_probe_leaves_no_trace(traces in traces(), probe in 0u32..6) {
        let mut untimed = vec![false; 6];
        untimed[probe as usize] = true;
        let cost = ProbeCost::default();
        let never: Vec<_> = traces.iter().map(|steps| without(steps, probe)).collect();
        let never = profile(&recording(cost, &never, 0));
        let left_out = profile(&together(cost, &[&traces], &untimed));
        prop_assert_eq!(without_errors(left_out), without_errors(never));
    }

    /// The cost of a left-out probe is still subtracted.
    #[test]
    fn cost_is_taken_off(traces in traces(), cost in costs()) {
        let untimed = together(cost, &[&traces], &[true; 6]);
        let probes = |profile: &Profile| {
            let mut children = profile.tree.children.iter();
            children.find(|child| child.name == "probes").map_or(0.0, |child| child.mean_ns)
        };
        let timed = probes(&profile(&recording(cost, &traces, 0)));
        let calls = traces.len() as f64;
        // Rounded for each node that has calls; without nodes once an interval.
        let most = traces.iter().map(|steps| count(steps)).max().unwrap_or(0) as f64;
        prop_assert!((probes(&profile(&untimed)) - timed).abs() <= most + 1.0, "{calls}");
    }
}

fn count(steps: &[Step]) -> usize {
    let one = |step: &Step| match step {
        Step::Work(_) => 0,
        Step::Call(call) => 1 + count(&call.steps),
    };
    steps.iter().map(one).sum()
}

/// The part of a profile that does not depend on how intervals are cut into blocks.
pub fn exact_of(profile: Profile) -> Profile {
    let profile = without_errors(profile);
    Profile {
        tree: profile.tree,
        classes: profile.classes,
        histogram: profile.histogram,
        percentiles_ns: profile.percentiles_ns,
        cohorts: profile.cohorts,
        intervals: profile.intervals,
        intervals_seen: profile.intervals_seen,
        closure: profile.closure,
        mean_ns: profile.mean_ns,
        sd_ns: profile.sd_ns,
        ..Profile::default()
    }
}

/// Recordings of two rounds each, together.
fn two_rounds_together(recordings: &[Numbers], scale: u64) -> Profile {
    let table = three_calls();
    let scout = |numbers| two_rounds_of(numbers, scale, BELOW_TICKS).scouted();
    let scouted: Vec<Scouted> = recordings.iter().filter_map(scout).collect();
    let mut joint = joint_of(&scouted, &[]);
    for (numbers, scouted) in recordings.iter().zip(&scouted) {
        joint.begin_recording(ProbeCost::default(), scouted);
        push_two_rounds(&mut joint, numbers, scale, BELOW_TICKS);
    }
    joint.profile(&table, &options())
}

/// Longest time of the calls that the second round has expanded: they explain a thousandth.
const BELOW_TICKS: u64 = 30;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Two recordings whose profiles rest on two rounds each equal one recording in which each round has the
    /// intervals of both. A recording joined with itself equals itself.
    #[test]
    fn rounds_together_are_concatenated(first in 1u64..1 << 30, counts in prop::array::uniform4(400u64..900)) {
        let mut next = first;
        let [a, b, c, d] = counts.map(|count| {
            let numbers: Vec<u64> = (next..next + count).collect();
            next += count;
            numbers
        });
        let both = [[&a[..], &b].concat(), [&c[..], &d].concat()];
        let recordings = [[a, c], [b, d]];
        let alone = |numbers| two_rounds_of(numbers, 1, BELOW_TICKS).profile(&three_calls(), &options());
        let (one, other, whole) = (alone(&recordings[0]), alone(&recordings[1]), alone(&both));
        // By chance the latencies of two rounds differ by more than their errors.
        prop_assume!([&one, &other, &whole].iter().all(|profile| profile.rounds_together == [1, 2]));
        let together = two_rounds_together(&recordings, 1);
        prop_assert_eq!(together.intervals, one.intervals + other.intervals);
        prop_assert_eq!(exact_of(together), exact_of(whole));

        let [recording, _] = recordings;
        let twice = two_rounds_together(&[recording.clone(), recording], 1);
        prop_assert_eq!(twice.intervals, 2 * one.intervals);
        prop_assert_eq!(of_samples(without_errors(twice).tree), of_samples(without_errors(one).tree));
    }
}

/// Without standard deviations, which divide by one less than there are intervals.
fn of_samples(mut node: Node) -> Node {
    node.sd_ns = 0.0;
    let children = node.children.into_iter();
    node.children = children.map(of_samples).collect();
    node
}

/// The second rounds' culprit takes twice as long: all intervals count, and the report says what the first recording's
/// parts are like.
#[test]
fn rounds_under_another_load_count_too() {
    let recording = [(1..2001).collect(), (2001..5001).collect()];
    let profile = two_rounds_together(&[recording.clone(), recording], 2);
    assert_eq!(profile.intervals, 10_000);
    let changed = profile.warnings.iter().find_map(|warning| match warning {
        Warning::LoadChanged { before, after } => Some([before.intervals, after.intervals]),
        _ => None,
    });
    assert_eq!(changed, Some([2000, 3000]), "{:?}", profile.warnings);
}

/// Rounds of recordings do not mix: of each, only the intervals that its own profile rests on count.
#[test]
fn only_the_round_of_the_profile_counts() {
    // What varies is a call that the first round does not time.
    let steps = |ticks, generation| match generation {
        1 => vec![call(1, [work(ticks)]), work(10)],
        _ => vec![call(1, [leaf(2, ticks)]), work(10)],
    };
    let mut two_rounds = started(ProbeCost::default());
    two_rounds.log_rounds();
    let replay = |analysis: &mut Analysis| {
        for at in 0..700u64 {
            let generation = if at < 300 { 1 } else { 2 };
            let payload = generation << 1 | 1;
            let mut records = interval(1000 + 1000 * at, &steps(at, generation));
            for marker in [0, records.len() - 1] {
                let old = records[marker];
                records[marker] = evenkeel_wire::Record::new(old.start, payload, old.id());
            }
            analysis.push(1, &records);
        }
        analysis.ended();
    };
    two_rounds.begin_round(2, 5);
    replay(&mut two_rounds);
    let scouted = two_rounds.scouted().unwrap();
    let both = [scouted.clone(), scouted];
    let mut joint = joint_of(&both, &[]);
    for scouted in &both {
        joint.begin_recording(ProbeCost::default(), scouted);
        replay(&mut joint);
    }
    let options = Options::default();
    let one = two_rounds.profile(&SiteTable::default(), &options);
    let both = joint.profile(&SiteTable::default(), &options);
    assert_eq!((one.intervals, both.intervals), (400, 800));
    assert_eq!((one.intervals_seen, both.intervals_seen), (700, 1400));
    assert_eq!(both.mean_ns, one.mean_ns);
}
