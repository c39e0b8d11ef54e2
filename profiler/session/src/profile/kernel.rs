//! What the kernel tells of the target's threads, brought to their records.

use std::collections::HashMap;

use evenkeel_analysis::critical::spans::SwitchedOut;
use evenkeel_kernel::{KernelEvents, Spans};

use super::store::Store;
use crate::drain::Drain;

/// The kernel's events of a session.
#[derive(Debug)]
pub struct Kernel {
    events: KernelEvents,
    spans: Spans,
    batch: HashMap<u64, Vec<SwitchedOut>>,
}

impl Kernel {
    /// Begins to watch what this process starts. Where the system forbids it, a warning says what is missing.
    pub fn watch(warnings: &mut Vec<String>) -> Option<Kernel> {
        match KernelEvents::watch_children() {
            Ok(events) => Some(Kernel {
                events,
                spans: Spans::default(),
                batch: HashMap::new(),
            }),
            Err(error) => {
                warnings.push(format!(
                    "preempted and blocked time are not told apart: {error}"
                ));
                None
            }
        }
    }

    /// Hands on when the threads that have rings did not run.
    pub fn run(&mut self, drain: &Drain, store: &mut Store) {
        let Kernel {
            events,
            spans,
            batch,
        } = self;
        events.drain(&mut |event| {
            if let Some(span) = spans.push(&event)
                && let Some(thread) = drain.key_of(span.tid)
            {
                // Ready again, it waits for a processor like one that was preempted.
                let part = |start, end, preempted| SwitchedOut {
                    start,
                    end,
                    preempted,
                };
                let spans = batch.entry(thread).or_default();
                if !span.preempted {
                    spans.push(part(span.start, span.ready, false));
                }
                spans.push(part(span.ready, span.end, true));
            }
        });
        for (thread, spans) in batch.drain() {
            store.switched_out(thread, &spans);
        }
    }
}
