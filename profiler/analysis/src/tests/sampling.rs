//! Intervals that are kept by their latency, with weights: their statistics equal those of all intervals, except for
//! chance.

use std::collections::BTreeMap;

use evenkeel_wire::{KeepRate, LATENCY_CLASSES, Marker, Record, latency_class};

use super::trace::*;
use crate::fleet::minutes::Minute;
use crate::profile::{Profile, SamplingRule};
use crate::sums::keeping;
use crate::{Analysis, ProbeCost};

const INTERVALS: u64 = 6_000;
const DRAWS: u64 = 150;
/// One interval in this many stalls.
const STALLS: u64 = 400;

/// Numbers that look random, the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 31
    }
}

/// An interval with its class, its records, and how long it takes.
struct Planted {
    label: u64,
    steps: Vec<Step>,
    ticks: u64,
}

/// Three functions of different spread, in two classes; the second function sometimes stalls.
fn planted() -> Vec<Planted> {
    let mut random = Random(7);
    let one = |at: u64| {
        let mut up_to = |most: u64| 1 + random.next() % most;
        let (own, first, inner) = (up_to(2_000), up_to(1_000), up_to(3_000));
        let stall = if at % STALLS == 17 {
            200_000 + up_to(200_000)
        } else {
            0
        };
        let second = up_to(500) + stall;
        let steps = vec![
            work(own),
            leaf(0, first),
            call(2, [work(100), leaf(1, second), leaf(3, inner)]),
        ];
        Planted {
            label: u64::from(inner > 2_000),
            ticks: own + first + 100 + second + inner,
            steps,
        }
    };
    (0..INTERVALS).map(one).collect()
}

/// A session's profile of these intervals, each kept as `keep` says for its latency.
fn sampled(all: &[Planted], keep: impl Fn(u64) -> KeepRate, seed: u64) -> Profile {
    let mut random = Random(seed << 32);
    let mut analysis = started(crate::ProbeCost::default());
    for (at, planted) in (0..).zip(all) {
        let keep = keep(planted.ticks);
        if keep.keeps((random.next() >> 40) as u32) {
            analysis.push(1, &records(at, planted, keep));
        } else {
            let class = latency_class(planted.ticks);
            analysis.count_unrecorded(&[(class, 1)], planted.ticks);
        }
    }
    profile_of(&analysis)
}

fn records(at: u64, planted: &Planted, keep: KeepRate) -> Vec<Record> {
    let label = [Record::integer_label(planted.label)];
    let mut records = labelled(1_000 + 1_000_000 * at, &label, &planted.steps);
    let end = records.pop().expect("an end");
    assert_eq!(end.as_marker(), Some(Marker::End));
    let generation = STAMP.generation;
    records.push(Record::end_of_interval(end.start, generation, keep, false));
    records
}

fn profile_of(analysis: &Analysis) -> Profile {
    let names = [
        ("first", "a+0", 1),
        ("stalling", "b+0", 1),
        ("outer", "c+0", 2),
        ("inner", "d+0", 1),
    ];
    analysis.profile(&sites(&names), &options())
}

fn by_class(all: &[Planted]) -> Vec<f64> {
    let mut by_class = vec![0.0; LATENCY_CLASSES];
    all.iter()
        .for_each(|planted| by_class[latency_class(planted.ticks)] += 1.0);
    by_class
}

/// The estimates, by name, and the standard errors of the shares.
fn estimates(profile: &Profile) -> (BTreeMap<String, f64>, BTreeMap<String, f64>) {
    let (mut values, mut errors) = (BTreeMap::new(), BTreeMap::new());
    let outer = child(&profile.tree, "outer");
    for node in profile.tree.children.iter().chain(&outer.children) {
        values.insert(format!("share of {}", node.name), node.share);
        values.insert(
            format!("mean of {}", node.name),
            node.mean_ns / profile.tree.mean_ns,
        );
        errors.insert(format!("share of {}", node.name), node.se);
    }
    let classes = &profile.classes;
    values.insert("between classes".to_owned(), classes.between_fraction);
    let all: u64 = classes.classes.iter().map(|class| class.intervals).sum();
    for class in &classes.classes {
        let part = class.intervals as f64 / all as f64;
        values.insert(format!("part of class {}", class.name), part);
    }
    values.insert("calls".to_owned(), outer.calls_mean);
    values.insert("sd".to_owned(), profile.sd_ns);
    (values, errors)
}

