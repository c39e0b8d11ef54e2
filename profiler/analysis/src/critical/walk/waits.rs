//! Waits: their wakers, and the cursors that follow what a waker did during the wait.

use std::ops::Range;

use evenkeel_wire::{Object, ObjectKind};

use super::super::blocking::{Holder, WAITER_CALLS_MAX, WaitSeen};
use super::super::cursor::{
    Continued, Cursor, CursorRole, Enclosing, Enclosure, Ending, Endings, Moment,
    is_poll_that_timed_out,
};
use super::super::path::ClientWait;
use super::{HOPS_MAX, Next, Walk};
use crate::critical::states::State;
use crate::intervals::assembler::spans::SwitchedOut;
use crate::intervals::assembler::timeline::What;
use crate::intervals::interval::Serving;
use crate::intervals::roles::ThreadRole;
use crate::sums::vectors::Place;

impl<'a> Walk<'a> {
    pub(super) fn meet_wait(
        &mut self,
        cursor: &mut Cursor<'a>,
        time: Range<u64>,
        objects: [Option<Object>; 2],
    ) {
        if time.is_empty() || time.end > cursor.at {
            return;
        }
        cursor.leave(time.end);
        let since = cursor.frames.last().map_or(0, |frame| frame.start);
        let Some(object) = objects[0].filter(|_| time.start >= since) else {
            return;
        };
        let mut met = self.met(cursor, object, &time, objects);
        let awaits = cursor.role == CursorRole::Gap && is_event_loop(&object);
        if awaits {
            met = self.awaited(met, time.end);
        }
        if met.endings == [None; 2] {
            if cursor.past.spans.never_blocked(time.start, time.end) {
                return; // the call could have waited and had no need to: its time is that of running
            }
            if cursor.past.spans.on_device(time.start, time.end) && is_of_bytes(object.kind) {
                met.object.kind = ObjectKind::File;
            }
        }
        let state = match cursor.role {
            CursorRole::Foreign => self.of_another(cursor, &met),
            _ => State::Waits(met.object.kind),
        };
        if state == State::Remote {
            return self.leave_target(cursor);
        }
        if cursor.role == CursorRole::Own && !cursor.is_waiting() {
            let until = cursor.at.min(self.now);
            let time = time.start.max(cursor.lower)..until;
            self.see_wait(cursor, met.object, met.release, time);
        }
        let above = match awaits {
            true => self.root,
            false => cursor.innermost(),
        };
        self.push_wait(cursor, state, time, met.endings, above);
    }

    /// A wait with its wakers. A timer or a signal may wake a thread early, so that it waits again for the same object.
    /// The last of these waits has the waker of all.
    fn met(
        &mut self,
        cursor: &mut Cursor<'a>,
        object: Object,
        time: &Range<u64>,
        objects: [Option<Object>; 2],
    ) -> Met {
        let last = |object| {
            let wakes = &self.past.wakes;
            wakes.last(object, cursor.thread, time.start, time.end)
        };
        let mut endings = objects.map(|object| Some(Ending::from(object.and_then(last)?)));
        if endings == [None; 2] {
            endings[1] = ended_by_kernel(cursor, time.start, time.end);
        }
        endings.sort_by_key(|ending| ending.map_or(0, |ending| ending.time));
        let mut met = Met {
            object,
            endings,
            release: endings[1],
        };
        let calls = cursor.innermost_calls(WAITER_CALLS_MAX);
        let polled = cursor.polled.as_deref();
        let mut later = cursor
            .continued
            .iter()
            .chain(polled.filter(|_| is_poll_that_timed_out(&object)));
        if met.release.is_none()
            && let Some(later) = later.find(|later| later.continues(object, time, &calls))
        {
            met = Met {
                object: later.object,
                endings: [None, later.release.map(|release| release.seen_at(time.end))],
                release: later.release,
            };
        }
        let part = Continued {
            object: met.object,
            start: time.start,
            release: met.release,
            calls,
        };
        // A thread may look at its descriptors between two parts of a wait, without waiting: that ends nothing.
        if met.release.is_some() {
            cursor.continued = Some(part);
        } else if met.object.kind == ObjectKind::Poll {
            cursor.polled = Some(Box::new(part));
        }
        met
    }

    /// An event loop's wait between two segments of the interval, as the interval's own: it does not wait for its turn while
    /// nobody has one. What ended the last of these waits is what the interval has waited for in all of them.
    fn awaited(&mut self, met: Met, end: u64) -> Met {
        let (object, release) = *self.awaited.get_or_insert((met.object, met.release));
        if release == met.release {
            return Met { object, ..met };
        }
        Met {
            object,
            endings: [None, release.map(|release| release.seen_at(end))],
            release,
        }
    }

