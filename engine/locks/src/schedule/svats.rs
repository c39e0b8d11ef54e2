//! VATS that shares: the oldest transaction first, with everybody it can be shared with.
//!
//! As printed and implemented, VATS stops granting shared requests at the first exclusive one that is older
//! ([`super::Vats`]). A reader younger than that writer then waits for it although a reader is let in anyway. The other
//! heuristics of dissertation section 4.6.1 (MLF, MBLF, DDF) grant all shared requests once one is granted; so does
//! this. It separates what sharing gains from what dependency sets gain: see [`super::Edsf`] and [`super::Ldaf`].

use super::decision::{Decision, Schedule};
use super::group;
use crate::rng::Rng;

/// Grants the oldest transaction; if its mode can be shared, with everybody it can be shared with. Of equals the first
/// to arrive.
#[derive(Clone, Copy, Default, Debug)]
pub struct Svats;

impl Schedule for Svats {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        let oldest = group::greatest(decision, |waiter| std::cmp::Reverse(waiter.birth_ns));
        group::share_with(decision, oldest, picked);
    }
}
