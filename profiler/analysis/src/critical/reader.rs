//! From the records of one thread to its timeline, the releases it made, and the intervals that began and ended on it.
//!
//! A marker and what belongs to it are a **group**, contiguous in the ring (`evenkeel_wire::edges` draws them), but a drain
//! may cut it anywhere.

use evenkeel_wire::Kind;
use evenkeel_wire::edges::{generation_of_end, opens_of};
use evenkeel_wire::record::{MARKER_FIRST, Marker, Record};

use super::keyed::{Instance, KeyedIntervals, Segment};
use super::serials::Serials;
use super::timeline::{Object, Serving, Timeline, What};
use super::wakes::{Release, ReleaseIndex};
use crate::attributes::AttributeTable;
use crate::classes::ClassTable;
use crate::intervals::Reason;
use crate::labels::{LabelBuffer, RawLabel};

/// Calls that are open when an interval ends, at most.
const OPENS_MAX: usize = 1 << 10;

/// Where a thread's reader puts what is not the thread's own.
pub struct Inbox<'a> {
    /// Wakes by object.
    pub wakes: &'a mut ReleaseIndex,
    /// Tasks put into queues, and threads created.
    pub enqueued: &'a mut ReleaseIndex,
    /// Segments are added at once, beginnings and ends in order of time, later.
    pub keyed: &'a mut KeyedIntervals,
    /// To be dealt with in order of time.
    pub events: &'a mut Vec<Event>,
    /// Classes of intervals that stay on their thread.
    pub serials: &'a mut Serials,
    /// Names of classes.
    pub classes: &'a mut ClassTable,
    /// Names of attributes.
    pub attributes: &'a mut AttributeTable,
    /// Intervals left out at once.
    pub discarded: &'a mut Vec<Reason>,
}

/// Something about an interval that has to wait for its turn in time.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When, ticks.
    pub time: u64,
    /// What.
    pub happened: Happened,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Happened {
    /// An interval with a key begins.
    Begin(u64, Instance),
    /// The interval with this key is of this class.
    Classify(u64, u16),
    /// The interval with this key has this value of this attribute.
    Attribute(u64, u16, i64),
    /// The interval with this key ends under this generation of the plan.
    End(u64, u32, Ending),
    /// An interval that stayed on its thread ended.
    Ended(Home, Ending),
}

/// Where an interval ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// On which thread.
    pub thread: u64,
    /// At which mark of its timeline.
    pub mark: u64,
}

/// An interval that stays on its thread.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    /// Its number, in the order in which intervals were met.
    pub serial: u64,
    /// Begin, ticks.
    pub begin: u64,
    /// Number of the mark at its beginning.
    pub begin_mark: u64,
    /// Generation of the plan.
    pub generation: u32,
    /// Whether its probes were on.
    pub probed: bool,
}

/// A group that is being read.
#[derive(Clone, Debug)]
struct Group {
    marker: Marker,
    time: u64,
    payload: u64,
    objects: [Option<Object>; 2],
    opens: usize,
}

impl Group {
    /// Whether nothing comes behind the object: the group need not wait for the next record to be complete.
    fn ends_with_object(&self) -> bool {
        match self.marker {
            Marker::Wake | Marker::Enqueue | Marker::EndKeyed => self.opens == 0,
            Marker::Work | Marker::Dequeue => true,
            _ => false,
        }
    }
}

/// Reads one thread's records.
#[derive(Debug, Default)]
pub struct Reader {
    /// What it makes.
    pub timeline: Timeline,
    group: Option<Group>,
    /// Open calls of the group, or of the end that follows.
    opens: Vec<Record>,
    /// The interval that stays on the thread and has not ended.
    home: Option<Home>,
    /// Records of its label may still come.
    labelling: bool,
    label: LabelBuffer,
    /// What the thread serves while no interval of its own is open.
    keyed: Serving,
    /// When records were lost last, ticks.
    lost_at: u64,
}

impl Reader {
    /// Takes the thread's next records.
    pub fn push(&mut self, thread: u64, records: &[Record], inbox: &mut Inbox<'_>) {
        let mut rest = records;
        while !rest.is_empty() {
            let is_marker = |record: &Record| record.id() >= MARKER_FIRST;
            let calls = rest.iter().position(is_marker).unwrap_or(rest.len());
            if calls > 0 {
                self.finish(thread, inbox);
                self.timeline.push_calls(&rest[..calls]);
            }
            rest = &rest[calls..];
            if let Some((&record, after)) = rest.split_first() {
                if let Some(marker) = record.as_marker() {
                    self.marker(thread, marker, record, inbox);
                }
                rest = after;
            }
        }
    }

