//! Sums by time: how latency, and where it is spent, changed while a run went on.
//!
//! Columns are stretches of time of one length, a power of two of the clock's units. When there are too many, neighbours merge and the length
//! doubles: memory does not grow with the run. Of a recording of sums, a column is a minute, or several.

use std::collections::BTreeMap;

use crate::sums::Sums;
use crate::sums::histogram::Histogram;
use crate::sums::moments::WeightedTicks;
use crate::sums::vectors::Vector;

/// Columns, at most; at least half of it once the run is long enough.
const COLUMNS_MAX: u64 = 128;
/// The same where there are many call paths.
const COLUMNS_FEW: u64 = 32;
/// Numbers kept of all columns together, about.
const CELLS_MAX: u64 = 1 << 20;
/// Length of the first columns, as a power of two: a quarter of a millisecond at four ticks a nanosecond.
const LENGTH_FIRST_LOG2: u32 = 20;
/// Cells of an octave of latencies, as a power of two.
const CELLS_LOG2: u32 = 2;

/// What the intervals that ended in a stretch of time add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// When it begins, where columns are minutes: nanoseconds since 1970.
    pub began_unix_ns: Option<u64>,
    /// Intervals: the sum of their weights.
    pub intervals: u64,
    /// Sum of latencies, ticks.
    pub latency: i128,
    /// Sum of their squares.
    pub latency_squared: i128,
    /// Intervals by cell of latency ([`cell_start`]).
    pub cells: BTreeMap<u16, u64>,
    /// By node: sums of its own time and of its product with the latency; zero beyond the end.
    pub own: Vec<(i128, i128)>,
}

/// Columns by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverTime {
    columns: BTreeMap<u64, Column>,
    /// Length of a column, as a power of two, beyond that of the first.
    doubled: u32,
}

impl Column {
    fn merge(&mut self, other: &Column, own: impl Fn(u32) -> u32) {
        self.began_unix_ns = match (self.began_unix_ns, other.began_unix_ns) {
            (Some(mine), Some(other)) => Some(mine.min(other)),
            (mine, other) => mine.or(other),
        };
        self.intervals += other.intervals;
        self.latency += other.latency;
        self.latency_squared += other.latency_squared;
        for (&cell, count) in &other.cells {
            *self.cells.entry(cell).or_default() += count;
        }
        for (node, &(time, product)) in other.own.iter().enumerate() {
            self.spend(own(node as u32), time, product);
        }
    }

    fn spend(&mut self, node: u32, time: i128, product: i128) {
        let node = node as usize;
        if self.own.len() <= node {
            self.own.resize(node + 1, (0, 0));
        }
        self.own[node].0 += time;
        self.own[node].1 += product;
    }
}

impl OverTime {
    /// Adds an interval that ended at this time, ticks.
    pub fn add(&mut self, end: u64, vector: &Vector<'_>) {
        let number = end >> LENGTH_FIRST_LOG2;
        let (latency, weight) = (vector.latency, vector.weight);
        let weighted = WeightedTicks::new(weight, latency);
        let columns = self.columns.len();
        let column = self.column(number);
        let nodes = column.own.len();
        column.intervals += vector.weight;
        column.latency += weighted.sum();
        column.latency_squared += weighted.times(latency);
        let cell = cell_of(vector.latency as u64);
        *column.cells.entry(cell).or_default() += vector.weight;
        for entry in vector.entries {
            let own = WeightedTicks::new(weight, entry.exclusive);
            column.spend(entry.node, own.sum(), own.times(latency));
        }
        if column.own.len() > nodes || self.columns.len() > columns {
            self.coarsen();
        }
    }

    /// Adds the minute of this number of a recording of sums.
    pub fn add_minute(
        &mut self,
        number: u64,
        began_unix_ns: u64,
        sums: &Sums,
        histogram: &Histogram,
    ) {
        if sums.intervals == 0 {
            return;
        }
        let own = |node: u32| node;
        let minute = Column {
            began_unix_ns: Some(began_unix_ns),
            intervals: sums.intervals,
            latency: sums.latency,
            latency_squared: sums.latency_squared,
            cells: histogram
                .bins()
                .fold(BTreeMap::new(), |mut cells, (from, _, count)| {
                    *cells.entry(cell_of(from)).or_default() += count;
                    cells
                }),
            own: sums
                .nodes
                .iter()
                .map(|node| (node.exclusive, node.exclusive_latency))
                .collect(),
        };
        self.column(number).merge(&minute, own);
        self.coarsen();
    }

    /// Adds the intervals of another, on the same clock; the own time of its node `n` is that of `own(n)` of these.
    pub fn merge(&mut self, other: &OverTime, own: impl Fn(u32) -> u32) {
        while self.doubled < other.doubled {
            self.double();
        }
        for (number, column) in &other.columns {
            let number = number >> (self.doubled - other.doubled);
            self.columns.entry(number).or_default().merge(column, &own);
        }
        self.coarsen();
    }

    fn column(&mut self, number: u64) -> &mut Column {
        self.columns.entry(number >> self.doubled).or_default()
    }

    /// Merges neighbours until there are not too many columns.
    fn coarsen(&mut self) {
        loop {
            let ends = (
                self.columns.first_key_value(),
                self.columns.last_key_value(),
            );
            let (Some((first, _)), Some((last, column))) = ends else {
                return;
            };
            let most = CELLS_MAX / (2 * column.own.len() as u64 + 1);
            if last - first < most.clamp(COLUMNS_FEW, COLUMNS_MAX) {
                return;
            }
            self.double();
        }
    }

