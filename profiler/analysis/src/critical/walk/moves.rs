//! From one part of the past to another: turns to other intervals, tasks taken up, segments on other threads.

use evenkeel_wire::Object;

use super::super::strand::{Enclosing, Standing, Strand, running_at};
use super::{Next, Walk};
use crate::assembler::Thread;
use crate::assembler::timeline::{Mark, What};
use crate::interval::{Reason, Serving};
use crate::states::State;
use crate::vectors::Place;

impl<'a> Walk<'a> {
    /// Where the outermost call of a strand hangs.
    pub(super) fn base(&mut self, strand: &Strand<'a>) -> Place {
        let other = self.other(strand.serving, strand.at);
        match strand.standing {
            Standing::Own => self.root,
            Standing::Foreign => self.state(strand.root, other),
            Standing::Origin => self.state(self.root, other),
            Standing::Gap => {
                let turn = self.state(self.root, State::Turn);
                match strand.serving {
                    Serving::Nobody => turn,
                    _ => self.state(turn, other),
                }
            }
        }
    }

    /// Hangs what encloses the present moment under what the thread serves now. A call counts once under each.
    pub(super) fn rebase(&mut self, strand: &mut Strand<'a>) {
        self.cut_calls(strand);
        strand.base = self.base(strand);
        let mut above = strand.base;
        for frame in &mut strand.frames {
            frame.place = match frame.what {
                Enclosing::Call(probe) => {
                    self.part_of_call(above, probe, strand.thread, frame.start)
                }
                Enclosing::Wait(kind, _) => {
                    self.vectoriser.state(above, State::Waits(kind), self.paths)
                }
            };
            above = frame.place;
        }
    }

    pub(super) fn meet_turn(&mut self, strand: &mut Strand<'a>, mark: &Mark) {
        if self.is_home() && strand.standing == Standing::Own {
            return; // between its begin and its end the thread is its own
        }
        if strand.serving == mark.serving && strand.standing != Standing::Own {
            return;
        }
        strand.leave(mark.time);
        strand.serving = mark.serving;
        let Serving::Keyed(key) = self.subject.serving else {
            return self.rebase(strand);
        };
        let serves = strand.serving == self.subject.serving;
        match strand.standing {
            Standing::Foreign | Standing::Gap | Standing::Origin => self.rebase(strand),
            Standing::Own if serves => {}
            // The segment begins with a task: the walk goes on where it was enqueued.
            Standing::Own if self.takes_up_task(strand) => {}
            Standing::Own => {
                let begin = self.subject.begin;
                let until = mark.time.saturating_sub(1);
                let last = self
                    .past
                    .keyed
                    .last_segment(key, strand.thread, begin, until);
                strand.standing = Standing::Gap;
                strand.lower = last.map_or(begin, |segment| segment.end);
                self.rebase(strand);
            }
        }
    }

    /// Whether the thread took up a task that somebody enqueued, between `strand.at` and its turn before.
    pub(super) fn takes_up_task(&self, strand: &Strand<'a>) -> bool {
        let timeline = strand.timeline();
        let marks = (0..strand.mark).rev().map_while(|at| timeline.mark(at));
        let mut marks =
            marks.take_while(|mark| mark.what != What::Turn && mark.time >= strand.lower);
        marks.any(|mark| match mark.what {
            What::Dequeue(task) => self.past.enqueued.last_of_any(task, mark.time).is_some(),
            _ => false,
        })
    }

    /// Follows created-by. Inside an interval that stays on its thread the thread's own waits tell why it waited.
    pub(super) fn meet_dequeue(&mut self, strand: &mut Strand<'a>, task: Object) {
        let own = strand.standing != Standing::Foreign;
        if strand.standing == Standing::Gap || own && self.is_home() {
            return;
        }
        let Some(origin) = self.past.enqueued.last_of_any(task, strand.at) else {
            return;
        };
        let until = origin.time.max(strand.lower);
        let queued = self.state(strand.root, State::Queued);
        self.spend(until, strand.thread, queued);
        strand.at = until;
        self.cut_calls(strand);
        strand.leave(0);
        if origin.time <= strand.lower {
            return;
        }
        let past = self.past.threads.get(&origin.thread);
        let mark = past.and_then(|past| past.reader.timeline.mark(origin.mark));
        let (Some(past), Some(&mark)) = (past, mark) else {
            self.spend_unseen(strand.lower, origin.thread, strand.root);
            strand.at = strand.lower;
            return;
        };
        self.go_to(strand, origin.thread, past, origin.mark, &mark);
        if own {
            let free = matches!(mark.serving, Serving::Nobody);
            let same = free || mark.serving == self.subject.serving;
            strand.standing = if same {
                Standing::Own
            } else {
                Standing::Origin
            };
        }
        strand.base = self.base(strand);
        let opens = past.reader.timeline.opens(&mark);
        self.enclose(strand, opens.map(|open| (open.start, open.probe)));
    }

    /// Goes on with another part of the past, below a mark; nothing encloses it yet.
    pub(super) fn go_to(
        &mut self,
        strand: &mut Strand<'a>,
        thread: u64,
        past: &'a Thread,
        number: u64,
        mark: &Mark,
    ) {
        strand.thread = thread;
        strand.past = past;
        strand.mark = number;
        strand.call = mark.calls_before;
        strand.serving = mark.serving;
        strand.frames.clear();
    }

    /// A strand is at its end; after a gap it goes on at the interval's segment before.
    pub(super) fn reached_lower(&mut self, strand: &mut Strand<'a>) -> Result<Next<'a>, Reason> {
        let begin = self.subject.begin;
        let Serving::Keyed(key) = self.subject.serving else {
            return Ok(Next::Done);
        };
        if strand.standing != Standing::Gap || strand.lower <= begin {
            return Ok(Next::Done);
        }
        let at = strand.lower;
        let segment = self.past.keyed.last_segment(key, strand.thread, begin, at);
        let segment = segment.filter(|segment| segment.end == at);
        let past = segment.and_then(|segment| self.past.threads.get(&segment.thread));
        let mark = segment.zip(past).and_then(|(segment, past)| {
            let mark = past.reader.timeline.mark(segment.end_mark)?;
            Some((segment, past, *mark))
        });
        strand.standing = Standing::Own;
        strand.lower = begin;
        let Some((segment, past, mark)) = mark else {
            return Ok(Next::Done); // dropped since: what is left is "not seen"
        };
        let stayed = segment.thread == strand.thread;
        strand.leave(at);
        self.cut_calls(strand);
        let enclosing = std::mem::take(&mut strand.frames);
        self.go_to(strand, segment.thread, past, segment.end_mark, &mark);
        if stayed {
            strand.frames = enclosing;
            self.rebase(strand);
        } else {
            strand.base = self.root;
            let (number, calls) = (segment.end_mark + 1, mark.calls_before);
            for (start, probe) in running_at(&past.reader.timeline, number, calls, mark.time) {
                self.enter_call(strand, start, probe, true);
            }
        }
        Ok(Next::Again)
    }
}
