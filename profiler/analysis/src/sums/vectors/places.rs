//! Vectors made piece by piece: what [`crate::critical`] does, whose intervals are not one thread's calls.

use super::{ProbeCost, Vector, Vectoriser};
use crate::critical::states::State;
use crate::sums::paths::Paths;

/// Where time is spent while a vector is made piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    entry: u32,
    folded: bool,
}

impl Vectoriser {
    /// Begins a vector; returns the place of the interval itself.
    pub fn start(&mut self) -> Place {
        self.begin(0);
        Place {
            entry: 0,
            folded: false,
        }
    }

    /// Counts a call of `probe` made at `above`; returns its place. New call paths are added to `paths`.
    pub fn call(&mut self, above: Place, probe: u32, paths: &mut Paths) -> Place {
        let place = self.part_of_call(above, probe, paths);
        self.count_call(above, place);
        place
    }

    /// The place of a call of `probe` made at `above`, which is not counted: a part of it is at hand, and others may
    /// have been.
    pub fn part_of_call(&mut self, above: Place, probe: u32, paths: &mut Paths) -> Place {
        self.step(above, probe, paths)
    }

    /// Counts a call at `place`, made at `above`.
    pub fn count_call(&mut self, above: Place, place: Place) {
        // The same place: it is not timed (see [`Paths::without`]).
        if place.folded || place.entry == above.entry {
            self.entries[above.entry as usize].folded_calls += 1;
        } else {
            self.entries[above.entry as usize].child_calls += 1;
            self.entries[place.entry as usize].calls += 1;
        }
    }

    /// Counts a state at `above`; returns its place.
    pub fn state(&mut self, above: Place, state: State, paths: &mut Paths) -> Place {
        let place = self.step(above, state.step(), paths);
        if !place.folded {
            let entry = &mut self.entries[place.entry as usize];
            entry.is_state = true;
            entry.calls += 1;
        }
        place
    }

    /// Adds time to a place.
    pub fn spend(&mut self, place: Place, ticks: i64) {
        self.entries[place.entry as usize].exclusive += ticks;
    }

    /// The node of a place; of a folded call its caller's.
    pub fn node(&self, place: Place) -> u32 {
        self.entries[place.entry as usize].node
    }

    /// The vector of all that was spent.
    pub fn complete(&mut self, latency: i64, cost: ProbeCost, paths: &mut Paths) -> Vector<'_> {
        self.move_probe_cost(cost);
        let closure_error = self.add_up(latency);
        self.group_siblings(paths);
        Vector {
            latency,
            entries: &self.entries,
            siblings: &self.siblings,
            closure_error,
            weight: 1,
        }
    }

    fn step(&mut self, above: Place, step: u32, paths: &mut Paths) -> Place {
        if paths.is_untimed(step) {
            return above;
        }
        let parent = self.entries[above.entry as usize].node;
        let node = match above.folded {
            true => None,
            false => paths.child(parent, step),
        };
        let Some(node) = node else {
            paths.count_folded(1);
            return Place {
                folded: true,
                ..above
            };
        };
        Place {
            entry: self.entry(node, above.entry),
            folded: false,
        }
    }
}
