//! `longjmp` and its kin: the calls that it leaves end where it is called ([`evenkeel_patch::leaving`]).
//!
//! Where it leads is the stack pointer that glibc keeps in the buffer, mixed with a secret of the process (`PTR_MANGLE`,
//! sysdeps/unix/sysv/linux/x86_64/pointer_guard.h). That is read back here; a try when the library is loaded says whether this C
//! library does it so. If not, calls left this way end when their frames are found stale.

use core::arch::{asm, naked_asm};
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use evenkeel_patch::thread;

use crate::next::Next;
use crate::{masks, replacement};

/// Index of the stack pointer in a buffer (`JB_RSP`).
const STACK_POINTER: usize = 6;
/// Index of the word that says whether a signal mask was saved, and of the mask (`struct __jmp_buf_tag` of glibc).
const MASK_WAS_SAVED: usize = 8;
const MASK: usize = 9;
/// Words of a buffer that are looked at, and more than any C library writes.
const BUFFER_WORDS: usize = 64;

static IS_KNOWN: AtomicBool = AtomicBool::new(false);

/// Finds out whether buffers can be read.
pub fn learn() {
    let mut buffer = [0; BUFFER_WORDS];
    // SAFETY: room enough; nobody jumps there.
    let expected = unsafe { save(buffer.as_mut_ptr()) };
    // SAFETY: just written.
    let found = unsafe { stack_pointer(buffer.as_ptr()) };
    IS_KNOWN.store(found == expected, Relaxed);
}

/// Writes a buffer; returns the stack pointer that must be in it.
#[unsafe(naked)]
unsafe extern "C" fn save(buffer: *mut u64) -> u64 {
    unsafe extern "C" {
        fn _setjmp(buffer: *mut u64) -> c_int;
    }
    naked_asm!(
        "sub rsp, 8",
        "call {setjmp}",
        "mov rax, rsp",
        "add rsp, 8",
        "ret",
        setjmp = sym _setjmp,
    )
}

/// The stack pointer that a buffer leads to.
unsafe fn stack_pointer(buffer: *const u64) -> u64 {
    // SAFETY: the caller's buffer; the secret lies in the thread's control block.
    unsafe {
        let secret: u64;
        asm!("mov {}, qword ptr fs:[0x30]", out(reg) secret, options(nostack, readonly, preserves_flags));
        buffer.add(STACK_POINTER).read().rotate_right(17) ^ secret
    }
}

/// The thread is about to jump; returns by which function.
extern "C" fn leave(buffer: *mut u64, function: &Next) -> usize {
    if IS_KNOWN.load(Relaxed) {
        // SAFETY: the target's buffer, which begins with the C library's words.
        let sp = unsafe {
            if buffer.add(MASK_WAS_SAVED).cast::<c_int>().read() != 0 {
                masks::open_saved(buffer.add(MASK));
            }
            stack_pointer(buffer)
        };
        replacement::left_for(sp);
        thread::current().left_for(sp);
    }
    function.get()
}

/// Defines functions that jump, each left by a jump with its arguments as they were.
macro_rules! jumping {
    ($($name:ident)*) => {$(
        /// As the C library's.
        ///
        /// # Safety
        /// As longjmp(3).
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(buffer: *mut u64, value: c_int) {
            #[unsafe(link_section = "evenkeel_next")]
            static NEXT: Next = Next::replaced(
                concat!(stringify!($name), "\0"),
                "\0",
                $name as *const (),
            );
            naked_asm!(
                "push rdi",
                "push rsi",
                "sub rsp, 8",
                "lea rsi, [rip + {next}]",
                "call {leave}",
                "add rsp, 8",
                "pop rsi",
                "pop rdi",
                "jmp rax",
                next = sym NEXT,
                leave = sym leave,
            )
        }
    )*};
}

jumping! { longjmp _longjmp siglongjmp __longjmp_chk }
