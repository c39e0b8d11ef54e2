//! Minutes added up.

use std::collections::BTreeMap;

use evenkeel_analysis::profile::{Bin, Profile};

use crate::family::{Family, Point, Points, Unit};
use crate::names::{Names, OTHERS, UNATTRIBUTED};

/// Upper bounds of latencies, seconds: 1, 2.5 and 5 of each power of ten from a microsecond to 50 seconds.
const BOUNDS: [f64; 24] = [
    1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2,
    5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0,
];
const NS: f64 = 1e-9;

/// What does not change.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// The program.
    pub target: String,
    /// When the session began, nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// Findings that have a series of their own, at a time.
    pub top: usize,
}

/// Shares of the last minute.
#[derive(Clone, Copy, Debug, Default)]
struct Shares {
    variance: f64,
    p99: f64,
}

/// Counters over the session, and gauges of its last minute.
#[derive(Debug)]
pub struct Totals {
    pub(crate) session: Session,
    /// When the last minute ended, nanoseconds since 1970.
    pub(crate) ended_unix_ns: u64,
    interval: String,
    names: Names,
    /// Intervals by latency; the last element counts those above all bounds.
    buckets: [u64; BOUNDS.len() + 1],
    latency_s: f64,
    not_recorded: u64,
    left_out: BTreeMap<String, u64>,
    seconds: BTreeMap<String, f64>,
    last: Option<Last>,
}

/// The last minute.
#[derive(Debug)]
struct Last {
    shares: BTreeMap<String, Shares>,
    percentiles_s: BTreeMap<String, f64>,
    variance_s2: f64,
    overhead: Vec<(&'static str, f64)>,
    refused: usize,
    warnings: usize,
    unseen_share: f64,
}

impl Totals {
    /// No minute yet.
    pub fn new(session: Session) -> Totals {
        Totals {
            names: Names::new(session.top),
            ended_unix_ns: session.began_unix_ns,
            session,
            interval: String::new(),
            buckets: [0; BOUNDS.len() + 1],
            latency_s: 0.0,
            not_recorded: 0,
            left_out: BTreeMap::new(),
            seconds: BTreeMap::new(),
            last: None,
        }
    }

    /// Adds a minute that ended at this time, nanoseconds since 1970; `latencies` are those of all its intervals.
    pub fn add(&mut self, profile: &Profile, latencies: &[Bin], ended_unix_ns: u64) {
        self.ended_unix_ns = ended_unix_ns;
        self.interval.clone_from(&profile.interval);
        for bin in latencies {
            let middle_s = bin.from_ns.midpoint(bin.to_ns) * NS;
            self.buckets[BOUNDS.partition_point(|&bound| bound < middle_s)] += bin.count;
        }
        let intervals: u64 = latencies.iter().map(|bin| bin.count).sum();
        let sampling = profile.sampling.as_ref();
        let mean_ns = sampling.map_or(profile.mean_ns, |all| all.mean_ns);
        self.latency_s += mean_ns * NS * intervals as f64;
        self.not_recorded += profile.sampled_out;
        for (reason, count) in &profile.discarded_by_reason {
            let reason = serde_json::to_value(reason).unwrap_or_default();
            let reason = reason.as_str().unwrap_or("another").to_owned();
            *self.left_out.entry(reason).or_default() += count;
        }
        let shares = self.shares(profile, intervals as f64);
        self.last = (intervals > 0).then(|| Last {
            shares,
            percentiles_s: sampling
                .map_or(&profile.percentiles_ns, |all| &all.percentiles_ns)
                .iter()
                .map(|(name, ns)| (name.clone(), ns * NS))
                .collect(),
            variance_s2: sampling.map_or(profile.variance_ns2, |all| all.sd_ns * all.sd_ns)
                * NS
                * NS,
            overhead: [
                ("estimated", Some(profile.overhead.estimated_fraction)),
                ("measured", profile.overhead.measured_fraction),
            ]
            .into_iter()
            .filter_map(|(kind, fraction)| Some((kind, fraction?)))
            .collect(),
            refused: profile.unpatched.len(),
            warnings: profile.warnings.len(),
            unseen_share: sampling.map_or(0.0, |all| all.slow_not_seen_inside.share),
        });
    }

    /// Shares by finding, whose times are added: the first ones by name, the rest together, and what none has.
    fn shares(&mut self, profile: &Profile, intervals: f64) -> BTreeMap<String, Shares> {
        let mut shares: BTreeMap<String, Shares> = BTreeMap::new();
        let (mut p99, mut mean_ns) = (0.0, 0.0);
        let timed = profile.findings.iter().filter(|one| !one.seen_only);
        for (at, finding) in timed.enumerate() {
            let name = match at < self.session.top {
                true => self.names.of(&finding.headline),
                false => OTHERS.to_owned(),
            };
            let of_tail = finding.tail_share.get("p99").copied().unwrap_or(0.0);
            (p99, mean_ns) = (p99 + of_tail, mean_ns + finding.mean_ns);
            let sum = shares.entry(name.clone()).or_default();
            (sum.variance, sum.p99) = (sum.variance + finding.share, sum.p99 + of_tail);
            *self.seconds.entry(name).or_default() += finding.mean_ns.max(0.0) * NS * intervals;
        }
        let rest_ns = (profile.mean_ns - mean_ns).max(0.0);
        *self.seconds.entry(UNATTRIBUTED.to_owned()).or_default() += rest_ns * NS * intervals;
        let rest = Shares {
            variance: profile.uncovered.share,
            p99: if profile.findings.is_empty() {
                0.0
            } else {
                1.0 - p99
            },
        };
        shares.insert(UNATTRIBUTED.to_owned(), rest);
        shares
    }