    /// Enters the wait in which a thread is at a time that has no mark: the wait's mark comes later.
    fn enter_wait(&mut self, cursor: &mut Cursor<'a>) {
        let timeline = cursor.timeline();
        let later = (cursor.mark..timeline.marks_end()).take(MARKS_SCANNED);
        let waits = later.filter_map(|at| timeline.mark(at)).filter_map(|mark| {
            let What::Wait { start, objects } = mark.what else {
                return None;
            };
            Some((start..mark.time, objects))
        });
        let mut waits = waits.skip_while(|(time, _)| time.end <= cursor.at);
        let Some((time, [Some(object), other])) = waits.next() else {
            return;
        };
        let since = cursor.frames.last().map_or(0, |frame| frame.start);
        if time.start >= cursor.at || time.start < since {
            return;
        }
        let met = self.met(cursor, object, &time, [Some(object), other]);
        let state = self.of_another(cursor, &met);
        if state == State::Remote {
            return self.leave_target(cursor);
        }
        if met.release.is_none() && !matches!(state, State::Idle { .. }) {
            return;
        }
        let above = cursor.innermost();
        self.push_wait(cursor, state, time, met.endings, above);
    }

    /// The thread is in this wait from here back to its start.
    fn push_wait(
        &mut self,
        cursor: &mut Cursor<'a>,
        state: State,
        time: Range<u64>,
        endings: Endings,
        above: Place,
    ) {
        self.see_client_wait(cursor, state, &time);
        let place = self.state(above, state);
        cursor.frames.push(Enclosure {
            start: time.start,
            what: Enclosing::Wait(state, endings),
            place,
        });
    }

    /// Records another thread's wait for its client. The interval that it served last is known if no other wait for
    /// the client lies in between: the client may have sent an interval that was not recorded.
    fn see_client_wait(&mut self, cursor: &Cursor<'a>, state: State, time: &Range<u64>) {
        if !matches!(state, State::Idle { .. }) {
            return;
        }
        let timeline = cursor.timeline();
        let (next, _) = timeline.position(time.start);
        let earlier = (next.saturating_sub(MARKS_SCANNED as u64)..next).rev();
        let marks = earlier.map_while(|at| timeline.mark(at));
        let mut marks =
            marks.take_while(|mark| !matches!(mark.what, What::Wait { .. } | What::Gap));
        let last = marks.find_map(|mark| match (mark.what, mark.serving) {
            (What::Turn, Serving::Interval(serial)) => Some(self.past.serials.class_of(serial)),
            _ => None,
        });
        self.path.client_wait(ClientWait {
            thread: cursor.thread,
            since: time.start,
            until: time.end,
            last,
        });
    }

    /// The state of another thread's wait, while the interval is blocked until that thread releases it.
    fn of_another(&self, cursor: &Cursor<'a>, met: &Met) -> State {
        let thread = cursor.past;
        let is_message = is_of_bytes(met.object.kind)
            || matches!(met.object.kind, ObjectKind::Poll | ObjectKind::Signal);
        let is_relayed = is_message || met.object.kind == ObjectKind::Timer;
        let serves = thread.reader.serves() || thread.role == ThreadRole::SESSION;
        match met.release {
            _ if is_relayed && thread.role.is_relay() => State::Remote,
            None if is_message && serves && matches!(cursor.serving, Serving::Nobody) => {
                State::Idle {
                    in_transaction: thread.role == ThreadRole::SESSION || self.past.is_database,
                }
            }
            _ => State::Waits(met.object.kind),
        }
    }

    /// Attributes the rest of the cursor's time to another machine, whatever else the thread did then.
    fn leave_target(&mut self, cursor: &mut Cursor<'a>) {
        let place = self.state(cursor.innermost(), State::Remote);
        self.spend_waiting(cursor, cursor.lower, place);
        self.cut_calls(cursor);
        cursor.at = cursor.lower;
        cursor.leave(0);
    }

    /// Records a wait for the whole-run view.
    pub(super) fn see_wait(
        &mut self,
        cursor: &Cursor<'a>,
        object: Object,
        ending: Option<Ending>,
        time: Range<u64>,
    ) {
        let holder = ending.and_then(|ending| {
            let thread = self.past.threads.get(&ending.thread)?;
            let moment = Moment::of(&thread.reader.timeline, ending)?;
            let outermost = moment.running.first().map(|&(_, probe)| probe);
            let serving = match outermost {
                Some(probe) if self.is_unrecorded(thread, moment.serving, probe) => {
                    State::Unrecorded
                }
                _ => self.other(thread, moment.serving, ending.time),
            };
            Some(Holder {
                calls: moment.running.iter().map(|&(_, probe)| probe).collect(),
                serving,
            })
        });
        self.path.wait(WaitSeen {
            waiter: cursor.innermost_calls(WAITER_CALLS_MAX),
            object,
            holder,
            ticks: time.end.saturating_sub(time.start) as i64,
        });
    }

