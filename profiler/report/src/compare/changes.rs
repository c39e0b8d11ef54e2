//! What changed at each node and in each factor, with errors.

use std::collections::HashSet;

use evenkeel_analysis::profile::{Factor, FactorKind, Finding, Node, Profile};
use serde::Serialize;

use super::matching::{self, Match, Pair};
use super::spread::variance_se_ns2;
use crate::paths;

/// A change counts when it exceeds this many standard errors.
pub const ERRORS_MIN: f64 = 2.0;

/// Of a node's change, the part that one child must carry for the node itself to say nothing new.
const CARRIED_MIN: f64 = 0.8;

/// A figure before and after. A side that lacks the node counts as nought.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Before.
    pub before: f64,
    /// After.
    pub after: f64,
    /// after - before.
    pub change: f64,
    /// Standard error of the change.
    pub se: f64,
    /// |change| > [`ERRORS_MIN`] se; never where no error is known.
    pub significant: bool,
}

/// A call path in both profiles.
#[derive(Clone, Debug, Serialize)]
pub struct NodeChange {
    /// The path, with the sites of the profile before (after, where only that has it).
    pub path: String,
    /// Its steps, names only.
    pub names: Vec<String>,
    /// Call site before.
    pub site_before: Option<String>,
    /// Call site after.
    pub site_after: Option<String>,
    /// How the two were found to be the same.
    pub matched: Match,
    /// Contribution to the variance, share x Var(L), in ns².
    pub contribution_ns2: Change,
    /// The contribution's change as a fraction of Var(L) before.
    pub change_of_variance: f64,
    /// Its standard error.
    pub change_of_variance_se: f64,
    /// Share of Var(L) of its own profile.
    pub share: Change,
    /// Mean inclusive time an interval, in ns.
    pub mean_ns: Change,
    /// One child carries most of the change, so that this node only passes it on.
    pub passes_on: bool,
}

/// A factor in both profiles.
#[derive(Clone, Debug, Serialize)]
pub struct FactorChange {
    /// Variance of one function, or covariance of two.
    pub kind: FactorKind,
    /// As in the profile.
    pub functions: Vec<String>,
    /// As in the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Whether the profile before names it.
    pub in_before: bool,
    /// Whether the profile after names it.
    pub in_after: bool,
    /// Contribution in ns².
    pub contribution_ns2: Change,
    /// The contribution's change as a fraction of Var(L) before.
    pub change_of_variance: f64,
    /// Its standard error.
    pub change_of_variance_se: f64,
}

impl FactorChange {
    /// Whether this is the change of `factor`.
    pub fn is_of(&self, factor: &Factor) -> bool {
        (self.kind, &self.functions, &self.caller)
            == (factor.kind, &factor.functions, &factor.caller)
    }
}

/// A finding in both profiles.
#[derive(Clone, Debug, Serialize)]
pub struct FindingChange {
    /// As in the profile.
    pub headline: String,
    /// As in the profile.
    pub function: String,
    /// As in the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called_by: Option<String>,
    /// Whether the profile before has it.
    pub in_before: bool,
    /// Whether the profile after has it.
    pub in_after: bool,
    /// Its variance before, as a fraction of Var(L) before.
    pub before_fraction: f64,
    /// Its variance after, as a fraction of Var(L) before.
    pub after_fraction: f64,
    /// The difference.
    pub change_of_variance: f64,
    /// Its standard error.
    pub change_of_variance_se: f64,
}

/// A number with its standard error.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    pub(super) value: f64,
    pub(super) se: f64,
}

impl Change {
    pub(super) fn new(before: Measured, after: Measured) -> Self {
        let change = after.value - before.value;
        let se = before.se.hypot(after.se);
        let significant = se > 0.0 && change.abs() > ERRORS_MIN * se;
        Self {
            before: before.value,
            after: after.value,
            change,
            se,
            significant,
        }
    }
}

/// A profile with what is asked of it for every node.
pub(super) struct Recording<'a> {
    profile: &'a Profile,
    variance_se_ns2: f64,
}

impl<'a> Recording<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        Self {
            profile,
            variance_se_ns2: variance_se_ns2(profile),
        }
    }

    /// A fraction of Var(L) in ns², with the errors of both.
    pub(super) fn contribution_ns2(&self, fraction: f64, se: f64) -> Measured {
        let variance_ns2 = self.profile.variance_ns2;
        let se = (finite(se) * variance_ns2).hypot(fraction * self.variance_se_ns2);
        Measured {
            value: fraction * variance_ns2,
            se,
        }
    }

    fn node_contribution_ns2(&self, node: Option<&Node>) -> Measured {
        node.map_or_else(Measured::default, |node| {
            self.contribution_ns2(node.share, node.se)
        })
    }

    pub(super) fn mean_ns(&self, node: Option<&Node>) -> Measured {
        let root_n = (self.profile.intervals.max(1) as f64).sqrt();
        node.map_or_else(Measured::default, |node| Measured {
            value: node.mean_ns,
            se: finite(node.sd_ns / root_n),
        })
    }

    fn factor_contribution_ns2(&self, named: &Factor) -> Option<Measured> {
        let factors = &self.profile.factors;
        let factor = factors.iter().find(|factor| is_same(factor, named))?;
        Some(self.contribution_ns2(factor.contribution, factor.se))
    }

    pub(super) fn finding_ns2(&self, named: &Finding) -> Option<Measured> {
        let is_same = |finding: &&Finding| {
            (&finding.function, &finding.called_by) == (&named.function, &named.called_by)
        };
        let finding = self.profile.findings.iter().find(is_same)?;
        Some(self.contribution_ns2(finding.share, finding.se))
    }

    fn of_variance(&self, ns2: f64) -> f64 {
        if self.profile.variance_ns2 > 0.0 {
            ns2 / self.profile.variance_ns2
        } else {
            0.0
        }
    }
}

