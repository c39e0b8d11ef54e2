//! The agent in a process: found there or loaded, and called.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSymbol};

use crate::arch::registers::Registers;
use crate::error::Refused;
use crate::files::Mapped;
use crate::handover::{close, hand_over};
use crate::loader_lock;
use crate::permission::{self, not_permitted};
use crate::process::{self, AGENT, Mapping, is_agent};
use crate::safe_point::SafePoints;
use crate::seccomp;
use crate::tracer::{Memory, Tracee};
use crate::urgency::Urgent;
use crate::visit::{Functions, Visit, bit};

/// How long a thread at a safe point is looked for, unless the caller has less time.
pub const SEARCH_LIMIT: Duration = Duration::from_secs(1);
/// Why an agent is not loaded into a child that could never open a library.
const FORKED_WHILE_LOADING: &str = "it was forked while another thread of its parent was opening or closing a library. Opening a library in such a child waits for ever, for Evenkeel as for the program itself. Restart it, or start its server with `evenkeel profile`";
/// Why nothing can be called in a process.
const FILTER_CAME: &str = "it has just installed a filter of system calls (seccomp); attach again, and the filter is looked at";
const NO_GLIBC: &str = "it has no glibc (it is statically linked, built for musl, or its libraries cannot be read); use a build that is dynamically linked with glibc";
/// No descriptor.
const NONE: i32 = -1;
/// How long a program that has just begun may take to map its C library.
const LOADING_LIMIT: Duration = Duration::from_secs(1);
/// Pauses between two looks at the threads: the first, which doubles each time, and the longest. A process that starts is at no safe
/// point for many milliseconds, and each look stops it.
const SEARCH_PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(16)];

/// What the agent says of itself, in its word `evenkeel_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its hooks are not in place.
    Idle,
    /// It belongs to a session.
    Hooked,
}

/// The agent, in memory that a process can be handed.
#[derive(Debug)]
pub struct AgentFile {
    file: File,
    build_id: Vec<u8>,
    attach: u64,
    poll: u64,
    state: u64,
}

impl AgentFile {
    /// The agent whose file holds these bytes; `origin` names it in messages.
    ///
    /// # Errors
    /// It is no agent that can be attached, or there is no memory for it.
    pub fn of(bytes: &[u8], origin: &str) -> io::Result<AgentFile> {
        let damaged = || {
            io::Error::other(format!(
                "{origin} is not an agent of this version; install both together"
            ))
        };
        let elf = ElfFile64::<LittleEndian>::parse(bytes).map_err(|_| damaged())?;
        let address = |name: &str| {
            let mut symbols = elf
                .dynamic_symbols()
                .filter(|symbol| symbol.is_definition());
            symbols
                .find(|symbol| symbol.name() == Ok(name))
                .map(|symbol| symbol.address())
        };
        let build_id = elf
            .build_id()
            .ok()
            .flatten()
            .ok_or_else(damaged)?
            .to_owned();
        let [attach, poll, state] = ["evenkeel_attach", "evenkeel_poll", "evenkeel_state"]
            .map(|name| address(name).ok_or_else(damaged));
        let name = format!("{AGENT}\0");
        // SAFETY: a name that ends with a zero; the descriptor is fresh.
        let mut file = unsafe {
            let descriptor = libc::memfd_create(name.as_ptr().cast(), libc::MFD_CLOEXEC);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(descriptor)
        };
        file.write_all(bytes)?;
        Ok(AgentFile {
            file,
            build_id,
            attach: attach?,
            poll: poll?,
            state: state?,
        })
    }

    /// Where this very agent lies in a process.
    fn base(&self, mappings: &[Mapping], memory: &Memory) -> Option<u64> {
        let agents = mappings
            .iter()
            .filter(|mapping| mapping.offset == 0 && is_agent(&mapping.path));
        let bases = agents.map(|mapping| mapping.range.start);
        bases.into_iter().find(|&base| self.is_at(base, memory))
    }

    fn is_at(&self, base: u64, memory: &Memory) -> bool {
        build_id(memory, base).as_ref() == Some(&self.build_id)
    }
}

