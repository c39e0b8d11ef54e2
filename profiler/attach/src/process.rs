//! What `/proc` says of a process.

use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::namespace;

/// A line of `/proc/PID/maps`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// Where it lies.
    pub range: Range<u64>,
    /// Its code may be executed.
    pub executable: bool,
    /// It may be written.
    pub writable: bool,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file's inode; 0 for memory of no file.
    pub inode: u64,
    /// The file's path as the process saw it, `[stack]` and the like, or nothing.
    pub path: String,
}

/// The kernel's suffix for a file that no name leads to any more.
pub const DELETED: &str = " (deleted)";

impl Mapping {
    /// Where the file can be read that the process `pid` has mapped here, whatever has its name now. The system wants more rights for it.
    pub fn file(&self, pid: i32) -> PathBuf {
        let Range { start, end } = self.range;
        namespace::file(pid, &format!("map_files/{start:x}-{end:x}"))
    }

    /// What there is to say of a file that cannot be read as a program: its name, and why.
    pub(crate) fn unreadable(&self) -> String {
        let name = file_name(&self.path);
        match self.path.ends_with(DELETED) {
            _ if self.is_of_a_runtime() => format!(
                "{name}, which is neither a program nor a library: a runtime keeps code there, whose calls cannot be followed"
            ),
            true => format!(
                "{name}, which was replaced since the process loaded it and which only root can still read: run evenkeel as root"
            ),
            false => format!("{name}, which cannot be read: run evenkeel as root"),
        }
    }

    /// Whether its file can be read and is not in the format of programs.
    fn is_of_a_runtime(&self) -> bool {
        let mut begins = [0; 4];
        let file = File::open(&self.path);
        let is_read = file.is_ok_and(|mut file| file.read_exact(&mut begins).is_ok());
        is_read && begins != *b"\x7fELF"
    }
}

/// The mappings of a process, ascending.
///
/// # Errors
/// It has ended, or may not be looked at.
pub fn mappings(pid: i32) -> io::Result<Vec<Mapping>> {
    let text = read(&namespace::file(pid, "maps"))?;
    Ok(text.lines().filter_map(mapping).collect())
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (low, high) = fields.next()?.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let rights = fields.next()?.as_bytes();
    let offset = hex(fields.next()?)?;
    let _device = fields.next()?;
    let inode = fields.next()?.parse().ok()?;
    Some(Mapping {
        range: hex(low)?..hex(high)?,
        executable: rights.get(2) == Some(&b'x'),
        writable: rights.get(1) == Some(&b'w'),
        offset,
        inode,
        path: fields.next().unwrap_or_default().trim_start().to_owned(),
    })
}

/// The threads of a process.
///
/// # Errors
/// It has ended.
pub fn threads(pid: i32) -> io::Result<Vec<i32>> {
    let entries = fs::read_dir(namespace::file(pid, "task"))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(names.collect())
}

/// The value of a line of `/proc/PID/status`, or of a thread's.
pub fn status(pid: i32, name: &str) -> Option<String> {
    status_in(&namespace::file(pid, "status"), name)
}

/// The same of this process.
pub fn own_status(name: &str) -> Option<String> {
    status_in(Path::new("/proc/self/status"), name)
}

