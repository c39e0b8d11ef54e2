//! Writing code. Where the system permits it, memory is made writable and executable for that time. A process may
//! have given that up (`PR_SET_MDWE`, or a filter of system calls as systemd's `MemoryDenyWriteExecute=` installs).
//! There, memory is executable from the beginning and is written *in place*, through `/proc/self/mem`, for which the
//! kernel does not check whether it is writable (proc_pid_mem(5)).
//!
//! The file is open for a batch of changes alone: it is that of one process, and a child of `fork` would write to its parent. A process
//! that changed its user may not open it, since it is root's then. Root, who attaches, hands it over ([`take`]), and it stays open.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, Ordering::Relaxed};

use crate::kernel;

const PAGE: usize = 4096;
const UNKNOWN: u8 = 0;
const DIRECTLY: u8 = 1;
const IN_PLACE: u8 = 2;

static WAY: AtomicU8 = AtomicU8::new(UNKNOWN);
/// `/proc/self/mem`, while a batch is prepared and written; negative otherwise.
static FILE: AtomicI32 = AtomicI32::new(-1);
/// The file handed over by the attaching session; negative where none is needed.
static GIVEN: AtomicI32 = AtomicI32::new(-1);
/// Identity of the file handed over: its number in its file system.
static GIVEN_IS: AtomicU64 = AtomicU64::new(0);
/// The process to which it was handed.
static GIVEN_TO: AtomicI32 = AtomicI32::new(0);
/// Something of this batch could not be written: nothing may lead there.
static IS_INCOMPLETE: AtomicBool = AtomicBool::new(false);

/// Whether code is written in place. Found out when first asked for, under the patcher's lock.
pub fn is_in_place() -> bool {
    if WAY.load(Relaxed) == UNKNOWN {
        let way = match !may_make_executable() && works_in_place() {
            true => IN_PLACE,
            false => DIRECTLY,
        };
        WAY.store(way, Relaxed);
    }
    WAY.load(Relaxed) == IN_PLACE
}

/// Whoever attaches hands over `/proc/self/mem` of this process, open for reading and writing, as `descriptor`; negative for none. A copy is kept
/// where code is written in place and this process may not open the file.
pub fn take(descriptor: i32) {
    drop_taken();
    WAY.store(UNKNOWN, Relaxed);
    if descriptor < 0 {
        return;
    }
    // SAFETY: system calls on numbers.
    let (copy, process) = unsafe {
        (
            libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0),
            libc::getpid(),
        )
    };
    let Some(identity) = identity(copy) else {
        return;
    };
    GIVEN_IS.store(identity, Relaxed);
    GIVEN_TO.store(process, Relaxed);
    GIVEN.store(copy, Relaxed);
    let is_needed = is_in_place() && open_own().map(close).is_none();
    if !is_needed {
        drop_taken();
    }
}

/// Closes what was handed over: no code of this process is written any more, or it is the child of the process whose memory that is.
pub fn drop_taken() {
    if kernel::is_confined() {
        return;
    }
    if let Some(descriptor) = still_open() {
        close(descriptor);
    }
    GIVEN.store(-1, Relaxed);
}

/// The file handed over, if it is this process' memory: a child of `fork` has it, too.
fn taken() -> Option<i32> {
    // SAFETY: no arguments.
    still_open().filter(|_| unsafe { libc::getpid() } == GIVEN_TO.load(Relaxed))
}

/// The file handed over, if the program has not closed it since: its number may be another file's by then.
fn still_open() -> Option<i32> {
    let descriptor = GIVEN.load(Relaxed);
    (descriptor >= 0 && identity(descriptor) == Some(GIVEN_IS.load(Relaxed))).then_some(descriptor)
}

fn identity(descriptor: i32) -> Option<u64> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the status is written if the answer is 0.
    unsafe {
        let is_known = libc::fstat(descriptor, status.as_mut_ptr()) == 0;
        is_known.then(|| status.assume_init().st_ino)
    }
}

fn open_own() -> Option<i32> {
    let flags = libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: a constant path.
    let descriptor = unsafe { libc::open(c"/proc/self/mem".as_ptr(), flags) };
    (descriptor >= 0).then_some(descriptor)
}

fn close(descriptor: i32) {
    // SAFETY: opened or copied here.
    unsafe { libc::close(descriptor) };
}

fn may_make_executable() -> bool {
    with_page(|page| {
        protect(
            page as u64,
            page as u64 + PAGE as u64,
            libc::PROT_READ | libc::PROT_EXEC,
        )
    })
}