    /// A cursor for the waker of a wait whose place is `wait`; `None` if it cannot be followed.
    pub(super) fn follow(&mut self, ending: Ending, wait: Place, lower: u64) -> Option<Cursor<'a>> {
        if self.hops >= HOPS_MAX {
            return None;
        }
        let past = self.past.threads.get(&ending.thread)?;
        let moment = Moment::of(&past.reader.timeline, ending)?;
        let mut cursor = Cursor {
            thread: ending.thread,
            past,
            mark: moment.mark,
            call: moment.call,
            at: ending.time,
            lower,
            serving: moment.serving,
            role: CursorRole::Foreign,
            root: wait,
            base: wait,
            frames: Vec::new(),
            continued: None,
            polled: None,
        };
        cursor.base = self.base(&cursor);
        self.enclose(&mut cursor, moment.running.into_iter());
        if ending.mark.is_none() {
            self.enter_wait(&mut cursor);
        }
        Some(cursor)
    }

    /// The place of a sleep without an announced wait, down to `cursor.at`; the kernel reported the waker.
    pub(super) fn unannounced(
        &mut self,
        cursor: &Cursor<'a>,
        ending: Ending,
        place: Place,
    ) -> Place {
        let object = Object {
            key: 0,
            kind: ObjectKind::Unannounced,
        };
        if cursor.role == CursorRole::Own && !cursor.is_waiting() {
            self.see_wait(cursor, object, Some(ending), cursor.at..self.now);
        }
        self.state(place, State::Waits(object.kind))
    }

    pub(super) fn unwind_wait(
        &mut self,
        cursor: &mut Cursor<'a>,
        floor: u64,
        place: Place,
        state: State,
        endings: Endings,
    ) -> Next<'a> {
        let mut known = endings.into_iter().flatten();
        let until = self.now.min(cursor.at);
        // The first release at or after this time ended the wait; an earlier release came too soon.
        let Some(ending) = known.find(|ending| ending.time >= until) else {
            let latest = endings[1].map_or(floor, |ending| ending.time.max(floor));
            match endings[1] {
                _ if state == State::Waits(ObjectKind::Spin) => {
                    self.spend_running(cursor, latest, place)
                }
                Some(_) => {
                    let woken = self.state(place, State::Woken);
                    self.spend_waiting(cursor, latest, woken);
                }
                None => self.spend_waiting(cursor, latest, place),
            }
            cursor.at = latest;
            return Next::Again;
        };
        let earlier = endings[0].filter(|earlier| earlier.time < until);
        let lower = earlier.map_or(floor, |earlier| earlier.time.max(floor));
        cursor.at = lower;
        if lower >= until {
            return Next::Again;
        }
        match self.follow(ending, place, lower) {
            Some(waker) => Next::Follow(waker),
            None => {
                self.spend_unseen(lower, ending.thread, place);
                Next::Again
            }
        }
    }
}

/// Marks examined, at most, for the wait that a thread was in.
const MARKS_SCANNED: usize = 64;

/// A wait that the walk met.
struct Met {
    object: Object,
    endings: Endings,
    /// The wake that ended it, or the last of the waits that continue it.
    release: Option<Ending>,
}

/// Whether a thread waits for whatever comes, as an event loop does.
fn is_event_loop(object: &Object) -> bool {
    object.kind == ObjectKind::Poll || is_poll_that_timed_out(object)
}

fn is_of_bytes(kind: ObjectKind) -> bool {
    matches!(kind, ObjectKind::Socket | ObjectKind::Pipe)
}

/// The waker of the last sleep in a wait by the kernel's report, used if no thread announced the wake.
fn ended_by_kernel(cursor: &Cursor<'_>, start: u64, end: u64) -> Option<Ending> {
    ended_sleep(cursor, cursor.past.spans.last_sleep(start, end)?)
}

/// The waker of one sleep by the kernel's report.
pub(super) fn ended_sleep(cursor: &Cursor<'_>, sleep: SwitchedOut) -> Option<Ending> {
    let thread = sleep.by.filter(|&by| by != cursor.thread)?;
    Some(Ending {
        time: sleep.end,
        thread,
        mark: None,
    })
}
