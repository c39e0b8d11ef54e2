//! Errors, each with what to do next.

use std::path::PathBuf;
use std::sync::Arc;

use evenkeel_attach::Refused;
use evenkeel_symbols::FindError;
use evenkeel_symbols::LaunchError;
use evenkeel_symbols::LoadError;
use thiserror::Error;

use crate::no_profile::{Hint, Reason};

/// Why a session failed.
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
        /// The system's error.
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
    /// No interval has ended, or too few to represent all.
    #[error("{0}")]
    NothingProfiled(Reason),
    /// No interval has ended, and the command failed.
    #[error("the command failed with exit code {code}; {reason}")]
    Failed {
        /// Its exit code.
        code: i32,
        /// Why no interval has ended.
        reason: Reason,
    },
    /// No interval has ended, and the command was killed.
    #[error("the command was killed by signal {signal}; {reason}")]
    Killed {
        /// The signal.
        signal: i32,
        /// Why no interval has ended.
        reason: Reason,
    },
    /// No program had the interval's functions.
    #[error("{error}{others}{}", .hint.iter().map(|hint| format!("; {hint}")).collect::<String>())]
    NotInPrograms {
        /// The error of the program that is most likely meant.
        error: Box<Error>,
        /// Which others were looked at.
        others: String,
        /// The function that may be meant.
        hint: Option<Hint>,
    },
    /// A recording cannot be read or written.
    #[error(transparent)]
    Recording(#[from] evenkeel_recording::Error),
    /// Methods of Java are not profiled.
    #[error(transparent)]
    Java(#[from] crate::java::Problem),
    /// The interval cannot be found in the program.
    #[error(transparent)]
    Interval(#[from] evenkeel_intervals::Error),
}

impl Error {
    /// The function that the program lacks, with names spelt alike, if that is what went wrong.
    pub(crate) fn missing_function(&self) -> Option<(&str, &[String])> {
        match self {
            Error::Interval(evenkeel_intervals::Error::NotFound {
                source: FindError::NoSuchFunction { name, closest },
                ..
            }) => Some((name, closest)),
            _ => None,
        }
    }
}