/// A file whose size the kernel does not tell. It is read by the page, as the kernel gives it out; `fs::read_to_string` takes pieces of
/// 32 bytes. A thread stands still while those of thousands of others are read.
///
/// # Errors
/// Its process has ended, or may not be looked at.
pub fn read(file: &Path) -> io::Result<String> {
    const PAGE: usize = 4096;
    let (mut file, mut text, mut len) = (File::open(file)?, vec![0; PAGE], 0);
    loop {
        match file.read(&mut text[len..])? {
            0 => break,
            more => len += more,
        }
        text.resize(len + PAGE, 0);
    }
    text.truncate(len);
    String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn status_in(file: &Path, name: &str) -> Option<String> {
    let text = read(file).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// Whether a thread waits in a system call that replaces its signal mask during the wait: the kernel does not show
/// the original mask.
pub(crate) fn waits_with_another_mask(tid: i32) -> bool {
    /// The calls, and which of their arguments is the mask.
    const CALLS: [(i64, usize); 5] = [
        (libc::SYS_rt_sigsuspend, 0),
        (libc::SYS_ppoll, 3),
        (libc::SYS_epoll_pwait, 4),
        (libc::SYS_epoll_pwait2, 4),
        (libc::SYS_pselect6, 5),
    ];
    // The number and the arguments (proc(5)); "running" outside of system calls.
    let text = read(&namespace::file(tid, "syscall")).unwrap_or_default();
    let mut words = text.split_whitespace();
    let number = words.next().and_then(|word| word.parse().ok());
    CALLS.iter().any(|&(call, argument)| {
        Some(call) == number
            && words
                .clone()
                .nth(argument)
                .is_some_and(|word| word != "0x0")
    })
}

/// The command's name, as `ps` shows it.
pub fn name(pid: i32) -> Option<String> {
    let text = read(&namespace::file(pid, "comm")).ok()?;
    Some(text.trim_end().to_owned())
}

/// The file of the program that a process runs: another path may lead to it, and a new version has another inode. `None` once it has ended.
pub fn program_file(pid: i32) -> Option<(u64, u64)> {
    let file = fs::metadata(program(pid)).ok()?;
    Some((file.dev(), file.ino()))
}

/// The command line.
pub fn command_line(pid: i32) -> String {
    let bytes = fs::read(namespace::file(pid, "cmdline")).unwrap_or_default();
    let words = bytes
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
    words.join(" ")
}

/// When the process started, in the kernel's units: distinguishes it from a later one of the same number. `None` once it has ended.
pub fn started(pid: i32) -> Option<u64> {
    let text = read(&namespace::file(pid, "stat")).ok()?;
    // The name may hold anything, and ends with the last parenthesis.
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Processor time that a thread has used. `None` where the kernel does not say (`CONFIG_SCHED_INFO`), or it has ended.
pub fn used(tid: i32) -> Option<Duration> {
    let text = read(&namespace::file(tid, "schedstat")).ok()?;
    let used_ns = text.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(used_ns))
}

/// What a process runs: another one after it has executed a program, the same one or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    started: u64,
    /// Where its first stack begins, and its program's code.
    stack: u64,
    code: u64,
}

impl Image {
    /// Whether the kernel is executing a program for the process and has not mapped it yet. `/proc/PID/exe` names that program
    /// already, but `/proc/PID/maps` lacks it.
    pub(crate) fn is_being_made(self) -> bool {
        self.code == 0
    }
}

/// What a process runs. `None` once it has ended, or has given up its memory, as one that is ending does first.
pub fn image(pid: i32) -> Option<Image> {
    let text = read(&namespace::file(pid, "stat")).ok()?;
    image_of(&text)
}

/// Reads a line of `/proc/PID/stat` (proc(5)). The fields state, starttime, vsize, startcode and startstack have the
/// numbers 3, 22, 23, 26 and 28.
fn image_of(stat: &str) -> Option<Image> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let has_memory = field(23)? != 0 && !matches!(fields[0], "Z" | "X");
    has_memory.then_some(Image {
        started: field(22)?,
        stack: field(28)?,
        code: field(26)?,
    })
}

/// Whether the kernel runs it, for itself (`PF_KTHREAD` of include/linux/sched.h).
pub fn is_of_kernel(pid: i32) -> bool {
    const OF_KERNEL: u64 = 0x0020_0000;
    flags(pid) & OF_KERNEL != 0
}

/// Whether the kernel runs a thread of a process for itself, as those of io_uring (`PF_IO_WORKER`, and `PF_USER_WORKER` since Linux 6.4).
pub(crate) fn is_kernels_worker(tid: i32) -> bool {
    const WORKERS: u64 = 0x4000 | 0x10;
    flags(tid) & WORKERS != 0
}

/// The flags of a task; none once it has ended.
fn flags(tid: i32) -> u64 {
    let text = read(&namespace::file(tid, "stat")).unwrap_or_default();
    let flags = text
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.split(' ').nth(6)?.parse().ok());
    flags.unwrap_or(0)
}

fn parent(pid: i32) -> Option<i32> {
    status(pid, "PPid")?.parse().ok()
}

/// All processes, ascending.
pub fn all() -> Vec<i32> {
    let entries = fs::read_dir(namespace::folder()).into_iter().flatten();
    let mut pids: Vec<i32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    pids
}

/// A process and everything that descends from it, parents first.
pub fn family(pid: i32) -> Vec<i32> {
    let mut family = vec![pid];
    let mut looked_at = 0;
    while looked_at < family.len() {
        let of = family[looked_at];
        looked_at += 1;
        let children = children(of).into_iter().filter(|&child| child != of);
        family.extend(children);
    }
    family
}

/// The children of a process. Without looking at every process of the machine, where the kernel lists them (`CONFIG_PROC_CHILDREN`).
fn children(pid: i32) -> Vec<i32> {
    let of_thread = |tid: i32| read(&namespace::file(pid, &format!("task/{tid}/children")));
    let lists = threads(pid).unwrap_or_default().into_iter().map(of_thread);
    match lists.collect::<io::Result<Vec<String>>>() {
        Ok(lists) => {
            let numbers = lists.iter().flat_map(|list| list.split_ascii_whitespace());
            numbers.filter_map(|number| number.parse().ok()).collect()
        }
        Err(_) => all()
            .into_iter()
            .filter(|&child| parent(child) == Some(pid))
            .collect(),
    }
}

