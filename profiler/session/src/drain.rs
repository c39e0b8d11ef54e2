//! Records out of the rings: the consumer's side of `wire::ring`.

use std::sync::atomic::{AtomicU64, Ordering::*};

use evenkeel_attach::namespace;
use evenkeel_wire::ring::{RING_BYTES, RING_SLACK_BYTES, lap_bit};
use evenkeel_wire::{LATENCY_CLASSES, Record, RingHeader, RingState};

use crate::arena::Arena;
use crate::keys::Keys;

/// Where the reader of each ring stands.
#[derive(Debug, Default)]
pub struct Drain {
    rings: Vec<Reader>,
    keys: Keys,
    batch: Vec<Record>,
    /// Records dropped in all.
    pub dropped: u64,
    /// Intervals that never began because a ring was full, in all.
    pub missed: u64,
    /// Intervals counted and not recorded, in all.
    pub skipped: u64,
    /// Intervals that never began because the plan was being changed, in all.
    pub unplanned: u64,
    /// Records read in all.
    pub read: u64,
    /// Records of intervals that were not kept, in all.
    pub given_back: u64,
    /// Waiting bytes in the fullest ring of the last drain.
    pub fullest_bytes: u64,
}

#[derive(Clone, Debug)]
struct Reader {
    position: u64,
    dropped: u64,
    skipped: u64,
    given_back_bytes: u64,
    /// Latencies of intervals that were not recorded, by class, as far as they were passed on; empty where there were
    /// none.
    unrecorded: Vec<u64>,
    /// Number of such intervals.
    unrecorded_intervals: u64,
    /// Tells the ring's successive owners apart.
    key: u64,
    tid: u32,
    live: bool,
}

/// Receiver of a drain's records.
pub trait Sink {
    /// A thread, of this process and this number, begins to send under this key.
    fn began(&mut self, thread: u64, pid: u32, tid: u32);
    /// The next records of a thread, lap bits cleared.
    fn records(&mut self, thread: u64, records: &[Record]);
    /// Intervals that ended and were not recorded: how many of each class of latency
    /// ([`evenkeel_wire::latency_class`]), and the largest latency of their thread so far, ticks.
    fn unrecorded(&mut self, by_class: &[(usize, u64)], max_ticks: u64);
    /// A thread will send nothing more.
    fn ended(&mut self, thread: u64);
}

impl Drain {
    /// Passes on everything that is complete, and frees the rings of threads that are gone. `check_alive`: also ask the
    /// system whether the threads still exist, which finds those that were killed. Returns the number of free rings.
    pub fn run(&mut self, arena: &Arena, sink: &mut impl Sink, check_alive: bool) -> usize {
        let count = arena.control().rings.load(Relaxed) as usize;
        let fresh = Reader {
            position: RING_BYTES as u64,
            dropped: 0,
            skipped: 0,
            given_back_bytes: 0,
            unrecorded: Vec::new(),
            unrecorded_intervals: 0,
            key: 0,
            tid: 0,
            live: false,
        };
        self.rings.resize(count, fresh);
        let mut unused = 0;
        self.fullest_bytes = 0;
        for index in 0..count {
            let state = arena.ring(index).state.load(Acquire);
            unused += usize::from(state == RingState::Free as u32);
            if state != RingState::Live as u32 && state != RingState::Dead as u32 {
                continue;
            }
            let gone = state == RingState::Dead as u32 || (check_alive && !alive(arena, index));
            let ours = gone && claim(arena, index, state);
            self.ring(arena, index, ours, sink);
            if check_alive || ours {
                self.rings[index].pass_unrecorded(arena.ring(index), sink);
            }
            if ours {
                self.free(arena, index, sink);
                unused += 1;
            }
        }
        unused
    }

    /// The key of the thread of this number that is alive, or was lately: what the kernel reports of its last moments
    /// comes later.
    pub fn key_of(&self, tid: u32) -> Option<u64> {
        self.keys.of(tid)
    }

