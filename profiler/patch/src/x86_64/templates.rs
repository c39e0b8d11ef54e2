//! The machine code of the hooks, as templates with placeholders (see `trampoline` for what is filled in).
//!
//! An **inner** hook writes a record by itself. A **boundary** hook calls into Rust on both sides, because the beginning
//! and the end of an interval poll the plan, read labels and write markers.
//!
//! Each has three shapes. `call` returns to a constant, which lies [`RETURN_AT`] bytes after the trampoline's own
//! return address (the unwinder finds it there, too). `indirect` is the same with room for a memory operand. `moving`
//! takes the return address from the caller (tail jumps, function entries) and keeps it in its frame.
//!
//! On entry the stack holds the return address only; flags and nothing else may be changed. Field offsets of a frame
//! below `top`: ret -32, sp -24, start -16, after -8.

use core::arch::global_asm;
use core::ops::Range;

/// Distance from the address after a trampoline's own call to the constant return address.
pub const RETURN_AT: usize = 256;
/// Distance from the address after a trampoline's own call to the probe id.
pub const ID_AT: usize = RETURN_AT + 8;
/// Distance to the probe id in the form of a record.
pub const ID_FIELD_AT: usize = ID_AT + 8;
/// Room for the encoding of an indirect call or jump.
pub const OPERAND_BYTES: usize = 9;

/// Placeholders: 32-bit fields.
pub mod mark {
    /// First placeholder; the others follow.
    pub const FIRST: u32 = 0x7ee0_0000;
    /// `Thread::active`.
    pub const ACTIVE: u32 = FIRST;
    /// `Thread::top`.
    pub const TOP: u32 = FIRST + 1;
    /// `Thread::limit`.
    pub const LIMIT: u32 = FIRST + 2;
    /// `Thread::ring`.
    pub const RING: u32 = FIRST + 3;
    /// `Thread::shadow_full`.
    pub const FULL: u32 = FIRST + 4;
    /// `Thread::on_stale`.
    pub const STALE: u32 = FIRST + 5;
    /// `Thread::on_mismatch`.
    pub const MISMATCH: u32 = FIRST + 6;
    /// Direct target, relative.
    pub const TARGET: u32 = FIRST + 7;
    /// `Thread::shadow`.
    pub const SHADOW: u32 = FIRST + 8;
    /// Number of 32-bit placeholders.
    pub const COUNT: u32 = 9;
    /// 64-bit: `Boundaries::enter`.
    pub const ENTER: u64 = 0x7ee1_0000_7ee1_0001;
    /// 64-bit: `Boundaries::leave`.
    pub const LEAVE: u64 = 0x7ee1_0000_7ee1_0002;
    /// 64-bit: the stub that calls into Rust.
    pub const RUST: u64 = 0x7ee1_0000_7ee1_0003;
    /// 64-bit: `Boundaries::enter_short`.
    pub const ENTER_SHORT: u64 = 0x7ee1_0000_7ee1_0004;
    /// 64-bit: `Boundaries::leave_short`.
    pub const LEAVE_SHORT: u64 = 0x7ee1_0000_7ee1_0005;
}