/// Mean and standard deviation of what many draws estimate, and the mean of the errors that they claim.
fn over_draws(
    all: &[Planted],
    keep: impl Fn(u64) -> KeepRate,
) -> BTreeMap<String, (f64, f64, Option<f64>)> {
    let draws: Vec<_> = (1..=DRAWS)
        .map(|seed| estimates(&sampled(all, &keep, seed)))
        .collect();
    let of = |name: &String| {
        let values = draws
            .iter()
            .map(|(values, _)| values.get(name).copied().unwrap_or(0.0));
        let mean = values.clone().sum::<f64>() / DRAWS as f64;
        let squares = values.map(|value| (value - mean).powi(2)).sum::<f64>();
        let errors = draws.iter().map(|(_, errors)| errors.get(name));
        let claimed: Option<f64> = errors.map(|error| error.copied()).sum();
        (
            mean,
            (squares / DRAWS as f64).sqrt(),
            claimed.map(|sum| sum / DRAWS as f64),
        )
    };
    let names = draws[0].0.keys();
    names.map(|name| (name.clone(), of(name))).collect()
}

/// The table of a session that may keep one interval in twenty.
fn of_table(all: &[Planted]) -> impl Fn(u64) -> KeepRate {
    let table = keeping::table(&by_class(all), 0.05);
    move |ticks| table[latency_class(ticks)]
}

#[test]
fn weighted_intervals_give_unbiased_estimates() {
    let all = planted();
    let (truth, _) = estimates(&sampled(&all, |_| KeepRate::ALL, 1));
    for (name, (mean, sd, claimed)) in over_draws(&all, of_table(&all)) {
        let chance = 4.5 * sd / (DRAWS as f64).sqrt();
        // A quotient of unbiased sums is biased by less than a tenth of what chance makes of one draw.
        let off = (mean - truth[&name]).abs();
        assert!(
            off <= chance + 0.1 * sd + 1e-9,
            "{name}: {mean}, not {}",
            truth[&name]
        );
        if let Some(claimed) = claimed.filter(|_| sd > 1e-3) {
            let ratio = claimed / sd;
            assert!((0.5..4.0).contains(&ratio), "{name}: ±{claimed}, but {sd}");
        }
    }
}

#[test]
fn keeping_by_latency_is_surer_than_a_uniform_sample_of_as_many() {
    let all = planted();
    let (truth, _) = estimates(&sampled(&all, |_| KeepRate::ALL, 1));
    let rms = |draws: BTreeMap<String, (f64, f64, Option<f64>)>| {
        let shares = draws.iter().filter(|(name, _)| name.starts_with("share"));
        let squares = shares.map(|(name, (mean, sd, _))| (mean - truth[name]).powi(2) + sd * sd);
        squares.sum::<f64>().sqrt()
    };
    let by_latency = rms(over_draws(&all, of_table(&all)));
    // One in sixteen, which is more than one in twenty.
    let uniform = rms(over_draws(&all, |_| KeepRate::of_log2(4)));
    assert!(by_latency < uniform / 3.0, "{by_latency} {uniform}");
}

#[test]
fn every_slow_interval_is_kept_and_the_report_says_so() {
    let all = planted();
    let profile = sampled(&all, of_table(&all), 3);
    let sampling = profile.sampling.as_ref().expect("all are known");
    assert_eq!(
        (sampling.seen, sampling.rule),
        (INTERVALS, SamplingRule::Latency)
    );
    assert!(sampling.recorded < INTERVALS / 12, "{sampling:?}");
    assert!(sampling.slowest >= 1.0 / STALLS as f64, "{sampling:?}");
    assert!(sampling.one_in > 12.0, "{sampling:?}");
    assert_eq!(profile.intervals, sampling.recorded);
    assert!(profile.explains_a_part().is_none(), "{sampling:?}");
    // Percentiles, mean and spread are of all intervals: exact where those were recorded, or nearly.
    let whole = sampled(&all, |_| KeepRate::ALL, 1);
    assert!((sampling.mean_ns / whole.mean_ns - 1.0).abs() < 0.01);
    assert!((sampling.sd_ns / whole.sd_ns - 1.0).abs() < 0.01);
    for (name, value) in &whole.percentiles_ns {
        assert!(
            (sampling.percentiles_ns[name] / value - 1.0).abs() < 0.07,
            "{name}"
        );
    }
    let cohorts = profile.cohorts.as_ref().expect("slow and quick ones");
    let slow = cohorts.slow.intervals as f64 / INTERVALS as f64;
    assert!((0.008..0.03).contains(&slow), "{slow}");
}

