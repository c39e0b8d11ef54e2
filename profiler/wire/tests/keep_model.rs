//! Model-checks the protocol by which intervals give their ring space back, against the consumer; `ring_model` checks
//! the rest. It models `RingHeader::open`, `take_back`, `publish`, `give_back` and `readable`. Positions count
//! records, and nothing fills the ring.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::thread;

const CAPACITY: usize = 32;
const CLAIMED: u64 = 1 << 32;
const CLAIMED_FROM: u64 = 3;
/// The newest records of a claimed interval are not read: here the one that may be half written.
const NEWEST: u64 = 1;

/// The draw for an interval, if nobody claims it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Drawn {
    All,
    Kept,
    NotKept,
}

/// A record is `serial << 8 | kind`.
const BEGIN: u64 = 1;
const CALL: u64 = 2;
/// Plus the interval's weight.
const END: u64 = 3;

struct Ring {
    position: AtomicU64,
    published: AtomicU64,
    open: AtomicU64,
    slots: [AtomicU64; CAPACITY],
}

impl Ring {
    fn new() -> Ring {
        Ring {
            position: AtomicU64::new(1),
            published: AtomicU64::new(1),
            open: AtomicU64::new(0),
            slots: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    fn put(&self, record: u64) {
        let position = self.position.load(Relaxed);
        self.position.store(position + 1, Release);
        self.slots[position as usize].store(record, Release);
    }

    fn interval(&self, serial: u64, calls: u64, drawn: Drawn) {
        let begin = self.position.load(Relaxed);
        self.published.store(begin, Release);
        self.open.store(begin, Release);
        self.put(serial << 8 | BEGIN);
        (0..calls).for_each(|_| self.put(serial << 8 | CALL));
        let is_mine = drawn != Drawn::All
            && self
                .open
                .compare_exchange(begin, 0, AcqRel, Relaxed)
                .is_ok();
        if is_mine && drawn == Drawn::NotKept {
            self.position.store(begin, Release);
            return;
        }
        let weight = if is_mine { 2 } else { 1 };
        self.put(serial << 8 | (END + weight));
        self.published.store(self.position.load(Relaxed), Release);
        self.open.store(0, Release);
    }

    fn readable(&self) -> u64 {
        let open = self.open.load(Acquire);
        let begin = open & !CLAIMED;
        if open == 0 {
            return self.published.load(Acquire);
        }
        let written = self.position.load(Acquire).saturating_sub(begin);
        let mine = begin | CLAIMED;
        if open != mine {
            let claims = || self.open.compare_exchange(open, mine, AcqRel, Relaxed);
            if written <= CLAIMED_FROM || claims().is_err() {
                return self.published.load(Acquire);
            }
        }
        let position = self.position.load(Acquire);
        let published = self.published.load(Acquire);
        if self.open.load(Acquire) == mine {
            published.max(position.saturating_sub(NEWEST))
        } else {
            published
        }
    }
}

#[derive(Default)]
struct Reader {
    position: u64,
    records: Vec<u64>,
}

impl Reader {
    fn pass(&mut self, ring: &Ring) {
        let end = ring.readable();
        while self.position < end {
            let record = ring.slots[self.position as usize].load(Acquire);
            self.records.push(record);
            self.position += 1;
        }
    }
}

/// Each interval that was read is whole, in order, and has the right weight; each that should be read was read.
fn check(records: &[u64], intervals: &[(u64, Drawn)]) {
    let mut rest = records;
    for (serial, &(calls, drawn)) in (1..).zip(intervals) {
        let begins = rest.first() == Some(&(serial << 8 | BEGIN));
        assert!(begins || drawn == Drawn::NotKept, "{serial} in {records:?}");
        if !begins {
            continue;
        }
        let (own, after) = rest.split_at(calls as usize + 2);
        let is_call = |&record: &u64| record == serial << 8 | CALL;
        assert!(own[1..own.len() - 1].iter().all(is_call), "{records:?}");
        let weight = own[own.len() - 1] - (serial << 8 | END);
        // Certain to be kept: drawn so, or claimed.
        assert!(
            weight == 1 || (weight == 2 && drawn == Drawn::Kept),
            "{records:?}"
        );
        rest = after;
    }
    assert_eq!(rest, [] as [u64; 0], "{records:?}");
}

fn explore(intervals: &'static [(u64, Drawn)]) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let ring = Arc::new(Ring::new());
        let writes = ring.clone();
        let producer = thread::spawn(move || {
            for (serial, &(calls, drawn)) in (1..).zip(intervals) {
                writes.interval(serial, calls, drawn);
            }
        });
        let mut reader = Reader {
            position: 1,
            ..Reader::default()
        };
        (0..2).for_each(|_| reader.pass(&ring));
        producer.join().unwrap();
        reader.pass(&ring);
        check(&reader.records, intervals);
    });
}

#[test]
fn what_is_given_back_is_not_read() {
    explore(&[
        (1, Drawn::NotKept),
        (0, Drawn::Kept),
        (1, Drawn::NotKept),
        (0, Drawn::All),
    ]);
}

#[test]
fn a_large_interval_is_read_before_its_end_and_kept() {
    explore(&[(1, Drawn::NotKept), (4, Drawn::NotKept), (0, Drawn::Kept)]);
    explore(&[(4, Drawn::Kept), (1, Drawn::NotKept)]);
}
