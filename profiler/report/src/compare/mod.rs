//! Two profiles side by side: did a change help, and where?
//!
//! Shares alone mislead here: when one cause goes, the shares of all others grow. So a node is compared by its contribution
//! in absolute terms, share x Var(L) in ns², which is shown as a percentage of the variance before.
//!
//! Errors: those of two recordings are independent, so a difference has se = sqrt(a² + b²). A share carries its standard
//! error from the block jackknife; that of Var(L) is estimated from the histogram, that of a mean is sd / sqrt(n). The last
//! two take neighbouring intervals for independent, which makes them somewhat too small.

mod changes;
pub mod groups;
mod matching;
mod spread;
mod terminal;

use evenkeel_analysis::profile::{PROFILE_VERSION, Profile};
use serde::Serialize;

use crate::{html, names, units, words};
pub use changes::{Change, ERRORS_MIN, FactorChange, FindingChange, NodeChange};
pub use matching::Match;

/// Columns of a factor's name in the summary.
const NAME_WIDTH: usize = 60;

/// Two profiles and what changed from the first to the second.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison<'a> {
    /// Version of the JSON, that of the profile's.
    pub version: u32,
    /// The outcome in one or two sentences.
    pub summary: String,
    /// What makes the comparison doubtful.
    pub warnings: Vec<String>,
    /// Intervals before and after.
    pub intervals: [u64; 2],
    /// Mean, standard deviation and percentiles, in that order.
    pub latency: Vec<LatencyChange>,
    /// Nodes of both trees, largest change of contribution first.
    pub nodes: Vec<NodeChange>,
    /// Findings of both profiles, largest change first.
    pub findings: Vec<FindingChange>,
    /// Factors of both profiles, largest change of contribution first.
    pub factors: Vec<FactorChange>,
    #[serde(skip)]
    before: &'a Profile,
    #[serde(skip)]
    after: &'a Profile,
}

/// One figure of the latency's distribution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyChange {
    /// `mean`, `sd`, `p50` .. `max`.
    pub name: String,
    /// Before.
    pub before_ns: f64,
    /// After.
    pub after_ns: f64,
    /// after / before - 1; absent where before is nought.
    pub change_fraction: Option<f64>,
}

impl<'a> Comparison<'a> {
    /// Compares `after` with `before`.
    pub fn new(before: &'a Profile, after: &'a Profile) -> Self {
        let nodes = changes::nodes(before, after);
        let factors = changes::factors(before, after);
        Self {
            version: PROFILE_VERSION,
            summary: summary(before, after, &nodes) + &first_factor(before, &factors),
            warnings: warnings(before, after),
            intervals: [before.intervals, after.intervals],
            latency: latency(before, after),
            findings: changes::findings(before, after),
            nodes,
            factors,
            before,
            after,
        }
    }

    /// As a self-contained page with both flame graphs.
    pub fn html(&self) -> String {
        html::comparison(self.before, self.after, self)
    }
}

/// How the standard deviation changed, and the most specific call that changed it most.
fn summary(before: &Profile, after: &Profile, nodes: &[NodeChange]) -> String {
    let change = after.variance_ns2 - before.variance_ns2;
    let verb = match change {
        c if c < 0.0 => "fell",
        c if c > 0.0 => "rose",
        _ => return "The standard deviation did not change.".to_string(),
    };
    let mut text = format!(
        "The standard deviation {verb} from {} to {} ({}).",
        units::duration(before.sd_ns),
        units::duration(after.sd_ns),
        units::signed_percent(after.sd_ns / before.sd_ns - 1.0)
    );
    let largest = nodes.iter().find(|node| {
        let own = &node.contribution_ns2;
        node.names.len() > 1 && !node.passes_on && own.significant && own.change * change > 0.0
    });
    if let Some(node) = largest {
        text += &format!(
            " The largest part of it is {}: {} {} of the variance before.",
            called(&node.names),
            units::signed_percent(node.change_of_variance),
            units::error(node.change_of_variance_se)
        );
    }
    text
}

/// What became of the first factor, summed over all its paths; empty where one of the profiles does not name it.
fn first_factor(before: &Profile, factors: &[FactorChange]) -> String {
    let first = before.factors.first();
    let change = first.and_then(|first| {
        let is_first = |change: &&FactorChange| change.is_of(first) && change.in_after;
        factors.iter().find(is_first)
    });
    let Some(change) = change.filter(|_| before.variance_ns2 > 0.0) else {
        return String::new();
    };
    let (functions, separator) = words::functions(&change.functions, change.caller.as_ref());
    let [from, to] = [
        change.contribution_ns2.before,
        change.contribution_ns2.after,
    ]
    .map(|ns2| units::percent(ns2 / before.variance_ns2));
    format!(
        " The first factor before, {}, went from {from} to {to} of the variance before.",
        names::joined(&functions, separator, NAME_WIDTH)
    )
}

/// The last name of a path, with who calls it: `f in g`.
fn called(names: &[String]) -> String {
    match names {
        // Of what the interval itself calls, the name says all.
        [_, .., caller, call] => {
            let [call, caller] = [call, caller].map(|name| names::without_modules(name));
            format!("{call} in {caller}")
        }
        [.., call] => names::without_modules(call),
        [] => String::new(),
    }
}

fn warnings(before: &Profile, after: &Profile) -> Vec<String> {
    let mut warnings = Vec::new();
    if before.interval != after.interval {
        warnings.push(format!(
            "The intervals differ: {} before, {} after. Latencies of different work do not compare; profile the same interval.",
            before.interval, after.interval
        ));
    }
    if before.target != after.target {
        warnings.push(format!(
            "The commands differ: `{}` before, `{}` after. If that is not the change you test, run both the same way.",
            before.target, after.target
        ));
    }
    for (when, profile) in [("before", before), ("after", after)] {
        if profile.closure.max_abs_error_ticks > 0 {
            warnings.push(format!(
                "The parts of the profile {when} do not add up to its latencies: record it again."
            ));
        }
    }
    warnings
}

fn latency(before: &Profile, after: &Profile) -> Vec<LatencyChange> {
    let change = |name: &str, before_ns: f64, after_ns: f64| LatencyChange {
        name: name.to_string(),
        before_ns,
        after_ns,
        change_fraction: (before_ns > 0.0).then(|| after_ns / before_ns - 1.0),
    };
    let mut rows = vec![
        change("mean", before.mean_ns, after.mean_ns),
        change("sd", before.sd_ns, after.sd_ns),
    ];
    for name in crate::terminal::PERCENTILES {
        if let (Some(b), Some(a)) = (
            before.percentiles_ns.get(name),
            after.percentiles_ns.get(name),
        ) {
            rows.push(change(name, *b, *a));
        }
    }
    rows
}
