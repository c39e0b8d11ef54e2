//! Latencies of all intervals of a run, whether their inside was seen or not.
//!
//! The target's threads count the latencies of the intervals that sampling skips ([`evenkeel_wire::LatencyCounts`]);
//! those of recorded intervals are added as they end. So mean, percentiles and variance are those of every interval.
//! The part that a profile cannot explain is known, too: the variance of latencies that too few of the profile's
//! intervals have ([`Latencies::missing_from`]).

use evenkeel_wire::{LATENCY_CLASSES, latency_class, latency_class_start};

use crate::sums::histogram::Histogram;

/// Of what a profile lacks of the variance of slow intervals, the part that those intervals hold which the report names.
const NAMED: f64 = 0.9;

/// Latencies by class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    by_class: Vec<u64>,
    /// Of them, those that were recorded.
    recorded: Vec<u64>,
    intervals: u64,
    max_ticks: u64,
    /// Sums of latencies and of their squares: exact for recorded intervals; for counted ones as if spread evenly over
    /// their class.
    sum: f64,
    squares: f64,
}

/// Intervals that a profile represents too little.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Missing {
    /// The part of the variance of all latencies, of slow intervals and quick ones.
    pub share: f64,
    /// The slowest ones that hold nearly all of that. Zero where none is slower than the mean.
    pub intervals: u64,
    /// They are slower than this, ticks.
    pub slower_than_ticks: u64,
}

/// Which intervals were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recorded {
    /// How many.
    pub intervals: u64,
    /// Of this part of all intervals, the slowest, every one was.
    pub slowest: f64,
    /// Of the others, one in this many was.
    pub one_in: f64,
}

impl Latencies {
    /// Adds an interval that was recorded.
    pub fn add(&mut self, ticks: u64) {
        let class = latency_class(ticks);
        self.count(class, 1);
        self.count_recorded(class, 1);
        self.max_ticks = self.max_ticks.max(ticks);
        self.sum += ticks as f64;
        self.squares += ticks as f64 * ticks as f64;
    }

    /// Adds intervals of these classes; the largest has `max_ticks`.
    pub fn add_classes(&mut self, by_class: &[(usize, u64)], max_ticks: u64) {
        for &(class, count) in by_class {
            let class = class.min(LATENCY_CLASSES - 1);
            self.count(class, count);
            let bounds = (latency_class_start(class), latency_class_start(class + 1));
            self.spread(bounds, count, 1.0);
        }
        self.max_ticks = self.max_ticks.max(max_ticks);
    }

    /// Adds intervals of a histogram whose clock has one tick for `ratio` of these.
    pub fn add_histogram(&mut self, histogram: &Histogram, ratio: f64) {
        let here = |ticks: u64| (ticks as f64 * ratio) as u64;
        for (from, to, count) in histogram.kept_bins() {
            let class = latency_class(here(from.midpoint(to)));
            self.count(class, count);
            self.count_recorded(class, count);
            self.spread((from, to), count, ratio);
        }
        self.max_ticks = self.max_ticks.max(here(histogram.latency_max()));
    }

    /// Adds to the sums intervals that are spread evenly between two latencies.
    fn spread(&mut self, (from, to): (u64, u64), count: u64, ratio: f64) {
        let (from, to) = (from as f64 * ratio, to as f64 * ratio);
        self.sum += (from + to) / 2.0 * count as f64;
        self.squares += squares((from, to, count), 0.0);
    }

    fn count(&mut self, class: usize, count: u64) {
        if self.by_class.len() <= class {
            self.by_class.resize(class + 1, 0);
        }
        self.by_class[class] += count;
        self.intervals += count;
    }

    fn count_recorded(&mut self, class: usize, count: u64) {
        if self.recorded.len() <= class {
            self.recorded.resize(class + 1, 0);
        }
        self.recorded[class] += count;
    }

    /// How many of each class there are.
    pub fn by_class(&self) -> &[u64] {
        &self.by_class
    }

