//! Stacks of intervals that have not ended yet. Some never do: where a pair begins at each `recv`, the thread waits in
//! it for its next request, and the next `recv` leaves it. Such stacks are of no interval that a report has.

use std::collections::HashMap;

use super::SlowStack;
use crate::arena::Progress;

/// The intervals that were looked at and have not ended, by ring and beginning.
#[derive(Debug, Default)]
pub struct OpenStacks {
    open: HashMap<(usize, u64), Open>,
    ended: u64,
    left: u64,
}

#[derive(Debug)]
struct Open {
    /// How many of its thread were left before.
    left_before: u64,
    stacks: Vec<SlowStack>,
}

impl OpenStacks {
    /// An interval is looked at that began at `since`; `left_before` of its thread were left by then.
    pub fn expect(&mut self, ring: usize, since: u64, left_before: u64) {
        self.open.entry((ring, since)).or_insert_with(|| Open {
            left_before,
            stacks: Vec::new(),
        });
    }

    /// A stack of an interval that is looked at.
    pub fn hold(&mut self, ring: usize, since: u64, stack: SlowStack) {
        if let Some(open) = self.open.get_mut(&(ring, since)) {
            open.stacks.push(stack);
        }
    }

    /// The stacks of those that have ended. Those of the ones that were left are dropped, and where it cannot be told.
    pub fn settle(&mut self, progress: impl Fn(usize) -> Progress) -> Vec<SlowStack> {
        let mut settled = Vec::new();
        self.open.retain(|&(ring, since), open| {
            let now = progress(ring);
            if now.open_since == since {
                return true;
            }
            let another = u64::from(now.left_since != since);
            match now.left.saturating_sub(open.left_before) <= another {
                true => {
                    self.ended += 1;
                    settled.append(&mut open.stacks);
                }
                false => self.left += 1,
            }
            false
        });
        settled
    }

    /// Whether most of the intervals that were looked at were left.
    pub fn are_mostly_left(&self) -> bool {
        self.left > self.ended
    }

    /// At the end of a run: the stacks of intervals that are open yet, unless most are left.
    pub fn rest(&mut self) -> Vec<SlowStack> {
        let open = std::mem::take(&mut self.open).into_values();
        match self.are_mostly_left() {
            true => Vec::new(),
            false => open.flat_map(|open| open.stacks).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(interval: u64) -> SlowStack {
        SlowStack {
            path: Vec::new(),
            interval,
            age: 1,
            unseen: 1,
        }
    }

    fn held(since: u64, left_before: u64) -> OpenStacks {
        let mut held = OpenStacks::default();
        held.expect(1, since, left_before);
        held.hold(1, since, stack(0));
        held
    }

    fn numbers(stacks: &[SlowStack]) -> Vec<u64> {
        stacks.iter().map(|stack| stack.interval).collect()
    }

    #[test]
    fn only_stacks_of_intervals_that_end_count() {
        let now = |open_since, left, left_since| {
            move |_| Progress {
                open_since,
                left,
                left_since,
            }
        };
        let settled = |since, left_before, now: &dyn Fn(usize) -> Progress| {
            numbers(&held(since, left_before).settle(now))
        };
        assert_eq!(settled(50, 3, &now(50, 3, 10)), [0_u64; 0], "it lasts");
        assert_eq!(settled(50, 3, &now(0, 3, 10)), [0], "it has ended");
        assert_eq!(settled(50, 3, &now(60, 3, 10)), [0], "another began since");
        assert_eq!(settled(50, 3, &now(60, 4, 50)), [0_u64; 0], "it was left");
        assert_eq!(settled(50, 3, &now(70, 4, 60)), [0], "another was left");
        assert_eq!(
            settled(50, 3, &now(80, 5, 60)),
            [0_u64; 0],
            "it, or another"
        );
    }

    #[test]
    fn intervals_open_at_the_end_count_unless_most_are_left() {
        let mut one = held(50, 0);
        assert_eq!(numbers(&one.rest()), [0]);
        let mut left = held(50, 0);
        left.settle(|_| Progress {
            open_since: 60,
            left: 1,
            left_since: 50,
        });
        assert!(left.are_mostly_left());
        left.expect(1, 60, 1);
        left.hold(1, 60, stack(1));
        assert_eq!(numbers(&left.rest()), [0_u64; 0]);
    }
}
