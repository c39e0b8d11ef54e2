//! Variance-aware transaction scheduling: the oldest transaction first (VATS paper section 5.2, theorem 1; dissertation
//! theorem 3.1).
//!
//! Age counts from the transaction's birth, not from its arrival at this queue. The algorithm grants one lock. As in
//! the paper's implementation, every request is granted too that conflicts with no older request, granted or still
//! waiting.

use super::decision::{Decision, Schedule};
use crate::modes::{MODES, Mode};
use crate::queue::Waiter;
use crate::rng::Rng;

/// When a waiter was born, and its place in the queue: unique, the older the less.
type Birth = (u64, usize);

/// Grants the oldest transaction and, oldest first, every other that conflicts with nothing older.
#[derive(Clone, Default, Debug)]
pub struct Vats {
    granted: Vec<Birth>,
}

impl Schedule for Vats {
    fn pick(&mut self, decision: &Decision<'_>, _: &mut Rng, picked: &mut Vec<usize>) {
        // Whoever is not younger than the oldest of each mode it conflicts with conflicts with nothing older. So two
        // passes do, and only those granted are sorted, not the queue.
        let birth = |(place, waiter): (usize, &Waiter)| (waiter.birth_ns, place);
        let mut oldest: [Option<Birth>; Mode::COUNT] = [None; Mode::COUNT];
        for candidate in decision.candidates() {
            let of_mode = &mut oldest[candidate.1.mode as usize];
            let birth = birth(candidate);
            *of_mode = Some(of_mode.map_or(birth, |older| older.min(birth)));
        }
        let limits = MODES.map(|mode| {
            let rivals = mode
                .conflicts()
                .iter()
                .filter_map(|rival| oldest[rival as usize]);
            rivals.min().unwrap_or((u64::MAX, usize::MAX))
        });
        self.granted.clear();
        for candidate in decision.candidates() {
            let birth = birth(candidate);
            if birth <= limits[candidate.1.mode as usize] {
                self.granted.push(birth);
            }
        }
        self.granted.sort_unstable();
        picked.extend(self.granted.iter().map(|&(_, place)| place));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::decision::SetSizes;
    use super::super::group;
    use super::*;
    use crate::graph::{Graph, TxnMeta};
    use crate::modes::ModeSet;
    use crate::remaining::RemainingTimes;
    use crate::rng::Rng;

    proptest! {
        /// The definition: sort the queue, then grant in that order what conflicts with nothing ahead.
        #[test]
        fn grants_are_those_of_the_queue_in_the_order_of_age(
            waiters in prop::collection::vec((prop::sample::select(MODES.to_vec()), 0u64..8), 1..12),
        ) {
            let mut graph = Graph::new(false);
            let queue = graph.add_queue();
            for (id, &(mode, birth_ns)) in waiters.iter().enumerate() {
                let meta = TxnMeta { id: id as u64, birth_ns, class: 0, expected_remaining_ns: None };
                let txn = graph.add_txn(meta);
                graph.begin_wait(txn, queue, mode, false, 0);
            }
            let decision = Decision {
                graph: &graph,
                queue,
                eligible: ModeSet::of(&MODES),
                arrival_limit: u64::MAX,
                now_ns: 0,
                sizes: SetSizes::Exact,
                size_per_ns: 0.0,
                remaining: &RemainingTimes::default(),
            };
            let mut sorted: Vec<_> = decision.candidates().collect();
            sorted.sort_by_key(|&(place, waiter)| (waiter.birth_ns, place));
            let (mut expected, mut picked) = (Vec::new(), Vec::new());
            group::grant_in_order(sorted.into_iter(), &mut expected);
            Vats::default().pick(&decision, &mut Rng::new(0), &mut picked);
            prop_assert_eq!(picked, expected);
        }
    }
}
