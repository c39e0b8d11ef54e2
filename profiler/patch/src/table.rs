//! Private tables of this process: memory of zeros, which costs only what is written.

use core::ffi::c_void;
use core::ptr;

use crate::region::away;

/// A new table of this many bytes; null without memory.
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
/// `table` is null or one of [`map`] with this many bytes.
pub unsafe fn clear(table: *mut c_void, bytes: usize) {
    if !table.is_null() {
        // SAFETY: the table's private anonymous memory reads as zeros afterwards.
        unsafe { libc::madvise(table, bytes, libc::MADV_DONTNEED) };
    }
}
