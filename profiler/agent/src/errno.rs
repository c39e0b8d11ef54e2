//! The C library's `errno`, which the target must find as it was.

/// Runs `then`, which may do anything but change `errno`.
pub fn keeping_errno<R>(then: impl FnOnce() -> R) -> R {
    // SAFETY: the C library's per-thread word; the target must find it as it was.
    let errno = unsafe { *libc::__errno_location() };
    let result = then();
    unsafe { *libc::__errno_location() = errno };
    result
}
