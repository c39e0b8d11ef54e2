//! Rounds taken together are one long round.

use std::collections::BTreeMap;

use evenkeel_wire::Record;
use proptest::prelude::*;

use super::properties::traces;
use super::rounds::under;
use super::trace::*;
use crate::findings::warnings::{LoadPart, Warning};
use crate::profile::Profile;
use crate::rounds::common_paths::{Common, Shape};
use crate::rounds::plans::PlanChange;
use crate::sites::SiteTable;
use crate::sums::NodeSums;
use crate::sums::paths::{Paths, ROOT};
use crate::sums::projection::step_of;
use crate::sums::round_sums::RoundSums;
use crate::sums::vectors::{ProbeCost, Vectoriser};
use crate::{Analysis, Options};

/// Probes at one depth have ids from this times the depth on.
const AT_DEPTH: u32 = 8;
/// Probes at each depth, and depths, in random traces.
const PROBES: u32 = 6;
const DEPTHS: u32 = 6;

/// The same calls, by probes that are called at one depth alone.
fn by_depth(steps: &[Step], depth: u32) -> Vec<Step> {
    let one = |step: &Step| match step {
        Step::Work(ticks) => work(*ticks),
        Step::Call(inner) => {
            let below = by_depth(&inner.steps, depth + 1);
            call(AT_DEPTH * depth + inner.probe, below)
        }
    };
    steps.iter().map(one).collect()
}

/// Calls of each probe. Both rounds are known to have them, even where a round lacks one with all that is below it,
/// since each is called below two others.
fn all_probes() -> Vec<Step> {
    let chain = |first: u32, turn: u32| {
        let depths = (0..DEPTHS).rev();
        depths.fold(work(1), |below, depth| {
            let probe = (first + turn * depth) % PROBES;
            call(AT_DEPTH * depth + probe, [below])
        })
    };
    let turned = |turn| (0..PROBES).map(move |first| chain(first, turn));
    [0, 1].into_iter().flat_map(turned).collect()
}

/// The trace as it would be if a probe, and those of all calls below it, were not there.
fn folded(steps: &[Step], probe: u32) -> Vec<Step> {
    let one = |step: &Step| match step {
        Step::Work(ticks) => work(*ticks),
        Step::Call(inner) if inner.probe == probe => work(length(&inner.steps)),
        Step::Call(inner) => call(inner.probe, folded(&inner.steps, probe)),
    };
    steps.iter().map(one).collect()
}

fn length(steps: &[Step]) -> u64 {
    write(0, steps, &mut Vec::new())
}

/// The sums of a round of these intervals.
fn round(traces: &[Vec<Step>]) -> RoundSums {
    let (mut detail, mut vectoriser) = (RoundSums::default(), Vectoriser::default());
    for (number, steps) in traces.iter().enumerate() {
        let start = 1000 + 1_000_000 * number as u64;
        let mut calls: Vec<Record> = Vec::new();
        let end = write(start, steps, &mut calls);
        let vector = vectoriser.of_calls([start, end], &calls, &mut detail.paths);
        detail.sums.add(&vector, number % 2, &detail.paths);
    }
    detail
}

/// The probes of a path, outermost first.
fn steps(paths: &Paths, node: u32) -> Vec<u32> {
    let path = paths.get(node);
    match step_of(path) {
        None => Vec::new(),
        Some(step) => [steps(paths, path.parent), vec![step]].concat(),
    }
}

/// The sums of a round at one path: node, squares and products with earlier paths, tail, and classes.
type At = (NodeSums, BTreeMap<Vec<u32>, i128>, i128, Vec<(i128, i128)>);

