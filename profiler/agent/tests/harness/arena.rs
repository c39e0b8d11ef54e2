//! The session's side of the shared memory.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::Ordering::*;

use evenkeel_wire as wire;
use wire::ring::{RECORDS_AT, RING_BYTES, RING_SLACK_BYTES, lap_bit};
use wire::{
    Control, KeepRate, Mode, ModuleState, ModuleTable, Record, RingHeader, RingState, Waiters,
};

use super::Unrecorded;
use super::events::{Stream, decode};
use super::plan::Hooks;

/// Threads of one run.
const RINGS: usize = 512;

pub struct Arena {
    file: File,
    pub base: *mut u8,
}

impl Arena {
    pub fn create(waits: bool) -> Arena {
        // SAFETY: a fresh file and a fresh mapping of it.
        let (file, base) = unsafe {
            let fd = libc::memfd_create(c"evenkeel-test".as_ptr(), 0);
            assert!(fd >= 0);
            let file = File::from_raw_fd(fd);
            file.set_len(wire::ARENA_BYTES as u64).unwrap();
            let base = libc::mmap(
                std::ptr::null_mut(),
                wire::ARENA_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                fd,
                0,
            );
            assert_ne!(base, libc::MAP_FAILED);
            (file, base.cast::<u8>())
        };
        let arena = Arena { file, base };
        let control = arena.control();
        control.version.store(wire::VERSION, Relaxed);
        control
            .session_pid
            .store(std::process::id() as i32, Relaxed);
        control.mode.store(Mode::Record as u32, Relaxed);
        control.lease_ticks.store(u64::MAX, Relaxed);
        control.waits.store(waits.into(), Relaxed);
        for index in 0..RINGS {
            let ring = arena.ring(index);
            ring.position.store(RING_BYTES as u64, Relaxed);
            let limit = 2 * RING_BYTES - RING_SLACK_BYTES;
            ring.limit.store(limit as u64, Relaxed);
            ring.state.store(RingState::Free as u32, Relaxed);
        }
        control.rings.store(RINGS as u32, Relaxed);
        control.magic.store(wire::MAGIC, Release);
        arena
    }

    pub fn variable(&self) -> String {
        let inode = self.file.metadata().unwrap().ino();
        format!("{}:{}:{inode}", self.file.as_raw_fd(), std::process::id())
    }

    pub fn control(&self) -> &Control {
        // SAFETY: the layout of `wire`.
        unsafe { &*self.base.add(wire::CONTROL_AT).cast() }
    }

    fn ring(&self, index: usize) -> &RingHeader {
        // SAFETY: inside the mapping.
        unsafe {
            &*self
                .base
                .add(wire::RINGS_AT + index * wire::RING_STRIDE)
                .cast()
        }
    }

    /// Answers processes that wait for a verdict: the program is wanted, nothing else.
    pub fn judge(&self, program: &Path, hooks: &Hooks<'_>) {
        self.judge_by(|path, index| {
            if path != program {
                return ModuleState::Ignored;
            }
            hooks.plan(self, program, index);
            ModuleState::Wanted
        });
    }

    /// Answers processes that wait for a verdict on the file at a path, whose module has this index.
    pub fn judge_by(&self, mut verdict: impl FnMut(&Path, u32) -> ModuleState) {
        // SAFETY: the layout of `wire`.
        let table =
            unsafe { ModuleTable::new(self.control(), self.base.add(wire::MODULES_AT).cast()) };
        for (index, module) in table.modules().iter().enumerate() {
            if module.state.load(Acquire) != ModuleState::Announced as u32 {
                continue;
            }
            let path = Path::new(OsStr::from_bytes(module.path()));
            let verdict = verdict(path, index as u32);
            module.state.store(verdict as u32, Release);
        }
    }

    /// Empties the rings of threads that have ended, for others.
    pub fn recycle(&self) {
        for ring in (0..RINGS).map(|index| self.ring(index)) {
            let (dead, claimed) = (RingState::Dead as u32, RingState::Claimed as u32);
            if ring
                .state
                .compare_exchange(dead, claimed, AcqRel, Relaxed)
                .is_ok()
            {
                ring.position.store(RING_BYTES as u64, Relaxed);
                ring.state.store(RingState::Free as u32, Release);
            }
        }
    }

    /// Slots in which somebody waits.
    pub fn announced(&self) -> usize {
        // SAFETY: the layout of `wire`.
        let slots = unsafe {
            let first = self.base.add(wire::WAITERS_AT).cast::<Waiters>();
            std::slice::from_raw_parts(first, wire::WAITERS_LEN)
        };
        slots.iter().filter(|slot| slot.any()).count()
    }

    /// Whether sampling skips every interval.
    pub fn skip(&self, all: bool) {
        let skipped_65536 = if all { 1 << 16 } else { 0 };
        self.control().skip_65536.store(skipped_65536, Relaxed);
    }

    /// Sets the table of what is kept.
    pub fn keep(&self, keep: fn(u64) -> KeepRate) {
        for class in 0..wire::LATENCY_CLASSES {
            let ticks = wire::latency_class_start(class);
            self.control().keep.set(class, keep(ticks));
        }
    }

    /// Counts of intervals that the threads did not record.
    pub fn unrecorded(&self) -> Vec<Unrecorded> {
        let rings = (0..RINGS).map(|index| self.ring(index));
        let used = rings.filter(|ring| ring.state.load(Acquire) != RingState::Free as u32);
        used.map(|ring| &ring.unrecorded)
            .map(|counts| Unrecorded {
                intervals: counts.intervals.load(Relaxed),
                max_ticks: counts.max_ticks.load(Relaxed),
                by_class: counts
                    .by_class
                    .iter()
                    .map(|count| count.load(Relaxed))
                    .collect(),
            })
            .collect()
    }

    /// The records, thread by thread.
    pub fn streams(&self) -> Vec<Stream> {
        (0..RINGS).filter_map(|index| self.stream(index)).collect()
    }

    fn stream(&self, index: usize) -> Option<Stream> {
        let header = self.ring(index);
        let end = header.position.load(Acquire);
        if header.state.load(Acquire) == RingState::Free as u32 {
            return None;
        }
        assert!(
            end < 2 * RING_BYTES as u64,
            "one lap is all that is read here"
        );
        let first = (&raw const *header).cast::<u8>();
        let mut records = Vec::new();
        let mut position = RING_BYTES as u64;
        while position < end {
            // SAFETY: inside the ring.
            let record: Record = unsafe {
                let offset = RECORDS_AT + (position as usize & (RING_BYTES - 1));
                first.add(offset).cast::<Record>().read()
            };
            assert_eq!(record.word & 1, lap_bit(position), "a complete record");
            records.push(Record {
                start: record.start,
                word: record.word & !1,
            });
            position += 16;
        }
        assert_eq!(header.dropped.load(Relaxed), 0);
        Some(Stream {
            pid: header.pid.load(Relaxed),
            tid: header.tid.load(Relaxed),
            events: decode(&records),
        })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: mapped by us.
        unsafe { libc::munmap(self.base.cast(), wire::ARENA_BYTES) };
    }
}
