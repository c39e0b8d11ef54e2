//! From one thread's events to its timeline, the releases it made, and the intervals that began and ended on it.

use evenkeel_wire::event::Sink;
use evenkeel_wire::ring::RING_BYTES;
use evenkeel_wire::{Event, KeepRate, LabelValue, Object, Open, Record, Stamp};
use rustc_hash::FxHashMap;

use super::keyed::{Instance, KeyedIntervals, Segment};
use super::serials::Serials;
use super::timeline::{CALLS_MAX, Timeline, What};
use super::wakes::{Release, ReleaseIndex};
use crate::intervals::attributes::AttributeTable;
use crate::intervals::classes::ClassTable;
use crate::intervals::interval::{AttributeValues, Extent, Finished, Reason, Serving};
use crate::intervals::trace_context::TraceContext;
use crate::sums::moments::fraction;

/// Takes an interval that stayed on its thread as soon as it has ended, with what the thread did.
pub type TakeAtOnce<'a> = &'a mut dyn FnMut(&mut Timeline, &Finished);

/// Where a thread's reader puts what is not the thread's own.
pub struct Inbox<'a> {
    /// Set if waits are not followed. Records of other threads are then not needed: intervals need not wait for the end
    /// of a pass, and calls outside of intervals are not kept.
    pub at_once: Option<TakeAtOnce<'a>>,
    /// Wakes by object.
    pub wakes: &'a mut ReleaseIndex,
    /// Tasks put into queues, and threads created.
    pub enqueued: &'a mut ReleaseIndex,
    /// Segments are added at once, beginnings and ends in order of time, later.
    pub keyed: &'a mut KeyedIntervals,
    /// To be dealt with in order of time.
    pub events: &'a mut Vec<Pending>,
    /// Classes of intervals that stay on their thread.
    pub serials: &'a mut Serials,
    /// Names of classes.
    pub classes: &'a mut ClassTable,
    /// Names of attributes.
    pub attributes: &'a mut AttributeTable,
    /// Intervals left out at once.
    pub discarded: &'a mut Vec<Reason>,
    /// Of those that lost records, how long they took.
    pub lost: &'a mut LostByPlan,
    /// Of those that had more calls than there is room for, which calls those were.
    pub crowded: &'a mut Crowded,
}

/// Intervals that lost records but whose latency is known: they end as any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// How many.
    pub intervals: u64,
    /// Sum of their latencies, ticks.
    pub ticks: u64,
}

impl Lost {
    /// Both.
    pub fn and(self, other: Lost) -> Lost {
        Lost {
            intervals: self.intervals + other.intervals,
            ticks: self.ticks.saturating_add(other.ticks),
        }
    }

    /// Those after `before` were all there were.
    pub fn since(self, before: Lost) -> Lost {
        Lost {
            intervals: self.intervals.saturating_sub(before.intervals),
            ticks: self.ticks.saturating_sub(before.ticks),
        }
    }
}

/// The same by the generation of the plan under which they began: what loses records under one need not under the next.
pub type LostByPlan = FxHashMap<u32, Lost>;

/// Calls of an interval that make a quarter of a ring: the rest may be full of what came before it.
const CROWDED_CALLS_MIN: usize = RING_BYTES / size_of::<Record>() / 4;

/// Intervals that had more calls than a ring, or a timeline, holds, and have ended.
#[derive(Clone, Debug, Default)]
pub struct Crowded {
    /// How many.
    pub intervals: u64,
    /// Sum of the squares of their latencies, ticks^2.
    pub latency_squared: f64,
    /// Their calls by probe. What was lost is taken to be as dense as what was read before.
    pub calls: FxHashMap<u32, u64>,
}

impl Crowded {
    /// What they are of the squares of all latencies, beside those of other intervals (ticks^2).
    pub(crate) fn part_beside(&self, others: f64) -> f64 {
        fraction(self.latency_squared, self.latency_squared + others)
    }

    fn add(&mut self, crowd: Crowd, end: u64) {
        let latency = end.saturating_sub(crowd.begin) as f64;
        let read = crowd.until.saturating_sub(crowd.begin).max(1) as f64;
        let times = (latency / read).max(1.0);
        self.intervals += 1;
        self.latency_squared += latency * latency;
        for (id, calls) in crowd.calls {
            *self.calls.entry(id).or_default() += (calls as f64 * times).round() as u64;
        }
    }
}

