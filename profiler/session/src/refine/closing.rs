//! Chooses the probes to close, to stay within the limits.

use std::collections::HashMap;

use evenkeel_analysis::profile::{Node, Profile};

use super::policy::{CALLS_MIN, COST_MAX, MUCH, PASSED_MAX};
use super::{Cost, Limits, cost};

/// A probe to remove.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closing {
    /// The number of the probe.
    pub id: u32,
    /// Calls per interval.
    pub calls: f64,
    /// Whether it is removed for its cost, not only to make room.
    pub over_budget: bool,
}

/// Probes to remove, so that the running ones stay within the limits on their number and their cost.
///
/// - A probe makes room if its contribution is below the threshold and its callee was not opened.
/// - While the budget is exceeded, a costly probe is removed if its contribution is below the threshold, or its own
///   variance below [`MUCH`]. Calls are opened by the same measure ([`super::cost`]). The parts of a loop all grow with
///   its turns, and their caller explains as much in one line, from many more intervals.
/// - A probe that explains much stays even if it is costly (up to `COST_MAX`). Fewer intervals are recorded instead, so
///   that a culprit that was found does not become its caller's own time again.
/// - A probe that hardly ever runs costs nothing, and stays for a change of the load.
/// - Recording fewer intervals does not lower the probes' cost in intervals that are not recorded. If this cost alone
///   takes too much of the budget, the probes that explain least for their cost are removed, however much they explain.
///
/// `spent`: the probes' cost, measured where a measurement exists. `opened`: whether a callee of this probe is opened.
pub(crate) fn to_close(
    profile: &Profile,
    spent: Cost,
    limits: &Limits,
    opened: impl Fn(u32) -> bool,
    planted: &[u32],
) -> Vec<Closing> {
    let mut worth: HashMap<u32, ProbeValue> = HashMap::new();
    measure(&profile.tree, &mut worth);
    let calls_of = |id: u32| worth.get(&id).map_or(0.0, |worth| worth.calls);
    let cost_of = |id: u32| calls_of(id) * spent.of_a_call;
    let worth_of = |id: u32| worth.get(&id).map_or(0.0, |worth| worth.contribution);
    let variance_of = |id: u32| worth.get(&id).map_or(0.0, |worth| worth.variance);
    let runs = |id: &u32| worth.get(id).is_some_and(|worth| worth.calls >= CALLS_MIN);
    let mut order: Vec<u32> = planted.iter().copied().filter(runs).collect();
    // Least worth for its cost first.
    order.sort_by(|&a, &b| {
        let value = |id: u32| worth_of(id) / (cost_of(id) + 1e-6);
        value(a).total_cmp(&value(b))
    });
    // If each probe cost no more than this, all permitted probes together would stay within the budget. A cheaper probe
    // is not the one that exceeds it.
    let even_part = limits.overhead_max / limits.probes_max.max(1) as f64;
    let mut excess_cost = spent.spent - limits.overhead_max;
    let mut excess_passed = spent.passed - PASSED_MAX * limits.overhead_max;
    let mut excess_probes = order.len() as i64 - limits.probes_max as i64;
    let mut closed = Vec::new();
    for id in order {
        let explains = worth_of(id) >= limits.threshold;
        let costs = cost_of(id) > even_part;
        let is_much = variance_of(id) >= MUCH || cost::is_little(cost_of(id), limits);
        let is_too_costly = excess_cost > 0.0 && (!explains || !is_much || cost_of(id) > COST_MAX);
        let over_budget = costs && (is_too_costly || excess_passed > 0.0);
        let surplus = excess_probes > 0 && !explains && !opened(id);
        if over_budget || surplus {
            excess_cost -= cost_of(id);
            excess_passed -= calls_of(id) * spent.passed_of_a_call;
            excess_probes -= 1;
            let calls = calls_of(id);
            closed.push(Closing {
                id,
                calls,
                over_budget,
            });
        }
    }
    closed
}

