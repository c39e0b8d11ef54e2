//! Compared figures of a group: its mean, its variance, and the parts of the variance that any group's findings name.

use evenkeel_analysis::profile::{Finding, Node, Profile};

use super::group::{Group, What};
use crate::compare::changes::{Measured, Recording};

/// Place of the mean among the figures.
pub const MEAN: usize = 0;
/// Place of the variance.
pub const VARIANCE: usize = 1;

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its subject.
    pub what: What,
    /// Its value and error.
    pub measured: Measured,
}

/// The figures of a group, in the same order as those of all others.
pub type Figures = Vec<Figure>;

/// Figures of all groups.
pub fn of(members: &[(Group, &Profile)]) -> Vec<Figures> {
    let mut named: Vec<&Finding> = Vec::new();
    for finding in members.iter().flat_map(|(_, profile)| &profile.findings) {
        if !named.iter().any(|other| is_same(other, finding)) {
            named.push(finding);
        }
    }
    let all = members.iter();
    all.map(|(_, profile)| of_one(profile, &named)).collect()
}

fn is_same(a: &Finding, b: &Finding) -> bool {
    (&a.function, &a.called_by) == (&b.function, &b.called_by)
}

fn of_one(profile: &Profile, named: &[&Finding]) -> Figures {
    let recording = Recording::new(profile);
    let mean = Figure {
        what: What::Mean,
        measured: recording.mean_ns(Some(&profile.tree)),
    };
    let variance = Figure {
        what: What::Variance,
        measured: recording.contribution_ns2(1.0, 0.0),
    };
    let finding = |finding: &&Finding| {
        let found = recording.finding_ns2(finding);
        Figure {
            what: What::Finding {
                headline: finding.headline.clone(),
                function: finding.function.clone(),
                called_by: finding.called_by.clone(),
            },
            measured: found.unwrap_or_else(|| {
                let (share, se) = in_tree(&profile.tree, finding, "");
                recording.contribution_ns2(share, se.sqrt())
            }),
        }
    };
    let findings = named.iter().map(finding);
    [mean, variance].into_iter().chain(findings).collect()
}

/// For a group without the finding: the share of the function where it is called alike, and the square of its error.
fn in_tree(node: &Node, finding: &Finding, caller: &str) -> (f64, f64) {
    let called_so = finding.called_by.as_deref().is_none_or(|by| by == caller);
    if node.name == finding.function && called_so {
        let se = if node.se.is_finite() { node.se } else { 0.0 };
        return (node.share, se * se);
    }
    let below = node.children.iter();
    let below = below.map(|child| in_tree(child, finding, &node.name));
    below.fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
}

/// The mean of some groups' figures, each group with its weight.
pub fn average(all: &[Figures], groups: &[usize], weight: impl Fn(usize) -> f64) -> Figures {
    let total: f64 = groups.iter().map(|&at| weight(at)).sum();
    let mut average: Figures = all[0].clone();
    for (number, figure) in average.iter_mut().enumerate() {
        let parts = groups.iter().map(|&at| {
            let part = if total > 0.0 { weight(at) / total } else { 0.0 };
            (part, all[at][number].measured)
        });
        let (mut value, mut squared) = (0.0, 0.0);
        for (part, measured) in parts {
            value += part * measured.value;
            squared += (part * measured.se).powi(2);
        }
        figure.measured = Measured {
            value,
            se: squared.sqrt(),
        };
    }
    average
}
