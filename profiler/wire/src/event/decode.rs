//! From records back to events.

use alloc::vec::Vec;

use super::{Event, LEFT_BIT, OPENS_BITS, Object, Open, STAMP_BITS, Stamp, Text, opens_of};
use crate::ObjectKind;
use crate::keeping::KeepRate;
use crate::record::{Marker, PROBE_ID_MASK, Record};

/// Calls running at the end of an interval that are looked at, at most: as many as an agent keeps frames of one thread.
pub(crate) const OPENS_AT_END_MAX: usize = 1 << 12;

/// Where decoded events go, in the order of the stream.
pub trait Sink {
    /// Completed calls, as they lie in the ring.
    fn calls(&mut self, calls: &[Record]);
    /// Anything else.
    fn event(&mut self, event: Event<'_>);
}

/// Decodes the stream of one thread, which may be cut anywhere. What has no meaning is left out.
///
/// An event is passed on when it is certainly complete. A wake, an enqueue, an end or a turn to an interval is complete
/// with its last record. An event that may have a label or a second object is complete with the record after it.
#[derive(Debug, Default)]
pub struct Decoder {
    group: Option<Group>,
    /// Running calls of the group.
    open: Vec<Open>,
    /// Running calls named since the last interval that stays on the thread began or ended.
    open_at_end: Vec<Open>,
    /// Label of the group, or of the interval that has just begun.
    text: Text,
    /// The label of an interval that stays on the thread may still come.
    labelling: bool,
}

/// A group that is being read.
#[derive(Debug)]
struct Group {
    marker: Marker,
    start: u64,
    payload: u64,
    objects: [Option<Object>; 2],
    /// Running calls that belong to it.
    opens: usize,
}

impl Group {
    fn new(marker: Marker, record: Record) -> Group {
        let payload = record.duration();
        let has_open = matches!(marker, Marker::Wake | Marker::Enqueue | Marker::EndKeyed);
        Group {
            marker,
            start: record.start,
            payload,
            objects: [None; 2],
            opens: if has_open { opens_of(payload) } else { 0 },
        }
    }

    /// Whether the object is the last record.
    fn ends_with_object(&self) -> bool {
        match self.marker {
            Marker::Wake | Marker::Enqueue | Marker::EndKeyed => self.opens == 0,
            Marker::Work | Marker::Dequeue => true,
            _ => false,
        }
    }
}

impl Decoder {
    /// Takes the next records.
    pub fn push(&mut self, records: &[Record], sink: &mut impl Sink) {
        let mut rest = records;
        while !rest.is_empty() {
            let is_marker = |record: &Record| !record.is_call();
            let calls = rest.iter().position(is_marker).unwrap_or(rest.len());
            if calls > 0 {
                self.finish(sink);
                sink.calls(&rest[..calls]);
            }
            rest = &rest[calls..];
            if let Some((&record, after)) = rest.split_first() {
                if let Some(marker) = record.as_marker() {
                    self.marker(marker, record, sink);
                }
                rest = after;
            }
        }
    }

    /// The stream has ended: passes on the event that waited for another record.
    #[inline]
    pub fn finish(&mut self, sink: &mut impl Sink) {
        if self.group.is_some() || self.labelling {
            self.complete(sink);
        }
    }

    fn complete(&mut self, sink: &mut impl Sink) {
        if let Some(group) = self.group.take() {
            self.pass_on(&group, sink);
            self.open.clear();
        } else if !matches!(self.text.value(), super::LabelValue::None) {
            sink.event(Event::Label(self.text.value()));
        }
        self.labelling = false;
        self.text.clear();
    }

    fn marker(&mut self, marker: Marker, record: Record, sink: &mut impl Sink) {
        let at = record.start;
        match marker {
            Marker::Object => self.object(record, sink),
            Marker::Open => self.open(record, sink),
            Marker::Label | Marker::LabelInteger => self.text.push(record),
            Marker::Begin => {
                self.finish(sink);
                self.open_at_end.clear();
                self.text.clear();
                self.labelling = true;
                let stamp = Stamp::of_payload(record.duration());
                sink.event(Event::Begin { at, stamp });
            }
            Marker::End => {
                self.finish(sink);
                sink.event(Event::End {
                    at,
                    keep: KeepRate::of_log2((record.duration() >> STAMP_BITS) as u8),
                    generation: Stamp::of_payload(record.duration()).generation,
                    left: record.duration() >> LEFT_BIT & 1 == 1,
                    open: &self.open_at_end,
                });
                self.open_at_end.clear();
            }
            Marker::Gap => {
                self.finish(sink);
                let lost = record.duration();
                sink.event(Event::Gap { at, lost });
            }
            Marker::Abandon => {
                self.finish(sink);
                let left = record.duration() != 0;
                sink.event(Event::Abandon { at, left });
            }
            Marker::Wait
            | Marker::Wake
            | Marker::Enqueue
            | Marker::Dequeue
            | Marker::Work
            | Marker::BeginKeyed
            | Marker::EndKeyed
            | Marker::Class
            | Marker::Attribute => {
                self.finish(sink);
                self.text.clear();
                self.group = Some(Group::new(marker, record));
            }
        }
    }

    fn object(&mut self, record: Record, sink: &mut impl Sink) {
        let Some(group) = &mut self.group else { return };
        if let Some(kind) = ObjectKind::from_payload(record.duration())
            && let Some(free) = group.objects.iter_mut().find(|object| object.is_none())
        {
            *free = Some(Object {
                key: record.start,
                kind,
            });
        }
        if group.ends_with_object() {
            self.finish(sink);
        }
    }

    fn open(&mut self, record: Record, sink: &mut impl Sink) {
        let open = Open {
            start: record.start,
            probe: record.duration() as u32 & PROBE_ID_MASK,
        };
        match &self.group {
            Some(group) if self.open.len() < group.opens => {
                self.open.push(open);
                if self.open.len() == group.opens {
                    self.finish(sink);
                }
            }
            _ => {
                self.finish(sink);
                if self.open_at_end.len() < OPENS_AT_END_MAX {
                    self.open_at_end.push(open);
                }
            }
        }
    }

    fn pass_on(&self, group: &Group, sink: &mut impl Sink) {
        let Some(object) = group.objects[0] else {
            return;
        };
        let (at, key) = (group.start, object.key);
        let (label, open) = (self.text.value(), &self.open[..]);
        sink.event(match group.marker {
            Marker::Wait => Event::Wait {
                start: at,
                end: at.saturating_add(group.payload),
                objects: group.objects,
            },
            Marker::Wake => Event::Wake { at, object, open },
            Marker::Enqueue => Event::Enqueue { at, object, open },
            Marker::Dequeue => Event::Dequeue { at, object },
            Marker::Work => Event::Work { at, key },
            Marker::BeginKeyed => Event::BeginKeyed {
                at,
                key,
                stamp: Stamp::of_payload(group.payload),
                label,
            },
            Marker::EndKeyed => Event::EndKeyed {
                at,
                key,
                generation: (group.payload >> OPENS_BITS) as u32,
                open,
            },
            Marker::Class => Event::Class { key, label },
            Marker::Attribute => {
                let super::LabelValue::Text(name) = label else {
                    return;
                };
                // The record has the value where others have their time.
                let value = at as i64;
                Event::Attribute { key, name, value }
            }
            _ => return,
        });
    }
}
