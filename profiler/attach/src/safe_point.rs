//! Whether a stopped thread may call functions of the C library, including `dlopen`, before it continues.
//!
//! It must hold no lock that these functions take, and be in none of them. Such locks (of `malloc`, the dynamic
//! loader, standard I/O) are held only while a function of the C library or the loader is on the stack. So the stack
//! is unwound. In the program's own code any call is as good as one that the program makes itself. Of the C library,
//! only functions may be on top that wait or move data and are known to hold no lock. The code that a signal handler
//! has interrupted is checked alike: PostgreSQL before version 16 starts its processes in a handler, and they never
//! leave it.

use framehop::{CacheNative, FrameAddress, MayAllocateDuringUnwind, Unwinder, UnwinderNative};

use crate::arch::frame::{RETURN, interrupted_by_handler};
use crate::arch::registers::Registers;
use crate::files::{Mapped, Part};
use crate::opened::Export;
use crate::process::{self, Mapping};
use crate::stacks::TRAMPOLINE_RETURN_AT;
use crate::tracer::Memory;

/// Frames that are looked at; a deeper stack is not safe.
const FRAMES_MAX: usize = 1024;

/// Functions of the C library that hold no lock while they wait, move data, or look for a file. Nor do those that a
/// signal interrupts which they have sent, or no longer block.
const HARMLESS: &[&str] = &[
    "accept",
    "accept4",
    "access",
    "clock_nanosleep",
    "connect",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "fcntl",
    "fcntl64",
    "fdatasync",
    "flock",
    "fsync",
    "futex",
    "io_getevents",
    "kill",
    "lseek",
    "lseek64",
    "msgrcv",
    "msgsnd",
    "nanosleep",
    "open",
    "open64",
    "openat",
    "openat64",
    "pause",
    "poll",
    "ppoll",
    "pread",
    "pread64",
    "preadv",
    "pselect",
    "pthread_cond_clockwait",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_join",
    "pthread_sigmask",
    "pwrite",
    "pwrite64",
    "pwritev",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "select",
    "sem_clockwait",
    "sem_timedwait",
    "sem_wait",
    "semop",
    "semtimedop",
    "send",
    "sendfile",
    "sendfile64",
    "sendmsg",
    "sendto",
    "sigprocmask",
    "sigsuspend",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "sleep",
    "sync_file_range",
    "syscall",
    "usleep",
    "wait",
    "wait3",
    "wait4",
    "waitid",
    "waitpid",
    "write",
    "writev",
];
/// Functions that call the program, and hold no lock during that.
const CALLERS: &[&str] = &["__libc_start_main", "bsearch", "qsort", "qsort_r"];
/// The function that makes a library an allocator.
const MALLOC: &str = "malloc";

/// Why a thread is not at a safe point.
pub type Danger = String;

/// Knowledge about the code of a process.
pub struct SafePoints<'a> {
    unwinder: UnwinderNative<Part, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    files: Vec<Code<'a>>,
    /// Code of no file, where an agent's trampolines lie.
    anonymous: Vec<std::ops::Range<u64>>,
    /// Code of files that cannot be read, and their names.
    unread: Vec<(std::ops::Range<u64>, String)>,
}

struct Code<'a> {
    file: &'a Mapped,
    role: FileRole,
    name: &'a str,
    unwindable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileRole {
    CLibrary,
    Loader,
    Allocator,
    Program,
}

fn role(file: &Mapped) -> FileRole {
    let name = process::file_name(&file.path);
    let is = |stem: &str| {
        name.starts_with(&format!("{stem}.so")) || name.starts_with(&format!("{stem}-2."))
    };
    if is("libc") || is("libpthread") || is("libdl") {
        FileRole::CLibrary
    } else if process::is_loader(&file.path) {
        FileRole::Loader
    } else if name.contains(".so") && file.function(MALLOC).is_some() {
        FileRole::Allocator
    } else {
        FileRole::Program
    }
}

impl<'a> SafePoints<'a> {
    /// Reads what is needed of the files.
    pub fn new(files: &'a [Mapped], mappings: &[Mapping]) -> SafePoints<'a> {
        let mut unwinder = UnwinderNative::new();
        let code = |file: &'a Mapped| {
            let module = file.unwind_module();
            let unwindable = module.is_some();
            if let Some(module) = module {
                unwinder.add_module(module);
            }
            Code {
                file,
                role: role(file),
                name: process::file_name(&file.path),
                unwindable,
            }
        };
        let files: Vec<Code> = files.iter().map(code).collect();
        let executable = || mappings.iter().filter(|mapping| mapping.executable);
        let anonymous = executable().filter(|mapping| mapping.path.is_empty());
        let anonymous = anonymous.map(|mapping| mapping.range.clone()).collect();
        let is_read = |at| files.iter().any(|code| code.file.range.contains(&at));
        let unread =
            executable().filter(|one| one.path.starts_with('/') && !is_read(one.range.start));
        let unread = unread.map(|one| (one.range.clone(), one.unreadable()));
        let unread = unread.collect();
        SafePoints {
            unwinder,
            cache: CacheNative::new(),
            files,
            anonymous,
            unread,
        }
    }

