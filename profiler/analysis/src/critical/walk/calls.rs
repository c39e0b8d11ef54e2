//! Calls, met backwards: each encloses what was met since it began.

use evenkeel_wire::record::Record;

use super::super::strand::{Enclosing, Frame, Standing, Strand};
use super::{Next, STEPS_MAX, Walk};
use crate::intervals::Reason;

impl<'a> Walk<'a> {
    /// Enters calls that are open at `strand.at`, outermost first: start and probe. Says whether all of them nest.
    pub(super) fn enclose(
        &mut self,
        strand: &mut Strand<'a>,
        running: impl Iterator<Item = (u64, u32)>,
    ) -> bool {
        let mut nest = true;
        for (start, probe) in running {
            let since = strand.frames.last().map_or(0, |frame| frame.start);
            if start > strand.at || start < since {
                nest = false;
                continue;
            }
            self.enter_call(strand, start, probe);
        }
        nest
    }

    pub(super) fn enter_call(&mut self, strand: &mut Strand<'a>, start: u64, probe: u32) {
        let above = strand.innermost();
        let place = self.vectoriser.call(above, probe, self.paths);
        strand.frames.push(Frame {
            start,
            what: Enclosing::Call(probe),
            place,
        });
    }

    /// A call that was recorded before `at` and ended later: a signal handler's, or it does not nest.
    pub(super) fn beyond(
        &mut self,
        strand: &mut Strand<'a>,
        call: &Record,
    ) -> Result<Next<'a>, Reason> {
        if call.start < strand.at && self.is_home() && strand.standing == Standing::Own {
            return Err(Reason::Malformed);
        }
        strand.call -= 1;
        Ok(Next::Again)
    }

    pub(super) fn meet_call(
        &mut self,
        strand: &mut Strand<'a>,
        call: &Record,
    ) -> Result<Next<'a>, Reason> {
        strand.call -= 1;
        let strict = self.is_home() && strand.standing == Standing::Own;
        let end = call.end();
        strand.leave(end);
        let since = strand.frames.last().map_or(0, |frame| frame.start);
        let nests = call.start >= since && !(strict && end < self.subject.begin);
        match (nests, strict) {
            (true, _) => self.enter_call(strand, call.start, call.id()),
            (false, true) => return Err(Reason::Malformed),
            (false, false) => {}
        }
        Ok(Next::Again)
    }

    /// Meets calls as long as nothing else comes in between: the loop in which nearly all records are dealt with. What is not
    /// simple is left to [`Walk::step`], which does the same one by one.
    pub(super) fn run_through_calls(&mut self, strand: &mut Strand<'a>) {
        if self.now != strand.at || !strand.past.spans.is_empty() || strand.is_waiting() {
            return;
        }
        let timeline = strand.timeline();
        let mark = strand.mark.checked_sub(1).and_then(|at| timeline.mark(at));
        let first = mark.map_or(0, |mark| mark.calls_before);
        let lower = strand.lower.max(timeline.known_since());
        while strand.call > first && self.steps < STEPS_MAX {
            let Some(&call) = timeline.call(strand.call - 1) else {
                return;
            };
            let end = call.end();
            if end > strand.at || end <= lower {
                return;
            }
            self.unwind_calls(strand, end);
            if strand
                .frames
                .last()
                .is_some_and(|frame| call.start < frame.start)
            {
                return;
            }
            self.steps += 1;
            strand.call -= 1;
            self.enter_call(strand, call.start, call.id());
        }
    }

    /// Spends down to `end`, where nothing but calls encloses, and leaves what began later.
    fn unwind_calls(&mut self, strand: &mut Strand<'a>, end: u64) {
        while let Some(&frame) = strand.frames.last() {
            self.spend(frame.start.max(end), strand.thread, frame.place);
            if frame.start < end {
                break;
            }
            strand.frames.pop();
        }
        if strand.frames.is_empty() {
            self.spend(end, strand.thread, strand.base);
        }
        strand.at = end;
    }
}
