//! Where refinement stands.

use std::time::{Duration, Instant};

use evenkeel_symbols::Unpatchable;

use crate::location::Location;
use crate::refine::known::Known;
use crate::refine::patience::{is_enough, is_enough_to_follow, look_after};
use crate::refine::{Candidate, Step};

/// Once nothing is left to do, how often to look again; at once where calls are met that were not made before.
const SETTLED_PERIOD: Duration = Duration::from_secs(5);

/// Where refinement stands.
#[derive(Debug)]
pub struct Steps {
    pub(super) known: Known,
    pub(super) looked_at: Instant,
    pub(super) seen_then: u64,
    /// Call paths that were known when the profile was last judged.
    pub(super) paths_then: usize,
    pub(super) first_interval: Option<Instant>,
    /// While calls are trapped.
    pub(super) trapping: Option<Trapping>,
    /// Hooked entries whose agents may yet refuse them.
    pub(super) entries: Vec<AtEntry>,
    /// Steps that were taken, and functions whose calls had to make room (to open them), since the last look: what they left is not known yet.
    pub(super) unmeasured: Vec<Step>,
    /// Functions that a person may be asked about.
    pub(super) offered: Vec<Candidate>,
    pub(super) settled: bool,
    /// The last look led to what explains most of the variance: what comes of it is looked at soon.
    pub(super) follows: bool,
    /// The observer knows that nothing is left to do.
    pub(super) rest_reported: bool,
}

impl Default for Steps {
    fn default() -> Steps {
        Steps {
            known: Known::default(),
            looked_at: Instant::now(),
            seen_then: 0,
            paths_then: 0,
            first_interval: None,
            trapping: None,
            entries: Vec::new(),
            unmeasured: Vec::new(),
            offered: Vec::new(),
            settled: false,
            follows: false,
            rest_reported: false,
        }
    }
}

impl Steps {
    /// From now on what there is to see is new: a plan was published, or all was looked at.
    pub fn look_from(&mut self, intervals_seen: u64) {
        self.looked_at = Instant::now();
        self.seen_then = intervals_seen;
    }

    /// Whether enough was seen since. `paths`: call paths that are known now.
    pub(super) fn is_ripe(&self, intervals_seen: u64, paths: usize) -> bool {
        let (intervals, age) = (intervals_seen - self.seen_then, self.looked_at.elapsed());
        let ripe = match self.follows {
            true => is_enough_to_follow(intervals, age),
            false => is_enough(intervals, age, self.searched(intervals_seen)),
        };
        let has_new = paths > self.paths_then;
        ripe && (!self.settled || has_new || age >= SETTLED_PERIOD)
    }

    /// Whether what came since the last look would not be enough, were it not for what is followed.
    pub(super) fn is_early_look(&self, intervals_seen: u64) -> bool {
        self.follows && self.looked_at.elapsed() < look_after(self.searched(intervals_seen))
    }

    /// How long the search has gone on, at the rate at which intervals come now: before a load begins, nothing was searched.
    pub(super) fn searched(&self, intervals_seen: u64) -> Duration {
        let since_first = self.first_interval.map(|first| first.elapsed());
        let since_first = since_first.unwrap_or_default();
        let new = intervals_seen - self.seen_then;
        if new == 0 {
            return since_first;
        }
        let at_this_rate = intervals_seen as f64 / new as f64;
        let age = self.looked_at.elapsed().as_secs_f64();
        since_first.min(Duration::from_secs_f64(age * at_this_rate))
    }
}

/// Calls are being trapped.
#[derive(Clone, Copy, Debug)]
pub struct Trapping {
    pub(super) since: Instant,
    /// Intervals seen when it began.
    pub(super) seen_then: u64,
    /// When the first call was met.
    pub(super) met: Option<Instant>,
    /// Calls were left alone for a while, to bound what that costs.
    pub(super) is_sampled: bool,
}

/// A function that is timed at its entry, because what leads to it cannot be timed where it is, or not by whom it leads to.
#[derive(Clone, Copy, Debug)]
pub struct AtEntry {
    pub(super) below: Below,
    pub(super) callee: Location,
    /// The probe at the callee's entry.
    pub(super) entry: u32,
}

/// What leads to a function that is timed at its entry.
#[derive(Clone, Copy, Debug)]
pub enum Below {
    /// A call through a pointer, or one of the C library that calls back, with a probe of its own.
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