global_asm!(
    // The call itself and the address after it.
    ".macro EVENKEEL_TARGET indirect",
    ".if \\indirect",
    ".fill {operand_bytes}, 1, 0x90",
    ".else",
    ".byte 0xe8",
    ".long {target}",
    ".endif",
    ".endm",
    // Runs the target as if unhooked. In an inner hook it stands next to the test that leads there, in one cache line: most
    // calls are made outside of recorded intervals. Room for the longer of both forms.
    ".macro EVENKEEL_BYPASS indirect",
    ".if \\indirect",
    ".fill {operand_bytes}, 1, 0x90",
    ".else",
    ".byte 0xe9",
    ".long {target}",
    ".endif",
    ".endm",
    ".macro EVENKEEL_INNER name, indirect, moving",
    ".balign 16",
    ".globl evenkeel_\\name, evenkeel_\\name\\()_after, evenkeel_\\name\\()_bypass, evenkeel_\\name\\()_end",
    ".hidden evenkeel_\\name, evenkeel_\\name\\()_after, evenkeel_\\name\\()_bypass, evenkeel_\\name\\()_end",
    ".irp at, entering, entered, leaving, left, full, stale, undo",
    ".globl evenkeel_\\name\\()_\\at",
    ".hidden evenkeel_\\name\\()_\\at",
    ".endr",
    "evenkeel_\\name:",
    "cmp byte ptr fs:[{active}], 0",
    "jne 5f",
    "90:",
    "evenkeel_\\name\\()_bypass:",
    "EVENKEEL_BYPASS \\indirect",
    "5:",
    "push rax",
    "push rdx",
    "push r11",
    "evenkeel_\\name\\()_entering:",
    "lea rax, [rsp+24]",
    "mov r11, qword ptr fs:[{top}]",
    "cmp [r11-24], rax",
    "jbe 70f",
    "10:",
    "cmp r11, qword ptr fs:[{limit}]",
    "jae 80f",
    "add r11, 32",
    "mov qword ptr fs:[{top}], r11",
    "lea rdx, [rip + evenkeel_\\name\\()_after]",
    "mov [r11-8], rdx",
    ".if \\moving",
    "mov rdx, [rax]",
    "mov [r11-32], rdx",
    "mov rdx, qword ptr fs:[{shadow}]",
    "cmp r11, [rdx+{end_at}]",
    "jbe 11f",
    "mov [rdx+{end_at}], r11",
    "11:",
    ".endif",
    "mov [r11-24], rax",
    "rdtsc",
    "shl rdx, 32",
    "or rdx, rax",
    "mov [r11-16], rdx",
    "evenkeel_\\name\\()_entered:",
    "pop r11",
    "pop rdx",
    "pop rax",
    "lea rsp, [rsp+8]",
    "EVENKEEL_TARGET \\indirect",
    "evenkeel_\\name\\()_after:",
    ".if \\moving",
    "lea rsp, [rsp-8]",
    ".else",
    "push qword ptr [rip + 99f]",
    ".endif",
    "push rax",
    "push rdx",
    "push r11",
    "push r10",
    "evenkeel_\\name\\()_leaving:",
    "rdtsc",
    "shl rdx, 32",
    "or rdx, rax",
    "lea rax, [rsp+32]",
    "mov r11, qword ptr fs:[{top}]",
    ".if \\moving",
    "lea r10, [rip + evenkeel_\\name\\()_after]",
    ".endif",
    "cmp [r11-24], rax",
    "jne 60f",
    ".if \\moving", // another hook's frame may have been left in this slot
    "cmp [r11-8], r10",
    "jne 60f",
    ".endif",
    "20:",
    "mov r10, [r11-16]",
    ".if \\moving",
    "mov rax, [r11-32]",
    "mov [rsp+32], rax",
    "and qword ptr [r11-32], 0", // this form has no byte to spare before its data
    "or qword ptr [r11-24], -1",
    ".else",
    "mov qword ptr [r11-24], -1",
    ".endif",
    "sub r11, 32",
    "mov qword ptr fs:[{top}], r11",
    "mov r11, qword ptr fs:[{ring}]",
    "sub rdx, r10",
    "mov rax, [r11]",
    "cmp rax, [r11+{limit_at}]",
    "jae 50f",
    "shl rdx, {duration_shift}",
    "mov eax, 16",
    "or rdx, qword ptr [rip + 97f]",
    "xadd [r11], rax",
    "bt rax, {ring_shift}",
    "adc rdx, 0",
    "and eax, {ring_mask}",
    "mov [r11+rax+{records_at}], r10",
    "mov [r11+rax+{records_at}+8], rdx",
    "30:",
    "evenkeel_\\name\\()_left:",
    "pop r10",
    "pop r11",
    "pop rdx",
    "pop rax",
    "ret",
    "evenkeel_\\name\\()_full:",
    "50:", // the ring is full
    "inc qword ptr [r11+{dropped_at}]",
    "and byte ptr fs:[{active}], {always}",
    "jmp 30b",
    "60:", // another frame is on top
    ".if \\moving",
    ".else",
    "lea r10, [rip + evenkeel_\\name\\()_after]",
    ".endif",
    "call qword ptr fs:[{mismatch}]",
    "test r11, r11",
    "jnz 20b",
    "jmp 30b",
    "evenkeel_\\name\\()_stale:",
    "70:", // the top frame is not above us: stale, unless this is a tail call
    "jb 71f",
    "mov rdx, [rax]",
    "cmp rdx, [r11-8]",
    "je 10b",
    "71:",
    "call qword ptr fs:[{stale}]",
    "jmp 10b",
    "80:", // no room for a frame
    "inc qword ptr fs:[{full}]",
    "evenkeel_\\name\\()_undo:",
    "pop r11",
    "pop rdx",
    "pop rax",
    "jmp 90b",
    ".org evenkeel_\\name\\()_after + {return_at}, 0xcc",
    "99: .quad 0",
    "98: .quad 0", // probe id: data, so that the next session's takes its place at once (see `old_trampolines`)
    "97: .quad 0", // as it stands in a record
    "evenkeel_\\name\\()_end:",
    ".endm",
    ".macro EVENKEEL_PUSH",
    "push rax",
    "push rcx",
    "push rdx",
    "push rbx",
    "push rbp",
    "push rsi",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    "push r11",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    ".endm",
    ".macro EVENKEEL_POP",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop r11",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "pop rsi",
    "pop rbp",
    "pop rbx",
    "pop rdx",
    "pop rcx",
    "pop rax",
    ".endm",
    ".macro EVENKEEL_BOUNDARY name, indirect, moving",
    ".balign 16",
    ".globl evenkeel_\\name, evenkeel_\\name\\()_after, evenkeel_\\name\\()_bypass, evenkeel_\\name\\()_end",
    ".hidden evenkeel_\\name, evenkeel_\\name\\()_after, evenkeel_\\name\\()_bypass, evenkeel_\\name\\()_end",
    "evenkeel_\\name:",
    "EVENKEEL_PUSH",
    "mov edi, dword ptr [rip + 98f]",
    "mov rsi, rsp",
    "lea rdx, [rip + evenkeel_\\name\\()_after]",
    "movabs r10, {enter_short}",
    "movabs r11, {enter}",
    "movabs rax, {rust}",
    "call rax",
    "test eax, eax",
    "EVENKEEL_POP",
    "jz 90f",
    "lea rsp, [rsp+8]",
    "EVENKEEL_TARGET \\indirect",
    "evenkeel_\\name\\()_after:",
    ".if \\moving",
    "lea rsp, [rsp-8]",
    ".else",
    "push qword ptr [rip + 99f]",
    ".endif",
    "EVENKEEL_PUSH",
    "rdtsc",
    "shl rdx, 32",
    "or rdx, rax",
    "mov rcx, rdx",
    "mov edi, dword ptr [rip + 98f]",
    "mov rsi, rsp",
    "lea rdx, [rip + evenkeel_\\name\\()_after]",
    "movabs r10, {leave_short}",
    "movabs r11, {leave}",
    "movabs rax, {rust}",
    "call rax",
    "EVENKEEL_POP",
    "ret",
    "90:",
    "evenkeel_\\name\\()_bypass:",
    "EVENKEEL_BYPASS \\indirect",
    ".org evenkeel_\\name\\()_after + {return_at}, 0xcc",
    "99: .quad 0",
    "98: .quad 0", // probe id: data, so that the next session's takes its place at once (see `old_trampolines`)
    "97: .quad 0", // as it stands in a record
    "evenkeel_\\name\\()_end:",
    ".endm",
    ".pushsection .rodata.evenkeel_templates, \"a\", @progbits",
    "EVENKEEL_INNER inner_call, 0, 0",
    "EVENKEEL_INNER inner_indirect, 1, 0",
    "EVENKEEL_INNER inner_moving, 0, 1",
    "EVENKEEL_BOUNDARY boundary_call, 0, 0",
    "EVENKEEL_BOUNDARY boundary_indirect, 1, 0",
    "EVENKEEL_BOUNDARY boundary_moving, 0, 1",
    ".popsection",
    active = const mark::ACTIVE,
    always = const crate::Thread::ALWAYS,
    top = const mark::TOP,
    limit = const mark::LIMIT,
    ring = const mark::RING,
    full = const mark::FULL,
    stale = const mark::STALE,
    mismatch = const mark::MISMATCH,
    shadow = const mark::SHADOW,
    end_at = const core::mem::offset_of!(crate::shadow::Shadow, in_flight.end),
    target = const mark::TARGET,
    enter = const mark::ENTER,
    enter_short = const mark::ENTER_SHORT,
    leave = const mark::LEAVE,
    leave_short = const mark::LEAVE_SHORT,
    rust = const mark::RUST,
    operand_bytes = const OPERAND_BYTES,
    return_at = const RETURN_AT,
    limit_at = const core::mem::offset_of!(evenkeel_wire::RingHeader, limit),
    dropped_at = const core::mem::offset_of!(evenkeel_wire::RingHeader, dropped),
    duration_shift = const evenkeel_wire::record::DURATION_SHIFT,
    ring_shift = const evenkeel_wire::ring::RING_SHIFT,
    ring_mask = const evenkeel_wire::ring::RING_BYTES - 1,
    records_at = const evenkeel_wire::ring::RECORDS_AT,
);