/// Processes of this name that descend from no other of this name: the servers, not their workers.
pub fn named(wanted: &str) -> Vec<i32> {
    let own = std::process::id() as i32;
    let is = |pid: i32| {
        let program = fs::read_link(program(pid)).unwrap_or_default();
        let program = program.file_name().map(|name| name.as_bytes().to_owned());
        name(pid).as_deref() == Some(wanted) || program.as_deref() == Some(wanted.as_bytes())
    };
    let of_name: Vec<i32> = all()
        .into_iter()
        .filter(|&pid| pid != own && is(pid))
        .collect();
    let child_of_one = |pid: i32| parent(pid).is_some_and(|parent| of_name.contains(&parent));
    of_name
        .iter()
        .copied()
        .filter(|&pid| !child_of_one(pid))
        .collect()
}

/// A path of the process, as this one can read it: the other may have another root directory.
pub fn readable(pid: i32, path: &str) -> PathBuf {
    let path = path.strip_suffix(DELETED).unwrap_or(path);
    namespace::file(pid, &format!("root{path}"))
}

/// The program that the process runs, as this process can read it.
pub fn program(pid: i32) -> PathBuf {
    namespace::file(pid, "exe")
}

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    let path = path.strip_suffix(DELETED).unwrap_or(path);
    Path::new(path)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

/// Name of the memory that the agent lies in, as mappings show it.
pub(crate) const AGENT: &str = "evenkeel-agent";
/// The agent's file, where it was preloaded.
const PRELOADED: &str = "libevenkeel_agent.so";

/// Whether a mapped file of this path is an agent, preloaded or handed over.
pub fn is_agent(path: &str) -> bool {
    let name = file_name(path);
    name == PRELOADED || name.strip_prefix("memfd:") == Some(AGENT)
}

/// Whether a file is the dynamic loader.
pub(crate) fn is_loader(path: &str) -> bool {
    let name = file_name(path);
    name.starts_with("ld-linux") || name.starts_with("ld-2.")
}

/// Whether a file is the C library, or was a part of it before glibc 2.34.
pub(crate) fn is_c_library(path: &str) -> bool {
    const STEMS: [&str; 4] = ["libc.so", "libc-2.", "libdl.so", "libdl-2."];
    let name = file_name(path);
    STEMS.iter().any(|stem| name.starts_with(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_c_library_is_told_from_others() {
        assert!(is_c_library("/lib/x86_64-linux-gnu/libc.so.6 (deleted)"));
        assert!(is_c_library("/lib/libc-2.28.so"));
        assert!(!is_c_library("/usr/lib/libcrypto.so.3 (deleted)"));
    }

    /// A Lisp keeps compiled code in a file that is no program.
    #[test]
    fn a_file_that_is_no_program_is_said_to_be_none() {
        let of = |path: &str| {
            let mapping = Mapping {
                path: path.to_owned(),
                ..Mapping::default()
            };
            mapping.unreadable()
        };
        assert!(
            of(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).contains("a runtime keeps code")
        );
        assert!(of("/nonexistent/libx.so").contains("run evenkeel as root"));
        assert!(of("/proc/self/exe").contains("run evenkeel as root"));
    }

    #[test]
    fn a_line_of_maps() {
        let line =
            "7f12a0000000-7f12a0021000 r-xp 00026000 fe:01 1835          /usr/lib/x y.so (deleted)";
        let mapping = mapping(line).expect("a mapping");
        assert_eq!(mapping.range, 0x7f12_a000_0000..0x7f12_a002_1000);
        assert!(mapping.executable && !mapping.writable);
        assert_eq!((mapping.offset, mapping.inode), (0x26000, 1835));
        assert_eq!(mapping.path, "/usr/lib/x y.so (deleted)");
        assert_eq!(file_name(&mapping.path), "x y.so");
    }

    #[test]
    fn an_image_is_another_after_an_exec() {
        let stat = |state: &str, vsize: u64, code: u64| {
            format!(
                "7 (a) b) {state} 1 7 7 0 -1 4194304 101 0 0 0 0 0 0 0 20 0 1 0 186488 {vsize} 387 184467 {code} 9417 14073 0 0"
            )
        };
        let runs = image_of(&stat("S", 4096, 94173)).expect("it runs");
        assert!(!runs.is_being_made());
        let executes = image_of(&stat("R", 4096, 0)).expect("it runs");
        assert!(executes.is_being_made() && executes != runs);
        assert_ne!(image_of(&stat("S", 4096, 94174)), Some(runs));
        assert_eq!(image_of(&stat("R", 0, 0)), None, "it is ending");
        assert_eq!(image_of(&stat("Z", 0, 94173)), None);
        let own = std::process::id() as i32;
        assert!(image(own).is_some() && image(own) == image(own));
    }

    #[test]
    fn a_family_begins_with_its_oldest() {
        let own = std::process::id() as i32;
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep");
        let family = family(own);
        assert_eq!(family[0], own);
        assert!(family.contains(&(child.id() as i32)));
        child.kill().expect("it runs");
        assert!(started(child.id() as i32).is_none() || child.wait().is_ok());
        assert!(started(own).is_some());
    }
}
