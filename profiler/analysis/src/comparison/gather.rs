//! Intervals of both sides into blocks.

use super::block::{Block, ClassTime, PartTime, Thresholds};
use super::figures::Recorded;
use super::parts::Parts;
use super::series::Series;
use super::sides::Side;
use crate::findings::cohorts::SLOW;
use crate::fleet::observed::{Observed, ObservedMinute};
use crate::intervals::classes::ClassTable;
use crate::profile::Profile;
use crate::sites::SiteTable;
use crate::sums::paths::Paths;

/// Part of the intervals that are longer than the cap.
const CAPPED: f64 = 0.001;
/// Intervals that are longer, at least, ...
const CAPPED_MIN: f64 = 30.0;
/// ... but not more than this part of them.
const CAPPED_MAX: f64 = 0.05;

/// Both sides, during their replay.
#[derive(Debug)]
pub struct Gathering {
    /// The parts that time is divided into.
    pub parts: Parts,
    /// By recording: its side.
    sides: Vec<usize>,
    series: Vec<Series>,
    /// Minutes of sums, by recording.
    minutes: Vec<Vec<Block>>,
    thresholds: [Thresholds; 2],
    ticks_per_ns: f64,
}

/// A recording that is to be gathered.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// 0: before, 1: after.
    pub side: usize,
    /// Intervals that ended for one that it has records of.
    pub ended_for_one: f64,
}

impl Gathering {
    /// Gathers these recordings, whose sides have these profiles. `ticks_per_ns` is of the common clock.
    pub fn new(
        members: &[Member],
        profiles: [&Profile; 2],
        parts: Parts,
        ticks_per_ns: f64,
    ) -> Gathering {
        let thresholds = thresholds(profiles);
        let series = members.iter().map(|member| {
            let mut series = Series::new(thresholds[member.side]);
            series.ended_for_one = member.ended_for_one;
            series
        });
        Gathering {
            parts,
            sides: members.iter().map(|member| member.side).collect(),
            series: series.collect(),
            minutes: vec![Vec::new(); members.len()],
            thresholds,
            ticks_per_ns,
        }
    }

    /// Adds an interval of a recording.
    pub fn add(
        &mut self,
        recording: usize,
        observed: &Observed,
        names: (&Paths, &SiteTable, &ClassTable),
    ) {
        let (paths, sites, classes) = names;
        self.parts.meet(paths, sites, classes);
        let ns = |ticks: i64| ticks as f64 / self.ticks_per_ns;
        let parts = &self.parts;
        let times = observed.spent.iter().flat_map(|spent| {
            let node = spent.node as usize;
            [
                (parts.of_own(node), ns(spent.exclusive)),
                (parts.of_node(node), ns(spent.inclusive)),
            ]
        });
        let end = observed.begin as f64 + observed.latency as f64;
        self.series[recording].add(
            observed.id,
            end / self.ticks_per_ns,
            ns(observed.latency),
            observed.class,
            times,
        );
    }

    /// Adds a minute of a recording of sums: single intervals are not known, so nothing is winsorised.
    pub fn add_minute(
        &mut self,
        recording: usize,
        minute: &ObservedMinute,
        names: (&Paths, &SiteTable, &ClassTable),
    ) {
        let (paths, sites, classes) = names;
        self.parts.meet(paths, sites, classes);
        let ns = |ticks: i128| ticks as f64 / self.ticks_per_ns;
        let sums = &minute.sums;
        let mut block = Block {
            intervals: sums.intervals as f64,
            seen: sums.intervals as f64,
            whole_ns: ns(sums.latency),
            latency_ns: ns(sums.latency),
            squares_ns2: sums.latency_squared as f64 / self.ticks_per_ns.powi(2),
            ..Block::default()
        };
        for (node, own) in sums.nodes.iter().enumerate() {
            for (part, ticks) in [
                (self.parts.of_own(node), own.exclusive),
                (self.parts.of_node(node), own.inclusive),
            ] {
                if block.parts.len() <= part {
                    block.parts.resize(part + 1, PartTime::default());
                }
                block.parts[part].all_ns += ns(ticks);
            }
        }
        block.classes = minute
            .classes
            .iter()
            .map(|class| ClassTime {
                intervals: class.intervals as f64,
                latency_ns: ns(class.latency),
            })
            .collect();
        self.minutes[recording].push(block);
    }