/// Everything that a round has summed, by path.
fn everything(detail: &RoundSums) -> BTreeMap<Vec<u32>, At> {
    let (paths, total) = (&detail.paths, detail.sums.blocks.total());
    let tail = detail.sums.histogram.tail(0.8).unwrap();
    let called = |node: &u32| total.node(*node).calls > 0 || *node == ROOT;
    let nodes = (0..paths.all().len() as u32).filter(called);
    let at = |node| {
        let parent = paths.get(node).parent;
        let siblings = (ROOT + 1..node).filter(|&other| paths.get(other).parent == parent);
        let product = |pair: usize| total.pairs.get(pair).copied().unwrap_or_default();
        let with = |other| (steps(paths, other), product(paths.pair(node, other)));
        // Which of two was met first is no matter.
        let mut products: BTreeMap<Vec<u32>, i128> = BTreeMap::new();
        if node != ROOT {
            products.extend(siblings.map(with).filter(|&(_, product)| product != 0));
            products.insert(vec![u32::MAX], product(paths.pair_with_body(node)));
        }
        let classes = detail.sums.classes.iter();
        let by_class = classes.map(|class| class.nodes.get(node as usize).copied());
        let by_class = by_class.map(Option::unwrap_or_default).collect();
        (total.node(node), products, tail.inclusive(node), by_class)
    };
    let mut all: BTreeMap<Vec<u32>, At> =
        nodes.map(|node| (steps(paths, node), at(node))).collect();
    // Products of siblings belong to both.
    for (path, (_, products, _, _)) in all.clone() {
        for (other, product) in products {
            if let Some((_, theirs, _, _)) = all.get_mut(&other) {
                theirs.insert(path.clone(), product);
            }
        }
    }
    all
}

proptest! {
    /// Exactly: sums, squares, products, tails and classes, wherever the boundary between the rounds lies.
    #[test]
    fn together_is_one_round(traces in traces(), cut in 0.0f64..1.0, depth in 0..DEPTHS, probe in 0..PROBES) {
        // Both rounds have intervals, and the second begins with the class that the first began with.
        let half = (traces.len() - 1) / 2;
        prop_assume!(half > 0);
        let cut = 2 * (1 + (cut * half as f64) as usize).min(half);
        let probe = AT_DEPTH * depth + probe;
        let with_all = |steps: &Vec<Step>| [all_probes(), by_depth(steps, 0)].concat();
        let traces: Vec<_> = traces.iter().map(with_all).collect();
        let without: Vec<_> = traces.iter().map(|steps| folded(steps, probe)).collect();
        let (first, second) = (round(&without[..cut]), round(&traces[cut..]));
        let shapes = [&first, &second].map(Shape::of);
        let common = Common::of(&shapes.each_ref());
        let mut together = common.detail();
        common.add([&first, &second], &mut together);
        prop_assert_eq!(everything(&together), everything(&round(&without)));
        prop_assert_eq!(together.sums.blocks.intervals(), traces.len() as u64);
    }
}

const CULPRIT: u32 = 0;
const OTHER: u32 = 1;
const BELOW: u32 = 2;

/// Interval `number`: a culprit of 0 to 1000 ticks times `scale`, and another call with a third of at most `below`
/// ticks.
fn steps_of(number: u64, scale: u64, below: u64, is_timed: bool) -> Vec<Step> {
    let random = number.wrapping_mul(6_364_136_223_846_793_005) >> 33;
    let ticks = random / 1000 % below;
    let below = match is_timed {
        true => leaf(BELOW, ticks),
        false => work(ticks),
    };
    vec![
        leaf(CULPRIT, scale * (random % 1000)),
        call(OTHER, [work(50), below]),
    ]
}

/// Numbers of the intervals of a round without the third call, and of one with it.
pub type Numbers = [Vec<u64>; 2];

/// Takes in those intervals; in the second round the culprit takes `scale` times as long.
pub fn push_two_rounds(analysis: &mut Analysis, numbers: &Numbers, scale: u64, below: u64) {
    for (generation, numbers) in (1..).zip(numbers) {
        let is_second = generation == 2;
        for &number in numbers {
            let scale = if is_second { scale } else { 1 };
            let steps = steps_of(number, scale, below, is_second);
            analysis.push(1, &under(generation, 1_000_000 * number, &steps));
        }
    }
    analysis.ended();
}

/// An analysis of the two rounds.
pub fn two_rounds_of(numbers: &Numbers, scale: u64, below: u64) -> Analysis {
    let mut analysis = started(ProbeCost::default());
    analysis.log_rounds();
    analysis.plan_changed(PlanChange {
        generation: 2,
        probes: 3,
        continues: Some(1),
        added: vec![BELOW],
        ..PlanChange::default()
    });
    push_two_rounds(&mut analysis, numbers, scale, below);
    analysis
}

/// Their probes.
pub fn three_calls() -> SiteTable {
    sites(&[
        ("culprit", "root+1", 0),
        ("other", "root+2", 1),
        ("below", "other+1", 0),
    ])
}

