//! Cost of a probed call in addition to two clock reads: `cargo bench -p evenkeel-patch`.
//!
//! A loop calls an empty function: bare, with a `rdtsc` before and after, through each kind of hook, and through a
//! hook whose thread has no interval open. All variants take turns, round after round. Prints medians with the 10th
//! and 90th percentile over the rounds, per call, less the bare call.

use std::arch::global_asm;
use std::time::Instant;

use evenkeel_patch::arch::stubs::{Boundaries, Registers};
use evenkeel_patch::arch::trampoline::Hook;
use evenkeel_patch::thread;
use evenkeel_wire::ring::RING_BYTES;
use evenkeel_wire::{Form, Operand, RING_STRIDE, RingHeader, Role};

const CALLS: u64 = 50_000;
const ROUNDS: usize = 201;

// rdi: number of calls, rsi: what to call. The call site of each loop is followed by a label: where hooks return to.
global_asm!(
    ".globl bench_bare, bench_bare_return, bench_clocks, bench_callee",
    "bench_bare:",
    "push rbx",
    "mov rbx, rdi",
    "10: call rsi",
    "bench_bare_return: dec rbx",
    "jnz 10b",
    "pop rbx",
    "ret",
    "bench_clocks:",
    "push rbx",
    "mov rbx, rdi",
    "10: rdtsc",
    "mov r8, rax",
    "call rsi",
    "rdtsc",
    "dec rbx",
    "jnz 10b",
    "pop rbx",
    "ret",
    "bench_callee: ret",
);

unsafe extern "C" {
    fn bench_bare(calls: u64, target: u64);
    fn bench_clocks(calls: u64, target: u64);
    static bench_bare_return: u8;
    static bench_callee: u8;
}

extern "C" fn enter(_: u32, _: &mut Registers, _: u64) -> u32 {
    0
}

extern "C" fn leave(_: u32, _: &mut Registers, _: u64, _: u64) {}

extern "C" fn leave_short(_: u32, _: &mut Registers, _: u64, _: u64) -> u32 {
    0
}

const BOUNDARIES: Boundaries = Boundaries {
    enter,
    leave,
    enter_short: enter,
    leave_short,
};

fn main() {
    let callee = &raw const bench_callee as u64;
    let ring: *mut RingHeader = map(RING_STRIDE, libc::PROT_READ | libc::PROT_WRITE, 0).cast();
    let thread = thread::current();
    assert!(thread.prepare());
    thread.ring = ring;
    let call = hook(Form::Call, callee);
    let moving = hook(Form::Entry, callee);
    let variants: [(&str, u64, bool, bool); 5] = [
        ("bare call", callee, false, false),
        ("two clock reads", callee, false, true),
        ("call-site hook", call, true, false),
        ("entry or tail-jump hook", moving, true, false),
        ("call-site hook, no interval open", call, false, false),
    ];
    let mut ns: Vec<Vec<f64>> = vec![Vec::new(); variants.len()];
    for _ in 0..ROUNDS {
        for (variant, times) in variants.iter().zip(&mut ns) {
            let &(_, target, active, clocks) = variant;
            thread.active = u64::from(active);
            let start = Instant::now();
            // Batches that fit into the ring, which nobody drains here.
            let batch = (RING_BYTES / 16) as u64 / 2;
            for _ in 0..CALLS.div_ceil(batch) {
                // SAFETY: the ring and the hooks are this function's own.
                unsafe {
                    (*ring)
                        .position
                        .store(0, std::sync::atomic::Ordering::Relaxed);
                    (*ring)
                        .limit
                        .store(RING_BYTES as u64, std::sync::atomic::Ordering::Relaxed);
                    if clocks {
                        bench_clocks(batch, target)
                    } else {
                        bench_bare(batch, target)
                    }
                }
            }
            let calls = CALLS.div_ceil(batch) * batch;
            times.push(start.elapsed().as_nanos() as f64 / calls as f64);
            thread.active = 0;
        }
    }
    let bare = median(&mut ns[0].clone());
    println!(
        "{:<34} {:>8} {:>8} {:>8}   ns a call, less the bare call's {bare:.2}",
        "", "p10", "median", "p90"
    );
    for ((name, ..), times) in variants.iter().zip(&mut ns).skip(1) {
        times.sort_by(f64::total_cmp);
        let at = |fraction: f64| times[(times.len() as f64 * fraction) as usize] - bare;
        println!(
            "{name:<34} {:>8.2} {:>8.2} {:>8.2}",
            at(0.1),
            at(0.5),
            at(0.9)
        );
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A trampoline at the loop's call site.
fn hook(form: Form, target: u64) -> u64 {
    // Near the callee, so that a direct call reaches it.
    let hint = (target & !0xfff) - (64 << 20) - ((form as u64) << 16);
    let code = map(
        4096,
        libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
        hint,
    );
    let site = &raw const bench_bare_return as u64;
    let hook = Hook {
        id: 1,
        form,
        role: Role::Inner,
        site,
        len: 0,
        target,
        operand: Operand::default(),
    };
    // SAFETY: fresh memory of a page.
    assert!(unsafe { hook.write(code, &BOUNDARIES) });
    code as u64
}

fn map(bytes: usize, protection: i32, hint: u64) -> *mut u8 {
    // SAFETY: fresh anonymous memory.
    let memory = unsafe {
        libc::mmap(
            hint as *mut _,
            bytes,
            protection,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(memory, libc::MAP_FAILED);
    memory.cast()
}
