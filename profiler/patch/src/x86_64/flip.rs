//! Changing instructions while other threads may execute them.
//!
//! 1. A breakpoint goes onto every instruction boundary of the bytes in question; a thread that meets one traps and the
//!    handler carries out what the original instruction would have done (`trap`).
//! 2. After a barrier that makes every processor of the process refetch, nobody is executing the old bytes: the bytes
//!    between the boundaries are written.
//! 3. After another barrier the boundaries get their final bytes, the first one last.
//!
//! A thread that was descheduled between two of the original instructions meets either a breakpoint or the unchanged
//! rest. Where a boundary lies inside the new instruction its byte *is* a breakpoint for good (see `jump`).
//!
//! A step that changes no byte needs no barrier: a breakpoint takes one, a redirected call three. A barrier interrupts every
//! processor that runs the process, and costs a millisecond and more on some virtual machines.
//!
//! The barrier is `membarrier(PRIVATE_EXPEDITED_SYNC_CORE)`. Intel SDM vol. 3, 9.1.3 "Handling Self- and
//! Cross-Modifying Code" is the rule that all this serves.

use super::BREAKPOINT;
use crate::writing;

/// Longest span that is changed: the eight bytes of the longest redirected call, or the first bytes of an entry.
pub const SPAN_MAX: usize = 8;

/// Lets the bytes of an instruction begin with a breakpoint.
pub fn put_breakpoint(bytes: &mut [u8; SPAN_MAX]) {
    bytes[0] = BREAKPOINT;
}

/// A change of code bytes.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Address of the first byte.
    pub address: *mut u8,
    /// Bytes to write.
    pub bytes: [u8; SPAN_MAX],
    /// Number of bytes.
    pub len: u8,
    /// Offsets of original instructions within the span, as a bit set; bit 0 is set.
    pub boundaries: u32,
}

impl Change {
    fn is_boundary(&self, offset: u8) -> bool {
        self.boundaries >> offset & 1 == 1
    }

    /// Writes the bytes that `byte` selects by offset. Whether one of them was another before.
    ///
    /// # Safety
    /// The span is writable code.
    unsafe fn write(&self, byte: impl Fn(u8) -> Option<u8>) -> bool {
        let mut is_changed = false;
        for offset in 0..self.len {
            // SAFETY: inside the span, of which nobody else writes a byte.
            unsafe {
                let at = self.address.add(offset as usize);
                let Some(value) = byte(offset).filter(|&value| at.read_volatile() != value) else {
                    continue;
                };
                writing::write(at, &[value]);
            }
            is_changed = true;
        }
        is_changed
    }

    unsafe fn phase(&self, phase: u8) -> bool {
        let original = |offset: u8| Some(self.bytes[offset as usize]);
        // SAFETY: as for `write`.
        unsafe {
            match phase {
                0 => self.write(|offset| self.is_boundary(offset).then_some(BREAKPOINT)),
                1 => self.write(|offset| {
                    if self.is_boundary(offset) {
                        None
                    } else {
                        original(offset)
                    }
                }),
                2 => self.write(|offset| {
                    if offset > 0 && self.is_boundary(offset) {
                        original(offset)
                    } else {
                        None
                    }
                }),
                _ => self.write(|offset| if offset == 0 { original(0) } else { None }),
            }
        }
    }
}

/// Applies changes to code that other threads may be executing.
///
/// # Safety
/// All spans are writable code of this process; the trap handler knows every boundary in them; nobody else changes code
/// at the same time.
pub unsafe fn apply(changes: &[Change], alone: bool) {
    // What it would lead to was not written.
    if !writing::is_complete() {
        writing::end();
        return;
    }
    for phase in 0..4 {
        let mut is_changed = false;
        for change in changes {
            // SAFETY: the caller's contract.
            is_changed |= unsafe { change.phase(phase) };
        }
        if is_changed && !alone {
            barrier();
        }
    }
    writing::end();
}

const MEMBARRIER_SYNC_CORE: libc::c_int = 1 << 5;
const MEMBARRIER_REGISTER_SYNC_CORE: libc::c_int = 1 << 6;

/// Asks the kernel for the right to `barrier`. False where it has none to give.
pub fn register_barrier() -> bool {
    // SAFETY: no memory is touched.
    unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_REGISTER_SYNC_CORE, 0, 0) == 0 }
}

/// Every processor that runs this process has executed a serialising instruction when this returns.
fn barrier() {
    // SAFETY: no memory is touched.
    unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_SYNC_CORE, 0, 0) };
}
