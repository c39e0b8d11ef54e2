//! From the records of all threads to intervals, each a list of segments: stretches of one thread that worked for it
//! (dissertation 2.3.1).
//!
//! Where waits are not followed, an interval is one segment of one thread, and is passed on as soon as it has ended
//! ([`reader::Inbox::at_once`]). Where they are ([`crate::Analysis::follow_waits`]), each thread's recent past is
//! kept ([`reader`] makes its [`timeline`]). So are the releases ([`wakes`]), intervals that move between threads
//! ([`keyed`]), and the kernel's reports ([`spans`]). [`crate::critical`] walks through these once the interval has
//! ended.
//!
//! # What the caller does, where waits are followed
//! ```text
//! analysis.follow_waits()                     before the first record; the recording must say so, too
//! loop   analysis.push(thread, records) ..    each thread's ring in turn: one pass
//!        analysis.switched_out(thread, ..)    what the kernel reported meanwhile, if it may be asked: when threads did not run,
//!                                             why, and who woke them, for waits that no thread of the target says it ended
//!        analysis.pass_ended()                in a recording: a mark, so that a replay does the same
//! end    analysis.ended()                      what was still waiting for its pass, and who may have ended unseen
//! ```
//! A waker writes its record before the waiter runs on, but rings are read one after the other: the waiter's record may
//! be read a pass before the waker's. So an interval is dealt with at the end of the first pass that began after its
//! end was read; everything earlier than its end has been read by then. All of that happens in order of time, so the
//! same passes give the same results.
//!
//! **Keys of threads** must be unique in the whole run, ended threads included: others' waits still lead to them.
//!
//! # Bounds
//! A thread keeps at most [`timeline::CALLS_MAX`] calls and [`timeline::MARKS_MAX`] marks, all threads together
//! [`KEPT_MAX`] (a quarter of a gigabyte). Anything older than every open or waiting interval is dropped anyway. A
//! path that leads to dropped records has a node "not seen" there; closure is still exact. Where waits are not
//! followed, an interval of more calls is left out.

pub mod keyed;
pub mod reader;
pub mod serials;
pub mod spans;
pub mod timeline;
pub mod wakes;

use std::cell::Cell;

use evenkeel_wire::{Decoder, Record};
use rustc_hash::FxHashMap;

use crate::intervals::attributes::AttributeTable;
use crate::intervals::classes::ClassTable;
use crate::intervals::interval::{Extent, Finished, Reason, Serving};
use crate::intervals::roles::ThreadRole;
use crate::intervals::thread_names::ThreadNames;
use keyed::KeyedIntervals;
use reader::{Crowded, Happened, Inbox, LostByPlan, Pending, Reader, Reading, TakeAtOnce};
use serials::Serials;
use spans::{Spans, SwitchedOut};
use timeline::{CALLS_MAX, MARKS_MAX};
use wakes::ReleaseIndex;

/// Calls and marks kept of all threads together, at most.
pub(crate) const KEPT_MAX: usize = 1 << 23;
/// Calls and marks of all threads below which it is not worth looking for what may be forgotten.
const KEPT_MIN: usize = 1 << 14;

/// One thread.
#[derive(Debug, Default)]
pub struct Thread {
    decoder: Decoder,
    /// Its records.
    pub reader: Reader,
    /// What the kernel says about it.
    pub spans: Spans,
    /// Its role.
    pub role: ThreadRole,
    /// Its name, as a number among the names of classes.
    name: Option<u16>,
    /// Whether a path contains it by its name. The name then stays, so that its time has one place.
    is_in_paths: Cell<bool>,
    has_ended: bool,
}

impl Thread {
    /// By what a path goes through it where it serves no interval and has no role that is known.
    pub fn name_in_paths(&self) -> Option<u16> {
        self.is_in_paths.set(true);
        self.name.filter(|_| self.role == ThreadRole::UNKNOWN)
    }
}

/// What walks look at.
#[derive(Debug, Default)]
pub struct Past {
    /// By key.
    pub threads: FxHashMap<u64, Thread>,
    /// Wakes by object.
    pub wakes: ReleaseIndex,
    /// Tasks put into queues, and threads created.
    pub enqueued: ReleaseIndex,
    /// Intervals with keys.
    pub keyed: KeyedIntervals,
    /// Classes of the others.
    pub serials: Serials,
    /// Whether an interval was a statement about tables.
    pub is_database: bool,
}

