//! The ways from trampolines into Rust. A trampoline must preserve all registers, vector registers included.
//!
//! The long way saves the processor's whole state, because the C library uses any register. That takes 110 ns where
//! the AVX-512 registers are at rest, up to 280 ns where they are not, and twice for each interval. The short way
//! suffices for nearly every interval. It saves the sixteen `xmm` registers in 4 ns: code compiled for baseline
//! x86-64 knows no others, and leaves the upper parts of wider ones alone.

use core::arch::global_asm;

use crate::thread::{current, offsets};

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

    /// Instruction pointer, stack pointer and frame pointer of the caller after the return of the call.
    pub fn caller(&self) -> [u64; 3] {
        [self.return_slot, self.sp() + 8, self.rbp]
    }

    /// The integer or pointer that a function returned (System V ABI 3.2.3).
    pub fn result(&self) -> u64 {
        self.rax
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

/// Functions at the boundaries of intervals: set once, before the first boundary trampoline is made.
///
/// The short ways are tried first. They may execute nothing but code compiled with [`SHORT_WAYS`] true: no function of the
/// C library. They do all there is to do, or return [`NOT_SHORT`] and leave all of it to the long way.
#[derive(Clone, Copy)]
pub struct Boundaries {
    /// A boundary call begins: probe id, registers, the trampoline's `after`. Returns 1 if its return is to be
    /// reported too, and a frame was pushed; 0 if it runs as if unhooked.
    pub enter: extern "C" fn(u32, &mut Registers, u64) -> u32,
    /// A boundary call returned at `now`: probe id, registers, `after`, `now`.
    pub leave: extern "C" fn(u32, &mut Registers, u64, u64),
    /// The short way of `enter`.
    pub enter_short: extern "C" fn(u32, &mut Registers, u64) -> u32,
    /// The short way of `leave`; anything but [`NOT_SHORT`]: done.
    pub leave_short: extern "C" fn(u32, &mut Registers, u64, u64) -> u32,
}

/// A short way's answer that the long way is to be taken.
pub const NOT_SHORT: u32 = 2;

/// Whether this code is compiled for processors whose vector registers the short way does not save.
pub const SHORT_WAYS: bool = !cfg!(target_feature = "avx");

// rdi, rsi, rdx, rcx: arguments; r10: the short way; r11: the long one. Returns rax.
global_asm!(
    ".macro EVENKEEL_XMM operation, store",
    ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    ".if \\store",
    "\\operation [rsp+16*\\i], xmm\\i",
    ".else",
    "\\operation xmm\\i, [rsp+16*\\i]",
    ".endif",
    ".endr",
    ".endm",
    ".pushsection .text.evenkeel_stubs, \"ax\", @progbits",
    ".globl evenkeel_call_boundary",
    ".hidden evenkeel_call_boundary",
    "evenkeel_call_boundary:",
    "push rbp",
    "mov rbp, rsp",
    "sub rsp, 304",
    "and rsp, -16",
    "EVENKEEL_XMM movaps, 1",
    "mov [rsp+256], rdi",
    "mov [rsp+264], rsi",
    "mov [rsp+272], rdx",
    "mov [rsp+280], rcx",
    "mov [rsp+288], r11",
    // Where a fault of the function leads: see `fault`.
    "mov r8, qword ptr [rip + evenkeel_thread@GOTTPOFF]",
    "mov fs:[r8+{guard_base}], rbp",
    "mov fs:[r8+{guard}], rsp",
    "cld",
    "call r10",
    "EVENKEEL_XMM movaps, 0",
    "cmp eax, {not_short}",
    "je 1f",
    "2:",
    "mov r8, qword ptr [rip + evenkeel_thread@GOTTPOFF]",
    "mov qword ptr fs:[r8+{guard}], 0",
    "mov rsp, rbp",
    "pop rbp",
    "ret",
    "1:",
    "mov rdi, [rsp+256]",
    "mov rsi, [rsp+264]",
    "mov rdx, [rsp+272]",
    "mov rcx, [rsp+280]",
    "mov r11, [rsp+288]",
    "call evenkeel_call_long",
    "jmp 2b",
    ".popsection",
    not_short = const NOT_SHORT,
    guard = const offsets::GUARD,
    guard_base = const offsets::GUARD_BASE,
);

// rdi, rsi, rdx and rcx are arguments, and r11 the function. Returns rax. The XSAVE area is 2,688 bytes for x87, SSE,
// AVX and AVX-512 (mask 0xe7; the processor ignores what it lacks). The header must be zero beforehand, because XSAVE
// does not write all of it.
global_asm!(
    ".pushsection .text.evenkeel_stubs, \"ax\", @progbits",
    ".macro EVENKEEL_RUST name, guarded",
    ".globl \\name",
    ".hidden \\name",
    "\\name:",
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
    ".if \\guarded",
    "mov r8, qword ptr [rip + evenkeel_thread@GOTTPOFF]",
    "mov fs:[r8+{guard_base}], rbp",
    "mov fs:[r8+{guard}], rsp",
    ".endif",
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
    ".endm",
    "EVENKEEL_RUST evenkeel_call_rust, 0",
    "EVENKEEL_RUST evenkeel_call_long, 1",
    // In: rax = sp, r10 = after and rdx = now (mismatch only). Out: r11. Everything else is preserved.
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
    guard = const offsets::GUARD,
    guard_base = const offsets::GUARD_BASE,
);

unsafe extern "C" {
    /// Calls the function in r10, and if that declines, the one in r11 as `evenkeel_call_long` does; called by
    /// trampolines only.
    pub fn evenkeel_call_boundary();
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

/// A return at `now`, which the trampoline has in rdx, found another frame on top. Returns the top with its own frame on it, or 0:
/// nothing to record.
extern "C" fn mismatch(sp: u64, after: u64, now: u64) -> u64 {
    let thread = current();
    if thread.surface(sp, after, now) {
        return thread.top as u64;
    }
    thread.lose_frame();
    restore_return(thread, sp, after);
    0
}

/// Puts the return address of a call without a frame back into its slot, unless the trampoline already did.
pub fn restore_return(thread: &crate::Thread, sp: u64, after: u64) {
    // SAFETY: the slot lies on the stack of the returning call. A trampoline that knows its return address has already
    // stored it; in any other the slot still holds what its own call pushed.
    unsafe {
        let slot = sp as *mut u64;
        if *slot == after {
            match crate::shadow::recover(thread.shadow.as_ref(), sp, after) {
                Some(ret) => *slot = ret,
                // Not reached: no frame with a return address is dropped while its slot holds the trampoline's (see
                // `shadow`). A thread that came here nevertheless could go nowhere.
                None => core::arch::asm!("ud2", options(noreturn)),
            }
        }
    }
}