    /// The thread sends nothing more.
    pub fn end(&mut self, thread: u64, inbox: &mut Inbox<'_>) {
        self.finish(thread, inbox);
        self.home = None;
    }

    /// When the interval began that is open on the thread, ticks.
    pub fn open_since(&self) -> Option<u64> {
        self.home.map(|home| home.begin)
    }

    /// When records of the thread were lost last, ticks; 0: never.
    pub fn lost_at(&self) -> u64 {
        self.lost_at
    }

    fn marker(&mut self, thread: u64, marker: Marker, record: Record, inbox: &mut Inbox<'_>) {
        let time = record.start;
        match marker {
            Marker::Object => {
                self.object(record);
                if self.group.as_ref().is_some_and(Group::ends_with_object) {
                    self.finish(thread, inbox);
                }
            }
            Marker::Open if self.opens.len() < OPENS_MAX => {
                self.opens.push(record);
                let has_all = |group: &Group| group.opens == self.opens.len();
                if self.group.as_ref().is_some_and(has_all) {
                    self.finish(thread, inbox);
                }
            }
            Marker::Open => {}
            Marker::Label | Marker::LabelInteger => self.label.push(record),
            Marker::Begin => {
                self.finish(thread, inbox);
                self.begin(time, record.duration(), inbox);
            }
            Marker::End => {
                // Calls open at an end come before it, those of a group after its marker.
                let opens = match self.group {
                    Some(_) => Vec::new(),
                    None => std::mem::take(&mut self.opens),
                };
                self.finish(thread, inbox);
                self.home_ends(thread, time, record.duration(), &opens, inbox);
            }
            Marker::Gap | Marker::Abandon => {
                self.finish(thread, inbox);
                self.lost(marker, time, inbox);
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
                self.finish(thread, inbox);
                self.label.clear();
                self.group = Some(Group {
                    marker,
                    time,
                    payload: record.duration(),
                    objects: [None; 2],
                    opens: match marker {
                        Marker::Wake | Marker::Enqueue | Marker::EndKeyed => {
                            opens_of(record.duration())
                        }
                        _ => 0,
                    },
                });
            }
        }
    }

    fn object(&mut self, record: Record) {
        let kind = Kind::from_payload(record.duration());
        if let (Some(group), Some(kind)) = (&mut self.group, kind)
            && let Some(free) = group.objects.iter_mut().find(|object| object.is_none())
        {
            *free = Some(Object {
                key: record.start,
                kind,
            });
        }
    }

    fn begin(&mut self, time: u64, payload: u64, inbox: &mut Inbox<'_>) {
        if self.home.take().is_some() {
            inbox.discarded.push(Reason::LeftEarly);
        }
        let begin_mark = self.timeline.push_mark(time, What::Turn, &[]);
        let home = Home {
            serial: inbox.serials.issue(),
            begin: time,
            begin_mark,
            generation: (payload >> 1) as u32,
            probed: payload & 1 == 1,
        };
        self.home = Some(home);
        self.timeline.serving = Serving::Interval(home.serial);
        self.labelling = true;
        self.label.clear();
    }

    fn home_ends(
        &mut self,
        thread: u64,
        time: u64,
        payload: u64,
        opens: &[Record],
        inbox: &mut Inbox<'_>,
    ) {
        let Some(home) = self.home.take() else { return };
        let mark = self.timeline.push_mark(time, What::Turn, opens);
        self.timeline.serving = self.keyed;
        if home.generation != (payload >> 1) as u32 {
            inbox.discarded.push(Reason::PlanChanged);
            return;
        }
        inbox.events.push(Event {
            time,
            happened: Happened::Ended(home, Ending { thread, mark }),
        });
    }

