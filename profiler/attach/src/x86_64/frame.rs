//! The frame of a signal: what `rt_sigreturn` restores a thread from (arch/x86/include/uapi/asm/sigcontext.h of Linux).
//!
//! ```text
//! slot       return address
//! slot + 8   ucontext: flags, link, alternate stack, general registers, mask
//! ...        vector registers, aligned to 64
//! ```

use framehop::UnwindRegsNative;

use super::registers::{LEAVING_BYTES, Registers};
use crate::tracer::{Errno, Memory};

/// The code that a handler of the C library's returns to: `mov rax, rt_sigreturn; syscall`.
pub const RETURN: [u8; LEAVING_BYTES] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];

/// The code that a called function returns to. It stores the result in the word `result_at` bytes from here, and the
/// value left in `errno` in the next word. It restores `errno`, sends `signal`, if any, to its own thread, and leaves
/// the frame.
pub fn stub(result_at: i32, errno: Option<Errno>, signal: Option<i32>) -> Vec<u8> {
    const STORE_BYTES: i32 = 7;
    let mut code = vec![0x48, 0x89, 0x05]; // mov [rip + disp32], rax
    code.extend((result_at - STORE_BYTES).to_le_bytes());
    if let Some(errno) = errno {
        code.extend([0x48, 0xb9]); // mov rcx, imm64
        code.extend(errno.at.to_le_bytes());
        code.extend([0x48, 0x63, 0x01]); // movsxd rax, dword [rcx]
        let end = code.len() as i32 + STORE_BYTES;
        code.extend([0x48, 0x89, 0x05]); // mov [rip + disp32], rax
        code.extend((result_at + 8 - end).to_le_bytes());
        code.extend([0xc7, 0x01]); // mov dword [rcx], imm32
        code.extend(errno.value);
    }
    if let Some(signal) = signal {
        code.extend(system_call(libc::SYS_getpid));
        code.extend([0x89, 0xc7]); // mov edi, eax
        code.extend(system_call(libc::SYS_gettid));
        code.extend([0x89, 0xc6]); // mov esi, eax
        code.push(0xba); // mov edx, imm32
        code.extend(signal.to_le_bytes());
        code.extend(system_call(libc::SYS_tgkill));
    }
    code.extend(RETURN);
    code
}

/// `mov eax, number; syscall`.
fn system_call(number: i64) -> [u8; 7] {
    let [a, b, c, d] = (number as u32).to_le_bytes();
    [0xb8, a, b, c, d, 0x0f, 0x05]
}

/// Program counter and registers that a signal's handler has interrupted, whose return finds the stack pointer at `sp`: there is
/// the ucontext.
pub fn interrupted_by_handler(sp: u64, memory: &Memory) -> Option<(u64, UnwindRegsNative)> {
    // Flags, link and alternate stack come first, then r8 to r15, then rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp and
    // rip.
    const GENERAL_AT: u64 = 40;
    let general = |index: u64| memory.word(sp + GENERAL_AT + 8 * index).ok();
    let (bp, sp, pc) = (general(10)?, general(15)?, general(16)?);
    Some((pc, UnwindRegsNative::new(pc, sp, bp)))
}

const UCONTEXT_BYTES: usize = 304;
/// Flags of `uc_flags`: the frame has the extended state; its stack segment is meant.
const FLAGS: u64 = 1 | 2 | 4;
/// Flags of an alternate stack that every kernel refuses: the stack is not changed.
const NO_STACK: u64 = 0x7777;
const MAGIC_1: u32 = 0x4650_5853;
const MAGIC_2: u32 = 0x4650_5845;
/// Where the kernel's description of the extended state lies in it, and the mask of its features.
const DESCRIPTION_AT: usize = 464;
/// The feature whose state a process has only if it asked for it (AMX); it comes last.
const TILES: u32 = 18;

/// Largest size of a frame with this many bytes of vector registers.
pub fn bytes_max(vectors: usize) -> u64 {
    (8 + UCONTEXT_BYTES + 64 + vectors + 8) as u64
}

/// The frame, to be written at `slot`, which is 8 beyond a multiple of 16.
pub fn frame(
    registers: &Registers,
    vectors: &[u8],
    mask: u64,
    slot: u64,
    returns_to: u64,
) -> Vec<u8> {
    let state_at = (slot + 8 + UCONTEXT_BYTES as u64).next_multiple_of(64);
    let r = registers.after_interruption();
    let segments = (r.cs & 0xffff) | (r.ss & 0xffff) << 48;
    let words = [
        returns_to, FLAGS, 0, 0, NO_STACK, 0, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15,
        r.rdi, r.rsi, r.rbp, r.rbx, r.rdx, r.rax, r.rcx, r.rsp, r.rip, r.eflags, segments, 0, 0, 0,
        0, state_at,
    ];
    let mut frame: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    frame.resize(8 + UCONTEXT_BYTES - 8, 0);
    frame.extend(mask.to_le_bytes());
    frame.resize((state_at - slot) as usize, 0);
    frame.extend(extended_state(vectors));
    frame
}

/// The vector registers, described as the kernel does in frames.
fn extended_state(vectors: &[u8]) -> Vec<u8> {
    let word = |at: usize| u64::from_le_bytes(vectors[at..at + 8].try_into().expect("eight bytes"));
    let mut state = vectors.to_owned();
    let mut features = word(DESCRIPTION_AT);
    if features >> TILES & 1 == 1 {
        let tiles_at = std::arch::x86_64::__cpuid_count(0xd, TILES).ebx as usize;
        state.truncate(tiles_at);
        features &= !(1 << TILES);
    }
    let bytes = state.len() as u32;
    state[DESCRIPTION_AT..DESCRIPTION_AT + 4].copy_from_slice(&MAGIC_1.to_le_bytes());
    state[DESCRIPTION_AT + 4..DESCRIPTION_AT + 8].copy_from_slice(&(bytes + 4).to_le_bytes());
    state[DESCRIPTION_AT + 8..DESCRIPTION_AT + 16].copy_from_slice(&features.to_le_bytes());
    state[DESCRIPTION_AT + 16..DESCRIPTION_AT + 20].copy_from_slice(&bytes.to_le_bytes());
    state.extend(MAGIC_2.to_le_bytes());
    state
}
