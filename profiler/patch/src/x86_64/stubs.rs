//! The ways from trampolines into Rust: every register is saved, vector registers included, because compiled code may
//! use any of them and a trampoline must preserve them all.

use core::arch::global_asm;

use crate::thread::current;

/// General registers at a boundary hook, in the order in which the trampoline pushed them, then the return slot.
#[derive(Debug)]
#[repr(C)]
pub struct Registers {
    /// r15 down to r8.
    pub r15_to_r8: [u64; 8],
    /// rdi.
    pub rdi: u64,
    /// rsi.
    pub rsi: u64,
    /// rbp.
    pub rbp: u64,
    /// rbx.
    pub rbx: u64,
    /// rdx.
    pub rdx: u64,
    /// rcx.
    pub rcx: u64,
    /// rax.
    pub rax: u64,
    /// The stack slot of the return address. Its address is the frame's `sp`.
    pub return_slot: u64,
}

impl Registers {
    /// Address of the return slot.
    pub fn sp(&self) -> u64 {
        &raw const self.return_slot as u64
    }

    /// The integer or pointer argument at `index`, at a function's entry (System V ABI 3.2.3).
    pub fn argument(&self, index: u8) -> u64 {
        match index {
            0 => self.rdi,
            1 => self.rsi,
            2 => self.rdx,
            3 => self.rcx,
            4 => self.r15_to_r8[7],
            5 => self.r15_to_r8[6],
            // SAFETY: stack arguments lie above the return address.
            n => unsafe { *(&raw const self.return_slot).add(n as usize - 5) },
        }
    }
}

/// What happens at the boundaries of intervals: set once, before the first boundary trampoline is made.
#[derive(Clone, Copy)]
pub struct Boundaries {
    /// A boundary call begins: probe id, registers, the trampoline's `after`. 1: its return shall be reported too, and
    /// a frame was pushed; 0: it runs as if unhooked.
    pub enter: extern "C" fn(u32, &mut Registers, u64) -> u32,
    /// A boundary call returned at `now`: probe id, registers, `after`, `now`.
    pub leave: extern "C" fn(u32, &mut Registers, u64, u64),
}

// rdi, rsi, rdx, rcx: arguments; r11: function. Returns rax. The XSAVE area is 2,688 bytes for x87, SSE, AVX and AVX-512
// (mask 0xe7; the processor ignores what it lacks). The header must be zero beforehand: XSAVE leaves parts of it alone.
global_asm!(
    ".pushsection .text.evenkeel_stubs, \"ax\", @progbits",
    ".globl evenkeel_call_rust",
    ".hidden evenkeel_call_rust",
    "evenkeel_call_rust:",
    "push rbp",
    "mov rbp, rsp",
    "push rbx",
    "sub rsp, 2752",
    "and rsp, -64",
    "mov r8, rdx",
    "xor eax, eax",
    "mov [rsp+512], rax",
    "mov [rsp+520], rax",
    "mov [rsp+528], rax",
    "mov [rsp+536], rax",
    "mov [rsp+544], rax",
    "mov [rsp+552], rax",
    "mov [rsp+560], rax",
    "mov [rsp+568], rax",
    "mov eax, 0xe7",
    "xor edx, edx",
    "xsave64 [rsp]",
    "mov rdx, r8",
    "cld",
    "call r11",
    "mov rbx, rax",
    "mov eax, 0xe7",
    "xor edx, edx",
    "xrstor64 [rsp]",
    "mov rax, rbx",
    "mov rbx, [rbp-8]",
    "mov rsp, rbp",
    "pop rbp",
    "ret",
    // In: rax = sp, r10 = after (mismatch only). Out: r11. Everything else is preserved.
    ".macro EVENKEEL_SLOW name, function",
    ".globl \\name",
    ".hidden \\name",
    "\\name:",
    "push rax",
    "push rcx",
    "push rdx",
    "push rsi",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    "mov rdi, rax",
    "mov rsi, r10",
    "lea r11, [rip + \\function]",
    "call evenkeel_call_rust",
    "mov r11, rax",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "pop rsi",
    "pop rdx",
    "pop rcx",
    "pop rax",
    "ret",
    ".endm",
    "EVENKEEL_SLOW evenkeel_stale_stub, {stale}",
    "EVENKEEL_SLOW evenkeel_mismatch_stub, {mismatch}",
    ".popsection",
    stale = sym stale,
    mismatch = sym mismatch,
);

unsafe extern "C" {
    /// Saves vector registers and calls the function in r11; called by trampolines only.
    pub fn evenkeel_call_rust();
    /// See [`super::tls::stale_stub`].
    pub fn evenkeel_stale_stub();
    /// See [`super::tls::mismatch_stub`].
    pub fn evenkeel_mismatch_stub();
}

/// An entry found a top frame that may be stale. Returns the new top.
extern "C" fn stale(sp: u64) -> u64 {
    let thread = current();
    thread.drop_stale(sp);
    thread.top as u64
}

/// A return found another frame on top. Returns the top with its own frame on it, or 0: nothing to record.
extern "C" fn mismatch(sp: u64, after: u64) -> u64 {
    let thread = current();
    if thread.surface(sp, after) {
        return thread.top as u64;
    }
    thread.frames_lost += 1;
    restore_return(thread, sp, after);
    0
}

/// Puts the return address of a call without a frame back into its slot, unless the trampoline already did.
pub fn restore_return(thread: &mut crate::Thread, sp: u64, after: u64) {
    // SAFETY: the slot lies on the stack of the returning call. A trampoline that knows its return address has already
    // stored it; in any other the slot still holds what its own call pushed.
    unsafe {
        let slot = sp as *mut u64;
        if *slot == after {
            match thread.exhume(sp, after) {
                Some(ret) => *slot = ret,
                None => core::arch::asm!("ud2", options(noreturn)),
            }
        }
    }
}
