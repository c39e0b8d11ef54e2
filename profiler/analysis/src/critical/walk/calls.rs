//! Calls, met backwards: each encloses what was met since it began.

use evenkeel_wire::record::Record;

use super::super::cursor::{Cursor, CursorRole, Enclosing, Enclosure};
use super::{Next, STEPS_MAX, Walk};
use crate::intervals::interval::Reason;
use crate::sums::vectors::Place;

impl<'a> Walk<'a> {
    /// Enters calls that are open at `cursor.at`, outermost first: start and probe. Says whether all of them nest.
    pub(super) fn enclose(
        &mut self,
        cursor: &mut Cursor<'a>,
        running: impl Iterator<Item = (u64, u32)>,
    ) -> bool {
        let mut nest = true;
        for (start, probe) in running {
            let since = cursor.frames.last().map_or(0, |frame| frame.start);
            if start > cursor.at || start < since {
                nest = false;
                continue;
            }
            self.enter_call(cursor, start, probe, true);
        }
        nest
    }

    /// Enters one call. `is_part`: the path may meet the call again, or has met it.
    pub(super) fn enter_call(
        &mut self,
        cursor: &mut Cursor<'a>,
        start: u64,
        probe: u32,
        is_part: bool,
    ) {
        let above = match cursor.frames.is_empty() {
            true => self.above_outermost(cursor, probe),
            false => cursor.innermost(),
        };
        let place = match is_part {
            true => self.part_of_call(above, probe, cursor.thread, start),
            false => self.vectoriser.call(above, probe, self.paths),
        };
        cursor.frames.push(Enclosure {
            start,
            what: Enclosing::Call(probe),
            place,
        });
    }

    /// The place of a call that may be met in several parts; the call is counted once at each place.
    pub(super) fn part_of_call(
        &mut self,
        above: Place,
        probe: u32,
        thread: u64,
        start: u64,
    ) -> Place {
        let place = self.vectoriser.part_of_call(above, probe, self.paths);
        if self.parts.insert((place, thread, start)) {
            self.vectoriser.count_call(above, place);
        }
        place
    }

    /// Marks the open calls as partly met: the path leaves them in the middle, and may meet them again.
    pub(super) fn cut_calls(&mut self, cursor: &Cursor<'a>) {
        let calls = cursor.frames.iter();
        let calls = calls.filter(|frame| matches!(frame.what, Enclosing::Call(_)));
        self.parts
            .extend(calls.map(|frame| (frame.place, cursor.thread, frame.start)));
    }

    /// A call that was recorded before `at` and ended later: a signal handler's, or it does not nest.
    pub(super) fn beyond(
        &mut self,
        cursor: &mut Cursor<'a>,
        call: &Record,
    ) -> Result<Next<'a>, Reason> {
        if call.start < cursor.at && self.is_home() && cursor.role == CursorRole::Own {
            return Err(Reason::Malformed);
        }
        cursor.call -= 1;
        Ok(Next::Again)
    }

    pub(super) fn meet_call(
        &mut self,
        cursor: &mut Cursor<'a>,
        call: &Record,
    ) -> Result<Next<'a>, Reason> {
        cursor.call -= 1;
        let strict = self.is_home() && cursor.role == CursorRole::Own;
        let end = call.end();
        cursor.leave(end);
        let since = cursor.frames.last().map_or(0, |frame| frame.start);
        let nests = call.start >= since && !(strict && end < self.subject.begin);
        match (nests, strict) {
            (true, _) => {
                let is_part = call.start < cursor.lower;
                self.enter_call(cursor, call.start, call.id(), is_part);
            }
            (false, true) => return Err(Reason::Malformed),
            (false, false) => {}
        }
        Ok(Next::Again)
    }

    /// Meets calls as long as nothing else comes in between: the loop in which nearly all records are dealt with. What
    /// is not simple is left to [`Walk::step`], which does the same one by one.
    pub(super) fn run_through_calls(&mut self, cursor: &mut Cursor<'a>) {
        if self.now != cursor.at || !cursor.past.spans.is_empty() || cursor.is_waiting() {
            return;
        }
        let timeline = cursor.timeline();
        let mark = cursor.mark.checked_sub(1).and_then(|at| timeline.mark(at));
        let first = mark.map_or(0, |mark| mark.calls_before);
        let lower = cursor.lower.max(timeline.known_since());
        while cursor.call > first && self.steps < STEPS_MAX {
            let Some(&call) = timeline.call(cursor.call - 1) else {
                return;
            };
            let end = call.end();
            if end > cursor.at || end <= lower {
                return;
            }
            self.unwind_calls(cursor, end);
            if cursor
                .frames
                .last()
                .is_some_and(|frame| call.start < frame.start)
            {
                return;
            }
            self.steps += 1;
            cursor.call -= 1;
            self.enter_call(cursor, call.start, call.id(), call.start < cursor.lower);
        }
    }

    /// Spends down to `end`, where nothing but calls encloses, and leaves what began later.
    fn unwind_calls(&mut self, cursor: &mut Cursor<'a>, end: u64) {
        while let Some(&frame) = cursor.frames.last() {
            self.spend(frame.start.max(end), cursor.thread, frame.place);
            if frame.start < end {
                break;
            }
            cursor.frames.pop();
        }
        if cursor.frames.is_empty() {
            self.spend(end, cursor.thread, cursor.base);
        }
        cursor.at = end;
    }
}
