//! System calls made inside hooked calls: without the C library, which would change the target's `errno`.

use core::ffi::CStr;
use core::ops::Range;

pub use crate::arch::system_call::system_call;

/// The alternate signal stack, if the thread now runs on it; otherwise an empty range.
pub fn alternate_stack() -> Range<u64> {
    // SAFETY: zero is a valid `stack_t`; the kernel writes it.
    unsafe {
        let mut stack: libc::stack_t = core::mem::zeroed();
        let answer = system_call(
            libc::SYS_sigaltstack,
            [0, &raw mut stack as u64, 0, 0, 0, 0],
        );
        if answer != 0 || stack.ss_flags & libc::SS_ONSTACK == 0 {
            return 0..0;
        }
        stack.ss_sp as u64..stack.ss_sp as u64 + stack.ss_size as u64
    }
}

/// Whether the aligned word that holds `address`, and with it the rest of its page, can be read: the kernel copies a
/// signal mask from there before it finds that it is asked for something it does not know.
#[inline]
pub fn is_readable(address: u64) -> bool {
    const NO_SUCH_WAY: u64 = 0x7fff_ffff;
    // SAFETY: nothing is changed: an unknown first argument is an error.
    let answer = unsafe {
        system_call(
            libc::SYS_rt_sigprocmask,
            [NO_SUCH_WAY, address & !7, 0, 8, 0, 0],
        )
    };
    answer == -i64::from(libc::EINVAL)
}

/// The word at `address`, if there is memory and the system lets us look.
pub fn peek(address: u64) -> Option<u64> {
    let mut word = 0u64;
    let local = libc::iovec {
        iov_base: (&raw mut word).cast(),
        iov_len: 8,
    };
    let remote = libc::iovec {
        iov_base: address as *mut _,
        iov_len: 8,
    };
    // SAFETY: the kernel checks the remote side; the local one is ours.
    let read = unsafe {
        let own = system_call(libc::SYS_getpid, [0; 6]) as u64;
        system_call(
            libc::SYS_process_vm_readv,
            [
                own,
                &raw const local as u64,
                1,
                &raw const remote as u64,
                1,
                0,
            ],
        )
    };
    (read == 8).then_some(word)
}

/// The calling process.
pub fn process_id() -> i32 {
    // SAFETY: no arguments.
    unsafe { system_call(libc::SYS_getpid, [0; 6]) as i32 }
}

/// Opens a file to read.
pub fn open(path: &CStr) -> Option<i32> {
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
    // SAFETY: a zero-terminated path.
    let answer = unsafe {
        system_call(
            libc::SYS_openat,
            [libc::AT_FDCWD as u64, path.as_ptr() as u64, flags, 0, 0, 0],
        )
    };
    i32::try_from(answer).ok().filter(|&file| file >= 0)
}

/// Bytes read; 0 at the end and after an error.
pub fn read(file: i32, into: &mut [u8]) -> usize {
    // SAFETY: a buffer of the length passed.
    let answer = unsafe {
        system_call(
            libc::SYS_read,
            [
                file as u64,
                into.as_mut_ptr() as u64,
                into.len() as u64,
                0,
                0,
                0,
            ],
        )
    };
    usize::try_from(answer).unwrap_or(0)
}

/// Closes what [`open`] opened.
pub fn close(file: i32) {
    // SAFETY: a descriptor of ours.
    unsafe { system_call(libc::SYS_close, [file as u64, 0, 0, 0, 0, 0]) };
}

/// What kind of file a descriptor leads to, and to which.
pub fn file_status(file: i32) -> Option<libc::stat> {
    // SAFETY: zero is a valid `stat`; the kernel writes it.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let answer = system_call(
            libc::SYS_fstat,
            [file as u64, &raw mut status as u64, 0, 0, 0, 0],
        );
        (answer == 0).then_some(status)
    }
}
