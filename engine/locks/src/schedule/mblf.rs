//! Most blocking locks first (dissertation sections 4.3.1 and 4.6.1).

use super::decision::{Decision, Schedule};
use super::group;
use crate::rng::Rng;

/// Grants the transaction that holds the most locks somebody waits for; if its mode can be shared, with everybody it can
/// be shared with. Of equals the first to arrive.
#[derive(Clone, Copy, Default, Debug)]
pub struct Mblf;

impl Schedule for Mblf {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        let first = group::greatest(decision, |waiter| decision.graph.blocking_locks(waiter.txn));
        group::share_with(decision, first, picked);
    }
}
