//! Theorems 4.2, 4.3 and 4.6: LDSF and bLDSF at one object, against everything that could have been done.

use evenkeel_locks::rng::Rng;
use evenkeel_locks::{DelayFactor, Mode, ScheduleKind};

use super::one_object::{Waiter, drawn, granted, least_wait, total_wait};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};
use crate::verdict::Claim;

/// Waiters of an instance at most: all orders of their subsets are tried.
const WAITERS_MAX: u64 = 5;

/// Theorem 4.2.
pub const OPTIMAL: Experiment = Experiment {
    id: "theorem-4.2",
    item: "Theorem 4.2, LDSF is optimal with exclusive locks only",
    says: "When there are only exclusive locks LDSF minimises the expected latency.",
    method: "Random dependency sets at one object, granted by the lock manager's code and by every order there is (the whole-system version is a test of engine/locks).",
    command: "cargo test -p evenkeel-locks --test optimality",
    takes: |effort| effort.seconds(1, 10),
    run: optimal,
};

fn optimal(context: &Context) -> Result<Finding, Error> {
    let (mut rng, tries) = (Rng::new(42), context.pick(300, 3000));
    let one = |_: usize| 1.0;
    let mut held = 0;
    for at in 0..tries {
        let waiters = drawn(&mut rng, WAITERS_MAX, 0);
        let chosen = total_wait(&waiters, &granted(ScheduleKind::Ldsf, &waiters)?, one);
        held += u64::from(chosen <= least_wait(&waiters, false, &one) * (1.0 + 1e-9));
        (context.progress)(at as f64 / tries as f64);
    }
    Ok(Finding {
        claims: vec![Claim::held(
            "instances in which no order is better",
            tries,
            held,
        )],
        ..Finding::default()
    })
}

/// Theorem 4.3.
pub const APPROXIMATE: Experiment = Experiment {
    id: "theorem-4.3",
    item: "Theorem 4.3, LDSF is a (c u)-approximation with shared locks",
    says: "Among schedulers that grant all shared locks at once, LDSF's expected latency is at most c u times the optimum. A transaction has c critical objects, and an object u readers.",
    method: "Random readers and writers at one object (c = 1), with exponential remaining times: a batch of k takes 1 + 1/2 + .. + 1/k. The largest ratio to the best order, over the bound u, must not exceed 1.",
    command: "evenkeel experiments theorem-4.3",
    takes: |effort| effort.seconds(1, 10),
    run: approximate,
};

fn approximate(context: &Context) -> Result<Finding, Error> {
    greatest(context, ScheduleKind::Ldsf, true, |readers| readers)
}

/// Theorem 4.6.
pub const BATCHED: Experiment = Experiment {
    id: "theorem-4.6",
    item: "Theorem 4.6, bLDSF is an h-approximation",
    says: "bLDSF's expected wait is at most h = c v² f(v) times the optimum of all schedulers, with v readers an object.",
    method: "As for theorem 4.3, against every way to grant readers in batches; f(k) = log2(1 + k), bLDSF's own. The greatest ratio over the bound must not exceed 1.",
    command: "evenkeel experiments theorem-4.6",
    takes: |effort| effort.seconds(1, 10),
    run: batched,
};

fn batched(context: &Context) -> Result<Finding, Error> {
    let bound = |readers: f64| readers * readers * (1.0 + readers).log2();
    greatest(context, ScheduleKind::Bldsf(DelayFactor::Log), false, bound)
}

fn harmonic(size: usize) -> f64 {
    (1..=size).map(|i| 1.0 / i as f64).sum()
}

fn logarithmic(size: usize) -> f64 {
    (1.0 + size as f64).log2()
}

/// The largest ratio of a schedule's wait to the smallest one, and over `bound` of the number of readers.
fn greatest(
    context: &Context,
    schedule: ScheduleKind,
    all_shared: bool,
    bound: impl Fn(f64) -> f64,
) -> Result<Finding, Error> {
    let delay = if all_shared { harmonic } else { logarithmic };
    let (mut rng, tries) = (Rng::new(43), context.pick(200, 2000));
    let (mut ratio_max, mut part_max) = (0.0f64, 0.0f64);
    for at in 0..tries {
        let waiters = drawn(&mut rng, WAITERS_MAX, 2);
        let chosen = total_wait(&waiters, &granted(schedule, &waiters)?, delay);
        let ratio = chosen / least_wait(&waiters, all_shared, &delay);
        ratio_max = ratio_max.max(ratio);
        part_max = part_max.max(ratio / bound(readers(&waiters)).max(1.0));
        (context.progress)(f64::from(at) / f64::from(tries));
    }
    Ok(Finding {
        claims: vec![Claim::at_most(
            "greatest ratio, as a part of the proved bound",
            1.0,
            part_max,
        )],
        why: format!(
            "The greatest ratio to the optimum over {tries} instances is {ratio_max:.3}: far less than what is proved."
        ),
        ..Finding::default()
    })
}

fn readers(waiters: &[Waiter]) -> f64 {
    waiters
        .iter()
        .filter(|waiter| waiter.mode == Mode::S)
        .count() as f64
}
