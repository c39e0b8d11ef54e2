//! Messages between a session and the agent in a Java virtual machine, over a socket.
//!
//! The JVM calls the agent on a separate thread (`Agent_OnAttach`). The agent connects to the session's socket and
//! answers message by message. It returns at [`Request::Done`] or when the session is gone. The agent adds no thread
//! to the JVM, unless this was started with it. Then the agent has a socket of its own ([`OWN_SOCKET`]).
//!
//! A message is its length, a byte for its kind, and its fields. Numbers are little-endian; texts and lists have
//! their length before them. Class files, names and descriptors are as in the JVM: names with slashes, in modified
//! UTF-8.
//!
//! ```text
//! Join      the descriptor of the arena (SCM_RIGHTS), [helper] -> Joined base, probes_max, left_behind | Failed why
//! Find      [name]                        -> Classes [(number, name, is_modifiable)]
//! Rewrite   [number]                      -> (Class number, bytes -> Rewritten bytes)*, Changed ns, hook_ns | Failed why
//! Switch    generation, begin, [byte]     -> Ok              the probes from `begin` on are on ([`ON`] ..) or off (0);
//!                                                            [`COUNTED_ONLY`] may stand for the generation
//! Suspend                                 -> Ok              intervals are only counted until the next Switch
//! Waits     first, count                  -> Ok | Failed why    waits are calls of the probes from `first` on
//! WaitNames                               -> WaitNames [(number of the probe behind `first`, wait, class name)]
//! Sample    times, period_us, frames, [number] -> Samples [(age_ticks, [method])], [(method, class number, name, descriptor, class name, flags)]
//! Leave                                   -> Ok              all probes are off, and the session is over
//! Done
//! ```

use alloc::vec::Vec;

/// Version of the messages: agent and session refuse each other when it differs.
pub const PROTOCOL: u32 = 5;

/// Probes that one JVM can have: each has a byte that says whether it is on.
pub const JAVA_PROBES_MAX: usize = 1 << 16;
/// The probe by which the agent measures what a probe costs.
pub const CALIBRATION_PROBE: u32 = JAVA_PROBES_MAX as u32 - 1;

/// The class that has the probes' methods, a part of the module `java.base`.
pub const HELPER_CLASS: &str = "java/lang/EvenkeelProbe";

/// Name of the agent's own socket in the JVM's `/tmp`, without the number of the process.
pub const OWN_SOCKET: &str = ".evenkeel_java_pid";

/// Longest message; a longer one does not come from evenkeel.
pub const MESSAGE_MAX: usize = 64 << 20;

/// A probe is on.
pub const ON: u8 = 1;
/// A probe is on, and has nothing to record where its thread is in no interval that is recorded.
pub const INSIDE: u8 = 2;
/// A probe is on, and its call is one that blocks.
pub const BLOCKS: u8 = 3;
/// A probe is on, and its call parks the thread.
pub const PARKS: u8 = 4;
/// A probe is on, and its method unparks the thread that is its argument.
pub const UNPARKS: u8 = 5;
/// A probe is on, and its method is called with the key of an interval, or works for intervals that have keys.
pub const KEYED: u8 = 6;
/// As [`KEYED`], and the interval that begins is put into a queue, out of which the thread takes it that works on it first.
pub const QUEUES: u8 = 7;

/// Waits of the JVM's own making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum JavaWait {
    /// All threads stand still while garbage is collected.
    Collection = 0,
    /// For a monitor that another thread has.
    Monitor = 1,
    /// In `Object.wait`.
    Notified = 2,
    /// In `LockSupport.park`.
    Parked = 3,
}

impl JavaWait {
    /// All, in the order of their numbers.
    pub const ALL: [JavaWait; 4] = [
        JavaWait::Collection,
        JavaWait::Monitor,
        JavaWait::Notified,
        JavaWait::Parked,
    ];

    /// The wait of this number.
    pub fn of(number: u8) -> Option<JavaWait> {
        JavaWait::ALL.get(number as usize).copied()
    }
}

/// The generation in a [`Request::Switch`] after which probes are on, and intervals are counted only.
pub const COUNTED_ONLY: u32 = u32::MAX;

