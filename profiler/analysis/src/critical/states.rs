//! The special nodes of the variance tree: an interval's time that is not a call (`variance.md` sections 1, 2).
//!
//! A critical path crosses threads. A special node marks each place where it leaves the calls of the interval's own
//! thread. A wait is below the call that blocked, and the thread that ended the wait is below the wait. Below that
//! thread are its calls, and so on:
//! ```text
//! root > XLogFlush > LWLockAcquireOrWait > (waits: semaphore) > (other interval: update ..) > XLogWrite > issue_xlog_fsync
//! ```

use evenkeel_wire::ObjectKind;

use crate::intervals::roles::{OUTSIDE, ThreadRole};
use crate::intervals::switched_out::Off;
use crate::sites::Kind;

/// Steps of a call path below this are probe ids, the others are [`State::step`]s.
pub const CALL_STEPS: u32 = 1 << evenkeel_wire::record::PROBE_ID_BITS;

/// A special step of a call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// The thread above waits for an object. Its own time: the waker is unknown, or was not followed further.
    Waits(ObjectKind),
    /// Activity of a thread that served another interval, of this class; an index into the run's classes.
    Other(u16),
    /// Activity of a thread that served no interval.
    Background(ThreadRole),
    /// Activity of a thread that served no interval and has no known role. Its name is among the names of classes.
    Thread(u16),
    /// Activity of a thread for an interval without records, for example one skipped by sampling.
    Unrecorded,
    /// The holder serves intervals, and waited for its client between two of them: in a transaction, where it is a session of a database.
    Idle { in_transaction: bool },
    /// A thread that relays messages of another machine waited for that machine.
    Remote,
    /// Work of another thread on the same interval.
    Helper,
    /// The wait was over, but the thread did not run yet.
    Woken,
    /// A task (or the interval itself) was handed over and not yet taken up.
    Queued,
    /// The interval's thread did something else: other intervals, or its loop.
    Turn,
    /// Runnable, but without a processor: preempted, or not yet scheduled. From kernel events.
    Preempted,
    /// Blocked inside a call that announces no wait, and the waker is not in the target or unknown. From kernel events.
    Asleep,
    /// The same in an uninterruptible sleep, for a device. Only where the kernel reports how threads sleep.
    Device,
    /// Blocked on a page fault. From kernel events.
    Fault,
    /// Records of this time were dropped, lost, or left out because the path became too long.
    Unseen,
}

const TAG_SHIFT: u32 = 12;
const PAYLOAD_MASK: u32 = (1 << TAG_SHIFT) - 1;

impl State {
    /// The state of a thread that does not run, unless a wait explains it.
    pub fn of_off(off: Off) -> State {
        match off {
            Off::Blocked => State::Asleep,
            Off::Preempted => State::Preempted,
            Off::Device => State::Device,
            Off::Fault => State::Fault,
        }
    }

    /// The step as [`crate::sums::paths::Paths::child`] takes it: a number that no probe has.
    pub fn step(self) -> u32 {
        let (tag, payload) = match self {
            State::Waits(object) => (0, object as u32),
            State::Other(class) => (1, u32::from(class) & PAYLOAD_MASK),
            State::Background(role) => (2, role.number()),
            State::Helper => (3, 0),
            State::Woken => (4, 0),
            State::Queued => (5, 0),
            State::Turn => (6, 0),
            State::Preempted => (7, 0),
            State::Asleep => (8, 0),
            State::Unseen => (9, 0),
            State::Device => (10, 0),
            State::Fault => (11, 0),
            State::Unrecorded => (12, 0),
            State::Idle { in_transaction } => (13, in_transaction.into()),
            State::Remote => (14, 0),
            State::Thread(name) => (15, u32::from(name) & PAYLOAD_MASK),
        };
        CALL_STEPS + (tag << TAG_SHIFT | payload)
    }

    /// The state of a step; `None` for calls.
    pub fn of_step(step: u32) -> Option<State> {
        let code = step.checked_sub(CALL_STEPS)?;
        let payload = code & PAYLOAD_MASK;
        Some(match code >> TAG_SHIFT {
            0 => State::Waits(ObjectKind::from_payload(payload.into())?),
            1 => State::Other(payload as u16),
            2 => State::Background(ThreadRole::of_number(payload)),
            3 => State::Helper,
            4 => State::Woken,
            5 => State::Queued,
            6 => State::Turn,
            7 => State::Preempted,
            8 => State::Asleep,
            9 => State::Unseen,
            10 => State::Device,
            11 => State::Fault,
            12 => State::Unrecorded,
            13 => State::Idle {
                in_transaction: payload != 0,
            },
            14 => State::Remote,
            15 => State::Thread(payload as u16),
            _ => return None,
        })
    }

    /// Its kind in the tree.
    pub fn kind(self) -> Kind {
        match self {
            State::Waits(object) => object_kind(object),
            State::Other(_) | State::Background(_) | State::Thread(_) | State::Unrecorded => {
                Kind::Others
            }
            State::Idle { .. } => Kind::Client,
            State::Remote => Kind::Socket,
            State::Helper => Kind::Helper,
            State::Woken => Kind::Woken,
            State::Queued => Kind::Queued,
            State::Turn => Kind::Turn,
            State::Preempted => Kind::Preempted,
            State::Asleep => Kind::Asleep,
            State::Device => Kind::Io,
            State::Fault => Kind::Fault,
            State::Unseen => Kind::Unseen,
        }
    }

