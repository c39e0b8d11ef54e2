//! The parts of intervals' time: findings, whose times do not overlap, and calls with everything below them.
//!
//! A finding's function is found by name: probes have other ids, and code other addresses, in each build. Time belongs
//! to the innermost finding on its call path. Time without a CPU is a separate part, because other work on the machine
//! differs from run to run.

use crate::critical::states::State;
use crate::findings::causes::NO_PROCESSOR;
use crate::intervals::classes::ClassTable;
use crate::profile::Finding;
use crate::sites::SiteTable;
use crate::sums::node_names::NodeNames;
use crate::sums::parts::own_time_names;
use crate::sums::paths::{PROBES, Paths, ROOT};

/// Part of the time without a processor.
pub const PROCESSOR: usize = 0;
/// Part of what is in no finding.
const REST: usize = 1;
/// The findings follow.
const FINDINGS: usize = 2;

/// A finding that is looked for on both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// As in the profile.
    pub headline: String,
    /// As in the profile.
    pub function: String,
    /// As in the profile.
    pub called_by: Option<String>,
    /// Whether the profiles before and after name it.
    pub found: [bool; 2],
}

/// Parts by node of the call paths that both sides timed.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// Findings, in the order of their parts.
    pub findings: Vec<Named>,
    nodes: Vec<NodePart>,
}

/// A call path.
#[derive(Clone, Debug)]
pub struct NodePart {
    /// The finding, or what else, that its own time belongs to.
    owner: usize,
    /// Name of its function, or of its kind of time.
    pub name: String,
    /// Its call site; empty where it has none.
    pub site: String,
    /// The node above; the root is its own.
    pub parent: usize,
    /// It is the outermost call of a finding's function.
    pub enters: bool,
}

impl Parts {
    /// Parts for these findings of the profiles before and after.
    pub fn of(before: &[Finding], after: &[Finding]) -> Parts {
        let mut parts = Parts::default();
        for (side, findings) in [before, after].into_iter().enumerate() {
            for finding in findings {
                if finding.function != NO_PROCESSOR {
                    parts.name(finding, side);
                }
            }
        }
        parts
    }

    fn name(&mut self, finding: &Finding, side: usize) {
        let is_it = |named: &&mut Named| {
            (&named.function, &named.called_by) == (&finding.function, &finding.called_by)
        };
        if let Some(named) = self.findings.iter_mut().find(is_it) {
            named.found[side] = true;
            return;
        }
        let mut named = Named {
            headline: finding.headline.clone(),
            function: finding.function.clone(),
            called_by: finding.called_by.clone(),
            found: [false; 2],
        };
        named.found[side] = true;
        self.findings.push(named);
    }

    /// A function that is looked for although no profile has it as a finding.
    pub fn also(&mut self, function: &str) {
        self.findings.push(Named {
            headline: function.to_owned(),
            function: function.to_owned(),
            called_by: None,
            found: [false; 2],
        });
    }

    /// Part of a finding's time.
    pub fn of_finding(&self, at: usize) -> usize {
        FINDINGS + at
    }

    /// Part of a call's time, with what is below it.
    pub fn of_node(&self, node: usize) -> usize {
        FINDINGS + self.findings.len() + node
    }

    /// Part of a node's own time.
    pub fn of_own(&self, node: usize) -> usize {
        self.nodes.get(node).map_or(REST, |node| node.owner)
    }

    /// Call paths that were met, parents first.
    pub fn nodes(&self) -> &[NodePart] {
        &self.nodes
    }

    /// Whether any call path is a finding's.
    pub fn is_met(&self, finding: usize) -> bool {
        let part = self.of_finding(finding);
        self.nodes.iter().any(|node| node.owner == part)
    }

    /// Takes in call paths that were met since.
    pub fn meet(&mut self, paths: &Paths, sites: &SiteTable, classes: &ClassTable) {
        let names = NodeNames::new(paths, sites).with_classes(classes);
        for (at, path) in paths.all().iter().enumerate().skip(self.nodes.len()) {
            let node = at as u32;
            let (site, name) = (names.site(node), names.function(node).to_string());
            let parent = path.parent as usize;
            let (owner, enters) = match (node, path.state) {
                (ROOT, _) => (self.root_owner(&name), false),
                (PROBES, _) => (REST, false),
                (_, Some(State::Preempted | State::Woken)) => (PROCESSOR, false),
                _ => self.owner(&name, parent),
            };
            self.nodes.push(NodePart {
                owner,
                name,
                site: site.map_or_else(String::new, |site| site.site.clone()),
                parent,
                enters,
            });
        }
    }

    /// The interval's own time may be a finding.
    fn root_owner(&self, root: &str) -> usize {
        let own = own_time_names(root);
        let found = self
            .findings
            .iter()
            .position(|it| own.contains(&it.function));
        found.map_or(REST, |at| self.of_finding(at))
    }

    /// The finding of a call, and whether it begins there.
    fn owner(&self, name: &str, parent: usize) -> (usize, bool) {
        let above = match parent {
            0 => REST,
            _ => self.nodes[parent].owner,
        };
        let called_by = |by: &str| {
            let mut at = parent;
            while at != 0 {
                if self.nodes[at].name == by {
                    return true;
                }
                at = self.nodes[at].parent;
            }
            false
        };
        let own = self.findings.iter().position(|finding| {
            let by = finding.called_by.as_deref();
            finding.function == name && by.is_none_or(called_by)
        });
        match own.map(|at| self.of_finding(at)) {
            Some(own) => (own, own != above),
            None => (above, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::Site;

    fn finding(function: &str, called_by: Option<&str>) -> Finding {
        Finding {
            headline: function.to_owned(),
            function: function.to_owned(),
            called_by: called_by.map(str::to_owned),
            ..Finding::default()
        }
    }

    /// root > f > g > h, and root > g. g is a finding only below f, h is a finding, and f is not.
    #[test]
    fn time_is_the_innermost_findings() {
        let site = |callee: &str| Site {
            callee: callee.to_owned(),
            ..Site::default()
        };
        let sites = SiteTable {
            root: "root".to_owned(),
            sites: ["f", "g", "h"].map(site).into(),
            ..SiteTable::default()
        };
        let mut paths = Paths::default();
        let f = paths.child(ROOT, 0).unwrap();
        let g = paths.child(f, 1).unwrap();
        let h = paths.child(g, 2).unwrap();
        let other = paths.child(ROOT, 1).unwrap();
        let waits = paths.child(g, State::Preempted.step()).unwrap();
        let before = [finding("g", Some("f"))];
        let after = [finding("g", Some("f")), finding("h", None)];
        let mut parts = Parts::of(&before, &after);
        parts.meet(&paths, &sites, &ClassTable::default());
        let owner = |node: u32| parts.of_own(node as usize);
        assert_eq!((owner(ROOT), owner(f), owner(other)), (REST, REST, REST));
        assert_eq!(
            (owner(g), owner(h)),
            (parts.of_finding(0), parts.of_finding(1))
        );
        assert_eq!(owner(waits), PROCESSOR);
        assert_eq!(parts.findings[0].found, [true, true]);
        assert_eq!(parts.findings[1].found, [false, true]);
        assert!(parts.is_met(0) && parts.nodes()[g as usize].enters);
    }
}
