//! Passes descriptors into the process, through a pair of connected sockets with one end here. So it needs no file
//! that both can open, no name, and no rights beyond those of tracing.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::descriptors::{DESCRIPTORS_MAX, send};
use crate::namespace;
use crate::visit::Visit;

const MESSAGE_BYTES: u64 = 56;
const CONTROL_BYTES: usize = 16 + 4 * DESCRIPTORS_MAX;

/// Hands `descriptors` to the process `pid`. Returns their numbers there, in the same order, and then the numbers of the two sockets. All
/// are to be closed.
pub fn hand_over(
    visit: &mut Visit<'_>,
    pid: i32,
    descriptors: &[RawFd],
) -> Result<Vec<i32>, String> {
    debug_assert!(descriptors.len() <= DESCRIPTORS_MAX);
    let at = visit.data();
    let kind = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as u64;
    let made = visit.system_call(libc::SYS_socketpair, [libc::AF_UNIX as u64, kind, 0, at, 0]);
    made.map_err(|why| {
        format!("it cannot make a socket ({why}); check its limit of open files (ulimit -n)")
    })?;
    let pair = visit.memory().word(at).map_err(|error| error.to_string())?;
    let (there, here) = (pair & 0xffff_ffff, pair >> 32);
    let sent = take(pid, here as i32).and_then(|socket| send(&socket, descriptors));
    let received = match sent {
        Ok(()) => receive(visit, there, descriptors.len()),
        Err(error) => Err(format!(
            "descriptors cannot be handed to it ({error}); Linux 5.6 or newer is needed"
        )),
    };
    let sockets = [there as i32, here as i32];
    match received {
        Ok(numbers) => Ok(numbers.into_iter().chain(sockets).collect()),
        Err(why) => {
            close(visit, &sockets);
            Err(why)
        }
    }
}

/// Closes descriptors of the process.
pub fn close(visit: &mut Visit<'_>, numbers: &[i32]) {
    for &number in numbers {
        let _ = visit.system_call(libc::SYS_close, [number as u64, 0, 0, 0, 0]);
    }
}

fn receive(visit: &mut Visit<'_>, socket: u64, count: usize) -> Result<Vec<i32>, String> {
    let at = visit.data();
    let (vector_at, byte_at, control_at) = (
        at + MESSAGE_BYTES,
        at + MESSAGE_BYTES + 16,
        at + MESSAGE_BYTES + 32,
    );
    // struct msghdr { name, its length, vectors, their count, control data, its length, flags }, then one vector.
    let words = [
        0,
        0,
        vector_at,
        1,
        control_at,
        CONTROL_BYTES as u64,
        0,
        byte_at,
        1,
    ];
    let message: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    let memory = visit.memory();
    memory
        .write(at, &message)
        .map_err(|error| error.to_string())?;
    visit.system_call(
        libc::SYS_recvmsg,
        [socket, at, libc::MSG_CMSG_CLOEXEC as u64, 0, 0],
    )?;
    let mut control = [0; CONTROL_BYTES];
    memory
        .read(control_at, &mut control)
        .map_err(|error| error.to_string())?;
    let numbers = control[16..].chunks(4).take(count);
    let numbers = numbers.map(|bytes| i32::from_le_bytes(bytes.try_into().expect("four bytes")));
    let length = u64::from_le_bytes(control[..8].try_into().expect("eight bytes"));
    if length != 16 + 4 * count as u64 {
        return Err("it can open no further files; raise its limit (ulimit -n)".to_owned());
    }
    Ok(numbers.collect())
}

/// Duplicates a descriptor of the process into this one.
fn take(pid: i32, descriptor: i32) -> io::Result<OwnedFd> {
    // SAFETY: system calls whose arguments are numbers; the descriptors are fresh.
    unsafe {
        let process = checked(libc::syscall(
            libc::SYS_pidfd_open,
            namespace::outer(pid),
            0,
        ))?;
        checked(libc::syscall(
            libc::SYS_pidfd_getfd,
            process.as_raw_fd(),
            descriptor,
            0,
        ))
    }
}

/// # Safety
/// `answer` is an error, or a descriptor that nobody has yet.
unsafe fn checked(answer: libc::c_long) -> io::Result<OwnedFd> {
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the caller's contract.
    Ok(unsafe { OwnedFd::from_raw_fd(answer as RawFd) })
}
