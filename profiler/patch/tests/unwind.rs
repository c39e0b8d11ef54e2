//! Exceptions, `pthread_exit`, cancellation and backtraces pass through hooked calls as through any others.

mod harness;

use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use evenkeel_wire::{Refusal, Role, Wanted};
use harness::library::Library;
use harness::plan::Harness;
use harness::ring::{Ring, assert_nested};

const FUNCTIONS: [&str; 9] = [
    "outer",
    "nested",
    "tail_of_tail",
    "tail",
    "through_pointer",
    "middle",
    "leaf",
    "deep",
    "recurse",
];
const TRACED: [&str; 4] = ["trace_outer", "trace_middle", "trace_tail", "trace_leaf"];
const LEAVING: [&str; 4] = ["leave_outer", "leave_middle", "leave_tail", "leave"];

/// Which probes.
#[derive(Clone, Copy, Debug)]
enum Places {
    Sites,
    Entries,
    Both,
}

/// The library with hooks on `names`. The many libraries of these tests obstruct each other's jump pads; a library
/// without room for three is loaded again elsewhere.
fn hooked(names: &[&str], places: Places, role: Role) -> Library {
    for _ in 0..60 {
        let library = Library::build("throws.cc");
        if place(&library, names, places, role) >= 3 {
            return library;
        }
        std::mem::forget(library);
    }
    panic!("no place for three hooks");
}

/// Places hooks on `names`; how many. Call sites that an entry hook covers are left out.
fn place(library: &Library, names: &[&str], places: Places, role: Role) -> usize {
    let harness = Harness::new(library);
    let mut ids = Vec::new();
    for &name in names {
        let mut covered = 0..0;
        if !matches!(places, Places::Sites)
            && !matches!((places, name), (Places::Both, "tail" | "tail_of_tail"))
        {
            let id = harness.entry(name, role);
            covered = harness.probes[id].address
                ..harness.probes[id].address + u64::from(harness.probes[id].len);
            ids.push(id);
        }
        if !matches!(places, Places::Entries) {
            let sites = harness.sites_of(name, role);
            ids.extend(sites.into_iter().filter(|&id| {
                !covered.contains(&harness.probes[id].address) && harness.probes[id].form < 3
            }));
        }
    }
    assert!(ids.len() >= 3, "{ids:?}");
    harness.want(&ids, Wanted::On);
    let patched = harness.apply_to(&[harness.loaded]);
    for probe in &harness.probes {
        let refused = probe.refused.load(Relaxed);
        assert!(
            refused == Refusal::None as u32 || refused == Refusal::NoSafeJump as u32,
            "{refused}"
        );
    }
    patched
}

fn all() -> impl Iterator<Item = (Places, Role)> {
    let places = [Places::Sites, Places::Entries, Places::Both];
    places
        .into_iter()
        .flat_map(|places| [Role::Inner, Role::Whole].map(|role| (places, role)))
}

fn throw(library: &Library) {
    type Outer = extern "C" fn(i32, &mut i32) -> i32;
    let outer: Outer = unsafe { std::mem::transmute(library.symbol("outer")) };
    for n in 0..40 {
        let mut destroyed = 0;
        let (value, count) = if n % 2 == 0 {
            (n + 4 + 3, 3)
        } else {
            (-(n + 4), 4)
        };
        assert_eq!(outer(n, &mut destroyed), value);
        assert_eq!(destroyed, count);
    }
    type Deep = extern "C" fn(i32, i32, &mut i32) -> i32;
    let deep: Deep = unsafe { std::mem::transmute(library.symbol("deep")) };
    let mut destroyed = 0;
    assert_eq!(deep(1, 60, &mut destroyed), -1);
    assert_eq!(destroyed, 61);
}

#[test]
fn exceptions_find_their_handlers() {
    let mut ring = Ring::start();
    for (places, role) in all() {
        let library = hooked(&FUNCTIONS, places, role);
        throw(&library);
        assert!(!ring.records().is_empty(), "{places:?} {role:?}");
        std::mem::forget(library);
    }
}