    fn double(&mut self) {
        self.doubled += 1;
        for (number, column) in std::mem::take(&mut self.columns) {
            let onto = self.columns.entry(number / 2).or_default();
            onto.merge(&column, |node| node);
        }
    }

    /// The columns that have intervals, in order of time: each with its beginning and its end. These are ticks or, where the columns are minutes,
    /// nanoseconds since 1970.
    pub fn columns(&self) -> Vec<(u64, u64, &Column)> {
        let starts: Vec<u64> = self
            .columns
            .iter()
            .map(|(number, column)| {
                column
                    .began_unix_ns
                    .unwrap_or(number << (self.doubled + LENGTH_FIRST_LOG2))
            })
            .collect();
        let usual = starts
            .windows(2)
            .map(|two| two[1].saturating_sub(two[0]))
            .min();
        let all = self.columns.values().enumerate();
        all.map(|(at, column)| {
            let from = starts[at];
            let to = match column.began_unix_ns {
                // A minute lasts until the next, or as long as others where it is the last, or the session paused.
                Some(_) => {
                    let length = usual.unwrap_or(60_000_000_000);
                    let next = starts.get(at + 1).copied().unwrap_or(u64::MAX);
                    next.min(from.saturating_add(length)).max(from + 1)
                }
                None => from + (1 << (self.doubled + LENGTH_FIRST_LOG2)),
            };
            (from, to, column)
        })
        .collect()
    }

    /// Whether columns are minutes, on the clock of the day.
    pub fn is_by_minute(&self) -> bool {
        let mut columns = self.columns.values();
        columns.any(|column| column.began_unix_ns.is_some())
    }
}

/// Cell of a latency.
fn cell_of(ticks: u64) -> u16 {
    let ticks = ticks.max(1 << CELLS_LOG2);
    let octave = ticks.ilog2();
    let part = (ticks >> (octave - CELLS_LOG2)) & ((1 << CELLS_LOG2) - 1);
    ((octave << CELLS_LOG2) as u64 + part) as u16
}

/// Smallest latency of a cell, ticks.
pub fn cell_start(cell: u16) -> f64 {
    let (octave, part) = (cell >> CELLS_LOG2, cell & ((1 << CELLS_LOG2) - 1));
    let whole = f64::from(1u16 << CELLS_LOG2);
    2f64.powi(octave.into()) * (1.0 + f64::from(part) / whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::vectors::Entry;

    fn add(over_time: &mut OverTime, end: u64, latency: i64, weight: u64) {
        let mut entry = Entry::default();
        (entry.exclusive, entry.inclusive) = (latency, latency);
        over_time.add(
            end,
            &Vector {
                latency,
                entries: &[entry],
                siblings: &[],
                closure_error: 0,
                weight,
            },
        );
    }

    fn total(over_time: &OverTime) -> Column {
        let mut all = Column::default();
        let columns = over_time.columns();
        columns
            .iter()
            .for_each(|(_, _, one)| all.merge(one, |node| node));
        all
    }

    #[test]
    fn a_cell_holds_its_latency() {
        for ticks in [4, 5, 7, 8, 9, 1_000, 1_250, 1 << 40, u64::MAX] {
            let cell = cell_of(ticks);
            assert!(cell_start(cell) <= ticks as f64 && (ticks as f64) <= cell_start(cell + 1));
            assert!(cell_start(cell + 1) / cell_start(cell) <= 1.25);
        }
    }

    /// However long the run, the number of columns is bounded, and no interval is lost: each column has the mean of its
    /// time.
    #[test]
    fn columns_merge_and_lose_nothing() {
        let mut over_time = OverTime::default();
        for at in 0..10_000 {
            let latency = if at < 5_000 { 1_000 } else { 3_000 };
            add(&mut over_time, (1 << 40) + at * 100_000_000, latency, 2);
        }
        let columns = over_time.columns();
        assert!((64..=128).contains(&columns.len()), "{}", columns.len());
        for pair in columns.windows(2) {
            assert_eq!(pair[0].1, pair[1].0, "without gaps");
        }
        let all = total(&over_time);
        assert_eq!((all.intervals, all.latency), (20_000, 40_000_000));
        assert_eq!(all.own[0], (40_000_000, 10_000 * (1_000_000 + 9_000_000)));
        let mean = |column: &Column| column.latency / i128::from(column.intervals);
        assert_eq!(
            (mean(columns[0].2), mean(columns[columns.len() - 1].2)),
            (1_000, 3_000)
        );
        assert_eq!(columns[0].2.cells.len(), 1);
    }

    /// The columns of two halves of a run add up to those of the run, although one half has longer columns.
    #[test]
    fn rounds_add_up() {
        let (mut whole, mut first, mut second) = Default::default();
        for at in 0..2_000 {
            let part = if at < 100 { &mut first } else { &mut second };
            for one in [part, &mut whole] {
                add(one, at * 10_000_000, 1_000 + at as i64, 1);
            }
        }
        let mut both = first.clone();
        both.merge(&second, |node| node);
        assert_eq!(total(&both), total(&whole));
        assert!(both.columns().len() <= 128);
    }

    #[test]
    fn minutes_keep_their_time() {
        let mut over_time = OverTime::default();
        for number in 0..3 {
            let sums = Sums {
                intervals: 10,
                latency: 1_000,
                ..Sums::default()
            };
            let began = 1_000_000_000 * (1 + number);
            over_time.add_minute(number, began, &sums, &Histogram::default());
        }
        assert!(over_time.is_by_minute());
        let times: Vec<_> = over_time
            .columns()
            .iter()
            .map(|one| (one.0, one.1))
            .collect();
        let second = 1_000_000_000;
        assert_eq!(times, [1, 2, 3].map(|at| (at * second, (at + 1) * second)));
    }
}
