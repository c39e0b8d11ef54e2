//! Recordings before and after a change: did it help, and where?
//!
//! [`evenkeel_analysis::comparison`] says what surely differs; here it gets its words. Shares alone mislead: when one cause goes, the shares of all
//! others grow. So a finding or a call is compared by its time, in the mean interval and in the slowest 1 %.

mod bounds;
mod changes;
pub mod groups;
mod markdown;
mod row;
mod spread;
mod summary;
mod terminal;
mod tree;

use evenkeel_analysis::comparison::bounds::Bound;
use evenkeel_analysis::comparison::fieller::Pair;
use evenkeel_analysis::comparison::load::{Another, SidesLoad};
use evenkeel_analysis::comparison::parts::{PROCESSOR, Parts};
use evenkeel_analysis::comparison::rows::{self, Circumstances};
use evenkeel_analysis::comparison::sides::Side;
use evenkeel_analysis::profile::Profile;
use serde::Serialize;

use crate::html;
pub use bounds::{BoundResult, Told};
pub use row::{Of, Row, RowKind, Verdict};
pub use tree::Node;

/// Version of the JSON.
pub const COMPARISON_VERSION: u32 = 2;

/// Both sides.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Their profiles.
    pub profiles: [&'a Profile; 2],
    /// Their recordings, in blocks of time.
    pub sides: &'a [Side; 2],
    /// The parts that time is divided into.
    pub parts: &'a Parts,
    /// Names of classes, by id.
    pub classes: &'a [String],
    /// Differences between the recordings.
    pub differing: &'a [Difference],
    /// Both sides are intervals of the same kind.
    pub same_interval: bool,
    /// Both sides were recorded with waits.
    pub has_waits: bool,
    /// Calls that only some recordings timed: how many, and some of them.
    pub timed_in_some: Option<&'a (usize, Vec<String>)>,
    /// Changes that are not to be.
    pub bounds: &'a [Bound],
}

/// A difference between the recordings of both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// `interval`, `program`, `build`, `server`, `command`, `host`, `waits`, `options`.
    pub what: &'static str,
    /// Before.
    pub before: String,
    /// After.
    pub after: String,
}

/// The comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// [`COMPARISON_VERSION`].
    pub version: u32,
    /// The interval's name.
    pub interval: String,
    /// The outcome in a few sentences.
    pub summary: String,
    /// Waits of a client that are in no interval, where a preset knows them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub outside: String,
    /// Reasons to doubt the comparison.
    pub warnings: Vec<String>,
    /// Recordings before and after.
    pub recordings: [usize; 2],
    /// Intervals before and after.
    pub intervals: [u64; 2],
    /// Differences between the recordings.
    pub options_differ: Vec<Difference>,
    /// The load; absent where the recordings do not say how long they took.
    pub load: Option<LoadChange>,
    /// Every figure, those of the latency first, then findings and calls by what they change in the slowest 1 %.
    pub rows: Vec<Row>,
    /// Bounds that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<BoundResult>,
    /// Calls with their times on both sides.
    #[serde(skip)]
    tree: Option<Node>,
}

/// The load before and after.
#[derive(Clone, Debug, Serialize)]
pub struct LoadChange {
    /// Intervals a second.
    pub rate_per_s: Figure,
    /// Intervals at once, on average.
    pub concurrency: Figure,
    /// The part of the intervals in each class; empty without classes.
    pub classes: Vec<ClassChange>,
    /// The change of the mean latency, divided by the mix of classes; absent where intervals have none.
    pub mean_change_ns: Option<MixChange>,
    /// Why it is another load: `load` or `mix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub another: Option<&'static str>,
}

/// A figure of the load.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    /// Before.
    pub before: f64,
    /// After.
    pub after: f64,
    /// after / before - 1.
    pub change: Option<f64>,
    /// Its interval of 95 %: from.
    pub low: Option<f64>,
    /// To.
    pub high: Option<f64>,
}

/// A class before and after.
#[derive(Clone, Debug, Serialize)]
pub struct ClassChange {
    /// Its name.
    pub name: String,
    /// Its part of the intervals before.
    pub before: f64,
    /// After.
    pub after: f64,
}

/// The change of the mean latency: the three add up to it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MixChange {
    /// Other classes than before.
    pub mix: f64,
    /// Classes that are slower or quicker.
    pub within: f64,
    /// Both effects together.
    pub both: f64,
}