    /// Whether the path leaves the interval here for another thread's work.
    pub fn is_crossing(self) -> bool {
        matches!(
            self,
            State::Other(_) | State::Background(_) | State::Thread(_) | State::Unrecorded
        )
    }

    /// What its own time is where there is more below it, to go behind its name.
    pub fn remainder(self) -> &'static str {
        match self {
            State::Waits(_) => "not explained",
            State::Other(_)
            | State::Background(_)
            | State::Thread(_)
            | State::Unrecorded
            | State::Helper
            | State::Turn => "in no timed call",
            _ => "otherwise",
        }
    }

    /// The same where classes have other numbers.
    pub fn renamed(self, class: impl Fn(u16) -> u16) -> State {
        match self {
            State::Other(id) => State::Other(class(id)),
            State::Thread(name) => State::Thread(class(name)),
            state => state,
        }
    }

    /// Its name in the tree. `class` names the class of [`State::Other`], and the thread of [`State::Thread`].
    pub fn name<'a>(self, class: impl Fn(usize) -> &'a str) -> String {
        match self {
            State::Waits(object) => format!("waits: {}", object_name(object)),
            State::Other(id) => format!("other interval: {}", class(id.into())),
            State::Background(role) => role.name().into(),
            State::Thread(name) => format!("{OUTSIDE}: {}", class(name.into())),
            State::Unrecorded => "interval that was not recorded".into(),
            State::Idle {
                in_transaction: true,
            } => "holder idle in transaction".into(),
            State::Idle {
                in_transaction: false,
            } => "waits: its client".into(),
            State::Remote => "waits: the other end of its connection".into(),
            State::Helper => "another thread of this interval".into(),
            State::Woken => "woken, not yet running".into(),
            State::Queued => "queued".into(),
            State::Turn => "waiting for its turn".into(),
            State::Preempted => "runnable, waiting for a CPU".into(),
            State::Asleep => "off-CPU".into(),
            State::Device => "device".into(),
            State::Fault => "page fault".into(),
            State::Unseen => "not seen".into(),
        }
    }
}

/// What a wait for such an object is in the tree.
pub fn object_kind(object: ObjectKind) -> Kind {
    match object {
        ObjectKind::Mutex
        | ObjectKind::ReadWrite
        | ObjectKind::Condition
        | ObjectKind::Semaphore
        | ObjectKind::Barrier
        | ObjectKind::Spin
        | ObjectKind::Join
        | ObjectKind::Futex
        | ObjectKind::Child
        | ObjectKind::Named
        | ObjectKind::Thread
        | ObjectKind::Interval
        | ObjectKind::Monitor
        | ObjectKind::Park
        | ObjectKind::Collection => Kind::Lock,
        ObjectKind::Pipe | ObjectKind::Socket | ObjectKind::MessageQueue => Kind::Socket,
        ObjectKind::Event | ObjectKind::Signal | ObjectKind::Poll | ObjectKind::Unannounced => {
            Kind::Event
        }
        ObjectKind::Timer => Kind::Timer,
        ObjectKind::File => Kind::Io,
        ObjectKind::Task => Kind::Idle,
    }
}

/// What an object is called.
pub fn object_name(object: ObjectKind) -> &'static str {
    match object {
        ObjectKind::Mutex => "mutex",
        ObjectKind::ReadWrite => "read-write lock",
        ObjectKind::Condition => "condition variable",
        ObjectKind::Semaphore => "semaphore",
        ObjectKind::Barrier => "barrier",
        ObjectKind::Spin => "spin lock",
        ObjectKind::Join => "end of a thread",
        ObjectKind::Futex => "futex",
        ObjectKind::Pipe => "pipe",
        ObjectKind::Socket => "socket",
        ObjectKind::Event => "event descriptor",
        ObjectKind::Signal => "signal",
        ObjectKind::MessageQueue => "message queue",
        ObjectKind::Poll => "any of several descriptors",
        ObjectKind::Timer => "timer",
        ObjectKind::File => "file",
        ObjectKind::Child => "end of a process",
        ObjectKind::Named => "named lock",
        ObjectKind::Task => "task",
        ObjectKind::Thread => "start of a thread",
        ObjectKind::Interval => "interval",
        ObjectKind::Unannounced => "something unannounced",
        ObjectKind::Monitor => "Java monitor",
        ObjectKind::Park => "unpark",
        ObjectKind::Collection => "garbage collection",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_back() {
        let waits = ObjectKind::ALL.into_iter().map(State::Waits);
        let others = [
            State::Other(0),
            State::Other(257),
            State::Thread(0),
            State::Thread(257),
            State::Unrecorded,
            State::Idle {
                in_transaction: false,
            },
            State::Idle {
                in_transaction: true,
            },
            State::Remote,
            State::Helper,
            State::Woken,
            State::Queued,
            State::Turn,
            State::Preempted,
            State::Asleep,
            State::Device,
            State::Fault,
            State::Unseen,
        ];
        for state in waits
            .chain(others)
            .chain(ThreadRole::all().map(State::Background))
        {
            assert_eq!(State::of_step(state.step()), Some(state));
        }
        assert_eq!(State::of_step(CALL_STEPS - 1), None, "a probe");
    }
}
