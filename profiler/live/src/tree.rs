//! The variance tree as rows that can be opened and closed.

use std::collections::HashMap;

use evenkeel_analysis::profile::Node;

/// Deeper nodes begin closed where their share is smaller than this.
const SHOWN_SHARE: f64 = 0.05;

/// Which node: the names and sites from the root on.
pub type Place = Vec<(String, String)>;

/// Rows that the reader has opened and closed.
#[derive(Clone, Debug, Default)]
pub struct Folds {
    by_hand: HashMap<Place, bool>,
}

/// A visible node.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The node.
    pub node: &'a Node,
    /// Where it is.
    pub place: Place,
    /// Whether its children are shown; nothing where it has none.
    pub open: Option<bool>,
    /// Probe of the call that it is, or is part of; nothing directly in the interval.
    pub call: Option<u32>,
}

impl Folds {
    /// The rows to show, the root first.
    pub fn rows<'a>(&self, root: &'a Node) -> Vec<Row<'a>> {
        let mut rows = Vec::new();
        self.add(root, Vec::new(), None, &mut rows);
        rows
    }

    fn add<'a>(&self, node: &'a Node, above: Place, call: Option<u32>, rows: &mut Vec<Row<'a>>) {
        let (mut place, call) = (above, node.probe.or(call));
        place.push((node.name.clone(), node.site.clone()));
        let open = (!node.children.is_empty()).then(|| self.is_open(node, &place));
        rows.push(Row {
            node,
            place: place.clone(),
            open,
            call,
        });
        if open == Some(true) {
            for child in &node.children {
                self.add(child, place.clone(), call, rows);
            }
        }
    }

    fn is_open(&self, node: &Node, place: &Place) -> bool {
        let by_itself = node.share.abs() >= SHOWN_SHARE;
        self.by_hand.get(place).copied().unwrap_or(by_itself)
    }

    /// Opens or closes a node.
    pub fn set(&mut self, place: Place, open: bool) {
        self.by_hand.insert(place, open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, share: f64, children: Vec<Node>) -> Node {
        Node {
            name: name.into(),
            share,
            children,
            ..Node::default()
        }
    }

    #[test]
    fn large_shares_are_open_and_the_reader_decides() {
        let small = node("small", 0.01, vec![node("below", 0.01, vec![])]);
        let large = node("large", 0.9, vec![node("leaf", 0.9, vec![])]);
        let root = node("root", 1.0, vec![large, small]);
        let mut folds = Folds::default();
        let names = |folds: &Folds| -> Vec<String> {
            let rows = folds.rows(&root);
            rows.iter().map(|row| row.node.name.clone()).collect()
        };
        assert_eq!(names(&folds), ["root", "large", "leaf", "small"]);
        let rows = folds.rows(&root);
        assert_eq!(rows[2].open, None);
        assert_eq!(rows[3].open, Some(false));
        let (large, small) = (rows[1].place.clone(), rows[3].place.clone());
        folds.set(large, false);
        folds.set(small, true);
        assert_eq!(names(&folds), ["root", "large", "small", "below"]);
    }
}