macro_rules! template {
    ($what:ident, $start:ident, $after:ident, $bypass:ident, $end:ident, $indirect:literal, $moving:literal, $exits:expr) => {
        unsafe extern "C" {
            static $start: u8;
            static $after: u8;
            static $bypass: u8;
            static $end: u8;
        }
        /// See the module's head.
        pub fn $what() -> Template {
            // SAFETY: symbols of the templates above, in this order, in one read-only section.
            unsafe {
                let start = &raw const $start;
                let at = |symbol: *const u8| symbol.offset_from(start) as usize;
                Template {
                    code: core::slice::from_raw_parts(start, at(&raw const $end)),
                    after: at(&raw const $after),
                    bypass: at(&raw const $bypass),
                    indirect: $indirect,
                    moving: $moving,
                    exits: $exits(start),
                }
            }
        }
    };
}

macro_rules! exits {
    ($what:ident, $entering:ident, $entered:ident, $leaving:ident, $left:ident, $full:ident, $stale:ident, $undo:ident) => {
        unsafe extern "C" {
            static $entering: u8;
            static $entered: u8;
            static $leaving: u8;
            static $left: u8;
            static $full: u8;
            static $stale: u8;
            static $undo: u8;
        }
        /// Exits of the template that begins there.
        unsafe fn $what(start: *const u8) -> Option<Exits> {
            // SAFETY: symbols of the templates above, of the one that begins at `start`.
            unsafe {
                let at = |symbol: *const u8| symbol.offset_from(start) as usize;
                Some(Exits {
                    entering: [
                        at(&raw const $entering)..at(&raw const $entered),
                        at(&raw const $stale)..at(&raw const $undo),
                    ],
                    undo: at(&raw const $undo),
                    leaving: [
                        at(&raw const $leaving)..at(&raw const $left),
                        at(&raw const $full)..at(&raw const $stale),
                    ],
                    left: at(&raw const $left),
                })
            }
        }
    };
}

