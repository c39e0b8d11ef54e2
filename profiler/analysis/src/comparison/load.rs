//! The load on both sides: its rate, its concurrency, and its mix of classes.

use super::block::{Block, ClassTime};
use super::fieller::{Beyond, Drift, Estimate, Pair};
use super::sides::{self, Side};
use super::student::{self, LEVEL};

/// Rate and concurrency that differ by less do not make another load.
const LOAD_MIN: f64 = 0.1;
/// Smallest relevant change of the mean latency by the mix of classes alone, as a fraction of it.
const MIX_MIN: f64 = 0.02;

/// The load on both sides.
#[derive(Clone, Debug)]
pub struct SidesLoad {
    /// Intervals a second.
    pub rate: Pair,
    /// Intervals that were in the server at once, on average: the rate times the mean latency (Little 1961, "A proof
    /// for the queuing formula").
    pub concurrency: Pair,
    /// The part of the mean latency's change that the mix of classes explains; `None` where intervals have no
    /// classes.
    pub mix: Option<Mix>,
}

/// The change of the mean latency, divided exactly (Kitagawa 1955, "Components of a difference between two rates",
/// with the interaction kept apart). With p a class's part of the intervals and m its mean latency before, p' and m'
/// after, the change is a sum over the classes: `(p' - p) m` (mix), `p (m' - m)` (within) and `(p' - p)(m' - m)`
/// (both).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mix {
    /// Mean latency before, ns.
    pub mean_ns: f64,
    /// Other classes than before.
    pub mix_ns: Estimate,
    /// Classes that are slower or quicker.
    pub within_ns: Estimate,
    /// Both: a class is slower or quicker, and its part has changed.
    pub both_ns: Estimate,
    /// By class: its part of the intervals before and after.
    pub parts: Vec<[f64; 2]>,
}

/// Why the load is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Another {
    /// Rate and concurrency both rose or fell.
    Load,
    /// Other classes of intervals.
    Mix,
}

impl SidesLoad {
    /// The load of both sides; `None` where their recordings lack their duration.
    pub fn of(sides: &[Side; 2]) -> Option<SidesLoad> {
        const SECOND_NS: f64 = 1e9;
        let per_second = |figure: Estimate| Estimate {
            value: figure.value * SECOND_NS,
            se: figure.se * SECOND_NS,
            df: figure.df,
            drift: figure.drift.times(SECOND_NS),
        };
        let timed = |block: &Block| block.length_ns;
        let in_flight = |block: &Block| match block.intervals {
            intervals if intervals > 0.0 => block.whole_ns * block.seen / intervals,
            _ => 0.0,
        };
        let rate = sides::pair(sides, |run| {
            (timed(&run.total) > 0.0).then(|| per_second(run.ratio(|block| block.seen, timed)))
        })?;
        let concurrency = sides::pair(sides, |run| {
            (timed(&run.total) > 0.0).then(|| run.ratio(in_flight, timed))
        })?;
        Some(SidesLoad {
            rate,
            concurrency,
            mix: Mix::of(sides),
        })
    }

    /// Whether it is another load. A closed loop of clients keeps the concurrency, or trades it for the rate; an open
    /// loop keeps the rate. Where both surely rose, or both fell, more or less work came.
    pub fn another(&self) -> Option<Another> {
        let moved = |pair: &Pair, up: bool| match up {
            true => pair.above(0.0) == Beyond::Surely && pair.change() > Some(LOAD_MIN),
            false => {
                let change = pair.change();
                pair.above(0.0) == Beyond::SurelyNot && change.is_some_and(|it| it < -LOAD_MIN)
            }
        };
        let both = |up: bool| moved(&self.rate, up) && moved(&self.concurrency, up);
        if both(true) || both(false) {
            return Some(Another::Load);
        }
        let mix = self.mix.as_ref()?;
        mix.is_another().then_some(Another::Mix)
    }
}

