//! Objects that threads wait for, and their wakers: *woken-by* and *created-by* of `variance.md` section 1.
//!
//! # The stream of a thread with waits followed ([`crate::Control::waits`])
//!
//! [`crate::event`] draws its groups. A thread writes
//! ```text
//! Wait       when it goes on after it was blocked
//! Wake       *before* it releases
//! Enqueue    before the task can be taken up, the thread started, the process forked
//! Dequeue    when the task is taken up, the thread runs, the child runs
//! ```
//! Calls of a hooked process are recorded on every thread from its first group on, whether it works
//! for an interval or not, so that a waker's functions are known; not in [`crate::Mode::IntervalsOnly`]. A call that was
//! running when its thread was first seen is missing, as where no waits are followed. A thread's ring begins with `Dequeue` of
//! [`ObjectKind::Thread`] if the C library created the thread, or if `fork` created the process; it ends with `Wake` of
//! [`ObjectKind::Join`].
//!
//! **Pairing.** A wait of thread T for an object that ended at t is paired with a wake by another thread: the last
//! one at or before t with the same key and a matching kind ([`ObjectKind::woken_by`]). A wake says that somebody *may* be
//! waiting, so not every wake ends a wait. It may precede the beginning of the wait that it ends, because it is
//! written before the release. For the same reason its record is in its ring before the waiter continues. A reader of
//! the waiter's record finds the waker's at its next look at all rings. There is one exception. A wait that began
//! during a release is recorded right after the release, with the time at which the wait was announced.
//!
//! Wakes are written only where somebody may be waiting. Waits are written only where a thread blocked, or made a
//! system call that took long enough to have slept. An uncontended lock writes nothing.
//!
//! **A condition variable** releases a mutex, waits, and acquires the mutex again. A `Wake` of the mutex precedes its
//! `Wait` if another thread wants the mutex. The `Wait` has two objects, the condition and then the mutex; it ended
//! by the later of the two wakes.
//!
//! **A wait that ended by its time limit** is of [`ObjectKind::Timer`], with the key of the object. A pure sleep has key 0,
//! a poll [`POLL_LIMIT`].
//! A poll that found several descriptors ready names the first.
//!
//! **Keys** are equal where the objects are. A key is an address, mixed with the process for private memory, and with
//! the file and offset for shared memory. For a connection it is the two ends and the direction; for the user's own
//! objects the given number ([`SHARED_ID`]). Agents make them. Keys of different kinds never mean the same object.

/// Bit of an interval's or task's identity, as the user passes it, that makes it one of all processes. Without it, it
/// is one of its process, so that pointers serve.
pub const SHARED_ID: u64 = 1 << 63;

/// Key of a poll that ended by its time limit: it found no descriptor ready.
pub const POLL_LIMIT: u64 = ObjectKind::Poll as u64;

/// Open calls that a group names, at most: the outermost.
pub const OPEN_MAX: usize = 64;

/// Kinds of objects that a thread waits for, or releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ObjectKind {
    /// A mutex.
    Mutex = 1,
    /// A read-write lock, to read or to write.
    ReadWrite = 2,
    /// A condition variable.
    Condition = 3,
    /// A semaphore.
    Semaphore = 4,
    /// A barrier.
    Barrier = 5,
    /// A spin lock: its waits are spent running.
    Spin = 6,
    /// Another thread's end.
    Join = 7,
    /// A futex used directly.
    Futex = 8,
    /// Bytes in a pipe or FIFO, or room for them.
    Pipe = 9,
    /// Bytes from a socket, or room for them.
    Socket = 10,
    /// An event descriptor.
    Event = 11,
    /// A signal to a process, taken as such or from a descriptor.
    Signal = 12,
    /// A message queue.
    MessageQueue = 13,
    /// Readiness of one of several descriptors (`select`, `poll`, `epoll_wait`); the key is of the descriptor found ready first.
    Poll = 14,
    /// A span of time; also the end of any wait by its time limit.
    Timer = 15,
    /// A file, or its device.
    File = 16,
    /// A child process's end.
    Child = 17,
    /// A lock that the user named by its functions.
    Named = 18,
    /// A task in a queue.
    Task = 19,
    /// The start of a thread or process.
    Thread = 20,
    /// An interval: the object of [`crate::Marker::Work`] and its like.
    Interval = 21,
    /// Something that no agent announced: only the kernel saw the wait. Agents write none of it.
    Unannounced = 22,
    /// The monitor of a Java object.
    Monitor = 23,
    /// A Java thread that is parked: the object is the thread.
    Park = 24,
    /// A garbage collection, for which all Java threads stand still.
    Collection = 25,
}

impl ObjectKind {
    /// All kinds.
    pub const ALL: [ObjectKind; 25] = [
        ObjectKind::Mutex,
        ObjectKind::ReadWrite,
        ObjectKind::Condition,
        ObjectKind::Semaphore,
        ObjectKind::Barrier,
        ObjectKind::Spin,
        ObjectKind::Join,
        ObjectKind::Futex,
        ObjectKind::Pipe,
        ObjectKind::Socket,
        ObjectKind::Event,
        ObjectKind::Signal,
        ObjectKind::MessageQueue,
        ObjectKind::Poll,
        ObjectKind::Timer,
        ObjectKind::File,
        ObjectKind::Child,
        ObjectKind::Named,
        ObjectKind::Task,
        ObjectKind::Thread,
        ObjectKind::Interval,
        ObjectKind::Unannounced,
        ObjectKind::Monitor,
        ObjectKind::Park,
        ObjectKind::Collection,
    ];

    /// The kind of a [`crate::Marker::Object`] record's payload.
    pub fn from_payload(payload: u64) -> Option<ObjectKind> {
        ObjectKind::ALL
            .into_iter()
            .find(|&kind| kind as u64 == payload)
    }

    /// Whether a wait of this kind can end by a wake of the `other`: a poll ends by what arrives at any descriptor.
    pub fn woken_by(self, other: ObjectKind) -> bool {
        let descriptor = matches!(
            other,
            ObjectKind::Pipe
                | ObjectKind::Socket
                | ObjectKind::Event
                | ObjectKind::Signal
                | ObjectKind::MessageQueue
                | ObjectKind::Timer
        );
        self == other || self == ObjectKind::Poll && descriptor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_back_from_their_payloads() {
        for (i, kind) in ObjectKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i + 1);
            assert_eq!(ObjectKind::from_payload(kind as u64), Some(kind));
        }
        assert_eq!(ObjectKind::from_payload(0), None);
    }
}
