//! The tree as a table, for users who sum factors themselves in SQL.
//!
//! Each node has two parts: its inclusive time and its own time ([`Part`]). A part belongs to a function, as a factor
//! does. This table says which parts belong to a factor, or to half of one, so that a query need only add up.

use super::functions::Functions;
use super::is_ranked;
use crate::sites::Kind;
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::ROOT;

/// A node of the tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescribedNode {
    /// The node.
    pub node: u32,
    /// The node above; `None` at the root.
    pub parent: Option<u32>,
    /// Calls from the root.
    pub depth: u32,
    /// As in [`crate::profile::Factor::paths`].
    pub path: String,
    /// As [`crate::profile::Node::name`].
    pub name: String,
    /// Call site; empty where it has none.
    pub site: String,
    /// Source file of the call.
    pub file: Option<String>,
    /// Line of the call.
    pub line: Option<u32>,
    /// What the time is spent on.
    pub kind: Kind,
    /// The function that the node's variance belongs to.
    pub function: String,
    /// Height of the function in the static call graph, raised above those seen below it; at the root, above all.
    pub height: u32,
    /// Whether it can be a factor, or half of one.
    pub is_ranked: bool,
    /// Whether it lies below another call of its function, whose variance includes its own.
    pub is_nested: bool,
    /// Whether timed calls, or states, lie below it: its own time is then a separate part.
    pub has_children: bool,
    /// Name of its own time, if it has children.
    pub own_name: String,
    /// The function that the own time belongs to.
    pub own_function: String,
    /// What its own time is spent on.
    pub own_kind: Kind,
    /// Whether its own time can be a factor, or half of one.
    pub is_own_ranked: bool,
}

/// All nodes that were taken, parents before children.
pub fn described(tree: &VarianceTree<'_>) -> Vec<DescribedNode> {
    let functions = Functions::of(tree);
    let describe = |node: u32| {
        let (call, own) = (Part::Call(node), Part::Body(node));
        let has_children = !tree.children(node).is_empty();
        let site = tree.site(node);
        // A node without timed calls is its own time.
        let own_part = if has_children { own } else { call };
        DescribedNode {
            node,
            parent: (node != ROOT).then(|| tree.paths.get(node).parent),
            depth: tree.paths.get(node).depth,
            path: tree.path(call),
            name: tree.name(call),
            site: site.map_or_else(String::new, |site| site.site.clone()),
            file: site.and_then(|site| site.file.clone()),
            line: site.and_then(|site| site.line),
            kind: tree.kind(call),
            function: functions.name(functions.id(call)),
            height: match node {
                ROOT => functions.root_height(tree),
                _ => functions.height(functions.id(call)),
            },
            is_ranked: node != ROOT && is_ranked(tree, call),
            is_nested: functions.is_nested(tree, call),
            has_children,
            own_name: tree.name(own_part),
            own_function: functions.name(functions.id(own_part)),
            own_kind: tree.kind(own_part),
            is_own_ranked: has_children && is_ranked(tree, own),
        }
    };
    tree.nodes().map(describe).collect()
}
