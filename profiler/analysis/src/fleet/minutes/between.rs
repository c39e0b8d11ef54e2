//! Which minutes of a recording of sums lie between two moments.

use std::ops::Range;

use super::{Minute, RoundMinute};
use crate::intervals::counts::RunCounts;

/// How long a minute is, until two of them say otherwise.
const PERIOD_NS: u64 = 60_000_000_000;

/// Two moments, and the minutes so far.
#[derive(Clone, Debug)]
pub struct Between {
    wanted: Range<u64>,
    period_ns: u64,
    began: Option<u64>,
    /// Counts before the first minute between, and in those between.
    before: RunCounts,
    within: RunCounts,
    covered: Option<Range<u64>>,
}

impl Between {
    /// Minutes that overlap the time between two moments, nanoseconds since 1970.
    pub fn new(wanted: Range<u64>) -> Between {
        Between {
            wanted,
            period_ns: PERIOD_NS,
            began: None,
            before: RunCounts::default(),
            within: RunCounts::default(),
            covered: None,
        }
    }

    /// Takes the next minute. Whether it is between; of another, what later ones build upon is left.
    pub fn cut(&mut self, minute: &mut Minute) -> bool {
        let began = minute.began_unix_ns;
        if let Some(before) = self.began.replace(began).filter(|&before| before < began) {
            self.period_ns = began - before;
        }
        let ended = began.saturating_add(self.period_ns);
        let is_between = began < self.wanted.end && ended > self.wanted.start;
        if is_between {
            let from = self.covered.as_ref().map_or(began, |covered| covered.start);
            self.covered = Some(from..ended);
            self.within = minute.run.since(&self.before);
        } else {
            if self.covered.is_none() {
                self.before = minute.run;
            }
            for round in &mut minute.rounds {
                *round = RoundMinute {
                    round: round.round,
                    probes: round.probes,
                    steps: std::mem::take(&mut round.steps),
                    folded: round.folded,
                    ..RoundMinute::default()
                };
            }
        }
        minute.run = self.within;
        is_between
    }

    /// From when until when minutes were between, nanoseconds since 1970; nothing where none was.
    pub fn covered(&self) -> Option<Range<u64>> {
        self.covered.clone()
    }
}
