//! Critical paths across threads, tasks and processes (`variance.md` sections 1, 2 and 6; dissertation 2.3.1 to 2.3.3).
//!
//! With edges on ([`crate::Analysis::follow_edges`]), each thread's recent past is kept ([`reader`] makes its [`timeline`]), with
//! the releases ([`wakes`]), intervals that move between threads ([`keyed`]) and what the kernel knows ([`spans`]). When an
//! interval has ended, a [`walk`] of [`strand`]s makes its vector, and on the way notes its [`path`]: the waits of the whole run
//! ([`who`]) and some intervals piece by piece ([`kept`], drawn from [`crate::profile::Timeline`]).
//!
//! # What the caller does
//! ```text
//! analysis.follow_edges()                     before the first record; the recording must say so, too
//! loop   analysis.push(thread, records) ..    each thread's ring in turn: one pass
//!        analysis.switched_out(thread, ..)    what the kernel told meanwhile, if it may be asked: when threads did not run,
//!                                             why, and who woke them, for waits that no thread of the target says it ended
//!        analysis.pass_ended()                in a recording: a mark, so that a replay does the same
//! end    analysis.ended()                      what was still waiting for its pass, and who may have ended unseen
//! ```
//! A waker writes its record before the waiter runs on, but rings are read one after the other: the waiter's record may be
//! read a pass before the waker's. So an interval is dealt with at the end of the first pass that began after its end was read;
//! everything earlier than its end has been read by then. All of that happens in order of time, so the same passes
//! give the same results.
//!
//! **Keys of threads** must be unique in the whole run, ended threads included: others' waits still lead to them.
//!
//! # Bounds
//! A thread keeps at most [`timeline::CALLS_MAX`] calls and [`timeline::MARKS_MAX`] marks, all threads together
//! [`KEPT_MAX`] (a quarter of a gigabyte); what is older than every interval that is open or waiting goes anyway. A path that
//! leads to where something was dropped has a node "not seen" there; closure is exact all the same.
//!
//! # Idle by design, and blocked
//! [`crate::doing`] has the rule by which time is one or the other.

pub mod kept;
pub mod keyed;
pub mod path;
pub mod reader;
pub mod serials;
pub mod spans;
pub mod strand;
pub mod timeline;
pub mod wakes;
pub mod walk;
pub mod who;

use evenkeel_wire::Record;
use rustc_hash::FxHashMap;

use crate::attributes::{AttributeTable, Told};
use crate::classes::ClassTable;
use crate::intervals::Reason;
use keyed::KeyedIntervals;
use reader::{Event, Happened, Inbox, Reader};
use serials::Serials;
use spans::{Spans, SwitchedOut};
use timeline::{CALLS_MAX, MARKS_MAX, Serving};
use wakes::ReleaseIndex;
use walk::Subject;

/// Calls and marks kept of all threads together, at most.
pub const KEPT_MAX: usize = 1 << 23;
/// Calls and marks of all threads below which it is not worth looking for what may be forgotten.
const KEPT_MIN: usize = 1 << 14;

/// One thread.
#[derive(Debug, Default)]
pub struct Thread {
    /// Its records.
    pub reader: Reader,
    /// What the kernel says about it.
    pub spans: Spans,
    has_ended: bool,
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
}

/// An interval that is ready to be walked.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Where it lies.
    pub subject: Subject,
    /// Generation of the plan under which it began.
    pub generation: u32,
    /// Whether its probes were on.
    pub probed: bool,
    /// Its class.
    pub class: u16,
    /// What was told of it.
    pub attributes: Told,
}

/// Everything between records and walks.
#[derive(Debug, Default)]
pub struct Critical {
    /// What walks look at.
    pub past: Past,
    /// Names of attributes.
    pub attributes: AttributeTable,
    events: Vec<Event>,
    discarded: Vec<Reason>,
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

impl Critical {
    /// Takes the next records of a thread.
    pub fn push(&mut self, key: u64, records: &[Record], classes: &mut ClassTable) {
        let Critical {
            past,
            attributes,
            events,
            discarded,
            ..
        } = self;
        let thread = past.threads.entry(key).or_default();
        let known = events.len();
        let mut inbox = Inbox {
            wakes: &mut past.wakes,
            enqueued: &mut past.enqueued,
            keyed: &mut past.keyed,
            events,
            serials: &mut past.serials,
            classes,
            attributes,
            discarded,
        };
        thread.reader.push(key, records, &mut inbox);
        self.lost_at = self.lost_at.max(thread.reader.lost_at());
        let timeline = &mut thread.reader.timeline;
        let news = events[known..].iter().map(|event| event.time);
        self.newest = news.chain([timeline.latest()]).fold(self.newest, u64::max);
        let dropped = timeline.bound(CALLS_MAX, MARKS_MAX);
        self.dropped += dropped.calls + dropped.marks;
    }

