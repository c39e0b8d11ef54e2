//! The critical path of one interval, walked backwards: an exact partition of its time (dissertation 2.3.3.3, algorithm
//! 2).
//!
//! The walk has a current time `now`, at first the interval's end, and a stack of **cursors**, each a thread read
//! backwards. The topmost cursor spends the time down to the next event, and `now` moves down to it:
//! ```text
//! running             to the innermost call on the stack of the thread
//! asleep in a call    ended by another thread, as the kernel saw: a new cursor, as below; else to what the kernel calls it
//! a wait [t0, t1]     ended by a wake at w:  [w, t1] woken, not yet running
//!                                            [t0, w] a new cursor: the waker, from w back to t0; then this one goes on at t0
//!                     ended by nobody seen:  [t0, t1] to the wait
//! a task taken up     [enqueued, taken up] queued; the cursor goes on at whoever enqueued it
//! a turn to another   the interval's thread does something else, back to where the interval's last segment ended, on
//! interval            whichever thread that was; the cursor goes on there. While an event loop sleeps there, the interval
//!                     waits for what ends the last of these sleeps
//! ```
//! Each point in time is spent once, so the parts add up to the latency exactly.
//!
//! **Deviations from algorithm 2.** The paper's algorithm is recursive; this one is iterative and bounded
//! ([`HOPS_MAX`], [`STEPS_MAX`]). Two more differences follow from its purpose.
//! - The paper stops where the waker turned to another interval, and looks for earlier segments of the waker's
//!   interval. Here the question is what the waker's *thread* did while the waiter was blocked. Its earlier time is
//!   recorded under the interval (or none) that it served then.
//! - The paper drops segments that are not part of the interval. Here they are shown under "waiting for its turn", and
//!   their waits are followed like any other. So the path follows wakes to the interval's last segment even without a
//!   recorded task queue. It need not include the segment in which the interval began (figure 2.2).

mod calls;
mod moves;
mod time;
mod waits;

use evenkeel_wire::Object;
use rustc_hash::FxHashSet;

use super::cursor::{Cursor, CursorRole, Ending, Item, Moment};
use super::path::Path;
use crate::critical::states::State;
use crate::intervals::assembler::timeline::{Mark, What};
use crate::intervals::assembler::{Past, Thread};
use crate::intervals::interval::{Extent, Reason, Serving};
use crate::sums::paths::Paths;
use crate::sums::vectors::{Place, Vectoriser};

/// Waits followed into one another, at most: a lock's holder may wait for another lock, whose holder waits, and so on.
pub const HOPS_MAX: usize = 12;
/// Steps of one walk, at most; the rest is "not seen". Enough for as many calls as one thread keeps.
pub const STEPS_MAX: u32 = 1 << 22;

/// A walk.
pub struct Walk<'a> {
    past: &'a Past,
    subject: Extent,
    paths: &'a mut Paths,
    vectoriser: &'a mut Vectoriser,
    path: &'a mut Path,
    /// The interval's own place.
    root: Place,
    /// The time after this is spent, ticks.
    now: u64,
    steps: u32,
    hops: usize,
    /// What ended the last wait of an event loop between the interval's two segments that the walk is at, and its waker if that is known.
    awaited: Option<(Object, Option<Ending>)>,
    /// Calls that the path met in parts, by place, thread and start.
    parts: FxHashSet<(Place, u64, u64)>,
}

/// Result of a step of a cursor.
enum Next<'a> {
    Again,
    Done,
    Follow(Cursor<'a>),
}

impl<'a> Walk<'a> {
    /// Walks `subject`. Its times go into `vectoriser`, which is begun here, and everything else into `path`, begun by
    /// the caller.
    ///
    /// # Errors
    /// Where the interval has to be left out: its own calls do not nest, or its own records were lost.
    pub fn run(
        past: &'a Past,
        subject: Extent,
        paths: &'a mut Paths,
        vectoriser: &'a mut Vectoriser,
        path: &'a mut Path,
    ) -> Result<(), Reason> {
        let root = vectoriser.start();
        let mut walk = Walk {
            past,
            subject,
            paths,
            vectoriser,
            path,
            root,
            now: subject.end,
            steps: 0,
            hops: 0,
            awaited: None,
            parts: FxHashSet::default(),
        };
        let first = walk.own_cursor()?;
        walk.cursors(first)?;
        walk.spend_unseen(subject.begin, subject.thread, root);
        Ok(())
    }

