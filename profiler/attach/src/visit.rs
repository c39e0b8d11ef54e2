//! A stopped thread that calls functions, and then continues as if it had not.

use std::io;
use std::time::{Duration, Instant};

use crate::arch::frame;
use crate::arch::registers::Registers;
use crate::tracer::{Errno, Memory, Stop, Tracee};

/// How long a called function may take. It waits for other threads at most, which run.
const CALL_LIMIT: Duration = Duration::from_secs(5);
/// Stack and data of our own, so that a small stack of the thread's does.
const AREA_BYTES: u64 = 528 << 10;
const PAGE: u64 = 4096;
/// Where the code lies in its page that gives `errno` back.
const STUB_AT: u64 = 512;
/// Room on the thread's own stack: what the psABI lets a function use without saying so, and a frame.
const RED_ZONE_BYTES: u64 = 128;
/// What the first call, a system call, uses of the thread's own stack.
const FIRST_CALL_BYTES: u64 = 4096;
/// The last addresses that `mmap` is asked for: below every stack, as trampolines compare stack pointers.
const AREA_AT: std::ops::Range<u64> = 0x0800_0000_0000..0x0f00_0000_0000;
/// Signals that a thread brings about itself: blocked, they would end the process.
const OWN_SIGNALS: [i32; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Signals that do nothing to a process that does not handle them. One of them reports that a function has returned: traced, a thread
/// stops for it, and if nobody traces it any more, nothing comes of it.
const HARMLESS: [i32; 4] = [libc::SIGURG, libc::SIGWINCH, libc::SIGCONT, libc::SIGCHLD];

/// A signal that the process does not handle and the thread, whose `mask` this is, does not block. A program that
/// blocks a signal waits for it by signalfd(2) or sigwait(3), as PostgreSQL for SIGURG, and must not lose it.
fn harmless(pid: i32, mask: u64) -> Option<i32> {
    let caught = crate::process::status(pid, "SigCgt")?;
    let caught = u64::from_str_radix(&caught, 16).ok()?;
    HARMLESS
        .into_iter()
        .find(|&signal| (caught | mask) & bit(signal) == 0)
}

/// The bit of a signal in a mask.
pub fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Addresses of the functions of the C library that are called.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// `syscall`, which is no place where threads are cancelled.
    pub syscall: u64,
    /// `mmap`, whose last argument does not fit into the registers that `syscall` takes its own from.
    pub mmap: u64,
    /// `__errno_location`.
    pub errno: u64,
    /// The code that leaves the frame of a signal.
    pub leave: u64,
}

/// The visit.
pub struct Visit<'a> {
    tracee: Tracee,
    memory: &'a Memory,
    functions: Functions,
    original: Registers,
    vectors: Vec<u8>,
    mask: u64,
    since: Instant,
    area: u64,
    /// What called functions return to.
    stub: u64,
    /// Sent by the stub; without one the thread stops at each of its system calls, which takes longer.
    signal: Option<i32>,
    /// The thread still runs a function: nothing of it may be changed.
    abandoned: bool,
}