/// The cost that remains once these probes are removed.
pub(crate) fn without(cost: Cost, closings: &[Closing]) -> Cost {
    let calls: f64 = closings.iter().map(|closing| closing.calls).sum();
    Cost {
        spent: (cost.spent - calls * cost.of_a_call).max(0.0),
        passed: (cost.passed - calls * cost.passed_of_a_call).max(0.0),
        ..cost
    }
}

/// The value of a probe, over all paths to it.
#[derive(Default)]
struct ProbeValue {
    /// The larger of its variance and its covariance with the latency, of the latency's variance.
    contribution: f64,
    variance: f64,
    /// Per interval.
    calls: f64,
}

fn measure(node: &Node, worth: &mut HashMap<u32, ProbeValue>) {
    if let Some(id) = node.probe {
        let entry = worth.entry(id).or_default();
        entry.contribution += node.variance_fraction.max(node.share.abs());
        entry.variance += node.variance_fraction;
        entry.calls += node.calls_mean;
    }
    node.children.iter().for_each(|child| measure(child, worth));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refine::State;
    use crate::refine::known::{Calls, Known};
    use crate::tests::example::{LIMITS, at, example};

    fn closed_at(profile: &Profile, limits: &Limits, measured: Option<f64>) -> Vec<(u32, bool)> {
        closed_of(profile, limits, Cost::of(profile, measured, 0.0))
    }

    fn closed_of(profile: &Profile, limits: &Limits, spent: Cost) -> Vec<(u32, bool)> {
        let (_, probes) = example();
        let mut known = Known::default();
        known.function_mut(at(0xa)).calls = Calls::Opened;
        let state = State::of(&probes, &[], &known);
        let opened = |id| state.has_opened(id);
        let closings = to_close(profile, spent, limits, opened, &[0, 1, 2, 3]);
        closings
            .iter()
            .map(|closing| (closing.id, closing.over_budget))
            .collect()
    }

    fn closed(profile: &Profile, limits: &Limits) -> Vec<(u32, bool)> {
        closed_at(profile, limits, None)
    }

    fn goes(id: u32, over_budget: bool) -> (u32, bool) {
        (id, over_budget)
    }

    /// 60 % are spent. Two calls of 25 % are removed. A fifth of the cost also occurs in intervals that are not
    /// recorded.
    #[test]
    fn what_is_taken_out_costs_nothing_more() {
        let cost = Cost {
            spent: 0.6,
            of_a_call: 0.25,
            passed: 0.12,
            passed_of_a_call: 0.05,
            ..Cost::default()
        };
        let closing = Closing {
            id: 1,
            calls: 2.0,
            over_budget: true,
        };
        let left = without(cost, &[closing]);
        assert!((left.spent - 0.1).abs() < 1e-9 && (left.passed - 0.02).abs() < 1e-9);
        assert_eq!(without(cost, &[closing; 2]).spent, 0.0);
    }

    #[test]
    fn what_tells_least_for_its_cost_is_closed() {
        // Each costs 10 ns of 1000 = 1 %; the estimate is 0.9 % above the limit: c, with 2 %, explains least.
        assert_eq!(closed(&example().0, &LIMITS), [goes(3, true)]);
    }

    /// The estimate is 2.9 % of 3 % allowed; the measurement is 14.5 %.
    #[test]
    fn the_budget_holds_for_what_is_measured() {
        let mut profile = example().0;
        profile.overhead.estimated_fraction = 0.029;
        assert_eq!(closed(&profile, &LIMITS), []);
        assert_eq!(closed_at(&profile, &LIMITS, Some(0.145)), [goes(3, true)]);
    }

    /// A probe costs 2 ns in an interval that is not recorded, a fifth of its cost in a recorded one. By the estimate,
    /// recording costs 2.9 % and the other intervals 0.6 %, so all probes stay. By the measurement of 29 %, the other
    /// intervals cost 5.8 %, which sampling does not lower. Two probes are then removed, down to 1.5 %: c, and one that
    /// explains 30 % or more.
    #[test]
    fn what_passes_through_too_many_probes_is_closed_whatever_it_explains() {
        let mut profile = example().0;
        profile.overhead.estimated_fraction = 0.029;
        let limits = &LIMITS;
        let unmeasured = Cost::of(&profile, None, 2.0);
        assert_eq!(closed_of(&profile, limits, unmeasured), []);
        let measured = Cost::of(&profile, Some(0.29), 2.0);
        assert!((measured.passed - 0.058).abs() < 1e-9);
        let ids: Vec<u32> = closed_of(&profile, limits, measured)
            .iter()
            .map(|&(id, _)| id)
            .collect();
        assert_eq!(ids[0], 3);
        assert!(ids.len() > 1 && ids.len() < 4, "{ids:?}");
        // If only recording costs as much, fewer intervals are recorded instead.
        let recorded = Cost::of(&profile, Some(0.29), 0.0);
        assert_eq!(closed_of(&profile, limits, recorded), [goes(3, true)]);
    }

    /// The cost is ten times the budget: c is removed; the others explain 30 % and more, and stay.
    #[test]
    fn a_culprit_stays_though_it_is_costly() {
        let mut profile = example().0;
        profile.overhead.estimated_fraction = 0.3;
        assert_eq!(closed(&profile, &LIMITS), [goes(3, true)]);
        // b is called 30 times: its probe takes 30 % of the latency.
        profile.tree.children[0].children[0].calls_mean = 30.0;
        assert_eq!(closed(&profile, &LIMITS), [goes(1, true)]);
    }

    /// Three functions of a loop are called three times each, take 3 % of the latency, and vary together. Each has a
    /// third of the covariance, and a ninth of the variance if there is nothing else. A function with a tenth stays.
    /// One with less is removed, whatever its covariance.
    #[test]
    fn parts_of_a_loop_that_cost_much_are_closed() {
        let mut profile = example().0;
        profile.overhead.estimated_fraction = 0.3;
        let c = &mut profile.tree.children[1];
        (c.share, c.calls_mean) = (0.33, 3.0);
        c.variance_fraction = 0.11;
        assert_eq!(closed(&profile, &LIMITS), []);
        profile.tree.children[1].variance_fraction = 0.08;
        assert_eq!(closed(&profile, &LIMITS), [goes(3, true)]);
        // It is called so rarely that it costs little: its contribution above the threshold is enough to stay.
        profile.tree.children[1].calls_mean = 0.3;
        assert_eq!(closed(&profile, &LIMITS), []);
    }

    /// c is called in every second interval: its 0.5 % are less than a fourth of the 3 % for four probes. Removing it
    /// would save almost nothing, and it may be slow later.
    #[test]
    fn what_costs_little_stays_beside_what_costs_much() {
        let mut profile = example().0;
        profile.overhead.estimated_fraction = 0.3;
        profile.tree.children[1].calls_mean = 0.5;
        assert_eq!(closed(&profile, &LIMITS), []);
    }

    /// There is room for three probes, so c makes room. If it does not run, or runs once in a hundred intervals, it
    /// takes no room: it may be a lock that was free during the last look.
    #[test]
    fn only_sites_that_run_need_room() {
        let mut profile = example().0;
        profile.overhead.estimated_fraction = 0.0;
        let three = Limits {
            probes_max: 3,
            ..LIMITS
        };
        assert_eq!(closed(&profile, &three), [goes(3, false)]);
        profile.tree.children[1].calls_mean = 0.01;
        assert_eq!(closed(&profile, &three), []);
        profile.tree.children.remove(1);
        assert_eq!(closed(&profile, &three), []);
    }

    /// a's calls are timed. a itself explains little here, but the calls below it would lose their place in the tree
    /// without it.
    #[test]
    fn what_was_opened_makes_no_room() {
        let mut profile = example().0;
        profile.overhead.estimated_fraction = 0.0;
        let a = &mut profile.tree.children[0];
        (a.share, a.variance_fraction) = (0.01, 0.01);
        let three = Limits {
            probes_max: 3,
            ..LIMITS
        };
        assert_eq!(closed(&profile, &three), [goes(3, false)]);
    }
}
