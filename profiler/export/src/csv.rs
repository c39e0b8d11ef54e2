//! CSV: one line a node of the tree, parents before children, for spreadsheets and scripts. Shares are fractions and may be
//! negative; what is not known is empty.

use std::io::Write;

use evenkeel_analysis::profile::Node;

use crate::format::{Error, Export, Format};

/// The format.
pub struct Csv;

/// Names of the columns.
const COLUMNS: [&str; 18] = [
    "node",
    "parent",
    "depth",
    "name",
    "site",
    "file",
    "line",
    "kind",
    "is_leaf",
    "calls_mean",
    "mean_ns",
    "sd_ns",
    "variance_fraction",
    "share",
    "share_se",
    "tail_share_p95",
    "tail_share_p99",
    "tail_share_p999",
];

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "a line a node of the variance tree, for spreadsheets and scripts"
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let mut lines = csv::Writer::from_writer(out);
        lines.write_record(COLUMNS).map_err(written)?;
        let mut next = 0;
        let mut open = vec![(&export.profile.tree, None, 0)];
        while let Some((node, parent, depth)) = open.pop() {
            let line = line(node, next, parent, depth);
            lines.write_record(&line).map_err(written)?;
            let below = node.children.iter().rev();
            open.extend(below.map(|child| (child, Some(next), depth + 1)));
            next += 1;
        }
        lines.flush()?;
        Ok(())
    }
}

fn line(node: &Node, at: usize, parent: Option<usize>, depth: usize) -> [String; COLUMNS.len()] {
    let tail = |name: &str| text(node.tail_share.get(name));
    let kind = serde_json::to_value(node.kind).expect("a word");
    [
        at.to_string(),
        text(parent.as_ref()),
        depth.to_string(),
        node.name.clone(),
        node.site.clone(),
        node.file.clone().unwrap_or_default(),
        text(node.line.as_ref()),
        kind.as_str().unwrap_or_default().to_owned(),
        node.children.is_empty().to_string(),
        node.calls_mean.to_string(),
        node.mean_ns.to_string(),
        node.sd_ns.to_string(),
        node.variance_fraction.to_string(),
        node.share.to_string(),
        node.se.to_string(),
        tail("p95"),
        tail("p99"),
        tail("p999"),
    ]
}

fn text(value: Option<&impl ToString>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

fn written(error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Error::Io(error),
        other => Error::Io(std::io::Error::other(format!("{other:?}"))),
    }
}
