//! The identity for talking to a JVM. It serves its own user, and root where it knows root, which it does not in user
//! namespaces. So requests are made as its user.

use std::io;
use std::thread;

use crate::error::Refused;
use crate::{permission, process};

/// User and group of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct User {
    pid: i32,
    user: u32,
    group: u32,
}

impl User {
    /// The effective ids, by which the kernel judges the process.
    pub(crate) fn of(pid: i32) -> Result<Self, Refused> {
        let effective = |name| {
            process::status(pid, name)?
                .split_ascii_whitespace()
                .nth(1)?
                .parse()
                .ok()
        };
        match (effective("Uid"), effective("Gid")) {
            (Some(user), Some(group)) => Ok(Self { pid, user, group }),
            _ => Err(Refused::Gone { pid }),
        }
    }

    /// Runs `work` with the rights of this user.
    pub(crate) fn run<T: Send>(
        self,
        work: impl FnOnce() -> Result<T, Refused> + Send,
    ) -> Result<T, Refused> {
        // SAFETY: no arguments.
        let own = unsafe { (libc::geteuid(), libc::getegid()) };
        if own == (self.user, self.group) {
            return work();
        }
        // A change of user makes a process one that only root may look at; it is one process still.
        // SAFETY: it takes no further arguments.
        let dumpable = unsafe { libc::prctl(libc::PR_GET_DUMPABLE) };
        let result = thread::scope(|scope| {
            let with_rights = scope.spawn(|| {
                self.become_user()
                    .map_err(|_| permission::not_permitted(self.pid))?;
                work()
            });
            with_rights
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        if dumpable == 1 {
            // SAFETY: a number.
            unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1_usize) };
        }
        result
    }

    /// Makes this thread one of the user's, for good. The C library's functions would do so with all threads.
    fn become_user(self) -> io::Result<()> {
        let check = |result: libc::c_long| {
            if result == 0 {
                Ok(())
            } else {
                Err(io::Error::last_os_error())
            }
        };
        // SAFETY: numbers, and an empty list.
        unsafe {
            check(libc::syscall(
                libc::SYS_setgroups,
                0_usize,
                std::ptr::null::<libc::gid_t>(),
            ))?;
            check(libc::syscall(
                libc::SYS_setresgid,
                self.group,
                self.group,
                self.group,
            ))?;
            check(libc::syscall(
                libc::SYS_setresuid,
                self.user,
                self.user,
                self.user,
            ))
        }
    }
}
