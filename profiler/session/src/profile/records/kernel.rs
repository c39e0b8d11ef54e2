//! The kernel's events of the target's threads, merged with their records.

use std::collections::HashMap;

use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::{Off, SwitchedOut};
use evenkeel_kernel::{Cause, KernelEvents, Span, Spans, Watched};

use super::numbers::Numbers;
use super::sink::RecordSink;
use crate::drain::Drain;

/// Cost of a kernel's record for the target, nanoseconds: MariaDB's system time grew by 6 to 8 us a transaction, with
/// some six records each.
const RECORD_NS: f64 = 1000.0;

/// The kernel's events of a session.
#[derive(Debug)]
pub struct Kernel {
    events: KernelEvents,
    spans: Spans,
    batch: HashMap<u64, Vec<SwitchedOut>>,
    numbers: Numbers,
}

impl Kernel {
    /// Begins to watch. Where the system forbids it or a part of it, a warning says what is missing.
    pub fn watch(whom: Watched, warnings: &mut Vec<Warning>) -> Option<Kernel> {
        let events = match KernelEvents::watch(whom) {
            Ok(events) => events,
            Err(error) => {
                warnings.push(Warning::NoKernelEvents(error.to_string()));
                return None;
            }
        };
        if !events.sees_wakers() {
            warnings.push(Warning::NoWakers);
        }
        Some(Kernel {
            events,
            spans: Spans::default(),
            batch: HashMap::new(),
            numbers: Numbers::default(),
        })
    }

    /// Records that the kernel had no room for.
    pub fn lost(&self) -> u64 {
        self.events.lost
    }

    /// Watches while anything is recorded, and not between.
    pub fn watch_while(&mut self, recording: bool) {
        match recording {
            true => self.events.resume(),
            false => self.events.pause(),
        }
    }

    /// Cost of its records for the target so far, nanoseconds.
    pub fn cost_ns(&self) -> f64 {
        self.events.read as f64 * RECORD_NS
    }

    /// Hands on when the threads that have rings did not run, and why.
    pub fn run(&mut self, drain: &Drain, sink: &mut RecordSink) {
        let Kernel {
            events,
            spans,
            batch,
            numbers,
        } = self;
        let mut key_of = |tid| drain.key_of(numbers.inner(tid)?);
        let mut take = |span: Span| {
            if let Some(thread) = key_of(span.tid) {
                let parts = parts(&span, &mut key_of);
                batch.entry(thread).or_default().extend(parts);
            }
        };
        events.drain(&mut |event| {
            if let Some(span) = spans.push(&event) {
                take(span);
            }
        });
        spans.flush().for_each(take);
        for (thread, spans) in batch.drain() {
            sink.switched_out(thread, &spans);
        }
    }
}

/// The sleep, and what follows it: ready again, the thread waits for a processor like one that was preempted.
fn parts(span: &Span, key_of: impl FnMut(u32) -> Option<u64>) -> [SwitchedOut; 2] {
    let off = match span.cause {
        Cause::Preempted => Off::Preempted,
        Cause::Blocked => Off::Blocked,
        Cause::Uninterruptible => Off::Device,
        Cause::Fault => Off::Fault,
    };
    let sleep = SwitchedOut {
        start: span.start,
        end: span.ready,
        off,
        by: span.by_tid.and_then(key_of),
    };
    let ready = SwitchedOut {
        start: span.ready,
        end: span.end,
        off: Off::Preempted,
        by: None,
    };
    [sleep, ready]
}
