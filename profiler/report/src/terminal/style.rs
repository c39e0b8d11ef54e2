//! How every section of the report looks: its width and colours, its title, the names of call paths in it.

use super::paint::Paint;
use crate::paths::{Paths, step};
use crate::{fit, names};

/// Narrower than this the columns do not fit.
pub const WIDTH_MIN: usize = 80;

/// How the report looks. Whether the terminal wants colours (`NO_COLOR`, a pipe) is for the caller to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style<'a> {
    /// Columns, at least [`WIDTH_MIN`].
    pub width: usize,
    /// ANSI colours.
    pub colour: bool,
    /// The tail to report on, by percentile name: `p95`, `p99` or `p999`.
    pub tail: &'a str,
    /// Each class with the paths that vary most within it, not only the table of classes.
    pub by_class: bool,
    /// Factors listed at most; the tree gets three rows for each.
    pub rows: usize,
    /// Number of the slowest intervals that are listed.
    pub slowest: usize,
    /// The whole comparison of the slowest with the middle, not only where they differ most.
    pub cohorts: bool,
}

impl Default for Style<'_> {
    fn default() -> Self {
        Self {
            width: 100,
            colour: false,
            tail: "p99",
            by_class: false,
            rows: 10,
            slowest: 0,
            cohorts: false,
        }
    }
}

impl Style<'_> {
    pub(crate) fn columns(&self) -> usize {
        self.width.max(WIDTH_MIN)
    }

    pub(crate) fn paint(&self) -> Paint {
        Paint { on: self.colour }
    }
}

/// A call path in at most `width` columns: by the names and the last site of its node, for a pair by the names above it and its two
/// calls. Without nodes the text is cut.
pub(crate) fn place(path: &str, nodes: &[u32], paths: &Paths, width: usize) -> String {
    let found: Vec<_> = nodes.iter().filter_map(|&id| paths.find(id)).collect();
    match found.as_slice() {
        [one] => names::path(&one.names(), width),
        [a, b] => {
            let above = a.steps[..a.steps.len() - 1].iter();
            let mut steps: Vec<String> = above.map(|node| names::compact(&node.name)).collect();
            let mut calls = [a, b].map(|call| step(call.node()));
            calls.sort();
            let room = width.saturating_sub(fit::columns("… > {}"));
            steps.push(format!("{{{}}}", names::joined(&calls, ", ", room)));
            fit::path(&steps, width)
        }
        _ => names::written(path, width),
    }
}

/// A section's title, with a remark in the rest of the line and below it.
pub(crate) fn title(name: &str, remark: &str, style: &Style) -> String {
    let paint = style.paint();
    let room = style.columns() - fit::columns(name) - 2;
    let mut remarks = fit::wrap(remark, room).into_iter();
    let mut out = paint.title(name);
    if let Some(first) = remarks.next() {
        out.push_str(&format!("  {}", paint.dim(&first)));
    }
    out.push('\n');
    for more in remarks {
        out.push_str(&format!(
            "{:indent$}{}\n",
            "",
            paint.dim(&more),
            indent = fit::columns(name) + 2
        ));
    }
    out
}
