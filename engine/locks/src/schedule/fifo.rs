//! First in, first out: the default of nearly every lock manager (dissertation section 4.5; VATS paper section 5.1,
//! there "FCFS").

use super::decision::{Decision, Schedule};
use super::group;
use crate::rng::Rng;

/// Grants the request that has waited longest and, in order of arrival, every other that conflicts with nothing ahead
/// of it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Fifo;

impl Schedule for Fifo {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        group::grant_in_order(decision.candidates(), picked);
    }
}
