//! Heuristics that pick one transaction by a figure of its own and, if its mode can be shared, everybody it can be shared with
//! (dissertation sections 4.3.1 and 4.6.1). Of equals the first to arrive is picked.

use super::decision::{Decision, Schedule};
use super::group;
use crate::rng::Rng;

/// Most locks first: grants the transaction that holds the most locks.
#[derive(Clone, Copy, Default, Debug)]
pub struct Mlf;

impl Schedule for Mlf {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        let first = group::greatest(decision, |waiter| decision.graph.txn(waiter.txn).locks_held);
        group::share_with(decision, first, picked);
    }
}

/// Most blocking locks first: grants the transaction that holds the most locks somebody waits for.
#[derive(Clone, Copy, Default, Debug)]
pub struct Mblf;

impl Schedule for Mblf {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        let first = group::greatest(decision, |waiter| decision.graph.blocking_locks(waiter.txn));
        group::share_with(decision, first, picked);
    }
}

/// Deepest dependency first: grants the transaction with the longest chain of waiters.
#[derive(Clone, Copy, Default, Debug)]
pub struct Ddf;

impl Schedule for Ddf {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        let first = group::greatest(decision, |waiter| decision.graph.depth(waiter.txn));
        group::share_with(decision, first, picked);
    }
}

/// VATS that shares: grants the oldest transaction.
///
/// As printed and implemented, VATS stops granting shared requests at the first exclusive one that is older
/// ([`super::Vats`]). A reader younger than that writer then waits for it although a reader is let in anyway. This schedule
/// separates what sharing gains from what dependency sets gain: see [`super::Edsf`] and [`super::Ldaf`].
#[derive(Clone, Copy, Default, Debug)]
pub struct Svats;

impl Schedule for Svats {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        let oldest = group::greatest(decision, |waiter| std::cmp::Reverse(waiter.birth_ns));
        group::share_with(decision, oldest, picked);
    }
}

/// A waiter drawn uniformly: the yardstick for how much of a schedule's effect is mere re-ordering.
///
/// This is not the VATS paper's RS ([`super::Rs`]), which grants from the head of a queue sorted at random to the first conflict.
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
