//! The C library's `dlsym`, as the function that this library's definition calls.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::arch::versions::DLSYM;

/// Its address.
pub fn real() -> usize {
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
