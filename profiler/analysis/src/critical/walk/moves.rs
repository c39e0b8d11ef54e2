//! From one part of the past to another: turns to other intervals, tasks taken up, segments on other threads.

use evenkeel_wire::Object;

use super::super::cursor::{Cursor, CursorRole, Enclosing, running_at};
use super::{Next, Walk};
use crate::critical::states::State;
use crate::intervals::assembler::Thread;
use crate::intervals::assembler::timeline::{Mark, What};
use crate::intervals::assembler::wakes::Release;
use crate::intervals::interval::{Reason, Serving};
use crate::sums::paths::ROOT;
use crate::sums::vectors::Place;

impl<'a> Walk<'a> {
    /// Where the outermost call of a cursor hangs.
    pub(super) fn base(&mut self, cursor: &Cursor<'a>) -> Place {
        let other = self.other(cursor.past, cursor.serving, cursor.at);
        match cursor.role {
            CursorRole::Own => self.root,
            CursorRole::Foreign => self.state(cursor.root, other),
            CursorRole::Origin => self.state(self.root, other),
            CursorRole::Gap => {
                let turn = self.state(self.root, State::Turn);
                match cursor.serving {
                    Serving::Nobody => turn,
                    _ => self.state(turn, other),
                }
            }
        }
    }

    /// Where the outermost call of a cursor hangs, which is of this probe.
    pub(super) fn above_outermost(&mut self, cursor: &Cursor<'a>, probe: u32) -> Place {
        let is_foreign = cursor.role == CursorRole::Foreign;
        match is_foreign && self.is_unrecorded(cursor.past, cursor.serving, probe) {
            true => self.state(cursor.root, State::Unrecorded),
            false => cursor.base,
        }
    }

    /// Whether a thread is in an interval although it serves none that is known, by its outermost call. Intervals that
    /// are not recorded leave calls behind, but no beginning: recorded ones make the same calls in their own code. A
    /// thread that only ends intervals makes such calls, too, and is in none.
    pub(super) fn is_unrecorded(
        &mut self,
        thread: &Thread,
        serving: Serving,
        outermost: u32,
    ) -> bool {
        matches!(serving, Serving::Nobody)
            && !thread.reader.only_ends()
            && self.paths.has(ROOT, outermost)
    }

    /// Hangs what encloses the present moment under what the thread serves now. A call counts once under each.
    pub(super) fn rebase(&mut self, cursor: &mut Cursor<'a>) {
        self.cut_calls(cursor);
        cursor.base = self.base(cursor);
        let outermost = cursor.frames.first().map(|frame| frame.what);
        let mut above = match outermost {
            Some(Enclosing::Call(probe)) => self.above_outermost(cursor, probe),
            _ => cursor.base,
        };
        for frame in &mut cursor.frames {
            frame.place = match frame.what {
                Enclosing::Call(probe) => {
                    self.part_of_call(above, probe, cursor.thread, frame.start)
                }
                Enclosing::Wait(state, _) => self.vectoriser.state(above, state, self.paths),
            };
            above = frame.place;
        }
    }

    pub(super) fn meet_turn(&mut self, cursor: &mut Cursor<'a>, mark: &Mark) {
        if self.is_home() && cursor.role == CursorRole::Own {
            return; // between its begin and its end the thread is its own
        }
        if cursor.serving == mark.serving && cursor.role != CursorRole::Own {
            return;
        }
        cursor.leave(mark.time);
        cursor.serving = mark.serving;
        let Serving::Keyed(key) = self.subject.serving else {
            return self.rebase(cursor);
        };
        let serves = cursor.serving == self.subject.serving;
        match cursor.role {
            CursorRole::Foreign | CursorRole::Gap | CursorRole::Origin => self.rebase(cursor),
            CursorRole::Own if serves => {}
            // The segment begins with a task: the walk continues where the task was enqueued.
            CursorRole::Own if self.takes_up_task(cursor) => {}
            CursorRole::Own => {
                let begin = self.subject.begin;
                let until = mark.time.saturating_sub(1);
                let last = self
                    .past
                    .keyed
                    .last_segment(key, cursor.thread, begin, until);
                cursor.role = CursorRole::Gap;
                // Its earlier waits are others than that before its next segment.
                cursor.continued = None;
                cursor.polled = None;
                self.awaited = None;
                cursor.lower = last.map_or(begin, |segment| segment.end);
                self.rebase(cursor);
            }
        }
    }

