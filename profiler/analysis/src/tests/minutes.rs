//! Minutes of sums say what the intervals said.

use proptest::prelude::*;

use super::joint::{exact_of, joint_of};
use super::properties::{costs, traces};
use super::trace::*;
use crate::fleet::joint::Scouted;
use crate::fleet::minutes::Minute;
use crate::profile::Profile;
use crate::sites::SiteTable;
use crate::sums::Sums;
use crate::sums::vectors::ProbeCost;
use crate::{Analysis, Options};

/// An analysis of the intervals, and what a recording of sums has of it: a minute after each part.
fn recorded(cost: ProbeCost, parts: &[&[Vec<Step>]]) -> (Analysis, Vec<Vec<u8>>) {
    let mut analysis = started(cost);
    analysis.log_rounds();
    let mut at = 0;
    let mut minutes = vec![analysis.minute(0).bytes()];
    for part in parts {
        for steps in *part {
            at += 1;
            analysis.push(1, &interval(1_000_000 * at, steps));
        }
        minutes.push(analysis.minute(0).bytes());
    }
    (analysis, minutes)
}

fn read(analysis: &mut Analysis, minutes: &[Vec<u8>], probes: &[u32], clock: Option<f64>) {
    for bytes in minutes {
        let minute = Minute::read(bytes, 0).expect("a minute");
        analysis
            .add_minute(&minute, probes, clock)
            .expect("the next one");
    }
}

fn scouted(minutes: &[Vec<u8>]) -> Scouted {
    let mut analysis = Analysis::default();
    analysis.log_rounds();
    read(&mut analysis, minutes, &[], None);
    analysis.scouted().expect("intervals")
}

/// The part of a profile that does not depend on how intervals are cut into blocks.
fn exact(analysis: &Analysis) -> Profile {
    exact_of(analysis.profile(&SiteTable::default(), &options()))
}

proptest! {
    /// Every sum comes back, whenever the minutes end.
    #[test]
    fn minutes_are_the_whole(traces in traces(), cost in costs(), cut in 0.0f64..1.0) {
        let (first, second) = traces.split_at((cut * traces.len() as f64) as usize);
        let (whole, minutes) = recorded(cost, &[first, second]);
        let mut sums = Analysis::default();
        read(&mut sums, &minutes, &[], None);
        prop_assert_eq!(exact(&sums), exact(&whole));
    }

    /// Two recordings of sums together, one with other numbers of its probes, equal one of all intervals.
    #[test]
    fn together_is_concatenated(traces in traces(), cost in costs(), cut in 0.0f64..1.0) {
        let (first, second) = traces.split_at((cut * traces.len() as f64) as usize);
        prop_assume!(!first.is_empty() && !second.is_empty());
        let renumbered: Vec<Vec<Step>> = second.iter().map(|steps| renumber(steps)).collect();
        let parts = [recorded(cost, &[first]).1, recorded(cost, &[&renumbered]).1];
        let scouted = parts.each_ref().map(|part| scouted(part));
        let numbers = [&[][..], &RENUMBERED];
        let renumbered = [(&scouted[0], numbers[0]), (&scouted[1], numbers[1])];
        let mut joint = Analysis::joint(&renumbered, &[]);
        joint.observe();
        let mut observed = Sums::default();
        for ((part, probes), scouted) in parts.iter().zip(numbers).zip(&scouted) {
            joint.begin_recording(ProbeCost::default(), scouted);
            read(&mut joint, part, probes, None);
            joint.take_minutes().iter().for_each(|minute| observed.merge(&minute.sums));
        }
        // What is handed on, minute by minute, is all that there is.
        let total = joint.with_tree(&SiteTable::default(), &[], |tree| tree.total.clone());
        prop_assert_eq!(observed, total.expect("intervals"));
        prop_assert_eq!(exact(&joint), exact(&recorded(cost, &[&traces]).0));
    }

    /// Any bytes are a minute or an error.
    #[test]
    fn damage_is_seen(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..500, byte: u8) {
        let mut minutes = vec![bytes];
        let intervals = vec![vec![leaf(1, 20), work(7)], vec![leaf(2, 30)]];
        let mut damaged = recorded(ProbeCost::default(), &[&intervals]).1.remove(1);
        let place = at % damaged.len();
        damaged[place] = byte;
        minutes.push(damaged);
        for bytes in minutes {
            if let Some(minute) = Minute::read(&bytes, 0) {
                let mut analysis = Analysis::default();
                let _ = analysis.add_minute(&minute, &[], None);
            }
        }
    }
}

