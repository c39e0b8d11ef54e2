//! Closes the calls that write the most records, if intervals have more calls than a ring holds. Such intervals are
//! lost. They are the slow ones, so the rest is not a representative sample.

use evenkeel_analysis::Crowded;

use super::policy::{CALLS_HELD, LOST_MAX};

/// Probes to take out, those with the most records first, until a ring holds the calls of such an interval. `lost`: the
/// part of the squares of all latencies since the last look that the intervals with too many calls hold.
pub(crate) fn to_thin(lost: f64, crowded: &Crowded, is_planted: impl Fn(u32) -> bool) -> Vec<u32> {
    if lost <= LOST_MAX {
        return Vec::new();
    }
    // Others are out already, or mark the intervals.
    let planted = crowded.calls.iter().filter(|&(&id, _)| is_planted(id));
    let mut order: Vec<(u64, u32)> = planted.map(|(&id, &calls)| (calls, id)).collect();
    order.sort_unstable_by(|a, b| b.cmp(a));
    let mut left: u64 = order.iter().map(|(calls, _)| calls).sum();
    let taken = order.into_iter().take_while(|&(calls, _)| {
        let more = left > CALLS_HELD * crowded.intervals;
        left -= calls;
        more
    });
    taken.map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two intervals: of each hundred calls of probe 7 there are twenty of 8, three of 9.
    fn crowded(hundreds: u64) -> Crowded {
        let calls = [(8, 20 * hundreds), (7, 100 * hundreds), (9, 3 * hundreds)];
        Crowded {
            intervals: 2,
            calls: calls.into_iter().collect(),
            ..Crowded::default()
        }
    }

    /// 123,000 calls are too many for two intervals, and 23,000 are not. Of 1,230,000, those of 8 have to go, too. Where
    /// 7 is out already, 8 and 9 have room.
    #[test]
    fn what_writes_most_goes_first_until_the_rest_has_room() {
        assert_eq!(to_thin(0.1, &crowded(1_000), |_| true), [7]);
        assert_eq!(to_thin(0.1, &crowded(10_000), |_| true), [7, 8]);
        assert!(to_thin(0.1, &crowded(1_000), |id| id != 7).is_empty());
    }

    /// One in a thousand that takes no longer than others; one that takes as long as all others.
    #[test]
    fn what_is_lost_counts_by_its_time() {
        assert!(to_thin(0.001, &crowded(1_000), |_| true).is_empty());
        assert_eq!(to_thin(0.5, &crowded(1_000), |_| true), [7]);
        assert!(to_thin(0.0, &Crowded::default(), |_| true).is_empty());
    }
}
