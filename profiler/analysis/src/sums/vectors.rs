//! From an interval to its vector: the time spent at every call path (`variance.md` section 2).
//!
//! Calls are recorded when they return, so walking an interval's records from the last to the first meets every
//! parent before its children. Thus the stack of calls that enclose the present one is known at every step. A record
//! lies inside the innermost of them, or before some of them, or it is malformed.
//!
//! **Closure**: each call adds its duration to its own exclusive time and subtracts it from its caller's. The root's
//! begins with the latency, and the probes' cost moves in whole ticks to a separate node. So exclusive times add up
//! to the latency exactly, in integers; this is still checked for every interval.

mod places;

use evenkeel_wire::{Open, Record};

use crate::intervals::interval::Malformed;
use crate::sums::paths::{BODY_ORDINAL, PROBES, Paths, ROOT};

pub use places::Place;

/// Calibrated cost of one probed call, in 1/256 ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeCost {
    /// The part outside of the recorded duration, and so in the caller's own time.
    pub outer_256: u32,
    /// The part inside of the recorded duration.
    pub inner_256: u32,
}

impl ProbeCost {
    /// Both together, in ticks.
    pub fn ticks(self) -> f64 {
        (f64::from(self.outer_256) + f64::from(self.inner_256)) / 256.0
    }
}

/// Time of an interval at one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The node.
    pub node: u32,
    /// Calls; an open call and a call that began before the interval add one.
    pub calls: u32,
    /// Ticks at the node itself, without what the probes cost there: may be slightly below zero.
    pub exclusive: i64,
    /// Ticks at the node and below it, without what the probes cost there.
    pub inclusive: i64,
    /// Index of the entry of the parent; parents come first.
    pub parent: u32,
    /// Timed calls made directly by the node, without those below.
    pub child_calls: u32,
    /// Calls below the node that were folded into its own time (see [`crate::sums::paths`]).
    pub folded_calls: u32,
    /// Index of one child's entry, or [`NONE`].
    first_child: u32,
    /// Index of the next entry with the same parent, or [`NONE`].
    next_sibling: u32,
    /// The node is a state: no probe was paid for its calls.
    is_state: bool,
}

/// No entry.
const NONE: u32 = u32::MAX;

/// A part of a node that has timed calls: a call, or the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// [`crate::sums::paths::Path::ordinal`]; [`BODY_ORDINAL`] for the body.
    pub ordinal: u32,
    /// [`crate::sums::paths::Path::row`]; 0 for the body, which is the first of its siblings and owns no pair.
    pub row: u32,
    /// Inclusive ticks of a call, exclusive ticks of the node for its body.
    pub ticks: i64,
}

/// The vector of one interval.
#[derive(Clone, Copy, Debug)]
pub struct Vector<'a> {
    /// Latency, ticks.
    pub latency: i64,
    /// Nodes touched, the root first, parents before children.
    pub entries: &'a [Entry],
    /// Parts of each touched node with touched calls, node after node: the body, then the calls by ordinal.
    pub siblings: &'a [Sibling],
    /// |sum of exclusive times - latency|, ticks: zero, or the profiler is wrong.
    pub closure_error: u64,
    /// For how many intervals this one stands ([`evenkeel_wire::KeepRate`]).
    pub weight: u64,
}

/// A segment of one thread: what it did between two moments.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// From, ticks.
    pub start: u64,
    /// To, ticks.
    pub end: u64,
    /// Completed calls in order of their end, but for those of signals' handlers; those with `start` 0 are void.
    pub calls: &'a [Record],
    /// Calls still running at `end`, outermost first; those with `start` 0 are void.
    pub open: &'a [Open],
}

impl Segment<'_> {
    /// The calls in the order of their ends, without those that lie beyond the segment's own.
    ///
    /// They are recorded in that order, with one exception. A signal may strike between reading a call's end from the
    /// clock and writing its record. The handler's calls are then recorded first, though they began after the
    /// interrupted call's end, or after the segment's.
    fn in_order_of_ends(&self) -> Vec<Record> {
        let inside = |call: &&Record| call.start < self.end;
        let mut calls: Vec<Record> = self.calls.iter().filter(inside).copied().collect();
        calls.sort_by_key(|call| call.end());
        calls
    }
}

/// Makes vectors; keeps its buffers from one interval to the next.
#[derive(Debug, Default)]
pub struct Vectoriser {
    entries: Vec<Entry>,
    siblings: Vec<Sibling>,
    frames: Vec<OpenCall>,
    /// By node: index of its entry, valid where that entry names the node.
    entry_of: Vec<u32>,
}

