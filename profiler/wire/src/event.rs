//! The meaning of a thread's records: each [`Event`] is encoded and decoded here and nowhere else.
//!
//! ```text
//! call                                            a completed call; calls reach the reader as they lie in the ring
//! Begin    [time, stamp]  Label x 0-n | LabelInteger      an interval begins that stays on its thread
//! Open x n, End [time, stamp, keep]                       it ends; before the End the calls still running, outermost first
//! Gap      [time, count]                                  records were lost since the thread's last marker
//! Abandon  [time, left]                                   the open interval was given up
//!
//! Wait     [start, duration]  Object x 1-2                the groups of `waits`: see there for who writes them, and when
//! Wake     [time, n]          Object, Open x n
//! Enqueue  [time, n]          Object, Open x n
//! Dequeue  [time]             Object
//! BeginKeyed [time, stamp]    Object, Label x 0-n | LabelInteger
//! Work     [time]             Object
//! Class    []                 Object, Label x 0-n
//! Attribute [value]           Object, Label x 1-n
//! EndKeyed [time, generation << 8 | n]   Object, Open x n
//! ```
//! A **stamp** is the plan's generation << 1 | whether the interval's probes were on. Above it an `End` has the
//! interval's [`KeepRate`], and whether its call was left. A line with an `Object` is a **group**: its
//! records lie one behind the other in the ring, whatever handlers of signals record meanwhile. So do a `Begin` and its
//! labels; a handler's calls may come between the `Open`s and their `End`.
//!
//! A drain may cut the stream anywhere: [`Decoder`] keeps what is incomplete until the rest comes.

mod decode;
mod text;

pub use decode::{Decoder, Sink};
pub use text::Text;

use crate::ObjectKind;
use crate::keeping::KeepRate;
use crate::record::{LABEL_CHUNK, Marker, Record};

/// The plan under which an interval began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Its generation.
    pub generation: u32,
    /// Whether the interval's probes were on.
    pub probed: bool,
}

impl Stamp {
    /// As a marker's payload.
    pub const fn payload(self) -> u64 {
        (self.generation as u64) << 1 | self.probed as u64
    }

    /// Out of a marker's payload.
    pub(crate) const fn of_payload(payload: u64) -> Stamp {
        Stamp {
            generation: (payload >> 1) as u32,
            probed: payload & 1 == 1,
        }
    }
}

/// Bits of a [`Stamp`] in a payload.
const STAMP_BITS: u32 = 33;
/// Set in the payload of an `End` if the interval's call did not return.
const LEFT_BIT: u32 = STAMP_BITS + u8::BITS;
const _: () = assert!(LEFT_BIT < crate::record::DURATION_BITS);

/// An object that is waited for or passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// Equal where the objects are.
    pub key: u64,
    /// The kind of call.
    pub kind: ObjectKind,
}

/// A call that is still running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// Its entry, ticks; 0 is void.
    pub start: u64,
    /// Its probe.
    pub probe: u32,
}

/// The records that the agent's hot path writes one by one; [`Event::records`] makes the same of the event of the same name.
impl Record {
    /// An interval begins that stays on its thread.
    pub const fn begin(at: u64, stamp: Stamp) -> Record {
        Record::marker(Marker::Begin, at, stamp.payload())
    }

    /// It ends, as [`Event::End`].
    pub const fn end_of_interval(at: u64, generation: u32, keep: KeepRate, left: bool) -> Record {
        let stamp = Stamp {
            generation,
            probed: true,
        };
        let keep = (keep.log2() as u64) << STAMP_BITS;
        let left = (left as u64) << LEFT_BIT;
        Record::marker(Marker::End, at, stamp.payload() | keep | left)
    }

    /// Records were lost.
    pub const fn gap(at: u64, lost: u64) -> Record {
        Record::marker(Marker::Gap, at, lost)
    }

    /// The interval is given up.
    pub const fn abandon(at: u64) -> Record {
        Record::marker(Marker::Abandon, at, 0)
    }

    /// The interval was left before: another begins on its thread, which is not recorded.
    pub const fn left(at: u64) -> Record {
        Record::marker(Marker::Abandon, at, 1)
    }

    /// An integer label.
    pub const fn integer_label(value: u64) -> Record {
        Record::marker(Marker::LabelInteger, value, 0)
    }
}

impl Open {
    /// Its record.
    pub const fn record(self) -> Record {
        Record::marker(Marker::Open, self.start, self.probe as u64)
    }
}

