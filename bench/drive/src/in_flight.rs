//! Whether the queue of an open loop still grows when the window ends.
//!
//! If arrivals exceed the capacity, latency grows with the length of the run, and its mean only shows that length.
//! With fewer arrivals than the target can serve, the number in flight varies around a level. Its means over the
//! second, third and last quarter of the window distinguish the two. The queue grows if they rise, and the last
//! exceeds the second by more than chance explains. The N arrivals in half a window vary by sqrt(N) if they are
//! Poisson's, and so do the completions. So a rise of three times their joint deviation, sqrt(2 N), is no chance.

use crate::sample::Sample;
use crate::window::Window;

/// Parts of the window that numbers in flight are averaged in; a multiple of four.
const PARTS: usize = 64;
/// Deviations of what half a window brings that a rise must exceed.
const DEVIATIONS: f64 = 3.0;

/// Arrivals less those done, by the part of the window in which they came and went.
#[derive(Clone, Debug)]
pub struct InFlight {
    window: Window,
    /// Before the window, in each of its parts.
    changes: [i64; PARTS + 1],
    arrivals: u64,
}

impl InFlight {
    /// None yet.
    pub fn new(window: Window) -> InFlight {
        InFlight {
            window,
            changes: [0; PARTS + 1],
            arrivals: 0,
        }
    }

    /// Adds a transaction, whenever it was.
    pub fn add(&mut self, sample: &Sample) {
        self.arrivals += u64::from(self.window.contains(sample.scheduled_ns));
        self.change(sample.scheduled_ns, 1);
        self.change(sample.ended_ns, -1);
    }

    fn change(&mut self, at_ns: u64, by: i64) {
        if at_ns < self.window.begin_ns {
            self.changes[0] += by;
        } else if let Some(part) = self.part(at_ns) {
            self.changes[1 + part] += by;
        }
    }

    fn part(&self, at_ns: u64) -> Option<usize> {
        let length = u128::from(self.window.end_ns - self.window.begin_ns);
        let since = u128::from(at_ns - self.window.begin_ns);
        (since < length).then(|| (since * PARTS as u128 / length) as usize)
    }

    /// Mean numbers in flight in the four quarters of the window. Arrivals that were never served are in none.
    pub fn quarters(&self) -> [f64; 4] {
        let mut quarters = [0.0; 4];
        let mut level = self.changes[0];
        for (part, change) in self.changes[1..].iter().enumerate() {
            level += change;
            quarters[part / (PARTS / 4)] += level as f64 / (PARTS / 4) as f64;
        }
        quarters
    }

    /// Whether their number still grows when the window ends; `unfinished` arrivals of the window were never served.
    pub fn grows(&self, unfinished: u64) -> bool {
        let [_, second, third, last] = self.quarters();
        // What was never served was in flight from its arrival to the window's end, half a quarter in the mean if it came last.
        let last = last + unfinished as f64 / 2.0;
        let rises = unfinished > 0 || second < third && third < last;
        let chance = ((self.arrivals + unfinished) as f64).sqrt();
        rises && last - second > DEVIATIONS * chance
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::client::Reason;
    use crate::sample::Ending;

    const WINDOW: Window = Window {
        begin_ns: 1_000_000,
        end_ns: 101_000_000,
    };

    /// A server that takes `service_ns` for each of the arrivals `gap_ns` apart, until the window ends.
    fn served(gap_ns: u64, service_ns: impl Fn(u64) -> u64) -> InFlight {
        let (mut in_flight, mut free_ns) = (InFlight::new(WINDOW), 0);
        for number in 0..WINDOW.end_ns / gap_ns {
            let scheduled_ns = number * gap_ns;
            let started_ns = free_ns.max(scheduled_ns);
            free_ns = started_ns + service_ns(number);
            in_flight.add(&Sample {
                kind: 0,
                scheduled_ns,
                started_ns,
                ended_ns: free_ns,
                ending: Ending::Committed,
                aborts: [0; Reason::COUNT],
                retries: 0,
            });
        }
        in_flight
    }

    #[test]
    fn numbers_in_flight_by_hand() {
        // Each is served as it comes, and takes half of the gap: the level at the end of a part is 0 or 1.
        let quarters = served(1_000_000, |_| 500_000).quarters();
        assert!(
            quarters.iter().all(|&level| (0.0..=1.0).contains(&level)),
            "{quarters:?}"
        );
        // Nobody is done: by the end of the window all 101 are in flight, and the quarters rise by 25.
        let quarters = served(1_000_000, |_| 1 << 40).quarters();
        for pair in quarters.windows(2) {
            assert!((pair[1] - pair[0] - 25.0).abs() < 0.1, "{quarters:?}");
        }
    }

    #[test]
    fn an_unserved_arrival_is_in_flight_at_the_end() {
        let in_flight = served(10_000, |_| 9_000);
        // 10 000 arrivals: a rise of 300 is no chance.
        assert_eq!(
            [0, 590, 700].map(|unfinished| in_flight.grows(unfinished)),
            [false, false, true]
        );
    }

    proptest! {
        #[test]
        fn more_than_can_be_done_grows_and_less_does_not(percent in 20u64..200) {
            prop_assume!(!(90..=110).contains(&percent));
            let in_flight = served(10_000, |_| percent * 100);
            prop_assert_eq!(in_flight.grows(0), percent > 100, "{} {:?}", percent, in_flight.quarters());
        }
    }
}