    fn cursors(&mut self, first: Cursor<'a>) -> Result<(), Reason> {
        let mut cursors = vec![first];
        while let Some(cursor) = cursors.last_mut() {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                self.spend_unknown(&cursors[0], self.subject.begin);
                return Ok(());
            }
            match self.step(cursor)? {
                Next::Again => {}
                Next::Done => {
                    cursors.pop();
                }
                Next::Follow(waker) => cursors.push(waker),
            }
            self.hops = cursors.len().saturating_sub(1);
        }
        Ok(())
    }

    fn own_cursor(&mut self) -> Result<Cursor<'a>, Reason> {
        let subject = self.subject;
        let past = self.past.threads.get(&subject.thread);
        let past = past.ok_or(Reason::RecordsLost)?;
        let ending = Ending {
            time: subject.end,
            thread: subject.thread,
            mark: Some(subject.mark),
        };
        let moment = Moment::of(&past.reader.timeline, ending).ok_or(Reason::RecordsLost)?;
        let mut cursor = Cursor {
            thread: subject.thread,
            past,
            mark: moment.mark,
            call: moment.call,
            at: subject.end,
            lower: subject.begin,
            serving: moment.serving,
            role: CursorRole::Own,
            root: self.root,
            base: self.root,
            frames: Vec::new(),
            continued: None,
            polled: None,
        };
        let strict = self.is_home();
        if !self.enclose(&mut cursor, moment.running.into_iter()) && strict {
            return Err(Reason::Malformed);
        }
        Ok(cursor)
    }

    /// Whether the interval stays on its thread.
    fn is_home(&self) -> bool {
        self.subject.begin_mark.is_some()
    }

    fn state(&mut self, above: Place, state: State) -> Place {
        self.vectoriser.state(above, state, self.paths)
    }

    /// What a thread is to the interval while it serves somebody.
    fn other(&self, thread: &Thread, serving: Serving, time: u64) -> State {
        match serving {
            _ if serving == self.subject.serving => State::Helper,
            Serving::Nobody => match thread.name_in_paths() {
                Some(name) => State::Thread(name),
                None => State::Background(thread.role),
            },
            Serving::Interval(serial) => State::Other(self.past.serials.class_of(serial)),
            Serving::Keyed(key) => {
                State::Other(self.past.keyed.class_at(key, time).unwrap_or_default())
            }
        }
    }

    /// One step of the topmost cursor.
    fn step(&mut self, cursor: &mut Cursor<'a>) -> Result<Next<'a>, Reason> {
        self.run_through_calls(cursor);
        let item = cursor.peek();
        let is_begin = matches!(item, Item::Mark(_))
            && cursor.role == CursorRole::Own
            && self.subject.begin_mark == Some(cursor.mark - 1);
        let bounded_by_time = !(cursor.role == CursorRole::Own && self.is_home());
        if cursor.at <= cursor.lower && (bounded_by_time || is_begin) {
            return self.reached_lower(cursor);
        }
        let target = match item {
            Item::Call(call) if call.end() > cursor.at => return self.beyond(cursor, &call),
            Item::Call(call) => call.end(),
            Item::Mark(mark) => mark.time.min(cursor.at),
            Item::Nothing => cursor.timeline().known_since(),
        };
        let target = target.max(cursor.lower);
        if cursor.at > target {
            return Ok(self.unwind(cursor, target));
        }
        match item {
            Item::Call(call) => self.meet_call(cursor, &call),
            Item::Mark(mark) => self.meet_mark(cursor, &mark),
            Item::Nothing => {
                self.spend_unknown(cursor, cursor.lower);
                cursor.at = cursor.lower;
                Ok(Next::Done)
            }
        }
    }

    fn meet_mark(&mut self, cursor: &mut Cursor<'a>, mark: &Mark) -> Result<Next<'a>, Reason> {
        cursor.mark -= 1;
        match mark.what {
            What::Wait { start, objects } => self.meet_wait(cursor, start..mark.time, objects),
            What::Anchor => {}
            What::Dequeue(task) => self.meet_dequeue(cursor, task),
            What::Turn => self.meet_turn(cursor, mark),
            What::Gap if cursor.role == CursorRole::Own => return Err(Reason::RecordsLost),
            What::Gap => {
                let lower = cursor.lower;
                self.spend_unseen(lower, cursor.thread, cursor.root);
                cursor.at = lower;
                cursor.leave(lower);
                if cursor.role != CursorRole::Gap {
                    return Ok(Next::Done);
                }
            }
        }
        Ok(Next::Again)
    }
}
