//! Tables of this process alone: memory of zeros, of which only what is written costs anything.

use core::ffi::c_void;
use core::ptr;

use crate::region::away;

/// A new table of so many bytes; null if there is no memory.
pub fn map(bytes: usize) -> *mut c_void {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: fresh anonymous memory.
    let table = unsafe { libc::mmap(away(bytes) as *mut _, bytes, protection, flags, -1, 0) };
    if table == libc::MAP_FAILED {
        ptr::null_mut()
    } else {
        table
    }
}

/// Makes a table all zeros again.
///
/// # Safety
/// `table` is null or one of [`map`] with so many bytes.
pub unsafe fn clear(table: *mut c_void, bytes: usize) {
    if !table.is_null() {
        // SAFETY: private anonymous memory of ours reads as zeros afterwards.
        unsafe { libc::madvise(table, bytes, libc::MADV_DONTNEED) };
    }
}
