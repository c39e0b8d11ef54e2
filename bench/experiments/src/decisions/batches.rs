//! Savings of the heuristic choice of a batch: figure 4.18.

use std::hint::black_box;
use std::time::Instant;

use evenkeel_locks::contention::Rules;
use evenkeel_locks::rng::Rng;
use evenkeel_locks::{DelayFactor, Starvation};

use super::{ROUNDS, decision_ns, spread, waiters};
use crate::Error;
use crate::experiment::{Context, Experiment, Figure, Finding, Series};
use crate::simulated::throughput::BLDSF;
use crate::verdict::Claim;

/// The greatest factor that the paper has.
const PAPERS_FACTOR: f64 = 80.0;
/// Readers that wait.
const READERS: [usize; 5] = [4, 8, 10, 12, 16];
/// Sizes that the claim is about: the paper's factor is the largest that it saw.
const CLAIMED: usize = 16;

/// Figure 4.18.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-4.18",
    item: "Figure 4.18, scheduling overhead with and without the batch heuristic",
    says: "The approximation costs up to 80 times less than the exact choice of a batch, with 100 to 900 clients.",
    method: "The lock manager's decision under bLDSF with 4 to 16 waiting readers, compared with the exact choice. The exact choice takes the batch with the largest union of dependency sets over f(its size). Each set is a word of bits. The paper does not say how many readers its queues had; the exact choice is exponential in them. That the claim is made of 16 was chosen after the factors of all had been seen: it shows the direction, and not the size. The interval spans 15 rounds.",
    command: "cargo bench -p evenkeel-locks --bench decisions",
    takes: |effort| effort.seconds(2, 2),
    run,
};

fn run(context: &Context) -> Result<Finding, Error> {
    let rules = Rules {
        starvation: Starvation::None,
        ..Rules::new(BLDSF)
    };
    let mut ratios = vec![Vec::new(); READERS.len()];
    for round in 0..ROUNDS {
        for (&readers, ratios) in READERS.iter().zip(&mut ratios) {
            let sets = sets(readers);
            let begun = Instant::now();
            black_box(exact(black_box(&sets)));
            let exact_ns = begun.elapsed().as_nanos() as f64;
            ratios.push(exact_ns / decision_ns(&rules, &waiters(readers, true))?);
        }
        (context.progress)(round as f64 / ROUNDS as f64);
    }
    let (mut claims, mut points) = (Vec::new(), Vec::new());
    for (readers, mut ratios) in READERS.into_iter().zip(ratios) {
        let (middle, [least, greatest]) = spread(&mut ratios).unwrap_or_default();
        points.push((readers as f64, middle, (greatest - least) / 2.0));
        if readers == CLAIMED {
            let what = format!("exact choice over the heuristic, {readers} readers");
            claims.push(Claim::factor(
                what,
                PAPERS_FACTOR,
                middle,
                [least, greatest],
            ));
        }
    }
    let papers = READERS.map(|readers| (readers as f64, PAPERS_FACTOR, 0.0));
    let line = |name: &str, papers, points| Series {
        name: name.to_owned(),
        papers,
        points,
    };
    Ok(Finding {
        claims,
        why: "With few readers the exact choice costs no more; it doubles with each.".to_owned(),
        figure: Some(Figure {
            x: "readers".to_owned(),
            y: "exact choice over the heuristic".to_owned(),
            logarithmic: true,
            lines: vec![
                line("found", false, points),
                line("greatest", true, papers.to_vec()),
            ],
        }),
        ..Finding::default()
    })
}

/// Dependency sets that overlap: each of two to eight of sixty transactions.
fn sets(readers: usize) -> Vec<u64> {
    let mut rng = Rng::new(readers as u64);
    let set = |_| {
        let size = 2 + rng.below(7);
        (0..size).fold(0, |set, _| set | 1 << rng.below(60))
    };
    (0..readers).map(set).collect()
}

/// The batch, a bit a reader, with the greatest union of dependency sets over `f` of its size; of equals the first.
fn exact(sets: &[u64]) -> u32 {
    let factors: Vec<f64> = (0..=sets.len())
        .map(|size| DelayFactor::Log.at(size))
        .collect();
    let (mut best, mut greatest) = (0, 0.0);
    for batch in 1u32..1 << sets.len() {
        let (mut left, mut union) = (batch, 0);
        while left != 0 {
            union |= sets[left.trailing_zeros() as usize];
            left &= left - 1;
        }
        let value = f64::from(union.count_ones()) / factors[batch.count_ones() as usize];
        if value > greatest {
            (best, greatest) = (batch, value);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_batch_by_hand() {
        // Four over f(1) = 1; four and four that are the same are no more, over f(2) = 1.58.
        assert_eq!(exact(&[0b1111, 0b1111]), 0b01);
        // Eight over 1.58 is more than four.
        assert_eq!(exact(&[0b1111, 0b1111_0000]), 0b11);
        // A reader that nobody waits for is left for later.
        assert_eq!(exact(&[0b1, 0b1111_1110, 0b1111_1111]), 0b100);
    }
}
