//! From switches to spans: while a thread is off its processor, and why.

use std::collections::HashMap;

use crate::record::{Event, What};

/// A thread was off its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The thread.
    pub tid: u32,
    /// Since when, ticks.
    pub start: u64,
    /// When it was made ready to run, ticks: `start` if it was preempted; `end` if nobody told.
    pub ready: u64,
    /// Until when, ticks.
    pub end: u64,
    /// It could have run all along. Otherwise it blocked.
    pub preempted: bool,
    /// Who made it ready: a thread of the target, 0 for a device or timer; `None`: preempted, or nobody told.
    pub by_tid: Option<u32>,
}

/// Threads that are off their processors now.
#[derive(Debug, Default)]
pub struct Spans {
    away: HashMap<u32, Away>,
}

#[derive(Clone, Copy, Debug)]
struct Away {
    start: u64,
    preempted: bool,
    woken: Option<(u64, u32)>,
}

impl Spans {
    /// Takes the next event, in order of time; the span that it ends, if it ends one.
    pub fn push(&mut self, event: &Event) -> Option<Span> {
        match event.what {
            What::SwitchedOut { preempted } => {
                let away = Away {
                    start: event.time,
                    preempted,
                    woken: None,
                };
                self.away.insert(event.tid, away);
                None
            }
            What::Woken { by_tid } => {
                if let Some(away) = self.away.get_mut(&event.tid) {
                    away.woken.get_or_insert((event.time, by_tid));
                }
                None
            }
            What::SwitchedIn => {
                let away = self.away.remove(&event.tid)?;
                let ready = match away.woken {
                    _ if away.preempted => away.start,
                    Some((woken, _)) => woken.clamp(away.start, event.time),
                    None => event.time,
                };
                Some(Span {
                    tid: event.tid,
                    start: away.start,
                    ready,
                    end: event.time,
                    preempted: away.preempted,
                    by_tid: away.woken.filter(|_| !away.preempted).map(|(_, by)| by),
                })
            }
            What::Lost(_) => None,
        }
    }

    /// Forgets a thread that has ended.
    pub fn forget(&mut self, tid: u32) {
        self.away.remove(&tid);
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

    /// Blocks at 10, is woken by thread 7 at 40 and runs at 45; is preempted at 60 and runs at 90.
    #[test]
    fn blocked_and_preempted() {
        let mut spans = Spans::default();
        let mut push = |time, what| spans.push(&event(5, time, what));
        assert_eq!(push(10, What::SwitchedOut { preempted: false }), None);
        assert_eq!(push(40, What::Woken { by_tid: 7 }), None);
        let blocked = Span {
            tid: 5,
            start: 10,
            ready: 40,
            end: 45,
            preempted: false,
            by_tid: Some(7),
        };
        assert_eq!(push(45, What::SwitchedIn), Some(blocked));
        assert_eq!(push(60, What::SwitchedOut { preempted: true }), None);
        let preempted = Span {
            tid: 5,
            start: 60,
            ready: 60,
            end: 90,
            preempted: true,
            by_tid: None,
        };
        assert_eq!(push(90, What::SwitchedIn), Some(preempted));
        assert_eq!(
            push(95, What::SwitchedIn),
            None,
            "its beginning was not seen"
        );
    }
}
