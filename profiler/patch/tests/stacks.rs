//! Calls that are interrupted by signals, left by `longjmp`, suspended on other stacks, or nested deeply.

mod harness;

use std::sync::Mutex;

use evenkeel_patch::thread;
use evenkeel_wire::{Role, Wanted};
use harness::library::Library;
use harness::plan::Harness;
use harness::ring::{Ring, assert_nested};

const FUNCTIONS: [&str; 14] = [
    "add_tail",
    "seven",
    "work",
    "fibonacci",
    "on_signal_work",
    "jump",
    "suspend",
    "suspend_tail",
    "step",
    "add",
    "body",
    "wait_parked",
    "park",
    "park_body",
];

/// The library with every call site and entry hooked that can be. Call sites that an entry covers are left out.
fn hooked(role: Role) -> Library {
    let library = Library::build("stacks.c");
    let harness = Harness::new(&library);
    let mut ids = Vec::new();
    for name in FUNCTIONS {
        let entry = harness.entry(name, role);
        let end = harness.probes[entry].address + u64::from(harness.probes[entry].len).max(5);
        // swapcontext saves where it returns to, which a hook would change.
        let names = harness.module.call_sites(harness.probes[entry].address);
        let names: Vec<String> = names
            .iter()
            .map(|site| harness.module.callee_name(&site.callee))
            .collect();
        for (id, name) in harness.sites_of(name, role).into_iter().zip(names) {
            let unsafe_to_hook =
                ["swapcontext", "longjmp", "__longjmp_chk", "_setjmp"].contains(&name.as_str());
            if harness.probes[id].address >= end && !unsafe_to_hook {
                ids.push(id);
            }
        }
        ids.push(entry);
    }
    harness.set(&ids, Wanted::On);
    library
}

macro_rules! call {
    ($library:expr, $name:literal $(, $argument:expr)*) => {{
        type Function = extern "C" fn($(call!(@ $argument)),*) -> i64;
        let function: Function = unsafe { std::mem::transmute($library.symbol($name)) };
        function($($argument),*)
    }};
    (@ $argument:expr) => { i64 };
}

fn handled(library: &Library) -> i64 {
    call!(library, "handled")
}

fn check(library: &Library) {
    for n in 0..20 {
        assert_eq!(call!(library, "public_work", n), 2 * n + 22);
    }
}

#[test]
fn recursion() {
    for role in [Role::Inner, Role::Whole] {
        let library = hooked(role);
        let mut ring = Ring::start();
        assert_eq!(call!(library, "public_fibonacci", 15), 610);
        let records = ring.records();
        assert!(records.len() > 4000, "{}", records.len());
        assert_nested(&records);
        assert!(thread::current().frames().is_empty());
    }
}

#[test]
fn calls_left_by_longjmp() {
    for role in [Role::Inner, Role::Whole] {
        let library = hooked(role);
        let mut ring = Ring::start();
        for n in (0..1000).step_by(5) {
            assert_eq!(call!(library, "leave", n), n);
            check(&library);
            assert_nested(&ring.records());
        }
        thread::current().drop_stale(u64::MAX - 1);
        assert_eq!(thread::current().frames_lost, 0);
    }
}

#[test]
fn coroutines() {
    for role in [Role::Inner, Role::Whole] {
        let library = hooked(role);
        let mut ring = Ring::start();
        for _ in 0..10 {
            assert_eq!(call!(library, "coroutines", 500), 500 * 28);
            ring.records();
        }
        check(&library);
    }
}

/// More calls parked on stacks of their own than one thread has frames, under hooks that keep return addresses.
#[test]
fn parked_calls() {
    for role in [Role::Inner, Role::Whole] {
        let library = hooked(role);
        let _ring = Ring::start();
        assert_eq!(call!(library, "park_all", 6000), 6000);
        check(&library);
    }
}

/// Only one test at a time has the process' timer.
static TIMER: Mutex<()> = Mutex::new(());

/// Calls work under a timer whose handler makes the same calls, until enough signals hit.
fn interrupted(library: &Library, alternate: Option<&mut [u8]>) {
    let _timer = TIMER
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut ring = Ring::start();
    unsafe {
        let mut flags = libc::SA_RESTART;
        if let Some(stack) = alternate {
            let stack = libc::stack_t {
                ss_sp: stack.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: stack.len(),
            };
            assert_eq!(libc::sigaltstack(&stack, std::ptr::null_mut()), 0);
            flags |= libc::SA_ONSTACK;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = library.symbol("on_signal") as usize;
        action.sa_flags = flags;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        // To this thread only.
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGUSR1;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer = std::mem::zeroed();
        assert_eq!(
            libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer),
            0
        );
        let often = libc::timespec {
            tv_sec: 0,
            tv_nsec: 50_000,
        };
        let period = libc::itimerspec {
            it_interval: often,
            it_value: often,
        };
        libc::timer_settime(timer, 0, &period, std::ptr::null_mut());
        let mut calls = 0;
        while calls < 50_000 || handled(library) < 500 {
            (0..10).for_each(|_| check(library));
            calls += 200;
            if calls % 2000 == 0 {
                let mut old: libc::sigset_t = std::mem::zeroed();
                let mut all: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&mut all);
                libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut old);
                let records = ring.records();
                libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
                assert_nested_over_interruptions(&records);
            }
        }
        libc::timer_delete(timer);
        assert_eq!(
            thread::current().frames_lost,
            0,
            "nothing was taken for stale"
        );
        assert!(thread::current().frames().is_empty());
        let disable = libc::stack_t {
            ss_sp: std::ptr::null_mut(),
            ss_flags: libc::SS_DISABLE,
            ss_size: 0,
        };
        libc::sigaltstack(&disable, std::ptr::null_mut());
    }
    assert_eq!(call!(library, "wrong"), 0);
}

/// As [`assert_nested`], but a signal between the two clock readings and the reservation of a record puts the handler's
/// records before it: order by end, outermost last.
fn assert_nested_over_interruptions(records: &[evenkeel_wire::Record]) {
    let mut sorted = records.to_vec();
    sorted.sort_by_key(|record| (record.end(), std::cmp::Reverse(record.start)));
    assert_nested(&sorted);
}

#[test]
fn signals_on_the_same_stack() {
    for role in [Role::Inner, Role::Whole] {
        interrupted(&hooked(role), None);
    }
}

/// The alternate stack lies below or above that of the thread.
#[test]
fn signals_on_alternate_stacks() {
    for role in [Role::Inner, Role::Whole] {
        let library = hooked(role);
        let above = 0x7ffe_0000_0000u64;
        let mut below = vec![0; 1 << 17];
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let mut at = above;
        // Somewhere above this thread's stack: the main thread's lies near the top.
        let high = loop {
            let memory = unsafe {
                libc::mmap(
                    at as *mut _,
                    1 << 17,
                    protection,
                    flags | libc::MAP_FIXED_NOREPLACE,
                    -1,
                    0,
                )
            };
            if memory != libc::MAP_FAILED {
                break unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), 1 << 17) };
            }
            at -= 1 << 30;
        };
        assert!(high.as_ptr() as u64 > &raw const at as u64, "above");
        interrupted(&library, Some(high));
        if (below.as_ptr() as u64) < &raw const at as u64 {
            interrupted(&library, Some(&mut below));
        }
    }
}
