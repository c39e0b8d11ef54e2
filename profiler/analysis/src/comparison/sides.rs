//! A figure on both sides, out of the recordings of each.
//!
//! The blocks of a recording do not show how much one run differs from the next. With several recordings a side, the
//! spread between them does: pooled over both sides, as a fraction of the figure, and at least the blocks' spread.
//! With one recording a side it is taken from stretches of the recordings, and is [`RUN_SPREAD`] at least.

use super::fieller::{Drift, Estimate, Pair};
use super::figures::{Recorded, STRETCHES};

/// Standard deviation between runs of the same program under the same load, as a fraction, where stretches of one
/// recording a side show a smaller one. It is an assumption, and the comparison states it.
pub const RUN_SPREAD: f64 = 0.01;

/// Stretches drift if their variance is this many times that of independent blocks: by chance they do once in five
/// times.
const DRIFTS: f64 = 1.5;

/// Recordings of one side.
pub type Side = Vec<Recorded>;

/// A figure of both sides; nothing where one of them does not have it in any recording.
pub fn pair(sides: &[Side; 2], figure: impl Fn(&Recorded) -> Option<Estimate>) -> Option<Pair> {
    let of_side = |side: &Side| -> Vec<Estimate> { side.iter().filter_map(&figure).collect() };
    let [before, after] = [of_side(&sides[0]), of_side(&sides[1])];
    if before.is_empty() || after.is_empty() {
        return None;
    }
    let spread = Spread::of(&[&before, &after]).unwrap_or_else(|| Spread::within(&before, &after));
    let [before, after] = [side(&before, &spread), side(&after, &spread)];
    let df = match spread.is_of_runs {
        true => spread.df,
        false => together(&before, &after, &spread),
    };
    // A figure that is nought everywhere has no error, and nothing to tell.
    let df = df.max(1.0);
    Some(Pair { before, after, df })
}

/// Differences between runs.
struct Spread {
    /// Variance between runs, as a fraction of the square of the mean.
    variance: f64,
    df: f64,
    /// Seen between runs; otherwise between stretches of one, and added to the error within it.
    is_of_runs: bool,
}

impl Spread {
    /// One run a side: as much as stretches of both differ.
    fn within(before: &[Estimate], after: &[Estimate]) -> Spread {
        let runs = || before.iter().chain(after);
        let seen = runs().filter(|run| run.value != 0.0);
        let drifts = seen.map(|run| run.drift.times(1.0 / run.value));
        let (between, within) = drifts.fold((0.0, 0.0), |(between, within), drift| {
            (between + drift.between, within + drift.within)
        });
        let runs = runs().count() as f64;
        let seen = match between > DRIFTS * within {
            true => (between - within) / runs,
            false => 0.0,
        };
        let assumed = RUN_SPREAD.powi(2);
        Spread {
            variance: seen.max(assumed),
            df: match seen > assumed {
                true => runs * (STRETCHES - 1) as f64,
                false => f64::INFINITY,
            },
            is_of_runs: false,
        }
    }

    /// Pooled over the sides; nothing where none has several.
    fn of(sides: &[&[Estimate]]) -> Option<Spread> {
        let (mut squares, mut df) = (0.0, 0.0);
        for runs in sides.iter().filter(|runs| runs.len() > 1) {
            let mean = mean(runs);
            df += (runs.len() - 1) as f64;
            if mean != 0.0 {
                let off = |run: &Estimate| (run.value / mean - 1.0).powi(2);
                squares += runs.iter().map(off).sum::<f64>();
            }
        }
        (df > 0.0).then(|| Spread {
            variance: squares / df,
            df,
            is_of_runs: true,
        })
    }
}

fn mean(runs: &[Estimate]) -> f64 {
    runs.iter().map(|run| run.value).sum::<f64>() / runs.len() as f64
}

