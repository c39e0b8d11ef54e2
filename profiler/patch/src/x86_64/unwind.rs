//! Exceptions and `pthread_exit` unwind through trampolines: call frame information for their region.
//!
//! While a hooked call runs, its stack slot holds an address in a trampoline. For a trampoline with a constant return
//! address, that address lies `RETURN_AT` bytes further on, so one expression over the program counter serves them
//! all. For the moving ones a second expression searches the shadow stacks for the frame with this stack pointer and
//! this program counter.
//!
//! A signal may interrupt any other instruction of a trampoline, and its handler may unwind (`backtrace` in a sampling
//! profiler or a watchdog). The return address is elsewhere then, so both expressions end the stack there.
//!
//! DWARF 5, 6.4 and 2.5; Linux Standard Base 5.0, 10.6 (`.eh_frame`). Two facts about libgcc shape the bytes. It
//! takes two frames with one canonical frame address for the same one, so the CFA here is rsp - 1 and rsp is restored
//! from it. Column 16 in an expression is the program counter of the frame being unwound.

use core::ffi::{c_int, c_void};
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering::*};

use super::templates::RETURN_AT;
use crate::shadow::{Node, SHADOWS};
use crate::thread::current;

const BYTES_MAX: usize = 384;

/// `.eh_frame_hdr` (Linux Standard Base 5.0, 10.6.2) without a table: the version, an absolute pointer, nothing, nothing.
const HEADER: [u8; 4] = [1, 0x00, 0xff, 0xff];

/// Call frame information for one region, registered for the life of the process.
#[repr(C, align(8))]
pub struct FrameInfo {
    bytes: [u8; BYTES_MAX],
    len: usize,
    /// The region: `low .. high`.
    low: u64,
    high: u64,
    /// Leads to `bytes`.
    header: [u8; HEADER.len() + 8],
    /// The one registered before.
    next: *const FrameInfo,
    /// `struct object` of libgcc's unwind-dw2-fde.h: six words there, with room to grow.
    object: [u64; 32],
}

unsafe extern "C" {
    fn __register_frame_info(begin: *const c_void, object: *mut c_void);
    fn _Unwind_Find_FDE(at: *mut c_void, bases: *mut [u64; 3]) -> *const c_void;
    fn _Unwind_GetCFA(context: *mut c_void) -> u64;
    fn _Unwind_GetIP(context: *mut c_void) -> u64;
}

/// `_UA_CLEANUP_PHASE` (Itanium C++ ABI: Exception Handling, 1.3): the handler is known, and frames are being left.
const CLEANUP_PHASE: c_int = 2;
/// `_URC_CONTINUE_UNWIND`.
const CONTINUE_UNWIND: c_int = 8;

/// The personality routine of trampolines: their hooked calls are left. The canonical frame address is that of the frame
/// which the unwinder came from, so the slot of the trampoline's own call lies below it.
unsafe extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    context: *mut c_void,
) -> c_int {
    if actions & CLEANUP_PHASE != 0 {
        // SAFETY: the unwinder's context.
        let (slot, after) = unsafe { (_Unwind_GetCFA(context) - 8, _Unwind_GetIP(context)) };
        let here = &raw const slot as u64;
        current().unwound(slot, after, here);
    }
    CONTINUE_UNWIND
}

mod op {
    pub const ADDR: u8 = 0x03;
    pub const DEREF: u8 = 0x06;
    pub const DUP: u8 = 0x12;
    pub const DROP: u8 = 0x13;
    pub const OVER: u8 = 0x14;
    pub const PICK: u8 = 0x15;
    pub const SWAP: u8 = 0x16;
    pub const AND: u8 = 0x1a;
    pub const MINUS: u8 = 0x1c;
    pub const PLUS: u8 = 0x22;
    pub const PLUS_UCONST: u8 = 0x23;
    pub const BRA: u8 = 0x28;
    pub const EQ: u8 = 0x29;
    pub const LT: u8 = 0x2d;
    pub const SKIP: u8 = 0x2f;
    pub const LIT0: u8 = 0x30;
    pub const BREG7: u8 = 0x77;
    pub const BREG16: u8 = 0x80;
    pub const CONST8U: u8 = 0x0e;
}

