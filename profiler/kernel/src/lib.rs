//! Scheduling of a target's threads, as the kernel reports it: when and why a thread was off-CPU (preempted, blocked,
//! waiting for a device or a page), and its waker. The source is perf events (`man 2 perf_event_open`).
//!
//! ```text
//! events       open one event of each kind a processor, inherited by every process that is started from now on
//! tracepoints  where the kernel describes its tracepoints
//! ring         records out of the buffer that the kernel shares with us
//! record       what a record's bytes mean
//! clock        the events' clock in ticks of the time stamp counter, as the target's own records have them
//! spans        switches into spans: this thread, from then to then, and why
//! user_stacks  the stack of a thread that runs
//! ```
//!
//! Everybody may read the context switches and major page faults of their own processes. Two tracepoints are for root
//! outside of containers. `sched:sched_waking` names the waker. `sched:sched_switch` tells whether a sleep is
//! uninterruptible, as for a device. Without them, [`KernelEvents::sees_wakers`] is false and nothing else is lost.

mod clock;
mod events;
mod record;
mod ring;
mod spans;
mod tracepoints;
pub mod user_stacks;

pub use events::{KernelEvents, Unavailable, Watched};
pub use record::{Event, What};
pub use spans::{Cause, Span, Spans};
pub use user_stacks::{UserStack, UserStacks};