    /// Which of them were recorded.
    pub fn recorded(&self) -> Recorded {
        let recorded = |class: usize| self.recorded.get(class).copied().unwrap_or(0);
        let classes = self.by_class.iter().enumerate().rev();
        let whole = classes.take_while(|&(class, &count)| recorded(class) >= count);
        let slowest: u64 = whole.map(|(_, &count)| count).sum();
        let all: u64 = self.recorded.iter().sum();
        let rest = (self.intervals - slowest, all.saturating_sub(slowest));
        Recorded {
            intervals: all,
            slowest: slowest as f64 / self.intervals.max(1) as f64,
            one_in: match rest {
                (0, _) => 1.0,
                (rest, recorded) => rest as f64 / recorded.max(1) as f64,
            },
        }
    }

    /// How many.
    pub fn intervals(&self) -> u64 {
        self.intervals
    }

    /// The largest, ticks, exact.
    pub fn max_ticks(&self) -> u64 {
        self.max_ticks
    }

    /// Classes that have intervals: lower bound, upper bound, both in ticks, and how many.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        let occupied = self
            .by_class
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0);
        occupied.map(|(class, &count)| {
            let from = latency_class_start(class).min(self.max_ticks);
            let to = latency_class_start(class + 1).min(self.max_ticks.saturating_add(1));
            (from as f64, to as f64, count)
        })
    }

    /// Mean, ticks: exact for recorded intervals, within 3 % for those that were only counted.
    pub fn mean(&self) -> f64 {
        self.sum / self.intervals.max(1) as f64
    }

    /// Standard deviation, ticks, likewise.
    pub fn standard_deviation(&self) -> f64 {
        let mean = self.mean();
        let variance = self.squares / self.intervals.max(1) as f64 - mean * mean;
        variance.max(0.0).sqrt()
    }

    /// The latency, ticks, that the fraction `quantile` of intervals does not exceed: linear inside of its class. Zero
    /// without intervals.
    pub fn quantile(&self, quantile: f64) -> f64 {
        let rank = quantile * self.intervals as f64;
        let mut below = 0.0;
        for (from, to, count) in self.classes() {
            let count = count as f64;
            if below + count >= rank {
                return from + (to - from) * ((rank - below) / count).clamp(0.0, 1.0);
            }
            below += count;
        }
        0.0
    }

    /// The part that a profile of the intervals in `inside` does not represent.
    ///
    /// A profile is a fair sample of a class of latency where it has as large a part of that class as of all. Where it
    /// has less, that part of the class' squared distances from the mean is missing. Classes are taken by octave, so
    /// that a sample need not have an interval in each narrow one.
    pub fn missing_from(&self, inside: &Histogram) -> Missing {
        let octaves = self.octaves(inside);
        let lacking = |octave: &Octave| octave.lacking(0.0) * octave.part;
        let mut missing = Missing {
            share: octaves.iter().map(lacking).sum(),
            ..Missing::default()
        };
        let is_slow = |at: usize| octave_start(at) as f64 > self.mean();
        let slow = (0..octaves.len()).filter(|&at| is_slow(at));
        let of_slow: f64 = slow.clone().map(|at| lacking(&octaves[at])).sum();
        let mut named = 0.0;
        for at in slow.rev() {
            if named >= NAMED * of_slow {
                break;
            }
            let octave = &octaves[at];
            named += lacking(octave);
            if lacking(octave) > 0.0 {
                missing.intervals += (octave.lacking(0.0) * octave.all as f64).round() as u64;
                missing.slower_than_ticks = octave_start(at);
            }
        }
        missing
    }

    /// The part of the variance of all intervals that a sample surely represents. An octave of latencies without
    /// samples adds nothing. From another octave the sample lacks the part that chance does not explain, by `errors`
    /// times the error of a count. Few intervals represent their octave in part: n of n + 2, as in the rule of
    /// succession. An octave that has fewer than `known` intervals in the whole run says nothing: which sample has them
    /// is chance.
    pub fn part_in(&self, sample: &Histogram, errors: f64, known: u64) -> f64 {
        let octaves = self.octaves(sample);
        let part = |octave: &Octave| {
            let few = octave.inside as f64 / (octave.inside as f64 + 2.0);
            octave.part * (1.0 - octave.lacking(errors)) * few
        };
        let is_known = |octave: &&Octave| octave.all >= known;
        octaves.iter().filter(is_known).map(part).sum()
    }

    /// By octave: how many intervals there are, and how many a sample has.
    fn octaves(&self, sample: &Histogram) -> [Octave; 65] {
        let mean = self.mean();
        let mut octaves = [Octave::default(); 65];
        for class @ (from, _, count) in self.classes() {
            let octave = &mut octaves[octave(from as u64)];
            octave.all += count;
            octave.part += squares(class, mean);
        }
        for (from, _, count) in sample.bins() {
            octaves[octave(from)].inside += count;
        }
        let inside: u64 = octaves.iter().map(|octave| octave.inside).sum();
        let squares: f64 = octaves.iter().map(|octave| octave.part).sum();
        let fair = inside as f64 / self.intervals.max(1) as f64;
        for octave in &mut octaves {
            octave.fair = octave.all as f64 * fair;
            octave.part = if squares > 0.0 {
                octave.part / squares
            } else {
                0.0
            };
        }
        octaves
    }
}

