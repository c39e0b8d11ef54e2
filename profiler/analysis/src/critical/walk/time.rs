//! Spends time down to the next event: in the innermost call or wait, except where the kernel reports another state.

use super::super::cursor::{Cursor, Enclosing};
use super::super::path::Piece;
use super::waits::ended_sleep;
use super::{Next, Walk};
use crate::critical::states::State;
use crate::intervals::assembler::spans::Off;
use crate::sums::vectors::Place;

impl<'a> Walk<'a> {
    /// Spends the innermost frame's time, or a part of it, on the way down to `target`.
    pub(super) fn unwind(&mut self, cursor: &mut Cursor<'a>, target: u64) -> Next<'a> {
        cursor.leave(cursor.at);
        let frame = cursor.frames.last().copied();
        let floor = frame.map_or(target, |frame| frame.start.max(target));
        let place = cursor.innermost();
        match frame.map(|frame| frame.what) {
            _ if floor >= self.now => cursor.at = floor,
            Some(Enclosing::Wait(state, endings)) => {
                return self.unwind_wait(cursor, floor, place, state, endings);
            }
            _ => return self.unwind_running(cursor, floor, place),
        }
        Next::Again
    }

    /// Spends down to `floor` on a running thread, except for the time that the kernel reports as switched out. Stops
    /// at a sleep that another thread ended, to follow the waker.
    fn unwind_running(&mut self, cursor: &mut Cursor<'a>, floor: u64, place: Place) -> Next<'a> {
        while self.now > floor {
            let span = cursor.past.spans.last_before(self.now);
            let Some(span) = span.filter(|span| span.end > floor) else {
                break;
            };
            self.spend(span.end, cursor.thread, place);
            cursor.at = span.start.max(floor);
            let Some(ending) = ended_sleep(cursor, span) else {
                let off = self.state(place, State::of_off(span.off));
                self.spend(cursor.at, cursor.thread, off);
                continue;
            };
            let wait = self.unannounced(cursor, ending, place);
            if let Some(waker) = self.follow(ending, wait, cursor.at) {
                return Next::Follow(waker);
            }
            self.spend_unseen(cursor.at, ending.thread, wait);
        }
        self.spend(floor, cursor.thread, place);
        cursor.at = floor;
        Next::Again
    }

    /// The same in a wait that is spent running (a spin lock): wakers of sleeps in it are not followed.
    pub(super) fn spend_running(&mut self, cursor: &Cursor<'a>, floor: u64, place: Place) {
        self.spend_around(cursor, floor, place, |off| Some(State::of_off(off)));
    }

    /// The same in a wait where the thread is known not to run: only preemption is shown separately.
    pub(super) fn spend_waiting(&mut self, cursor: &Cursor<'a>, floor: u64, place: Place) {
        self.spend_around(cursor, floor, place, |off| {
            (off == Off::Preempted).then_some(State::Preempted)
        });
    }

    fn spend_around(
        &mut self,
        cursor: &Cursor<'a>,
        floor: u64,
        place: Place,
        state: impl Fn(Off) -> Option<State>,
    ) {
        while self.now > floor {
            let span = cursor.past.spans.last_before(self.now);
            let Some(span) = span.filter(|span| span.end > floor) else {
                self.spend(floor, cursor.thread, place);
                return;
            };
            self.spend(span.end, cursor.thread, place);
            let off = match state(span.off) {
                Some(state) => self.state(place, state),
                None => place,
            };
            self.spend(span.start.max(floor), cursor.thread, off);
        }
    }

    /// Spends time down to `floor`. Only the calls that enclose it are known.
    pub(super) fn spend_unknown(&mut self, cursor: &Cursor<'a>, floor: u64) {
        for frame in cursor.frames.iter().rev() {
            self.spend_unseen(frame.start.max(floor), cursor.thread, frame.place);
        }
        self.spend_unseen(floor, cursor.thread, cursor.root);
    }

    pub(super) fn spend_unseen(&mut self, floor: u64, thread: u64, above: Place) {
        if floor < self.now {
            let unseen = self.state(above, State::Unseen);
            self.spend(floor, thread, unseen);
        }
    }

    /// Adds all unspent time down to `floor` to `place`.
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
