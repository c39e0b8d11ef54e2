//! Folded stacks (Brendan Gregg's `stackcollapse` format): one line a call path, `root;f;g 4711`, read by flamegraph.pl,
//! inferno and many more. One weight a file. Calls of one function from several sites of one caller are one frame.

use std::collections::BTreeMap;
use std::io::Write;

use crate::format::{Error, Export, Format};
use crate::weights::NEGATIVE;

/// The format.
pub struct Folded;

impl Format for Folded {
    fn name(&self) -> &'static str {
        "folded"
    }

    fn about(&self) -> &'static str {
        "a line a call path, for flamegraph.pl and inferno"
    }

    fn takes_weight(&self) -> bool {
        true
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let mut lines: BTreeMap<(bool, Vec<String>), i64> = BTreeMap::new();
        for leaf in export.leaves() {
            let value = export.weight.of(leaf.node());
            let names = leaf.stack.iter().map(|node| frame(&node.name));
            if value != 0 {
                *lines.entry((value < 0, names.collect())).or_default() += value;
            }
        }
        if !lines.keys().any(|&(negative, _)| !negative) {
            return Err(Error::NoWeight {
                weight: export.weight,
            });
        }
        for ((negative, names), value) in lines {
            let root = if negative {
                format!("{NEGATIVE};")
            } else {
                String::new()
            };
            writeln!(out, "{root}{} {}", names.join(";"), value.unsigned_abs())?;
        }
        Ok(())
    }
}

/// A name without what separates frames and lines.
fn frame(name: &str) -> String {
    name.replace(';', ":").replace(['\n', '\r'], " ")
}
