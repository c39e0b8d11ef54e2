//! What the kernel tells of a target's threads: when each was off its processor, whether it blocked or was preempted, and
//! who woke it (perf events: `man 2 perf_event_open`).
//!
//! ```text
//! events   open one event a processor, inherited by every process that is started from now on
//! ring     records out of the buffer that the kernel shares with us
//! record   what a record's bytes mean
//! clock    the events' clock in ticks of the time stamp counter, as the target's own records have them
//! spans    switches into spans: this thread, from then to then, blocked or preempted
//! ```
//!
//! Context switches are told to everybody about their own processes. Who woke a thread (`sched:sched_waking`) is told to root
//! and whoever may read tracing events; without that, [`KernelEvents::sees_wakers`] is false and nothing else is lost.

mod clock;
mod events;
mod record;
mod ring;
mod spans;

pub use events::{KernelEvents, Unavailable};
pub use record::{Event, What};
pub use spans::{Span, Spans};