/// An interval of weight 4 equals four of weight 1, to the last digit.
#[test]
fn a_weight_is_a_number_of_equal_intervals() {
    let all = planted();
    let mut weighted = started(crate::ProbeCost::default());
    let mut repeated = started(crate::ProbeCost::default());
    for (at, planted) in (0..).zip(&all[..200]) {
        let keep = KeepRate::of_log2(if at % 3 == 0 { 2 } else { 0 });
        weighted.push(1, &records(10 * at, planted, keep));
        for copy in 0..keep.weight() {
            repeated.push(1, &records(10 * at + copy, planted, KeepRate::ALL));
        }
    }
    let [weighted, repeated] = [weighted, repeated].map(|analysis| profile_of(&analysis));
    assert_eq!((weighted.intervals, repeated.intervals), (200, 401));
    assert_eq!(weighted.mean_ns, repeated.mean_ns);
    assert_eq!(weighted.variance_ns2, repeated.variance_ns2);
    assert_eq!(weighted.histogram, repeated.histogram);
    assert_eq!(weighted.cohorts, repeated.cohorts);
    assert_eq!(weighted.classes, repeated.classes);
    let shares = |profile: &Profile| estimates(profile).0;
    assert_eq!(shares(&weighted), shares(&repeated));
}

/// A recording of sums has the weights in its sums, and separately counts the intervals that were kept.
#[test]
fn minutes_of_sums_keep_the_weights() {
    let all = planted();
    let keep = of_table(&all);
    let mut analysis = started(crate::ProbeCost::default());
    for (at, planted) in (0..).zip(&all) {
        analysis.push(1, &records(at, planted, keep(planted.ticks)));
    }
    let minute = Minute::read(&analysis.minute(0).bytes(), 0).expect("a minute");
    let mut again = Analysis::default();
    again.add_minute(&minute, &[], None).expect("the first one");
    let [whole, sums] = [analysis, again].map(|analysis| profile_of(&analysis));
    assert_eq!((sums.intervals, sums.mean_ns), (INTERVALS, whole.mean_ns));
    assert_eq!(sums.histogram, whole.histogram);
    let sampling = [&whole, &sums].map(|profile| profile.sampling.as_ref().expect("known").seen);
    assert_eq!(sampling, [INTERVALS; 2]);
    let shares = |profile: &Profile| estimates(profile).0;
    assert_eq!(shares(&whole), shares(&sums));
}

/// The clock jumps back while an interval is open: the interval is left out, with weight 1.
#[test]
fn a_clock_that_goes_back_gives_no_weight() {
    let mut analysis = started(crate::ProbeCost::default());
    let end = Record::end_of_interval(900, STAMP.generation, KeepRate::of_log2(5), false);
    analysis.push(1, &[Record::begin(1_000, STAMP), end]);
    let profile = profile_of(&analysis);
    assert_eq!((profile.intervals, profile.discarded), (0, 1));
    assert_eq!(profile.intervals_seen, 1);
}

/// From a hundred intervals on, those are slow that exceed the mean by half of the standard deviation: half take 100
/// ticks here, half 300.
#[test]
fn from_when_on_an_interval_is_slow() {
    let mut analysis = started(ProbeCost::default());
    for at in 0..100 {
        assert_eq!(analysis.slow_from_ticks(), None, "after {at}");
        let ticks = [100, 300][at as usize % 2];
        analysis.push(1, &interval(1000 * at, &[work(ticks)]));
    }
    let slow = analysis.slow_from_ticks().unwrap();
    assert!((245..=255).contains(&slow), "{slow}");
}
