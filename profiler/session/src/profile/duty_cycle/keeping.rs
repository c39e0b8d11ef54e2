//! Which intervals are kept when they end: the table in the control page, from the latencies of the last seconds.

use std::time::{Duration, Instant};

use evenkeel_analysis::sums::keeping;
use evenkeel_wire::KeepTable;

/// How often the table is made.
const PERIOD: Duration = Duration::from_millis(200);
/// Latencies count half after so long: the load may change.
const HALF_LIFE_S: f64 = 2.0;

/// Makes the table.
#[derive(Debug, Default)]
pub struct Keeping {
    last: Option<Instant>,
    /// Intervals by class of latency so far.
    known: Vec<u64>,
    /// The same, older ones counting less.
    recent: Vec<f64>,
}

impl Keeping {
    /// Lets agents keep about this fraction of the intervals, when it is time to. `by_class`: all intervals so far by class of latency.
    pub fn adjust(&mut self, now: Instant, by_class: &[u64], fraction: f64, table: &KeepTable) {
        let last = *self.last.get_or_insert(now);
        let elapsed = now.duration_since(last);
        if elapsed < PERIOD {
            return;
        }
        self.last = Some(now);
        let part = (-elapsed.as_secs_f64() / HALF_LIFE_S).exp2();
        self.known.resize(by_class.len().max(self.known.len()), 0);
        self.recent.resize(self.known.len(), 0.0);
        for ((known, recent), &count) in self.known.iter_mut().zip(&mut self.recent).zip(by_class) {
            let new = count.saturating_sub(std::mem::replace(known, count));
            *recent = *recent * part + new as f64;
        }
        let entries = keeping::table(&self.recent, fraction);
        for (class, keep) in entries.into_iter().enumerate() {
            table.set(class, keep);
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_wire::{Keep, LATENCY_CLASSES, latency_class};

    use super::*;

    /// A page as the session makes it.
    fn table() -> KeepTable {
        // SAFETY: zero bytes are a table that keeps everything.
        unsafe { std::mem::zeroed() }
    }

    /// Ten thousand intervals a period; then all are allowed again.
    #[test]
    fn the_table_follows_the_load_and_what_is_allowed() {
        let (mut keeping, table) = (Keeping::default(), table());
        let mut by_class = vec![0; LATENCY_CLASSES];
        let (quick, slow) = (1 << 20, 1 << 30);
        let start = Instant::now();
        keeping.adjust(start, &by_class, 0.02, &table);
        by_class[latency_class(quick)] += 10_000;
        by_class[latency_class(slow)] += 2;
        keeping.adjust(start + PERIOD / 2, &by_class, 0.02, &table);
        assert_eq!(table.of(quick), Keep::ALL, "not yet");
        keeping.adjust(start + PERIOD, &by_class, 0.02, &table);
        assert!(table.of(quick).log2() >= 5, "{:?}", table.of(quick));
        assert_eq!(table.of(slow), Keep::ALL);
        // What was slow is usual a minute later.
        by_class[latency_class(slow)] += 10_000;
        keeping.adjust(start + 300 * PERIOD, &by_class, 0.02, &table);
        assert!(table.of(slow).log2() >= 5, "{:?}", table.of(slow));
        keeping.adjust(start + 302 * PERIOD, &by_class, 1.0, &table);
        assert_eq!((table.of(quick), table.of(slow)), (Keep::ALL, Keep::ALL));
    }
}
