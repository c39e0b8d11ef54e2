//! CSV: one line a node of the tree, parents before children, for spreadsheets and scripts. Shares are fractions and may be
//! negative; what is not known is empty.

use std::io::Write;

use evenkeel_analysis::profile::Node;

use crate::format::{Error, Export, Format};

/// The format.
pub struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "a line a node of the variance tree, for spreadsheets and scripts"
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let mut lines = csv::Writer::from_writer(out);
        let names = line(&export.profile.tree, 0, None, 0).map(|(name, _)| name);
        lines.write_record(names).map_err(written)?;
        let mut next = 0;
        let mut open = vec![(&export.profile.tree, None, 0)];
        while let Some((node, parent, depth)) = open.pop() {
            let values = line(node, next, parent, depth).map(|(_, value)| value);
            lines.write_record(values).map_err(written)?;
            let below = node.children.iter().rev();
            open.extend(below.map(|child| (child, Some(next), depth + 1)));
            next += 1;
        }
        lines.flush()?;
        Ok(())
    }
}

/// The columns of a node.
fn line(
    node: &Node,
    at: usize,
    parent: Option<usize>,
    depth: usize,
) -> [(&'static str, String); 18] {
    let tail = |name: &str| text(node.tail_share.get(name));
    let kind = serde_json::to_value(node.kind).expect("a word");
    [
        ("node", at.to_string()),
        ("parent", text(parent.as_ref())),
        ("depth", depth.to_string()),
        ("name", node.name.clone()),
        ("site", node.site.clone()),
        ("file", node.file.clone().unwrap_or_default()),
        ("line", text(node.line.as_ref())),
        ("kind", kind.as_str().unwrap_or_default().to_owned()),
        ("is_leaf", node.children.is_empty().to_string()),
        ("calls_mean", node.calls_mean.to_string()),
        ("mean_ns", node.mean_ns.to_string()),
        ("sd_ns", node.sd_ns.to_string()),
        ("variance_fraction", node.variance_fraction.to_string()),
        ("share", node.share.to_string()),
        ("share_se", node.se.to_string()),
        ("tail_share_p95", tail("p95")),
        ("tail_share_p99", tail("p99")),
        ("tail_share_p999", tail("p999")),
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