/// Everything between records and intervals.
#[derive(Debug, Default)]
pub struct Assembler {
    follows_waits: bool,
    /// Names of classes.
    pub classes: ClassTable,
    thread_names: ThreadNames,
    /// What walks look at.
    pub past: Past,
    /// Names of attributes.
    pub attributes: AttributeTable,
    events: Vec<Pending>,
    discarded: Vec<Reason>,
    lost: LostByPlan,
    crowded: Crowded,
    /// When records of any thread were lost last, ticks.
    lost_at: u64,
    /// The latest moment seen.
    newest: u64,
    /// The latest moment seen before this pass: everything up to it has been read when the pass ends.
    frontier: u64,
    /// The same of the pass before: a beginning that has not been read is later.
    settled: u64,
    /// Kept at which to look for what may be forgotten.
    forget_at: usize,
    dropped: u64,
}

impl Assembler {
    /// From now on waits are followed. To be called before the first record.
    pub fn follow_waits(&mut self) {
        self.follows_waits = true;
    }

    /// Whether waits are followed.
    pub fn follows_waits(&self) -> bool {
        self.follows_waits
    }

    /// Takes the next records of a thread. Where waits are not followed, each interval that ends in them is passed on.
    pub fn push(&mut self, key: u64, records: &[Record], take: TakeAtOnce<'_>) {
        let known = self.events.len();
        let follows_waits = self.follows_waits;
        self.read(key, |decoder, reading| {
            reading.inbox.at_once = (!follows_waits).then_some(take);
            decoder.push(records, reading);
        });
        if !follows_waits {
            return;
        }
        self.past.is_database = self.classes.is_of_tables();
        let Some(thread) = self.past.threads.get_mut(&key) else {
            return;
        };
        self.lost_at = self.lost_at.max(thread.reader.lost_at());
        let timeline = &mut thread.reader.timeline;
        let news = self.events[known..].iter().map(|event| event.time);
        self.newest = news.chain([timeline.latest()]).fold(self.newest, u64::max);
        let dropped = timeline.bound(CALLS_MAX, MARKS_MAX);
        self.dropped += dropped.calls + dropped.marks;
    }

    /// A thread sends nothing more. Where waits are followed, those of others may still lead to it.
    pub fn thread_ended(&mut self, key: u64) {
        if !self.follows_waits {
            self.past.threads.remove(&key);
        } else if self.past.threads.contains_key(&key) {
            self.read(key, |decoder, reading| {
                decoder.finish(reading);
                reading.reader.end();
            });
        }
        if let Some(thread) = self.past.threads.get_mut(&key) {
            thread.has_ended = true;
        }
    }

