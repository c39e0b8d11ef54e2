//! Randomised scheduling (RS): "similar to VATS, except that transactions are sorted according to a random order rather than by
//! age" (VATS paper section 7.2; dissertation section 3.5.2).
//!
//! VATS is compared with this schedule there, to separate the effect of the order by age from that of re-ordering
//! alone. The order is drawn again at each decision.

use super::decision::{Decision, Schedule};
use super::group;
use crate::rng::Rng;

/// Grants, in a random order, every waiter that conflicts with none ahead of it.
#[derive(Clone, Default, Debug)]
pub struct Rs {
    order: Vec<usize>,
}

impl Schedule for Rs {
    fn pick(&mut self, decision: &Decision<'_>, rng: &mut Rng, picked: &mut Vec<usize>) {
        self.order.clear();
        self.order
            .extend(decision.candidates().map(|(place, _)| place));
        // Fisher and Yates.
        for at in (1..self.order.len()).rev() {
            self.order.swap(at, rng.below(at as u64 + 1) as usize);
        }
        let order = self.order.iter();
        group::grant_in_order(order.map(|&place| (place, decision.waiter(place))), picked);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::decision::SetSizes;
    use super::*;
    use crate::graph::{Graph, TxnMeta};
    use crate::modes::{MODES, Mode, ModeSet};
    use crate::remaining::RemainingTimes;

    /// How often each set of places was granted out of this queue.
    fn granted(modes: &[Mode], decisions: u64) -> BTreeMap<Vec<usize>, u64> {
        let mut graph = Graph::new(false);
        let queue = graph.add_queue();
        for (id, &mode) in modes.iter().enumerate() {
            let txn = graph.add_txn(TxnMeta {
                id: id as u64,
                birth_ns: id as u64,
                class: 0,
                expected_remaining_ns: None,
            });
            graph.begin_wait(txn, queue, mode, false, 0);
        }
        let remaining = RemainingTimes::default();
        let decision = Decision {
            graph: &graph,
            queue,
            eligible: ModeSet::of(&MODES),
            arrival_limit: u64::MAX,
            now_ns: 0,
            sizes: SetSizes::Exact,
            size_per_ns: 0.0,
            remaining: &remaining,
        };
        let (mut schedule, mut rng) = (Rs::default(), Rng::new(17));
        let mut counts = BTreeMap::new();
        for _ in 0..decisions {
            let mut picked = Vec::new();
            schedule.pick(&decision, &mut rng, &mut picked);
            picked.sort_unstable();
            *counts.entry(picked).or_default() += 1;
        }
        counts
    }

    /// Two readers and a writer have six orders. The writer is first in a third of them. In another third it is
    /// between the readers, so one reader is granted. In the last third both are.
    #[test]
    fn readers_behind_a_writer_stay() {
        const DECISIONS: u64 = 6000;
        let counts = granted(&[Mode::S, Mode::X, Mode::S], DECISIONS);
        let expected = [(vec![0], 6), (vec![0, 2], 3), (vec![1], 3), (vec![2], 6)];
        assert!(
            counts.keys().eq(expected.iter().map(|(picked, _)| picked)),
            "{counts:?}"
        );
        for (picked, part) in expected {
            let (count, mean) = (counts[&picked] as f64, DECISIONS as f64 / f64::from(part));
            // Six standard deviations.
            let deviation = (mean * (1.0 - 1.0 / f64::from(part))).sqrt();
            assert!((count - mean).abs() < 6.0 * deviation, "{counts:?}");
        }
    }

    #[test]
    fn readers_among_themselves_are_granted_together() {
        let counts = granted(&[Mode::S, Mode::IS, Mode::S], 20);
        assert_eq!(
            counts.into_iter().collect::<Vec<_>>(),
            [(vec![0, 1, 2], 20)]
        );
    }
}
