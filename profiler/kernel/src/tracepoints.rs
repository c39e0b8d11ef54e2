//! Where the kernel's tracepoints are described, and what of them is needed.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use rustix::mount::{fsconfig_create, fsmount, fsopen};

/// Inode of the first name space of process ids (`PROC_PID_INIT_INO`).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";
/// Where the file system of tracing is mounted, if it is.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The tracepoints that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracepoints {
    /// `sched:sched_waking`.
    pub waking: WakingFormat,
    /// Number of `sched:sched_switch`.
    pub switch_id: u64,
}

/// Where `sched:sched_waking` keeps what is needed of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakingFormat {
    /// The tracepoint's number.
    pub id: u64,
    /// Offset of the woken thread's id in the raw data.
    pub tid_at: usize,
    /// Offset of the flags that mark an interrupt.
    pub flags_at: usize,
}

impl Tracepoints {
    /// The system's description of them, if this process may read it.
    ///
    /// The woken thread's number is that of the first name space: in any other, as in most containers, it would be taken for
    /// another thread's.
    pub fn find() -> Option<Tracepoints> {
        let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
        if namespace.as_os_str() != FIRST_PID_NAMESPACE {
            return None;
        }
        let folders = FOLDERS.into_iter().map(open_folder).chain([own_mount()]);
        folders.flatten().find_map(|folder| {
            let waking = format_file(&folder, "sched_waking")?;
            let switch = format_file(&folder, "sched_switch")?;
            Some(Tracepoints {
                waking: waking_format(&waking)?,
                switch_id: id(&switch)?,
            })
        })
    }
}

fn open_folder(path: &str) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).ok()
}

/// The file system of tracing, mounted for nobody but us: it has no place in the tree of files and goes with its descriptor.
fn own_mount() -> Option<OwnedFd> {
    let system = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).ok()?;
    fsconfig_create(&system).ok()?;
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    fsmount(&system, flags, MountAttrFlags::MOUNT_ATTR_RDONLY).ok()
}

fn format_file(folder: &OwnedFd, event: &str) -> Option<String> {
    let path = format!("events/sched/{event}/format");
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(folder, path, flags, Mode::empty()).ok()?;
    let mut text = String::new();
    File::from(file).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Out of a `format` file: `ID: 375`.
fn id(text: &str) -> Option<u64> {
    let id = text.lines().find_map(|line| line.strip_prefix("ID: "))?;
    id.trim().parse().ok()
}

/// Out of a `format` file, a line a field that ends in its name, then `offset:24;`.
fn waking_format(text: &str) -> Option<WakingFormat> {
    let offset = |name: &str| {
        let line = text.lines().find(|line| {
            line.trim().starts_with("field:") && line.contains(&format!(" {name};"))
        })?;
        let offset = line.split("offset:").nth(1)?.split(';').next()?;
        offset.parse().ok()
    };
    Some(WakingFormat {
        id: id(text)?,
        tid_at: offset("pid")?,
        flags_at: offset("common_flags")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_read() {
        let text = "name: sched_waking\nID: 375\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
            \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
            \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
            \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
            \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";
        let format = waking_format(text).unwrap();
        assert_eq!((format.id, format.tid_at, format.flags_at), (375, 24, 2));
        assert!(waking_format("name: x\n").is_none());
    }
}
