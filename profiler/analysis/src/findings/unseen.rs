//! The time that a profile could not see, in shares of the variance; every report ends with it.
//!
//! There are three kinds of unseen time: calls that are not opened, functions with some untimed calls, and waits for an
//! unknown reason. Only the code that chose the probes knows the first two, and passes them as [`Unopened`]. A wait in
//! such a place is unseen, too: its object is known, but not the call that waits.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::findings::reasons::NotSplit;
use crate::profile::{Node, Unseen};
use crate::sites::Kind;

/// Shares below this are neither listed nor in the tree of a report.
pub const SHARE_MIN: f64 = 0.005;
/// Lines of a report, at most.
const LINES_MAX: usize = 8;

/// The reason why a call's time, or a function's own time, is not split further.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Unopened {
    /// The call's probe; `None` for the interval's functions themselves.
    pub probe: Option<u32>,
    /// The reason, which also says what would show the time.
    pub why: NotSplit,
    /// Whether waits in it explain its time nevertheless, as in functions of the C library.
    #[serde(default)]
    pub waits_tell: bool,
}

type Reasons<'a> = HashMap<Option<u32>, &'a Unopened>;

/// Lists what a profile's tree does not show, largest share first.
pub fn unseen(tree: &Node, unopened: &[Unopened]) -> Vec<Unseen> {
    let reasons: Reasons<'_> = unopened
        .iter()
        .map(|unopened| (unopened.probe, unopened))
        .collect();
    let mut found: Vec<Unseen> = Vec::new();
    let mut add = |name: &str, share: f64, se: f64, why: &NotSplit| {
        let at = found
            .iter()
            .position(|other| other.name == name && other.why == *why);
        let at = at.unwrap_or_else(|| {
            found.push(Unseen {
                name: name.to_owned(),
                why: why.clone(),
                ..Unseen::default()
            });
            found.len() - 1
        });
        found[at].share += share;
        // The errors add up as if fully correlated.
        found[at].se += se;
    };
    if let Some(unopened) = reasons
        .get(&tree.probe)
        .filter(|_| tree.children.is_empty())
    {
        add(&tree.name, tree.share, tree.se, &unopened.why);
    }
    visit(tree, &mut add, &reasons);
    found.retain(|unseen| unseen.share.abs() >= SHARE_MIN);
    found.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()));
    found.truncate(LINES_MAX);
    found
}

/// Calls `found` with the name, the share, its error and the reason of each node below `parent` whose time hides
/// something.
fn visit(parent: &Node, found: &mut impl FnMut(&str, f64, f64, &NotSplit), reasons: &Reasons<'_>) {
    for child in &parent.children {
        if let Some(why) = by_kind(child).or_else(|| by_place(child, parent, reasons)) {
            found(&child.name, child.share, child.se, why);
        } else if let Some(why) = in_no_known_call(child, parent, reasons) {
            let name = format!("{} in {}", child.name, parent.name);
            found(&name, without_others(child), child.se, why);
        }
        visit(child, found, reasons);
    }
}

/// The reason why a leaf is not split further, if its parent determines it.
fn by_place<'a>(node: &Node, parent: &Node, reasons: &Reasons<'a>) -> Option<&'a NotSplit> {
    let call = match (node.kind, parent.kind) {
        _ if !node.children.is_empty() => return None,
        (Kind::Call, _) => node.probe,
        // A thread's activity while the interval waited for it.
        (Kind::Body | Kind::NotOpened, Kind::Others | Kind::Helper) => {
            return Some(&NotSplit::InNoTimedCall);
        }
        (Kind::Body | Kind::NotOpened, _)
            if parent.kind == Kind::Call || parent.probe.is_some() =>
        {
            parent.probe
        }
        _ => return None,
    };
    reasons.get(&call).map(|unopened| &unopened.why)
}

/// The reason why the call in which a thread waited is not known.
fn in_no_known_call<'a>(node: &Node, parent: &Node, reasons: &Reasons<'a>) -> Option<&'a NotSplit> {
    if node.probe.is_some() || !node.kind.is_wait() {
        return None;
    }
    if matches!(parent.kind, Kind::Others | Kind::Helper) {
        return Some(&NotSplit::InNoTimedCall);
    }
    let is_call = parent.kind == Kind::Call || parent.probe.is_some();
    let unopened = reasons.get(&parent.probe).filter(|_| is_call)?;
    (!unopened.waits_tell).then_some(&unopened.why)
}

/// The share of a wait without the others' activity and the time to run again: those are known wherever it waited.
fn without_others(wait: &Node) -> f64 {
    let known = wait.children.iter().filter(|child| {
        matches!(
            child.kind,
            Kind::Others | Kind::Helper | Kind::Woken | Kind::Queued | Kind::Preempted
        )
    });
    wait.share - known.map(|child| child.share).sum::<f64>()
}

