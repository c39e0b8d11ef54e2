//! The JVM's socket: opened at our request, and asked by version 1 of its protocol, which all versions have. An agent
//! that the JVM was started with has a socket of its own, with the same protocol.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use super::files::Directory;
use crate::error::Refused;
use crate::process;

/// Time for a JVM to open its socket, which it does at its next safepoint.
const OPENS_WITHIN: Duration = Duration::from_secs(10);
/// Time for it to answer: it may wait for safepoints, too.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// The longest argument (`AttachOperation::arg_length_max` of OpenJDK 11 to 23), with its end.
const ARGUMENT_MAX: usize = 1024;

/// Connects to the JVM's socket, which is opened where it is not. `started` tells the process from another of its number.
pub(crate) fn connect(directory: &Directory, started: u64) -> Result<UnixStream, Refused> {
    let pid = directory.pid;
    let path = directory.socket();
    for path in [&directory.agents_socket(), &path] {
        if let Ok(socket) = UnixStream::connect(path) {
            return Ok(socket);
        }
    }
    let _trigger = directory.leave_trigger()?;
    if !catches_quit(pid) {
        return Err(Refused::Unfit {
            pid,
            why: "it does not catch SIGQUIT, which would end it. It may be just starting: try again. Otherwise another signal handler replaced the JVM's: start it without that, or without -Xrs".into(),
        });
    }
    if process::started(pid) != Some(started) {
        return Err(Refused::Gone { pid });
    }
    // SAFETY: a number, and a signal.
    if unsafe { libc::kill(pid, libc::SIGQUIT) } != 0 {
        return Err(super::files::failed(
            pid,
            "SIGQUIT cannot be sent to it",
            &io::Error::last_os_error(),
        ));
    }
    let begun = Instant::now();
    while begun.elapsed() < OPENS_WITHIN {
        if let Ok(socket) = UnixStream::connect(&path) {
            return Ok(socket);
        }
        if process::started(pid) != Some(started) {
            return Err(Refused::Gone { pid });
        }
        thread::sleep(Duration::from_millis(2));
    }
    Err(Refused::Failed {
        pid,
        why: format!(
            "the JVM did not open its socket within {} s: it is stopped, or a file of options has -XX:+DisableAttachMechanism. Continue it, or start it without that option, or with the agent (-agentpath)",
            OPENS_WITHIN.as_secs()
        ),
    })
}

/// Whether the process has a handler for SIGQUIT.
fn catches_quit(pid: i32) -> bool {
    let caught =
        process::status(pid, "SigCgt").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    caught.is_some_and(|mask| mask >> (libc::SIGQUIT - 1) & 1 == 1)
}

/// Sends a command with its three arguments, and takes the answer.
pub(crate) fn ask(mut socket: UnixStream, command: &[&str; 4]) -> io::Result<String> {
    let mut bytes = b"1\0".to_vec();
    for word in command {
        if word.len() >= ARGUMENT_MAX || word.contains('\0') {
            let why = format!(
                "an argument of {} bytes: the JVM takes less than {ARGUMENT_MAX}, without a zero",
                word.len()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        bytes.extend_from_slice(word.as_bytes());
        bytes.push(0);
    }
    socket.set_read_timeout(Some(ANSWERS_WITHIN))?;
    socket.set_write_timeout(Some(ANSWERS_WITHIN))?;
    socket.write_all(&bytes)?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
