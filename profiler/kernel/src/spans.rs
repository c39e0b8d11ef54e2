//! From switches to spans: while a thread is off its processor, and why.

use std::collections::{HashMap, HashSet};

use crate::record::{Event, What};

/// Longest run of a thread, in ticks, between its page's arrival and the record of the fault that waited for it: a
/// tenth of a millisecond. A thousandth is typical.
const FAULT_TICKS_MAX: u64 = 1 << 18;

/// Why a thread is off its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It could have run all along.
    Preempted,
    /// It blocked. Where [`crate::KernelEvents::sees_wakers`], a signal could have ended it.
    Blocked,
    /// It blocked and no signal could have ended it: for a device, or for a lock of the kernel's own.
    Uninterruptible,
    /// It blocked until a page was read that it had touched.
    Fault,
}

/// A thread was off its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The thread.
    pub tid: u32,
    /// Since when, ticks.
    pub start: u64,
    /// When it was made ready to run, ticks: `start` if it was preempted; `end` if that was not reported.
    pub ready: u64,
    /// Until when, ticks.
    pub end: u64,
    /// Why it did not run.
    pub cause: Cause,
    /// The thread of the target that made it ready, 0 for a device or timer. `None` if it was preempted, or if the
    /// waker was not reported.
    pub by_tid: Option<u32>,
}

/// Threads that are off their processors now.
#[derive(Debug, Default)]
pub struct Spans {
    away: HashMap<u32, Away>,
    /// Threads that said how they will sleep before they left.
    uninterruptible: HashSet<u32>,
    /// Sleeps that are over: what the thread does next shows whether they were page faults.
    over: HashMap<u32, Span>,
}

#[derive(Clone, Copy, Debug)]
struct Away {
    start: u64,
    cause: Cause,
    woken: Option<(u64, u32)>,
}

impl Spans {
    /// Takes the next event, in order of time, and returns the span that it completes. A thread's spans come in order
    /// of time.
    pub fn push(&mut self, event: &Event) -> Option<Span> {
        let tid = event.tid;
        match event.what {
            What::Uninterruptible => {
                self.uninterruptible.insert(tid);
                None
            }
            What::SwitchedOut { preempted } => {
                let uninterruptible = self.uninterruptible.remove(&tid);
                let away = Away {
                    start: event.time,
                    cause: match preempted {
                        true => Cause::Preempted,
                        false if uninterruptible => Cause::Uninterruptible,
                        false => Cause::Blocked,
                    },
                    woken: None,
                };
                self.away.insert(tid, away);
                self.over.remove(&tid)
            }
            What::Woken { by_tid } => {
                if let Some(away) = self.away.get_mut(&tid) {
                    away.woken.get_or_insert((event.time, by_tid));
                }
                None
            }
            What::SwitchedIn => {
                let span = self.away.remove(&tid)?.until(tid, event.time);
                if span.cause == Cause::Preempted {
                    return Some(span);
                }
                self.over.insert(tid, span)
            }
            What::MajorFault => {
                let mut span = self.over.remove(&tid)?;
                if event.time.saturating_sub(span.end) <= FAULT_TICKS_MAX {
                    span.cause = Cause::Fault;
                }
                Some(span)
            }
            What::Lost(_) | What::Resumed => {
                // A thread that is recorded as off-CPU may have returned unseen.
                self.away.clear();
                self.uninterruptible.clear();
                None
            }
        }
    }

    /// Hands out the spans that are over and were waiting for what comes next: it came too late.
    pub fn flush(&mut self) -> impl Iterator<Item = Span> + '_ {
        self.over.drain().map(|(_, span)| span)
    }
}

impl Away {
    fn until(self, tid: u32, end: u64) -> Span {
        let blocked = self.cause != Cause::Preempted;
        let woken = self.woken.filter(|_| blocked);
        Span {
            tid,
            start: self.start,
            ready: match woken {
                Some((woken, _)) => woken.clamp(self.start, end),
                None if blocked => end,
                None => self.start,
            },
            end,
            cause: self.cause,
            by_tid: woken.map(|(_, by)| by),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(tid: u32, time: u64, what: What) -> Event {
        Event {
            pid: 1,
            tid,
            time,
            what,
        }
    }

    const BLOCKS: What = What::SwitchedOut { preempted: false };

    /// Blocks at 10, is woken by thread 7 at 40 and runs at 45; is preempted at 60 and runs at 90.
    #[test]
    fn blocked_and_preempted() {
        let mut spans = Spans::default();
        let mut push = |time, what| spans.push(&event(5, time, what));
        assert_eq!(push(10, BLOCKS), None);
        assert_eq!(push(40, What::Woken { by_tid: 7 }), None);
        assert_eq!(push(45, What::SwitchedIn), None, "it may be a page fault");
        let blocked = Span {
            tid: 5,
            start: 10,
            ready: 40,
            end: 45,
            cause: Cause::Blocked,
            by_tid: Some(7),
        };
        let out = What::SwitchedOut { preempted: true };
        assert_eq!(push(60, out), Some(blocked));
        let preempted = Span {
            tid: 5,
            start: 60,
            ready: 60,
            end: 90,
            cause: Cause::Preempted,
            by_tid: None,
        };
        assert_eq!(push(90, What::SwitchedIn), Some(preempted));
        assert_eq!(
            push(95, What::SwitchedIn),
            None,
            "its beginning was not seen"
        );
    }

    /// Off-CPU since 10. The return may be lost or unwatched until 20, so the return at 90 may end another absence.
    #[test]
    fn unseen_switches_make_no_long_sleeps() {
        for unseen in [What::Lost(3), What::Resumed] {
            let mut spans = Spans::default();
            let mut push = |time, what| spans.push(&event(5, time, what));
            for (time, what) in [(10, BLOCKS), (20, unseen), (90, What::SwitchedIn)] {
                assert_eq!(push(time, what), None);
            }
            assert_eq!(push(100, BLOCKS), None);
            assert_eq!(push(110, What::SwitchedIn), None);
            let starts: Vec<_> = spans.flush().map(|span| span.start).collect();
            assert_eq!(starts, [100]);
        }
    }

    /// Three sleeps. No signal can end the first two: 10-20 for a page, 30-40 for something else. The third, 50-60,
    /// is long before the next fault, which did not sleep.
    #[test]
    fn faults_and_devices() {
        let mut spans = Spans::default();
        let late = 61 + FAULT_TICKS_MAX;
        let events = [
            (10, What::Uninterruptible),
            (10, BLOCKS),
            (20, What::SwitchedIn),
            (21, What::MajorFault),
            (29, What::Uninterruptible),
            (30, BLOCKS),
            (40, What::SwitchedIn),
            (50, BLOCKS),
            (60, What::SwitchedIn),
            (late, What::MajorFault),
            (late + 1, BLOCKS),
            (late + 2, What::SwitchedIn),
        ];
        let mut found: Vec<Span> = Vec::new();
        for (time, what) in events {
            found.extend(spans.push(&event(5, time, what)));
        }
        found.extend(spans.flush());
        let found: Vec<_> = found.iter().map(|span| (span.start, span.cause)).collect();
        let expected = [
            (10, Cause::Fault),
            (30, Cause::Uninterruptible),
            (50, Cause::Blocked),
            (late + 1, Cause::Blocked),
        ];
        assert_eq!(found, expected);
    }
}
