//! Which probes cost too much.

use std::collections::BTreeSet;

use evenkeel_analysis::profile::Node;

use crate::refine::policy::{COST_MAX, MUCH};
use crate::refine::{Cost, Limits, is_little};

/// Probes to turn off until all together cost what the user allows: those first that explain least for their cost. What
/// explains much is timed though it costs more, up to a bound: fewer intervals are recorded then. What costs little
/// stays.
pub(super) fn costly(
    tree: &Node,
    cost: Cost,
    limits: &Limits,
    may_close: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let mut costs = Vec::new();
    visit(tree, &mut |node| {
        if let Some(id) = node.probe.filter(|&id| may_close(id)) {
            costs.push((id, node.calls_mean * cost.of_a_call, node.share.abs()));
        }
    });
    costs.sort_by(|a, b| (b.1 / (b.2 + 1e-3)).total_cmp(&(a.1 / (a.2 + 1e-3))));
    let mut excess = cost.spent - limits.overhead_max;
    let mut closed = BTreeSet::new();
    for (id, cost, share) in costs {
        let explains = share > cost.max(MUCH) && cost <= COST_MAX;
        if excess > 0.0 && !explains && !is_little(cost, limits) {
            excess -= cost;
            closed.insert(id);
        }
    }
    closed.into_iter().collect()
}

/// Every node, a caller before those that it calls.
pub(super) fn visit(node: &Node, seen: &mut impl FnMut(&Node)) {
    seen(node);
    for child in &node.children {
        visit(child, seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::example::LIMITS;

    /// Probes by number, calls per interval, and share.
    fn tree(probes: &[(u32, f64, f64)]) -> Node {
        let node = |&(id, calls, share): &(u32, f64, f64)| Node {
            probe: Some(id),
            calls_mean: calls,
            share,
            ..Node::default()
        };
        Node {
            children: probes.iter().map(node).collect(),
            ..Node::default()
        }
    }

    /// A call costs a thousandth of the latency; a tenth is spent, and 3 % are allowed.
    fn closed(probes: &[(u32, f64, f64)]) -> Vec<u32> {
        let cost = Cost {
            spent: 0.1,
            of_a_call: 0.001,
            ..Cost::default()
        };
        costly(&tree(probes), cost, &LIMITS, |id| id != 9)
    }

    #[test]
    fn what_explains_least_for_its_cost_goes_until_the_rest_is_allowed() {
        assert_eq!(
            closed(&[(1, 80.0, 0.02), (2, 20.0, 0.02), (3, 20.0, 0.01)]),
            [1]
        );
        assert_eq!(
            closed(&[(1, 60.0, 0.02), (2, 20.0, 0.02), (3, 20.0, 0.01)]),
            [1, 3]
        );
        assert_eq!(closed(&[(9, 80.0, 0.0), (2, 20.0, 0.02)]), [2]);
    }

    /// 300 calls lengthen intervals by 30 %: that is too much whatever they explain.
    #[test]
    fn what_explains_much_stays_up_to_a_bound() {
        assert!(closed(&[(1, 80.0, 0.5)]).is_empty());
        assert_eq!(closed(&[(1, 300.0, 0.5)]), [1]);
    }

    #[test]
    fn what_costs_little_stays() {
        assert!(closed(&[(1, 1.0, 0.0), (2, 3.0, 0.0)]).is_empty());
    }
}
