//! A figure on both sides, out of the recordings of each.
//!
//! The blocks of a recording do not show how much one run differs from the next. With several recordings a side, the
//! spread between them does: pooled over both sides, as a fraction of the figure, and at least the blocks' spread.
//! With one recording a side, [`RUN_SPREAD`] is assumed.

use super::fieller::{Estimate, Pair};
use super::figures::Recorded;

/// Standard deviation between runs of the same program under the same load, as a fraction, where one recording a side does not show it. It is
/// an assumption, and the comparison states it.
pub const RUN_SPREAD: f64 = 0.01;

/// Recordings of one side.
pub type Side = Vec<Recorded>;

/// A figure of both sides; nothing where one of them does not have it in any recording.
pub fn pair(sides: &[Side; 2], figure: impl Fn(&Recorded) -> Option<Estimate>) -> Option<Pair> {
    let of_side = |side: &Side| -> Vec<Estimate> { side.iter().filter_map(&figure).collect() };
    let [before, after] = [of_side(&sides[0]), of_side(&sides[1])];
    if before.is_empty() || after.is_empty() {
        return None;
    }
    let spread = Spread::of(&[&before, &after]);
    let [before, after] = [side(&before, &spread), side(&after, &spread)];
    let df = match &spread {
        Some(spread) => spread.df,
        None => together(&before, &after),
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
}

impl Spread {
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
        })
    }
}

fn mean(runs: &[Estimate]) -> f64 {
    runs.iter().map(|run| run.value).sum::<f64>() / runs.len() as f64
}

/// The mean of a side's runs.
fn side(runs: &[Estimate], spread: &Option<Spread>) -> Estimate {
    let number = runs.len() as f64;
    let value = mean(runs);
    let within = runs.iter().map(|run| run.se.powi(2)).sum::<f64>() / number.powi(2);
    let between = match spread {
        Some(spread) => spread.variance,
        None => RUN_SPREAD.powi(2),
    };
    let between = between * value * value / number;
    let variance = match spread {
        Some(_) => between.max(within),
        None => between + within,
    };
    Estimate {
        value,
        se: variance.sqrt(),
        df: runs.iter().map(|run| run.df).sum(),
    }
}

/// Degrees of freedom of a difference (Welch 1947; Satterthwaite 1946).
fn together(before: &Estimate, after: &Estimate) -> f64 {
    let [own, other] = [before, after].map(|side| side.se.powi(2));
    let each = own * own / before.df + other * other / after.df;
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
}
