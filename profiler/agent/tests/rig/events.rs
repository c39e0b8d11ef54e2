//! Records as what they mean, by the grammar at the head of `evenkeel_wire::edges`; anything else fails the test.

use evenkeel_wire::edges::opens_of;
use evenkeel_wire::{Kind, Marker, Record};

pub type Object = (Kind, u64);

/// One group, or a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Call {
        probe: u32,
        start: u64,
        end: u64,
    },
    Wait {
        objects: Vec<Object>,
        start: u64,
        end: u64,
    },
    Wake {
        object: Object,
        at: u64,
        opens: Vec<Open>,
    },
    Enqueue {
        object: Object,
        at: u64,
        opens: Vec<Open>,
    },
    Dequeue {
        object: Object,
        at: u64,
    },
    Begin {
        key: u64,
        at: u64,
        payload: u64,
        label: String,
    },
    Work {
        key: u64,
        at: u64,
    },
    Class {
        key: u64,
        name: String,
    },
    Attribute {
        key: u64,
        name: String,
        value: i64,
    },
    End {
        key: u64,
        at: u64,
        payload: u64,
        opens: Vec<Open>,
    },
    /// A marker of an interval that stays on its thread.
    Other(Marker),
}

/// A call that was running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    pub probe: u32,
    pub start: u64,
}

/// What one thread recorded.
#[derive(Debug)]
pub struct Stream {
    pub pid: u32,
    pub tid: u32,
    pub events: Vec<Event>,
}

impl Stream {
    /// When it was first heard of.
    pub fn first_ticks(&self) -> u64 {
        let times = self.events.iter().filter_map(|event| match event {
            Event::Call { start, .. } | Event::Wait { start, .. } => Some(*start),
            Event::Wake { at, .. }
            | Event::Enqueue { at, .. }
            | Event::Dequeue { at, .. }
            | Event::Begin { at, .. }
            | Event::Work { at, .. }
            | Event::End { at, .. } => Some(*at),
            _ => None,
        });
        times.min().unwrap_or(u64::MAX)
    }

    /// Whether the thread was created by the C library, or its process by `fork`.
    pub fn creation(&self) -> Option<u64> {
        match self.events.first() {
            Some(Event::Dequeue {
                object: (Kind::Thread, key),
                ..
            }) => Some(*key),
            _ => None,
        }
    }
}

pub fn decode(records: &[Record]) -> Vec<Event> {
    let mut rest = records;
    let mut events = Vec::new();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        events.push(match first.as_marker() {
            None => Event::Call {
                probe: first.id(),
                start: first.start,
                end: first.end(),
            },
            Some(marker) => group(marker, first, &mut rest),
        });
    }
    events
}

fn group(marker: Marker, first: Record, rest: &mut &[Record]) -> Event {
    let (at, payload) = (first.start, first.duration());
    match marker {
        Marker::Wait => {
            let mut objects = vec![object(rest)];
            while next_is(rest, Marker::Object) {
                objects.push(object(rest));
            }
            Event::Wait {
                objects,
                start: at,
                end: at + payload,
            }
        }
        Marker::Wake => Event::Wake {
            object: object(rest),
            at,
            opens: opens(payload, rest),
        },
        Marker::Enqueue => Event::Enqueue {
            object: object(rest),
            at,
            opens: opens(payload, rest),
        },
        Marker::Dequeue => Event::Dequeue {
            object: object(rest),
            at,
        },
        Marker::BeginKeyed => Event::Begin {
            key: interval(rest),
            at,
            payload,
            label: text(rest),
        },
        Marker::Work => Event::Work {
            key: interval(rest),
            at,
        },
        Marker::Class => Event::Class {
            key: interval(rest),
            name: text(rest),
        },
        Marker::Attribute => Event::Attribute {
            key: interval(rest),
            name: text(rest),
            value: at as i64,
        },
        Marker::EndKeyed => Event::End {
            key: interval(rest),
            at,
            payload,
            opens: opens(payload, rest),
        },
        Marker::Object => panic!("an object of nothing"),
        other => Event::Other(other),
    }
}

fn next_is(rest: &[Record], marker: Marker) -> bool {
    rest.first().and_then(|record| record.as_marker()) == Some(marker)
}

fn take(rest: &mut &[Record], marker: Marker) -> Record {
    assert!(next_is(rest, marker), "{marker:?} in {rest:x?}");
    let record = rest[0];
    *rest = &rest[1..];
    record
}

fn object(rest: &mut &[Record]) -> Object {
    let record = take(rest, Marker::Object);
    let kind = Kind::from_payload(record.duration()).expect("a kind");
    (kind, record.start)
}

fn interval(rest: &mut &[Record]) -> u64 {
    let (kind, key) = object(rest);
    assert_eq!(kind, Kind::Interval);
    key
}

fn opens(payload: u64, rest: &mut &[Record]) -> Vec<Open> {
    let one = |_| {
        let record = take(rest, Marker::Open);
        Open {
            probe: record.duration() as u32,
            start: record.start,
        }
    };
    (0..opens_of(payload)).map(one).collect()
}

fn text(rest: &mut &[Record]) -> String {
    if next_is(rest, Marker::LabelInteger) {
        return take(rest, Marker::LabelInteger).start.to_string();
    }
    let mut bytes = Vec::new();
    while next_is(rest, Marker::Label) {
        bytes.extend(take(rest, Marker::Label).label_chunk());
    }
    let len = bytes.iter().position(|&byte| byte == 0);
    String::from_utf8(bytes[..len.unwrap_or(bytes.len())].to_vec()).expect("text")
}