/// The mean of a side's runs.
fn side(runs: &[Estimate], spread: &Spread) -> Estimate {
    let number = runs.len() as f64;
    let value = mean(runs);
    let within = runs.iter().map(|run| run.se.powi(2)).sum::<f64>() / number.powi(2);
    let between = spread.variance * value * value / number;
    let variance = match spread.is_of_runs {
        true => between.max(within),
        false => between + within,
    };
    Estimate {
        value,
        se: variance.sqrt(),
        df: runs.iter().map(|run| run.df).sum(),
        drift: Drift::default(),
    }
}

/// Degrees of freedom of a difference (Welch 1947; Satterthwaite 1946). How much stretches differ is a part of it.
fn together(before: &Estimate, after: &Estimate, spread: &Spread) -> f64 {
    let [own, other] = [before, after].map(|side| side.se.powi(2));
    let drifts = [before, after].map(|side| spread.variance * side.value.powi(2));
    let drift = drifts[0] + drifts[1];
    let each = (own - drifts[0]).powi(2) / before.df
        + (other - drifts[1]).powi(2) / after.df
        + drift * drift / spread.df;
    let df = (own + other).powi(2) / each;
    if df.is_finite() {
        df
    } else {
        before.df.min(after.df)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::block::Block;

    /// A run of this many blocks, whose mean latency is exactly this.
    fn run(mean: f64) -> Recorded {
        // Equal blocks: no error within the run.
        let block = Block {
            intervals: 10.0,
            latency_ns: 10.0 * mean,
            ..Block::default()
        };
        Recorded::new(vec![block; 10], true)
    }

    /// Before 99 and 101, after 118.8 and 121.2: between runs 1 % squared each, of 2 degrees of freedom.
    #[test]
    fn the_spread_between_runs() {
        let sides = [vec![run(99.0), run(101.0)], vec![run(118.8), run(121.2)]];
        let pair = pair(&sides, |run| Some(run.mean())).unwrap();
        assert_eq!(pair.df, 2.0);
        assert!((pair.before.value - 100.0).abs() < 1e-9);
        // sd of {0.99, 1.01} is 0.01414, and its mean has 0.01.
        assert!((pair.before.se - 1.0).abs() < 1e-6, "{}", pair.before.se);
        assert!((pair.after.se - 1.2).abs() < 1e-6);
        let [low, high] = pair.interval().unwrap();
        assert!(low > 0.1 && high < 0.3, "{low} {high}");
    }

    /// A single run a side is never surer than runs of one program are alike.
    #[test]
    fn one_run_a_side() {
        let sides = [vec![run(100.0)], vec![run(101.0)]];
        let pair = pair(&sides, |run| Some(run.mean())).unwrap();
        assert!((pair.before.se - 1.0).abs() < 1e-9);
        assert!(pair.p() > 0.4);
    }

    /// A run of four stretches with these means, each of four blocks that are 2 above and below in turn.
    fn wandering(means: [f64; 4]) -> Recorded {
        let off = [2.0, -2.0, 2.0, -2.0];
        let blocks = means.into_iter().flat_map(|mean| off.map(|off| mean + off));
        let blocks = blocks.map(|mean| Block {
            intervals: 10.0,
            latency_ns: 10.0 * mean,
            ..Block::default()
        });
        Recorded::new(blocks.collect(), true)
    }

    /// Runs of 101 and 107. That is no difference if their stretches differ by as much. (`DRIFTS`: `a_fifth_is_found`
    /// fails without it.)
    #[test]
    fn what_stretches_differ_by_runs_differ_by() {
        let p = |before, after| {
            let sides = [vec![wandering(before)], vec![wandering(after)]];
            pair(&sides, |run| Some(run.mean())).unwrap().p()
        };
        let wandering = p([100.0, 102.0, 98.0, 104.0], [108.0, 104.0, 110.0, 106.0]);
        assert!(wandering > 0.05, "{wandering}");
        let steady = p([101.0; 4], [107.0; 4]);
        assert!(steady < 0.01, "{steady}");
    }
}