/// The label of an interval, as the agent copied it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelValue<'a> {
    /// No label.
    #[default]
    None,
    /// The value of an integer argument.
    Integer(u64),
    /// Text without its terminating zero, at most [`crate::record::LABEL_MAX`] bytes of it. Empty text is no label.
    Text(&'a [u8]),
}

impl LabelValue<'_> {
    /// Its records.
    pub fn records(self) -> impl Iterator<Item = Record> {
        let (integer, text) = match self {
            LabelValue::None => (None, &[][..]),
            LabelValue::Integer(value) => (Some(value), &[][..]),
            LabelValue::Text(text) => (None, text),
        };
        let text = &text[..text.len().min(crate::record::LABEL_MAX)];
        let chunks = text.chunks(LABEL_CHUNK).map(Record::from_label_chunk);
        let integer = integer.map(Record::integer_label);
        integer.into_iter().chain(chunks)
    }
}

/// An action of a thread, other than a call. Times are ticks of the target's time stamp counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// An interval begins that stays on its thread. Its label, if it has one, is the next event ([`Event::Label`]).
    Begin {
        /// When it happened.
        at: u64,
        /// Under which plan.
        stamp: Stamp,
    },
    /// The label of the interval that has just begun.
    Label(LabelValue<'a>),
    /// The interval ends.
    End {
        /// When it happened.
        at: u64,
        /// With which probability an interval of this latency was kept.
        keep: KeepRate,
        /// The plan's generation now: another one than at the beginning means that the plan was changed under the interval.
        generation: u32,
        /// Whether the interval is a call that an exception, `longjmp` or the end of the thread left.
        left: bool,
        /// Calls still running, outermost first, at most `OPENS_AT_END_MAX`.
        open: &'a [Open],
    },
    /// Records were lost since the thread's last marker.
    Gap {
        /// When it was noticed; 0 from agents that did not say.
        at: u64,
        /// Number of lost records, if known.
        lost: u64,
    },
    /// The interval was given up.
    Abandon {
        /// When it happened.
        at: u64,
        /// Another interval began on the thread, and was not recorded. Otherwise the thread went on with another stack, and calls were lost.
        left: bool,
    },
    /// The thread was blocked, and continues.
    Wait {
        /// Since when.
        start: u64,
        /// Until when.
        end: u64,
        /// For what: one object, or a condition variable and then its mutex.
        objects: [Option<Object>; 2],
    },
    /// The thread is about to release or signal something.
    Wake {
        /// When it happened.
        at: u64,
        /// The lock, condition or descriptor.
        object: Object,
        /// Calls running, outermost first, at most [`crate::waits::OPEN_MAX`]: for this and the following.
        open: &'a [Open],
    },
    /// The thread puts a task into a queue, or creates a thread or process.
    Enqueue {
        /// When it happened.
        at: u64,
        /// The task, thread or process.
        object: Object,
        /// Calls running.
        open: &'a [Open],
    },
    /// The thread takes up a task, or begins to run.
    Dequeue {
        /// When it happened.
        at: u64,
        /// Which task.
        object: Object,
    },
    /// An interval with a key begins; it may end on another thread. From this point on, the thread works on it.
    BeginKeyed {
        /// When it happened.
        at: u64,
        /// Its key, not 0.
        key: u64,
        /// Under which plan.
        stamp: Stamp,
        /// Its label.
        label: LabelValue<'a>,
    },
    /// From this point on, the thread works on the interval with this key; 0: on none.
    Work {
        /// When it happened.
        at: u64,
        /// The interval's key.
        key: u64,
    },
    /// The label is the class of the interval with this key. A label that is a W3C `traceparent` is the span that the
    /// interval belongs to.
    Class {
        /// The interval's key; 0 for the one that is open on the thread and stays there.
        key: u64,
        /// The label.
        label: LabelValue<'a>,
    },
    /// An attribute of the interval with this key.
    Attribute {
        /// The interval's key.
        key: u64,
        /// The attribute's name, not empty.
        name: &'a [u8],
        /// Its value.
        value: i64,
    },
    /// The interval with this key ends.
    EndKeyed {
        /// When it happened.
        at: u64,
        /// Its key.
        key: u64,
        /// The plan's generation now; see [`Event::End`].
        generation: u32,
        /// Calls running.
        open: &'a [Open],
    },
}

/// The payload of an `EndKeyed` has the number of its open calls in its low byte, as a `Wake`'s is nothing else.
const OPENS_BITS: u32 = 8;
const _: () = assert!(crate::waits::OPEN_MAX < 1 << OPENS_BITS);

/// Number of [`Marker::Open`] that belong to a group with this payload.
const fn opens_of(payload: u64) -> usize {
    (payload & ((1 << OPENS_BITS) - 1)) as usize
}

