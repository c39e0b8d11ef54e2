//! Libraries opened at run time.
//!
//! The plan is polled where intervals begin. Where the interval itself lies in a library that is opened later, nothing is
//! hooked that could poll; but a program that opens a library looks up its functions next.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::arch::versions::DLSYM;
use crate::{arena, masks, plan};

/// Called at each look-up: hooks what is new, as far as it is wanted. Returns the C library's `dlsym`.
pub extern "C" fn notice() -> usize {
    if masks::active() {
        // SAFETY: the C library's per-thread word; the target must find it as it was.
        let errno = unsafe { *libc::__errno_location() };
        plan::libraries_may_have_come(arena::get());
        unsafe { *libc::__errno_location() = errno };
    }
    real()
}

fn real() -> usize {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    let known = REAL.load(Relaxed);
    if known != 0 {
        return known;
    }
    // SAFETY: constant names; RTLD_NEXT skips this library.
    let found = DLSYM
        .iter()
        .map(
            |version| unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) }
                as usize,
        )
        .find(|&address| address != 0);
    let Some(found) = found else {
        std::process::abort()
    };
    REAL.store(found, Relaxed);
    found
}
