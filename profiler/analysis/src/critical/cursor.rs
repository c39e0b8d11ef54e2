//! One thread read backwards: a part of a walk.

use std::ops::Range;

use evenkeel_wire::waits::POLL_LIMIT;
use evenkeel_wire::{Object, ObjectKind, Record};

use crate::critical::states::State;
use crate::intervals::assembler::Thread;
use crate::intervals::assembler::timeline::{Mark, Timeline};
use crate::intervals::assembler::wakes::Release;
use crate::intervals::interval::Serving;
use crate::sums::vectors::Place;

/// Calls examined, at most, to find those that were running at a mark without open calls.
const SCAN_MAX: u64 = 1 << 12;

/// A call or wait that encloses a point in time of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Enclosure {
    /// Its start, ticks.
    pub start: u64,
    /// The call or wait.
    pub what: Enclosing,
    /// The place that its own time is added to.
    pub place: Place,
}

/// A call, or a wait.
#[derive(Clone, Copy, Debug)]
pub enum Enclosing {
    /// A call of this probe.
    Call(u32),
    /// A wait.
    Wait(State, Endings),
}

/// The wakers of a wait, in order of time, at most two (`evenkeel_wire::waits`, "A condition variable").
pub type Endings = [Option<Ending>; 2];

/// A thread ended another's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Time of the wake, ticks.
    pub time: u64,
    /// The waker's key.
    pub thread: u64,
    /// Number of the mark by which the waker announced it; `None` if only the kernel reported it.
    pub mark: Option<u64>,
}

impl From<Release> for Ending {
    fn from(release: Release) -> Ending {
        Ending {
            time: release.time,
            thread: release.thread,
            mark: Some(release.mark),
        }
    }
}

impl Ending {
    /// The same waker at another time, for which it has no mark.
    pub(super) fn seen_at(self, time: u64) -> Ending {
        Ending {
            time,
            mark: None,
            ..self
        }
    }
}

/// The last wait met. An earlier wait may prove to be the first part of it.
#[derive(Clone, Debug)]
pub struct Continued {
    /// The object waited for.
    pub object: Object,
    /// When it began, ticks.
    pub start: u64,
    /// The wake that ended it, if known.
    pub release: Option<Ending>,
    /// Probes of the innermost calls around it.
    pub calls: Vec<u32>,
}

/// A thread that wakes by itself runs for less than this part of its wait until it waits again for the same.
const AWAKE_PART: u64 = 8;

impl Continued {
    /// Whether this wait continues a wait for `object` over `time` that ended without a waker.
    pub(super) fn continues(&self, object: Object, time: &Range<u64>, calls: &[u32]) -> bool {
        let awake = self.start.saturating_sub(time.end);
        if awake.saturating_mul(AWAKE_PART) > time.end - time.start || self.calls != calls {
            return false;
        }
        // The key of a poll is the descriptor that it found ready. Only the calls show that two waits by a latch or an
        // event loop are the same.
        let is_poll = |object: &Object| {
            matches!(object.kind, ObjectKind::Poll | ObjectKind::Signal)
                || is_poll_that_timed_out(object)
        };
        match is_poll(&self.object) {
            true => is_poll(&object),
            false => object.key != 0 && object.key == self.object.key,
        }
    }
}

/// Whether a wait for one of several descriptors ended by its time limit.
pub fn is_poll_that_timed_out(object: &Object) -> bool {
    object.kind == ObjectKind::Timer && object.key == POLL_LIMIT
}

/// A point in time of a thread: where reading backwards begins, and the calls around it.
#[derive(Debug)]
pub struct Moment {
    /// Number of the mark below which to read.
    pub mark: u64,
    /// Number of the call below which to read.
    pub call: u64,
    /// What the thread served.
    pub serving: Serving,
    /// Calls that were running, outermost first: start and probe.
    pub running: Vec<(u64, u32)>,
}

impl Moment {
    /// The time at which a thread ended a wait; `None` if its mark was dropped.
    pub fn of(timeline: &Timeline, ending: Ending) -> Option<Moment> {
        let Some(number) = ending.mark else {
            let (mark, call) = timeline.position(ending.time);
            return Some(Moment {
                mark,
                call,
                serving: timeline.serving_before(mark),
                running: running_at(timeline, mark, call, ending.time),
            });
        };
        let mark = timeline.mark(number)?;
        let open = timeline.opens(mark).filter(|open| open.start != 0);
        Some(Moment {
            mark: number,
            call: mark.calls_before,
            serving: mark.serving,
            running: open.map(|open| (open.start, open.probe)).collect(),
        })
    }
}

/// The next event, going backwards.
#[derive(Clone, Copy, Debug)]
pub enum Item {
    /// A completed call.
    Call(Record),
    /// A mark.
    Mark(Mark),
    /// All earlier records were dropped.
    Nothing,
}

