//! What to close, to stay within the limits.

use std::collections::HashMap;

use evenkeel_analysis::profile::{Node, Profile};

use super::{Limits, State};

/// A probe to uproot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closing {
    /// Which.
    pub id: u32,
    /// For what it costs, not only to make room.
    pub too_dear: bool,
}

/// Probes to uproot, so that the cost stays within the limits and `wanted` more probes have room.
///
/// Only probes go that explain little: those whose callee was not opened and whose contribution is below the threshold,
/// or a tenth of what the best candidate, `best`, contributes. Those that cost more than the limit go even then, the most expensive for what they tell first.
pub fn to_close(
    profile: &Profile,
    limits: &Limits,
    state: &State<'_>,
    planted: &[u32],
    wanted: usize,
    best: f64,
) -> Vec<Closing> {
    let mut worth: HashMap<u32, (f64, f64)> = HashMap::new();
    measure(&profile.tree, &mut worth);
    let cost_of = |id: u32| {
        worth.get(&id).map_or(0.0, |&(_, calls)| {
            calls * profile.overhead.probe_ns / profile.mean_ns.max(1.0)
        })
    };
    let worth_of = |id: u32| {
        worth
            .get(&id)
            .map_or(0.0, |&(contribution, _)| contribution)
    };
    let opened = |id: u32| {
        state.probes[id as usize]
            .callee
            .is_some_and(|callee| state.opened.contains(&callee))
    };
    let mut order: Vec<u32> = planted.to_vec();
    // Least worth for its cost first; among those that tell nothing the costly ones, then the silent ones.
    order.sort_by(|&a, &b| {
        let value = |id: u32| worth_of(id) / (cost_of(id) + 1e-6);
        value(a)
            .total_cmp(&value(b))
            .then(cost_of(b).total_cmp(&cost_of(a)))
    });
    let mut excess_cost = profile.overhead.estimated_fraction - limits.overhead_max;
    let mut excess_probes = (planted.len() + wanted) as i64 - limits.probes_max as i64;
    let mut closed = Vec::new();
    for id in order {
        let too_dear = excess_cost > 0.0 && cost_of(id) > 0.0;
        let silent =
            excess_probes > 0 && worth_of(id) < limits.threshold.max(best / 10.0) && !opened(id);
        if too_dear || silent {
            excess_cost -= cost_of(id);
            excess_probes -= 1;
            closed.push(Closing { id, too_dear });
        }
    }
    closed
}

/// Contribution and calls an interval, by probe.
fn measure(node: &Node, worth: &mut HashMap<u32, (f64, f64)>) {
    if let Some(id) = node.probe {
        let entry = worth.entry(id).or_default();
        entry.0 += node.variance_fraction.max(node.share.abs());
        entry.1 += node.calls_mean;
    }
    node.children.iter().for_each(|child| measure(child, worth));
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::refine::example::{LIMITS, example, nothing_known};

    #[test]
    fn what_tells_least_for_its_cost_is_closed() {
        let (profile, probes) = example();
        let opened = HashSet::from([(0, 0xa)]);
        let state = State {
            opened: &opened,
            ..nothing_known(&probes)
        };
        // Each costs 10 ns of 1000 = 1 %; the estimate is 0.9 % above the limit: c, with 2 %, tells least.
        assert_eq!(
            to_close(&profile, &LIMITS, &state, &[0, 1, 2, 3], 0, 0.0),
            [Closing {
                id: 3,
                too_dear: true
            }]
        );
    }
}