/// Latencies of one power of two.
#[derive(Clone, Copy, Debug, Default)]
struct Octave {
    /// All intervals.
    all: u64,
    /// Those of a sample.
    inside: u64,
    /// How many a fair sample of its size has.
    fair: f64,
    /// The part of the squared distances from the mean.
    part: f64,
}

impl Octave {
    /// The part that the sample has too little of, by more than `errors` errors of a count.
    fn lacking(&self, errors: f64) -> f64 {
        match self.inside {
            _ if self.all == 0 => 0.0,
            0 => 1.0,
            inside => {
                let at_most = inside as f64 + errors * self.fair.sqrt();
                (1.0 - at_most / self.fair).clamp(0.0, 1.0)
            }
        }
    }
}

/// Which power of two a latency has reached.
fn octave(ticks: u64) -> usize {
    (u64::BITS - ticks.leading_zeros()) as usize
}

/// The smallest latency of a power of two.
fn octave_start(at: usize) -> u64 {
    1 << at.saturating_sub(1)
}

/// Sum of squared distances from `mean` of a class, spread evenly over it.
fn squares((from, to, count): (f64, f64, u64), mean: f64) -> f64 {
    let distance = (from + to) / 2.0 - mean;
    count as f64 * (distance * distance + (to - from) * (to - from) / 12.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::vectors::{Entry, Vector};

    fn histogram(latencies: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        for latency in latencies {
            let entries = [Entry::default()];
            histogram.add(&Vector {
                latency: latency as i64,
                entries: &entries,
                siblings: &[],
                closure_error: 0,
                weight: 1,
            });
        }
        histogram
    }

    fn all(latencies: impl IntoIterator<Item = u64>) -> Latencies {
        let mut all = Latencies::default();
        latencies.into_iter().for_each(|latency| all.add(latency));
        all
    }

    /// 1 to 100,000 ticks, evenly: mean 50,000, standard deviation 100,000 / sqrt(12). Counted by class or one by one,
    /// it is the same.
    #[test]
    fn mean_spread_and_percentiles_of_an_even_spread() {
        let recorded = all(1..=100_000);
        let mut counted = Latencies::default();
        for ticks in 1..=100_000 {
            counted.add_classes(&[(latency_class(ticks), 1)], ticks);
        }
        let mut summed = Latencies::default();
        summed.add_histogram(&histogram(1..=100_000), 1.0);
        for latencies in [recorded, counted, summed] {
            even_spread(&latencies);
        }
    }

    #[track_caller]
    fn even_spread(latencies: &Latencies) {
        let near = |measured: f64, truth: f64| {
            assert!((measured / truth - 1.0).abs() < 0.01, "{measured}")
        };
        near(latencies.mean(), 50_000.0);
        near(latencies.standard_deviation(), 100_000.0 / 12_f64.sqrt());
        near(latencies.quantile(0.5), 50_000.0);
        near(latencies.quantile(0.99), 99_000.0);
        assert_eq!(latencies.max_ticks(), 100_000);
        assert_eq!(latencies.quantile(1.0), 100_001.0);
    }

    /// Of 1,000 intervals the ten slowest were recorded, and every tenth of the others.
    #[test]
    fn which_were_recorded() {
        let mut latencies = Latencies::default();
        for at in 0..1_000_u64 {
            let ticks = if at < 10 { 1 << 20 } else { 1 << 10 };
            match at % 10 == 0 || at < 10 {
                true => latencies.add(ticks),
                false => latencies.add_classes(&[(latency_class(ticks), 1)], ticks),
            }
        }
        let recorded = latencies.recorded();
        assert_eq!((recorded.intervals, recorded.slowest), (109, 0.01));
        assert!((recorded.one_in - 10.0).abs() < 0.01, "{recorded:?}");
        assert_eq!(all([1, 2, 3]).recorded().slowest, 1.0);
        assert_eq!(all([1, 2, 3]).recorded().one_in, 1.0);
    }

    /// One interval in 1,000 takes 1,000 times as long, and sampling has skipped all of these: nearly all of the
    /// variance is missing.
    #[test]
    fn slow_intervals_that_no_profile_has_are_missing() {
        let quick = (0..100_000).map(|at| 1_000 + at % 100);
        let slow = std::iter::repeat_n(1_000_000, 100);
        let latencies = all(quick.chain(slow));
        let inside = histogram((0..1_000).map(|at| 1_000 + at % 100));
        let missing = latencies.missing_from(&inside);
        assert!(missing.share > 0.99, "{missing:?}");
        assert_eq!(missing.intervals, 100);
        assert!(missing.slower_than_ticks <= 1_000_000 && missing.slower_than_ticks > 2_000);
    }

    /// A sample that has one interval in ten of each latency represents all.
    #[test]
    fn nothing_is_missing_from_a_fair_sample() {
        let latency = |at: u64| if at % 100 < 10 { 1_000_000 } else { 1_000 };
        let latencies = all((0..10_000).map(latency));
        let inside = histogram((0..1_000).map(latency));
        assert_eq!(latencies.missing_from(&inside), Missing::default());
    }

    /// A tenth of 10,100 intervals is sampled. The octave from 2^15 lacks 40 of a thousand, as by chance; that from 2^20
    /// lacks half, and nearly all that is missing of the variance. Only its intervals are named.
    #[test]
    fn an_octave_that_lacks_little_is_not_named() {
        let of = |counts: [usize; 3]| {
            let ticks = [1_000, 1 << 15, 1 << 20].into_iter().zip(counts);
            ticks.flat_map(|(ticks, count)| std::iter::repeat_n(ticks, count))
        };
        let missing = all(of([9_000, 1_000, 100])).missing_from(&histogram(of([909, 96, 5])));
        assert_eq!(
            (missing.slower_than_ticks, missing.intervals),
            (1 << 20, 50)
        );
    }

    /// Half of the slow ones were skipped, and none of the quick: of the slow ones' distances half are missing.
    #[test]
    fn part_of_a_class_may_be_missing() {
        let latencies =
            all(std::iter::repeat_n(1_000, 9_000).chain(std::iter::repeat_n(1_000_000, 1_000)));
        let inside =
            histogram(std::iter::repeat_n(1_000, 900).chain(std::iter::repeat_n(1_000_000, 50)));
        let missing = latencies.missing_from(&inside).share;
        assert!((0.40..0.48).contains(&missing), "{missing}");
    }

    #[test]
    fn all_is_missing_from_a_profile_of_nothing() {
        let missing = all([1_000, 2_000]).missing_from(&Histogram::default());
        assert!((missing.share - 1.0).abs() < 1e-9, "{missing:?}");
    }

    #[test]
    fn nothing_is_missing_where_there_is_nothing() {
        assert_eq!(
            Latencies::default().missing_from(&Histogram::default()),
            Missing::default()
        );
        assert_eq!(Latencies::default().quantile(0.5), 0.0);
    }
}
