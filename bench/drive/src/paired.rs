//! Statistics of paired rounds: intervals of ratios, and whether a configuration differs from the baseline, which is
//! measured twice.
//!
//! **Intervals** are of the median ratio, by the percentile bootstrap over rounds (Efron and Tibshirani, "An
//! Introduction to the Bootstrap", 1993, chapter 13): rounds are independent, values within a round are not.
//!
//! **Differences** are decided by a separate test, because an interval from few rounds is too narrow, and among many
//! comparisons a few look like effects. Every round measures the baseline twice, in random order. If a configuration
//! equals the baseline, the three labels of a round could be exchanged. The statistic is the mean over rounds of the
//! logarithm of the configuration's value, less the mean of the baseline's two. It is compared with its values for
//! all 3^rounds exchanges. The metrics of a configuration are exchanged together, and the largest of their
//! standardised statistics decides (single-step maxT, Westfall and Young, "Resampling-Based Multiple Testing", 1993,
//! section 2.6). The level is divided by the number of configurations (Bonferroni). So the chance that a table of
//! equal configurations claims any difference is at most [`LEVEL`].

use evenkeel_locks::rng::Rng;

/// Chance that anything is told apart where nothing differs.
pub const LEVEL: f64 = 0.05;
/// Confidence of an interval.
const CONFIDENCE: f64 = 0.95;
/// Resamples of a bootstrap.
const RESAMPLES: usize = 10_000;
/// Ways to exchange labels that are tried: all if they are no more.
const EXCHANGES_MAX: u64 = 20_000;
const LABELS: u64 = 3;

/// The interval of the median of `values`, one a round; none of none.
pub fn median_interval(values: &[f64], seed: u64) -> Option<[f64; 2]> {
    if values.is_empty() {
        return None;
    }
    let (mut rng, mut sample) = (Rng::new(seed), values.to_vec());
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let count = values.len() as u64;
            sample.fill_with(|| values[rng.below(count) as usize]);
            median(&mut sample)
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    let tail = ((1.0 - CONFIDENCE) / 2.0 * RESAMPLES as f64) as usize;
    Some([medians[tail], medians[RESAMPLES - 1 - tail]])
}

/// The middle one, or the mean of the two in the middle, of some values, which it sorts.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        (values[middle - 1] + values[middle]) / 2.0
    } else {
        values[middle]
    }
}

/// A metric in one round: of the configuration, of the baseline, and of the baseline again.
pub type Triple = [f64; LABELS as usize];

/// For each metric the chance that equal configurations would differ so much in it or in any other, given its rounds: `metrics[m][r]`.
/// None for a metric with a value that is not above zero. All metrics have the same rounds.
pub fn chances(metrics: &[Vec<Triple>], seed: u64) -> Vec<Option<f64>> {
    let logarithms: Vec<Option<Vec<Triple>>> = metrics
        .iter()
        .map(|rounds| {
            let usable = |value: &f64| value.is_finite() && *value > 0.0;
            let all = !rounds.is_empty() && rounds.iter().flatten().all(usable);
            all.then(|| rounds.iter().map(|round| round.map(f64::ln)).collect())
        })
        .collect();
    let present: Vec<&Vec<Triple>> = logarithms.iter().flatten().collect();
    let mut found = among(&present, seed).into_iter();
    logarithms
        .iter()
        .map(|metric| metric.as_ref().and_then(|_| found.next()))
        .collect()
}