/// For each probe of the second recording, its number in the first.
const RENUMBERED: [u32; 6] = [3, 5, 0, 1, 2, 4];

fn renumber(steps: &[Step]) -> Vec<Step> {
    let one = |step: &Step| match step {
        Step::Work(ticks) => work(*ticks),
        Step::Call(inner) => {
            let id = RENUMBERED.iter().position(|&id| id == inner.probe);
            call(id.expect("one of six") as u32, renumber(&inner.steps))
        }
    };
    steps.iter().map(one).collect()
}

/// Calls that one of the recordings did not time are their caller's own time, exactly as if nobody had timed them: f
/// calls g twice and h between.
#[test]
fn calls_that_are_not_timed_everywhere_are_folded() {
    let interval = |n: u64, timed: bool| {
        let g = |ticks| if timed { leaf(2, ticks) } else { work(ticks) };
        let (a, b, c) = (10 + n * 7 % 13, 20 + n * 5 % 17, 30 + n * 3 % 11);
        vec![
            call(0, [work(a), g(b), leaf(1, c), g(a), work(b)]),
            leaf(1, b),
        ]
    };
    let of = |timed| (0..50).map(|n| interval(n, timed)).collect::<Vec<_>>();
    let (with, without) = (of(true), of(false));
    let parts = [&with, &without].map(|part| recorded(ProbeCost::default(), &[part]).1);
    let scouted = parts.each_ref().map(|part| scouted(part));
    let mut joint = joint_of(&scouted, &[false, false, true]);
    joint.observe();
    let mut observed = Sums::default();
    for (part, scouted) in parts.iter().zip(&scouted) {
        joint.begin_recording(ProbeCost::default(), scouted);
        read(&mut joint, part, &[], None);
        let minutes = joint.take_minutes();
        minutes
            .iter()
            .for_each(|minute| observed.merge(&minute.sums));
    }
    let total = joint.with_tree(&SiteTable::default(), &[], |tree| tree.total.clone());
    assert_eq!(Some(observed), total);
    let both: Vec<_> = without.iter().chain(&without).cloned().collect();
    let (expected, _) = recorded(ProbeCost::default(), &[&both]);
    assert_eq!(exact(&joint).tree, exact(&expected).tree);
    let factors = |analysis: &Analysis| {
        let profile = analysis.profile(&SiteTable::default(), &options());
        let factors = profile.factors.into_iter();
        let mut factors: Vec<_> = factors
            .map(|one| (one.functions, one.contribution))
            .collect();
        factors.sort_by(|a, b| a.0.cmp(&b.0));
        factors
    };
    assert_eq!(factors(&joint), factors(&expected));
}

/// A clock of twice the speed: latencies in ticks are twice as many, in nanoseconds they are the same.
#[test]
fn clocks_are_brought_together() {
    let of = |factor: u64| -> Vec<Vec<Step>> {
        let interval = |n: u64| vec![leaf(1, factor * (1000 + n)), work(factor * 500)];
        (0..100).map(interval).collect()
    };
    let parts = [1, 2].map(|factor| recorded(ProbeCost::default(), &[&of(factor)]).1);
    let scouted = parts.each_ref().map(|part| scouted(part));
    let mut joint = joint_of(&scouted, &[]);
    for ((part, scouted), clock) in parts.iter().zip(&scouted).zip([None, Some(0.5)]) {
        joint.begin_recording(ProbeCost::default(), scouted);
        read(&mut joint, part, &[], clock);
    }
    let joint = joint.profile(&SiteTable::default(), &Options::default());
    let one = analysed(&of(1)).profile(&SiteTable::default(), &Options::default());
    assert_eq!((joint.intervals, joint.mean_ns), (200, one.mean_ns));
    near(joint.tree.children[0].share, one.tree.children[0].share);
    near(joint.percentiles_ns["p95"], one.percentiles_ns["p95"]);
}