/// An interval that cannot be kept, since its calls filled the ring, until it ends.
#[derive(Debug)]
struct Crowd {
    /// When it began, ticks.
    begin: u64,
    /// When the last of its calls ended that was read, ticks.
    until: u64,
    /// These calls, by probe.
    calls: FxHashMap<u32, u64>,
}

/// Something about an interval that has to wait for its turn in time.
#[derive(Clone, Debug)]
pub struct Pending {
    /// When, ticks.
    pub time: u64,
    /// What happened to the interval.
    pub happened: Happened,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Happened {
    /// An interval with a key begins.
    Begin(u64, Instance),
    /// The interval with this key is of this class.
    Classify(u64, u16),
    /// The class of the interval with this key has this number, too.
    Detail(u64, u64),
    /// The interval with this key belongs to this span.
    Trace(u64, TraceContext),
    /// The interval with this key has this value of this attribute.
    Attribute(u64, u16, i64),
    /// The interval with this key ends under this generation of the plan.
    End(u64, u32, Ending),
    /// An interval that stayed on its thread ended.
    Ended(Finished),
}

/// Where an interval ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// On which thread.
    pub thread: u64,
    /// At which mark of its timeline.
    pub mark: u64,
}

/// An interval that stays on its thread and has not ended.
#[derive(Clone, Copy, Debug)]
struct Home {
    /// Its number, in the order in which intervals were met.
    serial: u64,
    /// Begin, ticks.
    begin: u64,
    /// Number of the mark at its beginning.
    begin_mark: u64,
    /// The plan.
    stamp: Stamp,
    /// The span that it belongs to.
    trace: Option<TraceContext>,
}

/// What is known of one thread.
#[derive(Debug, Default)]
pub struct Reader {
    /// What it did.
    pub timeline: Timeline,
    home: Option<Home>,
    /// The interval that lost records, until it ends.
    lost_home: Option<Home>,
    /// If its calls filled the ring.
    crowd: Option<Crowd>,
    /// The interval that the thread serves while it has none itself.
    keyed: Serving,
    /// When records were lost last, ticks.
    lost_at: u64,
    /// The thread has intervals, or works on some.
    serves: bool,
    /// The thread has ended intervals with keys.
    ends: bool,
}

impl Reader {
    /// When the interval began that is open on the thread, ticks.
    pub(crate) fn open_since(&self) -> Option<u64> {
        self.home.map(|home| home.begin)
    }

    /// Whether the thread has ever served an interval.
    pub(crate) fn serves(&self) -> bool {
        self.serves
    }

    /// Whether the thread has ended intervals, and never served one.
    pub(crate) fn only_ends(&self) -> bool {
        self.ends && !self.serves
    }

    /// When records of the thread were lost last, ticks; 0: never.
    pub(crate) fn lost_at(&self) -> u64 {
        self.lost_at
    }

    /// The thread sends nothing more.
    pub fn end(&mut self) {
        self.home = None;
    }
}

/// Takes the events of a thread.
pub struct Reading<'a, 'b> {
    /// The thread's key.
    pub thread: u64,
    /// What is known of it.
    pub reader: &'a mut Reader,
    /// Where everything else goes.
    pub inbox: &'a mut Inbox<'b>,
}

impl Sink for Reading<'_, '_> {
    fn calls(&mut self, calls: &[Record]) {
        let Reader { timeline, home, .. } = &mut *self.reader;
        if self.inbox.at_once.is_none() {
            timeline.push_calls(calls);
        } else if home.is_none() {
        } else if timeline.calls_len() + calls.len() > CALLS_MAX {
            self.note_if_crowded();
            self.discard(Reason::TooManyCalls);
        } else {
            timeline.extend_calls(calls);
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Begin { at, stamp } => self.begin(at, stamp),
            // A call inside the interval has its label.
            Event::Label(label) | Event::Class { key: 0, label } => {
                if let Some(home) = &mut self.reader.home {
                    let known = usize::from(self.inbox.serials.class_of(home.serial));
                    let labelled = self.inbox.classes.read_after(known, label);
                    home.trace = labelled.trace.or(home.trace);
                    if let Some(class) = labelled.class {
                        self.inbox.serials.classify(home.serial, class as u16);
                    }
                }
            }
            Event::End {
                at,
                keep,
                generation,
                left,
                open,
            } => {
                if let Some(home) = self.reader.home.as_ref().filter(|_| left) {
                    let class = self.inbox.serials.class_of(home.serial);
                    let class = self.inbox.classes.with_error(usize::from(class));
                    self.inbox.serials.classify(home.serial, class as u16);
                }
                self.end(at, keep, generation, open);
            }
            Event::Gap { at, .. } => self.gap(at),
            Event::Abandon { left: false, .. } => self.abandon(Reason::Abandoned),
            Event::Abandon { left: true, .. } => self.abandon(Reason::LeftEarly),
            _ if self.inbox.at_once.is_some() => {}
            _ => self.waits(event),
        }
    }
}

