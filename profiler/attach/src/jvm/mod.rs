//! Java virtual machines: an agent library is loaded by the JVM itself, on its own thread.
//!
//! ```text
//! kind      which JVM a process runs, of which version, with which options
//! files     the directory and names by which the JVM meets its clients
//! identity  a thread that has the rights of the JVM's user
//! listener  the JVM's socket, and how it is asked to open it
//! answer    what the JVM answers
//! visits    the agent comes to a socket of ours, and talks
//! ```
//!
//! This is HotSpot's own way, without ptrace (`attachListener_posix.cpp` of OpenJDK). A file `.attach_pidN` is left
//! where the JVM looks, and SIGQUIT makes it look. It then opens the socket `.java_pidN`, which takes commands. Where
//! the JVM does not catch SIGQUIT, the signal would end it, so that is checked first.

mod answer;
mod files;
mod identity;
mod kind;
mod listener;
mod visits;

use std::path::Path;

use crate::error::Refused;
use crate::process;

pub use kind::{JvmKind, forbids_agents, recognise};
pub use visits::{Jvm, send_descriptor};

/// Has the JVM load an agent library, and call its `Agent_OnAttach` with `options`.
///
/// `library` is a path of this process. Where it is not the same file to the JVM (a container), the JVM gets a copy in its own
/// `/tmp`, which is removed once it is loaded. A library that is loaded already is not loaded again, but called.
///
/// # Errors
///
/// Says why the JVM cannot be attached to, or what it answered, and what to do.
pub fn load(pid: i32, library: &Path, options: &str) -> Result<(), Refused> {
    let started = process::started(pid).ok_or(Refused::Gone { pid })?;
    expect_hotspot(pid, library)?;
    let directory = files::Directory::of(pid)?;
    let library = files::Opened::open(pid, library)?;
    let user = identity::User::of(pid)?;
    user.run(|| {
        let copy = files::Library::for_jvm(&directory, &library)?;
        call(&directory, started, copy.path(), options)
    })
}

/// Refuses all but a HotSpot JVM that lets itself be attached to, as far as its options and its user tell. `library`: the agent's.
///
/// # Errors
/// Says why, and what to do.
pub fn check(pid: i32, library: &Path) -> Result<(), Refused> {
    expect_hotspot(pid, library)?;
    let user = identity::User::of(pid)?;
    user.run(|| Ok(()))
}

/// Refuses all but a HotSpot JVM that can be attached to, or that was started with the agent.
fn expect_hotspot(pid: i32, library: &Path) -> Result<(), Refused> {
    let Some(jvm) = recognise(pid)? else {
        return Err(Refused::Unfit {
            pid,
            why: "it runs no Java virtual machine".into(),
        });
    };
    kind::check(pid, &jvm, library)
}

/// Has the JVM load the library at this path, as the JVM sees it, if it has not, and call it.
fn call(
    directory: &files::Directory,
    started: u64,
    library: &str,
    options: &str,
) -> Result<(), Refused> {
    let socket = listener::connect(directory, started)?;
    let answer = listener::ask(socket, &["load", library, "true", options]);
    let answer =
        answer.map_err(|error| files::failed(directory.pid, "its answer did not come", &error))?;
    answer::check(directory.pid, &answer, library)
}
