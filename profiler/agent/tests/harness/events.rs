//! A thread's records, as `evenkeel_wire::event` reads them, to be kept and compared.

use evenkeel_wire::event::Sink;
use evenkeel_wire::{Decoder, LabelValue, ObjectKind, Record};

pub use evenkeel_wire::Open;

pub type Object = (ObjectKind, u64);

/// An event, or a call.
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
        generation: u32,
        opens: Vec<Open>,
    },
    /// Something of an interval that stays on its thread, or a gap.
    Other(String),
}
/// The records of a thread.
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
                object: (ObjectKind::Thread, key),
                ..
            }) => Some(*key),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Events(Vec<Event>);

impl Sink for Events {
    fn calls(&mut self, calls: &[Record]) {
        self.0.extend(calls.iter().map(|call| Event::Call {
            probe: call.id(),
            start: call.start,
            end: call.end(),
        }));
    }

    fn event(&mut self, event: evenkeel_wire::Event<'_>) {
        self.0.push(Event::of(event));
    }
}

/// The events of a whole stream. Each of its records must have a meaning: encoded again, they are the same.
pub fn decode(records: &[Record]) -> Vec<Event> {
    struct Again(Vec<Record>);
    impl Sink for Again {
        fn calls(&mut self, calls: &[Record]) {
            self.0.extend(calls);
        }
        fn event(&mut self, event: evenkeel_wire::Event<'_>) {
            self.0.extend(event.records());
        }
    }
    let (mut decoder, mut events, mut again) =
        (Decoder::default(), Events::default(), Again(Vec::new()));
    decoder.push(records, &mut events);
    decoder.finish(&mut events);
    decoder.push(records, &mut again);
    decoder.finish(&mut again);
    assert_eq!(again.0, records);
    events.0
}

impl Event {
    fn of(event: evenkeel_wire::Event<'_>) -> Event {
        use evenkeel_wire::Event as Wire;
        let pair = |object: evenkeel_wire::Object| (object.kind, object.key);
        match event {
            Wire::Wait {
                start,
                end,
                objects,
            } => Event::Wait {
                objects: objects.into_iter().flatten().map(pair).collect(),
                start,
                end,
            },
            Wire::Wake { at, object, open } => Event::Wake {
                object: pair(object),
                at,
                opens: open.to_vec(),
            },
            Wire::Enqueue { at, object, open } => Event::Enqueue {
                object: pair(object),
                at,
                opens: open.to_vec(),
            },
            Wire::Dequeue { at, object } => Event::Dequeue {
                object: pair(object),
                at,
            },
            Wire::BeginKeyed {
                at,
                key,
                stamp,
                label,
            } => Event::Begin {
                key,
                at,
                payload: stamp.payload(),
                label: words(label),
            },
            Wire::Work { at, key } => Event::Work { key, at },
            Wire::Class { key, label } => Event::Class {
                key,
                name: words(label),
            },
            Wire::Attribute { key, name, value } => Event::Attribute {
                key,
                name: words(LabelValue::Text(name)),
                value,
            },
            Wire::EndKeyed {
                at,
                key,
                generation,
                open,
            } => Event::End {
                key,
                at,
                generation,
                opens: open.to_vec(),
            },
            other => Event::Other(format!("{other:?}")),
        }
    }
}

fn words(label: LabelValue<'_>) -> String {
    match label {
        LabelValue::None => String::new(),
        LabelValue::Integer(value) => value.to_string(),
        LabelValue::Text(text) => String::from_utf8(text.to_vec()).expect("text"),
    }
}
