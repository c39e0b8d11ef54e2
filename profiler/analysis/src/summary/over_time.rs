//! Columns of time as a profile has them.

use crate::profile::{OverTime, TimeColumn};
use crate::sums::over_time::{self, Column};

/// Columns with the times of `findings`, whose number is that of each node. Nothing where all ended at about one time.
pub fn over_time(
    sums: &over_time::OverTime,
    of_node: &[Option<usize>],
    findings: usize,
    ticks_per_ns: f64,
) -> Option<OverTime> {
    let columns = sums.columns();
    let [(first, ..), _, ..] = columns[..] else {
        return None;
    };
    let is_by_minute = sums.is_by_minute();
    let cells = || columns.iter().flat_map(|(.., column)| filled(column));
    let (lowest, highest) = (cells().min()?.0, cells().max()?.0);
    let time = |at: u64| {
        let since = at.saturating_sub(first) as f64;
        if is_by_minute {
            since
        } else {
            since / ticks_per_ns
        }
    };
    let one = |&(from, to, column): &(u64, u64, &Column)| TimeColumn {
        from_ns: time(from),
        to_ns: time(to),
        intervals: column.sums.intervals,
        latency_ns: column.sums.latency as f64 / ticks_per_ns,
        squares_ns2: column.sums.latency_squared as f64 / ticks_per_ns.powi(2),
        cells: filled(column)
            .map(|(cell, count)| (cell - lowest, count))
            .collect(),
        findings: times(column, of_node, findings, ticks_per_ns),
    };
    Some(OverTime {
        began_unix_ns: is_by_minute.then_some(first),
        bounds_ns: (lowest..=highest + 1)
            .map(|cell| over_time::cell_start(cell) / ticks_per_ns)
            .collect(),
        columns: columns.iter().map(one).collect(),
    })
}

/// The cells of a column that have intervals, and how many.
fn filled(column: &Column) -> impl Iterator<Item = (usize, u64)> {
    let cells = column.cells.iter().copied().enumerate();
    cells.filter(|&(_, count)| count > 0)
}

fn times(
    column: &Column,
    of_node: &[Option<usize>],
    findings: usize,
    ticks_per_ns: f64,
) -> Vec<(f64, f64)> {
    let mut sums = vec![(0, 0); findings];
    for (node, &(time, product)) in column.sums.nodes.iter().enumerate() {
        if let Some(finding) = of_node.get(node).copied().flatten() {
            sums[finding].0 += time;
            sums[finding].1 += product;
        }
    }
    let in_ns = |(time, product): (i128, i128)| {
        (
            time as f64 / ticks_per_ns,
            product as f64 / ticks_per_ns.powi(2),
        )
    };
    sums.into_iter().map(in_ns).collect()
}
