//! Spending time: down to the next thing met, in the innermost call or wait, and not while the kernel says otherwise.

use super::super::path::Piece;
use super::super::strand::{Enclosing, Strand};
use super::{Next, Walk};
use crate::states::State;
use crate::vectors::Place;

impl<'a> Walk<'a> {
    /// Spends the innermost frame's time, or a part of it, on the way down to `target`.
    pub(super) fn unwind(&mut self, strand: &mut Strand<'a>, target: u64) -> Next<'a> {
        strand.leave(strand.at);
        let frame = strand.frames.last().copied();
        let floor = frame.map_or(target, |frame| frame.start.max(target));
        let place = strand.innermost();
        match frame.map(|frame| frame.what) {
            _ if floor >= self.now => strand.at = floor,
            Some(Enclosing::Wait(kind, endings)) => {
                return self.unwind_wait(strand, floor, place, kind, endings);
            }
            _ => {
                self.spend_running(strand, floor, place);
                strand.at = floor;
            }
        }
        Next::Again
    }

    /// Spends down to `floor` on a thread that runs, but for when the kernel says that it did not.
    pub(super) fn spend_running(&mut self, strand: &Strand<'a>, floor: u64, place: Place) {
        self.spend_around(strand, floor, place, |preempted| {
            Some(if preempted {
                State::Preempted
            } else {
                State::Asleep
            })
        });
    }

    /// The same on a thread of which it is known that it does not run: only that it could have is news.
    pub(super) fn spend_waiting(&mut self, strand: &Strand<'a>, floor: u64, place: Place) {
        self.spend_around(strand, floor, place, |preempted| {
            preempted.then_some(State::Preempted)
        });
    }

    pub(super) fn spend_around(
        &mut self,
        strand: &Strand<'a>,
        floor: u64,
        place: Place,
        state: impl Fn(bool) -> Option<State>,
    ) {
        while self.now > floor {
            let span = strand.past.spans.last_before(self.now);
            let Some(span) = span.filter(|span| span.end > floor) else {
                self.spend(floor, strand.thread, place);
                return;
            };
            self.spend(span.end, strand.thread, place);
            let off = match state(span.preempted) {
                Some(state) => self.state(place, state),
                None => place,
            };
            self.spend(span.start.max(floor), strand.thread, off);
        }
    }

    pub(super) fn spend_unseen(&mut self, floor: u64, thread: u64, above: Place) {
        if floor < self.now {
            let unseen = self.state(above, State::Unseen);
            self.spend(floor, thread, unseen);
        }
    }

    /// Everything down to `floor` that is not yet spent goes to `place`.
    pub(super) fn spend(&mut self, floor: u64, thread: u64, place: Place) {
        if floor >= self.now {
            return;
        }
        let ticks = (self.now - floor) as i64;
        self.vectoriser.spend(place, ticks);
        self.path.piece(Piece {
            thread,
            from: floor,
            to: self.now,
            node: self.vectoriser.node(place),
        });
        self.now = floor;
    }
}