impl<'a> Event<'a> {
    /// The records of this event, in order. More than [`crate::waits::OPEN_MAX`] open calls of a group are left out.
    pub fn records(self) -> impl Iterator<Item = Record> + use<'a> {
        let Parts {
            before,
            head,
            objects,
            label,
            behind,
        } = self.parts();
        let object =
            |object: Object| Record::marker(Marker::Object, object.key, object.kind as u64);
        before
            .iter()
            .map(|open| open.record())
            .chain(head)
            .chain(objects.into_iter().flatten().map(object))
            .chain(label.records())
            .chain(behind.iter().map(|open| open.record()))
    }

    /// Number of its records.
    pub fn records_len(self) -> usize {
        let parts = self.parts();
        let objects = parts.objects.iter().flatten().count();
        let label = parts.label.records().count();
        parts.before.len()
            + usize::from(parts.head.is_some())
            + objects
            + label
            + parts.behind.len()
    }

    fn parts(self) -> Parts<'a> {
        match self {
            Event::Begin { at, stamp } => Parts::of(Record::begin(at, stamp)),
            Event::Label(label) => Parts::default().labelled(label),
            Event::End {
                at,
                keep,
                generation,
                left,
                open,
            } => Parts {
                before: open,
                ..Parts::of(Record::end_of_interval(at, generation, keep, left))
            },
            Event::Gap { at, lost } => Parts::of(Record::gap(at, lost)),
            Event::Abandon { at, left: false } => Parts::of(Record::abandon(at)),
            Event::Abandon { at, left: true } => Parts::of(Record::left(at)),
            Event::Wait {
                start,
                end,
                objects,
            } => Parts {
                objects,
                ..Parts::marker(Marker::Wait, start, end.wrapping_sub(start))
            },
            Event::Wake { at, object, open } => {
                Parts::with_open(Marker::Wake, at, 0, open).about(object)
            }
            Event::Enqueue { at, object, open } => {
                Parts::with_open(Marker::Enqueue, at, 0, open).about(object)
            }
            Event::Dequeue { at, object } => Parts::marker(Marker::Dequeue, at, 0).about(object),
            Event::BeginKeyed {
                at,
                key,
                stamp,
                label,
            } => Parts::marker(Marker::BeginKeyed, at, stamp.payload())
                .about(interval(key))
                .labelled(label),
            Event::Work { at, key } => Parts::marker(Marker::Work, at, 0).about(interval(key)),
            Event::Class { key, label } => Parts::marker(Marker::Class, 0, 0)
                .about(interval(key))
                .labelled(label),
            Event::Attribute { key, name, value } => {
                Parts::marker(Marker::Attribute, value as u64, 0)
                    .about(interval(key))
                    .labelled(LabelValue::Text(name))
            }
            Event::EndKeyed {
                at,
                key,
                generation,
                open,
            } => {
                let generation = u64::from(generation) << OPENS_BITS;
                Parts::with_open(Marker::EndKeyed, at, generation, open).about(interval(key))
            }
        }
    }
}

/// The interval with this key, as an object.
fn interval(key: u64) -> Object {
    Object {
        key,
        kind: ObjectKind::Interval,
    }
}

/// The records of an event, by where they stand.
#[derive(Default)]
struct Parts<'a> {
    before: &'a [Open],
    head: Option<Record>,
    objects: [Option<Object>; 2],
    label: LabelValue<'a>,
    behind: &'a [Open],
}

impl<'a> Parts<'a> {
    /// A record by itself.
    fn of(record: Record) -> Parts<'a> {
        Parts {
            head: Some(record),
            ..Parts::default()
        }
    }

    /// A marker by itself.
    fn marker(marker: Marker, start: u64, payload: u64) -> Parts<'a> {
        Parts::of(Record::marker(marker, start, payload))
    }

    /// A marker that open calls follow; their number is in the low bits of its payload.
    fn with_open(marker: Marker, at: u64, payload: u64, open: &'a [Open]) -> Parts<'a> {
        let behind = &open[..open.len().min(crate::waits::OPEN_MAX)];
        Parts {
            behind,
            ..Parts::marker(marker, at, payload | behind.len() as u64)
        }
    }

    /// Adds the object of the event.
    fn about(self, object: Object) -> Parts<'a> {
        Parts {
            objects: [Some(object), None],
            ..self
        }
    }

    /// Adds a label.
    fn labelled(self, label: LabelValue<'a>) -> Parts<'a> {
        Parts { label, ..self }
    }
}
