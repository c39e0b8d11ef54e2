//! System calls made inside hooked calls: without the C library, which would change the target's `errno`. Once the process has
//! confined itself (seccomp(2)) none is made any more: one that its filter does not expect may be its end.

use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};

static CONFINED: AtomicBool = AtomicBool::new(false);
/// The process, as last asked for.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// From now on no system call is made for the profiler's sake, until `confined` is false again.
pub fn confine(confined: bool) {
    if confined {
        process_id();
    }
    CONFINED.store(confined, Relaxed);
}

/// As [`confine`], without a system call: the process is the one that was asked for last.
pub fn confine_at_once() {
    CONFINED.store(true, Relaxed);
}

/// Whether the process has confined itself.
#[inline(always)]
pub fn is_confined() -> bool {
    CONFINED.load(Relaxed)
}

/// In the child of a confined process' `fork`: its id, as far as the C library knows it.
pub fn set_process(process: i32) {
    PROCESS.store(process, Relaxed);
}

/// The kernel's answer: negative for an error.
///
/// # Safety
/// As the call's.
#[inline]
pub unsafe fn system_call(number: libc::c_long, arguments: [u64; 6]) -> i64 {
    if is_confined() {
        return -i64::from(libc::EPERM);
    }
    // SAFETY: the caller's.
    unsafe { crate::arch::system_call::system_call(number, arguments) }
}

/// The alternate signal stack, if the thread now runs on it; otherwise an empty range.
pub(crate) fn alternate_stack() -> Range<u64> {
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

/// Whether the aligned word that holds `address`, and so the rest of its page, can be read. The kernel copies a
/// signal mask from there before it rejects the request's unknown operation.
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

/// Words that can be looked at in one call of [`peek`].
pub(crate) const PEEK_MAX: usize = 16;

/// Copies the words at addresses that may lead nowhere, as far as there is memory: those it found, as a bit set. `None`
/// if the system does not let us look.
pub fn peek(addresses: &[MaybeUninit<u64>], words: &mut [MaybeUninit<u64>]) -> Option<usize> {
    let mut remote = [const { MaybeUninit::<libc::iovec>::uninit() }; PEEK_MAX];
    let count = addresses.len().min(words.len()).min(PEEK_MAX);
    for i in 0..count {
        remote[i].write(libc::iovec {
            // SAFETY: the caller's, written.
            iov_base: unsafe { addresses[i].assume_init() } as *mut _,
            iov_len: 8,
        });
    }
    let (mut from, mut found) = (0, 0);
    while from < count {
        let local = libc::iovec {
            iov_base: (&raw mut words[from]).cast(),
            iov_len: 8 * (count - from),
        };
        // SAFETY: the kernel checks the remote side; the local one is ours.
        let read = unsafe {
            system_call(
                libc::SYS_process_vm_readv,
                [
                    process_id() as u64,
                    &raw const local as u64,
                    1,
                    &raw const remote[from] as u64,
                    (count - from) as u64,
                    0,
                ],
            )
        };
        if read < 0 && read != -i64::from(libc::EFAULT) {
            return None;
        }
        // It stops at the first that leads nowhere.
        let whole = read.max(0) as usize / 8;
        found |= ((1 << whole) - 1) << from;
        from += whole + 1;
    }
    Some(found)
}

/// Copies words from `address` on, as far as there is memory; how many.
pub fn copy_words(address: u64, into: &[AtomicU64]) -> usize {
    const PAGE: u64 = 4096;
    const PIECES: usize = 5;
    let end = address + size_of_val(into) as u64;
    // A piece is copied whole or not at all.
    let mut remote = [const { MaybeUninit::<libc::iovec>::uninit() }; PIECES];
    let (mut from, mut pieces) = (address, 0);
    while from < end && pieces < PIECES {
        let to = (from & !(PAGE - 1)).saturating_add(PAGE).min(end);
        remote[pieces].write(libc::iovec {
            iov_base: from as *mut _,
            iov_len: (to - from) as usize,
        });
        (from, pieces) = (to, pieces + 1);
    }
    let local = libc::iovec {
        iov_base: into.as_ptr().cast_mut().cast(),
        iov_len: (from - address) as usize,
    };
    // SAFETY: the kernel checks the remote side; the local one may be written through a shared reference.
    let read = unsafe {
        system_call(
            libc::SYS_process_vm_readv,
            [
                process_id() as u64,
                &raw const local as u64,
                1,
                remote.as_ptr() as u64,
                pieces as u64,
                0,
            ],
        )
    };
    read.max(0) as usize / 8
}

/// The calling process.
pub fn process_id() -> i32 {
    if is_confined() {
        return PROCESS.load(Relaxed);
    }
    // SAFETY: no arguments.
    let process = unsafe { system_call(libc::SYS_getpid, [0; 6]) as i32 };
    PROCESS.store(process, Relaxed);
    process
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
    // SAFETY: the agent's own descriptor.
    unsafe { system_call(libc::SYS_close, [file as u64, 0, 0, 0, 0, 0]) };
}

/// The kind and identity of a descriptor's file.
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
