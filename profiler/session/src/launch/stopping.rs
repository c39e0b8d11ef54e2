//! Processes to ask to end, and when: the command, processes that it leaves behind, and those to which it does not
//! pass the signal.
//!
//! A shell that runs a server without `exec` ends by the signal, and the server continues as an orphan. Shells with
//! `trap ''` ignore the signal, `unshare --fork` blocks it, and the first process of a namespace only gets signals
//! that it has a handler for.

use std::collections::HashSet;
use std::time::Duration;

use evenkeel_attach::namespace;

/// Time for the command before everything below it is asked, too: it may not pass the signal on.
const HANDED_ON: Duration = Duration::from_secs(15);
/// Time for everything before it is killed.
const LIMIT: Duration = Duration::from_secs(30);

/// Processes asked so far.
#[derive(Debug, Default)]
pub struct Stopping {
    asked: HashSet<i32>,
    killed: HashSet<i32>,
}

impl Stopping {
    /// Signals to be sent now, `elapsed` after the beginning: pairs of process and signal. `below` says which processes
    /// are to be asked: those that the signal has not reached by itself, or with `true` all.
    pub fn due(
        &mut self,
        elapsed: Duration,
        signal: i32,
        below: impl FnOnce(bool) -> Vec<i32>,
    ) -> Vec<(i32, i32)> {
        let (sent, signal) = if elapsed > LIMIT {
            (&mut self.killed, libc::SIGKILL)
        } else {
            (&mut self.asked, signal)
        };
        let all = below(elapsed > HANDED_ON).into_iter();
        all.filter(|&pid| sent.insert(pid))
            .map(|pid| (pid, signal))
            .collect()
    }

    /// Whether even what was killed is still there, after as long again.
    pub fn is_over(&self, elapsed: Duration) -> bool {
        elapsed > 2 * LIMIT
    }
}

/// Children of process `own`, which are the command or its orphans, and of those that ignore the signal; or everything
/// below it. Parents come before their children.
pub fn below(own: i32, signal: i32, everything: bool) -> Vec<i32> {
    let mut found = Vec::new();
    let mut parents = vec![own];
    while let Some(parent) = parents.pop() {
        for pid in children(parent) {
            found.push(pid);
            if everything || ignores(pid, signal) {
                parents.push(pid);
            }
        }
    }
    found
}

/// Children of all threads of a process.
pub fn children(pid: i32) -> Vec<i32> {
    let tasks = std::fs::read_dir(namespace::file(pid, "task"));
    let lists = tasks.into_iter().flatten().flatten();
    let lists = lists.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let words = |list: String| -> Vec<i32> {
        let words = list.split_ascii_whitespace();
        words.filter_map(|pid| pid.parse().ok()).collect()
    };
    lists.flat_map(words).collect()
}

/// Whether a process ignores a signal, as its status says.
fn ignores(pid: i32, signal: i32) -> bool {
    let status = std::fs::read_to_string(namespace::file(pid, "status")).unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    fn due(stopping: &mut Stopping, elapsed: Duration, below: &[i32]) -> Vec<(i32, i32)> {
        stopping.due(elapsed, libc::SIGTERM, |_| below.to_vec())
    }

    /// A shell (2) ends by the signal. Its server (3) becomes our child, is asked, once, and not killed while it shuts
    /// down.
    #[test]
    fn what_a_shell_leaves_behind_is_asked() {
        let mut stopping = Stopping::default();
        let asked = |pid| [(pid, libc::SIGTERM)];
        assert_eq!(due(&mut stopping, Duration::ZERO, &[2]), asked(2));
        assert_eq!(due(&mut stopping, SOON, &[3]), asked(3));
        assert_eq!(due(&mut stopping, 2 * SOON, &[3]), []);
        assert_eq!(due(&mut stopping, LIMIT, &[3]), []);
    }

    #[test]
    fn what_does_not_end_is_killed_after_everything_was_asked() {
        let mut stopping = Stopping::default();
        for (elapsed, is_everything) in [
            (Duration::ZERO, false),
            (HANDED_ON, false),
            (HANDED_ON + SOON, true),
        ] {
            stopping.due(elapsed, libc::SIGTERM, |everything| {
                assert_eq!(everything, is_everything);
                vec![2]
            });
        }
        let killed = [(2, libc::SIGKILL), (3, libc::SIGKILL)];
        assert_eq!(due(&mut stopping, LIMIT + SOON, &[2, 3]), killed);
        assert_eq!(due(&mut stopping, LIMIT + 2 * SOON, &[2, 3]), []);
        assert!(!stopping.is_over(LIMIT + SOON));
        assert!(stopping.is_over(2 * LIMIT + SOON));
    }

    /// A shell whose only child is another, which does `inner`; both are ready when it returns.
    fn shell_in_a_shell(inner: &str) -> Child {
        let script = format!("sh -c \"{inner}; sleep 60 & echo; wait\" & wait");
        let mut shell = Command::new("sh")
            .args(["-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut ready = [0];
        let stdout = shell.stdout.as_mut().expect("a pipe");
        stdout.read_exact(&mut ready).expect("the shells are ready");
        shell
    }

    /// The outer shell's child is the inner one, whose child sleeps: it is asked only if the inner one ignores the
    /// signal, or if everything is.
    #[test]
    fn signals_go_through_who_ignores_them() {
        for (inner, everything, processes) in
            [(":", false, 1), ("trap '' TERM", false, 2), (":", true, 2)]
        {
            let mut shell = shell_in_a_shell(inner);
            let own = shell.id() as i32;
            let found = below(own, libc::SIGTERM, everything);
            for pid in below(own, libc::SIGTERM, true) {
                // SAFETY: a process below the shell.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
            let _ = shell.kill();
            let _ = shell.wait();
            assert_eq!(found.len(), processes, "{inner}");
        }
    }
}
