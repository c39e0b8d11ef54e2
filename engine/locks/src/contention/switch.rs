//! Changing the rules while transactions hold and wait.

use super::outcome::Effects;
use super::rules::Rules;
use super::state::Contention;
use crate::graph::QueueIndex;
use crate::rng::Rng;

impl Contention {
    /// Works by `rules` from now on; what is granted stays granted, and nobody loses a place in a queue.
    ///
    /// Waits begun under another deadlock policy are held to the new one at once: wait-die refuses and wound-wait wounds
    /// whom it would have. They closed no cycle, so detection finds none among them; no-wait lets them wait. The random
    /// schedule begins its stream again, and overtaking is counted from now on.
    pub fn set_rules(&mut self, rules: Rules, now_ns: u64, effects: &mut Effects) {
        self.rules = rules;
        self.schedule = rules.schedule_in_force().build();
        self.counters.put_in_force(rules.schedule_in_force());
        self.rng = Rng::new(rules.seed);
        self.graph.track_sizes(rules.tracks_sizes());
        let queues: Vec<QueueIndex> = self.graph.queue_indices().collect();
        for queue in queues {
            self.graph.queue_mut(queue).forget_overtaking();
            self.enforce_order(queue, effects);
        }
        self.settle(now_ns, effects);
    }
}
