//! The holder of a file's lock (`flock`, `fcntl`) that a thread waits for: any process of the system.
//!
//! The kernel lists the locks of files, and below each the waiters, with an arrow (proc(5), `/proc/locks`):
//! ```text
//! 1: FLOCK  ADVISORY  WRITE 4711 fe:00:524301 0 EOF
//! 1: -> FLOCK  ADVISORY  WRITE 4712 fe:00:524301 0 EOF
//! ```
//! The list has no threads, so the waiter is found by its process and by the file.

use std::fs;
use std::os::unix::fs::MetadataExt;

use evenkeel_analysis::slow::holder;
use evenkeel_attach::namespace;

use super::Step;

/// A process that holds the lock of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    pid: i32,
    /// Its name; `None` if it has ended.
    name: Option<String>,
}

impl LockHolder {
    /// The holder at the end of a path.
    pub fn steps(&self) -> [Step; 2] {
        holder::steps(self.name.as_deref(), self.pid).map(|name| Step {
            name,
            function: None,
            at: 0,
            goes_on_elsewhere: false,
        })
    }
}

/// The holder of the lock that a thread of a process waits for in this system call, given with its first argument.
/// `None` in other calls, and where the kernel does not show the holder.
pub fn holder(pid: i32, (number, argument): (u64, u64)) -> Option<LockHolder> {
    if ![libc::SYS_flock as u64, libc::SYS_fcntl as u64].contains(&number) {
        return None;
    }
    let file = fs::metadata(namespace::file(pid, &format!("fd/{argument}"))).ok()?;
    let locks = fs::read_to_string(namespace::folder().join("locks")).ok()?;
    let pid = holder_in(&locks, pid, file.ino())?;
    let name = fs::read_to_string(namespace::file(pid, "comm")).ok();
    Some(LockHolder {
        pid,
        name: name.map(|name| name.trim_end().to_owned()),
    })
}

/// The holder's process in the kernel's list. The list shows -1 for a lock that belongs to no process.
fn holder_in(locks: &str, waiter: i32, inode: u64) -> Option<i32> {
    let mut holder = None;
    for line in locks.lines() {
        let mut words = line.split_ascii_whitespace().skip(1).peekable();
        let waits = words.next_if_eq(&"->").is_some();
        let (Some(pid), Some(file)) = (words.nth(3), words.next()) else {
            continue;
        };
        let pid: Option<i32> = pid.parse().ok();
        let is_file = || file.rsplit(':').next() == Some(&inode.to_string());
        match waits {
            false => holder = pid,
            true if pid == Some(waiter) && is_file() => return holder.filter(|&pid| pid > 0),
            true => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_waiter_is_below_its_holder() {
        let locks = "1: POSIX  ADVISORY  WRITE 30 fe:00:7 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 40 fe:00:8 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 50 fe:00:8 0 EOF\n\
                     2:  -> FLOCK  ADVISORY  READ 60 fe:00:8 0 EOF\n\
                     3: OFDLCK ADVISORY  WRITE -1 fe:00:9 0 EOF\n\
                     3: -> POSIX  ADVISORY  WRITE 50 fe:00:9 0 EOF\n";
        assert_eq!(holder_in(locks, 50, 8), Some(40));
        assert_eq!(holder_in(locks, 60, 8), Some(40));
        assert_eq!(holder_in(locks, 60, 7), None, "it waits for another");
        assert_eq!(holder_in(locks, 50, 9), None, "of no process");
        assert_eq!(holder_in("", 50, 8), None);
        assert_eq!(holder_in("1: FLOCK\n", 50, 8), None, "cut");
    }

    /// Another process holds the lock of a file while a thread of this one waits for it.
    #[test]
    fn a_holder_outside_of_the_target_is_named() {
        let path = std::env::temp_dir().join(format!("evenkeel-lock-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        let mut command = Command::new("flock");
        command.arg(&path).args(["sh", "-c", "echo held; read x"]);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let mut word = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut word).unwrap();
        let pid = std::process::id() as i32;
        let number = file.as_raw_fd();
        let call = (libc::SYS_flock as u64, number as u64);
        assert_eq!(holder(pid, call), None, "nobody waits");
        // SAFETY: a call without pointers.
        let waiter = std::thread::spawn(move || unsafe { libc::flock(number, libc::LOCK_EX) });
        let found = loop {
            match holder(pid, call) {
                Some(found) => break found,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!(found.pid, child.id() as i32);
        assert_eq!(found.name.as_deref(), Some("flock"));
        assert_eq!(found.steps()[0].name, "held by flock");
        assert_eq!(holder(pid, (libc::SYS_read as u64, number as u64)), None);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(waiter.join().unwrap(), 0);
        std::fs::remove_file(path).unwrap();
    }
}