    /// A thread sends nothing more.
    pub fn thread_ended(&mut self, key: u64, classes: &mut ClassTable) {
        let Some(thread) = self.past.threads.get_mut(&key) else {
            return;
        };
        let mut inbox = Inbox {
            wakes: &mut self.past.wakes,
            enqueued: &mut self.past.enqueued,
            keyed: &mut self.past.keyed,
            events: &mut self.events,
            serials: &mut self.past.serials,
            classes,
            attributes: &mut self.attributes,
            discarded: &mut self.discarded,
        };
        thread.reader.end(key, &mut inbox);
        thread.has_ended = true;
    }

    /// Takes what the kernel says about a thread, in order of time.
    pub fn switched_out(&mut self, key: u64, spans: &[SwitchedOut]) {
        self.past.threads.entry(key).or_default().spans.push(spans);
    }

    /// Intervals left out since the last call.
    pub fn discarded(&mut self) -> std::vec::Drain<'_, Reason> {
        self.discarded.drain(..)
    }

    /// There is nothing more to come: of the intervals with keys that are open now, those that were when records were lost may
    /// have ended in what was lost, so they are left out instead of being taken for unfinished.
    pub fn ended(&mut self) {
        let lost = self.past.keyed.give_up_before(self.lost_at);
        self.discarded
            .extend(std::iter::repeat_n(Reason::RecordsLost, lost));
    }

    /// Intervals that have begun and not ended.
    pub fn in_flight(&self) -> usize {
        let threads = self.past.threads.values();
        let open = threads.filter(|thread| thread.reader.open_since().is_some());
        open.count() + self.past.keyed.open()
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
    /// [`Critical::forget`] when they have been.
    pub fn pass_ended(&mut self) -> Vec<Finished> {
        let frontier = std::mem::replace(&mut self.frontier, self.newest);
        self.settled = frontier;
        let is_ready = |event: &Event| event.time <= frontier;
        let (mut ready, waiting): (Vec<_>, Vec<_>) = self.events.drain(..).partition(is_ready);
        self.events = waiting;
        ready.sort_by_key(|event| event.time);
        let events = ready.into_iter();
        events.filter_map(|event| self.happen(event)).collect()
    }

    fn happen(&mut self, event: Event) -> Option<Finished> {
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
            Happened::Attribute(key, attribute, value) => {
                self.past.keyed.tell(key, attribute, value);
                None
            }
            Happened::End(key, generation, ending) => {
                let instance = self.past.keyed.end(key, event.time)?;
                let attributes = self.past.keyed.take_told(key);
                if instance.generation != generation {
                    self.discarded.push(Reason::PlanChanged);
                    return None;
                }
                Some(Finished {
                    subject: Subject {
                        begin: instance.begin,
                        end: event.time,
                        serving: Serving::Keyed(key),
                        begin_mark: None,
                        thread: ending.thread,
                        mark: ending.mark,
                    },
                    generation,
                    probed: instance.probed,
                    class: instance.class,
                    attributes,
                })
            }
            Happened::Ended(home, ending) => Some(Finished {
                subject: Subject {
                    begin: home.begin,
                    end: event.time,
                    serving: Serving::Interval(home.serial),
                    begin_mark: Some(home.begin_mark),
                    thread: ending.thread,
                    mark: ending.mark,
                },
                generation: home.generation,
                probed: home.probed,
                class: self.past.serials.class_of(home.serial),
                attributes: Told::new(),
            }),
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
        let waiting = self.events.iter().map(|event| match event.happened {
            Happened::Ended(home, _) => home.begin,
            _ => event.time,
        });
        let keyed = self.past.keyed.earliest_open();
        let earliest = open.chain(waiting).chain(keyed).min();
        earliest.map_or(self.settled, |earliest| earliest.min(self.settled))
    }
}
