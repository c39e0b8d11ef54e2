//! Cost of a probe in compiled Java code: the helper class enters and leaves one in a loop.

use core::ptr;
use core::sync::atomic::Ordering::*;

use evenkeel_patch::{Thread, thread};
use evenkeel_wire::jvm::{CALIBRATION_PROBE, INSIDE, ON};
use evenkeel_wire::ring::{RECORDS_AT, RING_BYTES};
use evenkeel_wire::{Control, RING_STRIDE, Record, RingHeader, now_ticks};

use crate::jvm::environment::Watched;
use crate::jvm::helper::Helper;
use crate::jvm::stack::{self, JavaStack};
use crate::jvm::vm::Jni;
use crate::jvm::{pauses, switches};
use crate::rings;

const CALLS: u32 = 2000;
/// Batches until the loop is compiled, about; and those that are measured.
const WARM_UP: usize = 100;
const BATCHES: usize = 31;

/// Measures and publishes the cost. Leaves it at zero (unknown) where memory cannot be had.
pub fn calibrate(
    jni: Jni,
    helper: Helper,
    control: &Control,
    watch: impl FnOnce() -> Option<Watched>,
) {
    let thread = thread::current();
    let Some(stack) = stack::ensure(watch) else {
        return;
    };
    let (rights, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: fresh memory.
    let ring = unsafe { libc::mmap(ptr::null_mut(), RING_STRIDE, rights, flags, -1, 0) };
    if ring == libc::MAP_FAILED {
        return;
    }
    let ring = ring.cast::<RingHeader>();
    thread.ring = ring;
    thread.active = Thread::ALWAYS;
    // Where waits are followed, each call of a probe asks the agent.
    let state = match control.waits.load(Relaxed) {
        0 => INSIDE,
        _ => ON,
    };
    let mut batches = [(0, 0); BATCHES];
    let mut passed = [0; BATCHES];
    for _ in 0..WARM_UP {
        measure(jni, helper, ring, stack);
        measure_passed(jni, helper, state, stack);
    }
    for (batch, passed) in batches.iter_mut().zip(&mut passed) {
        *batch = measure(jni, helper, ring, stack);
        *passed = measure_passed(jni, helper, state, stack);
    }
    let thread = thread::current();
    thread.active = 0;
    rings::discard_records(thread);
    stack::release();
    // SAFETY: mapped above, and used by nobody now.
    unsafe { libc::munmap(ring.cast(), RING_STRIDE) };
    batches.sort_unstable_by_key(|&(outer, inner)| outer + inner);
    let (outer, inner) = batches[BATCHES / 2];
    passed.sort_unstable();
    control
        .probe_passed_ticks_256
        .store(passed[BATCHES / 2], Relaxed);
    control.probe_outer_ticks_256.store(outer.max(1), Relaxed);
    control.probe_inner_ticks_256.store(inner, Release);
}

/// Cost outside and inside the recorded duration, in 1/256 tick a call.
fn measure(jni: Jni, helper: Helper, ring: *mut RingHeader, stack: &mut JavaStack) -> (u64, u64) {
    let calls = u64::from(CALLS);
    // SAFETY: this function's memory; the records of a batch fit into the ring.
    unsafe {
        (*ring).position.store(0, Relaxed);
        (*ring).limit.store(RING_BYTES as u64, Relaxed);
    }
    let bare = spin(jni, helper, 0);
    // An interval whose calls are recorded, as it were.
    stack.open(CALIBRATION_PROBE, now_ticks(), pauses::ended());
    let probed = spin(jni, helper, ON);
    stack.close();
    let records = ring.cast::<u8>().wrapping_add(RECORDS_AT).cast::<Record>();
    // SAFETY: as above.
    let recorded: u64 = (0..CALLS as usize)
        .map(|at| unsafe { (*records.wrapping_add(at)).duration() })
        .sum();
    let outer = probed.saturating_sub(bare).saturating_sub(recorded);
    (outer * 256 / calls, recorded * 256 / calls)
}

/// Cost of a call in an interval that is not recorded, in 1/256 tick.
fn measure_passed(jni: Jni, helper: Helper, state: u8, stack: &mut JavaStack) -> u64 {
    let bare = spin(jni, helper, 0);
    thread::current().active = 0;
    stack.open(CALIBRATION_PROBE, now_ticks(), pauses::ended());
    let passed = spin(jni, helper, state);
    stack.close();
    thread::current().active = Thread::ALWAYS;
    passed.saturating_sub(bare) * 256 / u64::from(CALLS)
}

/// Time of a batch of calls whose probe is in this state, ticks.
fn spin(jni: Jni, helper: Helper, state: u8) -> u64 {
    switches::set_one(CALIBRATION_PROBE, state);
    let begun = now_ticks();
    helper.spin(jni, CALIBRATION_PROBE, CALLS);
    let ticks = now_ticks() - begun;
    switches::set_one(CALIBRATION_PROBE, 0);
    ticks
}
