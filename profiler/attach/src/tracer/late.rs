//! Threads that were asked to stop and did not in time, since they sleep in the kernel. Each stops once it wakes, however late that is, and would
//! stand still until this process ends: it has to be let go then.

use std::cell::RefCell;
use std::mem::ManuallyDrop;

use super::Tracee;

thread_local! {
    /// Those of this thread, for only the thread that asked may let them go. At its end the kernel does.
    static LATE: RefCell<Vec<ManuallyDrop<Tracee>>> = const { RefCell::new(Vec::new()) };
}

/// It has not stopped yet.
pub(super) fn add(tracee: &Tracee) {
    let late = ManuallyDrop::new(Tracee { ..*tracee });
    LATE.with_borrow_mut(|all| all.push(late));
}

/// Whether a thread is one of them.
pub(super) fn has(number: i32) -> bool {
    LATE.with_borrow(|all| all.iter().any(|late| late.number == number))
}

/// Lets those go on that have stopped by now. To be called often, by the thread that has attached to processes.
pub fn let_go() {
    for mut late in LATE.take() {
        match late.look(libc::WNOHANG) {
            None => LATE.with_borrow_mut(|all| all.push(late)),
            Some(_) => drop(ManuallyDrop::into_inner(late)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;
    use crate::process;

    /// A child process that sleeps in the kernel nearly all the time: its own child, which it waits for as after a `vfork`, lives for
    /// three seconds.
    fn sleeper() -> i32 {
        let raise_child = |flags: i32| {
            // SAFETY: a copy of this process, as by `fork`; it makes system calls alone.
            unsafe {
                libc::syscall(
                    libc::SYS_clone,
                    i64::from(flags | libc::SIGCHLD),
                    0,
                    0,
                    0,
                    0,
                )
            }
        };
        let nap = |ms: i64| {
            let time = libc::timespec {
                tv_sec: ms / 1000,
                tv_nsec: ms % 1000 * 1_000_000,
            };
            // SAFETY: a local time.
            unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, 0) };
        };
        let child = raise_child(0);
        if child == 0 {
            loop {
                if raise_child(libc::CLONE_VFORK) == 0 {
                    nap(3000);
                    // SAFETY: ends this process at once.
                    unsafe { libc::_exit(0) };
                }
                // SAFETY: no status is asked for.
                unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
                nap(1);
            }
        }
        child as i32
    }

    fn state(pid: i32) -> char {
        let state = process::status(pid, "State").unwrap_or_default();
        state.chars().next().unwrap_or_default()
    }

    #[test]
    fn a_thread_that_stops_late_goes_on() {
        let pid = sleeper();
        while !has(pid) {
            while state(pid) != 'D' {
                sleep(Duration::from_millis(1));
            }
            // It may have woken just now.
            drop(Tracee::stop(pid).expect("it may be traced"));
        }
        assert!(Tracee::stop(pid).expect("nothing was asked").is_none());
        // It wakes, and stands still until it is let go.
        while state(pid) != 't' {
            sleep(Duration::from_millis(1));
        }
        let_go();
        assert!(!has(pid));
        assert_eq!(process::status(pid, "TracerPid").as_deref(), Some("0"));
        while state(pid) != 'D' {
            sleep(Duration::from_millis(1));
        }
        // SAFETY: a child of this process.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, std::ptr::null_mut(), 0);
        }
    }
}
