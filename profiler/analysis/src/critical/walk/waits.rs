//! Waits: who ended them, and the way to what that one did meanwhile.

use std::ops::Range;

use evenkeel_wire::{Kind, Object};

use super::super::blocking::{Holder, WAITER_CALLS_MAX, WaitSeen};
use super::super::cursor::{Cursor, CursorRole, Enclosing, Enclosure, Ending, Endings, Moment};
use super::{HOPS_MAX, Next, Walk};
use crate::critical::states::State;
use crate::intervals::assembler::spans::SwitchedOut;
use crate::sums::vectors::Place;

impl<'a> Walk<'a> {
    pub(super) fn meet_wait(
        &mut self,
        cursor: &mut Cursor<'a>,
        start: u64,
        end: u64,
        objects: [Option<Object>; 2],
    ) {
        if start >= end || end > cursor.at {
            return;
        }
        cursor.leave(end);
        let since = cursor.frames.last().map_or(0, |frame| frame.start);
        let Some(object) = objects[0].filter(|_| start >= since) else {
            return;
        };
        let last = |object| self.past.wakes.last(object, cursor.thread, start, end);
        let mut endings = objects.map(|object| Some(Ending::from(object.and_then(last)?)));
        if endings == [None; 2] {
            endings[1] = ended_by_kernel(cursor, start, end);
        }
        if endings == [None; 2] && cursor.past.spans.never_blocked(start, end) {
            return; // the call could have waited and had no need to: its time is that of running
        }
        let time = |ending: &Option<Ending>| ending.map_or(0, |ending| ending.time);
        endings.sort_by_key(time);
        if cursor.role == CursorRole::Own && !cursor.is_waiting() {
            let until = cursor.at.min(self.now);
            self.see_wait(cursor, object, endings[1], start.max(cursor.lower)..until);
        }
        let place = self.state(cursor.innermost(), State::Waits(object.kind));
        cursor.frames.push(Enclosure {
            start,
            what: Enclosing::Wait(object.kind, endings),
            place,
        });
    }

    /// For the view of who waits for whom.
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
            Some(Holder {
                calls: moment.running.iter().map(|&(_, probe)| probe).collect(),
                serving: self.other(moment.serving, ending.time),
            })
        });
        self.path.wait(WaitSeen {
            waiter: cursor.innermost_calls(WAITER_CALLS_MAX),
            object,
            holder,
            ticks: time.end.saturating_sub(time.start) as i64,
        });
    }

    /// A cursor for the waker of a wait whose place is `wait`; nothing where it cannot be followed.
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
        };
        cursor.base = self.base(&cursor);
        self.enclose(&mut cursor, moment.running.into_iter());
        Some(cursor)
    }

    /// The place of a sleep that no call announced as a wait, down to `cursor.at`: the kernel saw who ended it.
    pub(super) fn unannounced(
        &mut self,
        cursor: &Cursor<'a>,
        ending: Ending,
        place: Place,
    ) -> Place {
        let object = Object {
            key: 0,
            kind: Kind::Unannounced,
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
        kind: Kind,
        endings: Endings,
    ) -> Next<'a> {
        let mut known = endings.into_iter().flatten();
        let until = self.now.min(cursor.at);
        // The first release at or after this moment is what it was waited for; a release before it came too early.
        let Some(ending) = known.find(|ending| ending.time >= until) else {
            let latest = endings[1].map_or(floor, |ending| ending.time.max(floor));
            match endings[1] {
                _ if kind == Kind::Spin => self.spend_running(cursor, latest, place),
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

/// Where no thread said that it ended a wait, the kernel may know which one ended the last sleep in it.
fn ended_by_kernel(cursor: &Cursor<'_>, start: u64, end: u64) -> Option<Ending> {
    ended_sleep(cursor, cursor.past.spans.last_sleep(start, end)?)
}

/// The same of one sleep.
pub(super) fn ended_sleep(cursor: &Cursor<'_>, sleep: SwitchedOut) -> Option<Ending> {
    let thread = sleep.by.filter(|&by| by != cursor.thread)?;
    Some(Ending {
        time: sleep.end,
        thread,
        mark: None,
    })
}
