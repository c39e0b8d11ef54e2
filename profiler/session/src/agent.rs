//! The agent's file: named by the user, carried by this program, or next to it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::carried::Carried;
use crate::error::Error;

/// File name of the agent. A process that has it mapped is known by this name, too.
const AGENT: &str = "libevenkeel_agent.so";
/// The variable that names another agent's file.
const VARIABLE: &str = "EVENKEEL_AGENT";
/// The section of this program that holds the agent, in an installed one.
const SECTION: &str = ".evenkeel.agent";

/// The agent that a session uses.
#[derive(Debug)]
pub enum Agent {
    /// Named by `EVENKEEL_AGENT`.
    Named(PathBuf),
    /// A section of this program, as in an installed one.
    Carried(Carried),
    /// A file beside this program, as cargo builds them.
    Beside(PathBuf),
}

impl Agent {
    /// `EVENKEEL_AGENT`, or the carried agent, or the file next to this program (for tests also in the directory
    /// above).
    ///
    /// # Errors
    /// It is in none of these places, or this program's own file cannot be read.
    pub fn find() -> Result<Agent, Error> {
        if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
            return Ok(Agent::Named(PathBuf::from(path)));
        }
        if let Some(carried) = Carried::find(SECTION, AGENT)? {
            return Ok(Agent::Carried(carried));
        }
        let program = std::env::current_exe().unwrap_or_default();
        let near = program.parent().unwrap_or(Path::new("/")).to_owned();
        [near.join(AGENT), near.join("..").join(AGENT)]
            .into_iter()
            .find(|path| path.exists())
            .map(Agent::Beside)
            .ok_or(Error::NoAgent { near })
    }

    /// The file to preload. One that is carried is put where everyone can read it (see `carried.rs`).
    ///
    /// # Errors
    /// There is no directory for it.
    pub fn path(&self) -> Result<PathBuf, Error> {
        match self {
            Agent::Named(path) | Agent::Beside(path) => Ok(path.clone()),
            Agent::Carried(carried) => carried.unpack(),
        }
    }

    /// The contents of the file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        match self {
            Agent::Named(path) | Agent::Beside(path) => std::fs::read(path),
            Agent::Carried(carried) => Ok(carried.bytes().to_owned()),
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Agent::Named(path) => write!(f, "{} (named by {VARIABLE})", path.display()),
            Agent::Beside(path) => write!(f, "{}", path.display()),
            Agent::Carried(_) => {
                let program = std::env::current_exe().unwrap_or_default();
                write!(f, "carried by {}", program.display())
            }
        }
    }
}

/// The file name by which a process that has the agent is known.
pub fn file_name() -> String {
    match std::env::var_os(VARIABLE).map(PathBuf::from) {
        Some(path) => path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        None => AGENT.to_owned(),
    }
}
