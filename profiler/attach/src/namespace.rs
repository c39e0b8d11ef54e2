//! Process numbers of another pid namespace (pid_namespaces(7)), as in a container.
//!
//! The agent knows its process by the numbers of the namespace in which it runs. So once a session has entered a
//! namespace, it uses the namespace's numbers of processes and threads everywhere except in system calls. The session's
//! process itself stays outside, so that the end of the container does not affect it. It reads the namespace's `/proc`,
//! which a child mounts for it. The mount is detached from the tree of files, and independent of the container's own
//! mounts.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use crate::error::Refused;
use crate::mounting;

/// Numbers that are kept, at most, of processes and threads that may have ended.
const KNOWN_MAX: usize = 1 << 16;

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
    match ENTERED.get() {
        Some(namespace) => namespace
            .asked(inner)
            .unwrap_or_else(|| namespace.searched(inner)),
        None => inner,
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
    /// 0 where nobody has it. `None` from an older kernel.
    fn asked(&self, inner: i32) -> Option<i32> {
        const PID_FROM_NAMESPACE: libc::c_ulong = 0x8004_b706;
        // SAFETY: the argument is a number.
        match unsafe { libc::ioctl(self.of.as_raw_fd(), PID_FROM_NAMESPACE, inner) } {
            outer if outer > 0 => Some(outer),
            _ => (io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)).then_some(0),
        }
    }

    /// The same where the kernel does not say it: a process is a child of its parent in every namespace. Only where no ancestor is known,
    /// all processes of the machine are looked at.
    fn searched(&self, inner: i32) -> i32 {
        let mut known = self
            .outer
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(outer) = self.still_known(&known, inner) {
            return outer;
        }
        let Some(process) = self.field(inner, "Tgid") else {
            return 0;
        };
        let mut found = self.descended(&known, process);
        if found.is_none() || known.len() > KNOWN_MAX {
            *known = self.all();
            found = self.descended(&known, process);
        }
        match found {
            Some(outer) if process == inner => {
                known.insert(inner, outer);
                outer
            }
            Some(outer) => {
                known.extend(self.threads_of(outer));
                known.get(&inner).copied().unwrap_or(0)
            }
            None => 0,
        }
    }

    fn still_known(&self, known: &HashMap<i32, i32>, inner: i32) -> Option<i32> {
        let outer = *known.get(&inner)?;
        (self.number_of(outer) == Some(inner)).then_some(outer)
    }

    /// A process that is known, or a descendant of one.
    fn descended(&self, known: &HashMap<i32, i32>, process: i32) -> Option<i32> {
        if let Some(outer) = self.still_known(known, process) {
            return Some(outer);
        }
        // 0 for the first of the namespace, and for one that came from outside.
        let parent = self.field(process, "PPid").filter(|&parent| parent != 0)?;
        let parent = self.descended(known, parent)?;
        let mut children = children(parent).into_iter();
        children.find(|&child| self.number_at_level(child) == Some(process))
    }

    fn number_of(&self, outer: i32) -> Option<i32> {
        let is_inside = identity(&outer.to_string()).as_ref() == Some(&self.identity);
        self.number_at_level(outer).filter(|_| is_inside)
    }

    /// The number in the namespace of what is in there, or in a namespace below it.
    fn number_at_level(&self, outer: i32) -> Option<i32> {
        numbers(outer)?.get(self.level).copied()
    }

    /// A number that `/proc` of the namespace has of a process or thread.
    fn field(&self, inner: i32, name: &str) -> Option<i32> {
        let folder = format!("/proc/self/fd/{}/{inner}", self.proc.as_raw_fd());
        line(&folder, name)?.parse().ok()
    }

    /// All threads of the namespace.
    fn all(&self) -> HashMap<i32, i32> {
        let mut processes = listed("/proc");
        processes.retain(|&process| self.number_of(process).is_some());
        let threads = processes
            .into_iter()
            .map(|process| self.threads_of(process));
        threads.flatten().collect()
    }

    /// The threads of a process of the namespace, by their numbers there.
    fn threads_of(&self, process: i32) -> Vec<(i32, i32)> {
        let threads = listed(&format!("/proc/{process}/task")).into_iter();
        threads
            .filter_map(|thread| Some((self.number_at_level(thread)?, thread)))
            .collect()
    }
}