/// The chances of metrics whose logarithms these are.
fn among(metrics: &[&Vec<Triple>], seed: u64) -> Vec<f64> {
    let Some(rounds) = metrics.first().map(|metric| metric.len()) else {
        return Vec::new();
    };
    // What a round contributes, by which of its three runs is taken for the configuration's.
    let contributions: Vec<Vec<Triple>> = metrics
        .iter()
        .map(|rounds| {
            let contribution = |round: &Triple| {
                let sum: f64 = round.iter().sum();
                round.map(|value| value - (sum - value) / 2.0)
            };
            rounds.iter().map(contribution).collect()
        })
        .collect();
    // Under exchange a round's contributions are equally likely and sum to zero: the variance of the statistic is exact.
    let deviations: Vec<f64> = contributions
        .iter()
        .map(|rounds| {
            let squares: f64 = rounds.iter().flatten().map(|c| c * c).sum();
            (squares / LABELS as f64).sqrt()
        })
        .collect();
    let standardised = |metric: usize, labels: &[usize]| -> f64 {
        let picked = contributions[metric].iter().zip(labels);
        let statistic: f64 = picked.map(|(round, &label)| round[label]).sum();
        if deviations[metric] > 0.0 {
            statistic.abs() / deviations[metric]
        } else {
            0.0
        }
    };
    let own = vec![0; rounds];
    let observed: Vec<f64> = (0..metrics.len())
        .map(|metric| standardised(metric, &own))
        .collect();
    let (mut reached, mut tried) = (vec![0u64; metrics.len()], 0u64);
    exchanges(rounds, seed, |labels| {
        let greatest = (0..metrics.len())
            .map(|metric| standardised(metric, labels))
            .fold(0.0, f64::max);
        tried += 1;
        for (count, &observed) in reached.iter_mut().zip(&observed) {
            // The same sum in another order may differ in the last bits.
            *count += u64::from(greatest >= observed * (1.0 - 1e-9));
        }
    });
    reached
        .iter()
        .map(|&count| count as f64 / tried as f64)
        .collect()
}

/// All ways to say which run of each round is the configuration's, or a sample of them that contains the way it was.
fn exchanges(rounds: usize, seed: u64, mut with: impl FnMut(&[usize])) {
    let ways = LABELS.checked_pow(rounds as u32);
    let mut labels = vec![0; rounds];
    if let Some(ways) = ways.filter(|&ways| ways <= EXCHANGES_MAX) {
        for way in 0..ways {
            let mut rest = way;
            for label in &mut labels {
                *label = (rest % LABELS) as usize;
                rest /= LABELS;
            }
            with(&labels);
        }
        return;
    }
    with(&labels);
    let mut rng = Rng::new(seed);
    for _ in 1..EXCHANGES_MAX {
        labels.fill_with(|| rng.below(LABELS) as usize);
        with(&labels);
    }
}

/// Rounds below which no difference of any of the `configurations` can be claimed: even the most extreme exchange
/// would not be rare enough.
pub(crate) fn rounds_needed(configurations: usize) -> u32 {
    let ways = configurations.max(1) as f64 / LEVEL;
    (1..)
        .find(|&rounds| (LABELS as f64).powi(rounds) >= ways)
        .unwrap_or(1) as u32
}

#[cfg(test)]
mod tests {
    use evenkeel_locks::rng::Rng;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_chance_of_the_most_extreme_exchange_by_hand() {
        // Four rounds; the configuration takes half of the baseline's time in each, whose two runs are alike. Contributions are
        // -ln 2 for the right label and +ln 2 / 2 for the others: no other of 81 ways reaches the right one's statistic.
        let rounds = vec![[1.0, 2.0, 2.0]; 4];
        assert_eq!(chances(&[rounds], 1), [Some(1.0 / 81.0)]);
    }

    #[test]
    fn one_round_of_two_by_hand() {
        // Contributions a: -1, .5, .5 and b: -1, .5, .5 in units of ln 2. The sums of the nine ways: -2 once, -.5 four times, 1
        // four times; a statistic of 1 in size is reached by five.
        let rounds = vec![[1.0, 2.0, 2.0], [1.0, 2.0, 2.0]];
        assert_eq!(chances(&[rounds], 1), [Some(1.0 / 9.0)]);
        let middle = vec![[2.0, 1.0, 2.0], [2.0, 2.0, 1.0]];
        assert_eq!(chances(&[middle], 1), [Some(5.0 / 9.0)]);
    }

