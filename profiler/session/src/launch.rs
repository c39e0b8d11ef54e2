//! Starting the command with the agent preloaded, and stopping it.

mod stopping;

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use evenkeel_wire::ARENA_VARIABLE;

use crate::agent::Agent;
use crate::arena::Arena;
use crate::ending::Ending;
use crate::error::Error;
use stopping::Stopping;
pub(crate) use stopping::children;

/// How often to look for further processes to ask to end.
const LOOK_PERIOD: Duration = Duration::from_millis(20);

/// The command to run.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// User and group to run it as, if not the caller's.
    pub user: Option<(u32, u32)>,
    /// Variables added to the caller's environment.
    pub variables: Vec<(OsString, OsString)>,
    /// Working directory, if not the caller's.
    pub directory: Option<PathBuf>,
}

impl std::fmt::Display for CommandLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<_> = self
            .words
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        f.write_str(&words.join(" "))
    }
}

/// The running command.
pub struct Target {
    child: Child,
    status: Option<ExitStatus>,
}

/// The file that `command` names, as a shell would find it.
pub fn file_of(command: &str) -> Option<PathBuf> {
    if command.contains('/') {
        return Some(PathBuf::from(command));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&path).map(|dir| dir.join(command));
    files.find(|file| file.is_file())
}

/// The program that `command` names, as a shell would find it.
///
/// # Errors
/// The program does not exist, or an agent cannot be preloaded into it.
pub(crate) fn find_program(command: &str) -> Result<PathBuf, Error> {
    let missing = || Error::NoCommand {
        command: command.to_owned(),
    };
    let path = file_of(command).filter(|file| file.exists());
    let path = path.ok_or_else(missing)?;
    evenkeel_symbols::launchable(&path)?;
    Ok(path)
}

/// Libraries to preload: sanitizers' runtimes of the program, which insist on being first, then the agent, then the
/// user's.
fn preload_of(program: &Path, agent: PathBuf) -> OsString {
    let runs = evenkeel_symbols::launchable(program).unwrap_or_else(|_| program.to_owned());
    let mut preload = OsString::new();
    for runtime in evenkeel_symbols::sanitizer_runtimes(&runs) {
        preload.push(runtime);
        preload.push(":");
    }
    preload.push(agent);
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    preload
}

impl Target {
    /// Starts a command with the agent preloaded.
    ///
    /// # Errors
    /// The command or the agent is missing, or it cannot be started.
    pub fn start(arena: &Arena, command: &CommandLine) -> Result<Target, Error> {
        let program = find_program(&command.words[0].to_string_lossy())?;
        let preload = preload_of(&program, Agent::find()?.path()?);
        let variables = [
            ("LD_PRELOAD", preload),
            (ARENA_VARIABLE, arena.variable().into()),
        ];
        Target::start_with(&program, command, &variables)
    }

    /// Starts a command unchanged.
    ///
    /// # Errors
    /// The command is missing, or cannot be started.
    pub(crate) fn start_plain(command: &CommandLine) -> Result<Target, Error> {
        let program = find_program(&command.words[0].to_string_lossy())?;
        Target::start_with(&program, command, &[])
    }

    fn start_with(
        program: &Path,
        command: &CommandLine,
        variables: &[(&str, OsString)],
    ) -> Result<Target, Error> {
        // Orphans of the target stay ours: a server that puts itself into the background is still waited for.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let mut start = Command::new(program);
        start.arg0(&command.words[0]).args(&command.words[1..]);
        start.envs(command.variables.iter().map(|(name, value)| (name, value)));
        start.envs(variables.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &command.directory {
            start.current_dir(directory);
        }
        if let Some((user, group)) = command.user {
            start.uid(user).gid(group);
        }
        let child = start.spawn().map_err(|source| Error::Start {
            command: command.words[0].to_string_lossy().into_owned(),
            source,
        })?;
        Ok(Target {
            child,
            status: None,
        })
    }

    /// Process id of the command.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// The command, and processes that it left behind: a server that put itself into the background.
    pub fn roots(&self) -> Vec<i32> {
        stopping::children(std::process::id() as i32)
    }

    /// Whether the command, or anything it left behind, still runs. Reaps what has ended.
    pub fn is_running(&mut self) -> bool {
        loop {
            let mut raw = 0;
            // SAFETY: a local status word.
            match unsafe { libc::waitpid(-1, &mut raw, libc::WNOHANG) } {
                0 => return true,
                pid if pid == self.pid() => self.status = Some(ExitStatus::from_raw(raw)),
                pid if pid > 0 => {}
                _ => return false,
            }
        }
    }

    /// Whether the command itself has ended, however many children it left.
    pub fn has_ended(&self) -> bool {
        self.status.is_some()
    }

    /// Asks everything that runs to stop, waits, and kills what does not. `meanwhile` runs all along.
    pub fn stop(&mut self, signal: i32, mut meanwhile: impl FnMut()) {
        let started = Instant::now();
        let mut stopping = Stopping::default();
        let own = std::process::id() as i32;
        let mut look = Duration::ZERO;
        while self.is_running() {
            let elapsed = started.elapsed();
            if stopping.is_over(elapsed) {
                return;
            }
            if elapsed >= look {
                let below = |everything| stopping::below(own, signal, everything);
                for (pid, signal) in stopping.due(elapsed, signal, below) {
                    // SAFETY: plain signals to processes that descend from this one.
                    unsafe { libc::kill(pid, signal) };
                }
                look = elapsed + LOOK_PERIOD;
            }
            meanwhile();
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The end of the command, if it ended by itself.
    pub fn ending(&self) -> Option<Ending> {
        let status = self.status?;
        Some(match status.signal() {
            Some(signal) => Ending::Killed(signal),
            None => Ending::Exited(status.code().unwrap_or(0)),
        })
    }
}
