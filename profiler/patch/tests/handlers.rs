//! Handlers of signals may unwind (`backtrace` in sampling profilers and watchdogs), whatever instruction of a hook they
//! interrupt.
#![cfg(target_arch = "x86_64")]

mod harness;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use evenkeel_wire::{Form, Role, Wanted};
use harness::library::Library;
use harness::plan::Harness;
use harness::ring::Ring;

/// Instructions after which a backtrace was taken.
static INTERRUPTED: AtomicU64 = AtomicU64::new(0);

/// Runs after each instruction while the trap flag is set.
extern "C" fn trace_here(_: libc::c_int) {
    INTERRUPTED.fetch_add(1, Relaxed);
    let mut at = [std::ptr::null_mut(); 64];
    // SAFETY: room for as many addresses.
    unsafe { libc::backtrace(at.as_mut_ptr(), at.len() as i32) };
}

/// `outer` of `throws.cc` without an exception, one instruction at a time.
fn run_in_steps(library: &Library) {
    // SAFETY: its type, in `throws.cc`. The handler returns, and the flag is cleared again.
    unsafe {
        let outer: extern "C" fn(i32, &mut i32) -> i32 =
            std::mem::transmute(library.symbol("outer"));
        outer(2, &mut 0);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = trace_here as *const () as usize;
        let mut earlier: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGTRAP, &action, &mut earlier);
        std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
        let value = outer(2, &mut 0);
        std::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq");
        libc::sigaction(libc::SIGTRAP, &earlier, std::ptr::null_mut());
        assert_eq!(value, 9);
    }
}

#[test]
fn a_backtrace_can_be_taken_at_each_instruction_of_a_hook() {
    let mut ring = Ring::start();
    for entries in [false, true] {
        for role in [Role::Inner, Role::Whole] {
            let library = Library::build("throws.cc");
            let harness = Harness::new(&library);
            let mut ids = Vec::new();
            for name in ["nested", "tail_of_tail", "through_pointer", "middle"] {
                if entries {
                    ids.push(harness.entry(name, role));
                } else {
                    ids.extend(harness.sites_of(name, role));
                }
            }
            ids.retain(|&id| {
                let form = harness.probes[id].form;
                form != Form::ShortIndirectCall as u8 && form != Form::IndirectJump as u8
            });
            harness.want(&ids, Wanted::On);
            harness.apply_to(&[harness.loaded]);
            let before = INTERRUPTED.load(Relaxed);
            run_in_steps(&library);
            let steps = INTERRUPTED.load(Relaxed) - before;
            assert!(steps > 100, "{entries} {role:?}: {steps}");
            assert!(!ring.records().is_empty(), "{entries} {role:?}");
            std::mem::forget(library);
        }
    }
}
