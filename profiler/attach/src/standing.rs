//! Where a thread stands, without stopping it: what the kernel shows of one that is blocked (proc(5), `/proc/PID/task/TID/syscall`).

use std::fs;
use std::io;

use crate::namespace;

/// Where a thread stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It runs, or is ready to.
    Running,
    /// It is blocked in the kernel.
    Blocked {
        /// The address at which it continues.
        pc: u64,
        /// Its stack pointer.
        sp: u64,
        /// The system call in which it is, and that call's first argument; `None` outside of one, as for a page fault.
        call: Option<(u64, u64)>,
    },
}

/// Where a thread stands.
///
/// # Errors
/// It has ended, or its process may not be looked at.
pub fn standing(pid: i32, tid: i32) -> io::Result<Standing> {
    let text = fs::read_to_string(namespace::file(pid, &format!("task/{tid}/syscall")))?;
    parse(&text).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// `running`; or a number, arguments, stack pointer and instruction pointer, without arguments where the number is -1.
fn parse(text: &str) -> Option<Standing> {
    let text = text.trim();
    if text == "running" {
        return Some(Standing::Running);
    }
    let value = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let mut words = text.rsplit(' ');
    let (pc, sp) = (value(words.next()?)?, value(words.next()?)?);
    let mut words = text.split(' ');
    let number = words.next()?.parse().ok();
    let call = number.and_then(|number| Some((number, value(words.next()?)?)));
    Some(Standing::Blocked { pc, sp, call })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_run_or_are_blocked() {
        assert_eq!(parse("running\n"), Some(Standing::Running));
        let blocked = |pc, sp, call| Some(Standing::Blocked { pc, sp, call });
        let sleeping =
            "230 0x3 0x0 0x7ffc175ef5b0 0x7ffc175ef5f0 0x0 0x0 0x7ffc175ef598 0x7f964136f503\n";
        assert_eq!(
            parse(sleeping),
            blocked(0x7f96_4136_f503, 0x7ffc_175e_f598, Some((230, 3)))
        );
        assert_eq!(
            parse("-1 0x7ffc175ef598 0x401000\n"),
            blocked(0x40_1000, 0x7ffc_175e_f598, None)
        );
        for damaged in ["", "-1", "1 2 3", "run"] {
            assert_eq!(parse(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn a_thread_that_waits_is_blocked() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let waiter = std::thread::spawn(move || {
            // SAFETY: no arguments.
            let tid = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
            sender.send(tid).unwrap();
            let _ = ended.recv();
        });
        let tid = receiver.recv().unwrap();
        let pid = std::process::id() as i32;
        loop {
            if let Standing::Blocked { pc, sp, .. } = standing(pid, tid).unwrap() {
                assert!(pc != 0 && sp != 0);
                break;
            }
            std::thread::yield_now();
        }
        drop(end);
        waiter.join().unwrap();
    }
}