/// The profile of two rounds: 2000 intervals without the third call, 3000 with it, in which the culprit takes `scale`
/// times as long.
fn two_rounds(scale: u64, below: u64) -> Profile {
    let numbers = [(0..2000).collect(), (2000..5000).collect()];
    two_rounds_of(&numbers, scale, below).profile(&three_calls(), &Options::default())
}

/// The calls that the second round expanded explain a thousandth. The profile rests on both rounds, and shows nothing
/// of one alone as if it were in both.
#[test]
fn rounds_that_agree_are_taken_together() {
    let profile = two_rounds(1, 30);
    assert_eq!(profile.rounds_together, [1, 2]);
    assert_eq!((profile.intervals, profile.round), (5000, 2));
    assert!(child(&profile.tree, "other").children.is_empty());
    assert_eq!(profile.closure.max_abs_error_ticks, 0);
    assert!(
        profile
            .warnings
            .iter()
            .all(|warning| !matches!(warning, Warning::LoadChanged { .. }))
    );
}

/// It explains half of the variance: the round that knows it stands alone.
#[test]
fn nothing_that_tells_is_given_up() {
    let profile = two_rounds(1, 1000);
    assert_eq!((profile.intervals, profile.round), (3000, 2));
    assert!(profile.rounds_together.is_empty());
    let other = child(&profile.tree, "other");
    assert!(child(other, "below").share > 0.4);
}

/// The culprit takes twice as long in the second round, a load change. The profile covers both parts and describes
/// each.
#[test]
fn rounds_under_another_load_count_too() {
    let profile = two_rounds(2, 30);
    assert_eq!((profile.intervals, profile.round), (5000, 2));
    assert_eq!(profile.rounds_together, [1, 2]);
    let parts = load_parts(&profile).map(|part| part.intervals);
    assert_eq!(parts, [2000, 3000]);
}

/// Both sides of a change of the load that the profile warns about.
#[track_caller]
fn load_parts(profile: &Profile) -> [LoadPart; 2] {
    let change = profile.warnings.iter().find_map(|warning| match warning {
        Warning::LoadChanged { before, after } => Some([*before, *after]),
        _ => None,
    });
    change.unwrap_or_else(|| panic!("{:?}", profile.warnings))
}

/// The first `loud` of 5,000 intervals call what takes long; the others, under another plan, do not. That call is
/// planted in both, which is known or not, and one more in the second.
fn calming_down(loud: u64, is_known: bool) -> Profile {
    let mut analysis = Analysis::new(ProbeCost::default());
    for (generation, toggled) in [(1, vec![CULPRIT, OTHER]), (2, vec![BELOW])] {
        analysis.plan_changed(PlanChange {
            generation,
            toggled: is_known.then_some(toggled),
            ..PlanChange::default()
        });
    }
    let is_culprit = |step: &Step| matches!(step, Step::Call(inner) if inner.probe == CULPRIT);
    for number in 0..5000u64 {
        let is_calm = number >= loud;
        let mut steps = steps_of(number, 1, 30, is_calm);
        steps.retain(|step| !is_calm || !is_culprit(step));
        let generation = 1 + u64::from(is_calm);
        analysis.push(1, &under(generation, 1_000_000 * number, &steps));
    }
    analysis.ended();
    analysis.profile(&three_calls(), &Options::default())
}

/// The profile covers the varying part together with all other intervals, however early that part was: all intervals
/// of the run count. Without the knowledge of the planted cause it could not be checked.
#[test]
fn the_calm_after_is_not_all_that_is_reported() {
    for loud in [1000, 3000] {
        let profile = calming_down(loud, true);
        assert_eq!((profile.intervals, profile.round), (5000, 1));
        assert!(child(&profile.tree, "culprit").share > 0.99);
        let [before, after] = load_parts(&profile);
        assert_eq!([before.intervals, after.intervals], [loud, 5000 - loud]);
        assert!(before.sd_ns > 2.0 * after.sd_ns);
        let profile = calming_down(loud, false);
        assert_eq!((profile.intervals, profile.round), (loud, 1));
    }
}

