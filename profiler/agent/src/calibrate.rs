//! Cost of a probe on this machine: a trampoline around an empty function, called in a loop.

use core::ptr;
use core::sync::atomic::Ordering::*;

use evenkeel_patch::arch::trampoline::Hook;
use evenkeel_patch::{Thread, thread, writing};
use evenkeel_wire::now_ticks;
use evenkeel_wire::ring::{RECORDS_AT, RING_BYTES};
use evenkeel_wire::{Control, Form, Operand, RING_STRIDE, Record, RingHeader, Role};

use crate::arch::calibration::*;
use crate::boundaries::BOUNDARIES;
use crate::rings;

const CALLS: u64 = 2000;
const BATCHES: usize = 15;

/// Measures and publishes the cost. Leaves it at zero (unknown) where memory cannot be had.
pub fn calibrate(control: &Control) {
    let thread = thread::current();
    if !thread.prepare() {
        return;
    }
    // SAFETY: fresh memory; the trampoline is used here only; the ring is private.
    unsafe {
        let ring = map(RING_STRIDE, libc::PROT_READ | libc::PROT_WRITE);
        let code = map(4096, libc::PROT_READ | libc::PROT_WRITE);
        let callee = &raw const evenkeel_calibration_callee as u64;
        let hook = Hook {
            id: 0,
            form: Form::IndirectCall,
            role: Role::Inner,
            site: &raw const evenkeel_calibration_return as u64,
            len: 0,
            target: 0,
            operand: Operand::register(CALLEE_REGISTER),
        };
        if !ring.is_null()
            && !code.is_null()
            && hook.write(code, &BOUNDARIES)
            && is_executable(code as u64)
        {
            thread.ring = ring.cast();
            thread.active = Thread::ALWAYS;
            let mut batches = [(0, 0); BATCHES];
            for batch in &mut batches {
                *batch = measure(ring.cast(), code as u64, callee);
            }
            thread.active = 0;
            rings::discard_records(thread);
            batches.sort_unstable_by_key(|&(outer, inner)| outer + inner);
            let (outer, inner) = batches[BATCHES / 2];
            let mut passed = [0; BATCHES].map(|_: u64| measure_passed(code as u64, callee));
            passed.sort_unstable();
            control
                .probe_passed_ticks_256
                .store(passed[BATCHES / 2], Relaxed);
            control.probe_outer_ticks_256.store(outer, Relaxed);
            control.probe_inner_ticks_256.store(inner, Release);
        }
        if !ring.is_null() {
            libc::munmap(ring.cast(), RING_STRIDE);
        }
        if !code.is_null() {
            libc::munmap(code.cast(), 4096);
        }
    }
}

/// Makes the page of code executable.
///
/// # Safety
/// The page belongs to the agent.
unsafe fn is_executable(page: u64) -> bool {
    // SAFETY: the caller's contract.
    let done = writing::begin() && unsafe { writing::make_executable(page, page + 4096) };
    writing::end() && done
}

/// Cost outside and inside the recorded duration, in 1/256 tick a call.
unsafe fn measure(ring: *mut RingHeader, trampoline: u64, callee: u64) -> (u64, u64) {
    // SAFETY: the caller's memory; `CALLS` records fit into the ring.
    unsafe {
        (*ring).position.store(0, Relaxed);
        (*ring).limit.store(RING_BYTES as u64, Relaxed);
        let start = now_ticks();
        evenkeel_calibration(CALLS, callee, 0, callee);
        let middle = now_ticks();
        evenkeel_calibration(CALLS, trampoline, 0, callee);
        let end = now_ticks();
        let records = ring.cast::<u8>().add(RECORDS_AT).cast::<Record>();
        let recorded: u64 = (0..CALLS as usize)
            .map(|i| (*records.add(i)).duration())
            .sum();
        let (bare, hooked) = (middle - start, end - middle);
        let inner = recorded.saturating_sub(bare);
        let outer = hooked.saturating_sub(bare).saturating_sub(inner);
        (outer * 256 / CALLS, inner * 256 / CALLS)
    }
}

/// Cost of a call through the trampoline on a thread that records nothing, in 1/256 tick.
unsafe fn measure_passed(trampoline: u64, callee: u64) -> u64 {
    // SAFETY: the caller's trampoline.
    unsafe {
        let start = now_ticks();
        evenkeel_calibration(CALLS, callee, 0, callee);
        let middle = now_ticks();
        evenkeel_calibration(CALLS, trampoline, 0, callee);
        let (bare, hooked) = (middle - start, now_ticks() - middle);
        hooked.saturating_sub(bare) * 256 / CALLS
    }
}

unsafe fn map(bytes: usize, protection: i32) -> *mut u8 {
    // SAFETY: fresh anonymous memory.
    let memory = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            protection,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        ptr::null_mut()
    } else {
        memory.cast()
    }
}
