//! A session's knowledge about functions and probes, apart from the profile.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use evenkeel_wire::Wanted;

use super::policy::{AGAIN_AFTER, WAKERS_MAX};
use super::step::Step;
use super::taken_out::TakenOut;
use crate::location::Location;

/// When to repeat a look at something that may have changed with the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    at: Instant,
    after: Duration,
}

impl Again {
    /// The time after the first look.
    pub fn first(now: Instant) -> Again {
        Again {
            at: now + AGAIN_AFTER,
            after: AGAIN_AFTER,
        }
    }

    /// The time after one more look; the delay doubles.
    pub fn later(self, now: Instant) -> Again {
        let after = 2 * self.after;
        let at = now + after;
        Again { at, after }
    }

    /// Whether it is time.
    pub fn is_due(self, now: Instant) -> bool {
        now >= self.at
    }
}

/// Whether the calls that a function makes are timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// Not asked for.
    #[default]
    NotOpened,
    /// All that can be timed are planted.
    Opened,
    /// Only the calls in which slow intervals were seen are planted.
    OnPath,
    /// Some had to make room, or found none.
    PartiallyOpened(Again),
    /// It makes none that can be timed.
    NoneToTime,
}

/// Calls through pointers of a function that are too short to be timed where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pointers {
    /// None are known.
    #[default]
    None,
    /// The callees of the calls from this index on, in order of address, are not resolved yet.
    Unexplored {
        /// See above.
        next: usize,
    },
    /// All of them were trapped for a while.
    Explored(Again),
}

/// A function.
#[derive(Clone, Debug, Default)]
pub struct FunctionState {
    /// Its calls.
    pub calls: Calls,
    /// Its short calls through pointers.
    pub pointers: Pointers,
    /// Timing its calls would have cost more than they explain.
    pub too_costly: bool,
    /// Its callees that cannot be timed: neither the call to them nor their entry can be hooked. Their calls appear
    /// directly below this function.
    pub through: Vec<Location>,
}

impl FunctionState {
    /// Whether at least some of its calls are timed.
    pub fn is_open(&self) -> bool {
        !matches!(self.calls, Calls::NotOpened | Calls::NoneToTime)
    }

    /// Notes that the calls of another function lie below its own. Returns false if that is known.
    pub(crate) fn calls_through(&mut self, callee: Location) -> bool {
        let is_new = !self.through.contains(&callee);
        if is_new {
            self.through.push(callee);
        }
        is_new
    }
}

/// The state of a probe's callees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Callees {
    /// As the code says; they were not resolved further.
    #[default]
    AsCoded,
    /// The call is being trapped to resolve them; the probe then returns to this state.
    Trapped(Wanted),
    /// They were resolved.
    Sought(Again),
}

/// A probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbeState {
    /// The state of its callees.
    pub callees: Callees,
    /// Whether it was removed for its cost.
    pub taken_out: TakenOut,
    /// Resolving its callees and timing them would have cost more than it explains.
    pub too_costly: bool,
}

/// The knowledge about all functions and probes.
#[derive(Clone, Debug, Default)]
pub struct Known {
    functions: HashMap<Location, FunctionState>,
    probes: HashMap<u32, ProbeState>,
    /// Functions seen active on holders' threads outside of timed calls.
    wakers: Vec<Location>,
    /// The contribution that remained after a step: time of calls that had to make room, or were not met.
    left: HashMap<Step, f64>,
}

impl Known {
    /// Functions seen active on holders' threads outside of timed calls.
    pub fn wakers(&self) -> &[Location] {
        &self.wakers
    }

    /// Adds one of them. Returns false if it is known, or if there are too many.
    pub(crate) fn add_waker(&mut self, function: Location) -> bool {
        let is_new = self.wakers.len() < WAKERS_MAX && !self.wakers.contains(&function);
        if is_new {
            self.wakers.push(function);
        }
        is_new
    }

    /// The state of a function.
    pub fn function(&self, function: Location) -> FunctionState {
        self.functions.get(&function).cloned().unwrap_or_default()
    }

    /// The state of a function, to be changed.
    pub(crate) fn function_mut(&mut self, function: Location) -> &mut FunctionState {
        self.functions.entry(function).or_default()
    }

