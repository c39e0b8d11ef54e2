//! One thread of another process, stopped by ptrace(2).

mod late;
mod ticks;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::time::{Duration, Instant};

use crate::arch::registers::Registers;
use crate::{namespace, process};

pub use late::let_go;
use ticks::{TICK, Ticking};

/// How long a thread may take to stop, if it is not stuck in the kernel.
const STOP_LIMIT: Duration = Duration::from_millis(200);
/// Looks at a thread that are made at once: most calls end within microseconds. Then the processor is left to others.
const LOOKS: u32 = 20;
/// The regset of all vector registers (`NT_X86_XSTATE`).
const VECTORS: usize = 0x202;
const VECTORS_MAX: usize = 16 << 10;
const EVENT_STOP: i32 = 128;

/// The memory of another process.
pub struct Memory(File);

impl Memory {
    /// Opens it to read and to write, code included.
    ///
    /// # Errors
    /// It may not be looked at.
    pub fn open(pid: i32) -> io::Result<Memory> {
        let file = File::options()
            .read(true)
            .write(true)
            .open(namespace::file(pid, "mem"))?;
        Ok(Memory(file))
    }

    /// Opens it to read alone.
    ///
    /// # Errors
    /// It may not be looked at.
    pub fn to_read(pid: i32) -> io::Result<Memory> {
        Ok(Memory(File::open(namespace::file(pid, "mem"))?))
    }

    /// Fills `into` from `address`.
    ///
    /// # Errors
    /// Nothing is mapped there.
    pub fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(into, address)
    }

    /// The word at `address`.
    ///
    /// # Errors
    /// Nothing is mapped there.
    pub fn word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// The text at `address`, up to its zero.
    pub fn text(&self, address: u64) -> String {
        let mut bytes = vec![0; 512];
        let len = self.0.read_at(&mut bytes, address).unwrap_or(0);
        let text = bytes[..len]
            .split(|&byte| byte == 0)
            .next()
            .unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    /// Writes `bytes` at `address`.
    ///
    /// # Errors
    /// Nothing is mapped there.
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, address)
    }
}

/// Why a thread stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It was asked to, or its process was stopped.
    Asked,
    /// It makes a system call, or has made one.
    SystemCall,
    /// It is to get this signal.
    Signal(i32),
    /// It has ended.
    Gone,
    /// It did not stop in time.
    Late,
}

/// A thread that is traced. It runs on, untraced, when this is dropped.
pub struct Tracee {
    /// Its number, as everywhere.
    pub tid: i32,
    /// Its number for system calls (see [`namespace`]).
    pub number: i32,
    stopped: bool,
    gone: bool,
    /// A signal that it has yet to get.
    signal: i32,
    /// How it was let run.
    how: libc::c_uint,
    /// It runs functions for the session, and SIGSTOP, which cannot be blocked, must not end them: the process stops
    /// afterwards.
    holds_stops: bool,
    /// A SIGSTOP was kept from it.
    held_stop: bool,
}

impl Tracee {
    /// Stops a thread. `None` if it does not stop in time or is gone.
    ///
    /// # Errors
    /// It may not be traced.
    pub fn stop(tid: i32) -> io::Result<Option<Tracee>> {
        late::let_go();
        let number = namespace::outer(tid);
        if late::has(number) {
            return Ok(None);
        }
        request(
            libc::PTRACE_SEIZE,
            number,
            libc::PTRACE_O_TRACESYSGOOD as usize,
        )?;
        let mut tracee = Tracee {
            tid,
            number,
            stopped: false,
            gone: false,
            signal: 0,
            how: libc::PTRACE_CONT,
            holds_stops: false,
            held_stop: false,
        };
        request(libc::PTRACE_INTERRUPT, number, 0)?;
        loop {
            match tracee.wait(STOP_LIMIT) {
                Stop::Asked => return Ok(Some(tracee)),
                Stop::Signal(signal) => tracee.go(libc::PTRACE_CONT, signal)?,
                Stop::SystemCall => tracee.go(libc::PTRACE_CONT, 0)?,
                Stop::Gone | Stop::Late => return Ok(None),
            }
        }
    }

