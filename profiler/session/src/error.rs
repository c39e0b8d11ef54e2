//! What can go wrong, each with what to do next.

use std::path::PathBuf;
use std::sync::Arc;

use evenkeel_attach::Refused;
use evenkeel_symbols::FindError;
use evenkeel_symbols::LaunchError;
use evenkeel_symbols::LoadError;
use thiserror::Error;

/// Why a session or a recording failed.
#[derive(Debug, Error)]
pub enum Error {
    /// The command does not exist.
    #[error("cannot find the command {command}: give its path, or check PATH")]
    NoCommand {
        /// As typed.
        command: String,
    },
    /// The command cannot be profiled.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The program, or a library that the interval lies in, cannot be read.
    #[error(transparent)]
    Unreadable(Arc<LoadError>),
    /// The process cannot be attached to.
    #[error(transparent)]
    Attach(#[from] Refused),
    /// The agent cannot be read.
    #[error("cannot load the agent: {0}")]
    AgentUnreadable(std::io::Error),
    /// The command cannot be started.
    #[error("cannot start {command}: {source}")]
    Start {
        /// As typed.
        command: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The agent is missing.
    #[error("the agent libevenkeel_agent.so is not beside {}: install both together, or set EVENKEEL_AGENT to its path", near.display())]
    NoAgent {
        /// The directory of the running program.
        near: PathBuf,
    },
    /// This program's own file cannot be read.
    #[error("cannot read /proc/self/exe, in which the agent may be: {0}; is /proc mounted?")]
    OwnFile(std::io::Error),
    /// A file that this program carries can be put nowhere.
    #[error(
        "there is no directory that {name} can be put into and run from ({tried}); make one of them usable, or set XDG_RUNTIME_DIR to a directory of this user's"
    )]
    NoFolder {
        /// The file.
        name: &'static str,
        /// The directories, with what stands against each.
        tried: String,
    },
    /// The system refused shared memory.
    #[error("cannot make shared memory: {0}; check the limits (ulimit -v, ulimit -f, cgroup)")]
    Arena(std::io::Error),
    /// Recordings that are to be taken together are not of the same.
    #[error(
        "{} and {} cannot be taken together: {what}; merge recordings of the same interval of the same program, recorded alike",
        one.display(), other.display()
    )]
    Different {
        /// The first.
        one: PathBuf,
        /// Another.
        other: PathBuf,
        /// What differs.
        what: String,
    },
    /// One recording was to be counted twice.
    #[error("{} is named twice: its intervals would count twice", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
    },
    /// A merged recording would replace one of those it is made of.
    #[error("{} is one of the recordings to merge: give -o another name", path.display())]
    MergedIntoItself {
        /// The file.
        path: PathBuf,
    },
    /// The interval's specification cannot be read.
    #[error("the interval {text:?} cannot be read: {what}")]
    BadSpec {
        /// As typed.
        text: String,
        /// What is wrong and how it is written.
        what: String,
    },
    /// The interval's functions are not in the program.
    #[error("in {}: {source}", path.display())]
    NotFound {
        /// The program or library.
        path: PathBuf,
        /// What is not there.
        source: FindError,
    },
    /// The preset does not fit the program.
    #[error("{} is not a program that the preset {preset} knows: {what}; name the interval with --interval", path.display())]
    PresetMismatch {
        /// The program.
        path: PathBuf,
        /// The preset.
        preset: &'static str,
        /// What was looked for.
        what: String,
    },
    /// No such preset.
    #[error("there is no preset {name}; there are: {known}")]
    NoPreset {
        /// As typed.
        name: String,
        /// All of them.
        known: String,
    },
    /// The agent was not loaded, or no process had the interval's functions.
    #[error("{0}")]
    NothingProfiled(String),
    /// The interval's boundary cannot be hooked.
    #[error(
        "the interval's boundary at {site} cannot be hooked: {reason}; name another function, or a call site as caller>callee"
    )]
    BoundaryRefused {
        /// The call site or function.
        site: String,
        /// Why it cannot be hooked.
        reason: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not a recording.
    #[error("{} is not a recording; recordings are made by evenkeel profile -o FILE", path.display())]
    NotARecording {
        /// The file.
        path: PathBuf,
    },
    /// A recording of the future.
    #[error("{} has recording format {found}, and this evenkeel reads up to {known}; update evenkeel", path.display())]
    NewerRecording {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A damaged recording.
    #[error("{} is damaged at byte {at}: {what}; copy it again, or record again", path.display())]
    DamagedRecording {
        /// The file.
        path: PathBuf,
        /// Where the damage begins.
        at: u64,
        /// What is wrong.
        what: String,
    },
}