impl<'a> Visit<'a> {
    /// Makes ready: memory of our own in the process, errno kept. The thread stopped at `since`.
    ///
    /// # Errors
    /// The system refuses; the thread is as it was.
    pub fn begin(
        mut tracee: Tracee,
        original: Registers,
        memory: &'a Memory,
        functions: Functions,
        since: Instant,
    ) -> Result<Visit<'a>, String> {
        let said = |error: io::Error| format!("its thread cannot be stopped any longer ({error})");
        let vectors = tracee.vectors().map_err(said)?;
        let mask = tracee.mask().map_err(said)?;
        let signal = harmless(tracee.tid, mask);
        tracee.hold_stops();
        let mut visit = Visit {
            tracee,
            memory,
            functions,
            original,
            vectors,
            mask,
            since,
            area: 0,
            stub: 0,
            signal,
            abandoned: false,
        };
        let made = visit.make_area();
        made.map(|()| visit)
    }

    fn make_area(&mut self) -> Result<(), String> {
        let at = self.free_address()?;
        let stub = frame::stub(PAGE as i32, None, self.signal);
        // Code and data lie in different pages. The page of code never was writable, since a process may have
        // forbidden itself to make written memory executable; the tracer may write there in any case.
        self.map(at, PAGE, libc::PROT_READ | libc::PROT_EXEC)?;
        let written = self.memory.write(at, &stub);
        (self.area, self.stub) = (at, at);
        self.map(
            at + PAGE,
            AREA_BYTES - PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
        )?;
        written
            .and_then(|()| self.memory.write(at + AREA_BYTES - 8, &[0; 8]))
            .map_err(|_| "the system gives no memory (ulimit -v, cgroup)".to_owned())?;
        self.keep_errno().map_err(|error| error.to_string())
    }

    /// From now on the thread gets its `errno` back after each call, also if we are killed before we could give it back.
    fn keep_errno(&mut self) -> io::Result<()> {
        let at = self
            .call(self.functions.errno, [0; 6])
            .map_err(io::Error::other)?;
        let mut value = [0; 4];
        self.memory.read(at, &mut value)?;
        // Another place than the first one, which the thread is in.
        let result_at = (PAGE - STUB_AT) as i32;
        let stub = frame::stub(result_at, Some(Errno { at, value }), self.signal);
        self.memory.write(self.area + STUB_AT, &stub)?;
        self.stub = self.area + STUB_AT;
        Ok(())
    }

    /// Maps fresh memory where nothing is, by a call that leaves its frame by the C library's own code.
    fn map(&mut self, at: u64, bytes: u64, rights: i32) -> Result<(), String> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let arguments = [at, bytes, rights as u64, flags as u64, u64::MAX, 0];
        self.call_on_own_stack(self.functions.mmap, arguments)
    }

    fn free_address(&self) -> Result<u64, String> {
        let mappings =
            crate::process::mappings(self.tracee.tid).map_err(|error| error.to_string())?;
        let own = mappings
            .iter()
            .find(|mapping| mapping.range.contains(&self.original.sp()));
        let needed = RED_ZONE_BYTES + FIRST_CALL_BYTES + frame::bytes_max(self.vectors.len());
        if own.is_none_or(|own| self.original.sp() - own.range.start < needed) {
            return Err("its thread has little stack left".to_owned());
        }
        let mut at = AREA_AT.start;
        for mapping in &mappings {
            if mapping.range.start < at + AREA_BYTES && at < mapping.range.end {
                at = mapping.range.end;
            }
        }
        (at + AREA_BYTES <= AREA_AT.end)
            .then_some(at)
            .ok_or_else(|| "it has no address space left".to_owned())
    }

    /// A call on the thread's own stack; its result is not known.
    fn call_on_own_stack(&mut self, function: u64, arguments: [u64; 6]) -> Result<(), String> {
        let room = RED_ZONE_BYTES + frame::bytes_max(self.vectors.len());
        let slot = ((self.original.sp() - room) & !15) - 8;
        self.run(function, arguments, slot, self.functions.leave)
    }

    /// Calls a function of the process.
    ///
    /// # Errors
    /// It did not return in time, or crashed.
    pub fn call(&mut self, function: u64, arguments: [u64; 6]) -> Result<u64, String> {
        let top = self.area + AREA_BYTES;
        let slot = ((top - frame::bytes_max(self.vectors.len())) & !15) - 8;
        self.run(function, arguments, slot, self.stub)?;
        self.memory
            .word(self.area + PAGE)
            .map_err(|error| error.to_string())
    }

    /// A system call with up to five arguments; the error's number if it fails.
    ///
    /// # Errors
    /// As for [`Visit::call`], or as the system call.
    pub fn system_call(&mut self, number: i64, arguments: [u64; 5]) -> Result<u64, String> {
        let [a, b, c, d, e] = arguments;
        let result = self.call(self.functions.syscall, [number as u64, a, b, c, d, e])?;
        if result != u64::MAX {
            return Ok(result);
        }
        let errno = self.memory.word(self.area + PAGE + 8);
        let errno = errno.map_err(|error| error.to_string())?;
        Err(io::Error::from_raw_os_error(errno as i32).to_string())
    }

    /// A page for arguments and answers, in the process.
    pub fn data(&self) -> u64 {
        self.area + PAGE + 64
    }

    /// Memory of the process.
    pub fn memory(&self) -> &'a Memory {
        self.memory
    }

    /// The thread's number.
    pub fn tid(&self) -> i32 {
        self.tracee.tid
    }

    /// Takes a signal out of the mask that the thread gets back. Whether it was blocked.
    pub fn unblock(&mut self, signal: i32) -> bool {
        let was = self.mask & bit(signal) != 0;
        self.mask &= !bit(signal);
        was
    }

    fn run(
        &mut self,
        function: u64,
        arguments: [u64; 6],
        slot: u64,
        returns_to: u64,
    ) -> Result<(), String> {
        let gone = |error: io::Error| format!("its thread went away ({error})");
        let frame = frame::frame(&self.original, &self.vectors, self.mask, slot, returns_to);
        self.memory.write(slot, &frame).map_err(gone)?;
        self.original
            .calling(function, arguments, slot)
            .write(self.tracee.number)
            .map_err(gone)?;
        // After that: now the thread gets its own back at the end in any case, also if we are killed.
        self.block_signals().map_err(gone)?;
        let expected = self.signal.filter(|_| returns_to == self.stub);
        let how = if expected.is_some() {
            libc::PTRACE_CONT
        } else {
            libc::PTRACE_SYSCALL
        };
        loop {
            self.tracee.go(how, 0).map_err(gone)?;
            match self.tracee.wait(CALL_LIMIT) {
                // Somebody else may have sent the same, to which the process does nothing.
                Stop::Signal(signal) if Some(signal) == self.signal => {
                    let registers = Registers::read(self.tracee.number).map_err(gone)?;
                    if expected.is_some() && registers.sp() == slot + 8 {
                        return Ok(());
                    }
                }
                Stop::SystemCall => {
                    let registers = Registers::read(self.tracee.number).map_err(gone)?;
                    if registers.leaves_frame(slot) {
                        return self.postpone_system_call(&registers).map_err(gone);
                    }
                }
                Stop::Asked => {}
                Stop::Signal(signal) => {
                    return Err(format!(
                        "a function called in it ended with signal {signal}"
                    ));
                }
                Stop::Gone => {
                    self.abandoned = true;
                    return Err("it ended meanwhile".to_owned());
                }
                Stop::Late => {
                    self.abandoned = true;
                    return Err(
                        "a function called in it waits for a lock that another thread holds"
                            .to_owned(),
                    );
                }
            }
        }
    }

    /// Blocks all signals but those that report something to us.
    fn block_signals(&self) -> io::Result<()> {
        let wanted = OWN_SIGNALS.into_iter().chain(self.signal);
        let wanted = wanted.map(bit).fold(0, |all, one| all | one);
        self.tracee.set_mask(!wanted)
    }

    fn postpone_system_call(&mut self, registers: &Registers) -> io::Result<()> {
        registers
            .postponed_system_call()
            .write(self.tracee.number)?;
        self.tracee.go(libc::PTRACE_SYSCALL, 0)?;
        match self.tracee.wait(CALL_LIMIT) {
            Stop::SystemCall => Ok(()),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Gives everything back. How long the thread stood still.
    pub fn end(mut self) -> Duration {
        self.give_back();
        self.since.elapsed()
    }

    fn give_back(&mut self) {
        if std::mem::replace(&mut self.abandoned, true) {
            return;
        }
        if self.area != 0 {
            let arguments = [libc::SYS_munmap as u64, self.area, AREA_BYTES, 0, 0, 0];
            let _ = self.call_on_own_stack(self.functions.syscall, arguments);
        }
        // It stops once more before it executes anything: only there the kernel looks whether the system call that was
        // interrupted is to be made again. Should it not stop in time, it leaves the frame, which has all of this, by itself.
        let number = self.tracee.number;
        let restored = self
            .tracee
            .interrupt()
            .and_then(|()| self.tracee.go(libc::PTRACE_CONT, 0));
        if restored.is_ok() && self.tracee.wait(CALL_LIMIT) == Stop::Asked {
            // The registers last: until then it gets the rest by leaving the frame.
            let _ = self.tracee.set_vectors(&self.vectors);
            let _ = self.tracee.set_mask(self.mask);
            let _ = self.original.write(number);
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::agent::Target;

    /// Until then a thread that is left has gone on, on the slowest machine.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// What two processes share: the number of the one that is visited, and how far it has counted.
    struct Counting {
        pid: AtomicU64,
        count: AtomicU64,
    }

    fn shared() -> &'static Counting {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh page of zeros, which is a valid `Counting` and stays for as long as the process.
        unsafe {
            let page = libc::mmap(std::ptr::null_mut(), PAGE as usize, rights, flags, -1, 0);
            assert_ne!(page, libc::MAP_FAILED);
            &*page.cast()
        }
    }

    /// Visits a child and is killed between two calls, after one that has failed.
    fn visit_and_die(counting: &Counting) -> Result<(), Box<dyn Error>> {
        const ERRNO: i32 = 77;
        // SAFETY: the child counts and nothing else, as long as its `errno` is its own.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: a word of this thread's.
            unsafe { *libc::__errno_location() = ERRNO };
            // SAFETY: the same; another may write it.
            while unsafe { libc::__errno_location().read_volatile() } == ERRNO {
                counting.count.fetch_add(1, Ordering::SeqCst);
            }
            // SAFETY: the end of this process.
            unsafe { libc::_exit(1) };
        }
        counting.pid.store(pid as u64, Ordering::SeqCst);
        let target = Target::open(pid)?;
        let functions = target.functions()?;
        let since = Instant::now();
        let tracee = Tracee::stop(pid)?.ok_or("it does not stop")?;
        let original = Registers::read(pid)?;
        let mut visit = Visit::begin(tracee, original, &target.memory, functions, since)?;
        let arguments = [libc::SYS_getppid as u64, 0, PAGE, 0, 0, 0];
        visit.call_on_own_stack(functions.syscall, arguments)?;
        let refused = visit.system_call(libc::SYS_close, [u64::MAX, 0, 0, 0, 0]);
        let expected = io::Error::from_raw_os_error(libc::EBADF).to_string();
        assert_eq!(refused, Err(expected));
        // SAFETY: the end of this process.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        Ok(())
    }

    /// A child that counts, and a visit of it that is stopped by `signals` before a function is called. How far it has counted half a second
    /// after the visit, and once more later.
    fn counts_after(signals: &[i32]) -> Result<(u64, u64), Box<dyn Error>> {
        let counting = shared();
        // SAFETY: the child counts and nothing else.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            loop {
                counting.count.fetch_add(1, Ordering::SeqCst);
            }
        }
        let target = Target::open(pid)?;
        let functions = target.functions()?;
        let tracee = Tracee::stop(pid)?.ok_or("it does not stop")?;
        let original = Registers::read(pid)?;
        let mut visit = Visit::begin(tracee, original, &target.memory, functions, Instant::now())?;
        for &signal in signals {
            // SAFETY: our own child.
            unsafe { libc::kill(pid, signal) };
            let arguments = [libc::SYS_getppid as u64, 0, 0, 0, 0, 0];
            visit.call_on_own_stack(functions.syscall, arguments)?;
        }
        visit.end();
        let count = |after| {
            std::thread::sleep(Duration::from_millis(after));
            counting.count.load(Ordering::SeqCst)
        };
        let counts = (count(500), count(200));
        // SAFETY: the process that was made for this.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        Ok(counts)
    }

    /// A process that is stopped (SIGSTOP) while functions are called in it stands still afterwards, unless it is told to go on before.
    #[test]
    fn who_is_stopped_meanwhile_is_stopped_afterwards() {
        let (before, after) = counts_after(&[libc::SIGSTOP]).unwrap();
        assert_eq!(before, after, "it goes on");
        let (before, after) = counts_after(&[libc::SIGSTOP, libc::SIGCONT]).unwrap();
        assert_ne!(before, after, "it stands still");
    }

    /// Nothing is left on the way that the program would stumble over.
    #[test]
    fn a_thread_goes_on_when_its_visitor_is_killed() {
        let counting = shared();
        // SAFETY: the child ends by itself, whatever comes.
        let visitor = unsafe { libc::fork() };
        if visitor == 0 {
            let failed = visit_and_die(counting);
            eprintln!("{failed:?}");
            // SAFETY: without what the tests would do at their end.
            unsafe { libc::_exit(3) };
        }
        let mut status = 0;
        // SAFETY: our own child, and a status word.
        assert_eq!(unsafe { libc::waitpid(visitor, &mut status, 0) }, visitor);
        assert!(libc::WIFSIGNALED(status), "it was not killed: {status}");
        let before = counting.count.load(Ordering::SeqCst);
        let began = Instant::now();
        while counting.count.load(Ordering::SeqCst) == before && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let after = counting.count.load(Ordering::SeqCst);
        // SAFETY: the process that was made for this.
        unsafe { libc::kill(counting.pid.load(Ordering::SeqCst) as i32, libc::SIGKILL) };
        assert_ne!(after, before, "it does not count any more");
    }
}