/// A call that encloses the one at hand.
#[derive(Clone, Copy, Debug)]
struct OpenCall {
    /// Entry time as recorded: may lie before the interval.
    start: u64,
    entry: u32,
    folded: bool,
}

impl Vectoriser {
    /// Begins the vector of an interval that is this one segment, `ticks` long; [`Vectoriser::complete`] gives it. New
    /// call paths are added to `paths`.
    ///
    /// # Errors
    /// Where its calls do not nest.
    pub fn segment(
        &mut self,
        segment: &Segment<'_>,
        ticks: i64,
        paths: &mut Paths,
    ) -> Result<(), Malformed> {
        self.begin(ticks);
        if self.walk(segment, segment.calls, paths).is_err() {
            self.begin(ticks);
            self.walk(segment, &segment.in_order_of_ends(), paths)?;
        }
        Ok(())
    }

    fn begin(&mut self, latency: i64) {
        self.entries.clear();
        self.frames.clear();
        self.frames.push(OpenCall {
            start: 0,
            entry: 0,
            folded: false,
        });
        self.entries.push(Entry {
            exclusive: latency,
            ..Entry::at(ROOT, NONE)
        });
    }

    fn walk(
        &mut self,
        segment: &Segment<'_>,
        calls: &[Record],
        paths: &mut Paths,
    ) -> Result<(), Malformed> {
        for open in segment.open.iter().filter(|open| open.start != 0) {
            let inside = open.start <= segment.end && open.start >= self.innermost().start;
            if !inside {
                return Err(Malformed);
            }
            self.enter(open.start, segment.end, open.probe, segment.start, paths);
        }
        let mut latest_end = segment.end;
        for call in calls.iter().rev().filter(|call| call.start != 0) {
            let end = nested_end(call, segment.start, latest_end)?;
            latest_end = end;
            while self.frames.len() > 1 && self.innermost().start >= end {
                self.frames.pop();
            }
            if call.start < self.innermost().start {
                return Err(Malformed);
            }
            self.enter(call.start, end, call.id(), segment.start, paths);
        }
        Ok(())
    }

    #[inline]
    fn innermost(&self) -> OpenCall {
        *self
            .frames
            .last()
            .expect("the root's frame is never popped")
    }

    /// Accounts for a call inside the innermost frame and makes it the innermost. Its time is clipped to the interval.
    #[inline]
    fn enter(&mut self, start: u64, end: u64, probe: u32, interval_start: u64, paths: &mut Paths) {
        let caller = self.innermost();
        let above = &mut self.entries[caller.entry as usize];
        if paths.is_untimed(probe) {
            // Its time stays where it is, but for what its probe cost.
            above.folded_calls += 1;
            return;
        }
        let node = if caller.folded {
            None
        } else {
            paths.child(above.node, probe)
        };
        let Some(node) = node else {
            above.folded_calls += 1;
            paths.count_folded(1);
            self.frames.push(OpenCall {
                start,
                folded: true,
                ..caller
            });
            return;
        };
        let ticks = (end - start.max(interval_start)) as i64;
        above.exclusive -= ticks;
        above.child_calls += 1;
        let at = self.entry(node, caller.entry);
        let entry = &mut self.entries[at as usize];
        entry.exclusive += ticks;
        entry.calls += 1;
        self.frames.push(OpenCall {
            start,
            entry: at,
            folded: false,
        });
    }

    /// Index of the entry of `node`, a child of the node at `parent`.
    #[inline]
    fn entry(&mut self, node: u32, parent: u32) -> u32 {
        if self.entry_of.len() <= node as usize {
            self.entry_of.resize(node as usize + 64, 0);
        }
        let at = self.entry_of[node as usize];
        if self
            .entries
            .get(at as usize)
            .is_some_and(|entry| entry.node == node)
        {
            return at;
        }
        let at = self.entries.len() as u32;
        self.entry_of[node as usize] = at;
        let above = &mut self.entries[parent as usize];
        let next_sibling = std::mem::replace(&mut above.first_child, at);
        self.entries.push(Entry {
            next_sibling,
            ..Entry::at(node, parent)
        });
        at
    }

