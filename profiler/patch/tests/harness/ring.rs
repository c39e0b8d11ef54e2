//! A ring of the calling thread, and boundaries that record into it.

use std::sync::atomic::Ordering::*;

use evenkeel_patch::arch::stubs::{Boundaries, NOT_SHORT, Registers, restore_return};
use evenkeel_patch::{Frame, thread};
use evenkeel_wire::now_ticks;
use evenkeel_wire::ring::{RECORDS_AT, RING_BYTES, RING_SLACK_BYTES, lap_bit};
use evenkeel_wire::{RING_STRIDE, Record, RingHeader};

/// The calling thread's ring. Its calls are recorded from now on.
pub struct Ring {
    header: &'static RingHeader,
    read: u64,
}

impl Ring {
    pub fn start() -> Ring {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let memory =
            unsafe { libc::mmap(std::ptr::null_mut(), RING_STRIDE, protection, flags, -1, 0) };
        assert_ne!(memory, libc::MAP_FAILED);
        let header = unsafe { &*memory.cast::<RingHeader>() };
        header.position.store(RING_BYTES as u64, Relaxed);
        let ring = Ring {
            header,
            read: RING_BYTES as u64,
        };
        ring.raise_limit();
        let thread = thread::current();
        assert!(thread.prepare());
        thread.ring = memory.cast();
        thread.active = 1;
        ring
    }

    fn raise_limit(&self) {
        self.header
            .limit
            .store(self.read + (RING_BYTES - RING_SLACK_BYTES) as u64, Relaxed);
    }

    /// Lets the ring be full.
    pub fn fill(&self) {
        self.header
            .limit
            .store(self.header.position.load(Relaxed), Relaxed);
    }

    pub fn dropped(&self) -> u64 {
        self.header.dropped.load(Relaxed)
    }

    /// Everything recorded since the last call of this.
    pub fn records(&mut self) -> Vec<Record> {
        let mut records = Vec::new();
        let first = (&raw const *self.header).cast::<u8>();
        while self.read < self.header.position.load(Relaxed) {
            let offset = RECORDS_AT + (self.read as usize & (RING_BYTES - 1));
            let record = unsafe { first.add(offset).cast::<Record>().read() };
            assert_eq!(
                record.word & 1,
                lap_bit(self.read),
                "a complete record of this lap"
            );
            records.push(Record {
                start: record.start,
                word: record.word & !1,
            });
            self.read += 16;
        }
        self.raise_limit();
        records
    }
}

/// Asserts that records, which come in order of their end, nest: no call overlaps another partly.
pub fn assert_nested(records: &[Record]) {
    let mut open: Vec<Record> = Vec::new();
    for pair in records.windows(2) {
        assert!(
            pair[0].end() <= pair[1].end(),
            "in order of their end: {pair:x?}"
        );
    }
    for &record in records {
        while open.last().is_some_and(|child| child.start >= record.start) {
            open.pop();
        }
        if let Some(before) = open.last() {
            assert!(
                before.end() <= record.start,
                "{before:x?} overlaps {record:x?}"
            );
        }
        open.push(record);
    }
}

/// Boundaries that record each call, as inner hooks do, the long way.
pub const RECORDING: Boundaries = Boundaries {
    enter,
    leave,
    enter_short: decline_enter,
    leave_short: decline_leave,
};
/// Recording by the short way.
pub const RECORDING_SHORT: Boundaries = Boundaries {
    enter: never_entered,
    leave: never_left,
    enter_short,
    leave_short,
};
/// Boundaries that are not interested.
pub const BYPASSING: Boundaries = Boundaries {
    enter: pass,
    ..RECORDING
};

extern "C" fn decline_enter(_: u32, _: &mut Registers, _: u64) -> u32 {
    scribble_short();
    NOT_SHORT
}

extern "C" fn decline_leave(_: u32, _: &mut Registers, _: u64, _: u64) -> u32 {
    scribble_short();
    NOT_SHORT
}

extern "C" fn never_entered(_: u32, _: &mut Registers, _: u64) -> u32 {
    unreachable!("the short way was taken")
}

extern "C" fn never_left(_: u32, _: &mut Registers, _: u64, _: u64) {
    unreachable!("the short way was taken")
}

extern "C" fn enter_short(_: u32, registers: &mut Registers, after: u64) -> u32 {
    scribble_short();
    push(registers, after).into()
}

extern "C" fn leave_short(id: u32, registers: &mut Registers, after: u64, now: u64) -> u32 {
    scribble_short();
    pop(id, registers, after, now);
    0
}

extern "C" fn pass(_: u32, _: &mut Registers, _: u64) -> u32 {
    scribble();
    0
}

extern "C" fn enter(_: u32, registers: &mut Registers, after: u64) -> u32 {
    scribble();
    push(registers, after).into()
}

fn push(registers: &Registers, after: u64) -> bool {
    let thread = thread::current();
    thread.drop_stale(registers.sp());
    let frame = Frame {
        ret: registers.return_slot,
        sp: registers.sp(),
        start: now_ticks(),
        after,
    };
    thread.push(frame)
}

extern "C" fn leave(id: u32, registers: &mut Registers, after: u64, now: u64) {
    scribble();
    pop(id, registers, after, now);
}

fn pop(id: u32, registers: &mut Registers, after: u64, now: u64) {
    let thread = thread::current();
    let sp = registers.sp();
    if thread.shadow.is_null() || !thread.surface(sp, after, now) {
        thread.frames_lost += 1;
        restore_return(thread, sp, after);
        return;
    }
    let frame = thread.pop();
    registers.return_slot = frame.ret;
    let header = unsafe { &*thread.ring };
    if header.position.load(Relaxed) >= header.limit.load(Relaxed) {
        header.dropped.fetch_add(1, Relaxed);
        return;
    }
    let position = header.position.fetch_add(16, Relaxed);
    let record = Record::new(frame.start, now - frame.start, id);
    let offset = RECORDS_AT + (position as usize & (RING_BYTES - 1));
    unsafe {
        let slot = thread.ring.cast::<u8>().add(offset).cast::<Record>();
        slot.write(Record {
            word: record.word | lap_bit(position),
            ..record
        });
    }
}

/// Overwrites what code of the short way may overwrite in a callback.
fn scribble_short() {
    unsafe {
        std::arch::asm!(
            "pcmpeqd xmm0, xmm0", "pcmpeqd xmm7, xmm7", "pcmpeqd xmm8, xmm8", "pcmpeqd xmm15, xmm15",
            out("xmm0") _, out("xmm7") _, out("xmm8") _, out("xmm15") _,
        );
    }
}

/// Overwrites what compiled code may overwrite in a callback.
pub fn scribble() {
    unsafe {
        if std::is_x86_feature_detected!("avx512f") {
            std::arch::asm!(
                "vpternlogd zmm0, zmm0, zmm0, 0xff", "vpternlogd zmm15, zmm15, zmm15, 0xff",
                "vpternlogd zmm16, zmm16, zmm16, 0xff", "vpternlogd zmm31, zmm31, zmm31, 0xff",
                "kxnorw k1, k1, k1", "kxnorw k7, k7, k7",
                out("zmm0") _, out("zmm15") _, out("zmm16") _, out("zmm31") _, out("k1") _, out("k7") _,
            );
        } else {
            std::arch::asm!("pcmpeqd xmm0, xmm0", "pcmpeqd xmm15, xmm15", out("xmm0") _, out("xmm15") _);
        }
    }
}
