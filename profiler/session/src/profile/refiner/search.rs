//! Where the search stands: what it waits for, and when it looks next.

use std::time::{Duration, Instant};

use evenkeel_symbols::Unpatchable;

use crate::location::Location;
use crate::refine::Candidate;
use crate::refine::patience::{is_enough, is_enough_to_follow, look_after};
use crate::refine::policy::SETTLED_PERIOD;

/// The event that the search waits for.
#[derive(Debug, Default)]
enum Stage {
    /// Intervals, to look at.
    #[default]
    Gathering,
    /// Callees, at calls that are trapped.
    Trapping(Trapping),
    /// A person, who chooses among these steps.
    Offering(Vec<Candidate>),
}

/// The time until the search's next look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Once there is enough to see.
    #[default]
    Usual,
    /// Early: the last look led to what explains most of the variance.
    Follow,
    /// Late, as nothing is left to do; at the usual time where call paths are met that are new.
    Rest,
}

impl Pace {
    /// The pace, or the slowest one that is not rest.
    pub(super) fn awake(self) -> Pace {
        match self {
            Pace::Rest => Pace::Usual,
            awake => awake,
        }
    }
}

/// Where the search stands.
#[derive(Debug)]
pub struct Search {
    stage: Stage,
    pace: Pace,
    looked_at: Instant,
    /// Intervals and call paths at the last look.
    intervals_then: u64,
    paths_then: usize,
    /// Intervals up to now.
    intervals: u64,
    first_interval: Option<Instant>,
    /// The observer knows that nothing is left to do.
    is_rest_reported: bool,
}

impl Default for Search {
    fn default() -> Search {
        Search {
            stage: Stage::Gathering,
            pace: Pace::Usual,
            looked_at: Instant::now(),
            intervals_then: 0,
            paths_then: 0,
            intervals: 0,
            first_interval: None,
            is_rest_reported: false,
        }
    }
}

impl Search {
    /// Notes the number of intervals.
    pub(in crate::profile) fn note_intervals(&mut self, intervals: u64) {
        self.intervals = intervals;
        if intervals > 0 && self.first_interval.is_none() {
            self.first_interval = Some(Instant::now());
        }
    }

    /// When the first interval was seen.
    pub(in crate::profile) fn first_interval(&self) -> Option<Instant> {
        self.first_interval
    }

    /// From now on what there is to see is new: a plan was published, or all was looked at.
    pub(super) fn look_from(&mut self, intervals: u64) {
        self.looked_at = Instant::now();
        self.intervals_then = intervals;
    }

    /// Intervals since the last look.
    pub(super) fn since(&self, intervals: u64) -> u64 {
        intervals - self.intervals_then
    }

    /// Whether there are call paths that the last look did not have.
    pub(super) fn meets_new(&mut self, paths: usize) -> bool {
        paths > std::mem::replace(&mut self.paths_then, paths)
    }

    pub(super) fn pace(&self) -> Pace {
        self.pace
    }

    pub(super) fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
        if let Stage::Offering(_) = self.stage {
            self.stage = Stage::Gathering;
        }
    }

    /// There may be something to do that was not known at the last look.
    pub(super) fn wake(&mut self) {
        self.pace = self.pace.awake();
    }

    pub(super) fn begin_trapping(&mut self) {
        self.stage = Stage::Trapping(Trapping {
            since: Instant::now(),
            intervals_then: self.intervals,
            met: None,
            is_sampled: false,
        });
    }

    pub(super) fn end_trapping(&mut self) {
        self.stage = Stage::Gathering;
    }

    pub(super) fn trapping(&mut self) -> Option<&mut Trapping> {
        match &mut self.stage {
            Stage::Trapping(trapping) => Some(trapping),
            _ => None,
        }
    }

    pub(in crate::profile) fn is_trapping(&self) -> bool {
        matches!(self.stage, Stage::Trapping(_))
    }

    pub(super) fn offer(&mut self, steps: Vec<Candidate>) {
        self.stage = Stage::Offering(steps);
    }

    pub(crate) fn is_offering(&self) -> bool {
        matches!(self.stage, Stage::Offering(_))
    }

    /// The steps that were offered; they are no longer.
    pub(super) fn take_offered(&mut self) -> Vec<Candidate> {
        match std::mem::take(&mut self.stage) {
            Stage::Offering(steps) => steps,
            other => {
                self.stage = other;
                Vec::new()
            }
        }
    }

    /// News for the observer: steps, or once that none are left.
    pub(super) fn news(&mut self, next: &[Candidate], is_at_end: bool) -> Option<Vec<Candidate>> {
        let is_news = !next.is_empty() || (is_at_end && !self.is_rest_reported);
        is_news.then(|| {
            self.is_rest_reported = next.is_empty();
            next.to_vec()
        })
    }

    /// Whether enough was seen since the last look. `paths`: call paths that are known now.
    pub(in crate::profile) fn is_ripe(&self, intervals: u64, paths: usize) -> bool {
        let (new, age) = (self.since(intervals), self.looked_at.elapsed());
        match self.pace {
            Pace::Follow => is_enough_to_follow(new, age),
            Pace::Usual => is_enough(new, age, self.searched(intervals)),
            Pace::Rest => {
                let is_time = age >= SETTLED_PERIOD || paths > self.paths_then;
                is_time && is_enough(new, age, self.searched(intervals))
            }
        }
    }

    /// Whether what came since the last look would not be enough, were it not for what is followed.
    pub(super) fn is_early_look(&self, intervals: u64) -> bool {
        let usual = look_after(self.searched(intervals));
        self.pace == Pace::Follow && self.looked_at.elapsed() < usual
    }

    /// Time that the search has taken, at the present rate of intervals: before a load begins, nothing was searched.
    pub(super) fn searched(&self, intervals: u64) -> Duration {
        let since_first = self.first_interval.map(|first| first.elapsed());
        let since_first = since_first.unwrap_or_default();
        let new = self.since(intervals);
        if new == 0 {
            return since_first;
        }
        let at_this_rate = intervals as f64 / new as f64;
        let age = self.looked_at.elapsed().as_secs_f64();
        since_first.min(Duration::from_secs_f64(age * at_this_rate))
    }
}

/// Calls are being trapped.
#[derive(Clone, Copy, Debug)]
pub struct Trapping {
    pub(super) since: Instant,
    /// Intervals seen when it began.
    pub(super) intervals_then: u64,
    /// When the first call was met.
    pub(super) met: Option<Instant>,
    /// Calls were left alone for a while, to bound what that costs.
    pub(super) is_sampled: bool,
}

/// A function that is timed at its entry, because a call to it cannot be timed in its place, or not by callee.
#[derive(Clone, Copy, Debug)]
pub struct AtEntry {
    pub(super) below: Below,
    pub(super) callee: Location,
    /// The probe at the callee's entry.
    pub(super) entry: u32,
}

/// The call that leads to a function timed at its entry.
#[derive(Clone, Copy, Debug)]
pub enum Below {
    /// A call through a pointer, or one of the C library that calls back, with a separate probe.
    Probe(u32),
    /// A jump in another function that cannot be redirected.
    Jump {
        /// The function.
        holder: Location,
        /// Where it jumps.
        site: Location,
        reason: Unpatchable,
    },
    /// A call that lies under the hook at its function's entry.
    UnderEntry {
        /// The function.
        holder: Location,
        /// Where it calls.
        site: Location,
    },
}
