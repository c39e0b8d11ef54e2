//! How `evenkeel snapshot` and a session speak: over a socket without a file, whose name has the numbers of both processes.
//!
//! A question and an answer are one JSON value each. Such a socket has no owner that a file would have, so that both sides look at the
//! user of the other. It is gone with the session, however that ends.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What names begin with.
const PREFIX: &str = "evenkeel/session/";
/// Bytes of a question, which has a dozen short members.
const QUESTION_BYTES_MAX: u64 = 1 << 12;
/// How long to wait for a question, once somebody has connected.
const QUESTION_PATIENCE: Duration = Duration::from_secs(5);

/// A session that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// The process that it profiles.
    pub target: u32,
    /// Its own.
    pub session: u32,
}

impl fmt::Display for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Running { target, session } = self;
        write!(f, "process {target} (session {session})")
    }
}

impl Running {
    fn address(&self) -> io::Result<SocketAddr> {
        let Running { target, session } = self;
        SocketAddr::from_abstract_name(format!("{PREFIX}{target}/{session}"))
    }

    /// The session whose socket has this name.
    fn of(name: &str) -> Option<Running> {
        let (target, session) = name.strip_prefix(PREFIX)?.split_once('/')?;
        Some(Running {
            target: target.parse().ok()?,
            session: session.parse().ok()?,
        })
    }
}

/// A question: the forms of the report that are wanted.
#[derive(Debug, Serialize, Deserialize)]
pub struct Wanted {
    /// The tail that is shown.
    pub tail: String,
    /// Columns.
    pub width: usize,
    /// Whether text may have colours.
    pub colour: bool,
    /// Findings by class.
    pub by_class: bool,
    /// The comparison of slow with fast, at length.
    pub cohorts: bool,
    /// Slowest intervals listed.
    pub slowest: usize,
    /// Whether the page is wanted.
    pub html: bool,
    /// Whether JSON is wanted.
    pub json: bool,
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The report as text.
    pub text: String,
    /// The page.
    pub html: Option<String>,
    /// The profile as JSON.
    pub json: Option<String>,
    /// Where the session writes its recording.
    pub recording: Option<PathBuf>,
}

/// Sessions that run here, by the kernel's list of sockets.
pub fn running() -> Vec<Running> {
    let list = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let names = list.lines().filter_map(|line| line.split_once('@'));
    let mut all: Vec<Running> = names.filter_map(|(_, name)| Running::of(name)).collect();
    // The list has a line for each connection, too.
    all.sort_by_key(|one| (one.target, one.session));
    all.dedup();
    all
}

/// Listens for questions to the session of this process.
///
/// # Errors
/// The system's.
pub fn listen(session: &Running) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&session.address()?)
}

/// Asks a session. The inner error is its own.
///
/// # Errors
/// The system's, also where the session does not answer in time, and where a process of another user has its socket.
pub fn ask(
    session: &Running,
    wanted: &Wanted,
    patience: Duration,
) -> io::Result<Result<Answer, String>> {
    let mut stream = UnixStream::connect_addr(&session.address()?)?;
    let owner = user_of(&stream)?;
    if owner != 0 && owner != user() && user() != 0 {
        return Err(io::Error::other(format!(
            "it is user {owner}'s; ask as that user, or as root"
        )));
    }
    stream.set_read_timeout(Some(patience))?;
    write_value(&mut stream, wanted)?;
    read_value(&mut stream, u64::MAX)
}

/// Reads a client's question. A client of another user is told so, and has no question.
///
/// # Errors
/// The system's, and a text that is not a question.
pub fn question(stream: &mut UnixStream) -> io::Result<Option<Wanted>> {
    let asking = user_of(stream)?;
    if asking != 0 && asking != user() {
        let why = format!("it is user {}'s; ask as that user, or as root", user());
        answer(stream, &Err(why))?;
        return Ok(None);
    }
    stream.set_read_timeout(Some(QUESTION_PATIENCE))?;
    read_value(stream, QUESTION_BYTES_MAX).map(Some)
}

/// Answers a question.
///
/// # Errors
/// The system's, where whoever asked is gone.
pub fn answer(stream: &mut UnixStream, answer: &Result<Answer, String>) -> io::Result<()> {
    write_value(stream, answer)
}

fn write_value(stream: &mut UnixStream, value: &impl Serialize) -> io::Result<()> {
    stream.write_all(&serde_json::to_vec(value)?)?;
    stream.shutdown(Shutdown::Write)
}

fn read_value<T: DeserializeOwned>(stream: &mut UnixStream, bytes_max: u64) -> io::Result<T> {
    let mut bytes = Vec::new();
    stream.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// The user at the other end.
fn user_of(stream: &UnixStream) -> io::Result<u32> {
    let other = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(other.uid.as_raw())
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_both_processes() {
        let session = Running {
            target: 4711,
            session: 99,
        };
        assert_eq!(Running::of("evenkeel/session/4711/99"), Some(session));
        for other in ["evenkeel/session/4711", "evenkeel/session/x/1", "dbus/1/2"] {
            assert_eq!(Running::of(other), None, "{other}");
        }
    }
}
