//! What a thread is in that may be slow: its open interval, or a stretch of work.
//!
//! An interval with a key belongs to no thread. Its work is done in stretches, each a call that is timed, with all
//! below it. The outermost call in flight says when a stretch began.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use evenkeel_attach::Stacks;
use evenkeel_wire::RingState;
use evenkeel_wire::in_flight::{
    FIRST_WORD, FRAME_WORDS, FREE, HEAD_WORDS, SLOT_WORD, START_MASK, START_WORD,
};

use super::{Step, owner};
use crate::arena::Arena;
use crate::location::Location;
use crate::processes::Processes;

/// A stretch that has this part of a slow interval's latency is looked at: an interval may have several.
const STRETCH_PART: u32 = 10;

/// What is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    /// Intervals that stay on their threads.
    #[default]
    Intervals,
    /// Stretches of work for intervals with keys.
    Stretches,
}

impl Subject {
    /// How long it has lasted from which on it is looked at, where an interval is slow from `bound` on.
    pub(super) fn slow_from(self, bound: Duration) -> Duration {
        match self {
            Subject::Intervals => bound,
            Subject::Stretches => bound / STRETCH_PART,
        }
    }

    /// Whether a path is of what is looked at. A thread does other work, too, or has nothing to do. A path of an
    /// interval's work has one of these functions.
    pub(super) fn has(self, path: &[Step], scope: &[Location]) -> bool {
        let begins = path.first().map(|step| step.function);
        match self {
            Subject::Intervals => begins.is_some(),
            Subject::Stretches => begins.flatten().is_some_and(|at| scope.contains(&at)),
        }
    }

    /// Ring and beginning (ticks) of each that is open.
    pub(super) fn open(self, arena: &Arena, processes: &mut Processes) -> Vec<(usize, u64)> {
        match self {
            Subject::Intervals => {
                let open = arena.open_intervals();
                open.map(|(ring, now)| (ring, now.open_since)).collect()
            }
            Subject::Stretches => {
                let rings = arena.live_rings();
                let since = rings.map(|ring| {
                    let (pid, _) = owner(arena, ring);
                    let stacks = processes.stacks(pid).ok();
                    (ring, self.since(arena, ring, stacks))
                });
                since.filter(|&(_, since)| since != 0).collect()
            }
        }
    }

    /// When the one began that a ring's thread is in, ticks; 0 without one.
    pub(super) fn since(self, arena: &Arena, ring: usize, stacks: Option<&Stacks>) -> u64 {
        let header = arena.ring(ring);
        if header.state.load(Relaxed) != RingState::Live as u32 {
            return 0;
        }
        match self {
            Subject::Intervals => header.open_since.load(Relaxed),
            Subject::Stretches => {
                let head_at = header.in_flight_at.load(Relaxed);
                stacks.map_or(0, |stacks| outermost_since(head_at, stacks))
            }
        }
    }
}

/// When a thread's outermost call in flight began, ticks; 0 without one.
fn outermost_since(head_at: u64, stacks: &Stacks) -> u64 {
    let (mut head, mut frame) = ([0; HEAD_WORDS], [0; FRAME_WORDS]);
    if head_at == 0 || stacks.copy_words(head_at, &mut head) < HEAD_WORDS {
        return 0;
    }
    let copied = stacks.copy_words(head[FIRST_WORD], &mut frame);
    if copied < FRAME_WORDS || FREE.contains(&frame[SLOT_WORD]) {
        return 0;
    }
    frame[START_WORD] & START_MASK
}