/// Boundary hooks do nothing by themselves that could fail.
unsafe fn no_exits(_: *const u8) -> Option<Exits> {
    None
}

/// Where a thread whose instruction fails in an inner hook can go on: offsets into the template.
#[derive(Clone, Debug)]
pub struct Exits {
    /// Before the call, with the registers `rax`, `rdx` and `r11` on the stack ...
    pub entering: [Range<usize>; 2],
    /// ... from where they are taken from there, and the call runs as if unhooked.
    pub undo: usize,
    /// After the call, with `r10` on the stack, too ...
    pub leaving: [Range<usize>; 2],
    /// ... from where they are taken from there, and the call returns.
    pub left: usize,
}

/// A template.
#[derive(Clone, Debug)]
pub struct Template {
    /// The code, placeholders included.
    pub code: &'static [u8],
    /// Offset of the address after the trampoline's own call.
    pub after: usize,
    /// Offset of the jump that runs the target unhooked.
    pub bypass: usize,
    /// Has room for memory operands instead of a direct target.
    pub indirect: bool,
    /// Keeps its return address in the frame.
    pub moving: bool,
    /// Where a thread can leave it; only inner hooks.
    pub exits: Option<Exits>,
}

template!(
    inner_call,
    evenkeel_inner_call,
    evenkeel_inner_call_after,
    evenkeel_inner_call_bypass,
    evenkeel_inner_call_end,
    false,
    false,
    exits_of_call
);
template!(
    inner_indirect,
    evenkeel_inner_indirect,
    evenkeel_inner_indirect_after,
    evenkeel_inner_indirect_bypass,
    evenkeel_inner_indirect_end,
    true,
    false,
    exits_of_indirect
);
template!(
    inner_moving,
    evenkeel_inner_moving,
    evenkeel_inner_moving_after,
    evenkeel_inner_moving_bypass,
    evenkeel_inner_moving_end,
    false,
    true,
    exits_of_moving
);
template!(
    boundary_call,
    evenkeel_boundary_call,
    evenkeel_boundary_call_after,
    evenkeel_boundary_call_bypass,
    evenkeel_boundary_call_end,
    false,
    false,
    no_exits
);
template!(
    boundary_indirect,
    evenkeel_boundary_indirect,
    evenkeel_boundary_indirect_after,
    evenkeel_boundary_indirect_bypass,
    evenkeel_boundary_indirect_end,
    true,
    false,
    no_exits
);
template!(
    boundary_moving,
    evenkeel_boundary_moving,
    evenkeel_boundary_moving_after,
    evenkeel_boundary_moving_bypass,
    evenkeel_boundary_moving_end,
    false,
    true,
    no_exits
);
exits!(
    exits_of_call,
    evenkeel_inner_call_entering,
    evenkeel_inner_call_entered,
    evenkeel_inner_call_leaving,
    evenkeel_inner_call_left,
    evenkeel_inner_call_full,
    evenkeel_inner_call_stale,
    evenkeel_inner_call_undo
);
exits!(
    exits_of_indirect,
    evenkeel_inner_indirect_entering,
    evenkeel_inner_indirect_entered,
    evenkeel_inner_indirect_leaving,
    evenkeel_inner_indirect_left,
    evenkeel_inner_indirect_full,
    evenkeel_inner_indirect_stale,
    evenkeel_inner_indirect_undo
);
exits!(
    exits_of_moving,
    evenkeel_inner_moving_entering,
    evenkeel_inner_moving_entered,
    evenkeel_inner_moving_leaving,
    evenkeel_inner_moving_left,
    evenkeel_inner_moving_full,
    evenkeel_inner_moving_stale,
    evenkeel_inner_moving_undo
);