    /// Moves what the probes cost from the nodes where it was spent to [`PROBES`]. Rounded to whole ticks for each
    /// node, and what is taken is what is given.
    fn move_probe_cost(&mut self, cost: ProbeCost) {
        let (outer, inner) = (i64::from(cost.outer_256), i64::from(cost.inner_256));
        let (mut ticks, mut calls) = (0, 0);
        for entry in &mut self.entries {
            let own = if entry.is_state { 0 } else { entry.calls };
            let [own, below, folded] = [own, entry.child_calls, entry.folded_calls].map(i64::from);
            let parts = inner * own + outer * below + (inner + outer) * folded;
            let here = (parts + 128) >> 8;
            entry.exclusive -= here;
            ticks += here;
            calls += entry.child_calls + entry.folded_calls;
        }
        if ticks != 0 {
            let at = self.entry(PROBES, 0) as usize;
            self.entries[at].exclusive = ticks;
            self.entries[at].calls = calls;
        }
    }

    /// Inclusive times, from the leaves up. Returns the closure error.
    fn add_up(&mut self, latency: i64) -> u64 {
        let mut total = 0;
        for at in (0..self.entries.len()).rev() {
            let entry = &mut self.entries[at];
            entry.inclusive += entry.exclusive;
            total += entry.exclusive;
            let Entry {
                parent, inclusive, ..
            } = *entry;
            if let Some(above) = self.entries.get_mut(parent as usize) {
                above.inclusive += inclusive;
            }
        }
        total
            .abs_diff(latency)
            .max(self.entries[0].inclusive.abs_diff(latency))
    }

    /// In order of ordinal, so that whoever sums products of siblings walks memory forwards.
    fn group_siblings(&mut self, paths: &Paths) {
        self.siblings.clear();
        for parent in self
            .entries
            .iter()
            .filter(|entry| entry.first_child != NONE)
        {
            let calls = self.siblings.len() + 1;
            self.siblings.push(Sibling {
                ordinal: BODY_ORDINAL,
                row: 0,
                ticks: parent.exclusive,
            });
            let mut at = parent.first_child;
            while let Some(call) = self.entries.get(at as usize) {
                let path = paths.get(call.node);
                self.siblings.push(Sibling {
                    ordinal: path.ordinal,
                    row: path.row as u32,
                    ticks: call.inclusive,
                });
                at = call.next_sibling;
            }
            self.siblings[calls..].sort_unstable_by_key(|sibling| sibling.ordinal);
        }
    }
}

impl Entry {
    fn at(node: u32, parent: u32) -> Entry {
        Entry {
            node,
            parent,
            first_child: NONE,
            next_sibling: NONE,
            ..Entry::default()
        }
    }
}

/// End of `call`, which must lie in the interval and not after the call recorded next.
#[inline]
fn nested_end(call: &Record, interval_start: u64, latest_end: u64) -> Result<u64, Malformed> {
    let end = call.end();
    let ordered = call.start <= end && interval_start <= end && end <= latest_end;
    if ordered { Ok(end) } else { Err(Malformed) }
}

#[cfg(test)]
impl Vectoriser {
    /// The vector of an interval whose calls have all returned, and whose probes cost nothing.
    pub fn of_calls(
        &mut self,
        [start, end]: [u64; 2],
        calls: &[Record],
        paths: &mut Paths,
    ) -> Vector<'_> {
        let ticks = (end - start) as i64;
        let segment = Segment {
            start,
            end,
            calls,
            open: &[],
        };
        self.segment(&segment, ticks, paths).expect("they nest");
        self.complete(ticks, ProbeCost::default(), paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A signal strikes while call 1 (ticks 110 to 140) is being recorded; its handler makes call 2 (150 to 170).
    /// Another strikes while the interval's end (200) is: its handler's call 2 (210 to 220) is outside of it.
    #[test]
    fn calls_of_signal_handlers_may_be_recorded_first() {
        let calls = [
            Record::new(150, 20, 2),
            Record::new(110, 30, 1),
            Record::new(210, 10, 2),
        ];
        let segment = Segment {
            start: 100,
            end: 200,
            calls: &calls,
            open: &[],
        };
        let mut vectoriser = Vectoriser::default();
        let mut paths = Paths::default();
        vectoriser.segment(&segment, 100, &mut paths).unwrap();
        let vector = vectoriser.complete(100, ProbeCost::default(), &mut paths);
        let times: Vec<(u64, i64)> = vector
            .entries
            .iter()
            .map(|entry| (entry.calls as u64, entry.exclusive))
            .collect();
        // The root's own 50 ticks, and 20 and 30 in the calls, the later one met first.
        assert_eq!((times[0].1, times[1], times[2]), (50, (1, 20), (1, 30)));
        assert_eq!(vector.closure_error, 0);
    }
}