    /// All metrics.
    pub(crate) fn families(&self) -> Vec<Family> {
        let mut all = self.counters();
        all.extend(self.last.iter().flat_map(gauges));
        all.push(Family {
            name: "evenkeel_period_end_timestamp",
            about: "When the last period ended, seconds since 1970",
            unit: Unit::Seconds,
            points: Points::Gauge(vec![alone(self.ended_unix_ns as f64 * NS)]),
        });
        all
    }

    fn counters(&self) -> Vec<Family> {
        let intervals: u64 = self.buckets.iter().sum();
        let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
        let counter = |name, about, unit, points| Family {
            name,
            about,
            unit,
            points: Points::Counter(points),
        };
        let left_out = self.left_out.iter();
        let seconds = self.seconds.iter();
        vec![
            Family {
                name: "evenkeel_session",
                about: "What is profiled",
                unit: Unit::None,
                points: Points::Info(vec![
                    ("target", self.session.target.clone()),
                    ("interval", self.interval.clone()),
                ]),
            },
            counter(
                "evenkeel_intervals",
                "Intervals that ended, recorded or not",
                Unit::None,
                vec![alone(intervals as f64)],
            ),
            Family {
                name: "evenkeel_interval_latency",
                about: "Latency of all intervals, recorded or not",
                unit: Unit::Seconds,
                points: Points::Histogram {
                    buckets: bounds.zip(self.buckets).collect(),
                    sum: self.latency_s,
                },
            },
            counter(
                "evenkeel_finding",
                "Time of intervals that a finding has",
                Unit::Seconds,
                seconds
                    .map(|(name, &value)| by("finding", name, value))
                    .collect(),
            ),
            counter(
                "evenkeel_intervals_not_recorded",
                "Intervals counted and not recorded, to stay within --max-overhead",
                Unit::None,
                vec![alone(self.not_recorded as f64)],
            ),
            counter(
                "evenkeel_intervals_left_out",
                "Intervals left out of the profile, by reason",
                Unit::None,
                left_out
                    .map(|(name, &count)| by("reason", name, count as f64))
                    .collect(),
            ),
        ]
    }
}

fn gauges(last: &Last) -> Vec<Family> {
    let gauge = |name, about, unit, points| Family {
        name,
        about,
        unit,
        points: Points::Gauge(points),
    };
    let shares = || last.shares.iter();
    let percentiles = last.percentiles_s.iter();
    vec![
        gauge(
            "evenkeel_period_latency",
            "Percentiles of the latency of all intervals of the last period",
            Unit::Seconds,
            percentiles
                .map(|(name, &value)| by("percentile", name, value))
                .collect(),
        ),
        gauge(
            "evenkeel_period_latency_variance_seconds_squared",
            "Variance of the latency of all intervals of the last period",
            Unit::None,
            vec![alone(last.variance_s2)],
        ),
        gauge(
            "evenkeel_finding_variance_share",
            "Share of the variance of the last period that a finding has",
            Unit::Ratio,
            shares()
                .map(|(name, one)| by("finding", name, one.variance))
                .collect(),
        ),
        gauge(
            "evenkeel_finding_p99_share",
            "Share of what the slowest 1 % of the last period took longer that a finding has",
            Unit::Ratio,
            shares()
                .map(|(name, one)| by("finding", name, one.p99))
                .collect(),
        ),
        gauge(
            "evenkeel_variance_not_seen",
            "Share of the variance of the last period in intervals of which too few were recorded",
            Unit::Ratio,
            vec![alone(last.unseen_share)],
        ),
        gauge(
            "evenkeel_overhead",
            "What profiling adds to the mean latency, estimated and measured",
            Unit::Ratio,
            last.overhead
                .iter()
                .map(|&(kind, value)| by("kind", kind, value))
                .collect(),
        ),
        gauge(
            "evenkeel_call_sites_refused",
            "Call sites that could not be timed",
            Unit::None,
            vec![alone(last.refused as f64)],
        ),
        gauge(
            "evenkeel_warnings",
            "Warnings that a report of the last period has",
            Unit::None,
            vec![alone(last.warnings as f64)],
        ),
    ]
}

fn alone(value: f64) -> Point {
    Point { label: None, value }
}

fn by(label: &'static str, name: &str, value: f64) -> Point {
    Point {
        label: Some((label, name.to_owned())),
        value,
    }
}
