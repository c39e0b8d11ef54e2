//! The system calls that an attached process makes for the profiler's sake: by the loader that maps the agent, and by the agent.

use libc::*;

/// Consequence of an error in answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing works without it; the text is its purpose.
    Always(&'static str),
    /// It is done without.
    Spared,
    /// Memory becomes executable by it: done without where [`Need::InPlace`] is allowed.
    Executable,
    /// Code is written by it where memory cannot become executable.
    InPlace,
}

/// A system call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its name in messages.
    pub name: &'static str,
    /// Its number.
    pub number: c_long,
    /// Its arguments; `None` for addresses, descriptors and the like.
    pub arguments: [Option<u64>; 6],
    /// Consequence of an error in answer.
    pub need: Need,
}

const fn call(name: &'static str, number: c_long, arguments: [Option<u64>; 6], need: Need) -> Call {
    Call {
        name,
        number,
        arguments,
        need,
    }
}

const ANY: [Option<u64>; 6] = [None; 6];

const fn mapping(protection: c_int, flags: c_int, need: Need) -> Call {
    let arguments = [
        None,
        Some(4096),
        Some(protection as u64),
        Some(flags as u64),
        None,
        Some(0),
    ];
    call("mmap", SYS_mmap, arguments, need)
}

const fn protecting(protection: c_int, need: Need) -> Call {
    let arguments = [None, Some(4096), Some(protection as u64), None, None, None];
    call("mprotect", SYS_mprotect, arguments, need)
}

const fn first(argument: c_int) -> [Option<u64>; 6] {
    [Some(argument as u64), None, None, None, None, None]
}

const fn second(argument: c_int) -> [Option<u64>; 6] {
    [None, Some(argument as u64), None, None, None, None]
}

const fn opening(flags: c_int, need: Need) -> Call {
    let arguments = [
        Some(AT_FDCWD as u64),
        None,
        Some(flags as u64),
        Some(0),
        None,
        None,
    ];
    call("openat", SYS_openat, arguments, need)
}

#[cfg(target_arch = "x86_64")]
const READLINK: c_long = SYS_readlink;
#[cfg(target_arch = "aarch64")]
const READLINK: c_long = SYS_readlinkat;
const READ_EXECUTE: c_int = PROT_READ | PROT_EXEC;
const READ_WRITE: c_int = PROT_READ | PROT_WRITE;
const FRESH: c_int = MAP_PRIVATE | MAP_ANONYMOUS;
const OF_LIBRARY: c_int = MAP_PRIVATE | MAP_DENYWRITE;
const HAND_OVER: Need = Need::Always("handing over the agent and the session's memory");
const LOAD: Need = Need::Always("loading the agent");
const MEMORY: Need = Need::Always("memory for probes");
const TRAPS: Need = Need::Always("changing code of running threads");