    fn lost(&mut self, marker: Marker, time: u64, inbox: &mut Inbox<'_>) {
        let reason = match marker {
            Marker::Gap => Reason::RecordsLost,
            _ => Reason::Abandoned,
        };
        let open = self.home.take().is_some();
        if open {
            inbox.discarded.push(reason);
        }
        if marker == Marker::Gap {
            // Older agents tell no time.
            let time = time.max(self.timeline.latest());
            self.lost_at = time;
            self.timeline.push_mark(time, What::Gap, &[]);
        } else if open {
            let time = self.timeline.latest();
            self.timeline.push_mark(time, What::Turn, &[]);
        }
        self.timeline.serving = self.keyed;
    }

    /// What was read is complete: nothing of the next record belongs to it.
    fn finish(&mut self, thread: u64, inbox: &mut Inbox<'_>) {
        if let Some(group) = self.group.take() {
            let opens = std::mem::take(&mut self.opens);
            self.group(thread, &group, &opens, inbox);
            self.opens = opens;
            self.opens.clear();
            self.label.clear();
            return;
        }
        self.opens.clear();
        if self.labelling {
            self.labelling = false;
            if let Some(home) = self.home {
                let class = inbox.classes.class_of(self.label.label());
                inbox.serials.classify(home.serial, class as u16);
            }
            self.label.clear();
        }
    }

    fn group(&mut self, thread: u64, group: &Group, opens: &[Record], inbox: &mut Inbox<'_>) {
        let Some(object) = group.objects[0] else {
            return;
        };
        let time = group.time;
        match group.marker {
            Marker::Wait => {
                let (start, end) = (time, time.saturating_add(group.payload));
                let objects = group.objects;
                self.timeline
                    .push_mark(end, What::Wait { start, objects }, &[]);
            }
            Marker::Wake | Marker::Enqueue => {
                let mark = self.timeline.push_mark(time, What::Anchor, opens);
                let release = Release {
                    time,
                    thread,
                    mark,
                    kind: object.kind,
                };
                let index = match group.marker {
                    Marker::Wake => &mut *inbox.wakes,
                    _ => &mut *inbox.enqueued,
                };
                index.add(object.key, release);
            }
            Marker::Dequeue => {
                self.timeline.push_mark(time, What::Dequeue(object), &[]);
            }
            Marker::Work => self.turn(thread, time, object.key, inbox),
            Marker::BeginKeyed => {
                let class = inbox.classes.class_of(self.label.label()) as u16;
                let instance = Instance {
                    begin: time,
                    end: None,
                    generation: (group.payload >> 1) as u32,
                    probed: group.payload & 1 == 1,
                    class,
                };
                let happened = Happened::Begin(object.key, instance);
                inbox.events.push(Event { time, happened });
                self.turn(thread, time, object.key, inbox);
            }
            Marker::EndKeyed => {
                let mark = self.timeline.push_mark(time, What::Anchor, opens);
                let generation = generation_of_end(group.payload);
                let ending = Ending { thread, mark };
                let happened = Happened::End(object.key, generation, ending);
                inbox.events.push(Event { time, happened });
            }
            Marker::Class => {
                let class = inbox.classes.class_of(self.label.label()) as u16;
                let happened = Happened::Classify(object.key, class);
                let time = self.timeline.latest();
                inbox.events.push(Event { time, happened });
            }
            Marker::Attribute => {
                let RawLabel::Text(name) = self.label.label() else {
                    return;
                };
                if let Some(attribute) = inbox.attributes.number(name) {
                    // The record has the value where others have their time.
                    let value = group.time as i64;
                    let happened = Happened::Attribute(object.key, attribute, value);
                    let time = self.timeline.latest();
                    inbox.events.push(Event { time, happened });
                }
            }
            _ => {}
        }
    }

    /// The thread turns to the interval with this key, or to none. Under an interval of its own it makes no difference.
    fn turn(&mut self, thread: u64, time: u64, key: u64, inbox: &mut Inbox<'_>) {
        let to = match key {
            0 => Serving::Nobody,
            key => Serving::Keyed(key),
        };
        let from = std::mem::replace(&mut self.keyed, to);
        if from == to {
            return;
        }
        let end_mark = self.timeline.push_mark(time, What::Turn, &[]);
        if self.home.is_none() {
            self.timeline.serving = to;
        }
        if let Serving::Keyed(key) = from {
            let segment = Segment {
                thread,
                end: time,
                end_mark,
            };
            inbox.keyed.segment(key, segment);
        }
    }
}