    /// Lets it run, to the next system call with `PTRACE_SYSCALL`.
    ///
    /// # Errors
    /// It is gone.
    pub fn go(&mut self, how: libc::c_uint, signal: i32) -> io::Result<()> {
        request(how, self.number, signal as usize)?;
        self.how = how;
        self.stopped = false;
        self.signal = 0;
        Ok(())
    }

    /// From now on the process stops for SIGSTOP only when this is dropped.
    pub fn hold_stops(&mut self) {
        self.holds_stops = true;
    }

    /// Asks it to stop, before it executes another instruction of the program's if it is stopped now.
    ///
    /// # Errors
    /// It is gone.
    pub fn interrupt(&self) -> io::Result<()> {
        request(libc::PTRACE_INTERRUPT, self.number, 0)
    }

    /// Waits until it stops.
    pub fn wait(&mut self, limit: Duration) -> Stop {
        for _ in 0..LOOKS {
            if let Some(stop) = self.look(libc::WNOHANG) {
                return stop;
            }
        }
        let ticking = Ticking::begin();
        let mut left = limit;
        while !left.is_zero() {
            let began = Instant::now();
            let stop = match ticking {
                Some(_) => self.look(0),
                None => {
                    std::thread::sleep(TICK / 100);
                    self.look(libc::WNOHANG)
                }
            };
            if let Some(stop) = stop {
                return stop;
            }
            // Where we did not get the processor, or the whole machine stood still, the thread may not have, either.
            left = left.saturating_sub(began.elapsed().min(2 * TICK));
        }
        self.look(libc::WNOHANG).unwrap_or(Stop::Late)
    }

    /// Why it stopped, if it has. Waits for that until the next signal, or not at all with `WNOHANG`.
    fn look(&mut self, how: libc::c_int) -> Option<Stop> {
        let mut status = 0;
        // SAFETY: a local status word.
        let answer = unsafe { libc::waitpid(self.number, &mut status, libc::__WALL | how) };
        let was_interrupted =
            answer < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        if answer == 0 || was_interrupted {
            return None;
        }
        let stop = if answer == self.number {
            self.stopped_with(status)
        } else {
            Stop::Gone
        };
        if self.holds_stops && stop == Stop::Signal(libc::SIGSTOP) {
            self.held_stop = true;
            if self.go(self.how, 0).is_ok() {
                return None;
            }
            self.gone = true;
            return Some(Stop::Gone);
        }
        self.gone |= stop == Stop::Gone;
        Some(stop)
    }

    fn stopped_with(&mut self, status: i32) -> Stop {
        if !libc::WIFSTOPPED(status) {
            self.gone = true;
            return Stop::Gone;
        }
        self.stopped = true;
        match (libc::WSTOPSIG(status), status >> 16) {
            (_, EVENT_STOP) => Stop::Asked,
            (signal, _) if signal == libc::SIGTRAP | 0x80 => Stop::SystemCall,
            (signal, _) => {
                self.signal = signal;
                Stop::Signal(signal)
            }
        }
    }