/// The build id of the ELF file that is mapped at `base`.
fn build_id(memory: &Memory, base: u64) -> Option<Vec<u8>> {
    const PROGRAM_HEADER_BYTES: u64 = 56;
    const NOTE: u32 = 4;
    const BUILD_ID: u32 = 3;
    const MAXIMUM: usize = 4096;
    let half = |address| Some(memory.word(address).ok()? as u32);
    let headers = memory.word(base + 32).ok()?;
    let count = half(base + 56)? & 0xffff;
    for header in 0..u64::from(count) {
        let header = base + headers + header * PROGRAM_HEADER_BYTES;
        if half(header)? != NOTE {
            continue;
        }
        let (at, bytes) = (
            base + memory.word(header + 16).ok()?,
            memory.word(header + 40).ok()? as usize,
        );
        let mut notes = vec![0; bytes.min(MAXIMUM)];
        memory.read(at, &mut notes).ok()?;
        let words = notes
            .get(..12)?
            .chunks(4)
            .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
        let [name, len, kind] = words.collect::<Vec<_>>().try_into().ok()?;
        if kind == BUILD_ID {
            let start = 12 + name.next_multiple_of(4) as usize;
            return notes.get(start..start + len as usize).map(<[u8]>::to_vec);
        }
    }
    None
}

/// What came of bringing the agent into a process.
#[derive(Clone, Copy, Debug)]
pub struct Injected {
    /// How long the thread that was used stood still.
    pub stood_still: Duration,
    /// Processor time that it used for this.
    pub used: Duration,
    /// The agent was loaded; otherwise it was there already.
    pub loaded: bool,
}

/// Brings the agent into a process and lets it join the session whose shared memory `arena` is. Its code then follows the
/// session's plan. A thread at a safe point is looked for during `limit`.
///
/// # Errors
/// The reason why not; the process continues as before.
pub fn inject(
    pid: i32,
    agent: &AgentFile,
    arena: BorrowedFd<'_>,
    limit: Duration,
) -> Result<Injected, Refused> {
    let filters = seccomp::counts(pid);
    permission::check(pid)?;
    permission::of_this_namespace(pid)?;
    let target = Target::open_started(pid)?;
    let base = agent.base(&target.mappings, &target.memory);
    if base.is_none() && loader_lock::is_abandoned(pid, &target.mappings, &target.memory) {
        return Err(Refused::Unfit {
            pid,
            why: FORKED_WHILE_LOADING.to_owned(),
        });
    }
    let memory = own_memory(pid);
    let _urgent = Urgent::begin();
    let mut visit = target.visit(&filters, limit)?;
    let (tid, before) = (visit.tid(), process::used(visit.tid()));
    let joined = join(&mut visit, &target, agent, base, (arena, memory));
    let stood_still = visit.end();
    joined.map_err(|why| Refused::Failed { pid, why })?;
    let used = process::used(tid).zip(before);
    Ok(Injected {
        stood_still,
        used: used.map_or(stood_still, |(after, before)| after.saturating_sub(before)),
        loaded: base.is_none(),
    })
}

/// Lets the agent of a process look at its session: it takes its hooks out if that is over. How long a thread stood still.
///
/// # Errors
/// The reason why not; the process continues as before.
pub fn poll(pid: i32, agent: &AgentFile) -> Result<Duration, Refused> {
    let target = Target::open(pid)?;
    let Some(base) = agent.base(&target.mappings, &target.memory) else {
        return Ok(Duration::ZERO);
    };
    let _urgent = Urgent::begin();
    let mut visit = target.visit(&seccomp::counts(pid), SEARCH_LIMIT)?;
    let polled = visit.call(base + agent.poll, [0; 6]);
    let stood_still = visit.end();
    polled.map_err(|why| Refused::Failed { pid, why })?;
    Ok(stood_still)
}

/// What the agent of a process says of itself; `None` where it is not.
pub fn state(pid: i32, agent: &AgentFile) -> Option<State> {
    let (mappings, memory) = (process::mappings(pid).ok()?, Memory::open(pid).ok()?);
    let base = agent.base(&mappings, &memory)?;
    match memory.word(base + agent.state).ok()? as u32 {
        0 => Some(State::Idle),
        _ => Some(State::Hooked),
    }
}