/// The relation of a cursor to its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorRole {
    /// Another thread's activity while the interval's thread was blocked.
    Foreign,
    /// The interval's own work.
    Own,
    /// The interval's thread does something else. The walk then continues with the interval's segment that ended at
    /// `lower`, if any.
    Gap,
    /// The thread works on another interval, which led to this one by an enqueue.
    Origin,
}

/// One thread read backwards from a mark down to `lower`.
pub struct Cursor<'a> {
    /// The thread's key.
    pub thread: u64,
    /// Its past.
    pub past: &'a Thread,
    /// Number of the mark below which to read on.
    pub mark: u64,
    /// Number of the call below which to read on.
    pub call: u64,
    /// The time after `at` is accounted for, ticks.
    pub at: u64,
    /// Where the cursor ends, ticks.
    pub lower: u64,
    /// What the thread serves at `at`.
    pub serving: Serving,
    /// The role of the cursor.
    pub role: CursorRole,
    /// Where the cursor hangs: the interval itself, or a wait.
    pub root: Place,
    /// Where the outermost call hangs.
    pub base: Place,
    /// What encloses `at`, outermost first.
    pub frames: Vec<Enclosure>,
    /// The last wait met, if its waker is known.
    pub continued: Option<Continued>,
    /// The last poll met that found a descriptor ready, if nobody in the target is known to have caused it.
    pub polled: Option<Box<Continued>>,
}

impl<'a> Cursor<'a> {
    /// The thread's timeline.
    pub fn timeline(&self) -> &'a Timeline {
        &self.past.reader.timeline
    }

    /// The next event, going backwards.
    pub fn peek(&self) -> Item {
        let timeline = self.timeline();
        let known = |end: u64| end > timeline.known_since() || timeline.known_since() == 0;
        let mark = self.mark.checked_sub(1).and_then(|at| timeline.mark(at));
        let call = self.call.checked_sub(1).and_then(|at| timeline.call(at));
        match (mark, call) {
            // A mark comes first if all calls that are left were recorded before it.
            (Some(mark), _) if mark.calls_before >= self.call => Item::Mark(*mark),
            (_, Some(call)) if known(call.end()) => Item::Call(*call),
            (Some(mark), None) if known(mark.time) => Item::Mark(*mark),
            _ => Item::Nothing,
        }
    }

    /// The place to which time is added at present.
    pub fn innermost(&self) -> Place {
        self.frames.last().map_or(self.base, |frame| frame.place)
    }

    /// Leaves all calls and waits that began at or after `time`.
    pub fn leave(&mut self, time: u64) {
        while self.frames.last().is_some_and(|frame| frame.start >= time) {
            self.frames.pop();
        }
    }

    /// Whether a wait encloses `at`.
    pub fn is_waiting(&self) -> bool {
        let waits = |frame: &Enclosure| matches!(frame.what, Enclosing::Wait(..));
        self.frames.iter().any(waits)
    }

    /// Probes of the innermost calls, at most `count`, outermost first.
    pub fn innermost_calls(&self, count: usize) -> Vec<u32> {
        let probe = |frame: &Enclosure| match frame.what {
            Enclosing::Call(probe) => Some(probe),
            Enclosing::Wait(..) => None,
        };
        let mut calls: Vec<u32> = self
            .frames
            .iter()
            .rev()
            .filter_map(probe)
            .take(count)
            .collect();
        calls.reverse();
        calls
    }
}

/// Calls that were running at a time without recorded open calls, outermost first: start and probe. `mark` and `call`
/// are the numbers of the next mark and call after that time.
///
/// These calls have ended since, or are among the open calls of a later mark.
pub fn running_at(timeline: &Timeline, mark: u64, call: u64, time: u64) -> Vec<(u64, u32)> {
    let mut later = mark..timeline.marks_end();
    let later_opens = later.find_map(|at| timeline.mark(at).filter(|mark| mark.opens > 0));
    let end = later_opens.map_or(timeline.calls_end(), |mark| mark.calls_before);
    let open = later_opens.map(|mark| timeline.opens(mark));
    let mut running: Vec<_> = open
        .into_iter()
        .flatten()
        .filter(|open| open.start != 0 && open.start < time)
        .map(|open| (open.start, open.probe))
        .collect();
    let ended = (call..end.min(call.saturating_add(SCAN_MAX))).filter_map(|at| timeline.call(at));
    let mut ended: Vec<_> = ended
        .filter(|call| call.start < time && call.end() > time)
        .map(|call| (call.start, call.id()))
        .collect();
    // Of nested completed calls, the outermost ended last.
    ended.reverse();
    running.extend(ended);
    running
}
