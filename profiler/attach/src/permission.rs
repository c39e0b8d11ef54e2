//! Whether a process may be traced and is of a kind that can be attached to, before it is touched.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use crate::error::Refused;
use crate::tracer::Memory;
use crate::{arch, namespace, process, seccomp, shared_thread};

/// Checks everything that can be known beforehand.
///
/// # Errors
/// Says what stands against it, and what to do.
pub fn check(pid: i32) -> Result<(), Refused> {
    if !arch::SUPPORTED {
        return Err(Refused::Architecture(std::env::consts::ARCH));
    }
    if process::started(pid).is_none() {
        return ended(pid);
    }
    if namespace::outer(pid) == std::process::id() as i32 {
        return unfit(pid, "it is evenkeel itself");
    }
    of_a_process(pid)?;
    traced(pid)?;
    Memory::open(pid).map_err(|_| not_permitted(pid))?;
    of_this_machine(pid)?;
    not_translated(pid)?;
    namespace::may_enter(pid)?;
    fit(pid)?;
    not_sharing(pid)
}

/// Whether the agent of a process would know it by the number that it has here.
pub(crate) fn of_this_namespace(pid: i32) -> Result<(), Refused> {
    let numbers = process::status(pid, "NSpid").unwrap_or_default();
    match numbers.split_ascii_whitespace().count() {
        ..=1 => Ok(()),
        _ => unfit(
            pid,
            format!(
                "it has process numbers of its own (a container inside of what is attached to); attach to it by itself: `evenkeel attach {}`",
                namespace::outer(pid)
            ),
        ),
    }
}

fn ended(pid: i32) -> Result<(), Refused> {
    let has_others = process::threads(pid).is_ok_and(|threads| threads.len() > 1);
    match process::status(pid, "PPid") {
        Some(_) if has_others => unfit(
            pid,
            "its first thread has ended while others go on, and what the system tells of a process it tells of the first; start it with `evenkeel profile`",
        ),
        Some(parent) => unfit(
            pid,
            format!(
                "it has ended, and is listed until its parent, process {parent}, has asked how"
            ),
        ),
        None => Err(Refused::Gone { pid }),
    }
}

/// Whether the number is that of a process with a program: `/proc` also has threads, and those of the kernel.
fn of_a_process(pid: i32) -> Result<(), Refused> {
    let leader = process::status(pid, "Tgid").and_then(|text| text.parse().ok());
    if let Some(leader) = leader.filter(|&leader: &i32| leader != pid) {
        return unfit(
            pid,
            format!("it is a thread of process {leader}; give that number"),
        );
    }
    if process::is_of_kernel(pid) {
        return unfit(
            pid,
            "it is a thread of the kernel; give the number of a program's process",
        );
    }
    Ok(())
}

fn unfit<T>(pid: i32, why: impl Into<String>) -> Result<T, Refused> {
    let why = why.into();
    Err(Refused::Unfit { pid, why })
}

/// Whether its program is a 64-bit one.
fn of_this_machine(pid: i32) -> Result<(), Refused> {
    /// The magic number and the class of an ELF file for 32 bits, `ELFCLASS32` (elf(5)).
    const OF_32_BITS: [u8; 5] = *b"\x7fELF\x01";
    let mut begin = [0; OF_32_BITS.len()];
    let program = File::open(process::program(pid)).map_err(|_| not_permitted(pid))?;
    // A shorter file is no program, which is reported later.
    let _ = program.read_exact_at(&mut begin, 0);
    if begin == OF_32_BITS {
        return unfit(pid, "it is a 32-bit program; use a 64-bit build of it");
    }
    Ok(())
}

/// Whether the processor executes the program's own code, and not a translation that another program makes of it.
fn not_translated(pid: i32) -> Result<(), Refused> {
    let program = fs::read_link(process::program(pid)).unwrap_or_default();
    match translator(&program.to_string_lossy()) {
        None => Ok(()),
        Some(name) => unfit(
            pid,
            format!(
                "{name} runs it, and executes a translation of its code, which has no place for probes; attach to it where it runs by itself"
            ),
        ),
    }
}

/// Whether no thread uses the thread-local memory of another.
fn not_sharing(pid: i32) -> Result<(), Refused> {
    match shared_thread::of(pid) {
        None => Ok(()),
        Some(tid) => unfit(
            pid,
            format!(
                "its thread {tid} uses the thread-local memory of another one (made by `clone` without CLONE_SETTLS), so their calls cannot be told apart; attach before it makes such a thread"
            ),
        ),
    }
}

/// The program that translates others, if this file is one: valgrind's tools, and QEMU's for single programs, which are called by an
/// architecture (`qemu-system-..` is a machine, and a program like others).
fn translator(program: &str) -> Option<&'static str> {
    const ARCHITECTURES: &str = "x86_64 i386 aarch64 arm armeb riscv64 riscv32 ppc64le ppc64 ppc s390x mips mipsel mips64 mips64el loongarch64";
    let (directory, name) = program.rsplit_once('/')?;
    if directory.ends_with("/valgrind") {
        return Some("valgrind");
    }
    let architecture = name.strip_prefix("qemu-")?.trim_end_matches("-static");
    let mut known = ARCHITECTURES.split(' ');
    known.any(|one| one == architecture).then_some("QEMU")
}

