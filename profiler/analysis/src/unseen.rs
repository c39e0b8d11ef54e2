//! What a profile could not see, in shares of the variance: every report ends with it.
//!
//! Time is not seen where nothing below a call is timed though it makes calls, where some of a function's calls are not timed, so that
//! their time is in its own, and where nobody knows what a thread waited for. The first two only whoever chose the probes can tell:
//! they come as [`Unopened`].

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::profile::{Node, Profile, Unseen};
use crate::sites::Kind;

/// Shares below this are not listed.
pub const SHARE_MIN: f64 = 0.005;
/// Lines of a report, at most.
const LINES_MAX: usize = 8;

/// Why the time at a call is not split further, or that of a function's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Unopened {
    /// The call's probe; nothing for the interval's functions themselves.
    pub probe: Option<u32>,
    /// What hides there, and what would show it.
    pub why: String,
}

/// Lists what the profile's tree does not show, largest share first.
pub fn unseen(profile: &Profile, unopened: &[Unopened]) -> Vec<Unseen> {
    let reasons: HashMap<Option<u32>, &str> = unopened
        .iter()
        .map(|unopened| (unopened.probe, unopened.why.as_str()))
        .collect();
    let mut found: Vec<Unseen> = Vec::new();
    visit(
        &profile.tree,
        &mut |node, why| {
            let name = node.name.as_str();
            let at = found
                .iter()
                .position(|other| other.name == name && other.why == why);
            let at = at.unwrap_or_else(|| {
                found.push(Unseen {
                    name: name.to_owned(),
                    why: why.to_owned(),
                    ..Unseen::default()
                });
                found.len() - 1
            });
            found[at].share += node.share;
            // As if they erred together.
            found[at].se += node.se;
        },
        &reasons,
        profile.tree.probe,
    );
    found.retain(|unseen| unseen.share.abs() >= SHARE_MIN);
    found.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()));
    found.truncate(LINES_MAX);
    found
}

/// Calls `found` for each node whose time hides something. `call`: the probe of the call in which it is.
fn visit<'a>(
    node: &'a Node,
    found: &mut impl FnMut(&'a Node, &str),
    reasons: &HashMap<Option<u32>, &str>,
    call: Option<u32>,
) {
    if let Some(why) = by_kind(node) {
        found(node, why);
    } else if node.children.is_empty() && matches!(node.kind, Kind::Call | Kind::Body) {
        let call = if node.kind == Kind::Body {
            call
        } else {
            node.probe
        };
        if let Some(why) = reasons.get(&call) {
            found(node, why);
        }
    }
    for child in &node.children {
        visit(child, found, reasons, node.probe);
    }
}

/// Time of which the kind says that it is not known.
fn by_kind(node: &Node) -> Option<&'static str> {
    match node.kind {
        Kind::Unseen => Some(
            "records of it were dropped or lost: fewer probes (--max-probes), or a shorter interval, lose fewer",
        ),
        Kind::Asleep => Some(
            "nobody announced what it waited for: the kernel tells it to root, outside of a container",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, kind: Kind, probe: Option<u32>, share: f64, children: Vec<Node>) -> Node {
        Node {
            name: name.into(),
            kind,
            probe,
            share,
            se: 0.01,
            children,
            ..Node::default()
        }
    }

    /// root > a (some of its calls are not timed) > b (not opened), from two places, and c, a leaf that makes no calls.
    #[test]
    fn what_hides_something_is_listed() {
        let body = node("body of a", Kind::Body, None, 0.1, vec![]);
        let b = |share| node("b", Kind::Call, Some(2), share, vec![]);
        let c = node("c", Kind::Call, Some(3), 0.3, vec![]);
        let a = node("a", Kind::Call, Some(1), 0.65, vec![b(0.25), c, body]);
        let asleep = node("off the processor", Kind::Asleep, None, 0.05, vec![]);
        let own = node("body of root", Kind::Body, None, 0.1, vec![]);
        let profile = Profile {
            tree: node("root", Kind::Call, None, 1.0, vec![a, b(0.2), asleep, own]),
            ..Profile::default()
        };
        let because = |probe, why: &str| Unopened {
            probe,
            why: why.into(),
        };
        let unopened = [because(Some(1), "room"), because(Some(2), "closed")];
        let found = unseen(&profile, &unopened);
        let lines: Vec<_> = found
            .iter()
            .map(|unseen| (unseen.name.as_str(), (100.0 * unseen.share).round()))
            .collect();
        assert_eq!(
            lines,
            [("b", 45.0), ("body of a", 10.0), ("off the processor", 5.0)]
        );
        assert_eq!((found[0].why.as_str(), found[0].se), ("closed", 0.02));
    }
}
