//! Functions that trampolines call. This architecture has no trampolines, but the interface is known.

/// Registers at a boundary hook, at a function's entry or after its return (AAPCS64, 6.8).
#[derive(Debug)]
#[repr(C)]
pub struct Registers {
    /// x0 to x7.
    pub arguments: [u64; 8],
    /// x30: where the call returns to.
    pub return_slot: u64,
    /// The stack pointer at the call.
    pub stack: u64,
    /// x29: the caller's frame pointer.
    pub frame: u64,
}

impl Registers {
    /// The stack pointer at the call, which identifies the frame.
    pub fn sp(&self) -> u64 {
        self.stack
    }

    /// Instruction pointer, stack pointer and frame pointer of the caller after the return of the call.
    pub fn caller(&self) -> [u64; 3] {
        [self.return_slot, self.stack, self.frame]
    }

    /// The integer or pointer that a function returned.
    pub fn result(&self) -> u64 {
        self.arguments[0]
    }

    /// The integer or pointer argument at `index`, at a function's entry.
    pub fn argument(&self, index: u8) -> u64 {
        match self.arguments.get(usize::from(index)) {
            Some(&argument) => argument,
            // SAFETY: stack arguments begin at the stack pointer.
            None => unsafe { *(self.stack as *const u64).add(usize::from(index) - 8) },
        }
    }
}

/// Functions at the boundaries of intervals: see the directory of x86-64.
#[derive(Clone, Copy)]
pub struct Boundaries {
    /// A boundary call begins.
    pub enter: extern "C" fn(u32, &mut Registers, u64) -> u32,
    /// A boundary call returned.
    pub leave: extern "C" fn(u32, &mut Registers, u64, u64),
    /// The short way of `enter`.
    pub enter_short: extern "C" fn(u32, &mut Registers, u64) -> u32,
    /// The short way of `leave`.
    pub leave_short: extern "C" fn(u32, &mut Registers, u64, u64) -> u32,
}

/// A short way's answer that the long way is to be taken.
pub const NOT_SHORT: u32 = 2;

/// There is no short way: nothing is hooked.
pub const SHORT_WAYS: bool = false;

/// Without hooks no return address is ever replaced.
pub fn restore_return(_: &crate::Thread, _: u64, _: u64) {}