/// Instruction at the address after a trampoline's own call, where the return address is a constant: `push [rip + d]`.
const PUSH_RETURN: u64 = 0x35ff | (RETURN_AT as u64 - PUSH_RETURN_BYTES) << 16;
const PUSH_RETURN_BYTES: u64 = 6;
const PUSH_RETURN_MASK: u64 = (1 << (8 * PUSH_RETURN_BYTES)) - 1;

const FRAME_BYTES: u64 = size_of::<crate::Frame>() as u64;
const FRAME_SP: u64 = core::mem::offset_of!(crate::Frame, sp) as u64;
const FRAME_AFTER: u64 = core::mem::offset_of!(crate::Frame, after) as u64;
const SHADOW_END: u64 = core::mem::offset_of!(Node, end) as u64;
const SHADOW_LOW: u64 = core::mem::offset_of!(Node, low) as u64;

/// The return address of a frame that is nowhere: a thread interrupted inside a trampoline. Unwinders stop there.
static NOWHERE: u64 = 0;

/// All that is registered.
static REGISTERED: AtomicPtr<FrameInfo> = AtomicPtr::new(ptr::null_mut());

/// The facts about trampolines at `pc` for an unwinder: their memory, and the address of the header (`.eh_frame_hdr`)
/// that describes them. For unwinders that were linked into the target: they do not know the registrations with the
/// agent's unwinder.
pub fn find(pc: u64) -> Option<(Range<u64>, u64)> {
    let mut info = REGISTERED.load(Acquire).cast_const();
    while !info.is_null() {
        // SAFETY: never freed, and not changed once it is in the list.
        let there = unsafe { &*info };
        if (there.low..there.high).contains(&pc) {
            return Some((there.low..there.high, there.header.as_ptr() as u64));
        }
        info = there.next;
    }
    None
}

/// Bytes of CFI under construction.
struct Writer<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
        self
    }

    fn uleb(&mut self, mut value: u64) -> &mut Self {
        loop {
            let byte = (value & 0x7f) as u8;
            value >>= 7;
            self.put(&[if value == 0 { byte } else { byte | 0x80 }]);
            if value == 0 {
                return self;
            }
        }
    }

    fn sleb(&mut self, mut value: i64) -> &mut Self {
        loop {
            let byte = (value & 0x7f) as u8;
            value >>= 7;
            let done = (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0);
            self.put(&[if done { byte } else { byte | 0x80 }]);
            if done {
                return self;
            }
        }
    }

    /// A branch or skip to a place already written.
    fn back(&mut self, op: u8, to: usize) -> &mut Self {
        let offset = to as i64 - (self.len as i64 + 3);
        self.put(&[op]).put(&(offset as i16).to_le_bytes())
    }

    /// A branch or skip to a place not yet written; [`Writer::land`] fills it in.
    fn ahead(&mut self, op: u8) -> usize {
        self.put(&[op, 0, 0]);
        self.len
    }

    fn land(&mut self, from: usize) -> &mut Self {
        let offset = (self.len - from) as i16;
        self.bytes[from - 2..from].copy_from_slice(&offset.to_le_bytes());
        self
    }
}

