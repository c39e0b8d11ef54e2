//! The variance tree, pruned to what matters.

use std::collections::HashSet;

use evenkeel_analysis::findings::unseen::SHARE_MIN;
use evenkeel_analysis::profile::{Node, Profile};

use super::style::{Style, title};
use crate::paths::Paths;
use crate::{fit, names, units};

const BAR: usize = 8;

/// Of the guides, while they leave half of the room to the names; one column in a deeper tree.
const COLUMNS_A_LEVEL: usize = 2;

/// Columns before the call, without the bar.
const COLUMNS_BEFORE_CALL: usize = 46;

/// From this width on there is room for a bar.
const WIDTH_FOR_BAR: usize = 90;

pub(super) fn render(profile: &Profile, style: &Style) -> String {
    let kept = select(
        &profile.tree,
        style.tail,
        style.rows.saturating_mul(3).max(1),
    );
    let all = Paths::of(&profile.tree).all().len();
    let left_out = match all - kept.len() {
        0 => String::new(),
        n => format!("; {} smaller calls left out", units::count(n as u64)),
    };
    let remark = format!("shares of variance: calls add up to their caller{left_out}");
    let mut out = title("VARIANCE TREE", &remark, style);
    let tail = units::percentile(style.tail);
    let heading = format!(
        "{}        {}{} {} {}  call",
        fit::right("share", 9),
        " ".repeat(bar_columns(style)),
        fit::right("mean", 8),
        fit::right("calls", 7),
        fit::right(&format!("{tail} tail"), 10)
    );
    out.push_str(&style.paint().dim(&heading));
    out.push('\n');
    let guides = Guides {
        are_narrow: COLUMNS_A_LEVEL * levels(&profile.tree, &kept) > room(style) / 2,
        ..Guides::default()
    };
    rows(&profile.tree, &kept, "", guides, style, &mut out);
    out
}

/// Columns of a row's guides and its name.
fn room(style: &Style) -> usize {
    style.columns() - COLUMNS_BEFORE_CALL - bar_columns(style)
}

/// Levels of calls below a node, as far as they are kept.
fn levels(node: &Node, kept: &HashSet<*const Node>) -> usize {
    let below = kept_children(node, kept).map(|child| 1 + levels(child, kept));
    below.max().unwrap_or_default()
}

fn kept_children<'a>(
    node: &'a Node,
    kept: &HashSet<*const Node>,
) -> impl Iterator<Item = &'a Node> {
    let is_kept = |child: &&Node| kept.contains(&std::ptr::from_ref(*child));
    node.children.iter().filter(is_kept)
}

fn bar_columns(style: &Style) -> usize {
    if style.columns() >= WIDTH_FOR_BAR {
        BAR + 1
    } else {
        0
    }
}

/// The nodes to show: those of largest magnitude, with their callers, as many as fit.
fn select(tree: &Node, tail: &str, rows_max: usize) -> HashSet<*const Node> {
    let all = Paths::of(tree);
    let weight = |node: &Node| {
        node.share
            .abs()
            .max(node.tail_share.get(tail).map_or(0.0, |t| t.abs()))
    };
    // What has little of the variance and of the tail is left out.
    let mut by_weight: Vec<_> = all
        .all()
        .iter()
        .filter(|l| weight(l.node()) >= SHARE_MIN)
        .collect();
    // Stable: of equal weights the caller comes before the callee.
    by_weight.sort_by(|a, b| weight(b.node()).total_cmp(&weight(a.node())));
    let mut kept = HashSet::from([std::ptr::from_ref(tree)]);
    for located in by_weight {
        let missing: Vec<_> = located
            .steps
            .iter()
            .map(|n| std::ptr::from_ref(*n))
            .filter(|n| !kept.contains(n))
            .collect();
        if kept.len() + missing.len() <= rows_max {
            kept.extend(missing);
        }
    }
    kept
}

/// The lines that lead to a row: for itself and for the rows below it.
#[derive(Clone, Debug, Default)]
struct Guides {
    own: String,
    below: String,
    are_narrow: bool,
}

impl Guides {
    /// Those of a child. There is no line below the last one.
    fn of_child(&self, is_last: bool) -> Guides {
        let [branch, under] = match is_last {
            true => ["└ ", "  "],
            false => ["├ ", "│ "],
        };
        let columns = if self.are_narrow { 1 } else { COLUMNS_A_LEVEL };
        let further = |guide: &str| {
            self.below
                .chars()
                .chain(guide.chars().take(columns))
                .collect()
        };
        Guides {
            own: further(branch),
            below: further(under),
            are_narrow: self.are_narrow,
        }
    }
}

fn rows(
    node: &Node,
    kept: &HashSet<*const Node>,
    caller: &str,
    guides: Guides,
    style: &Style,
    out: &mut String,
) {
    out.push_str(&row(node, caller, &guides.own, style));
    let children: Vec<&Node> = kept_children(node, kept).collect();
    for (at, child) in children.iter().enumerate() {
        let below = guides.of_child(at + 1 == children.len());
        rows(child, kept, &node.name, below, style, out);
    }
}

fn row(node: &Node, caller: &str, guide: &str, style: &Style) -> String {
    let (paint, room) = (style.paint(), room(style));
    // Of a deep path the guides give way before the name does, and the site before either.
    let guide = fit::middle(guide, room / 2);
    let name = names::shortened(&node.name, room - fit::columns(&guide));
    let site = site(node, caller);
    let site = if fit::columns(&guide) + fit::columns(&name) + fit::columns(&site) <= room {
        site
    } else {
        String::new()
    };
    let bar = if bar_columns(style) > 0 {
        fit::bar(node.share.abs(), BAR) + " "
    } else {
        String::new()
    };
    // A body is no call, and the root is the interval itself.
    let calls = if node.site.is_empty() {
        String::new()
    } else {
        units::calls(node.calls_mean)
    };
    let tail = node
        .tail_share
        .get(style.tail)
        .map_or(units::ABSENT.to_string(), |t| units::percent(*t));
    format!(
        "{} {} {}{} {} {}  {}{}{}\n",
        paint.bold(&fit::right(&units::percent(node.share), 9)),
        paint.dim(&fit::left(&units::error(node.se), 6)),
        paint.kind(node.kind, &bar),
        fit::right(&units::duration(node.mean_ns), 8),
        fit::right(&calls, 7),
        fit::right(&tail, 10),
        paint.dim(&guide),
        paint.kind(node.kind, &name),
        paint.dim(&site),
    )
}

/// The call site that follows a name: the offset alone where the caller is the row above.
fn site(node: &Node, caller: &str) -> String {
    match node
        .site
        .strip_prefix(caller)
        .filter(|offset| offset.starts_with('+'))
    {
        _ if node.site.is_empty() => String::new(),
        Some(offset) => format!(" {offset}"),
        None => format!(" [{}]", node.site),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_nodes_stay_with_their_callers() {
        let node = |share: f64, children| Node {
            share,
            children,
            ..Node::default()
        };
        // 1.0 > (0.2 > -0.9), 0.6, 0.001. Three rows hold the root and, with its caller, the node of -0.9.
        let tree = node(
            1.0,
            vec![
                node(0.2, vec![node(-0.9, vec![])]),
                node(0.6, vec![]),
                node(0.001, vec![]),
            ],
        );
        let kept = select(&tree, "p99", 3);
        assert!(kept.contains(&std::ptr::from_ref(&tree.children[0].children[0])));
        assert_eq!(kept.len(), 3);
        assert_eq!(select(&tree, "p99", 100).len(), 4);
    }
}