    /// Its blocked signals, bit 0 for signal 1.
    ///
    /// # Errors
    /// It is gone.
    pub fn mask(&self) -> io::Result<u64> {
        let mut mask = 0_u64;
        // SAFETY: the kernel writes eight bytes.
        match unsafe { libc::ptrace(libc::PTRACE_GETSIGMASK, self.number, 8_usize, &raw mut mask) }
        {
            0 => Ok(mask),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Blocks these signals and no others.
    ///
    /// # Errors
    /// It is gone.
    pub fn set_mask(&self, mask: u64) -> io::Result<()> {
        // SAFETY: the kernel reads eight bytes.
        match unsafe {
            libc::ptrace(
                libc::PTRACE_SETSIGMASK,
                self.number,
                8_usize,
                &raw const mask,
            )
        } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Its vector registers.
    ///
    /// # Errors
    /// It is gone.
    pub fn vectors(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; VECTORS_MAX];
        let len = self.regset(libc::PTRACE_GETREGSET, bytes.as_mut_ptr(), VECTORS_MAX)?;
        bytes.truncate(len);
        Ok(bytes)
    }

    /// Gives it these vector registers.
    ///
    /// # Errors
    /// It is gone.
    pub fn set_vectors(&self, vectors: &[u8]) -> io::Result<()> {
        let at = vectors.as_ptr().cast_mut();
        self.regset(libc::PTRACE_SETREGSET, at, vectors.len())
            .map(|_| ())
    }

    fn regset(&self, how: libc::c_uint, at: *mut u8, bytes: usize) -> io::Result<usize> {
        let mut vector = libc::iovec {
            iov_base: at.cast(),
            iov_len: bytes,
        };
        // SAFETY: a buffer of that length; one that is set is only read.
        match unsafe { libc::ptrace(how, self.number, VECTORS, &raw mut vector) } {
            0 => Ok(vector.iov_len),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        if self.gone {
            return;
        }
        // A thread can be left only while it is stopped.
        if !self.stopped {
            if self.interrupt().is_err() {
                return;
            }
            match self.wait(STOP_LIMIT) {
                Stop::Gone => return,
                Stop::Late => return late::add(self),
                Stop::Asked | Stop::SystemCall | Stop::Signal(_) => {}
            }
        }
        self.make_system_call_again();
        // One that came after it waits still, since all others were blocked, and then the process is to go on.
        if self.held_stop && !self.waits_for(libc::SIGCONT) {
            // SAFETY: a system call whose arguments are numbers.
            unsafe { libc::kill(self.number, libc::SIGSTOP) };
        }
        let _ = request(libc::PTRACE_DETACH, self.number, self.signal as usize);
    }
}

impl Tracee {
    /// A system call that was interrupted by our stopping the thread, and by nothing else, is made again. So is one that the kernel would go on
    /// with by another call, `restart_syscall`, where a filter may end the process at that.
    fn make_system_call_again(&self) {
        let Ok(registers) = Registers::read(self.number) else {
            return;
        };
        let is_lost =
            registers.was_interrupted() || registers.goes_on_by_another_call() && self.has_filter();
        if is_lost && self.signal == 0 && !self.has_signals() {
            let _ = registers.again().write(self.number);
        }
    }

    fn has_filter(&self) -> bool {
        process::status(self.tid, "Seccomp").is_some_and(|mode| mode != "0")
    }

    /// Whether a signal waits that the thread will get.
    fn has_signals(&self) -> bool {
        match (self.pending(), self.signals("SigBlk")) {
            (Some(pending), Some(blocked)) => pending & !blocked != 0,
            _ => true,
        }
    }

    /// Whether this one does, blocked or not.
    fn waits_for(&self, signal: i32) -> bool {
        let pending = self.pending().unwrap_or(0);
        pending & 1 << (signal - 1) != 0
    }

    fn pending(&self) -> Option<u64> {
        Some(self.signals("SigPnd")? | self.signals("ShdPnd")?)
    }

    fn signals(&self, name: &str) -> Option<u64> {
        let text = process::status(self.tid, name)?;
        u64::from_str_radix(&text, 16).ok()
    }
}

/// A thread's `errno`, which called functions change.
// The only code that puts it back is that of x86-64.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
#[derive(Clone, Copy, Debug)]
pub struct Errno {
    /// Its address.
    pub at: u64,
    /// Its value for the program.
    pub value: [u8; 4],
}

fn request(how: libc::c_uint, tid: i32, data: usize) -> io::Result<()> {
    // SAFETY: requests whose arguments are numbers.
    match unsafe { libc::ptrace(how, tid, ptr::null_mut::<u8>(), data) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