impl FrameInfo {
    /// Zeroed memory becomes the description of `low..high`, and is registered.
    ///
    /// Where the unwinder asks the loader, for which the agent answers ([`find`]), it is not told itself. After that
    /// libgcc before 13 would take a lock in each search. A handler of signals that unwinds could wait for the thread it runs on.
    ///
    /// # Safety
    /// `self` lives as long as the process and never moves; the range holds trampolines of one kind only.
    pub unsafe fn register(&mut self, low: u64, high: u64, moving: bool) {
        let mut writer = Writer {
            bytes: &mut self.bytes,
            len: 0,
        };
        write_entries(&mut writer, low, high, moving);
        self.len = writer.len;
        (self.low, self.high) = (low, high);
        let (version, pointer) = self.header.split_at_mut(HEADER.len());
        version.copy_from_slice(&HEADER);
        pointer.copy_from_slice(&(self.bytes.as_ptr() as u64).to_le_bytes());
        self.next = REGISTERED.load(Relaxed);
        // One patcher a process registers, under its lock.
        REGISTERED.store(self, Release);
        // SAFETY: the unwinder's three words (unwind-dw2-fde.h).
        let is_found = unsafe { !_Unwind_Find_FDE(low as *mut c_void, &mut [0; 3]).is_null() };
        if is_found {
            return;
        }
        // SAFETY: bytes end with a zero length, the object is zeroed and large enough.
        unsafe {
            __register_frame_info(self.bytes.as_ptr().cast(), self.object.as_mut_ptr().cast())
        };
    }
}

fn write_entries(w: &mut Writer<'_>, low: u64, high: u64, moving: bool) {
    // CIE: augmentation "zRP" with absolute pointers, data alignment -8, return address in column 16.
    w.put(&[0; 4])
        .put(&[0; 4])
        .put(&[1, b'z', b'R', b'P', 0])
        .uleb(1)
        .sleb(-8)
        .uleb(16)
        .uleb(10)
        .put(&[0x00, 0x00])
        .put(&(personality as *const () as u64).to_le_bytes());
    // DW_CFA_def_cfa_expression: rsp - 1.
    w.put(&[0x0f]).uleb(2).put(&[op::BREG7]).sleb(-1);
    // DW_CFA_val_expression: rsp = CFA + 1 (the CFA is on the stack).
    w.put(&[0x16])
        .uleb(7)
        .uleb(2)
        .put(&[op::LIT0 + 1, op::PLUS]);
    // DW_CFA_expression: the address of the return address.
    let mut expression = [0; 240];
    let mut e = Writer {
        bytes: &mut expression,
        len: 0,
    };
    if moving {
        search_expression(&mut e)
    } else {
        constant_expression(&mut e)
    }
    let len = e.len;
    w.put(&[0x10])
        .uleb(16)
        .uleb(len as u64)
        .put(&expression[..len]);
    pad(w, 0);
    let cie = w.len;
    // FDE. It begins one byte early: unwinders look up the program counter minus one.
    let pointer = (cie + 4) as u32;
    w.put(&[0; 4])
        .put(&pointer.to_le_bytes())
        .put(&(low - 1).to_le_bytes())
        .put(&(high - low + 1).to_le_bytes())
        .uleb(0);
    pad(w, cie);
    w.put(&[0; 4]);
}

/// Pads the entry that began at `start` with DW_CFA_nop and fills in its length.
fn pad(w: &mut Writer<'_>, start: usize) {
    while !(w.len - start - 4).is_multiple_of(8) {
        w.put(&[0]);
    }
    let len = (w.len - start - 4) as u32;
    w.bytes[start..start + 4].copy_from_slice(&len.to_le_bytes());
}

/// The stack grows to the right. P is the program counter.
fn constant_expression(e: &mut Writer<'_>) {
    e.put(&[op::BREG16]).sleb(0).put(&[op::DEREF]); //                   the eight bytes at P
    e.put(&[op::CONST8U])
        .put(&PUSH_RETURN_MASK.to_le_bytes())
        .put(&[op::AND, op::CONST8U])
        .put(&PUSH_RETURN.to_le_bytes())
        .put(&[op::EQ]); //                                              P is after the trampoline's own call
    let returning = e.ahead(op::BRA);
    e.put(&[op::ADDR])
        .put(&(&raw const NOWHERE as u64).to_le_bytes());
    let nowhere = e.ahead(op::SKIP);
    e.land(returning).put(&[op::BREG16]).sleb(RETURN_AT as i64);
    e.land(nowhere);
}

