//! A random waiter: the yardstick for how much of a schedule's effect is mere re-ordering.

use super::decision::{Decision, Schedule};
use super::group;
use crate::draws::Draws;

/// Grants a waiter drawn uniformly; if its mode can be shared, with everybody it can be shared with.
#[derive(Clone, Copy, Default, Debug)]
pub struct Random;

impl Schedule for Random {
    fn pick(&mut self, decision: &Decision<'_>, draws: &mut Draws, picked: &mut Vec<usize>) {
        let drawn = draws.below(decision.candidates().count() as u64) as usize;
        let (first, _) = decision
            .candidates()
            .nth(drawn)
            .expect("a number below the count");
        group::share_with(decision, first, picked);
    }
}