/// All of them. The agent's are found by `grep -rE 'libc::|SYS_' profiler/agent/src profiler/patch/src`; the loader's are those of `dlopen`
/// (dl-load.c of glibc), and `malloc`'s. `cli/tests/attach/filtered.rs` attaches
/// under a filter that ends the process at any other.
pub const CALLS: &[Call] = &[
    call(
        "socketpair",
        SYS_socketpair,
        [
            Some(AF_UNIX as u64),
            Some((SOCK_STREAM | SOCK_CLOEXEC) as u64),
            Some(0),
            None,
            None,
            None,
        ],
        HAND_OVER,
    ),
    call("recvmsg", SYS_recvmsg, ANY, HAND_OVER),
    call("close", SYS_close, ANY, HAND_OVER),
    opening(O_RDONLY | O_CLOEXEC, LOAD),
    call("read", SYS_read, ANY, LOAD),
    call("pread64", SYS_pread64, ANY, LOAD),
    // One of the two is what the C library has.
    call("fstat", SYS_fstat, ANY, Need::Spared),
    call("newfstatat", SYS_newfstatat, ANY, Need::Spared),
    call("readlink", READLINK, ANY, Need::Spared),
    mapping(PROT_READ, OF_LIBRARY, LOAD),
    mapping(READ_EXECUTE, OF_LIBRARY | MAP_FIXED, LOAD),
    mapping(READ_WRITE, OF_LIBRARY | MAP_FIXED, LOAD),
    mapping(READ_WRITE, FRESH | MAP_FIXED, LOAD),
    mapping(READ_WRITE, FRESH, MEMORY),
    mapping(READ_WRITE, FRESH | MAP_NORESERVE, MEMORY),
    mapping(READ_WRITE, FRESH | MAP_FIXED_NOREPLACE, MEMORY),
    mapping(READ_WRITE, MAP_SHARED | MAP_NORESERVE, MEMORY),
    mapping(READ_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, MEMORY),
    mapping(
        PROT_NONE,
        FRESH | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
        MEMORY,
    ),
    mapping(READ_EXECUTE, FRESH | MAP_FIXED_NOREPLACE, MEMORY),
    mapping(READ_WRITE | PROT_EXEC, FRESH, Need::Spared),
    protecting(PROT_READ, LOAD),
    protecting(PROT_NONE, Need::Spared),
    protecting(READ_WRITE, LOAD),
    protecting(READ_EXECUTE, Need::Executable),
    protecting(READ_WRITE | PROT_EXEC, Need::Executable),
    opening(O_RDWR | O_CLOEXEC, Need::InPlace),
    call("fcntl", SYS_fcntl, second(F_DUPFD_CLOEXEC), Need::Spared),
    call("pwrite64", SYS_pwrite64, ANY, Need::InPlace),
    call("munmap", SYS_munmap, ANY, MEMORY),
    call("madvise", SYS_madvise, ANY, Need::Spared),
    call("mremap", SYS_mremap, ANY, Need::InPlace),
    call("brk", SYS_brk, ANY, Need::Spared),
    call("membarrier", SYS_membarrier, first(1 << 6), Need::Spared),
    call("membarrier", SYS_membarrier, first(1 << 5), Need::Spared),
    call("rt_sigaction", SYS_rt_sigaction, first(SIGTRAP), TRAPS),
    call(
        "rt_sigaction",
        SYS_rt_sigaction,
        first(SIGSEGV),
        Need::Spared,
    ),
    call(
        "rt_sigaction",
        SYS_rt_sigaction,
        first(SIGBUS),
        Need::Spared,
    ),
    call(
        "rt_sigaction",
        SYS_rt_sigaction,
        first(SIGILL),
        Need::Spared,
    ),
    call("rt_sigprocmask", SYS_rt_sigprocmask, ANY, TRAPS),
    call("rt_sigreturn", SYS_rt_sigreturn, ANY, TRAPS),
    call("sigaltstack", SYS_sigaltstack, ANY, Need::Spared),
    call("tgkill", SYS_tgkill, ANY, HAND_OVER),
    call("kill", SYS_kill, second(0), Need::Spared),
    call("getpid", SYS_getpid, ANY, TRAPS),
    call("gettid", SYS_gettid, ANY, TRAPS),
    call("futex", SYS_futex, ANY, TRAPS),
    call("nanosleep", SYS_nanosleep, ANY, Need::Spared),
    call("clock_nanosleep", SYS_clock_nanosleep, ANY, Need::Spared),
    call("clock_gettime", SYS_clock_gettime, ANY, Need::Spared),
    call("sched_yield", SYS_sched_yield, ANY, Need::Spared),
    call(
        "sched_getaffinity",
        SYS_sched_getaffinity,
        ANY,
        Need::Spared,
    ),
    call("getrandom", SYS_getrandom, ANY, Need::Spared),
    call("process_vm_readv", SYS_process_vm_readv, ANY, Need::Spared),
    call("getsockopt", SYS_getsockopt, ANY, Need::Spared),
    call("getsockname", SYS_getsockname, ANY, Need::Spared),
    call("getpeername", SYS_getpeername, ANY, Need::Spared),
];

/// Those that it makes where it has locked memory (mlockall(2)), besides.
pub const LOCKED: &[Call] = &[
    mapping(PROT_NONE, MAP_SHARED | MAP_NORESERVE, MEMORY),
    call("munlock", SYS_munlock, ANY, MEMORY),
    call("mremap", SYS_mremap, ANY, MEMORY),
];