/// Each call that an exception leaves is recorded, in the order in which they were left.
#[test]
fn calls_that_are_left_are_recorded() {
    let mut ring = Ring::start();
    for (places, role) in all() {
        let library = hooked(&FUNCTIONS, places, role);
        type Outer = extern "C" fn(i32, &mut i32) -> i32;
        let outer: Outer = unsafe { std::mem::transmute(library.symbol("outer")) };
        let mut recorded = |n| {
            let mut destroyed = 0;
            outer(n, &mut destroyed);
            let records = ring.records();
            assert_nested(&records);
            records.into_iter().map(|record| record.id())
        };
        let mut left = recorded(1);
        // What returns when nothing is thrown is left when something is; there are calls of the runtime besides.
        for id in recorded(2) {
            assert!(left.any(|other| other == id), "{places:?} {role:?}: {id}");
        }
        assert!(
            evenkeel_patch::thread::current()
                .frames()
                .iter()
                .all(|frame| frame.start == 0)
        );
        std::mem::forget(library);
    }
}

#[test]
fn in_many_threads_at_once() {
    for (places, role) in all() {
        let library = hooked(&FUNCTIONS, places, role);
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let mut ring = Ring::start();
                    for _ in 0..3 {
                        throw(&library);
                        assert!(!ring.records().is_empty());
                    }
                    evenkeel_patch::thread::current().close();
                });
            }
        });
    }
}

#[repr(C)]
struct Trace {
    at: [u64; 64],
    len: i32,
}

#[test]
fn backtraces_show_the_same_functions() {
    let trace = |library: &Library| {
        let outer: extern "C" fn(&mut Trace) -> i32 =
            unsafe { std::mem::transmute(library.symbol("trace_outer")) };
        let mut trace = Trace {
            at: [0; 64],
            len: 0,
        };
        outer(&mut trace);
        trace.at[..trace.len as usize].to_vec()
    };
    // The library's own frames relative to its bias, and what called it.
    let callers = |library: &Library| {
        let own = library.loaded.low..library.loaded.high;
        let all = trace(library);
        let last = all
            .iter()
            .rposition(|at| own.contains(at))
            .expect("it was in there");
        let frames: Vec<u64> = all
            .iter()
            .filter(|at| own.contains(at))
            .map(|at| at - library.loaded.bias)
            .collect();
        (frames, all[last + 1..].to_vec())
    };
    let (expected, outer) = callers(&Library::build("throws.cc"));
    assert!(outer.len() > 3, "a test has callers");
    let mut ring = Ring::start();
    for (places, role) in all() {
        let library = hooked(&TRACED, places, role);
        let (frames, callers) = callers(&library);
        assert_eq!(frames, expected, "{places:?} {role:?}");
        // Less the two by which this test calls it, here and above.
        assert!(callers.ends_with(&outer[2..]), "{callers:x?} {outer:x?}");
        assert!(ring.records().len() >= 3);
        std::mem::forget(library);
    }
}

extern "C-unwind" fn leaving(argument: *mut libc::c_void) -> *mut libc::c_void {
    let _ring = Ring::start();
    let (function, wait, destroyed) =
        unsafe { &mut *argument.cast::<(extern "C-unwind" fn(i32, *mut i32) -> i32, i32, i32)>() };
    let (function, wait, destroyed) = (*function, *wait, &raw mut *destroyed);
    function(wait, destroyed);
    unreachable!()
}

#[test]
fn threads_end_through_hooks() {
    for (places, role) in all() {
        let library = hooked(&LEAVING, places, role);
        for wait in [0, 1] {
            let function: extern "C-unwind" fn(i32, *mut i32) -> i32 =
                unsafe { std::mem::transmute(library.symbol("leave_outer")) };
            let mut threads = Vec::new();
            for _ in 0..4 {
                let argument = Box::into_raw(Box::new((function, wait, 0)));
                let mut thread = 0;
                unsafe {
                    libc::pthread_create(&mut thread, std::ptr::null(), start(), argument.cast())
                };
                threads.push((thread, argument));
            }
            for (thread, argument) in threads {
                let mut result = std::ptr::null_mut();
                if wait == 1 {
                    thread::sleep(std::time::Duration::from_millis(20));
                    unsafe { libc::pthread_cancel(thread) };
                }
                unsafe { libc::pthread_join(thread, &mut result) };
                assert_eq!(
                    unsafe { Box::from_raw(argument) }.2,
                    2,
                    "{places:?} {role:?}"
                );
            }
        }
    }
}

fn start() -> extern "C" fn(*mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: the C library starts threads with a function that may be unwound.
    unsafe { std::mem::transmute(leaving as *const ()) }
}
