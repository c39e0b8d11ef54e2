//! Sums by time: how latency, and where it is spent, changed while a run went on.
//!
//! Columns are stretches of time of one length, a power of two of the clock's units. When there are too many,
//! neighbours merge and the length doubles: memory does not grow with the run. Of a recording of sums, a column is a
//! minute, or several.

use std::collections::VecDeque;

use crate::intervals::classes::ClassSums;
use crate::sums::Sums;
use crate::sums::histogram::Histogram;
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
    /// Their sums, each node's own time among them.
    pub sums: ClassSums,
    /// Intervals by cell of latency ([`cell_start`]); none beyond the end.
    pub cells: Vec<u64>,
}

/// Columns in order of time, without gaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverTime {
    columns: VecDeque<Column>,
    /// Number of the first column.
    first: u64,
    /// Length of a column, as a power of two, beyond that of the first.
    doubled: u32,
}

impl Column {
    fn merge(&mut self, other: &Column, own: impl Fn(usize) -> usize) {
        self.began_unix_ns = match (self.began_unix_ns, other.began_unix_ns) {
            (Some(mine), Some(other)) => Some(mine.min(other)),
            (mine, other) => mine.or(other),
        };
        self.sums.merge(&other.sums, own);
        for (cell, &count) in other.cells.iter().enumerate() {
            self.count(cell, count);
        }
    }

    fn count(&mut self, cell: usize, intervals: u64) {
        if self.cells.len() <= cell {
            self.cells.resize(cell + 1, 0);
        }
        self.cells[cell] += intervals;
    }
}

