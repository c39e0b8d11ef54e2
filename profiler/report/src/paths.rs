//! Call paths of the variance tree: their names, and which nodes a factor sums.

use std::collections::HashMap;

use evenkeel_analysis::profile::{Factor, Node};

/// A node with the calls that lead to it.
#[derive(Clone, Debug)]
pub struct Located<'a> {
    /// From the root to the node, both included.
    pub steps: Vec<&'a Node>,
    /// As in [`Factor::paths`]: `root > f [f+0x10] > g [g+0x2f]`.
    pub path: String,
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

/// All nodes of a tree by path.
#[derive(Debug)]
pub struct Paths<'a> {
    located: Vec<Located<'a>>,
    by_path: HashMap<String, usize>,
}

impl<'a> Paths<'a> {
    /// Walks the tree once, parents before children.
    pub fn of(tree: &'a Node) -> Self {
        let mut located = Vec::new();
        let mut open = vec![Located {
            steps: vec![tree],
            path: step(tree),
        }];
        while let Some(here) = open.pop() {
            for child in here.node().children.iter().rev() {
                let mut steps = here.steps.clone();
                steps.push(child);
                open.push(Located {
                    steps,
                    path: format!("{} > {}", here.path, step(child)),
                });
            }
            located.push(here);
        }
        let by_path = located
            .iter()
            .enumerate()
            .map(|(i, l)| (l.path.clone(), i))
            .collect();
        Self { located, by_path }
    }

    /// Every node, parents before children.
    pub fn all(&self) -> &[Located<'a>] {
        &self.located
    }

    /// The node of a path.
    pub fn find(&self, path: &str) -> Option<&Located<'a>> {
        self.by_path.get(path).map(|&i| &self.located[i])
    }

    /// The nodes of a factor's paths that the tree has, without those below another of them (recursion), so that their
    /// inclusive times may be added.
    pub fn of_factor(&self, factor: &Factor) -> Vec<&Located<'a>> {
        let found: Vec<_> = factor
            .paths
            .iter()
            .filter_map(|path| self.find(path))
            .collect();
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

    fn node(name: &str, site: &str, children: Vec<Node>) -> Node {
        Node {
            name: name.into(),
            site: site.into(),
            children,
            ..Node::default()
        }
    }

    #[test]
    fn recursion_is_counted_once() {
        let inner = node("f", "f+0x9", vec![]);
        let tree = node(
            "root",
            "",
            vec![
                node("f", "root+0x5", vec![inner]),
                node("f", "root+0x8", vec![]),
            ],
        );
        let paths = Paths::of(&tree);
        let factor = Factor {
            paths: [
                "root > f [root+0x5]",
                "root > f [root+0x5] > f [f+0x9]",
                "root > f [root+0x8]",
                "gone",
            ]
            .map(String::from)
            .to_vec(),
            ..Factor::default()
        };
        let found: Vec<_> = paths
            .of_factor(&factor)
            .iter()
            .map(|l| l.node().site.as_str())
            .collect();
        assert_eq!(found, ["root+0x5", "root+0x8"]);
        assert_eq!(paths.all().len(), 4);
        assert_eq!(
            paths
                .find("root > f [root+0x5] > f [f+0x9]")
                .unwrap()
                .names(),
            ["root", "f", "f [f+0x9]"]
        );
    }
}
