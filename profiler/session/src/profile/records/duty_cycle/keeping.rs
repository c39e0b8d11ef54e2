//! Which intervals are kept when they end: the table in the control page, from the latencies of the last seconds.

use evenkeel_analysis::sums::keeping;
use evenkeel_wire::KeepTable;

/// Lets agents keep about this fraction of the intervals; `recent` has their numbers by class of latency.
pub fn keep(recent: &[f64], fraction: f64, table: &KeepTable) {
    let entries = keeping::table(recent, fraction);
    for (class, keep) in entries.into_iter().enumerate() {
        table.set(class, keep);
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_wire::{KeepRate, LATENCY_CLASSES, latency_class};

    use super::*;

    /// A page as the session makes it.
    fn table() -> KeepTable {
        // SAFETY: zero bytes are a table that keeps everything.
        unsafe { std::mem::zeroed() }
    }

    /// Two of 10,000 are slow, and are all kept; later slow ones are usual; then all are allowed.
    #[test]
    fn the_table_follows_the_load_and_what_is_allowed() {
        let table = table();
        let mut by_class = vec![0.0; LATENCY_CLASSES];
        let (quick, slow) = (1 << 20, 1 << 30);
        by_class[latency_class(quick)] = 10_000.0;
        by_class[latency_class(slow)] = 2.0;
        keep(&by_class, 0.02, &table);
        assert!(table.of(quick).log2() >= 5, "{:?}", table.of(quick));
        assert_eq!(table.of(slow), KeepRate::ALL);
        by_class[latency_class(slow)] = 10_000.0;
        by_class[latency_class(quick)] = 10.0;
        keep(&by_class, 0.02, &table);
        assert!(table.of(slow).log2() >= 5, "{:?}", table.of(slow));
        keep(&by_class, 1.0, &table);
        assert_eq!(
            (table.of(quick), table.of(slow)),
            (KeepRate::ALL, KeepRate::ALL)
        );
    }
}
