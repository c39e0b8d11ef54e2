//! Which node of one tree is which of the other.
//!
//! Below a matched pair, children are matched by name and call site; what is left over (a rebuilt binary moves its call
//! sites) by name alone, the n-th call with the n-th in the order of the code.

use std::collections::VecDeque;

use evenkeel_analysis::profile::Node;
use serde::Serialize;

/// How a node was found in both trees, or that it was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Same function, same call site.
    Site,
    /// Same function, another call site.
    Name,
    /// Only before.
    BeforeOnly,
    /// Only after.
    AfterOnly,
}

/// A node of the two trees laid over each other.
#[derive(Clone, Debug)]
pub(super) struct Pair<'a> {
    pub before: Option<&'a Node>,
    pub after: Option<&'a Node>,
    pub matched: Match,
    /// From the root to here, as in the tree before where it has the node.
    pub steps: Vec<&'a Node>,
    /// Indices of the children among all pairs.
    pub children: Vec<usize>,
}

/// All nodes of both trees, parents before children. The roots are the same by definition.
pub(super) fn pairs<'a>(before: &'a Node, after: &'a Node) -> Vec<Pair<'a>> {
    let root = Pair {
        before: Some(before),
        after: Some(after),
        matched: Match::Site,
        steps: vec![before],
        children: vec![],
    };
    let mut pairs = vec![root];
    let mut next = 0;
    while next < pairs.len() {
        let calls = |node: Option<&'a Node>| node.map_or(&[][..], |node| node.children.as_slice());
        for (before, after, matched) in
            siblings(calls(pairs[next].before), calls(pairs[next].after))
        {
            let mut steps = pairs[next].steps.clone();
            steps.extend(before.or(after));
            let child = pairs.len();
            pairs[next].children.push(child);
            pairs.push(Pair {
                before,
                after,
                matched,
                steps,
                children: vec![],
            });
        }
        next += 1;
    }
    pairs
}

type Matched<'a> = (Option<&'a Node>, Option<&'a Node>, Match);

fn siblings<'a>(before: &'a [Node], after: &'a [Node]) -> Vec<Matched<'a>> {
    let mut left: Vec<&Node> = in_code_order(after);
    let mut take = |wanted: &dyn Fn(&Node) -> bool| {
        left.iter()
            .position(|node| wanted(node))
            .map(|i| left.remove(i))
    };
    let mut matched: Vec<Matched> = Vec::new();
    let mut unmatched: VecDeque<&Node> = VecDeque::new();
    for node in in_code_order(before) {
        match take(&|other| other.name == node.name && other.site == node.site) {
            Some(other) => matched.push((Some(node), Some(other), Match::Site)),
            None => unmatched.push_back(node),
        }
    }
    for node in unmatched {
        match take(&|other| other.name == node.name) {
            Some(other) => matched.push((Some(node), Some(other), Match::Name)),
            None => matched.push((Some(node), None, Match::BeforeOnly)),
        }
    }
    matched.extend(
        left.into_iter()
            .map(|node| (None, Some(node), Match::AfterOnly)),
    );
    matched
}

/// By caller, then by offset in it: `f+0x9` before `f+0x10`.
fn in_code_order(nodes: &[Node]) -> Vec<&Node> {
    let mut nodes: Vec<&Node> = nodes.iter().collect();
    nodes.sort_by_key(|node| {
        let (caller, offset) = node.site.rsplit_once("+0x").unwrap_or((&node.site, ""));
        (caller, u64::from_str_radix(offset, 16).unwrap_or(0))
    });
    nodes
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
    fn by_site_then_by_name_in_the_order_of_the_code() {
        let before = node(
            "root",
            "",
            vec![
                node("f", "root+0x10", vec![]),
                node("f", "root+0x9", vec![]),
                node("g", "root+0x20", vec![node("h", "g+0x1", vec![])]),
                node("gone", "root+0x30", vec![]),
            ],
        );
        // Rebuilt: f's calls moved by 0x40, g's did not; `gone` went and `new` came.
        let after = node(
            "root",
            "",
            vec![
                node("f", "root+0x50", vec![]),
                node("f", "root+0x49", vec![]),
                node("g", "root+0x20", vec![node("h", "g+0x2", vec![])]),
                node("new", "root+0x31", vec![]),
            ],
        );
        let found: Vec<_> = pairs(&before, &after)
            .iter()
            .map(|p| {
                (
                    p.before.map(|n| n.site.clone()),
                    p.after.map(|n| n.site.clone()),
                    p.matched,
                )
            })
            .collect();
        let site = |s: &str| Some(s.to_string());
        assert_eq!(found[0].2, Match::Site);
        assert!(found.contains(&(site("root+0x9"), site("root+0x49"), Match::Name)));
        assert!(found.contains(&(site("root+0x10"), site("root+0x50"), Match::Name)));
        assert!(found.contains(&(site("root+0x20"), site("root+0x20"), Match::Site)));
        assert!(found.contains(&(site("g+0x1"), site("g+0x2"), Match::Name)));
        assert!(found.contains(&(site("root+0x30"), None, Match::BeforeOnly)));
        assert!(found.contains(&(None, site("root+0x31"), Match::AfterOnly)));
        assert_eq!(found.len(), 7);
    }
}
