//! The registers of a stopped thread.

use std::io;
use std::ptr;

use framehop::UnwindRegsNative;

const SYSTEM_CALL_BYTES: u64 = 2;
/// The kernel's internal result of an interrupted system call that has to continue where it was
/// (include/linux/errno.h).
const ERESTART_RESTARTBLOCK: i64 = -516;

/// For the unwinder: an instruction pointer, a stack pointer and a frame pointer.
pub fn unwind_from(pc: u64, sp: u64, fp: u64) -> UnwindRegsNative {
    UnwindRegsNative::new(pc, sp, fp)
}

/// The frame pointer there.
pub fn frame_pointer(state: &UnwindRegsNative) -> u64 {
    state.bp()
}

/// Bytes of the longest form of a call that [`ends_with_call`] looks at.
pub const CALL_BYTES_MAX: usize = 7;

/// Whether a call puts the return address on the stack: behind the frame pointer in the frame of the function.
pub const RETURNS_BY_SLOT: bool = true;

/// Whether code ends with a call: `e8` with a displacement, or `ff /2` with an operand of two to seven bytes (Intel SDM 2A, CALL).
pub fn ends_with_call(code: &[u8; CALL_BYTES_MAX]) -> bool {
    let is_indirect = |at: usize| code[at] == 0xff && code[at + 1] >> 3 & 7 == 2;
    code[2] == 0xe8 || (0..CALL_BYTES_MAX - 1).any(is_indirect)
}

/// General registers, as the kernel hands them out.
#[derive(Clone, Copy)]
pub struct Registers(libc::user_regs_struct);

/// Bytes of the code that leaves a frame, the system call included.
pub const LEAVING_BYTES: usize = 9;

impl Registers {
    /// The registers of a stopped thread.
    ///
    /// # Errors
    /// It is not stopped, or gone.
    pub fn read(tid: i32) -> io::Result<Registers> {
        // SAFETY: zero is a valid structure, which the kernel fills in.
        unsafe {
            let mut registers: libc::user_regs_struct = std::mem::zeroed();
            let to = &raw mut registers;
            match libc::ptrace(libc::PTRACE_GETREGS, tid, ptr::null_mut::<u8>(), to) {
                0 => Ok(Registers(registers)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// Gives a stopped thread these.
    ///
    /// # Errors
    /// It is not stopped, or gone.
    pub fn write(&self, tid: i32) -> io::Result<()> {
        // SAFETY: the kernel reads the structure.
        match unsafe { libc::ptrace(libc::PTRACE_SETREGS, tid, ptr::null_mut::<u8>(), &self.0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The next instruction.
    pub fn pc(&self) -> u64 {
        self.0.rip
    }

    /// Where the thread's memory is.
    pub fn thread_pointer(&self) -> u64 {
        self.0.fs_base
    }

    /// The stack pointer.
    pub fn sp(&self) -> u64 {
        self.0.rsp
    }

    /// Whether the thread is in a system call that it began itself.
    pub fn in_system_call(&self) -> bool {
        self.0.orig_rax as i64 >= 0
    }

    /// Whether it is about to be notified that a system call was interrupted, which the kernel does not make again by itself
    /// (`epoll_wait`, `semop`: see signal(7)).
    pub fn was_interrupted(&self) -> bool {
        self.in_system_call() && self.0.rax as i64 == -i64::from(libc::EINTR)
    }

    /// Whether the kernel will go on with its interrupted system call by `restart_syscall` (`poll`, `nanosleep`).
    pub fn goes_on_by_another_call(&self) -> bool {
        self.in_system_call() && self.0.rax as i64 == ERESTART_RESTARTBLOCK
    }

    /// About to make its system call again.
    pub fn again(&self) -> Registers {
        Registers(libc::user_regs_struct {
            rax: self.0.orig_rax,
            rip: self.0.rip - SYSTEM_CALL_BYTES,
            ..self.0
        })
    }

    /// For the unwinder.
    pub fn unwind(&self) -> UnwindRegsNative {
        UnwindRegsNative::new(self.0.rip, self.0.rsp, self.0.rbp)
    }

    /// A call of `function` with the return address at `slot`; a system call that the thread is in is forgotten.
    pub fn calling(&self, function: u64, arguments: [u64; 6], slot: u64) -> Registers {
        const DIRECTION: u64 = 1 << 10;
        const TRAP: u64 = 1 << 8;
        let [rdi, rsi, rdx, rcx, r8, r9] = arguments;
        Registers(libc::user_regs_struct {
            rip: function,
            rsp: slot,
            rdi,
            rsi,
            rdx,
            rcx,
            r8,
            r9,
            rax: 0,
            rbp: 0,
            eflags: self.0.eflags & !(DIRECTION | TRAP),
            orig_rax: u64::MAX,
            ..self.0
        })
    }

    /// Whether the thread asks the kernel to go on as the frame says whose return address was at `slot`.
    pub fn leaves_frame(&self, slot: u64) -> bool {
        self.0.orig_rax as i64 == libc::SYS_rt_sigreturn && self.0.rsp == slot + 8
    }

    /// The registers with another, harmless system call instead of the one by which the thread is about to leave the
    /// frame. (A filter may not know number -1, no call at all.) The thread stands once more before the code that
    /// leaves the frame. If the session is killed or comes too late, the thread leaves the frame then, and does not
    /// run into the code that follows.
    pub fn postponed_system_call(&self) -> Registers {
        Registers(libc::user_regs_struct {
            orig_rax: libc::SYS_getpid as u64,
            rip: self.0.rip - LEAVING_BYTES as u64,
            ..self.0
        })
    }

    /// The registers for the program once the kernel has ended an interrupted system call for a handler: the call is
    /// made again. A call that the kernel itself would continue (`poll`, `nanosleep`) waits for its whole time again.
    /// That may be too long, which no program can tell from a busy machine, and is no error that a program without
    /// handlers never meets.
    pub(super) fn after_interruption(&self) -> libc::user_regs_struct {
        const ERESTARTSYS: i64 = -512;
        const ERESTARTNOHAND: i64 = -514;
        let mut registers = self.0;
        if self.in_system_call() {
            match registers.rax as i64 {
                ERESTARTNOHAND..=ERESTARTSYS | ERESTART_RESTARTBLOCK => {
                    registers.rax = registers.orig_rax;
                    registers.rip -= SYSTEM_CALL_BYTES;
                }
                _ => {}
            }
        }
        registers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody may be notified of an interruption that there was for our sake, if we are not there any more to take it back.
    #[test]
    fn interrupted_calls_are_made_again() {
        // SAFETY: zero is a valid structure.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        registers.rip = 0x1002;
        registers.orig_rax = libc::SYS_poll as u64;
        let mut after = |answer: i64| {
            registers.rax = answer as u64;
            let after = Registers(registers).after_interruption();
            (after.rax as i64, after.rip)
        };
        for restart in [-512, -513, -514, -516] {
            assert_eq!(after(restart), (libc::SYS_poll, 0x1000), "{restart}");
        }
        for answer in [0, 1, -i64::from(libc::EINTR)] {
            assert_eq!(after(answer), (answer, 0x1002));
        }
    }
}