/// The reason for time whose kind means that it is not known.
fn by_kind(node: &Node) -> Option<&'static NotSplit> {
    match node.kind {
        Kind::Unseen => Some(&NotSplit::RecordsLost),
        Kind::Asleep => Some(&NotSplit::Unannounced),
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

    fn lines(found: &[Unseen]) -> Vec<(&str, f64, NotSplit)> {
        let lines = found.iter();
        let lines = lines.map(|unseen| (unseen.name.as_str(), unseen.share, unseen.why.clone()));
        lines.collect()
    }

    /// The rest of a wait is not time of the interval's functions, and another thread's activity is its own.
    #[test]
    fn what_is_left_of_a_wait_has_not_the_reason_of_the_interval() {
        let rest = |share| node("rest", Kind::Body, None, share, vec![]);
        let woken = node("woken", Kind::Woken, None, 0.5, vec![rest(0.3)]);
        let others = node("theirs", Kind::Others, None, 0.2, vec![rest(0.2)]);
        let own = node("body of root", Kind::Body, None, 0.1, vec![]);
        let tree = node("root", Kind::Call, None, 1.0, vec![woken, others, own]);
        let of_root = Unopened {
            probe: None,
            why: NotSplit::Pointers,
            waits_tell: false,
        };
        let found = unseen(&tree, &[of_root]);
        assert_eq!(
            lines(&found),
            [
                ("rest", 0.2, NotSplit::InNoTimedCall),
                ("body of root", 0.1, NotSplit::Pointers)
            ]
        );
    }

    /// root > a (not opened): a sleeps, and waits for another thread that sleeps. root > b, of the C library: b sleeps.
    #[test]
    fn a_wait_in_what_is_not_opened_is_listed() {
        let timer = |share| node("waits: timer", Kind::Timer, None, share, vec![]);
        let theirs = node("theirs", Kind::Others, None, 0.2, vec![timer(0.15)]);
        let lock = node("waits: mutex", Kind::Lock, None, 0.2, vec![theirs]);
        let a = node("a", Kind::Call, Some(1), 0.5, vec![timer(0.3), lock]);
        let b = node("b", Kind::Timer, Some(2), 0.4, vec![timer(0.4)]);
        let tree = node("root", Kind::Call, None, 1.0, vec![a, b]);
        let unopened = |probe, why: NotSplit, waits_tell| Unopened {
            probe: Some(probe),
            why,
            waits_tell,
        };
        let found = unseen(
            &tree,
            &[
                unopened(1, NotSplit::NotOpened, false),
                unopened(2, NotSplit::System, true),
            ],
        );
        assert_eq!(
            lines(&found),
            [
                ("waits: timer in a", 0.3, NotSplit::NotOpened),
                ("waits: timer in theirs", 0.15, NotSplit::InNoTimedCall)
            ]
        );
    }

    /// root > a (some of its calls are not timed) > b (not opened), from two places, and c, a leaf that makes no calls.
    #[test]
    fn what_hides_something_is_listed() {
        let body = node("body of a", Kind::Body, None, 0.1, vec![]);
        let b = |share| node("b", Kind::Call, Some(2), share, vec![]);
        let c = node("c", Kind::Call, Some(3), 0.3, vec![]);
        let a = node("a", Kind::Call, Some(1), 0.65, vec![b(0.25), c, body]);
        let asleep = node("off-CPU", Kind::Asleep, None, 0.05, vec![]);
        let own = node("body of root", Kind::Body, None, 0.1, vec![]);
        // Less than half a percent is not listed.
        let lost = node("lost", Kind::Unseen, None, 0.006, vec![]);
        let few = node("few", Kind::Unseen, None, 0.004, vec![]);
        let below = vec![a, b(0.2), asleep, own, lost, few];
        let tree = node("root", Kind::Call, None, 1.0, below);
        let because = |probe, why| Unopened {
            probe,
            why,
            waits_tell: false,
        };
        let unopened = [
            because(Some(1), NotSplit::NoRoom),
            because(Some(2), NotSplit::NotOpened),
        ];
        let found = unseen(&tree, &unopened);
        let lines: Vec<_> = found
            .iter()
            .map(|unseen| (unseen.name.as_str(), (1000.0 * unseen.share).round()))
            .collect();
        assert_eq!(
            lines,
            [
                ("b", 450.0),
                ("body of a", 100.0),
                ("off-CPU", 50.0),
                ("lost", 6.0)
            ]
        );
        assert_eq!((&found[0].why, found[0].se), (&NotSplit::NotOpened, 0.02));
    }
}
