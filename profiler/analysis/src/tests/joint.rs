//! Several recordings together give the profile of one.

use proptest::prelude::*;

use super::properties::{costs, traces};
use super::trace::*;
use crate::profile::{Node, Profile};
use crate::sites::SiteTable;
use crate::vectors::ProbeCost;
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

/// The recordings' intervals together, without the probes that are `untimed`.
fn together(cost: ProbeCost, parts: &[&[Vec<Step>]], untimed: &[bool]) -> Analysis {
    let mut joint = Analysis::joint(4, untimed);
    let mut first = 0;
    for part in parts {
        let scouted = recording(cost, part, first).scouted();
        joint.begin_recording(cost, &scouted.expect("intervals"));
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

    /// A probe that is left out leaves no trace but its cost: without cost, the profile is that of a recording that never had it.
    #[test]
    fn what_is_left_out_was_never_there(traces in traces(), probe in 0u32..6) {
        let mut untimed = vec![false; 6];
        untimed[probe as usize] = true;
        let cost = ProbeCost::default();
        let never: Vec<_> = traces.iter().map(|steps| without(steps, probe)).collect();
        let never = profile(&recording(cost, &never, 0));
        let left_out = profile(&together(cost, &[&traces], &untimed));
        prop_assert_eq!(without_errors(left_out), without_errors(never));
    }

    /// The cost of a probe that is left out is taken off all the same.
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

/// Rounds of recordings do not mix: of each, only the intervals that its own profile rests on count.
#[test]
fn only_the_round_of_the_profile_counts() {
    let steps = |ticks| vec![leaf(1, ticks), work(10)];
    let mut two_rounds = started(ProbeCost::default());
    two_rounds.log_rounds();
    let replay = |analysis: &mut Analysis| {
        for at in 0..700u64 {
            let generation = if at < 300 { 1 } else { 2 };
            let payload = generation << 1 | 1;
            let mut records = interval(1000 + 1000 * at, &steps(at));
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
    let mut joint = Analysis::joint(5, &[]);
    for _ in 0..2 {
        joint.begin_recording(ProbeCost::default(), &scouted);
        replay(&mut joint);
    }
    let options = Options::default();
    let one = two_rounds.profile(&SiteTable::default(), &options);
    let both = joint.profile(&SiteTable::default(), &options);
    assert_eq!((one.intervals, both.intervals), (400, 800));
    assert_eq!((one.intervals_seen, both.intervals_seen), (700, 1400));
    assert_eq!(both.mean_ns, one.mean_ns);
}
