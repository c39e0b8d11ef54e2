//! Visits of the agent in a JVM: the JVM calls it, and it comes to a socket of this process.
//!
//! The socket lies in the JVM's `/tmp` for as long as it takes the agent to come, and belongs to the JVM's user.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use super::files::{Directory, Library, Opened, Temporary, failed};
use super::identity::User;
use crate::error::Refused;
use crate::{descriptors, process};

/// Time for the agent to connect: the JVM may wait for safepoints.
const COMES_WITHIN: Duration = Duration::from_secs(60);
/// How often to look for it.
const LOOK: Duration = Duration::from_millis(1);

/// Sends a descriptor to the agent, with a separate byte.
///
/// # Errors
/// The agent is gone.
pub fn send_descriptor(connection: &UnixStream, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    descriptors::send(connection, &[descriptor.as_raw_fd()])
}

/// A JVM that has the agent library loaded.
#[derive(Debug)]
pub struct Jvm {
    pid: i32,
    started: u64,
    directory: Directory,
    user: User,
    /// The library's path, as the JVM sees it.
    library: String,
    visits: AtomicU32,
}

impl Jvm {
    /// Has the JVM load the agent library. Its functions are there for Java from then on.
    ///
    /// # Errors
    /// As for [`super::load`].
    pub fn prepare(pid: i32, library: &Path) -> Result<Jvm, Refused> {
        let started = process::started(pid).ok_or(Refused::Gone { pid })?;
        super::expect_hotspot(pid, library)?;
        let directory = Directory::of(pid)?;
        let library = Opened::open(pid, library)?;
        let user = User::of(pid)?;
        let library = user.run(|| {
            let copy = Library::for_jvm(&directory, &library)?;
            super::call(&directory, started, copy.path(), "")?;
            // What is loaded is found again by its path, whether there is a file or not.
            Ok(copy.path().to_owned())
        })?;
        Ok(Jvm {
            pid,
            started,
            directory,
            user,
            library,
            visits: AtomicU32::new(0),
        })
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Has the JVM call the agent, and talks with it.
    ///
    /// # Errors
    /// The JVM is gone, or the agent did not come.
    pub fn visit<R>(&self, talk: impl FnOnce(UnixStream) -> R) -> Result<R, Refused> {
        let visit = self.visits.fetch_add(1, Relaxed);
        let name = format!(".evenkeel-{}-{visit}", std::process::id());
        let (socket, file) = self.user.run(|| self.listen(&name))?;
        let options = format!("/tmp/{name}");
        let (directory, started, library) = (&self.directory, self.started, &self.library);
        let user = self.user;
        thread::scope(|scope| {
            let calling = scope
                .spawn(move || user.run(|| super::call(directory, started, library, &options)));
            let connection = self.accept(&socket, || calling.is_finished());
            drop(file);
            let called = |calling: thread::ScopedJoinHandle<'_, Result<(), Refused>>| {
                calling
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            match connection {
                Some(connection) => {
                    let result = talk(connection);
                    // The agent's own answers say more than the JVM's.
                    let _ = called(calling);
                    Ok(result)
                }
                None => {
                    called(calling)?;
                    let error = io::Error::from(io::ErrorKind::TimedOut);
                    Err(failed(self.pid, "the agent in it did not come", &error))
                }
            }
        })
    }

    fn listen(&self, name: &str) -> Result<(UnixListener, Temporary), Refused> {
        let path = self.directory.in_tmp(name);
        let listen = || {
            let _ = fs::remove_file(&path);
            let socket = UnixListener::bind(&path)?;
            let file = Temporary::new(path.clone());
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            socket.set_nonblocking(true)?;
            Ok((socket, file))
        };
        listen().map_err(|error| failed(self.pid, "no socket can be made in its /tmp", &error))
    }

    /// The agent's connection. Nothing where the JVM's command has ended without one.
    fn accept(&self, socket: &UnixListener, is_over: impl Fn() -> bool) -> Option<UnixStream> {
        let began = Instant::now();
        loop {
            let was_over = is_over();
            match socket.accept() {
                Ok((connection, _)) if self.is_own(&connection) => {
                    connection.set_nonblocking(false).ok()?;
                    return Some(connection);
                }
                Ok(_) => {}
                Err(_) if was_over || began.elapsed() > COMES_WITHIN => return None,
                Err(_) => thread::sleep(LOOK),
            }
        }
    }

    /// Whether it is the JVM that has connected, and nobody else of its user.
    fn is_own(&self, connection: &UnixStream) -> bool {
        // SAFETY: zero is a valid structure, and the kernel writes no more than its length.
        unsafe {
            let mut peer: libc::ucred = std::mem::zeroed();
            let mut len = size_of::<libc::ucred>() as libc::socklen_t;
            let asked = libc::getsockopt(
                connection.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut peer).cast(),
                &raw mut len,
            );
            asked == 0 && peer.pid == self.pid
        }
    }
}
