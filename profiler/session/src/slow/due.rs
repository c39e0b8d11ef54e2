//! Selects the open intervals to look at: the longest first, each at growing distances.

use std::collections::HashMap;

/// Looks at one poll, at most.
pub(super) const LOOKS_AT_ONCE: usize = 8;
/// An interval is looked at again once it has lasted longer by this part.
const AGAIN_PART: u64 = 4;

/// An open interval that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The ring of its thread.
    pub ring: usize,
    /// When it began, ticks.
    pub since: u64,
    /// How long it has lasted, ticks.
    pub age: u64,
    /// How much of that has passed since it was looked at last, or since it began.
    pub unseen: u64,
}

/// Intervals that were looked at and have not ended, by ring.
#[derive(Debug, Default)]
pub struct DueIntervals {
    looked_at: HashMap<usize, LookedAt>,
    intervals: u64,
}

#[derive(Clone, Copy, Debug)]
struct LookedAt {
    since: u64,
    age: u64,
    number: u64,
}

impl DueIntervals {
    /// The open intervals that have lasted for `bound` ticks and are due at `now`, longest first, at most
    /// [`LOOKS_AT_ONCE`]. `open`: ring and beginning (ticks) of each open interval.
    pub fn poll(&mut self, open: &[(usize, u64)], bound: u64, now: u64) -> Vec<Due> {
        self.looked_at
            .retain(|ring, known| open.contains(&(*ring, known.since)));
        let due = open.iter().filter_map(|&(ring, since)| {
            let age = now.checked_sub(since).filter(|&age| age >= bound)?;
            let known = self.looked_at.get(&ring);
            let before = known.map_or(0, |known| known.age);
            let is_due = known.is_none() || age - before >= (before / AGAIN_PART).max(bound);
            is_due.then_some(Due {
                ring,
                since,
                age,
                unseen: age - before,
            })
        });
        let mut due: Vec<Due> = due.collect();
        due.sort_by_key(|due| std::cmp::Reverse(due.age));
        due.truncate(LOOKS_AT_ONCE);
        due
    }

    /// How many intervals stacks were seen of.
    pub fn intervals_seen(&self) -> u64 {
        self.intervals
    }

    /// A stack of this interval was seen. The interval's number among those that were looked at, from 0.
    pub fn note_seen(&mut self, due: &Due) -> u64 {
        let known = self.looked_at.get(&due.ring);
        let known = known.filter(|known| known.since == due.since);
        let number = known.map_or(self.intervals, |known| known.number);
        self.intervals = self.intervals.max(number + 1);
        let looked_at = LookedAt {
            since: due.since,
            age: due.age,
            number,
        };
        self.looked_at.insert(due.ring, looked_at);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ages(due: &[Due]) -> Vec<(usize, u64, u64)> {
        due.iter()
            .map(|due| (due.ring, due.age, due.unseen))
            .collect()
    }

    /// Of three open intervals two have lasted for the bound, 100. One is looked at; when it has lasted longer by a
    /// bound and by a quarter it is due again.
    #[test]
    fn long_intervals_are_due_and_less_and_less_often() {
        let mut intervals = DueIntervals::default();
        let open = [(1, 1_000), (2, 1_850), (3, 1_950)];
        let due = intervals.poll(&open, 100, 2_000);
        assert_eq!(ages(&due), [(1, 1_000, 1_000), (2, 150, 150)]);
        assert_eq!(intervals.note_seen(&due[0]), 0);
        assert_eq!(ages(&intervals.poll(&open, 100, 2_000)), [(2, 150, 150)]);
        assert_eq!(ages(&intervals.poll(&open, 100, 2_249))[0].0, 2);
        let due = intervals.poll(&open, 100, 2_250);
        assert_eq!(ages(&due)[0], (1, 1_250, 250));
        assert_eq!(intervals.note_seen(&due[0]), 0, "the same interval");
        assert_eq!(intervals.note_seen(&due[1]), 1);
    }

    /// The thread has begun another interval: nothing is known of it.
    #[test]
    fn an_interval_that_ends_is_forgotten() {
        let mut intervals = DueIntervals::default();
        let due = intervals.poll(&[(1, 0)], 10, 50);
        intervals.note_seen(&due[0]);
        let due = intervals.poll(&[(1, 60)], 10, 80);
        assert_eq!(ages(&due), [(1, 20, 20)]);
        assert_eq!(intervals.note_seen(&due[0]), 1);
        assert!(intervals.poll(&[], 10, 100).is_empty());
    }

    /// Clocks of processors may differ by a little.
    #[test]
    fn an_interval_that_begins_later_than_now_is_not_due() {
        assert!(DueIntervals::default().poll(&[(1, 60)], 0, 50).is_empty());
    }

    #[test]
    fn the_longest_are_looked_at_first() {
        let open: Vec<(usize, u64)> = (0..100).map(|at| (at, 1_000 - at as u64)).collect();
        let due = DueIntervals::default().poll(&open, 10, 2_000);
        assert_eq!(due.len(), LOOKS_AT_ONCE);
        assert_eq!(due[0].ring, 99);
    }
}
