//! Variance-aware transaction scheduling: the eldest transaction first (VATS paper section 5.2, theorem 1; dissertation
//! theorem 3.1).
//!
//! Age counts from the transaction's birth, not from its arrival at this queue. The algorithm grants one lock; as in the
//! paper's implementation, everything that conflicts with no elder request, granted or still waiting, is granted too.

use super::{Decision, Schedule, group};
use crate::draws::Draws;

/// Grants the eldest transaction and, eldest first, every other that conflicts with nothing elder.
#[derive(Clone, Default, Debug)]
pub struct Vats {
    order: Vec<(u64, usize)>,
}

impl Schedule for Vats {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Draws, picked: &mut Vec<usize>) {
        // The eldest alone decides unless its mode can be shared: no need to sort for an exclusive grant.
        let age = |&(place, waiter): &(usize, &crate::queue::Waiter)| (waiter.birth_ns, place);
        let Some((place, eldest)) = decision.candidates().min_by_key(age) else {
            return;
        };
        if eldest.mode == crate::modes::Mode::X {
            picked.push(place);
            return;
        }
        self.order.clear();
        self.order.extend(
            decision
                .candidates()
                .map(|(place, waiter)| (waiter.birth_ns, place)),
        );
        self.order.sort_unstable();
        group::grant_in_order(
            self.order
                .iter()
                .map(|&(_, place)| (place, decision.waiter(place))),
            picked,
        );
    }
}