impl From<&Pair> for Figure {
    fn from(pair: &Pair) -> Figure {
        let interval = pair.interval();
        Figure {
            before: pair.before.value,
            after: pair.after.value,
            change: pair.change(),
            low: interval.map(|[low, _]| low),
            high: interval.map(|[_, high]| high),
        }
    }
}

impl LoadChange {
    fn of(load: &SidesLoad, classes: &[String]) -> LoadChange {
        let mix = load.mix.as_ref();
        let parts = mix.iter().flat_map(|mix| mix.parts.iter().enumerate());
        let parts = parts.filter(|(_, [before, after])| before + after > 0.0);
        LoadChange {
            rate_per_s: Figure::from(&load.rate),
            concurrency: Figure::from(&load.concurrency),
            classes: parts
                .map(|(at, &[before, after])| ClassChange {
                    name: classes.get(at).cloned().unwrap_or_default(),
                    before,
                    after,
                })
                .collect(),
            mean_change_ns: mix.map(|mix| MixChange {
                mix: mix.mix_ns.value,
                within: mix.within_ns.value,
                both: mix.both_ns.value,
            }),
            another: load.another().map(|another| match another {
                Another::Load => "load",
                Another::Mix => "mix",
            }),
        }
    }
}

impl Comparison {
    /// Compares both sides.
    pub fn new(input: &Input<'_>) -> Comparison {
        let load = SidesLoad::of(input.sides);
        let [before, after] = input.profiles;
        let max = |profile: &Profile| profile.percentiles_ns.get("max").copied();
        let has_processor = |side: &Side| {
            let own = side.iter().map(|run| run.total.part(PROCESSOR).all_ns);
            own.sum::<f64>() > 0.0
        };
        let circumstances = Circumstances {
            same_interval: input.same_interval,
            has_processor: input.has_waits && input.sides.iter().all(has_processor),
            max_ns: [before, after].map(|profile| max(profile).unwrap_or_default()),
        };
        let found = rows::rows(input.sides, input.parts, load.as_ref(), &circumstances);
        let mut rows: Vec<Row> = found.iter().map(|row| Row::of(row, input.parts)).collect();
        row::rank(&mut rows);
        let load = load.map(|load| (LoadChange::of(&load, input.classes), load));
        let bounds = input.bounds.iter();
        let rate = load.as_ref().map(|(_, load)| &load.rate);
        let bounds = bounds.map(|bound| BoundResult::of(bound, &found, input.parts, rate));
        let mut comparison = Comparison {
            version: COMPARISON_VERSION,
            interval: after.interval.clone(),
            summary: String::new(),
            outside: outside(input.profiles),
            warnings: warnings(input),
            recordings: [0, 1].map(|side: usize| input.sides[side].len()),
            intervals: [before.intervals, after.intervals],
            options_differ: input.differing.to_vec(),
            bounds: bounds.collect(),
            tree: tree::of(&found, input.sides, input.parts),
            load: load.map(|(change, _)| change),
            rows,
        };
        comparison.summary = summary::of(&comparison);
        comparison
    }

    /// As a self-contained page.
    pub fn html(&self) -> String {
        html::comparison(self, &self.tree)
    }
}

fn outside([before, after]: [&Profile; 2]) -> String {
    match after.details.outside.is_empty() {
        true => before.details.outside.clone(),
        false => after.details.outside.clone(),
    }
}

fn warnings(input: &Input<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    for (when, profile) in [("before", input.profiles[0]), ("after", input.profiles[1])] {
        if profile.closure.max_abs_error_ticks > 0 {
            warnings.push(format!(
                "The parts of the profile {when} do not add up to its latencies: record it again."
            ));
        }
    }
    if let Some((calls, some)) = input.timed_in_some {
        warnings.push(format!(
            "{calls} calls were timed in some of the recordings only ({}): their time counts as their callers' own in all.",
            some.join(", ")
        ));
    }
    if input.sides.iter().all(|side| side.len() == 1) {
        warnings.push(format!(
            "One recording a side cannot tell more than that these two runs differ: equal runs are taken to differ as parts of one do, and by {} at \
             least. Several a side tell: evenkeel compare before*.keel -- after*.keel",
            crate::units::percent(evenkeel_analysis::comparison::sides::RUN_SPREAD)
        ));
    }
    warnings
}
