//! The code of the process: who else may be executing it, and whether it can be written.

use crate::writing;

/// Whether the calling thread is the only one that can execute the code of `process`. A child of `vfork` is not: it is
/// another process, and its parent's threads run in the same memory.
pub fn alone(process: i32) -> bool {
    // SAFETY: a path constant and a buffer of the right type.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        // proc(5): the link count of a task directory is the number of threads plus two.
        libc::getpid() == process
            && libc::stat(c"/proc/self/task".as_ptr(), &mut status) == 0
            && status.st_nlink == 3
    }
}

/// The whole pages that hold `from..to`.
pub fn pages(from: u64, to: u64) -> (u64, u64) {
    (from & !4095, to.next_multiple_of(4096))
}

/// Makes the pages `from..to` writable and executable, or executable only again. False if the kernel refuses.
///
/// # Safety
/// The range lies within code of this process.
pub unsafe fn set_writable((from, to): (u64, u64), writable: bool) -> bool {
    if writing::is_in_place() {
        return !writable || writing::begin();
    }
    let write = if writable { libc::PROT_WRITE } else { 0 };
    // SAFETY: the caller's contract.
    unsafe {
        libc::mprotect(
            from as *mut _,
            (to - from) as usize,
            libc::PROT_READ | libc::PROT_EXEC | write,
        ) == 0
    }
}