impl Mix {
    fn of(sides: &[Side; 2]) -> Option<Mix> {
        let units = [units(&sides[0]), units(&sides[1])];
        let totals = [total(&units[0]), total(&units[1])];
        let classes = totals[0].len().max(totals[1].len());
        let present = |at: usize| totals.iter().any(|side| class(side, at).intervals > 0.0);
        if (0..classes).filter(|&at| present(at)).count() < 2 {
            return None;
        }
        let parts = decomposed(&totals[0], &totals[1])?;
        let df = (units[0].len().min(units[1].len()) as f64 - 1.0).max(1.0);
        let mut variances = [0.0; 3];
        for side in [0, 1] {
            let number = units[side].len() as f64;
            let without = |unit: &Vec<ClassTime>| {
                let mut rest = totals.clone();
                for (at, one) in unit.iter().enumerate() {
                    rest[side][at].intervals -= one.intervals;
                    rest[side][at].latency_ns -= one.latency_ns;
                }
                decomposed(&rest[0], &rest[1])
            };
            let left: Vec<[f64; 3]> = units[side].iter().filter_map(without).collect();
            for (at, variance) in variances.iter_mut().enumerate() {
                let mean = left.iter().map(|one| one[at]).sum::<f64>() / left.len() as f64;
                let squares: f64 = left.iter().map(|one| (one[at] - mean).powi(2)).sum();
                *variance += squares * (number - 1.0) / number;
            }
        }
        let estimate = |at: usize| Estimate {
            value: parts[at],
            se: variances[at].sqrt(),
            df,
            drift: Drift::default(),
        };
        let shares = |side: &[ClassTime]| -> Vec<f64> {
            let all: f64 = side.iter().map(|one| one.intervals).sum();
            let each = (0..classes).map(|at| class(side, at).intervals / all);
            each.collect()
        };
        let [before, after] = [shares(&totals[0]), shares(&totals[1])];
        Some(Mix {
            mean_ns: mean(&totals[0]),
            mix_ns: estimate(0),
            within_ns: estimate(1),
            both_ns: estimate(2),
            parts: before
                .into_iter()
                .zip(after)
                .map(|(before, after)| [before, after])
                .collect(),
        })
    }

    /// Whether the mix moves the mean, by enough to matter and beyond chance.
    pub fn is_another(&self) -> bool {
        let Estimate { value, se, df, .. } = self.mix_ns;
        let is_sure = student::two_sided(value / se, df) < LEVEL;
        is_sure && value.abs() > MIX_MIN * self.mean_ns
    }
}

/// Classes of what errors rest on: of one recording its blocks, of several each of them.
fn units(side: &Side) -> Vec<Vec<ClassTime>> {
    match &side[..] {
        [one] => one
            .blocks
            .iter()
            .map(|block| block.classes.clone())
            .collect(),
        several => several
            .iter()
            .map(|run| run.total.classes.clone())
            .collect(),
    }
}

fn total(units: &[Vec<ClassTime>]) -> Vec<ClassTime> {
    let classes = units.iter().map(Vec::len).max().unwrap_or(0);
    let mut all = vec![ClassTime::default(); classes];
    for unit in units {
        for (sum, one) in all.iter_mut().zip(unit) {
            sum.intervals += one.intervals;
            sum.latency_ns += one.latency_ns;
        }
    }
    all
}

fn class(side: &[ClassTime], at: usize) -> ClassTime {
    side.get(at).copied().unwrap_or_default()
}

fn mean(side: &[ClassTime]) -> f64 {
    let intervals: f64 = side.iter().map(|one| one.intervals).sum();
    side.iter().map(|one| one.latency_ns).sum::<f64>() / intervals.max(1.0)
}

