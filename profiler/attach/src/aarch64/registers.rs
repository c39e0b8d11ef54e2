//! The registers of a stopped thread: not read on this architecture yet.

use std::io;

use framehop::UnwindRegsNative;

/// For the unwinder: an instruction pointer, a stack pointer and a frame pointer.
pub fn unwind_from(_pc: u64, sp: u64, fp: u64) -> UnwindRegsNative {
    UnwindRegsNative::new(0, sp, fp)
}

/// The frame pointer there.
pub fn frame_pointer(state: &UnwindRegsNative) -> u64 {
    state.fp()
}

/// Bytes of a call.
pub const CALL_BYTES_MAX: usize = 4;

/// Whether a call puts the return address on the stack. Here it leaves it in `x30`, and the function stores it where it
/// likes.
pub const RETURNS_BY_SLOT: bool = false;

/// Whether code ends with a call: `bl`, or `blr` (Arm ARM C6.2).
pub fn ends_with_call(code: &[u8; CALL_BYTES_MAX]) -> bool {
    let word = u32::from_le_bytes(*code);
    word >> 26 == 0b10_0101 || word & 0xffff_fc1f == 0xd63f_0000
}

/// General registers.
#[derive(Clone, Copy)]
pub struct Registers(());

impl Registers {
    /// The registers of a stopped thread.
    ///
    /// # Errors
    /// Always.
    pub fn read(_tid: i32) -> io::Result<Registers> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Gives a stopped thread these.
    ///
    /// # Errors
    /// Always.
    pub fn write(&self, _tid: i32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The next instruction.
    pub fn pc(&self) -> u64 {
        0
    }

    /// Where the thread's memory is.
    pub fn thread_pointer(&self) -> u64 {
        0
    }

    /// The stack pointer.
    pub fn sp(&self) -> u64 {
        0
    }

    /// Whether the thread is in a system call that it began itself.
    pub fn in_system_call(&self) -> bool {
        false
    }

    /// Whether it is about to be notified that a system call was interrupted.
    pub fn was_interrupted(&self) -> bool {
        false
    }

    /// See [`Registers::was_interrupted`].
    pub fn goes_on_by_another_call(&self) -> bool {
        false
    }

    /// About to make its system call again.
    pub fn again(&self) -> Registers {
        *self
    }

    /// For the unwinder.
    pub fn unwind(&self) -> UnwindRegsNative {
        UnwindRegsNative::new(0, 0, 0)
    }

    /// A call of `function`.
    pub fn calling(&self, _function: u64, _arguments: [u64; 6], _slot: u64) -> Registers {
        *self
    }

    /// Whether the thread leaves the frame at `slot`.
    pub fn leaves_frame(&self, _slot: u64) -> bool {
        false
    }

    /// The registers without the system call that the thread is about to make.
    pub fn postponed_system_call(&self) -> Registers {
        *self
    }
}
