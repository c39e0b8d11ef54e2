//! Figures of a group with their errors: what a recording's profile says of them.

use evenkeel_analysis::profile::{Finding, Node, Profile};
use serde::Serialize;

use super::spread::variance_se_ns2;

/// A change counts when it exceeds this many standard errors.
pub const ERRORS_MIN: f64 = 2.0;

/// A figure before and after. A side without the node has zero.
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

    pub(super) fn mean_ns(&self, node: Option<&Node>) -> Measured {
        let root_n = (self.profile.intervals.max(1) as f64).sqrt();
        node.map_or_else(Measured::default, |node| Measured {
            value: node.mean_ns,
            se: finite(node.sd_ns / root_n),
        })
    }

    pub(super) fn finding_ns2(&self, named: &Finding) -> Option<Measured> {
        let is_same = |finding: &&Finding| {
            (&finding.function, &finding.called_by) == (&named.function, &named.called_by)
        };
        let finding = self.profile.findings.iter().find(is_same)?;
        Some(self.contribution_ns2(finding.share, finding.se))
    }
}

fn finite(se: f64) -> f64 {
    if se.is_finite() { se } else { 0.0 }
}