impl Reading<'_, '_> {
    fn begin(&mut self, at: u64, stamp: Stamp) {
        self.discard(Reason::LeftEarly);
        self.reader.lost_home = None;
        self.reader.crowd = None;
        let Reader {
            timeline,
            home,
            serves,
            ..
        } = &mut *self.reader;
        *serves = true;
        if self.inbox.at_once.is_some() {
            timeline.clear();
        }
        let begun = Home {
            serial: self.inbox.serials.issue(),
            begin: at,
            begin_mark: timeline.push_mark(at, What::Turn, &[]),
            stamp,
            trace: None,
        };
        *home = Some(begun);
        timeline.serving = Serving::Interval(begun.serial);
    }

    fn end(&mut self, at: u64, keep: KeepRate, generation: u32, open: &[Open]) {
        if let Some(crowd) = self.reader.crowd.take() {
            self.inbox.crowded.add(crowd, at);
        }
        let Some(home) = self.reader.home.take() else {
            if let Some(home) = self.reader.lost_home.take() {
                let lost = self.inbox.lost.entry(home.stamp.generation).or_default();
                *lost = lost.and(Lost {
                    intervals: 1,
                    ticks: at.saturating_sub(home.begin),
                });
            }
            return;
        };
        let timeline = &mut self.reader.timeline;
        let mark = timeline.push_mark(at, What::Turn, open);
        timeline.serving = self.reader.keyed;
        if home.stamp.generation != generation {
            self.inbox.discarded.push(Reason::PlanChanged);
            return;
        }
        let finished = Finished {
            subject: Extent {
                begin: home.begin,
                end: at,
                serving: Serving::Interval(home.serial),
                begin_mark: Some(home.begin_mark),
                thread: self.thread,
                mark,
            },
            generation,
            probed: home.stamp.probed,
            weight: keep.weight(),
            class: self.inbox.serials.class_of(home.serial),
            attributes: AttributeValues::new(),
            trace: home.trace,
        };
        match &mut self.inbox.at_once {
            Some(take) => take(timeline, &finished),
            None => self.pend(at, Happened::Ended(finished)),
        }
    }

    /// Leaves out the interval that is open on the thread. Returns whether one was.
    fn discard(&mut self, reason: Reason) -> bool {
        let open = self.reader.home.take().is_some();
        if open {
            self.inbox.discarded.push(reason);
        }
        open
    }

    fn gap(&mut self, at: u64) {
        let home = self.reader.home;
        self.note_if_crowded();
        if self.discard(Reason::RecordsLost) {
            self.reader.lost_home = home;
        }
        if self.inbox.at_once.is_some() {
            return;
        }
        let Reader {
            timeline,
            lost_at,
            keyed,
            ..
        } = &mut *self.reader;
        // Older agents do not say when.
        *lost_at = at.max(timeline.latest());
        timeline.push_mark(*lost_at, What::Gap, &[]);
        timeline.serving = *keyed;
    }

    /// Notes the calls that were read of the interval that is open on the thread and cannot be kept, if they are what
    /// filled the ring. An interval of few calls has lost records since nobody took them in time, whatever is timed in
    /// it.
    fn note_if_crowded(&mut self) {
        let Some(home) = self.reader.home else { return };
        let until = self.reader.timeline.latest();
        let (calls, _) = self.reader.timeline.all();
        let own = calls.iter().rev();
        // With waits followed, calls before the interval lie before its own.
        let own = own.take_while(|call| call.start >= home.begin);
        if own.clone().count() < CROWDED_CALLS_MIN {
            return;
        }
        let mut calls = FxHashMap::default();
        for call in own {
            *calls.entry(call.id()).or_default() += 1;
        }
        let begin = home.begin;
        self.reader.crowd = Some(Crowd {
            begin,
            until,
            calls,
        });
    }