    /// Whether the thread took up an enqueued task between `cursor.at` and its previous turn.
    pub(super) fn takes_up_task(&self, cursor: &Cursor<'a>) -> bool {
        let timeline = cursor.timeline();
        let numbers = (0..cursor.mark).rev();
        let marks = numbers.map_while(|number| Some((number, timeline.mark(number)?)));
        let mut marks =
            marks.take_while(|(_, mark)| mark.what != What::Turn && mark.time >= cursor.lower);
        marks.any(|(number, mark)| match mark.what {
            What::Dequeue(task) => self.origin(cursor, task, mark.time, number).is_some(),
            _ => false,
        })
    }

    /// The enqueue of the task that the cursor's thread took up at this time, by the mark with this number. An enqueue
    /// by the same thread in the same tick but after this mark is another task.
    fn origin(&self, cursor: &Cursor<'a>, task: Object, time: u64, number: u64) -> Option<Release> {
        let origin = self.past.enqueued.last_of_any(task, time)?;
        let is_behind = origin.thread == cursor.thread && origin.mark > number;
        (!is_behind).then_some(origin)
    }

    /// Follows a task to its enqueue. If the interval stays on its thread, the thread's own waits explain the time
    /// instead.
    pub(super) fn meet_dequeue(&mut self, cursor: &mut Cursor<'a>, task: Object) {
        let own = cursor.role != CursorRole::Foreign;
        if cursor.role == CursorRole::Gap || own && self.is_home() {
            return;
        }
        let Some(origin) = self.origin(cursor, task, cursor.at, cursor.mark) else {
            return;
        };
        let until = origin.time.max(cursor.lower);
        let queued = self.state(cursor.root, State::Queued);
        self.spend(until, cursor.thread, queued);
        cursor.at = until;
        self.cut_calls(cursor);
        cursor.leave(0);
        if origin.time <= cursor.lower {
            return;
        }
        let past = self.past.threads.get(&origin.thread);
        let mark = past.and_then(|past| past.reader.timeline.mark(origin.mark));
        let (Some(past), Some(&mark)) = (past, mark) else {
            self.spend_unseen(cursor.lower, origin.thread, cursor.root);
            cursor.at = cursor.lower;
            return;
        };
        self.go_to(cursor, origin.thread, past, origin.mark, &mark);
        if own {
            let free = matches!(mark.serving, Serving::Nobody);
            let same = free || mark.serving == self.subject.serving;
            cursor.role = if same {
                CursorRole::Own
            } else {
                CursorRole::Origin
            };
        }
        cursor.base = self.base(cursor);
        let opens = past.reader.timeline.opens(&mark);
        self.enclose(cursor, opens.map(|open| (open.start, open.probe)));
    }

    /// Moves the cursor to another part of the past, below a mark; no call or wait encloses it yet.
    pub(super) fn go_to(
        &mut self,
        cursor: &mut Cursor<'a>,
        thread: u64,
        past: &'a Thread,
        number: u64,
        mark: &Mark,
    ) {
        cursor.thread = thread;
        cursor.past = past;
        cursor.mark = number;
        cursor.call = mark.calls_before;
        cursor.serving = mark.serving;
        cursor.continued = None;
        cursor.polled = None;
        cursor.frames.clear();
    }

    /// The cursor is at its end; after a gap it continues with the interval's previous segment.
    pub(super) fn reached_lower(&mut self, cursor: &mut Cursor<'a>) -> Result<Next<'a>, Reason> {
        let begin = self.subject.begin;
        let Serving::Keyed(key) = self.subject.serving else {
            return Ok(Next::Done);
        };
        if cursor.role != CursorRole::Gap || cursor.lower <= begin {
            return Ok(Next::Done);
        }
        let at = cursor.lower;
        let segment = self.past.keyed.last_segment(key, cursor.thread, begin, at);
        let segment = segment.filter(|segment| segment.end == at);
        let past = segment.and_then(|segment| self.past.threads.get(&segment.thread));
        let mark = segment.zip(past).and_then(|(segment, past)| {
            let mark = past.reader.timeline.mark(segment.end_mark)?;
            Some((segment, past, *mark))
        });
        cursor.role = CursorRole::Own;
        cursor.lower = begin;
        let Some((segment, past, mark)) = mark else {
            return Ok(Next::Done); // dropped since: what is left is "not seen"
        };
        let stayed = segment.thread == cursor.thread;
        cursor.leave(at);
        self.cut_calls(cursor);
        let enclosing = std::mem::take(&mut cursor.frames);
        self.go_to(cursor, segment.thread, past, segment.end_mark, &mark);
        if stayed {
            cursor.frames = enclosing;
            self.rebase(cursor);
        } else {
            cursor.base = self.root;
            let (number, calls) = (segment.end_mark + 1, mark.calls_before);
            for (start, probe) in running_at(&past.reader.timeline, number, calls, mark.time) {
                self.enter_call(cursor, start, probe, true);
            }
        }
        Ok(Next::Again)
    }
}
