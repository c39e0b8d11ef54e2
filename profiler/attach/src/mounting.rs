//! `/proc` of another pid namespace, as a mount that has no place in the tree of files.
//!
//! A new `proc` shows the namespace of the process that makes it, and a process never changes its namespace: only its children begin in
//! another one (setns(2)). So a child joins, its child makes the mount, and the descriptor comes back through a pair of sockets.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::descriptors::{receive_one, send};

const FSOPEN_CLOEXEC: libc::c_uint = 1;
const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
const FSMOUNT_CLOEXEC: libc::c_uint = 1;
const PROC: &CStr = c"proc";

/// Mounts the `/proc` of the namespace that `namespace` leads to.
///
/// # Errors
/// The system does not permit it.
pub fn proc_of(namespace: &File) -> io::Result<OwnedFd> {
    let (here, there) = sockets()?;
    // SAFETY: the children make system calls alone, and end without what this process does at its end.
    let child = unsafe {
        match libc::fork() {
            -1 => return Err(io::Error::last_os_error()),
            0 => libc::_exit(join(namespace.as_raw_fd(), &there)),
            child => child,
        }
    };
    let code = wait(child)?;
    if code != 0 {
        return Err(io::Error::from_raw_os_error(code));
    }
    receive_one(&here)
}

fn sockets() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut pair: [RawFd; 2] = [-1; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: room for two descriptors, which are fresh afterwards.
    unsafe {
        if libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let [here, there] = pair.map(|descriptor| OwnedFd::from_raw_fd(descriptor));
        Ok((here, there))
    }
}

/// In the first child: the number of the error, or 0.
fn join(namespace: RawFd, socket: &OwnedFd) -> i32 {
    // SAFETY: as in `proc_of`.
    unsafe {
        if libc::setns(namespace, libc::CLONE_NEWPID) != 0 {
            return errno();
        }
        match libc::fork() {
            -1 => errno(),
            0 => libc::_exit(
                mount()
                    .and_then(|mount| send(socket, &[mount]))
                    .map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0),
            ),
            child => wait(child).unwrap_or(libc::ECHILD),
        }
    }
}

/// In the second one.
fn mount() -> io::Result<RawFd> {
    // SAFETY: a constant name, and descriptors that the calls before have given.
    unsafe {
        let system = answer(libc::syscall(
            libc::SYS_fsopen,
            PROC.as_ptr(),
            FSOPEN_CLOEXEC,
        ))?;
        answer(libc::syscall(
            libc::SYS_fsconfig,
            system,
            FSCONFIG_CMD_CREATE,
            0,
            0,
            0,
        ))?;
        let rights = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC;
        answer(libc::syscall(
            libc::SYS_fsmount,
            system,
            FSMOUNT_CLOEXEC,
            rights,
        ))
    }
}

fn answer(answer: libc::c_long) -> io::Result<RawFd> {
    match answer {
        0.. => Ok(answer as RawFd),
        _ => Err(io::Error::last_os_error()),
    }
}

fn errno() -> i32 {
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}

/// The code with which a child ends; an error's number where it was killed.
fn wait(child: libc::pid_t) -> io::Result<i32> {
    let mut status = 0;
    // SAFETY: our own child, and a status word.
    while unsafe { libc::waitpid(child, &mut status, 0) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    match libc::WIFEXITED(status) {
        true => Ok(libc::WEXITSTATUS(status)),
        false => Ok(libc::ESRCH),
    }
}