    /// Both sides.
    pub fn sides(&self) -> [Side; 2] {
        let mut sides = [Side::new(), Side::new()];
        for (at, series) in self.series.iter().enumerate() {
            let side = self.sides[at];
            let of_sums = (!self.minutes[at].is_empty())
                .then(|| Series::of_blocks(self.thresholds[side], self.minutes[at].clone()));
            let series = of_sums.as_ref().unwrap_or(series);
            if series.intervals() > 0.0 {
                sides[side].push(Recorded::new(series.blocks(), series.has_latencies));
            }
        }
        sides
    }
}

/// Both sides have the cap of the slower one. Each has its own slow intervals, and as many just below them.
fn thresholds(profiles: [&Profile; 2]) -> [Thresholds; 2] {
    let slow = 1.0 - SLOW;
    let caps = profiles.map(|profile| {
        let part = (CAPPED_MIN / profile.intervals.max(1) as f64).clamp(CAPPED, CAPPED_MAX);
        latency_above(profile, part)
    });
    profiles.map(|profile| Thresholds {
        cap_ns: caps[0].max(caps[1]),
        slow_ns: latency_above(profile, slow),
        near_ns: latency_above(profile, 2.0 * slow),
    })
}

/// The latency that this part of the intervals exceeds, by the histogram.
fn latency_above(profile: &Profile, part: f64) -> f64 {
    let all: u64 = profile.histogram.iter().map(|bin| bin.count).sum();
    let mut left = part * all as f64;
    for bin in profile.histogram.iter().rev() {
        let count = bin.count as f64;
        if count >= left && count > 0.0 {
            return bin.to_ns - (bin.to_ns - bin.from_ns) * (left / count);
        }
        left -= count;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Bin;

    /// Latencies from 0 to 1,000, evenly. Above the cap are 30 intervals: 3 in 1,000 of 10,000. But of 100 intervals
    /// not more than 5 are above it, and of a million not fewer than 1 in 1,000.
    #[test]
    fn few_intervals_are_above_the_cap() {
        let profile = |intervals| Profile {
            intervals,
            histogram: vec![Bin {
                from_ns: 0.0,
                to_ns: 1000.0,
                count: intervals,
            }],
            ..Profile::default()
        };
        let of = |before, after| thresholds([&profile(before), &profile(after)]);
        for (intervals, cap) in [(100, 950.0), (10_000, 997.0), (1_000_000, 999.0)] {
            let [own, _] = of(intervals, 100);
            let found = [own.cap_ns, own.slow_ns, own.near_ns].map(f64::round);
            assert_eq!(found, [cap, 990.0, 980.0], "{intervals}");
        }
        let [before, after] = of(100, 10_000);
        assert_eq!(before.cap_ns, after.cap_ns);
    }

    /// 90 of 0 to 10, 10 of 10 to 20: a twentieth is above the middle of the second bin, a fifth above 8.9 of the
    /// first.
    #[test]
    fn latencies_by_the_histogram() {
        let bin = |from_ns, count| Bin {
            from_ns,
            to_ns: from_ns + 10.0,
            count,
        };
        let profile = Profile {
            histogram: vec![bin(0.0, 90), bin(10.0, 10)],
            ..Profile::default()
        };
        assert_eq!(latency_above(&profile, 0.05), 15.0);
        assert!((latency_above(&profile, 0.2) - (10.0 - 10.0 / 9.0)).abs() < 1e-9);
        assert_eq!(latency_above(&Profile::default(), 0.2), f64::INFINITY);
    }
}