/// Tries it on a private page.
fn works_in_place() -> bool {
    const PATTERN: u8 = 0xc3;
    with_page(|page| {
        // SAFETY: a private page, which stays readable.
        unsafe {
            page.write_volatile(PATTERN);
            begin_in_place()
                && replace(page as u64, page as u64 + PAGE as u64)
                && page.read_volatile() == PATTERN
        }
    })
}

fn with_page(look: impl FnOnce(*mut u8) -> bool) -> bool {
    let Some(page) = map(PAGE, libc::PROT_READ | libc::PROT_WRITE) else {
        return false;
    };
    let answer = look(page);
    end();
    // SAFETY: mapped above.
    unsafe { libc::munmap(page.cast(), PAGE) };
    answer
}

fn map(bytes: usize, rights: i32) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: fresh memory.
    let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, rights, flags, -1, 0) };
    (memory != libc::MAP_FAILED).then_some(memory.cast())
}

/// Makes ready to write. False if code could not be written.
pub fn begin() -> bool {
    !is_in_place() || begin_in_place()
}

fn begin_in_place() -> bool {
    if FILE.load(Relaxed) < 0 {
        FILE.store(open_own().or_else(taken).unwrap_or(-1), Relaxed);
    }
    FILE.load(Relaxed) >= 0
}

/// The batch is over. False if a part of it was not written.
pub fn end() -> bool {
    let file = FILE.swap(-1, Relaxed);
    if file >= 0 && file != GIVEN.load(Relaxed) {
        close(file);
    }
    !IS_INCOMPLETE.swap(false, Relaxed)
}

/// Whether all of this batch was written so far.
pub fn is_complete() -> bool {
    !IS_INCOMPLETE.load(Relaxed)
}

/// Writes code that threads may be executing, byte by byte in order.
///
/// # Safety
/// [`begin`] was called; the bytes are code of this process, and writable unless it is written in place.
pub unsafe fn write(to: *mut u8, bytes: &[u8]) {
    let in_place = is_in_place();
    for (offset, &byte) in bytes.iter().enumerate() {
        // SAFETY: the caller's contract. Volatile: single-byte stores, none merged.
        unsafe {
            let to = to.add(offset);
            if !in_place {
                to.write_volatile(byte);
            } else if !write_in_place(to as u64, &raw const byte, 1) {
                IS_INCOMPLETE.store(true, Relaxed);
            }
        }
    }
}

/// # Safety
/// `bytes` can be read at `from`.
unsafe fn write_in_place(to: u64, from: *const u8, bytes: usize) -> bool {
    // SAFETY: the caller's contract; what is written to is checked by the kernel.
    let written =
        unsafe { libc::pwrite(FILE.load(Relaxed), from.cast(), bytes, to as libc::off_t) };
    written == bytes as isize
}

/// Makes pages executable that were written and that nobody executes yet; they are not writable any more.
///
/// # Safety
/// Whole pages of the patcher's own memory. Where code is written in place, [`begin`] was called.
pub unsafe fn make_executable(from: u64, to: u64) -> bool {
    if !is_in_place() {
        return protect(from, to, libc::PROT_READ | libc::PROT_EXEC);
    }
    // SAFETY: the caller's contract.
    let is_replaced = unsafe { replace(from, to) };
    if !is_replaced {
        IS_INCOMPLETE.store(true, Relaxed);
    }
    is_replaced
}

/// Puts memory that was executable from the beginning, with the same in it, in the place of pages.
///
/// # Safety
/// As for [`make_executable`].
unsafe fn replace(from: u64, to: u64) -> bool {
    let bytes = (to - from) as usize;
    let Some(fresh) = map(bytes, libc::PROT_READ | libc::PROT_EXEC) else {
        return false;
    };
    // SAFETY: fresh memory, and the patcher's own pages, which it replaces.
    unsafe {
        if write_in_place(fresh as u64, from as *const u8, bytes) {
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            let moved = libc::mremap(fresh.cast(), bytes, bytes, flags, from as *mut libc::c_void);
            if moved != libc::MAP_FAILED {
                return true;
            }
        }
        libc::munmap(fresh.cast(), bytes);
    }
    false
}

fn protect(from: u64, to: u64, rights: i32) -> bool {
    // SAFETY: the patcher's own memory.
    unsafe { libc::mprotect(from as *mut _, (to - from) as usize, rights) == 0 }
}
