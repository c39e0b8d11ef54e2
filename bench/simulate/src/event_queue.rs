//! Future events, in order of virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The events to come.
#[derive(Default)]
pub(crate) struct EventQueue {
    events: BinaryHeap<Reverse<Event>>,
    count: u64,
}

impl EventQueue {
    pub(crate) fn add(&mut self, time: u64, what: What) {
        let order = self.count;
        self.count += 1;
        self.events.push(Reverse(Event { time, order, what }));
    }

    /// The next event and its time.
    pub(crate) fn next(&mut self) -> Option<(u64, What)> {
        let Reverse(event) = self.events.pop()?;
        Some((event.time, event.what))
    }
}

/// Something that happens at a moment; of equal moments in the order in which they were put on the list.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: u64,
    order: u64,
    what: What,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// The next transaction of an open loop, or of a client.
    Arrival { client: u32 },
    /// The work of a step is done, unless the attempt was aborted in between.
    Worked { slot: u32, attempt: u32 },
    /// An aborted transaction begins again.
    Retry { slot: u32 },
}
