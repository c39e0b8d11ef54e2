//! A random waiter: the yardstick for how much of a schedule's effect is mere re-ordering.
//!
//! This is not the VATS paper's RS ([`rs`](super::rs)), which grants from the head of a queue sorted at random to the
//! first conflict. Here a drawn reader takes all readers with it, as in the contention-aware schedules.

use super::decision::{Decision, Schedule};
use super::group;
use crate::rng::Rng;

/// Grants a waiter drawn uniformly; if its mode can be shared, with everybody it can be shared with.
#[derive(Clone, Copy, Default, Debug)]
pub struct Random;

impl Schedule for Random {
    fn pick(&mut self, decision: &Decision<'_>, rng: &mut Rng, picked: &mut Vec<usize>) {
        let drawn = rng.below(decision.candidates().count() as u64) as usize;
        let (first, _) = decision
            .candidates()
            .nth(drawn)
            .expect("a number below the count");
        group::share_with(decision, first, picked);
    }
}