impl OverTime {
    /// Adds an interval that ended at this time, ticks.
    pub fn add(&mut self, end: u64, vector: &Vector<'_>) {
        let column = self.column(end >> (LENGTH_FIRST_LOG2 + self.doubled));
        let nodes = column.sums.nodes.len();
        column.sums.add(vector);
        column.count(cell_of(vector.latency as u64), vector.weight);
        if column.sums.nodes.len() > nodes {
            self.bound_cells();
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
        let nodes = sums.nodes.iter();
        let own = nodes.map(|node| (node.exclusive, node.exclusive_latency));
        let mut minute = Column {
            began_unix_ns: Some(began_unix_ns),
            sums: ClassSums {
                intervals: sums.intervals,
                latency: sums.latency,
                latency_squared: sums.latency_squared,
                nodes: own.collect(),
            },
            cells: Vec::new(),
        };
        for (from, _, count) in histogram.bins() {
            minute.count(cell_of(from), count);
        }
        self.column(number >> self.doubled)
            .merge(&minute, |node| node);
        self.bound_cells();
    }

    /// Adds the intervals of another, on the same clock; the own time of its node `n` is that of `own(n)` of these.
    pub fn merge(&mut self, other: &OverTime, own: impl Fn(usize) -> usize) {
        while self.doubled < other.doubled {
            self.double();
        }
        for (number, column) in other.numbered() {
            let number = number >> (self.doubled - other.doubled);
            self.column(number).merge(column, &own);
        }
        self.bound_cells();
    }

    /// The column of this number among those of the present length. Makes columns longer if they become too many.
    fn column(&mut self, mut number: u64) -> &mut Column {
        if self.columns.is_empty() {
            self.first = number;
        }
        loop {
            let last = self.first + self.columns.len().max(1) as u64 - 1;
            if last.max(number) - self.first.min(number) < COLUMNS_MAX {
                break;
            }
            self.double();
            number /= 2;
        }
        while number < self.first {
            self.columns.push_front(Column::default());
            self.first -= 1;
        }
        let at = (number - self.first) as usize;
        while self.columns.len() <= at {
            self.columns.push_back(Column::default());
        }
        &mut self.columns[at]
    }

    /// Merges neighbours until all columns together have not too many numbers.
    fn bound_cells(&mut self) {
        while let Some(column) = self.columns.back() {
            let most = CELLS_MAX / (2 * column.sums.nodes.len() as u64 + 1);
            if self.columns.len() as u64 <= most.clamp(COLUMNS_FEW, COLUMNS_MAX) {
                return;
            }
            self.double();
        }
    }

    fn double(&mut self) {
        self.doubled += 1;
        let first = self.first / 2;
        let mut merged: VecDeque<Column> = VecDeque::new();
        for (number, column) in (self.first..).zip(std::mem::take(&mut self.columns)) {
            match merged.get_mut((number / 2 - first) as usize) {
                Some(onto) => onto.merge(&column, |node| node),
                None => merged.push_back(column),
            }
        }
        (self.first, self.columns) = (first, merged);
    }

    /// The columns that have intervals, with their numbers.
    fn numbered(&self) -> impl Iterator<Item = (u64, &Column)> {
        let all = (self.first..).zip(&self.columns);
        all.filter(|(_, column)| column.sums.intervals > 0)
    }

    /// The columns that have intervals, in order of time: each with its beginning and its end. These are ticks or,
    /// where the columns are minutes, nanoseconds since 1970.
    pub fn columns(&self) -> Vec<(u64, u64, &Column)> {
        let starts: Vec<u64> = self
            .numbered()
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
        let all = self.numbered().enumerate();
        all.map(|(at, (_, column))| {
            let from = starts[at];
            let to = match column.began_unix_ns {
                // A minute lasts until the next, or as long as others where it is the last, or the session paused.
                Some(_) => {
                    let length = usual.unwrap_or(60_000_000_000);
                    let next = starts.get(at + 1).copied().unwrap_or(u64::MAX);
                    next.min(from.saturating_add(length)).max(from + 1)
                }
                None => from.saturating_add(1 << (self.doubled + LENGTH_FIRST_LOG2)),
            };
            (from, to, column)
        })
        .collect()
    }

    /// Whether columns are minutes, on the clock of the day.
    pub fn is_by_minute(&self) -> bool {
        self.numbered()
            .any(|(_, column)| column.began_unix_ns.is_some())
    }
}

/// Cell of a latency.
fn cell_of(ticks: u64) -> usize {
    let ticks = ticks.max(1 << CELLS_LOG2);
    let octave = ticks.ilog2();
    let part = (ticks >> (octave - CELLS_LOG2)) & ((1 << CELLS_LOG2) - 1);
    (octave << CELLS_LOG2) as usize + part as usize
}

/// Smallest latency of a cell, ticks.
pub fn cell_start(cell: usize) -> f64 {
    let (octave, part) = (cell >> CELLS_LOG2, cell & ((1 << CELLS_LOG2) - 1));
    let whole = f64::from(1u16 << CELLS_LOG2);
    2f64.powi(octave as i32) * (1.0 + part as f64 / whole)
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
        assert_eq!((all.sums.intervals, all.sums.latency), (20_000, 40_000_000));
        assert_eq!(
            all.sums.nodes[0],
            (40_000_000, 10_000 * (1_000_000 + 9_000_000))
        );
        let mean = |column: &Column| column.sums.latency / i128::from(column.sums.intervals);
        assert_eq!(
            (mean(columns[0].2), mean(columns[columns.len() - 1].2)),
            (1_000, 3_000)
        );
        let cells = columns[0].2.cells.iter();
        assert_eq!(cells.filter(|&&count| count > 0).count(), 1);
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

    /// A latecomer of long ago, and a clock that jumps.
    #[test]
    fn far_ends_take_no_memory() {
        let mut over_time = OverTime::default();
        for end in [1 << 62, 5, 1 << 61, u64::MAX] {
            add(&mut over_time, end, 7, 1);
        }
        assert!(over_time.columns.len() <= 128);
        assert_eq!(total(&over_time).sums.intervals, 4);
        let columns = over_time.columns();
        assert_eq!(columns.len(), 4);
        assert!(columns[0].0 <= 5 && 5 < columns[0].1);
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