/// Whether two profiles mean the same factor.
fn is_same(a: &Factor, b: &Factor) -> bool {
    (a.kind, &a.functions, &a.caller) == (b.kind, &b.functions, &b.caller)
}

fn finite(se: f64) -> f64 {
    if se.is_finite() { se } else { 0.0 }
}

fn share(node: Option<&Node>) -> Measured {
    node.map_or_else(Measured::default, |node| Measured {
        value: node.share,
        se: finite(node.se),
    })
}

/// All nodes of both trees, largest change first.
pub(super) fn nodes(before: &Profile, after: &Profile) -> Vec<NodeChange> {
    let pairs = matching::pairs(&before.tree, &after.tree);
    let [before, after] = [Recording::new(before), Recording::new(after)];
    let mut changes: Vec<_> = pairs
        .iter()
        .map(|pair| node(pair, &before, &after))
        .collect();
    for (i, pair) in pairs.iter().enumerate() {
        let own = changes[i].contribution_ns2.change;
        changes[i].passes_on = pair.children.iter().any(|&child| {
            let of_child = changes[child].contribution_ns2.change;
            of_child * own > 0.0 && of_child.abs() >= CARRIED_MIN * own.abs()
        });
    }
    // Stable: of equal changes the caller comes before the callee.
    changes.sort_by(|a, b| {
        b.contribution_ns2
            .change
            .abs()
            .total_cmp(&a.contribution_ns2.change.abs())
    });
    changes
}

fn node(pair: &Pair, before: &Recording, after: &Recording) -> NodeChange {
    let contribution_ns2 = Change::new(
        before.node_contribution_ns2(pair.before),
        after.node_contribution_ns2(pair.after),
    );
    let site = |node: Option<&Node>| node.map(|n| n.site.clone()).filter(|site| !site.is_empty());
    NodeChange {
        path: pair
            .steps
            .iter()
            .map(|node| paths::step(node))
            .collect::<Vec<_>>()
            .join(" > "),
        names: pair.steps.iter().map(|node| node.name.clone()).collect(),
        site_before: site(pair.before),
        site_after: site(pair.after),
        matched: pair.matched,
        change_of_variance: before.of_variance(contribution_ns2.change),
        change_of_variance_se: before.of_variance(contribution_ns2.se),
        contribution_ns2,
        share: Change::new(share(pair.before), share(pair.after)),
        mean_ns: Change::new(before.mean_ns(pair.before), after.mean_ns(pair.after)),
        passes_on: false,
    }
}

/// All factors of both profiles, largest change first.
pub(super) fn factors(before: &Profile, after: &Profile) -> Vec<FactorChange> {
    let mut seen = HashSet::new();
    let mut named: Vec<&Factor> = before.factors.iter().chain(&after.factors).collect();
    named.retain(|f| seen.insert((f.kind, &f.functions, &f.caller)));
    let [before, after] = [Recording::new(before), Recording::new(after)];
    let mut changes: Vec<_> = named
        .into_iter()
        .map(|named| factor(named, &before, &after))
        .collect();
    changes.sort_by(|a, b| {
        b.contribution_ns2
            .change
            .abs()
            .total_cmp(&a.contribution_ns2.change.abs())
    });
    changes
}

fn factor(named: &Factor, before: &Recording, after: &Recording) -> FactorChange {
    let [b, a] = [before, after].map(|recording| recording.factor_contribution_ns2(named));
    let contribution_ns2 = Change::new(b.unwrap_or_default(), a.unwrap_or_default());
    FactorChange {
        kind: named.kind,
        functions: named.functions.clone(),
        caller: named.caller.clone(),
        in_before: b.is_some(),
        in_after: a.is_some(),
        change_of_variance: before.of_variance(contribution_ns2.change),
        change_of_variance_se: before.of_variance(contribution_ns2.se),
        contribution_ns2,
    }
}

/// All findings of both profiles, largest change first.
pub(super) fn findings(before: &Profile, after: &Profile) -> Vec<FindingChange> {
    let mut seen = HashSet::new();
    let mut named: Vec<&Finding> = before.findings.iter().chain(&after.findings).collect();
    named.retain(|finding| seen.insert((&finding.function, &finding.called_by)));
    let [before, after] = [Recording::new(before), Recording::new(after)];
    let change = |named: &Finding| {
        let [b, a] = [&before, &after].map(|recording| recording.finding_ns2(named));
        let contribution_ns2 = Change::new(b.unwrap_or_default(), a.unwrap_or_default());
        FindingChange {
            headline: named.headline.clone(),
            function: named.function.clone(),
            called_by: named.called_by.clone(),
            in_before: b.is_some(),
            in_after: a.is_some(),
            before_fraction: before.of_variance(contribution_ns2.before),
            after_fraction: before.of_variance(contribution_ns2.after),
            change_of_variance: before.of_variance(contribution_ns2.change),
            change_of_variance_se: before.of_variance(contribution_ns2.se),
        }
    };
    let mut changes: Vec<FindingChange> = named.into_iter().map(change).collect();
    let size = |change: &FindingChange| change.change_of_variance.abs();
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
    changes
}
