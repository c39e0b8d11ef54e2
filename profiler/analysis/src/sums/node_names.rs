//! Names of call paths, for people. Identity is a node's number, a probe's id, or a [`Function`].

use crate::findings::call_path::{CallPath, Step};
use crate::intervals::classes::ClassTable;
use crate::sites::{Function, INDIRECT, Site, SiteTable};
use crate::sums::paths::{PROBES, Paths, ROOT};

/// Names of call paths.
#[derive(Debug)]
pub struct NodeNames<'a> {
    pub(super) paths: &'a Paths,
    pub(super) sites: &'a SiteTable,
    classes: Option<&'a ClassTable>,
}

impl<'a> NodeNames<'a> {
    /// Names of these paths, where classes of other intervals have no names.
    pub fn new(paths: &'a Paths, sites: &'a SiteTable) -> NodeNames<'a> {
        NodeNames {
            paths,
            sites,
            classes: None,
        }
    }

    /// The same with names for the classes of other intervals.
    pub fn with_classes(self, classes: &'a ClassTable) -> NodeNames<'a> {
        NodeNames {
            classes: Some(classes),
            ..self
        }
    }

    /// Name of a class of intervals.
    pub fn class(&self, id: usize) -> &'a str {
        self.classes.map_or("", |classes| classes.name(id))
    }

    /// Name of the function that a probe calls.
    pub fn callee(&self, probe: u32) -> String {
        match self.sites.sites.get(probe as usize) {
            Some(site) => site.callee_shown(),
            None => format!("probe {probe}"),
        }
    }

    /// The function that a probe calls, with its call site where it has one: `f [g+0x10]`.
    pub fn call_with_site(&self, probe: u32) -> String {
        match self.sites.sites.get(probe as usize) {
            Some(site) => Step::at(site).to_string(),
            None => self.callee(probe),
        }
    }

    /// Site of a node's call; nothing at the root, at `PROBES`, and for a probe id the table does not know.
    pub(crate) fn site(&self, node: u32) -> Option<&'a Site> {
        self.sites.sites.get(self.paths.get(node).probe? as usize)
    }

    /// Whether a node's callee is not known before the call.
    pub(crate) fn is_indirect(&self, node: u32) -> bool {
        self.site(node).is_some_and(|site| site.callee == INDIRECT)
    }

    /// Name of a node, as [`crate::profile::Node::name`].
    pub fn call(&self, node: u32) -> String {
        let path = self.paths.get(node);
        match (node, path.state) {
            (ROOT, _) => self.sites.root.clone(),
            (PROBES, _) => "probes".to_owned(),
            (_, Some(state)) => state.name(|class| self.class(class)),
            (_, None) => self.callee(path.probe.unwrap_or_default()),
        }
    }

    /// A node's function. Pointer calls without a known callee are one function for each site. The file is given only
    /// where there is no name.
    pub fn function(&self, node: u32) -> Function {
        let site = self.site(node);
        let by_name = |name| Function { name, file: None };
        match site {
            Some(site) if site.callee == INDIRECT => {
                by_name(format!("{INDIRECT} at {}", site.site))
            }
            Some(site) if site.callee.starts_with("0x") => site.called(),
            _ => by_name(self.call(node)),
        }
    }

    /// Path from the root: `root > f [f+0x10] > g [g+0x2f]`.
    pub fn path(&self, node: u32) -> String {
        self.call_path(node).to_string()
    }

    /// The same as steps.
    pub(crate) fn call_path(&self, node: u32) -> CallPath {
        let above = |&at: &u32| (at != ROOT).then(|| self.paths.get(at).parent);
        let up = std::iter::successors(Some(node), above);
        let mut steps: Vec<Step> = up.map(|at| self.step(at)).collect();
        steps.reverse();
        CallPath(steps)
    }

    /// The last step of a node's path.
    pub(crate) fn step(&self, node: u32) -> Step {
        match self.site(node) {
            Some(site) => Step::at(site),
            None => Step::of(self.call(node)),
        }
    }
}
