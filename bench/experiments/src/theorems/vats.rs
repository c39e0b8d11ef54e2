//! Theorem 3.1: VATS at one object, against every scheduler.

use evenkeel_locks::rng::Rng;
use evenkeel_locks::{Mode, ScheduleKind};

use super::one_object::{Waiter, granted};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};
use crate::verdict::Claim;

/// Theorem 3.1.
pub const EXPERIMENT: Experiment = Experiment {
    id: "theorem-3.1",
    item: "Theorem 3.1 (theorem 1 of the SIGMOD 2017 paper), VATS is optimal",
    says: "With exclusive locks, and independent remaining times of one distribution, VATS has the smallest expected Lp norm of latencies for every p >= 1.",
    method: "Random ages at one object, granted by the lock manager's code and in every order. The expectation is over all combinations of two equally likely remaining times, for p = 1, 2 and 4. (With arrivals over time, and with decisions that look at what has happened, it is a test of engine/locks, which also shows that idling can win.)",
    command: "cargo test -p evenkeel-locks --test optimality",
    takes: |effort| effort.seconds(1, 10),
    run,
};

/// Equally likely remaining times.
const REMAINING: [f64; 2] = [1.0, 6.0];

fn run(context: &Context) -> Result<Finding, Error> {
    let (mut rng, instances) = (Rng::new(2017), context.pick(60, 600));
    let (mut tried, mut held) = (0, 0);
    for at in 0..instances {
        let count = 2 + rng.below(4);
        let waiters: Vec<Waiter> = (0..count)
            .map(|_| Waiter {
                mode: Mode::X,
                birth_ns: 1 + rng.below(30),
                size: 1,
            })
            .collect();
        let chosen: Vec<usize> = granted(ScheduleKind::Vats, &waiters)?.concat();
        for p in [1.0, 2.0, 4.0] {
            let own = expected_norm(&waiters, &chosen, p);
            let mut best = f64::INFINITY;
            let mut order: Vec<usize> = (0..waiters.len()).collect();
            permutations(&mut order, 0, &mut |order| {
                best = best.min(expected_norm(&waiters, order, p));
            });
            tried += 1;
            held += u64::from(own <= best * (1.0 + 1e-9));
        }
        (context.progress)(at as f64 / instances as f64);
    }
    Ok(Finding {
        claims: vec![Claim::held(
            "instances in which no order is better",
            tried,
            held,
        )],
        ..Finding::default()
    })
}

/// The expected `Lp` norm of the latencies if the object is granted in this order from time 31 on.
fn expected_norm(waiters: &[Waiter], order: &[usize], p: f64) -> f64 {
    let combinations = 1u32 << order.len();
    let norm = |combination: u32| {
        let (mut now, mut sum) = (31.0, 0.0);
        for (place, &at) in order.iter().enumerate() {
            now += REMAINING[(combination >> place & 1) as usize];
            sum += f64::powf(now - waiters[at].birth_ns as f64, p);
        }
        sum.powf(1.0 / p)
    };
    (0..combinations).map(norm).sum::<f64>() / f64::from(combinations)
}

/// All orders of `items` from `fixed` on.
fn permutations(items: &mut Vec<usize>, fixed: usize, visit: &mut impl FnMut(&[usize])) {
    if fixed == items.len() {
        return visit(items);
    }
    for other in fixed..items.len() {
        items.swap(fixed, other);
        permutations(items, fixed + 1, visit);
        items.swap(fixed, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_are_visited_once() {
        let mut seen = std::collections::BTreeSet::new();
        permutations(&mut vec![0, 1, 2, 3], 0, &mut |order| {
            assert!(seen.insert(order.to_vec()));
        });
        assert_eq!(seen.len(), 24);
    }

    #[test]
    fn a_norm_by_hand() {
        // One waiter of age 30: latencies of 31 and 36, each with half a chance.
        let one = [Waiter {
            mode: Mode::X,
            birth_ns: 1,
            size: 1,
        }];
        assert_eq!(expected_norm(&one, &[0], 2.0), 33.5);
    }
}
