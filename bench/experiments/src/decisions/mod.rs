//! Cost of a decision of the lock manager. These are times of one thread that does nothing else; medians over rounds,
//! in which all variants are timed in turn.

pub mod batches;
pub mod overhead;

use std::hint::black_box;
use std::time::Instant;

use evenkeel_locks::Mode;
use evenkeel_locks::contention::Rules;
use evenkeel_locks::rng::Rng;

use crate::Error;
use crate::theorems::one_object::{Object, Waiter};

/// Decisions timed together, so that reading the clock costs little.
const TOGETHER: usize = 64;
/// Rounds.
const ROUNDS: usize = 15;

/// This many waiters, every other one a reader, or all; births are in no order.
fn waiters(count: usize, only_readers: bool) -> Vec<Waiter> {
    let mut rng = Rng::new(count as u64);
    (0..count)
        .map(|at| Waiter {
            mode: if only_readers || at % 2 == 1 {
                Mode::S
            } else {
                Mode::X
            },
            birth_ns: 1 + rng.below(1009),
            size: 1 + rng.below(6),
        })
        .collect()
}

/// Time of one decision under these rules, ns, of some together.
fn decision_ns(rules: &Rules, waiters: &[Waiter]) -> Result<f64, Error> {
    let objects: Result<Vec<Object>, Error> = (0..TOGETHER)
        .map(|_| Object::new(*rules, waiters))
        .collect();
    let mut objects = objects?;
    let begun = Instant::now();
    for object in &mut objects {
        object.free();
    }
    let took = begun.elapsed();
    black_box(&objects);
    Ok(took.as_nanos() as f64 / TOGETHER as f64)
}

/// The median of some numbers, the smallest and the greatest.
fn spread(numbers: &mut [f64]) -> Option<(f64, [f64; 2])> {
    numbers.sort_unstable_by(f64::total_cmp);
    let (least, greatest) = (*numbers.first()?, *numbers.last()?);
    Some((numbers[numbers.len() / 2], [least, greatest]))
}

#[cfg(test)]
mod tests {
    use evenkeel_locks::ScheduleKind;

    use super::*;

    #[test]
    fn a_decision_is_timed_under_every_schedule() {
        for schedule in ScheduleKind::ALL {
            let ns = decision_ns(&Rules::new(schedule), &waiters(5, false)).expect("a time");
            assert!(ns > 0.0, "{}", schedule.name());
        }
    }

    #[test]
    fn the_middle_and_both_ends() {
        assert_eq!(spread(&mut [3.0, 1.0, 9.0]), Some((3.0, [1.0, 9.0])));
        assert_eq!(spread(&mut []), None);
    }
}