fn traced(pid: i32) -> Result<(), Refused> {
    let tracer = process::status(pid, "TracerPid").and_then(|text| text.parse().ok());
    match tracer.filter(|&tracer: &i32| tracer != 0) {
        None => Ok(()),
        // It was asked to stop, and sleeps in the kernel since.
        Some(tracer) if tracer == std::process::id() as i32 => Err(Refused::Asleep { pid }),
        Some(tracer) => {
            let name = process::name(tracer).unwrap_or_default();
            unfit(
                pid,
                format!(
                    "process {tracer} ({name}) traces it already, and there can be one tracer; end that one first"
                ),
            )
        }
    }
}

fn fit(pid: i32) -> Result<(), Refused> {
    seccomp::check(pid)?;
    let shadow = process::status(pid, "x86_Thread_features");
    if shadow.is_some_and(|features| {
        features
            .split_ascii_whitespace()
            .any(|name| name == "shstk")
    }) {
        return unfit(
            pid,
            "the processor guards its return addresses (shadow stacks); start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off",
        );
    }
    Ok(())
}

/// The reason why the system refuses this process, or that it has ended.
pub fn not_permitted(pid: i32) -> Refused {
    // A process that is ending has given up its memory before it disappears.
    if process::started(pid).is_none() || process::status(pid, "VmSize").is_none() {
        return Refused::Gone { pid };
    }
    let owner = process::status(pid, "Uid");
    let owner = owner.and_then(|ids| ids.split_ascii_whitespace().next()?.parse().ok());
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let capabilities = process::own_status("CapEff").unwrap_or_default();
    let capabilities = u64::from_str_radix(&capabilities, 16).unwrap_or(0);
    let rights = Rights {
        // SAFETY: no arguments.
        user: unsafe { libc::geteuid() },
        may_trace: capabilities & CAP_SYS_PTRACE != 0,
        may_open_all: capabilities & CAP_DAC_OVERRIDE != 0,
        scope: scope.trim(),
        tracer: process::status(pid, "TracerPid").and_then(|it| it.trim().parse().ok()),
        is_asleep: process::status(pid, "State").is_some_and(|state| state.trim().starts_with('D')),
    };
    match rights.lacking(pid, owner) {
        Some(why) => Refused::NotPermitted { pid, why },
        None => Refused::Asleep { pid },
    }
}

/// Bits of CapEff in /proc/PID/status (include/uapi/linux/capability.h).
const CAP_DAC_OVERRIDE: u64 = 1 << 1;
const CAP_SYS_PTRACE: u64 = 1 << 19;

/// What decides whether this process may trace another.
struct Rights<'a> {
    user: u32,
    /// It has CAP_SYS_PTRACE.
    may_trace: bool,
    /// It has CAP_DAC_OVERRIDE: `/proc/PID/mem` and `/proc/PID/fd` are their owner's alone.
    may_open_all: bool,
    /// As in kernel.yama.ptrace_scope; empty if the file is missing.
    scope: &'a str,
    /// Who traces the process already; 0 if nobody does.
    tracer: Option<i32>,
    /// The process sleeps for a device, where no signal reaches it.
    is_asleep: bool,
}