fn join(
    visit: &mut Visit<'_>,
    target: &Target,
    agent: &AgentFile,
    base: Option<u64>,
    (arena, memory): (BorrowedFd<'_>, Option<File>),
) -> Result<(), String> {
    let mut descriptors = vec![arena.as_raw_fd()];
    descriptors.extend(memory.as_ref().map(AsRawFd::as_raw_fd));
    if base.is_none() {
        descriptors.push(agent.file.as_raw_fd());
    }
    let handed = hand_over(visit, target.pid, &descriptors)?;
    let memory = memory.map_or(NONE, |_| handed[1]);
    let loaded = base.map_or_else(
        || load(visit, target, agent, handed[descriptors.len() - 1]),
        Ok,
    );
    match loaded {
        Ok(base) => attach(visit, target, agent, base, (memory, &handed)),
        Err(why) => {
            close(visit, &handed);
            Err(why)
        }
    }
}

/// Calls the agent, which closes what was `handed` over, the arena first.
fn attach(
    visit: &mut Visit<'_>,
    target: &Target,
    agent: &AgentFile,
    base: u64,
    (memory, handed): (i32, &[i32]),
) -> Result<(), String> {
    let at = visit.data();
    let numbers: Vec<u8> = handed
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let written = visit.memory().write(at, &numbers);
    written.map_err(|error| error.to_string())?;
    let [arena, memory, count] = [handed[0] as u64, memory as u64, handed.len() as u64];
    let answer = visit.call(base + agent.attach, [arena, memory, at, count, 0, 0])?;
    match answer as u32 {
        0 => {}
        1 => return Err(no_memory(target.pid)),
        2 => {
            return Err(
                "its code may not be changed any more (a filter of system calls, or PR_SET_MDWE)"
                    .to_owned(),
            );
        }
        3 => return Err("another evenkeel is at work in it: end that one first, or wait ten seconds if it was killed".to_owned()),
        4 => {
            return Err(
                "a thread of it has been forking or changing hooks for two seconds; try again"
                    .to_owned(),
            );
        }
        other => return Err(format!("the agent answered {other}")),
    }
    unblock_traps(visit, target);
    visit.call(base + agent.poll, [0; 6]).map(|_| ())
}

/// `/proc/PID/mem` of a process that may not open it itself, since it has changed its user: the agent writes code through it where memory may not
/// become executable. It is handed over without asking whether that is so, which only the agent finds out.
fn own_memory(pid: i32) -> Option<File> {
    let file = crate::namespace::file(pid, "mem");
    let user: u32 = process::status(pid, "Uid")?
        .split_ascii_whitespace()
        .nth(1)?
        .parse()
        .ok()?;
    let is_its_own = std::fs::metadata(&file).is_ok_and(|file| file.uid() == user);
    let open = || File::options().read(true).write(true).open(&file).ok();
    (!is_its_own).then(open)?
}

/// The message where a process may not map the session's memory; only the used part takes memory.
fn no_memory(pid: i32) -> String {
    format!(
        "the agent cannot map the session's memory, two GiB of addresses, within the process' limits (ulimit -v; ulimit -l where it locks its memory; a cgroup; dovecot's vsz_limit); lift them: prlimit --pid {pid} --as=unlimited --memlock=unlimited"
    )
}

/// The kernel ends a process that meets a breakpoint with SIGTRAP blocked. A new thread inherits the mask of its
/// creator, which may still be the old one. So the threads are visited until no new one is found.
fn unblock_traps(visit: &mut Visit<'_>, target: &Target) {
    const PASSES_MAX: usize = 8;
    visit.unblock(libc::SIGTRAP);
    let mut done = HashSet::from([visit.tid()]);
    for _ in 0..PASSES_MAX {
        let threads = process::threads(target.pid).unwrap_or_default();
        let others = threads.into_iter().filter(|tid| !done.contains(tid));
        let blocked: Vec<i32> = others
            .filter(|&tid| may_block(tid, libc::SIGTRAP))
            .collect();
        if blocked.is_empty() {
            return;
        }
        for &tid in &blocked {
            if let Ok(Some(thread)) = Tracee::stop(tid)
                && let Ok(mask) = thread.mask()
            {
                let _ = thread.set_mask(mask & !bit(libc::SIGTRAP));
            }
        }
        done.extend(blocked);
    }
}

/// Whether a thread blocks a signal, or may do so once it returns from where it waits.
fn may_block(tid: i32, signal: i32) -> bool {
    let blocked =
        process::status(tid, "SigBlk").and_then(|text| u64::from_str_radix(&text, 16).ok());
    blocked.is_none_or(|mask| mask & bit(signal) != 0) || process::waits_with_another_mask(tid)
}

/// Loads the agent from a descriptor of the process. Its address.
fn load(
    visit: &mut Visit<'_>,
    target: &Target,
    agent: &AgentFile,
    descriptor: i32,
) -> Result<u64, String> {
    const NOW: u64 = libc::RTLD_NOW as u64 | libc::RTLD_NODELETE as u64;
    /// For `__libc_dlopen_mode`: the caller is the program (`__RTLD_DLOPEN` of glibc's include/dlfcn.h).
    const FROM_PROGRAM: u64 = 0x8000_0000;
    // The loader takes a file whose name it has loaded for the same file, so each agent gets a different spelling.
    let older = target
        .mappings
        .iter()
        .filter(|mapping| mapping.offset == 0 && is_agent(&mapping.path))
        .count();
    let path = format!("/proc/self/fd/{}{descriptor}\0", "./".repeat(older));
    let at = visit.data();
    visit
        .memory()
        .write(at, path.as_bytes())
        .map_err(|error| error.to_string())?;
    let (dlopen, flags) = match (
        target.function("dlopen"),
        target.function("__libc_dlopen_mode"),
    ) {
        (Some(dlopen), _) => (dlopen, NOW),
        (None, Some(dlopen)) => (dlopen, NOW | FROM_PROGRAM),
        (None, None) => {
            return Err("its C library has no dlopen; link it dynamically with glibc".to_owned());
        }
    };
    let handle = visit.call(dlopen, [at, flags, 0, 0, 0, 0])?;
    if handle == 0 {
        let message = match target.function("dlerror") {
            Some(dlerror) => visit.call(dlerror, [0; 6])?,
            None => 0,
        };
        return Err(refusal_of_loader(&visit.memory().text(message)));
    }
    // A handle of glibc's is the file's `struct link_map` (link.h), whose first word is where the file lies.
    let base = target.memory.word(handle).ok();
    base.filter(|&base| agent.is_at(base, &target.memory))
        .ok_or_else(|| "its loader did not map the agent".to_owned())
}

fn refusal_of_loader(message: &str) -> String {
    let advice = if message.contains("static TLS") {
        "its libraries have used up the room for thread-local variables; start it with GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096, or with `evenkeel profile`"
    } else if message.contains("No such file") && message.contains("/proc/self/fd") {
        "it sees no /proc; mount it in its root directory"
    } else if message.contains("libgcc_s") {
        "install libgcc_s.so.1 where it can find it (the package libgcc-s1)"
    } else {
        "start it with `evenkeel profile`"
    };
    format!("its loader refuses the agent ({message}); {advice}")
}

/// Whether glibc's loader is mapped, and the C library is not: a program that has just begun.
fn is_loading(mappings: &[Mapping]) -> bool {
    let is_there = |is: fn(&str) -> bool| {
        mappings
            .iter()
            .any(|mapping| is(process::file_name(&mapping.path)))
    };
    is_there(|name| name.starts_with("ld-linux") || name.starts_with("ld-2."))
        && !is_there(|name| name.starts_with("libc.so") || name.starts_with("libc-"))
}

/// A process that is about to be visited.
pub(crate) struct Target {
    pid: i32,
    mappings: Vec<Mapping>,
    files: Vec<Mapped>,
    pub(crate) memory: Memory,
}

impl Target {
    pub(crate) fn open(pid: i32) -> Result<Target, Refused> {
        let mappings = process::mappings(pid).map_err(|_| not_permitted(pid))?;
        let memory = Memory::open(pid).map_err(|_| not_permitted(pid))?;
        let files = Mapped::all(pid, &mappings);
        Ok(Target {
            pid,
            mappings,
            files,
            memory,
        })
    }

    /// The same of a process that may have begun just now: its loader maps the C library before its program runs.
    fn open_started(pid: i32) -> Result<Target, Refused> {
        let began = Instant::now();
        loop {
            let target = Target::open(pid)?;
            if !is_loading(&target.mappings) || began.elapsed() > LOADING_LIMIT {
                return Ok(target);
            }
            std::thread::sleep(SEARCH_PAUSES[0]);
        }
    }

    /// A function of the C library.
    fn function(&self, name: &str) -> Option<u64> {
        let files = self.files.iter();
        let of_c_library = files.filter(|file| process::is_c_library(&file.path));
        of_c_library.filter_map(|file| file.function(name)).next()
    }

    pub(crate) fn functions(&self) -> Result<Functions, Refused> {
        let leave = self
            .files
            .iter()
            .filter(|file| process::file_name(&file.path).starts_with("libc"));
        let leave = leave.filter_map(|file| file.leave()).next();
        let found = || {
            Some(Functions {
                syscall: self.function("syscall")?,
                mmap: self.function("mmap")?,
                errno: self.function("__errno_location")?,
                leave: leave?,
            })
        };
        found().ok_or_else(|| Refused::Unfit {
            pid: self.pid,
            why: match self.unread_c_library() {
                Some(library) => format!("it needs its C library, {library}"),
                None => NO_GLIBC.to_owned(),
            },
        })
    }

    /// A C library that is mapped and could not be read, and why.
    fn unread_c_library(&self) -> Option<String> {
        let is_read = |path: &str| self.files.iter().any(|file| file.path == path);
        let mut libraries = self
            .mappings
            .iter()
            .filter(|mapping| mapping.executable && process::is_c_library(&mapping.path));
        let unread = libraries.find(|mapping| !is_read(&mapping.path))?;
        Some(unread.unreadable())
    }

    /// Stops a thread at a safe point, which is looked for during `limit`. It may have no other number of filters than these: another
    /// has come since they were judged.
    fn visit(
        &self,
        filters: &HashSet<Option<String>>,
        limit: Duration,
    ) -> Result<Visit<'_>, Refused> {
        let functions = self.functions()?;
        let mut safe_points = SafePoints::new(&self.files, &self.mappings);
        let began = Instant::now();
        let mut why = "none could be stopped".to_owned();
        let [mut pause, longest] = SEARCH_PAUSES;
        while began.elapsed() < limit {
            let threads =
                process::threads(self.pid).map_err(|_| Refused::Gone { pid: self.pid })?;
            for tid in threads {
                // One that does not stop in time has taken some of it.
                if began.elapsed() > limit {
                    break;
                }
                let since = Instant::now();
                let tracee = match Tracee::stop(tid) {
                    Ok(Some(tracee)) => tracee,
                    Ok(None) => continue,
                    Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                        return Err(not_permitted(self.pid));
                    }
                    Err(_) => continue,
                };
                if !filters.contains(&seccomp::count(tid)) {
                    return Err(Refused::Unfit {
                        pid: self.pid,
                        why: FILTER_CAME.to_owned(),
                    });
                }
                let Ok(registers) = Registers::read(tracee.number) else {
                    continue;
                };
                match safe_points.check(&registers, &self.memory) {
                    Ok(()) => {
                        let visit = Visit::begin(tracee, registers, &self.memory, functions, since);
                        return visit.map_err(|why| Refused::Failed { pid: self.pid, why });
                    }
                    Err(danger) => why = danger,
                }
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(longest);
        }
        Err(Refused::NoSafePoint {
            pid: self.pid,
            limit_ms: limit.as_millis() as u64,
            why,
        })
    }
}

#[cfg(test)]
mod tests;
