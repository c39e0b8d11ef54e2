//! An unwinder that asks the loader gets its answer from the agent, and is not told about trampolines itself. After
//! that libgcc before 13 would take a lock in each search, for which a handler of signals could wait for ever.
#![cfg(target_arch = "x86_64")]

mod harness;

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

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
    // SAFETY: the loader's function of this type.
    unsafe {
        let real = libc::dlsym(libc::RTLD_NEXT, c"_dl_find_object".as_ptr());
        std::mem::transmute::<*mut c_void, Find>(real)(at, found)
    }
}

/// Whether libgcc asks the loader: since release 12, with glibc 2.35.
fn unwinder_asks() -> bool {
    // SAFETY: a name that is looked up.
    unsafe { !libc::dlsym(libc::RTLD_NEXT, c"_dl_find_object".as_ptr()).is_null() }
}

#[test]
fn exceptions_pass_where_the_loader_is_asked_for_trampolines() {
    if !unwinder_asks() {
        return;
    }
    let _ring = Ring::start();
    let library = Library::build("throws.cc");
    let harness = Harness::new(&library);
    let ids = harness.sites_of("nested", Role::Inner);
    harness.want(&ids, Wanted::On);
    harness.apply_to(&[harness.loaded]);
    // SAFETY: its type, in `throws.cc`.
    let outer: extern "C" fn(i32, &mut i32) -> i32 =
        unsafe { std::mem::transmute(library.symbol("outer")) };
    let before = ASKED.load(Relaxed);
    let mut destroyed = 0;
    assert_eq!(outer(1, &mut destroyed), -5);
    assert_eq!(destroyed, 4);
    assert!(ASKED.load(Relaxed) > before, "the unwinder knew already");
    std::mem::forget(library);
}