/// The stack grows to the right; the CFA lies at its bottom. S is the stack pointer at the slot and P the program
/// counter. n is the shadow stack, f the frame, and g the frame below it.
///
/// A hooked function that was called, or tail-called, by way of another trampoline returns into that one, from the
/// same slot. libgcc could not distinguish the two, so the search continues to the frame that returns to the target's
/// own code.
fn search_expression(e: &mut Writer<'_>) {
    // Below S stays the CFA: libgcc refuses to pick the bottom element.
    e.put(&[op::DUP, op::LIT0 + 7, op::MINUS]); //                       S = CFA + 1 - 8
    e.put(&[op::BREG16]).sleb(0); //                                     S P
    e.put(&[op::ADDR])
        .put(&(&raw const SHADOWS as u64).to_le_bytes())
        .put(&[op::DEREF]); // S P n
    let shadow = e.len;
    e.put(&[op::DUP]);
    let more = e.ahead(op::BRA);
    e.put(&[op::ADDR])
        .put(&(&raw const NOWHERE as u64).to_le_bytes());
    let nowhere = e.ahead(op::SKIP);
    e.land(more);
    e.put(&[op::DUP, op::PLUS_UCONST])
        .uleb(SHADOW_END)
        .put(&[op::DEREF]); // S P n f+1
    let next = e.len;
    e.put(&[0x08, FRAME_BYTES as u8, op::MINUS]); //                     S P n f     (const1u)
    e.put(&[op::OVER, op::PLUS_UCONST])
        .uleb(SHADOW_LOW)
        .put(&[op::DEREF]); // S P n f bottom
    e.put(&[op::OVER, op::PICK, 1]); //                                  S P n f bottom f bottom
    e.put(&[op::LT]); //                                                 S P n f bottom (f < bottom)
    e.put(&[op::SWAP, op::DROP]); //                                         S P n f (f < bottom) 
    let exhausted = e.ahead(op::BRA); //                                 S P n f
    e.put(&[op::DUP, op::PLUS_UCONST])
        .uleb(FRAME_SP)
        .put(&[op::DEREF, op::PICK, 4, op::EQ]); // S P n f (sp = S)
    e.put(&[op::OVER, op::PLUS_UCONST])
        .uleb(FRAME_AFTER)
        .put(&[op::DEREF, op::PICK, 4, op::EQ]); // .. (after = P)
    e.put(&[op::AND, op::LIT0, op::EQ]); //                              S P n f (no match)
    e.back(op::BRA, next);
    let found = e.ahead(op::SKIP);
    e.land(exhausted).put(&[op::DROP, op::DEREF]); //                    S P n'      (`next` is at offset 0)
    e.back(op::SKIP, shadow);
    e.land(found);
    let chain = e.len;
    e.put(&[op::DUP, 0x08, FRAME_BYTES as u8, op::MINUS]); //            S P n f g
    e.put(&[op::DUP, op::PLUS_UCONST])
        .uleb(FRAME_SP)
        .put(&[op::DEREF, op::PICK, 5, op::EQ]); // S P n f g (sp = S)
    e.put(&[op::OVER, op::PLUS_UCONST])
        .uleb(FRAME_AFTER)
        .put(&[op::DEREF]); // S P n f g (sp = S) after
    e.put(&[op::PICK, 3, op::DEREF, op::EQ, op::AND]); //                S P n f g (f returns into g's trampoline)
    let linked = e.ahead(op::BRA);
    e.put(&[op::DROP]); //                                               S P n f     (`ret` is at offset 0)
    let outermost = e.ahead(op::SKIP);
    e.land(linked)
        .put(&[op::SWAP, op::DROP, op::DUP, op::DEREF]); //    S P n g ret
    e.back(op::BRA, chain);
    e.put(&[op::PLUS_UCONST])
        .uleb(FRAME_AFTER)
        .put(&[op::DEREF]); //    a trampoline that knows where it returns to
    e.put(&[op::PLUS_UCONST]).uleb(RETURN_AT as u64);
    e.land(nowhere).land(outermost);
}
