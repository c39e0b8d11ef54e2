//! Lemma 4.4 and theorem 4.5: what sharing a lock costs, and what it costs not to know it.

use evenkeel_locks::rng::Rng;

use crate::Error;
use crate::experiment::{Context, Experiment, Figure, Finding, Series};
use crate::verdict::{Claim, Verdict};

/// Lemma 4.4.
pub const LEMMA: Experiment = Experiment {
    id: "lemma-4.4",
    item: "Lemma 4.4, the mean of the slowest of a batch grows with the batch",
    says: "For remaining times of one range and a variance above zero, the expected maximum of k + 1 is above that of k.",
    method: "Random distributions on up to five values: the expected maxima of 1 to 8 independent draws, exactly, from the distribution function.",
    command: "evenkeel experiments lemma-4.4",
    takes: |effort| effort.seconds(1, 10),
    run: lemma,
};

fn lemma(context: &Context) -> Result<Finding, Error> {
    let (mut rng, distributions) = (Rng::new(44), context.pick(1000, 10_000));
    let mut held = 0;
    for _ in 0..distributions {
        let chances = distribution(&mut rng);
        let maxima: Vec<f64> = (1..=8).map(|k| expected_maximum(&chances, k)).collect();
        held += u64::from(maxima.windows(2).all(|pair| pair[0] < pair[1]));
    }
    Ok(Finding {
        claims: vec![Claim::held(
            "distributions whose maxima grow",
            distributions,
            held,
        )],
        ..Finding::default()
    })
}

/// Chances of 1, 2, .. that add up to 1; at least two of them are above zero.
fn distribution(rng: &mut Rng) -> Vec<f64> {
    let values = 2 + rng.below(4);
    let weights: Vec<u64> = (0..values).map(|_| 1 + rng.below(20)).collect();
    let sum: u64 = weights.iter().sum();
    weights
        .iter()
        .map(|&weight| weight as f64 / sum as f64)
        .collect()
}

/// `E[max of k] = sum of P(max >= v) = sum of 1 - F(v - 1)^k` over the values 1, 2, ...
fn expected_maximum(chances: &[f64], k: i32) -> f64 {
    let mut below = 0.0f64;
    let mut expected = 0.0;
    for chance in chances {
        expected += 1.0 - below.powi(k);
        below += chance;
    }
    expected
}

/// Theorem 4.5.
pub const UNKNOWN: Experiment = Experiment {
    id: "theorem-4.5",
    item: "Theorem 4.5, the delay factor must be known",
    says: "For every algorithm that does not use f(k) there is one that does and is better by an unbounded factor for some f.",
    method: "m readers of one object with dependency sets in proportion 1, 1/2, .. 1/m. Every division into batches (in this order, which is best for given sizes) is compared with the best for f(k) = 1 and for f(k) = k. The smallest of the worst ratios must grow as m is doubled.",
    command: "evenkeel experiments theorem-4.5",
    takes: |effort| effort.seconds(1, 10),
    run: unknown,
};

/// Numbers of readers, each twice the one before.
const DOUBLINGS: [u32; 3] = [4, 8, 16];

fn unknown(context: &Context) -> Result<Finding, Error> {
    let greatest = context.pick(16, 20);
    let mut points = Vec::new();
    for readers in 2..=greatest {
        points.push((f64::from(readers), least_regret(readers), 0.0));
        (context.progress)(f64::from(readers) / f64::from(greatest));
    }
    let ratios = DOUBLINGS.map(least_regret);
    let growth = ratios[ratios.len() - 1] / ratios[0];
    Ok(Finding {
        claims: vec![Claim {
            what: "ratio with 16 readers over that with 4 (the paper: without bound)".to_owned(),
            paper: 1.0,
            found: growth,
            low: growth,
            high: growth,
            // No finite number of readers shows that there is no bound.
            verdict: if ratios.is_sorted_by(|a, b| a < b) {
                Verdict::Direction
            } else {
                Verdict::Differs
            },
        }],
        why: "The ratio grows with every doubling from 4 readers on, though not with every single reader, as batches are whole. That it has \
              no bound is beyond what finite instances can show."
            .to_owned(),
        figure: Some(Figure {
            x: "readers".to_owned(),
            y: "least worst ratio without knowing f".to_owned(),
            logarithmic: false,
            lines: vec![Series {
                name: "found".to_owned(),
                papers: false,
                points,
            }],
        }),
        ..Finding::default()
    })
}

/// Over all ways to cut `readers` into batches, the smallest of the larger of the two ratios to the optima for f = 1
/// and f = k.
fn least_regret(readers: u32) -> f64 {
    let waits: Vec<[f64; 2]> = (0..1u32 << (readers - 1))
        .map(|cuts| both_waits(readers, cuts))
        .collect();
    let best = [0, 1].map(|f| {
        waits
            .iter()
            .map(|wait| wait[f])
            .fold(f64::INFINITY, f64::min)
    });
    let regrets = waits
        .iter()
        .map(|wait| (wait[0] / best[0]).max(wait[1] / best[1]));
    regrets.fold(f64::INFINITY, f64::min)
}

/// Total waits with f = 1 and with f = k, cut into batches behind each reader whose bit is set.
fn both_waits(readers: u32, cuts: u32) -> [f64; 2] {
    let (mut passed, mut waits) = ([0.0, 0.0], [0.0, 0.0]);
    let (mut batch, mut sizes) = (0.0, 0.0);
    for reader in 1..=readers {
        batch += 1.0;
        sizes += 1.0 / f64::from(reader);
        if reader == readers || cuts & (1 << (reader - 1)) != 0 {
            passed = [passed[0] + 1.0, passed[1] + batch];
            waits = [waits[0] + passed[0] * sizes, waits[1] + passed[1] * sizes];
            (batch, sizes) = (0.0, 0.0);
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_maxima_by_hand() {
        // A fair coin of 1 and 2: means of 1.5, 1.75, 1.875.
        let coin = [0.5, 0.5];
        assert_eq!(
            [1, 2, 3].map(|k| expected_maximum(&coin, k)),
            [1.5, 1.75, 1.875]
        );
        // Without variance nothing grows.
        assert_eq!(expected_maximum(&[1.0], 5), 1.0);
    }

    #[test]
    fn waits_of_two_readers_by_hand() {
        // Sets of 1 and 1/2. At once: 1.5 if sharing is free, 3 if it is not; one after the other: 1 + 2/2 in both.
        assert_eq!(both_waits(2, 0), [1.5, 3.0]);
        assert_eq!(both_waits(2, 1), [2.0, 2.0]);
        // So whatever is done is wrong by a third or a half.
        assert!((least_regret(2) - 4.0 / 3.0).abs() < 1e-12);
    }
}
