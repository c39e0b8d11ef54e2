//! Entry of a function that replaces one of the C library's, so that it can be left at any instruction.

use core::arch::global_asm;

use evenkeel_patch::thread::{current, offsets};

use crate::next::Next;
use crate::replacement::{Call, Progress};

// In: rax = the function that does the work, r10 = the C library's; everything else as the caller of the C library's function left it. The
// words of a `Call` are pushed from the last to the first, above them the registers that functions preserve. The seventh argument is the
// caller's stack, whatever lies there.
global_asm!(
    ".pushsection .text.evenkeel_replacement, \"ax\", @progbits",
    ".globl evenkeel_replacement",
    ".hidden evenkeel_replacement",
    ".type evenkeel_replacement, @function",
    "evenkeel_replacement:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov r11, qword ptr [rip + evenkeel_thread@GOTTPOFF]",
    "push r10",
    "push qword ptr fs:[r11+{replacement}]",
    "push 0",
    "push {before}",
    "push qword ptr [rbp+16]",
    "push r9",
    "push r8",
    "push rcx",
    "push rdx",
    "push rsi",
    "push rdi",
    "mov qword ptr fs:[r11+{replacement}], rsp",
    "mov rdi, rsp",
    "call rax",
    "mov r11, qword ptr [rip + evenkeel_thread@GOTTPOFF]",
    "mov rcx, qword ptr [rsp+{outer}]",
    "mov qword ptr fs:[r11+{replacement}], rcx",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size evenkeel_replacement, . - evenkeel_replacement",
    ".popsection",
    replacement = const offsets::REPLACEMENT,
    before = const Progress::Before as u64,
    outer = const core::mem::offset_of!(Call, outer),
);

/// Words above a [`Call`]: r15 down to rbx, rbp, the return address.
const PRESERVED: [libc::c_int; 6] = [
    libc::REG_R15,
    libc::REG_R14,
    libc::REG_R13,
    libc::REG_R12,
    libc::REG_RBX,
    libc::REG_RBP,
];
/// Registers of the first arguments (System V ABI 3.2.3).
const ARGUMENTS: [libc::c_int; 6] = [
    libc::REG_RDI,
    libc::REG_RSI,
    libc::REG_RDX,
    libc::REG_RCX,
    libc::REG_R8,
    libc::REG_R9,
];
/// Bytes of stack that a function may use: what lies further away is another stack.
const STACK_BYTES: u64 = 256 << 10;

/// Defines a function whose work `$body` does: `extern "C" fn(&Call) -> result`. `waits`: while waits are not followed, it is left at once.
macro_rules! define_replacement {
    (waits $(#[$meta:meta])* $name:ident($($arg:ident: $type:ty),*) -> $ret:ty, $next:path, $body:path) => {
        $(#[$meta])*
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
            core::arch::naked_asm!(
                "cmp qword ptr [rip + {table}], 0",
                "jne 2f",
                "mov rax, qword ptr [rip + {next} + {address}]",
                "test rax, rax",
                "je 2f",
                "jmp rax",
                "2:",
                "lea rax, [rip + {body}]",
                "lea r10, [rip + {next}]",
                "jmp evenkeel_replacement",
                table = sym $crate::waits::switch::TABLE,
                address = const $crate::next::ADDRESS,
                body = sym $body,
                next = sym $next,
            )
        }
    };
    (always $(#[$meta:meta])* $name:ident($($arg:ident: $type:ty),*) -> $ret:ty, $next:path, $body:path) => {
        $(#[$meta])*
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
            core::arch::naked_asm!(
                "lea rax, [rip + {body}]",
                "lea r10, [rip + {next}]",
                "jmp evenkeel_replacement",
                body = sym $body,
                next = sym $next,
            )
        }
    };
}
pub(crate) use define_replacement;

/// The innermost call on the stack that a thread stands on, if it is in one.
pub fn innermost(context: &libc::ucontext_t) -> Option<u64> {
    let (call, sp) = (
        current().replacement,
        context.uc_mcontext.gregs[libc::REG_RSP as usize] as u64,
    );
    (call != 0 && (call.saturating_sub(STACK_BYTES)..=call).contains(&sp)).then_some(call)
}

/// Lets a thread continue where the call leads whose words are kept at `call`. Which function that is; `None` if there is no way on.
///
/// # Safety
/// Called from the handler of a fault, with the context of an instruction of the agent's, and what [`innermost`] has found.
pub unsafe fn leave(context: &mut libc::ucontext_t, call: u64) -> Option<&'static Next> {
    let registers = &mut context.uc_mcontext.gregs;
    // SAFETY: the caller's contract.
    let (kept, above) = unsafe {
        let kept = &*(call as *const Call);
        (kept, (kept as *const Call).add(1).cast::<u64>())
    };
    let sp = above as u64 + 8 * PRESERVED.len() as u64;
    let (sp, ip) = match kept.progress.get() {
        Progress::Calling => return None,
        Progress::Before => {
            for (register, argument) in ARGUMENTS.into_iter().zip(kept.arguments) {
                registers[register as usize] = argument as i64;
            }
            (sp, kept.next.get() as u64)
        }
        Progress::Returned => {
            registers[libc::REG_RAX as usize] = kept.result.get() as i64;
            // SAFETY: the return address.
            (sp + 8, unsafe { *(sp as *const u64) })
        }
    };
    for (index, register) in PRESERVED.into_iter().enumerate() {
        // SAFETY: the words that were pushed.
        registers[register as usize] = unsafe { *above.add(index) } as i64;
    }
    registers[libc::REG_RSP as usize] = sp as i64;
    registers[libc::REG_RIP as usize] = ip as i64;
    current().replacement = kept.outer;
    Some(kept.next)
}
