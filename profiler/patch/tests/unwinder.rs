//! An unwinder that asks the loader gets its answer from the agent, and is not told about trampolines itself. After
//! that libgcc before 13 would take a lock in each search, for which a handler of signals could wait for ever.
#![cfg(target_arch = "x86_64")]

mod harness;

use std::ffi::{c_int, c_void};
use std::sync::LazyLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;

use evenkeel_patch::arch::unwind;
use evenkeel_wire::{Role, Wanted};
use harness::library::Library;
use harness::plan::Harness;
use harness::ring::Ring;

/// Questions about trampolines.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// `struct dl_find_object` (glibc 2.35, dlfcn.h).
#[repr(C)]
struct Found {
    flags: u64,
    map: [u64; 2],
    link_map: u64,
    eh_frame: u64,
    reserved: [u64; 7],
}

type Find = unsafe extern "C" fn(*mut c_void, *mut Found) -> c_int;

/// The loader's, where it has one.
static REAL: LazyLock<Option<Find>> = LazyLock::new(|| {
    // SAFETY: a name that is looked up, and the type of its function.
    unsafe {
        let real = libc::dlsym(libc::RTLD_NEXT, c"_dl_find_object".as_ptr());
        std::mem::transmute::<*mut c_void, Option<Find>>(real)
    }
});

/// In place of the loader's, as the agent's is.
#[unsafe(no_mangle)]
unsafe extern "C" fn _dl_find_object(at: *mut c_void, found: *mut Found) -> c_int {
    if let Some((code, header)) = unwind::find(at as u64) {
        ASKED.fetch_add(1, Relaxed);
        let answer = Found {
            flags: 0,
            map: [code.start, code.end],
            link_map: 0,
            eh_frame: header,
            reserved: [0; 7],
        };
        // SAFETY: the caller's memory for the answer.
        unsafe { found.write(answer) };
        return 0;
    }
    let real = REAL.expect("nobody asks where the loader does not answer");
    // SAFETY: the caller's.
    unsafe { real(at, found) }
}

/// `outer` of `throws.cc`.
type Outer = extern "C" fn(i32, &mut i32) -> i32;

/// `outer`, with hooks on the calls of one function. Its library stays.
fn hooked() -> Outer {
    let library = Box::leak(Box::new(Library::build("throws.cc")));
    let harness = Harness::new(library);
    let ids = harness.sites_of("nested", Role::Inner);
    harness.want(&ids, Wanted::On);
    assert!(harness.apply_to(&[harness.loaded]) > 0);
    // SAFETY: its type.
    unsafe { std::mem::transmute::<u64, Outer>(library.symbol("outer")) }
}

/// An exception that passes through a hook.
fn throw(outer: Outer) {
    let mut destroyed = 0;
    assert_eq!(outer(1, &mut destroyed), -5);
    assert_eq!(destroyed, 4);
}

/// libgcc asks the loader since release 12, with glibc 2.35.
#[test]
fn exceptions_pass_where_the_loader_is_asked_for_trampolines() {
    if REAL.is_none() {
        return;
    }
    let _ring = Ring::start();
    let outer = hooked();
    let before = ASKED.load(Relaxed);
    throw(outer);
    assert!(ASKED.load(Relaxed) > before, "the unwinder knew already");
}

/// Forks, and an exception in the child; how it ended. It looks nothing up: another thread may have held the loader's lock.
fn throw_in_a_child(outer: Outer) -> c_int {
    // SAFETY: the child calls what needs no lock, and ends.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::alarm(20);
            let thread = evenkeel_patch::thread::current();
            thread.after_fork();
            thread.active = 1;
            throw(outer);
            libc::_exit(7);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        status
    }
}

/// Another thread's search for a handler holds no lock at the fork, which the child would wait for.
#[test]
fn exceptions_pass_in_the_child_of_a_fork() {
    let outer = hooked();
    let _ring = Ring::start();
    // What it calls is bound from now on.
    throw(outer);
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        if REAL.is_some() {
            scope.spawn(|| {
                let mut ring = Ring::start();
                while !ends.load(Relaxed) {
                    throw(outer);
                    assert!(!ring.records().is_empty());
                }
                evenkeel_patch::thread::current().close();
            });
        }
        let ended: Vec<c_int> = (0..1_000).map(|_| throw_in_a_child(outer)).collect();
        ends.store(true, Relaxed);
        let is_unharmed =
            |status: &c_int| libc::WIFEXITED(*status) && libc::WEXITSTATUS(*status) == 7;
        assert!(ended.iter().all(is_unharmed), "{ended:x?}");
    });
}
