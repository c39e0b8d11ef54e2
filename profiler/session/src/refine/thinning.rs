//! Closes the calls that write the most records, if intervals have more calls than a ring holds. Such intervals are
//! lost. They are the slow ones, so the rest is not a representative sample.

use std::collections::HashMap;

use super::policy::{LOST_GOES, LOST_MAX};

/// Probes to take out, those with the most records first. `seen`: intervals since the last look, `lost`: how many of
/// them had too many calls, `calls`: those calls by probe.
pub(crate) fn to_thin<S: std::hash::BuildHasher>(
    seen: u64,
    lost: u64,
    calls: &HashMap<u32, u64, S>,
    is_planted: impl Fn(u32) -> bool,
) -> Vec<u32> {
    if lost as f64 <= LOST_MAX * seen as f64 {
        return Vec::new();
    }
    let total: u64 = calls.values().sum();
    let mut order: Vec<(u64, u32)> = calls
        .iter()
        .filter(|&(&id, _)| is_planted(id))
        .map(|(&id, &calls)| (calls, id))
        .collect();
    order.sort_unstable_by(|a, b| b.cmp(a));
    let mut gone = 0;
    let taken = order.into_iter().take_while(|&(calls, _)| {
        let more = (gone as f64) < LOST_GOES * total as f64;
        gone += calls;
        more
    });
    taken.map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1,000 records 700 are of probe 7, 200 of 8, 100 of 9.
    fn calls() -> HashMap<u32, u64> {
        HashMap::from([(8, 200), (7, 700), (9, 100)])
    }

    #[test]
    fn what_writes_most_goes_first() {
        // 700 are less than three quarters, 900 are not.
        assert_eq!(to_thin(1000, 20, &calls(), |_| true), [7, 8]);
        assert_eq!(to_thin(1000, 20, &calls(), |id| id != 7), [8, 9]);
    }

    #[test]
    fn few_that_are_lost_change_nothing() {
        assert!(to_thin(1000, 1, &calls(), |_| true).is_empty());
        assert!(to_thin(1000, 0, &HashMap::new(), |_| true).is_empty());
    }
}