    /// Reads a ring. One whose thread is gone has no open interval: all that it holds is settled.
    fn ring(&mut self, arena: &Arena, index: usize, is_gone: bool, sink: &mut impl Sink) {
        let header = arena.ring(index);
        let reader = &mut self.rings[index];
        if !reader.live {
            reader.live = true;
            reader.key += 1;
        }
        let key = (index as u64) << 32 | reader.key & 0xffff_ffff;
        let tid = header.tid.load(Relaxed);
        if reader.tid != tid {
            // It may have gone on with the ring of one that ended.
            let before = std::mem::replace(&mut reader.tid, tid);
            if before != 0 {
                self.keys.ended(before, key);
            }
            self.keys.began(tid, key);
            sink.began(key, header.pid.load(Relaxed), tid);
        }
        let dropped = header.dropped.load(Relaxed);
        self.dropped += dropped - reader.dropped;
        reader.dropped = dropped;
        self.missed += header.missed.swap(0, Relaxed);
        let skipped = header.skipped.load(Relaxed);
        self.skipped += skipped - reader.skipped;
        reader.skipped = skipped;
        self.unplanned += header.unplanned.swap(0, Relaxed);
        let given_back = header.given_back.load(Relaxed);
        self.given_back += (given_back - reader.given_back_bytes) / size_of::<Record>() as u64;
        reader.given_back_bytes = given_back;
        let end = match is_gone {
            true => header.position.load(Acquire),
            false => readable(arena, header),
        };
        // What an open interval has written fills the ring, too.
        let written = header.position.load(Acquire).max(end);
        let waiting = written.saturating_sub(reader.position);
        self.fullest_bytes = self.fullest_bytes.max(waiting);
        self.batch.clear();
        while reader.position < end {
            // SAFETY: inside the ring; the target's thread writes the word last.
            let record = unsafe {
                let slot = arena
                    .records(index)
                    .add(reader.position as usize % RING_BYTES / 8);
                let word = (*slot.add(1).cast::<AtomicU64>()).load(Acquire);
                if word & 1 != lap_bit(reader.position) {
                    break; // reserved, not yet written
                }
                Record {
                    start: slot.read_volatile(),
                    word: word & !1,
                }
            };
            self.batch.push(record);
            reader.position += 16;
        }
        let limit = reader.position + (RING_BYTES - RING_SLACK_BYTES) as u64;
        header.limit.store(limit, Release);
        self.read += self.batch.len() as u64;
        if !self.batch.is_empty() {
            sink.records(key, &self.batch);
        }
    }

    /// Hands a ring whose thread is gone to the next one.
    fn free(&mut self, arena: &Arena, index: usize, sink: &mut impl Sink) {
        let header = arena.ring(index);
        let reader = &mut self.rings[index];
        let key = (index as u64) << 32 | reader.key & 0xffff_ffff;
        sink.ended(key);
        reader.live = false;
        self.keys.ended(std::mem::take(&mut reader.tid), key);
        let settled = readable(arena, header).max(reader.position);
        if settled == reader.position {
            // Of an interval that has no end nothing is left.
            header.position.store(settled, Relaxed);
        } else {
            // A thread that was killed reserved a slot and did not write it. The next one starts at the beginning of a
            // lap whose parity no slot has.
            let position = header.position.load(Acquire).max(settled);
            let start = position.next_multiple_of(RING_BYTES as u64);
            reader.position = start;
            self.wipe(arena, index, start);
            header.position.store(start, Relaxed);
            header
                .limit
                .store(start + (RING_BYTES - RING_SLACK_BYTES) as u64, Relaxed);
        }
        header.publish();
        header.state.store(RingState::Free as u32, Release);
    }

    /// Gives every slot the parity of the lap before the one that begins at `start`.
    fn wipe(&self, arena: &Arena, index: usize, start: u64) {
        let old = lap_bit(start - RING_BYTES as u64);
        for slot in 0..RING_BYTES / 16 {
            // SAFETY: inside the ring, whose thread is gone.
            unsafe {
                let word = arena.records(index).add(2 * slot + 1).cast_mut();
                word.write_volatile(word.read_volatile() & !1 | old);
            }
        }
    }
}

/// Up to where a ring may be read: where waits are followed, all that is written counts at once.
fn readable(arena: &Arena, header: &RingHeader) -> u64 {
    match arena.control().waits.load(Relaxed) {
        0 => header.readable(),
        _ => header.position.load(Acquire),
    }
}

impl Reader {
    /// Passes on what the thread has counted since.
    fn pass_unrecorded(&mut self, header: &RingHeader, sink: &mut impl Sink) {
        let counts = &header.unrecorded;
        let intervals = counts.intervals.load(Acquire);
        if intervals == self.unrecorded_intervals {
            return;
        }
        self.unrecorded_intervals = intervals;
        self.unrecorded.resize(LATENCY_CLASSES, 0);
        let mut grown = Vec::new();
        for (class, (known, count)) in self.unrecorded.iter_mut().zip(&counts.by_class).enumerate()
        {
            let count = count.load(Relaxed);
            let before = std::mem::replace(known, count);
            if count > before {
                grown.push((class, count - before));
            }
        }
        sink.unrecorded(&grown, counts.max_ticks.load(Relaxed));
    }
}

/// Takes a ring from a thread that is gone. False if a new thread was faster: it may go on with a dead one's ring.
fn claim(arena: &Arena, index: usize, state: u32) -> bool {
    let header = arena.ring(index);
    let claimed = RingState::Claimed as u32;
    if header
        .state
        .compare_exchange(state, claimed, AcqRel, Relaxed)
        .is_err()
    {
        return false;
    }
    if state == RingState::Live as u32 && alive(arena, index) {
        // The ring changed hands between the check and the claim. A new owner that has ended in between has marked
        // it.
        let _ = header
            .state
            .compare_exchange(claimed, state, AcqRel, Relaxed);
        return false;
    }
    true
}

/// Whether the ring's thread still exists.
fn alive(arena: &Arena, index: usize) -> bool {
    let header = arena.ring(index);
    let (pid, tid) = (header.pid.load(Relaxed), header.tid.load(Relaxed));
    // Not by signals: a process of another user would answer with an error as if it did not exist.
    namespace::file(pid as i32, &format!("task/{tid}")).exists()
}