/// Mix, within and both. A class that is on one side only has no change within: all of it is the mix. `None` without
/// intervals.
fn decomposed(before: &[ClassTime], after: &[ClassTime]) -> Option<[f64; 3]> {
    let all = |side: &[ClassTime]| side.iter().map(|one| one.intervals).sum::<f64>();
    let [all_before, all_after] = [all(before), all(after)];
    if all_before <= 0.0 || all_after <= 0.0 {
        return None;
    }
    let mut parts = [0.0; 3];
    for at in 0..before.len().max(after.len()) {
        let [old, new] = [class(before, at), class(after, at)];
        let [p, p_after] = [old.intervals / all_before, new.intervals / all_after];
        let mean = |one: ClassTime| one.latency_ns / one.intervals;
        let (m, m_after) = match (old.intervals > 0.0, new.intervals > 0.0) {
            (true, true) => (mean(old), mean(new)),
            (true, false) => (mean(old), mean(old)),
            (false, true) => (mean(new), mean(new)),
            (false, false) => continue,
        };
        parts[0] += (p_after - p) * m;
        parts[1] += p * (m_after - m);
        parts[2] += (p_after - p) * (m_after - m);
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::figures::Recorded;

    fn classes(of: &[(f64, f64)]) -> Vec<ClassTime> {
        of.iter()
            .map(|&(intervals, mean)| ClassTime {
                intervals,
                latency_ns: intervals * mean,
            })
            .collect()
    }

    /// Before, 80 of 100 take 10 and 20 take 50: the mean is 18. After, 60 take 12 and 40 take 55: 29.2. Mix: 8, of
    /// 0.2 x 50 less 0.2 x 10. Within: 0.8 x 2 + 0.2 x 5 = 2.6. Both: -0.2 x 2 + 0.2 x 5 = 0.6. 8 + 2.6 + 0.6 = 11.2.
    #[test]
    fn the_mix_by_hand() {
        let before = classes(&[(80.0, 10.0), (20.0, 50.0)]);
        let after = classes(&[(60.0, 12.0), (40.0, 55.0)]);
        let parts = decomposed(&before, &after).unwrap();
        for (found, expected) in parts.iter().zip([8.0, 2.6, 0.6]) {
            assert!((found - expected).abs() < 1e-12, "{parts:?}");
        }
        let change = mean(&after) - mean(&before);
        assert!((parts.iter().sum::<f64>() - change).abs() < 1e-12);
    }

    /// Before all take 10; after, a tenth is of a class that was not there and takes 110: all of the 10 is the mix.
    #[test]
    fn a_class_that_came() {
        let before = classes(&[(100.0, 10.0)]);
        let after = classes(&[(90.0, 10.0), (10.0, 110.0)]);
        assert_eq!(decomposed(&before, &after), Some([10.0, 0.0, 0.0]));
    }

    /// Recordings of 16 blocks of a second, with this many intervals in each: 10 ms each, but for a part of
    /// them of another class, 30 ms each.
    fn sides(intervals: [f64; 2], mixed: [f64; 2]) -> [Side; 2] {
        let side = |at: usize| {
            let blocks = (0..16).map(|number| {
                let n = intervals[at] + f64::from(number % 4);
                let quick = n * (1.0 - mixed[at]);
                let classes = classes(&[(quick, 1e7), (n - quick, 3e7)]);
                let latency = classes.iter().map(|one| one.latency_ns).sum();
                Block {
                    length_ns: 1e9,
                    seen: n,
                    intervals: n,
                    whole_ns: latency,
                    latency_ns: latency,
                    classes,
                    ..Block::default()
                }
            });
            vec![Recorded::new(blocks.collect(), true)]
        };
        [side(0), side(1)]
    }

    /// A class of 30 ms comes to one of 10 ms. With half a percent of the intervals it adds 0.1 ms to the mean, 1 %;
    /// with 2 %, 0.4 ms.
    #[test]
    fn a_mix_that_moves_the_mean_a_little_is_the_same() {
        let another = |part| {
            let load = SidesLoad::of(&sides([100.0, 100.0], [0.0, part])).unwrap();
            load.another()
        };
        assert_eq!(another(0.005), None);
        assert_eq!(another(0.02), Some(Another::Mix));
    }

    #[test]
    fn more_work_is_another_load() {
        let same = SidesLoad::of(&sides([100.0, 100.0], [0.0, 0.0])).unwrap();
        assert_eq!(same.another(), None);
        let more = SidesLoad::of(&sides([100.0, 150.0], [0.0, 0.0])).unwrap();
        assert_eq!(more.another(), Some(Another::Load));
        assert!((more.rate.before.value - 101.5).abs() < 1e-9);
        // 101.5 a second, 10 ms each.
        assert!((more.concurrency.before.value - 1.015).abs() < 1e-9);
        let mixed = SidesLoad::of(&sides([100.0, 100.0], [0.0, 0.5])).unwrap();
        let mix = mixed.mix.as_ref().unwrap();
        assert!((mix.mix_ns.value - 1e7).abs() < 1.0 && mix.is_another());
        assert_eq!(mixed.another(), Some(Another::Mix));
        // A closed loop: twice as quick, so twice the rate, with the same concurrency.
        let mut closed = mixed.clone();
        closed.mix = None;
        closed.rate.after.value *= 2.0;
        closed.concurrency.after = closed.concurrency.before;
        assert_eq!(closed.another(), None);
    }
}