    #[test]
    fn several_metrics_are_judged_by_the_greatest_of_them() {
        let clear = vec![[1.0, 2.0, 2.0]; 4];
        let unclear = vec![
            [1.0, 0.9, 1.2],
            [1.0, 1.1, 1.0],
            [1.0, 0.8, 0.9],
            [1.0, 1.3, 1.1],
        ];
        let [both_clear, both_unclear] = chances(&[clear, unclear.clone()], 1)[..] else {
            panic!("two");
        };
        let alone = chances(&[unclear], 1)[0];
        assert_eq!(both_clear, Some(1.0 / 81.0));
        assert!(both_unclear >= alone, "{both_unclear:?} {alone:?}");
    }

    #[test]
    fn values_of_zero_or_below_have_no_logarithm() {
        let (good, bad) = (vec![[1.0, 2.0, 2.0]; 4], vec![[0.0, 2.0, 2.0]; 4]);
        assert_eq!(chances(&[bad, good], 1), [None, Some(1.0 / 81.0)]);
        assert_eq!(chances(&[Vec::new()], 1), [None]);
    }

    #[test]
    fn rounds_that_are_needed() {
        // 1 in 3^3 = 27 is below 1 in 20; four configurations need 1 in 80.
        assert_eq!(
            (rounds_needed(1), rounds_needed(4), rounds_needed(5)),
            (3, 4, 5)
        );
    }

    #[test]
    fn equal_configurations_are_seldom_told_apart() {
        // 400 tables of one configuration with three metrics, 6 rounds, all equal but for noise: at most 5 % are told apart. Of a
        // binomial with p = 0.05 fewer than 40 of 400 but in one case of 100 000.
        let mut rng = Rng::new(7);
        let mut value = || 1.0 + rng.below(1 << 20) as f64 / (1 << 20) as f64;
        let false_positives = (0..400)
            .filter(|_| {
                let metrics: Vec<Vec<Triple>> = (0..3)
                    .map(|_| (0..6).map(|_| [value(), value(), value()]).collect())
                    .collect();
                chances(&metrics, 1)
                    .iter()
                    .flatten()
                    .any(|&chance| chance <= LEVEL)
            })
            .count();
        assert!(false_positives < 40, "{false_positives}");
        assert!(
            false_positives > 2,
            "a test that never tells anything apart is none: {false_positives}"
        );
    }

    #[test]
    fn an_interval_of_equal_values_is_that_value_and_of_few_their_ends() {
        assert_eq!(median_interval(&[2.0; 5], 1), Some([2.0, 2.0]));
        // A resample of five has its median at an end with a chance of 5.8 %: more than 2.5 %.
        assert_eq!(
            median_interval(&[3.0, 1.0, 2.0, 5.0, 4.0], 1),
            Some([1.0, 5.0])
        );
        assert_eq!(median_interval(&[], 1), None);
    }

    proptest! {
        #[test]
        fn an_interval_holds_the_median_and_lies_within_the_values(values in prop::collection::vec(0.1f64..10.0, 1..12)) {
            let [low, high] = median_interval(&values, 1).expect("values");
            let mut sorted = values.clone();
            let middle = median(&mut sorted);
            prop_assert!(low <= middle && middle <= high);
            prop_assert!(sorted[0] <= low && high <= sorted[sorted.len() - 1]);
        }

        #[test]
        fn scaling_all_runs_of_a_round_changes_no_chance(
            rounds in prop::collection::vec([0.1f64..10.0, 0.1f64..10.0, 0.1f64..10.0], 1..6),
            factor in 0.1f64..10.0,
        ) {
            let mut scaled = rounds.clone();
            scaled[0] = scaled[0].map(|value| value * factor);
            prop_assert_eq!(chances(&[rounds], 1), chances(&[scaled], 1));
        }
    }
}