/// Requests of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Request {
    /// Join the session.
    Join = 1,
    /// Which loaded classes have these names?
    Find = 2,
    /// Have the JVM load these classes again; the session rewrites them.
    Rewrite = 3,
    /// Probes are on or off from now on.
    Switch = 4,
    /// Count intervals, and record none.
    Suspend = 5,
    /// Look at the stacks of threads that are in intervals; or, if classes are named, in methods of these.
    Sample = 6,
    /// The session is over.
    Leave = 7,
    /// Return to the JVM.
    Done = 8,
    /// In answer to [`Answer::Class`].
    Rewritten = 9,
    /// Record waits as calls of probes that are reserved for them.
    Waits = 10,
    /// Which classes do the reserved probes stand for?
    WaitNames = 11,
}

/// Answers of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Answer {
    /// It is done.
    Ok = 1,
    /// It is not: why.
    Failed = 2,
    /// To [`Request::Join`].
    Joined = 3,
    /// To [`Request::Find`].
    Classes = 4,
    /// A class file, to be rewritten.
    Class = 5,
    /// To [`Request::Rewrite`], in the end.
    Changed = 6,
    /// To [`Request::Sample`].
    Samples = 7,
    /// To [`Request::WaitNames`].
    WaitNames = 8,
}

impl Request {
    /// The request of this number.
    pub fn of(number: u8) -> Option<Request> {
        use Request::*;
        let all = [
            Join, Find, Rewrite, Switch, Suspend, Sample, Leave, Done, Rewritten, Waits, WaitNames,
        ];
        all.into_iter().find(|&request| request as u8 == number)
    }
}

impl Answer {
    /// The answer of this number.
    pub fn of(number: u8) -> Option<Answer> {
        use Answer::*;
        let all = [
            Ok, Failed, Joined, Classes, Class, Changed, Samples, WaitNames,
        ];
        all.into_iter().find(|&answer| answer as u8 == number)
    }
}

/// A message that is being written.
#[derive(Clone, Debug)]
pub struct Message(Vec<u8>);

impl Message {
    /// A message of this kind, without fields.
    pub fn new(kind: u8) -> Message {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(&[0; 4]);
        bytes.push(kind);
        Message(bytes)
    }

    /// Adds a byte.
    pub fn byte(&mut self, value: u8) -> &mut Message {
        self.0.push(value);
        self
    }

    /// Adds a number.
    pub fn number(&mut self, value: u32) -> &mut Message {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds a long number.
    pub fn long(&mut self, value: u64) -> &mut Message {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds bytes, or a text.
    pub fn bytes(&mut self, value: &[u8]) -> &mut Message {
        self.number(value.len() as u32);
        self.0.extend_from_slice(value);
        self
    }

    /// The whole message, its length in front.
    pub fn finished(mut self) -> Vec<u8> {
        let len = (self.0.len() - 4) as u32;
        self.0[..4].copy_from_slice(&len.to_le_bytes());
        self.0
    }
}

/// The fields of a message that has come, in order. Each is absent where the message ends before it.
#[derive(Clone, Debug)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The fields of a message without its length, and the byte for its kind.
    pub fn of(message: &'a [u8]) -> Option<(u8, Fields<'a>)> {
        let (&kind, fields) = message.split_first()?;
        Some((kind, Fields(fields)))
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// A byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// A number.
    pub fn number(&mut self) -> Option<u32> {
        let bytes = self.take(4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// A long number.
    pub fn long(&mut self) -> Option<u64> {
        let bytes = self.take(8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Bytes, or a text.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.number()?;
        self.take(len as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_in_order() {
        let mut message = Message::new(Request::Switch as u8);
        message.number(7).long(1 << 40).byte(1).bytes(b"name");
        let bytes = message.finished();
        assert_eq!(bytes[..4], (bytes.len() as u32 - 4).to_le_bytes());
        let (kind, mut fields) = Fields::of(&bytes[4..]).expect("it has a kind");
        assert_eq!(Request::of(kind), Some(Request::Switch));
        assert_eq!((fields.number(), fields.long()), (Some(7), Some(1 << 40)));
        assert_eq!(
            (fields.byte(), fields.bytes()),
            (Some(1), Some(&b"name"[..]))
        );
        assert_eq!(fields.byte(), None);
    }

    #[test]
    fn messages_that_are_cut_short_have_no_more_fields() {
        let mut message = Message::new(Answer::Failed as u8);
        message.bytes(b"a reason");
        let bytes = message.finished();
        for end in 5..bytes.len() {
            let (_, mut fields) = Fields::of(&bytes[4..end]).expect("it has a kind");
            assert_eq!(fields.bytes(), None);
        }
        assert!(Fields::of(&[]).is_none());
        assert_eq!((Request::of(0), Answer::of(99)), (None, None));
    }
}