    /// Whether a thread with these registers is at a safe point.
    ///
    /// # Errors
    /// The thread's present activity.
    pub fn check(&mut self, registers: &Registers, memory: &Memory) -> Result<(), Danger> {
        let stack = self.unwind(registers, memory)?;
        let role = |frame: &StackFrame| self.files[frame.file].role;
        if let Some(inside) = stack
            .iter()
            .find(|frame| [FileRole::Loader, FileRole::Allocator].contains(&role(frame)))
        {
            return Err(format!("it was inside of {}", self.files[inside.file].name));
        }
        let mut at = 0;
        while at < stack.len() {
            let run = 1 + stack[at + 1..]
                .iter()
                .take_while(|frame| role(frame) == FileRole::CLibrary && !frame.interrupted)
                .count();
            let run = if role(&stack[at]) == FileRole::CLibrary {
                run
            } else {
                0
            };
            if run == 0 {
                at += 1;
                continue;
            }
            let outermost = at + run == stack.len();
            let called = &stack[at + run - 1];
            let on_top = stack[at].interrupted;
            let allowed = if on_top { HARMLESS } else { CALLERS };
            // Where a thread begins there is nothing further out, and nothing exported.
            let begins_here = outermost && !on_top;
            if !begins_here && !self.is_one_of(called, allowed) {
                return Err(format!("it was inside of {}", self.function(called)));
            }
            at += run;
        }
        if let Some(first) = stack.first().filter(|frame| self.is_agent(frame)) {
            return Err(format!("it was inside of {}", self.files[first.file].name));
        }
        let in_library = stack
            .first()
            .is_some_and(|frame| role(frame) == FileRole::CLibrary);
        if in_library && !registers.in_system_call() {
            return Err(format!("it was inside of {}", self.function(&stack[0])));
        }
        Ok(())
    }

    fn unwind(
        &mut self,
        registers: &Registers,
        memory: &Memory,
    ) -> Result<Vec<StackFrame>, Danger> {
        let mut state = registers.unwind();
        let mut address = FrameAddress::InstructionPointer(registers.pc());
        let mut interrupted = true;
        let mut stack = Vec::new();
        for _ in 0..FRAMES_MAX {
            let Place { file, at, returns } = self.locate(address, memory)?;
            if returns {
                let pc;
                (pc, state) = interrupted_by_handler(state.sp(), memory)
                    .ok_or("it was handling a signal, and what that interrupted is unknown")?;
                address = FrameAddress::InstructionPointer(pc);
                interrupted = true;
                continue;
            }
            stack.push(StackFrame {
                file,
                at: at.address_for_lookup(),
                interrupted: std::mem::take(&mut interrupted),
            });
            let mut read = |at: u64| memory.word(at).map_err(|_| ());
            match self
                .unwinder
                .unwind_frame(at, &mut state, &mut self.cache, &mut read)
            {
                Ok(None) => return Ok(stack),
                Ok(Some(next)) => match FrameAddress::from_return_address(next) {
                    Some(next) => address = next,
                    None => return Ok(stack),
                },
                Err(error) => {
                    return Err(format!(
                        "its stack cannot be followed beyond {}: {error}",
                        self.files[file].name
                    ));
                }
            }
        }
        Err("its stack is too deep".to_owned())
    }

    /// The file of a frame; the caller's file if an agent's trampoline replaces the caller.
    fn locate(&self, address: FrameAddress, memory: &Memory) -> Result<Place, Danger> {
        let mut address = address;
        for _ in 0..=4 {
            let at = address.address_for_lookup();
            if let Some(file) = self
                .files
                .iter()
                .position(|code| code.file.range.contains(&at))
            {
                let mut code = [0; RETURN.len()];
                let returns = memory.read(address.address(), &mut code).is_ok() && code == RETURN;
                if !returns && !self.files[file].unwindable {
                    return Err(format!("{} has no unwind tables", self.files[file].name));
                }
                return Ok(Place {
                    file,
                    at: address,
                    returns,
                });
            }
            let trampoline = self.anonymous.iter().any(|range| range.contains(&at));
            let next = memory.word(address.address() + TRAMPOLINE_RETURN_AT).ok();
            match next
                .filter(|_| trampoline)
                .and_then(FrameAddress::from_return_address)
            {
                Some(next) => address = next,
                None => break,
            }
        }
        let at = address.address_for_lookup();
        let unread = self.unread.iter().find(|(range, _)| range.contains(&at));
        Err(match unread {
            Some((_, file)) => format!("it was inside of {file}"),
            None => "it was in code of no file".to_owned(),
        })
    }

    /// Whether a frame is one of an agent's: below a function that waits it holds nothing, else it may.
    fn is_agent(&self, frame: &StackFrame) -> bool {
        self.files[frame.file].name.contains("evenkeel")
    }

    /// What the C library exports there.
    fn exported(&self, frame: &StackFrame) -> impl Iterator<Item = &'a Export> {
        let code = &self.files[frame.file];
        let exports = match code.role {
            FileRole::CLibrary => code.file.exports(),
            _ => &[],
        };
        let at = frame.at.wrapping_sub(code.file.bias);
        exports
            .iter()
            .filter(move |export| export.range.contains(&at))
    }

    fn is_one_of(&self, frame: &StackFrame, names: &[&str]) -> bool {
        self.exported(frame).any(|export| {
            names.contains(&export.name.trim_start_matches('_')) || names.contains(&&*export.name)
        })
    }

    fn function(&self, frame: &StackFrame) -> String {
        let found = self.exported(frame).next();
        let name = found.map_or("a function", |export| export.name.trim_start_matches('_'));
        format!("{name} of {}", self.files[frame.file].name)
    }
}

struct StackFrame {
    file: usize,
    at: u64,
    /// Whether it is on top: of the stack, or of what a handler has interrupted.
    interrupted: bool,
}

/// Where a frame's code is.
struct Place {
    file: usize,
    at: FrameAddress,
    /// It is what a signal's handler returns to.
    returns: bool,
}
