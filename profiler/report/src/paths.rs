//! Call paths of the variance tree: their names, and which nodes a factor sums.

use std::collections::HashMap;

use evenkeel_analysis::profile::{Factor, Node};

/// A node with the calls that lead to it.
#[derive(Clone, Debug)]
pub struct Located<'a> {
    /// From the root to the node, both included.
    pub steps: Vec<&'a Node>,
}

impl<'a> Located<'a> {
    /// The node itself.
    pub fn node(&self) -> &'a Node {
        self.steps[self.steps.len() - 1]
    }

    /// Names from the root down; only the last one has its site.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.steps.iter().map(|node| node.name.clone()).collect();
        if let Some(last) = names.last_mut() {
            *last = step(self.node());
        }
        names
    }
}

/// A step of a path: the name and, where there is one, the call site.
pub fn step(node: &Node) -> String {
    if node.site.is_empty() {
        node.name.clone()
    } else {
        format!("{} [{}]", node.name, node.site)
    }
}

/// All nodes of a tree by number.
#[derive(Debug)]
pub struct Paths<'a> {
    located: Vec<Located<'a>>,
    by_id: HashMap<u32, usize>,
}

impl<'a> Paths<'a> {
    /// Walks the tree once, parents before children.
    pub fn of(tree: &'a Node) -> Self {
        let mut located = Vec::new();
        let mut open = vec![Located { steps: vec![tree] }];
        while let Some(here) = open.pop() {
            for child in here.node().children.iter().rev() {
                let mut steps = here.steps.clone();
                steps.push(child);
                open.push(Located { steps });
            }
            located.push(here);
        }
        let numbered = located.iter().enumerate();
        let by_id = numbered.map(|(at, it): (usize, &Located)| (it.node().id, at));
        Self {
            by_id: by_id.collect(),
            located,
        }
    }

    /// Every node, parents before children.
    pub fn all(&self) -> &[Located<'a>] {
        &self.located
    }

    /// The node with this number.
    pub fn find(&self, id: u32) -> Option<&Located<'a>> {
        self.by_id.get(&id).map(|&at| &self.located[at])
    }

    /// The nodes that a factor sums, without those below another of them (recursion), so that their
    /// inclusive times may be added.
    pub fn of_factor(&self, factor: &Factor) -> Vec<&Located<'a>> {
        let nodes = factor.nodes.iter().flatten();
        let found: Vec<_> = nodes.filter_map(|&id| self.find(id)).collect();
        let below = |inner: &Located, outer: &Located| {
            inner.steps.len() > outer.steps.len()
                && std::ptr::eq(inner.steps[outer.steps.len() - 1], outer.node())
        };
        found
            .iter()
            .filter(|inner| !found.iter().any(|outer| below(inner, outer)))
            .copied()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u32, site: &str, children: Vec<Node>) -> Node {
        Node {
            id,
            name: "f".into(),
            site: site.into(),
            children,
            ..Node::default()
        }
    }

    #[test]
    fn recursion_is_counted_once() {
        let inner = node(3, "f+0x9", vec![]);
        let calls = vec![
            node(1, "root+0x5", vec![inner]),
            node(2, "root+0x8", vec![]),
        ];
        let tree = node(0, "", calls);
        let paths = Paths::of(&tree);
        let factor = Factor {
            nodes: vec![vec![1], vec![3], vec![2], vec![9]],
            ..Factor::default()
        };
        let found: Vec<_> = paths
            .of_factor(&factor)
            .iter()
            .map(|l| l.node().site.as_str())
            .collect();
        assert_eq!(found, ["root+0x5", "root+0x8"]);
        assert_eq!(paths.all().len(), 4);
        assert_eq!(paths.find(3).unwrap().names(), ["f", "f", "f [f+0x9]"]);
    }
}
