//! Deepest dependency first (dissertation sections 4.3.1 and 4.6.1).

use super::decision::{Decision, Schedule};
use super::group;
use crate::rng::Rng;

/// Grants the transaction with the longest chain of waiters. If its mode can be shared, grants all compatible waiters
/// with it. Of equals the first to arrive.
#[derive(Clone, Copy, Default, Debug)]
pub struct Ddf;

impl Schedule for Ddf {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        let first = group::greatest(decision, |waiter| decision.graph.depth(waiter.txn));
        group::share_with(decision, first, picked);
    }
}
