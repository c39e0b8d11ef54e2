//! Chooses the intervals to keep: makes the table of [`evenkeel_wire::KeepTable`] from the latencies seen.
//!
//! The term that an interval adds to Cov(X, L) grows with its distance from the mean latency. The error of an
//! estimated sum is smallest where terms are drawn with probabilities proportional to their size (Horvitz and
//! Thompson 1952). So the probability is proportional to that distance, with two exceptions:
//!
//! - Medians and cohorts need intervals near the mean: these are treated as if a little away from it.
//! - Half of the budget is for the slowest intervals, which are all kept: a rare stall is never lost.

use evenkeel_wire::{KeepRate, LATENCY_CLASSES, latency_class_start};

/// Intervals nearer to the mean than this many standard deviations are treated as that far away.
const NEAR_SDS: f64 = 0.25;
/// The part of those that are kept that goes to the slowest.
const SLOWEST_PART: f64 = 0.5;
/// Halvings of the interval in which the scale of the probabilities lies: it spans all of 2^-128 to 2^128 times.
const STEPS: u32 = 48;

/// Chooses by class which of the intervals with these latencies to keep, so that about this fraction of all is kept.
/// Without intervals, everything is kept.
pub fn table(by_class: &[f64], fraction: f64) -> Vec<KeepRate> {
    let mut table = vec![KeepRate::ALL; LATENCY_CLASSES];
    let all: f64 = by_class.iter().sum();
    if fraction >= 1.0 || all <= 0.0 {
        return table;
    }
    let budget = all * fraction.max(0.0);
    let slow_from = slow_from(by_class, budget * SLOWEST_PART);
    let distances = distances(by_class, all);
    let rest = &by_class[..slow_from.min(by_class.len())];
    let slowest: f64 = by_class[rest.len()..].iter().sum();
    let kept = |scale: f64| -> f64 {
        let classes = rest.iter().zip(&distances);
        let kept = classes.map(|(count, distance)| count / keep(scale * distance).weight() as f64);
        kept.sum()
    };
    let (mut low, mut high) = (-128.0_f64, 128.0_f64);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        match kept(middle.exp2()) <= budget - slowest {
            true => low = middle,
            false => high = middle,
        }
    }
    for (entry, distance) in table[..slow_from].iter_mut().zip(&distances) {
        *entry = keep(low.exp2() * distance);
    }
    table
}

/// The first class of the slowest intervals, at most `most`, which are all kept.
fn slow_from(by_class: &[f64], most: f64) -> usize {
    let mut slowest = 0.0;
    for (class, count) in by_class.iter().enumerate().rev() {
        slowest += count;
        if slowest > most {
            return class + 1;
        }
    }
    0
}

/// The nearest power of two to a probability, not below it.
fn keep(probability: f64) -> KeepRate {
    let k = (-probability.log2()).floor();
    KeepRate::of_log2(k.clamp(0.0, KeepRate::LOG2_MAX.into()) as u8)
}

/// By class: how far from the mean its latencies are, ticks.
fn distances(by_class: &[f64], all: f64) -> Vec<f64> {
    let middle = |class: usize| {
        let (from, to) = (latency_class_start(class), latency_class_start(class + 1));
        from as f64 / 2.0 + to as f64 / 2.0
    };
    let classes = || by_class.iter().enumerate().map(|(at, n)| (middle(at), n));
    let mean = classes().map(|(ticks, count)| ticks * count).sum::<f64>() / all;
    let squares = classes().map(|(ticks, count)| (ticks - mean).powi(2) * count);
    let near = NEAR_SDS * (squares.sum::<f64>() / all).sqrt();
    let distance = |class| (middle(class) - mean).abs().max(near).max(1.0);
    (0..LATENCY_CLASSES).map(distance).collect()
}

#[cfg(test)]
mod tests {
    use evenkeel_wire::latency_class;

    use super::*;

    fn counted(latencies: impl IntoIterator<Item = u64>) -> Vec<f64> {
        let mut by_class = vec![0.0; LATENCY_CLASSES];
        for ticks in latencies {
            by_class[latency_class(ticks)] += 1.0;
        }
        by_class
    }

    fn expected(by_class: &[f64], table: &[KeepRate]) -> f64 {
        let classes = by_class.iter().zip(table);
        classes
            .map(|(count, keep)| count / keep.weight() as f64)
            .sum()
    }

    /// One in 5,000 takes 1,000 times as long: all of these are kept, and as many of the others as the budget leaves.
    #[test]
    fn all_of_the_slow_are_kept() {
        let latency = |at: u64| {
            if at.is_multiple_of(5_000) {
                1 << 30
            } else {
                1 << 20 | at
            }
        };
        let by_class = counted((0..100_000).map(latency));
        let table = table(&by_class, 0.02);
        assert_eq!(table[latency_class(1 << 30)], KeepRate::ALL);
        assert!(table[latency_class(1 << 20)].log2() >= 5);
        let kept = expected(&by_class, &table);
        assert!((1_000.0..=2_000.0).contains(&kept), "{kept}");
    }

    /// A third each takes the mean and half of it more or less: the spread is 0.41 of the mean. Those at the mean are
    /// kept as if a tenth away: with a fifth (2^-2.3) of the others' probability.
    #[test]
    fn intervals_near_the_mean_are_kept_as_if_a_little_away() {
        let latency = |at: u64| [1 << 19, 1 << 20, 3 << 19][at as usize % 3];
        let table = table(&counted((0..30_000).map(latency)), 0.02);
        let log2 = |ticks| table[latency_class(ticks)].log2();
        let less = log2(1 << 20) - log2(1 << 19);
        assert!((2..=3).contains(&less), "{less}");
    }

    #[test]
    fn the_budget_holds_whatever_the_latencies() {
        let spreads: [fn(u64) -> u64; 4] = [
            |_| 1_000,
            |at| 1_000 + at,
            |at| 1 << (at % 40),
            |at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20,
        ];
        for latency in spreads {
            let by_class = counted((0..50_000).map(latency));
            for fraction in [0.001, 0.02, 0.3] {
                let kept = expected(&by_class, &table(&by_class, fraction));
                assert!(kept <= 1.001 * fraction * 50_000.0, "{kept} {fraction}");
            }
        }
    }

    #[test]
    fn everything_is_kept_where_that_is_allowed_or_nothing_is_known() {
        let all = |table: Vec<KeepRate>| table.iter().all(|&keep| keep == KeepRate::ALL);
        assert!(all(table(&counted(0..1_000), 1.0)));
        assert!(all(table(&[], 0.01)));
        // A class that was never met, above all others.
        let table = table(&counted((0..1_000).map(|at| 1_000 + at)), 0.01);
        assert_eq!(table[latency_class(1 << 40)], KeepRate::ALL);
    }
}
