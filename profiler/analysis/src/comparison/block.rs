//! Sums over the intervals of a stretch of time, with latencies and the times of parts *winsorised*. An interval above
//! the cap is scaled down to it, and its parts with it. So a few preemptions, which differ from run to run, do not
//! decide. The parts still add up to the latency (Tukey 1962, "The future of data analysis", section 14).

use std::collections::BTreeMap;

/// Cells of the histogram for each doubling of the latency: each is at most 0.4 % wide.
const CELLS: u32 = 256;

/// The time of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartTime {
    /// In all intervals, ns.
    pub all_ns: f64,
    /// In the slow ones.
    pub slow_ns: f64,
    /// In those just below the slow ones.
    pub near_ns: f64,
}

/// The intervals of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassTime {
    /// Number of intervals.
    pub intervals: f64,
    /// Their latency.
    pub latency_ns: f64,
}

/// Sums over the intervals that ended in a stretch of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Length of the block.
    pub length_ns: f64,
    /// Intervals that ended in it, those that are not looked into included.
    pub seen: f64,
    /// Intervals.
    pub intervals: f64,
    /// Their latency as it was.
    pub whole_ns: f64,
    /// Their latency, winsorised.
    pub latency_ns: f64,
    /// Its squares.
    pub squares_ns2: f64,
    /// Intervals at least as slow as the slow ones.
    pub slow: f64,
    /// Intervals just below.
    pub near: f64,
    /// Time by part.
    pub parts: Vec<PartTime>,
    /// By class.
    pub classes: Vec<ClassTime>,
    /// Latencies by cell; empty where they are not known one by one.
    pub histogram: BTreeMap<u32, f64>,
}

/// From which latencies on intervals are treated otherwise, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Longer latencies are reduced to this.
    pub cap_ns: f64,
    /// The slow ones begin here: at the 99th percentile of the side.
    pub slow_ns: f64,
    /// Latency from which an interval is just below the slow ones.
    pub near_ns: f64,
}

impl Block {
    /// Adds an interval. `parts`: indices with the time of the interval that is theirs, ns.
    pub fn add(
        &mut self,
        latency_ns: f64,
        class: usize,
        parts: impl Iterator<Item = (usize, f64)>,
        thresholds: &Thresholds,
    ) {
        let winsorised = latency_ns.min(thresholds.cap_ns);
        let weight = if latency_ns > 0.0 {
            winsorised / latency_ns
        } else {
            1.0
        };
        let is_slow = latency_ns >= thresholds.slow_ns;
        let is_near = !is_slow && latency_ns >= thresholds.near_ns;
        self.intervals += 1.0;
        self.whole_ns += latency_ns;
        self.latency_ns += winsorised;
        self.squares_ns2 += winsorised * winsorised;
        self.slow += f64::from(u8::from(is_slow));
        self.near += f64::from(u8::from(is_near));
        *self.histogram.entry(cell(latency_ns)).or_default() += 1.0;
        if self.classes.len() <= class {
            self.classes.resize(class + 1, ClassTime::default());
        }
        self.classes[class].intervals += 1.0;
        self.classes[class].latency_ns += winsorised;
        for (part, ns) in parts {
            if self.parts.len() <= part {
                self.parts.resize(part + 1, PartTime::default());
            }
            let time = &mut self.parts[part];
            let ns = ns * weight;
            time.all_ns += ns;
            time.slow_ns += if is_slow { ns } else { 0.0 };
            time.near_ns += if is_near { ns } else { 0.0 };
        }
    }

    /// Adds what follows.
    pub fn merge(&mut self, other: &Block) {
        self.combine(other, 1.0);
    }

    /// The block without some of its intervals.
    pub fn without(&self, other: &Block) -> Block {
        let mut rest = self.clone();
        rest.combine(other, -1.0);
        rest
    }

    fn combine(&mut self, other: &Block, sign: f64) {
        self.length_ns += sign * other.length_ns;
        self.seen += sign * other.seen;
        self.intervals += sign * other.intervals;
        self.whole_ns += sign * other.whole_ns;
        self.latency_ns += sign * other.latency_ns;
        self.squares_ns2 += sign * other.squares_ns2;
        self.slow += sign * other.slow;
        self.near += sign * other.near;
        if self.parts.len() < other.parts.len() {
            self.parts.resize(other.parts.len(), PartTime::default());
        }
        for (mine, other) in self.parts.iter_mut().zip(&other.parts) {
            mine.all_ns += sign * other.all_ns;
            mine.slow_ns += sign * other.slow_ns;
            mine.near_ns += sign * other.near_ns;
        }
        if self.classes.len() < other.classes.len() {
            self.classes
                .resize(other.classes.len(), ClassTime::default());
        }
        for (mine, other) in self.classes.iter_mut().zip(&other.classes) {
            mine.intervals += sign * other.intervals;
            mine.latency_ns += sign * other.latency_ns;
        }
        for (&cell, count) in &other.histogram {
            *self.histogram.entry(cell).or_default() += sign * count;
        }
    }

    /// Time of a part; nothing was spent there where it was not met.
    pub fn part(&self, at: usize) -> PartTime {
        self.parts.get(at).copied().unwrap_or_default()
    }

    /// Intervals of a class.
    pub fn class(&self, at: usize) -> ClassTime {
        self.classes.get(at).copied().unwrap_or_default()
    }
}

/// The cell of a latency.
pub fn cell(ns: f64) -> u32 {
    let ns = ns.max(1.0);
    let doublings = ns.log2().floor();
    let within = ns / doublings.exp2() - 1.0;
    doublings as u32 * CELLS + ((within * f64::from(CELLS)) as u32).min(CELLS - 1)
}

/// Where a cell begins, ns.
pub fn cell_start(cell: u32) -> f64 {
    let within = f64::from(cell % CELLS) / f64::from(CELLS);
    f64::from(cell / CELLS).exp2() * (1.0 + within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_narrow_and_adjoin() {
        for ns in [1.0, 2.0, 999.0, 1e6, 123_456_789.0] {
            let at = cell(ns);
            assert!(cell_start(at) <= ns && ns < cell_start(at + 1), "{ns}");
            assert!(cell_start(at + 1) / cell_start(at) < 1.004);
        }
    }

    /// With a cap of 100, an interval of 400 is reduced to 100, and its part of 200 to 50.
    #[test]
    fn parts_shrink_with_their_interval() {
        let thresholds = Thresholds {
            cap_ns: 100.0,
            slow_ns: 90.0,
            near_ns: 50.0,
        };
        let mut block = Block::default();
        block.add(400.0, 0, [(1, 200.0)].into_iter(), &thresholds);
        block.add(60.0, 0, [(1, 20.0)].into_iter(), &thresholds);
        assert_eq!((block.whole_ns, block.latency_ns), (460.0, 160.0));
        assert_eq!((block.slow, block.near), (1.0, 1.0));
        let part = PartTime {
            all_ns: 70.0,
            slow_ns: 50.0,
            near_ns: 20.0,
        };
        assert_eq!(block.part(1), part);
        let rest = block.without(&block);
        assert_eq!((rest.intervals, rest.part(1).all_ns), (0.0, 0.0));
    }
}