    /// The state of a probe.
    pub fn probe(&self, id: u32) -> ProbeState {
        self.probes.get(&id).copied().unwrap_or_default()
    }

    /// The state of a probe, to be changed.
    pub(crate) fn probe_mut(&mut self, id: u32) -> &mut ProbeState {
        self.probes.entry(id).or_default()
    }

    /// Probes that were removed for their cost and return at this mean latency, ns.
    pub(crate) fn coming_back(&mut self, mean_ns: f64) -> Vec<u32> {
        let probes = self.probes.iter_mut();
        let back =
            probes.filter_map(|(&id, state)| state.taken_out.comes_back(mean_ns).then_some(id));
        let mut back: Vec<u32> = back.collect();
        back.sort_unstable();
        back
    }

    /// Whether at least some of a function's calls are timed.
    pub fn is_open(&self, function: Location) -> bool {
        let known = self.functions.get(&function);
        known.is_some_and(FunctionState::is_open)
    }

    /// Whether a step was taken before.
    pub(crate) fn was_taken(&self, step: Step) -> bool {
        match step {
            Step::Open(function) => matches!(
                self.function(function).calls,
                Calls::Opened | Calls::PartiallyOpened(_)
            ),
            Step::DiscoverIn(function) => {
                matches!(self.function(function).pointers, Pointers::Explored(_))
            }
            Step::Discover(probe) | Step::Follow(probe) => {
                matches!(self.probe(probe).callees, Callees::Sought(_))
            }
        }
    }

    /// The contribution that remained after a step, once it is known.
    pub(crate) fn left_by(&self, step: Step) -> Option<f64> {
        self.left.get(&step).copied()
    }

    /// Sets the contribution that remained after a step; `None` until it is known.
    pub(crate) fn set_left(&mut self, step: Step, contribution: Option<f64>) {
        match contribution {
            Some(contribution) => self.left.insert(step, contribution),
            None => self.left.remove(&step),
        };
    }

    /// Whether it is time to repeat a step.
    pub(crate) fn is_due(&self, step: Step, now: Instant) -> bool {
        let again = match step {
            Step::Open(function) => match self.function(function).calls {
                Calls::PartiallyOpened(again) => Some(again),
                _ => None,
            },
            Step::DiscoverIn(function) => match self.function(function).pointers {
                Pointers::Explored(again) => Some(again),
                _ => None,
            },
            Step::Discover(probe) | Step::Follow(probe) => match self.probe(probe).callees {
                Callees::Sought(again) => Some(again),
                _ => None,
            },
        };
        again.is_none_or(|again| again.is_due(now))
    }

    /// Probes that are being trapped.
    pub fn trapped(&self) -> impl Iterator<Item = (u32, Wanted)> + '_ {
        self.probes.iter().filter_map(|(&id, state)| {
            let Callees::Trapped(then) = state.callees else {
                return None;
            };
            Some((id, then))
        })
    }

    /// These functions, and the functions whose calls lie below theirs because their own entries cannot be hooked.
    pub(crate) fn with_called_through(&self, functions: &[Location]) -> Vec<Location> {
        let mut all = functions.to_vec();
        let mut at = 0;
        while let Some(function) = all.get(at) {
            let through = self.functions.get(function);
            let through = through.map_or(&[][..], |state| &state.through);
            let new: Vec<Location> = through
                .iter()
                .filter(|function| !all.contains(function))
                .copied()
                .collect();
            all.extend(new);
            at += 1;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_look_comes_twice_as_late() {
        let start = Instant::now();
        let again = Again::first(start);
        assert!(!again.is_due(start + Duration::from_secs(4)));
        assert!(again.is_due(start + Duration::from_secs(5)));
        let later = again.later(start + Duration::from_secs(5));
        assert!(!later.is_due(start + Duration::from_secs(14)));
        assert!(later.is_due(start + Duration::from_secs(15)));
    }

    /// a calls b through a pointer, and b calls a and c so: each once.
    #[test]
    fn circles_of_pointers_end() {
        let [a, b, c] = [1, 2, 3].map(|address| Location::new(0, address));
        let mut known = Known::default();
        known.function_mut(a).through.push(b);
        known.function_mut(b).through.extend([a, c]);
        assert_eq!(known.with_called_through(&[a]), [a, b, c]);
    }
}
