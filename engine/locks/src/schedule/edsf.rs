//! Oldest dependency set first: VATS that counts the waiters of a transaction.
//!
//! VATS (VATS paper section 5.2) grants the oldest waiter, for its own age. But a young transaction that blocks an
//! old one is as urgent as the old one: until it ends, the old one cannot. So the age of a request is that of the
//! oldest member of its dependency set. A lock holder inherits the priority of its waiters alike (Sha, Rajkumar and
//! Lehoczky, "Priority Inheritance Protocols", IEEE Transactions on Computers 1990). This is also the limit of
//! [`super::Ldaf`] for high powers of the age.
//!
//! Nobody starves: a waiter is only ever passed over for a dependency set with an older member, and the older are
//! finitely many.

use super::decision::{Decision, Schedule};
use super::group;
use crate::rng::Rng;

/// Grants one exclusive request or all shared ones, whichever has the oldest transaction in its dependency set. Of
/// equals the shared requests, then the first to arrive.
#[derive(Clone, Copy, Default, Debug)]
pub struct Edsf;

impl Schedule for Edsf {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        let eldest_ns = |places: &[usize]| {
            let mut eldest_ns = 0;
            decision.for_dependent_ages(places, |age_ns| eldest_ns = eldest_ns.max(age_ns));
            eldest_ns as f64
        };
        group::pick_heaviest(decision, eldest_ns, picked);
    }
}
