//! The protocol of a ring, model-checked: every interleaving of a producer, its successor and the consumer, under the
//! C11 memory model. The model is the protocol of `ring` with a capacity of four records, two of them above the limit;
//! positions count records. It writes orders as x86-64 keeps them: every load acquires and every store releases, except
//! that a record's first word has nothing but its place before the second.

use std::collections::VecDeque;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use loom::thread;

const CAPACITY: u64 = 4;
const SLACK: u64 = 2;

const FREE: u32 = 0;
const LIVE: u32 = 1;
const DEAD: u32 = 2;

/// Kinds of records; a record is `serial << 3 | kind`.
const CALL: u64 = 0;
const BEGIN: u64 = 1;
const GAP: u64 = 2;
const END: u64 = 3;

struct Ring {
    position: AtomicU64,
    dropped: AtomicU64,
    missed: AtomicU64,
    limit: AtomicU64,
    state: AtomicU32,
    slots: [[AtomicU64; 2]; CAPACITY as usize],
}

fn lap_bit(position: u64) -> u64 {
    (position / CAPACITY) & 1
}

impl Ring {
    fn new() -> Ring {
        Ring {
            position: AtomicU64::new(CAPACITY),
            dropped: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            limit: AtomicU64::new(2 * CAPACITY - SLACK),
            state: AtomicU32::new(FREE),
            slots: std::array::from_fn(|_| [AtomicU64::new(0), AtomicU64::new(0)]),
        }
    }

    fn put(&self, record: u64) {
        let position = self.position.load(Relaxed);
        self.position.store(position + 1, Release);
        let [start, word] = &self.slots[(position % CAPACITY) as usize];
        start.store(record, Relaxed);
        word.store(record << 1 | lap_bit(position), Release);
    }

    /// A record is written if it ends at most `beyond` above the limit.
    fn write(&self, record: u64, beyond: u64) -> bool {
        let room = self.position.load(Relaxed) < self.limit.load(Acquire) + beyond;
        if room {
            self.put(record);
        } else {
            self.dropped.store(self.dropped.load(Relaxed) + 1, Release);
        }
        room
    }

    /// One interval with `calls` calls.
    fn interval(&self, serial: u64, calls: u64) {
        if self.position.load(Relaxed) >= self.limit.load(Acquire) {
            self.missed.store(self.missed.load(Relaxed) + 1, Release);
            return;
        }
        let dropped = self.dropped.load(Relaxed);
        self.put(serial << 3 | BEGIN);
        (0..calls).for_each(|_| {
            self.write(serial << 3 | CALL, 0);
        });
        if self.dropped.load(Relaxed) == dropped || self.write(serial << 3 | GAP, SLACK) {
            self.write(serial << 3 | END, SLACK);
        }
    }
}

/// The session's side.
struct Reader {
    ring: Arc<Ring>,
    position: u64,
    records: VecDeque<u64>,
}

impl Reader {
    fn pass(&mut self) {
        let state = self.ring.state.load(Acquire);
        if state == FREE {
            return;
        }
        let end = self.ring.position.load(Acquire);
        while self.position < end {
            let [start, word] = &self.ring.slots[(self.position % CAPACITY) as usize];
            let word = word.load(Acquire);
            if word & 1 != lap_bit(self.position) {
                break;
            }
            assert_eq!(start.load(Relaxed), word >> 1, "torn");
            self.records.push_back(word >> 1);
            self.position += 1;
        }
        self.ring
            .limit
            .store(self.position + CAPACITY - SLACK, Release);
        if state == DEAD {
            assert_eq!(
                self.position,
                self.ring.position.load(Acquire),
                "a dead ring is complete"
            );
            self.ring.state.store(FREE, Release);
        }
    }
}

fn produce(ring: &Ring, serials: std::ops::Range<u64>, calls: u64) -> u64 {
    if ring
        .state
        .compare_exchange(FREE, LIVE, AcqRel, Relaxed)
        .is_err()
    {
        return 0;
    }
    let count = serials.end - serials.start;
    serials.for_each(|serial| ring.interval(serial, calls));
    ring.state.store(DEAD, Release);
    count
}

/// Every interval that has its end and no gap has all its calls; everything else is counted.
fn check(reader: &Reader, produced: u64, calls: u64) {
    let records: Vec<u64> = reader.records.iter().copied().collect();
    let begun = records.iter().filter(|&record| record & 7 == BEGIN).count() as u64;
    assert_eq!(begun + reader.ring.missed.load(Relaxed), produced);
    let mut lost = 0;
    for &record in records.iter().filter(|&record| record & 7 == BEGIN) {
        let count = |kind| {
            records
                .iter()
                .filter(|&&other| other == record & !7 | kind)
                .count() as u64
        };
        lost += calls - count(CALL);
        let complete = count(END) == 1 && count(GAP) == 0;
        assert!(!complete || count(CALL) == calls, "{records:?}");
    }
    let dropped = reader.ring.dropped.load(Relaxed);
    assert!(dropped >= lost, "{dropped} of {lost} were counted");
    assert!(
        records.is_sorted_by_key(|record| record >> 3),
        "{records:?}"
    );
}

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

#[test]
fn nothing_is_torn_and_losses_are_counted() {
    explore(|| {
        let ring = Arc::new(Ring::new());
        let producer = ring.clone();
        let producer = thread::spawn(move || produce(&producer, 1..4, 2));
        let mut reader = Reader {
            ring: ring.clone(),
            position: CAPACITY,
            records: VecDeque::new(),
        };
        (0..2).for_each(|_| reader.pass());
        let produced = producer.join().unwrap();
        reader.pass();
        check(&reader, produced, 2);
    });
}

#[test]
fn a_ring_goes_from_thread_to_thread() {
    explore(|| {
        let ring = Arc::new(Ring::new());
        let threads = [1..2, 2..3].map(|serials| {
            let ring = ring.clone();
            thread::spawn(move || produce(&ring, serials, 1))
        });
        let mut reader = Reader {
            ring: ring.clone(),
            position: CAPACITY,
            records: VecDeque::new(),
        };
        reader.pass();
        let produced = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum();
        reader.pass();
        let mut sorted: Vec<u64> = reader.records.drain(..).collect();
        sorted.sort_by_key(|record| record >> 3); // either may have been first
        reader.records = sorted.into();
        check(&reader, produced, 1);
    });
}