    fn abandon(&mut self, why: Reason) {
        let open = self.discard(why);
        let timeline = &mut self.reader.timeline;
        if open {
            let time = timeline.latest();
            timeline.push_mark(time, What::Turn, &[]);
        }
        timeline.serving = self.reader.keyed;
    }

    fn pend(&mut self, time: u64, happened: Happened) {
        self.inbox.events.push(Pending { time, happened });
    }

    fn waits(&mut self, event: Event<'_>) {
        let timeline = &mut self.reader.timeline;
        match event {
            Event::Wait {
                start,
                end,
                objects,
            } => {
                timeline.push_mark(end, What::Wait { start, objects }, &[]);
            }
            Event::Wake { at, object, open } => {
                let release = self.release(at, object, open);
                self.inbox.wakes.add(object.key, release);
            }
            Event::Enqueue { at, object, open } => {
                let release = self.release(at, object, open);
                self.inbox.enqueued.add(object.key, release);
            }
            Event::Dequeue { at, object } => {
                timeline.push_mark(at, What::Dequeue(object), &[]);
            }
            Event::Work { at, key } => self.turn(at, key),
            Event::BeginKeyed {
                at,
                key,
                stamp,
                label,
            } => {
                let labelled = self.inbox.classes.read(label);
                let instance = Instance {
                    begin: at,
                    end: None,
                    generation: stamp.generation,
                    probed: stamp.probed,
                    class: labelled.class.unwrap_or_default() as u16,
                    trace: labelled.trace,
                };
                self.pend(at, Happened::Begin(key, instance));
                self.turn(at, key);
            }
            Event::EndKeyed {
                at,
                key,
                generation,
                open,
            } => {
                let mark = timeline.push_mark(at, What::Anchor, open);
                let ending = Ending {
                    thread: self.thread,
                    mark,
                };
                self.reader.ends = true;
                self.pend(at, Happened::End(key, generation, ending));
            }
            Event::Class {
                key,
                label: LabelValue::Integer(value),
            } => {
                let time = timeline.latest();
                self.pend(time, Happened::Detail(key, value));
            }
            Event::Class { key, label } => {
                let time = timeline.latest();
                let labelled = self.inbox.classes.read(label);
                if let Some(class) = labelled.class {
                    self.pend(time, Happened::Classify(key, class as u16));
                }
                if let Some(trace) = labelled.trace {
                    self.pend(time, Happened::Trace(key, trace));
                }
            }
            Event::Attribute { key, name, value } => {
                let time = timeline.latest();
                if let Some(attribute) = self.inbox.attributes.number(name) {
                    self.pend(time, Happened::Attribute(key, attribute, value));
                }
            }
            Event::Begin { .. }
            | Event::Label(_)
            | Event::End { .. }
            | Event::Gap { .. }
            | Event::Abandon { .. } => {}
        }
    }

    fn release(&mut self, at: u64, object: Object, open: &[Open]) -> Release {
        Release {
            time: at,
            thread: self.thread,
            mark: self.reader.timeline.push_mark(at, What::Anchor, open),
            kind: object.kind,
        }
    }

    /// The thread turns to the interval with this key, or to none. This has no effect inside of an interval that stays
    /// on the thread.
    fn turn(&mut self, at: u64, key: u64) {
        let Reader {
            timeline,
            home,
            keyed,
            serves,
            ..
        } = &mut *self.reader;
        let to = match key {
            0 => Serving::Nobody,
            key => Serving::Keyed(key),
        };
        *serves |= to != Serving::Nobody;
        let from = std::mem::replace(keyed, to);
        if from == to {
            return;
        }
        let end_mark = timeline.push_mark(at, What::Turn, &[]);
        if home.is_none() {
            timeline.serving = to;
        }
        if let Serving::Keyed(key) = from {
            let segment = Segment {
                thread: self.thread,
                end: at,
                end_mark,
            };
            self.inbox.keyed.segment(key, segment);
        }
    }
}
