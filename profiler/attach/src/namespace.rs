//! Process numbers of another pid namespace (pid_namespaces(7)), as in a container.
//!
//! The agent knows its process by the numbers of the namespace in which it runs. So once a session has entered a namespace, numbers of
//! processes and threads are those of the namespace, everywhere but in the arguments of system calls. This process itself stays
//! outside: what happens to the container, its end included, does not touch it. It reads `/proc` of the namespace, which a child
//! mounts for it; the mount has no place in the tree of files, and does not depend on what the container has mounted.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use crate::error::Refused;
use crate::mounting;

/// The namespace that this process has entered, once for all.
static ENTERED: OnceLock<Namespace> = OnceLock::new();

struct Namespace {
    /// The namespace itself.
    of: OwnedFd,
    /// `/proc` of the namespace.
    proc: OwnedFd,
    /// What the link `/proc/PID/ns/pid` says of its processes.
    identity: PathBuf,
    /// The place of its numbers in the lines `NSpid`, which begin with those of this process' own namespace.
    level: usize,
    /// Numbers in this process' own namespace, by those of the entered one, where the kernel does not translate them.
    outer: Mutex<HashMap<i32, i32>>,
}

/// A file that `/proc` has of a process or thread, by its number in the entered namespace.
pub fn file(pid: i32, name: &str) -> PathBuf {
    folder().join(pid.to_string()).join(name)
}

/// `/proc` of the entered namespace.
pub fn folder() -> PathBuf {
    match ENTERED.get() {
        Some(namespace) => PathBuf::from(format!("/proc/self/fd/{}", namespace.proc.as_raw_fd())),
        None => PathBuf::from("/proc"),
    }
}

/// Whether a process is in another pid namespace than this one. False, too, if the system does not tell.
pub fn is_foreign(pid: i32) -> bool {
    let own = identity("self");
    identity(&pid.to_string()).is_some_and(|of| own.is_some_and(|own| own != of))
}

/// Whether a namespace was entered.
pub fn is_entered() -> bool {
    ENTERED.get().is_some()
}

/// Whether the pid namespace of a process can be entered, if it is another one.
///
/// # Errors
/// The system does not permit it, or the process has ended.
pub(crate) fn may_enter(pid: i32) -> Result<(), Refused> {
    match is_entered() || !is_foreign(pid) {
        true => Ok(()),
        false => mount(pid).map(drop),
    }
}

/// Enters the pid namespace of a process, if it is another one than this process': from then on all numbers are those that processes have
/// there. The process' number there.
///
/// # Errors
/// The system does not permit it, the process has ended, or another namespace was entered already.
pub fn enter(pid: i32) -> Result<i32, Refused> {
    if !is_foreign(pid) {
        return Ok(pid);
    }
    let of = identity(&pid.to_string()).ok_or(Refused::Gone { pid })?;
    let numbers = numbers(pid).ok_or(Refused::Gone { pid })?;
    let (inner, level) = (numbers[numbers.len() - 1], numbers.len() - 1);
    let namespace = link(pid).map_err(|_| Refused::Gone { pid })?;
    let proc = mount(pid)?;
    let entered = ENTERED.get_or_init(|| Namespace {
        of: namespace.into(),
        proc,
        identity: of.clone(),
        level,
        outer: Mutex::new(HashMap::from([(inner, pid)])),
    });
    if entered.identity != of {
        let why = "this evenkeel is at work in another pid namespace; start a second one for it";
        return Err(Refused::Unfit {
            pid,
            why: why.to_owned(),
        });
    }
    Ok(inner)
}

fn link(pid: i32) -> io::Result<fs::File> {
    fs::File::open(format!("/proc/{pid}/ns/pid"))
}

fn mount(pid: i32) -> Result<OwnedFd, Refused> {
    let mount = link(pid).and_then(|link| mounting::proc_of(&link));
    mount.map_err(|error| {
        let why = format!(
            "it has process numbers of its own (a container), and their /proc cannot be mounted ({error}); run evenkeel as root of the machine (sudo), with CAP_SYS_ADMIN"
        );
        Refused::NotPermitted { pid, why }
    })
}

/// The number by which system calls of this process know one of the entered namespace. 0, which is nobody, for one that has ended.
pub fn outer(inner: i32) -> i32 {
    let Some(namespace) = ENTERED.get() else {
        return inner;
    };
    if let Some(outer) = namespace.asked(inner) {
        return outer;
    }
    let mut known = namespace
        .outer
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    match known.get(&inner) {
        Some(&outer) if namespace.number_of(outer) == Some(inner) => outer,
        _ => {
            *known = namespace.all();
            known.get(&inner).copied().unwrap_or(0)
        }
    }
}

/// The number in the entered namespace of what system calls of this process know by `outer`. `None` if it is not in there.
pub fn inner(outer: i32) -> Option<i32> {
    match ENTERED.get() {
        Some(namespace) => namespace.number_of(outer),
        None => Some(outer),
    }
}

impl Namespace {
    /// The number by which this process knows one of the namespace, as the kernel says (`NS_GET_PID_FROM_PIDNS` of ioctl_nsfs(2), Linux 6.11);
    /// 0 where nobody has it. `None` from an older kernel, where all processes have to be looked at.
    fn asked(&self, inner: i32) -> Option<i32> {
        const PID_FROM_NAMESPACE: libc::c_ulong = 0x8004_b706;
        // SAFETY: the argument is a number.
        match unsafe { libc::ioctl(self.of.as_raw_fd(), PID_FROM_NAMESPACE, inner) } {
            outer if outer > 0 => Some(outer),
            _ => (io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)).then_some(0),
        }
    }

    fn number_of(&self, outer: i32) -> Option<i32> {
        let is_inside = identity(&outer.to_string()).as_ref() == Some(&self.identity);
        numbers(outer)
            .filter(|_| is_inside)?
            .get(self.level)
            .copied()
    }

    /// All threads of the namespace.
    fn all(&self) -> HashMap<i32, i32> {
        let mut found = HashMap::new();
        for process in listed("/proc") {
            if identity(&process.to_string()).as_ref() != Some(&self.identity) {
                continue;
            }
            for thread in listed(&format!("/proc/{process}/task")) {
                let number = numbers(thread).and_then(|numbers| numbers.get(self.level).copied());
                found.extend(number.map(|number| (number, thread)));
            }
        }
        found
    }
}

fn listed(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    names.collect()
}

/// What distinguishes the pid namespace of a process of this process' own `/proc`.
fn identity(pid: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

/// Its numbers in this process' own namespace and in those below, down to its own.
fn numbers(pid: i32) -> Option<Vec<i32>> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    let numbers: Result<Vec<i32>, _> = line.split_ascii_whitespace().map(str::parse).collect();
    numbers.ok().filter(|numbers| !numbers.is_empty())
}