impl Rights<'_> {
    /// What they lack for a process of `owner`, and what to do; nothing where the process only sleeps.
    fn lacking(&self, pid: i32, owner: Option<u32>) -> Option<String> {
        let sleeps = self.may_trace && self.may_open_all && self.is_asleep;
        if sleeps && self.other_tracer().is_none() && self.scope != "3" {
            return None;
        }
        Some(self.lacking_awake(pid, owner))
    }

    /// Who traces it already.
    fn other_tracer(&self) -> Option<i32> {
        let own = std::process::id() as i32;
        self.tracer.filter(|&tracer| tracer != 0 && tracer != own)
    }

    fn lacking_awake(&self, pid: i32, owner: Option<u32>) -> String {
        if let Some(tracer) = self.other_tracer() {
            return format!(
                "process {tracer} traces it already (a debugger, or strace), and the system permits only one tracer. End that process, and attach again"
            );
        }
        if self.scope == "3" {
            return "kernel.yama.ptrace_scope is 3, which forbids tracing, even for root, until the next boot. Start the program with `evenkeel profile`".to_owned();
        }
        if self.may_trace && !self.may_open_all {
            return "its files in /proc belong to another user: CAP_SYS_PTRACE is not enough without CAP_DAC_OVERRIDE; run evenkeel as root (sudo), or add it (setcap cap_sys_ptrace,cap_dac_override,cap_perfmon=ep)".to_owned();
        }
        if self.may_trace {
            return "the system refuses it to CAP_SYS_PTRACE, too: a security module does (SELinux, AppArmor: `dmesg`, /var/log/audit), or the process is outside of this user namespace; run evenkeel as root of the machine".to_owned();
        }
        if self.user == 0 {
            return "even root lacks CAP_SYS_PTRACE here (a container?); give it to the container (--cap-add SYS_PTRACE), or run evenkeel on the host".to_owned();
        }
        match owner.filter(|&owner| owner != self.user) {
            Some(owner) => format!(
                "it runs as user {owner}; run evenkeel as root (sudo evenkeel attach {pid} ...)"
            ),
            None if ["1", "2"].contains(&self.scope) => format!(
                "kernel.yama.ptrace_scope is {}; run evenkeel as root (sudo), or `sysctl kernel.yama.ptrace_scope=0`",
                self.scope
            ),
            None => "its program changes its rights (setuid, setgid or file capabilities), or it has forbidden it (PR_SET_DUMPABLE); run evenkeel as root (sudo)".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What this machine's kernel does not have is not tried, but what would be said of it is.
    #[test]
    fn what_is_lacking_is_what_would_help() {
        let lacking = |user, may_trace, scope, owner| {
            let rights = Rights {
                user,
                may_trace,
                may_open_all: may_trace,
                scope,
                tracer: Some(0),
                is_asleep: false,
            };
            rights.lacking(4711, Some(owner)).unwrap_or_default()
        };
        let root = Rights {
            user: 0,
            may_trace: true,
            may_open_all: true,
            scope: "0",
            tracer: Some(0),
            is_asleep: true,
        };
        assert_eq!(root.lacking(4711, Some(33)), None, "it sleeps");
        let by_file_capability = Rights {
            user: 1000,
            may_open_all: false,
            is_asleep: false,
            ..root
        };
        let text = by_file_capability.lacking(4711, Some(33)).unwrap();
        assert!(text.contains("without CAP_DAC_OVERRIDE"), "{text}");
        let traced = Rights {
            tracer: Some(99),
            ..root
        };
        let text = traced.lacking(4711, Some(33)).unwrap();
        assert!(text.contains("process 99"), "{text}");
        for (user, may_trace, scope, owner, words) in [
            (
                1000,
                false,
                "1",
                1000,
                "ptrace_scope is 1; run evenkeel as root",
            ),
            (
                1000,
                false,
                "2",
                1000,
                "ptrace_scope is 2; run evenkeel as root",
            ),
            (1000, false, "1", 0, "it runs as user 0"),
            (1000, false, "", 1000, "setuid"),
            (1000, false, "0", 1000, "setuid"),
            (0, false, "1", 0, "even root lacks CAP_SYS_PTRACE"),
            (0, true, "1", 0, "a security module"),
            // Nobody may: not the user, nor root.
            (1000, false, "3", 0, "forbids tracing"),
            (0, true, "3", 1000, "forbids tracing"),
        ] {
            let text = lacking(user, may_trace, scope, owner);
            assert!(text.contains(words), "{user} {may_trace} {scope}: {text}");
        }
    }

    #[test]
    fn translators_by_their_files() {
        for (program, name) in [
            (
                "/usr/libexec/valgrind/memcheck-amd64-linux",
                Some("valgrind"),
            ),
            ("/usr/lib/valgrind/helgrind-amd64-linux", Some("valgrind")),
            ("/usr/bin/qemu-aarch64", Some("QEMU")),
            ("/usr/bin/qemu-x86_64-static", Some("QEMU")),
            ("/usr/bin/qemu-system-x86_64", None),
            ("/usr/sbin/qemu-ga", None),
            ("/usr/bin/qemu-storage-daemon", None),
            ("/opt/valgrind/bin/server", None),
            ("/usr/bin/sleep", None),
            ("", None),
        ] {
            assert_eq!(translator(program), name, "{program}");
        }
    }

    #[test]
    fn threads_are_no_processes() {
        let own = std::process::id() as i32;
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let (send, tid) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            // SAFETY: no arguments.
            let _ = send.send(unsafe { libc::gettid() });
            let _ = wait.recv();
        });
        let tid = tid.recv().expect("the thread's number");
        let refused = check(tid).expect_err("a thread is no process").to_string();
        assert!(
            refused.contains(&format!("a thread of process {own}")),
            "{refused}"
        );
        drop(done);
        thread.join().expect("the thread ends");
    }

    #[test]
    fn what_has_ended_but_is_listed() {
        let mut child = std::process::Command::new("true").spawn().expect("true");
        let pid = child.id() as i32;
        while process::started(pid).is_some() {
            std::thread::yield_now();
        }
        let refused = check(pid).expect_err("it has ended").to_string();
        assert!(refused.contains("it has ended"), "{refused}");
        child.wait().expect("it has ended");
        let refused = check(pid).expect_err("it is gone").to_string();
        assert!(refused.contains("there is no process"), "{refused}");
    }
}
