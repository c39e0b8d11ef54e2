//! A process, distinguished from a later one that has its number.

use std::fs;

/// A process by its number and its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it began, in the kernel's ticks.
    pub start_ticks: u64,
}

impl Process {
    /// The caller.
    pub fn this() -> Process {
        let pid = std::process::id();
        Process {
            pid,
            start_ticks: start_ticks(pid).unwrap_or(0),
        }
    }

    /// Whether it is more than an exit status that waits to be read. A process in another container is treated as
    /// gone.
    pub fn lives(self) -> bool {
        start_ticks(self.pid) == Some(self.start_ticks)
    }
}

/// Fields 3 and 22 of `/proc/PID/stat`, see proc(5); the name before them, in parentheses, may hold anything.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn it_lives_until_it_has_ended_whether_it_was_waited_for_or_not() {
        assert!(Process::this().lives());
        let mut child = Command::new("sh")
            .args(["-c", "read line"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        let process = Process {
            pid,
            start_ticks: start_ticks(pid).unwrap(),
        };
        let earlier = Process {
            start_ticks: process.start_ticks - 1,
            ..process
        };
        assert!(process.lives() && !earlier.lives());
        drop(child.stdin.take());
        while process.lives() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!process.lives());
    }
}