    fn read<'a>(&'a mut self, key: u64, read: impl FnOnce(&mut Decoder, &mut Reading<'_, 'a>)) {
        let Assembler {
            past,
            classes,
            attributes,
            events,
            discarded,
            lost,
            crowded,
            ..
        } = self;
        let Thread {
            decoder, reader, ..
        } = past.threads.entry(key).or_default();
        let mut inbox = Inbox {
            at_once: None,
            wakes: &mut past.wakes,
            enqueued: &mut past.enqueued,
            keyed: &mut past.keyed,
            events,
            serials: &mut past.serials,
            classes,
            attributes,
            discarded,
            lost,
            crowded,
        };
        let mut reading = Reading {
            thread: key,
            reader,
            inbox: &mut inbox,
        };
        read(decoder, &mut reading);
    }

    /// What a thread is called; its role follows from it, where waits are followed.
    pub fn name_thread(&mut self, key: u64, name: &str) {
        if !self.follows_waits {
            return;
        }
        let thread = self.past.threads.entry(key).or_default();
        match ThreadRole::of(name) {
            ThreadRole::UNKNOWN => {
                let number = self.thread_names.number(name, &mut self.classes);
                if !thread.is_in_paths.get() {
                    thread.name = number;
                }
            }
            role => thread.role = role,
        }
    }

    /// Takes what the kernel says about a thread, in order of time; ignored where waits are not followed.
    pub fn switched_out(&mut self, key: u64, spans: &[SwitchedOut]) {
        if !self.follows_waits {
            return;
        }
        self.past.threads.entry(key).or_default().spans.push(spans);
    }

    /// Intervals left out since the last call.
    pub fn discarded(&mut self) -> std::vec::Drain<'_, Reason> {
        self.discarded.drain(..)
    }

    /// Of the intervals that lost records, how long they took.
    pub fn lost(&self) -> &LostByPlan {
        &self.lost
    }

    /// Of the intervals since the last call that had more calls than there is room for, which calls those were.
    pub fn crowded(&mut self) -> Crowded {
        std::mem::take(&mut self.crowded)
    }

    /// The records have ended. An interval with a key that is open now, and that was open when records were lost, may
    /// have ended in the lost ones. It is left out instead of being taken for unfinished.
    pub fn ended(&mut self) {
        let lost = self.past.keyed.give_up_before(self.lost_at);
        self.discarded
            .extend(std::iter::repeat_n(Reason::RecordsLost, lost));
    }

    /// Intervals that have begun and not ended.
    pub fn in_flight(&self) -> usize {
        let threads = self.past.threads.values();
        let open = threads.filter(|thread| thread.reader.open_since().is_some());
        let is_begin = |event: &&Pending| matches!(event.happened, Happened::Begin(..));
        let begun = self.events.iter().filter(is_begin);
        open.count() + self.past.keyed.open() + begun.count()
    }

    /// Calls, marks and releases that were dropped to stay within the bounds.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Calls and marks kept.
    pub fn kept(&self) -> usize {
        let threads = self.past.threads.values();
        threads.map(|thread| thread.reader.timeline.kept()).sum()
    }

    /// All rings have been read once more. Returns the intervals that can now be walked, in order of their ends; call
    /// [`Assembler::forget`] when they have been.
    pub fn pass_ended(&mut self) -> Vec<Finished> {
        let frontier = std::mem::replace(&mut self.frontier, self.newest);
        self.settled = frontier;
        let is_ready = |event: &Pending| event.time <= frontier;
        let (mut ready, waiting): (Vec<_>, Vec<_>) = self.events.drain(..).partition(is_ready);
        self.events = waiting;
        ready.sort_by_key(|event| event.time);
        let events = ready.into_iter();
        events.filter_map(|event| self.happen(event)).collect()
    }

    fn happen(&mut self, event: Pending) -> Option<Finished> {
        match event.happened {
            Happened::Begin(key, instance) => {
                if self.past.keyed.begin(key, instance) {
                    self.discarded.push(Reason::LeftEarly);
                }
                None
            }
            Happened::Classify(key, class) => {
                self.past.keyed.classify(key, class);
                None
            }
            Happened::Detail(key, value) => {
                if let Some(class) = self.past.keyed.class_of(key) {
                    let class = self.classes.detailed(usize::from(class), value);
                    self.past.keyed.classify(key, class as u16);
                }
                None
            }
            Happened::Trace(key, trace) => {
                self.past.keyed.set_trace(key, trace);
                None
            }
            Happened::Attribute(key, attribute, value) => {
                self.past.keyed.set_attribute(key, attribute, value);
                None
            }
            Happened::End(key, generation, ending) => {
                let instance = self.past.keyed.end(key, event.time)?;
                let attributes = self.past.keyed.take_attributes(key);
                if instance.generation != generation {
                    self.discarded.push(Reason::PlanChanged);
                    return None;
                }
                Some(Finished {
                    subject: Extent {
                        begin: instance.begin,
                        end: event.time,
                        serving: Serving::Keyed(key),
                        begin_mark: None,
                        thread: ending.thread,
                        mark: ending.mark,
                    },
                    generation,
                    probed: instance.probed,
                    weight: 1,
                    class: instance.class,
                    attributes,
                    trace: instance.trace,
                })
            }
            Happened::Ended(finished) => Some(finished),
        }
    }

    /// Forgets, now and then, what no interval can lead to any more.
    pub fn forget(&mut self) {
        let horizon = self.horizon();
        self.forget_at = self.forget_at.max(KEPT_MIN);
        self.dropped += self.past.wakes.forget_before(horizon);
        self.dropped += self.past.enqueued.forget_before(horizon);
        let given_up = self.past.keyed.forget_before(horizon);
        let given_up = usize::try_from(given_up).unwrap_or(0);
        self.discarded
            .extend(std::iter::repeat_n(Reason::NeverEnded, given_up));
        if self.kept() <= self.forget_at {
            return;
        }
        for thread in self.past.threads.values_mut() {
            thread.reader.timeline.forget_before(horizon);
            thread.spans.forget_before(horizon);
        }
        let is_needed = |thread: &Thread| !thread.has_ended || thread.reader.timeline.kept() > 0;
        self.past.threads.retain(|_, thread| is_needed(thread));
        if self.kept() > KEPT_MAX {
            let share = KEPT_MAX / 2 / self.past.threads.len().max(1);
            for thread in self.past.threads.values_mut() {
                let dropped = thread.reader.timeline.bound(share, share / 4);
                self.dropped += dropped.calls + dropped.marks;
            }
        }
        self.forget_at = (2 * self.kept()).clamp(KEPT_MIN, KEPT_MAX);
    }

    /// The moment before which nothing is looked at any more.
    fn horizon(&self) -> u64 {
        let threads = self.past.threads.values();
        let open = threads.filter_map(|thread| thread.reader.open_since());
        let waiting = self.events.iter().map(|event| match &event.happened {
            Happened::Ended(finished) => finished.subject.begin,
            _ => event.time,
        });
        let keyed = self.past.keyed.earliest_open();
        let earliest = open.chain(waiting).chain(keyed).min();
        earliest.map_or(self.settled, |earliest| earliest.min(self.settled))
    }
}
