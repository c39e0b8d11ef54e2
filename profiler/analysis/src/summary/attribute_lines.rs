//! A profile's lines about attributes.

use crate::intervals::attributes::{AttributeSums, AttributeTable, Group};
use crate::profile::{Attribute, AttributeFit, AttributeValue};
use crate::sums::Sums;
use crate::sums::blocks::Blocks;
use crate::sums::moments::standard_deviation;

/// All attributes of a round, those that explain most first.
pub fn attributes(
    total: &Sums,
    blocks: &Blocks,
    table: &AttributeTable,
    ticks_per_ns: f64,
) -> Vec<Attribute> {
    if total.attributes.is_empty() {
        return Vec::new();
    }
    // Explained part and correlation of each, in turn.
    let replicates = blocks.jackknife(total, |sums| {
        let both = |sums: &AttributeSums| [sums.explained(), sums.correlation().unwrap_or(0.0)];
        sums.attributes.iter().flat_map(both).collect()
    });
    let present = total.attributes.iter().enumerate();
    let present = present.filter(|(_, sums)| sums.intervals > 0);
    let mut lines: Vec<_> = present
        .map(|(at, sums)| Attribute {
            se: replicates.standard_error(2 * at),
            correlation_se: replicates.standard_error(2 * at + 1),
            ..line(sums, table.name(at as u16), ticks_per_ns)
        })
        .collect();
    lines.sort_by(|a, b| b.explained.total_cmp(&a.explained));
    lines
}

fn line(sums: &AttributeSums, name: &str, ticks_per_ns: f64) -> Attribute {
    let intervals = sums.intervals as f64;
    let value = |(&value, group): (&i64, &Group)| AttributeValue {
        value,
        intervals: group.intervals,
        mean_ns: group.latency as f64 / group.intervals as f64 / ticks_per_ns,
    };
    let correlation = sums.correlation();
    Attribute {
        name: name.to_owned(),
        intervals: sums.intervals,
        mean: sums.value as f64 / intervals,
        sd: standard_deviation(sums.value_moment(), sums.intervals),
        fit: match sums.too_many {
            true => AttributeFit::Linear,
            false => AttributeFit::ByValue,
        },
        explained: sums.explained(),
        correlation,
        slope_ns: correlation.map(|_| sums.both_moment() / sums.value_moment() / ticks_per_ns),
        values: sums.groups.iter().map(value).collect(),
        ..Attribute::default()
    }
}