fn listed(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    names.collect()
}

/// The children of all threads of a process. None from a kernel without CONFIG_PROC_CHILDREN.
fn children(process: i32) -> Vec<i32> {
    let threads = listed(&format!("/proc/{process}/task")).into_iter();
    let lists = threads.filter_map(|thread| {
        fs::read_to_string(format!("/proc/{process}/task/{thread}/children")).ok()
    });
    let children: Vec<String> = lists.collect();
    let words = children.iter().flat_map(|list| list.split_whitespace());
    words.filter_map(|word| word.parse().ok()).collect()
}

/// What distinguishes the pid namespace of a process of this process' own `/proc`.
fn identity(pid: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

/// Its numbers in this process' own namespace and in those below, down to its own.
fn numbers(pid: i32) -> Option<Vec<i32>> {
    let line = line(&format!("/proc/{pid}"), "NSpid")?;
    let numbers: Result<Vec<i32>, _> = line.split_ascii_whitespace().map(str::parse).collect();
    numbers.ok().filter(|numbers| !numbers.is_empty())
}

/// What a line of a process' `status` says.
fn line(folder: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("{folder}/status")).ok()?;
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(found.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell in a new namespace, with a child in it and another one in a nested namespace.
    struct Started(Child);

    impl Started {
        fn new() -> Option<Started> {
            // SAFETY: no arguments.
            if unsafe { libc::geteuid() } != 0 {
                eprintln!("not root, who alone makes namespaces everywhere: nothing was tested");
                return None;
            }
            let mut command = Command::new("unshare");
            let inside = "sleep 1000 & unshare --pid --fork --kill-child sleep 1000 & wait";
            command.args(["--pid", "--fork", "--kill-child", "sh", "-c", inside]);
            let child = command.stdin(Stdio::null()).spawn().ok()?;
            Some(Started(child))
        }

        /// The first process of the namespace.
        fn first(&self) -> i32 {
            wait_for(|| children(self.0.id() as i32).first().copied())
        }
    }

    impl Drop for Started {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
        loop {
            if let Some(found) = look() {
                return found;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    fn namespace_of(pid: i32, known: &[(i32, i32)]) -> Namespace {
        let of = link(pid).expect("a namespace");
        Namespace {
            proc: mounting::proc_of(&of).expect("root mounts /proc"),
            of: of.into(),
            identity: identity(&pid.to_string()).expect("a namespace"),
            level: numbers(pid).expect("numbers").len() - 1,
            outer: Mutex::new(known.iter().copied().collect()),
        }
    }

    #[test]
    fn numbers_are_found_from_ancestors_as_the_kernel_says_them() {
        let Some(started) = Started::new() else {
            return;
        };
        let first = started.first();
        // Two children; the second has a child in a nested namespace.
        let all = wait_for(|| {
            let below = children(first);
            let nested: Vec<i32> = below.iter().flat_map(|&child| children(child)).collect();
            (below.len() == 2 && nested.len() == 1).then(|| [below, nested].concat())
        });
        for known in [&[(1, first)][..], &[]] {
            let namespace = namespace_of(first, known);
            for &outer in &all {
                let inner = namespace.number_at_level(outer).expect("a number");
                assert_eq!(namespace.searched(inner), outer, "{known:?}");
                if let Some(said) = namespace.asked(inner) {
                    assert_eq!(said, outer);
                }
            }
            assert_eq!(namespace.searched(i32::MAX), 0, "nobody has that");
        }
    }
}