/// Every third round stalls, in one call or the other: that is the load, and no interval is left out of the profile for
/// it.
#[test]
fn stalls_that_recur_are_the_load() {
    let mut analysis = Analysis::new(ProbeCost::default());
    for generation in 1..=9 {
        let toggled = if generation == 1 {
            vec![CULPRIT, OTHER]
        } else {
            Vec::new()
        };
        analysis.plan_changed(PlanChange {
            generation,
            toggled: Some(toggled),
            ..PlanChange::default()
        });
        for number in 0..500 {
            let stalls = generation % 3 == 2 && number % 50 == 7;
            let culprit = if stalls { 100_000 } else { 100 + number % 7 };
            let steps = [leaf(CULPRIT, culprit), leaf(OTHER, 100)];
            let at = 500 * u64::from(generation) + number;
            analysis.push(1, &under(generation.into(), 1_000_000 * at, &steps));
        }
    }
    analysis.ended();
    let profile = analysis.profile(&three_calls(), &Options::default());
    assert_eq!(profile.intervals, 4500);
    assert!(child(&profile.tree, "culprit").share > 0.99);
    let says = |warning: &Warning| matches!(warning, Warning::LoadChanged { .. });
    assert!(!profile.warnings.iter().any(says), "{:?}", profile.warnings);
}

/// Whether the load changed between 2,000 intervals and 3,000 under two plans: durations of two calls in an interval,
/// and its own.
fn is_another_load(ticks: impl Fn(u64, bool) -> [u64; 3]) -> bool {
    let mut analysis = Analysis::new(ProbeCost::default());
    for (generation, toggled) in [(1, vec![CULPRIT, OTHER]), (2, vec![BELOW])] {
        analysis.plan_changed(PlanChange {
            generation,
            toggled: Some(toggled),
            ..PlanChange::default()
        });
    }
    for number in 0..5000 {
        let is_second = number >= 2000;
        let [culprit, other, own] = ticks(number, is_second);
        let steps = [leaf(CULPRIT, culprit), leaf(OTHER, other), work(own)];
        let generation = 1 + u64::from(is_second);
        analysis.push(1, &under(generation, 1_000_000 * number, &steps));
    }
    analysis.ended();
    let profile = analysis.profile(&three_calls(), &Options::default());
    assert_eq!(profile.intervals, 5000);
    let said = |warning: &Warning| matches!(warning, Warning::LoadChanged { .. });
    profile.warnings.iter().any(said)
}

/// A pseudorandom number below `bound`, and independent ones with other `stream`s.
fn drawn(number: u64, stream: u64, bound: u64) -> u64 {
    let mixed = (number << 2 | stream).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 33) % bound
}

/// Latencies are the same, and another call varies most.
#[test]
fn time_that_moves_to_another_call_is_another_load() {
    for small in [0, 100] {
        assert!(is_another_load(|number, is_second| {
            let large = 100 + drawn(number, 0, 200);
            let small = 100 + drawn(number, 1, small + 1);
            if is_second {
                [small, large, 1]
            } else {
                [large, small, 1]
            }
        }));
    }
}

/// What moves has three hundredths of the variance.
#[test]
fn a_little_time_that_moves_is_no_other_load() {
    assert!(!is_another_load(|number, is_second| {
        let small = [1, 1 + drawn(number, 1, 180)];
        let [other, own] = if is_second {
            small
        } else {
            [small[1], small[0]]
        };
        [drawn(number, 0, 1000), other, own]
    }));
}

/// The mean is the same, and the spread half as wide again.
#[test]
fn a_wider_spread_about_the_same_mean_is_another_load() {
    assert!(is_another_load(|number, is_second| {
        let [base, step] = if is_second { [70, 30] } else { [100, 20] };
        [base + step * (number % 7), 100, 1]
    }));
}

/// Means that differ by two standard errors do so by chance; those that differ by six do not.
#[test]
fn what_chance_explains_is_no_other_load() {
    let of = |number| drawn(number, 0, 1000) as f64;
    let mean = |numbers: std::ops::Range<u64>| {
        let count = (numbers.end - numbers.start) as f64;
        numbers.map(of).sum::<f64>() / count
    };
    let ahead = mean(2000..5000) - mean(0..2000);
    let error = 1000.0 / 12f64.sqrt() * (1.0f64 / 2000.0 + 1.0 / 3000.0).sqrt();
    for (errors, is_other) in [(2.0, false), (6.0, true)] {
        let shift = (errors * error - ahead).round() as u64;
        let said = is_another_load(|number, is_second| {
            let later = if is_second { shift } else { 0 };
            [drawn(number, 0, 1000) + later, 100, 1]
        });
        assert_eq!(said, is_other, "{errors} standard errors");
    }
}
