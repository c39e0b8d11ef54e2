//! A server's life from its start to its end: waiting for the first connection, stopping, killing what does not stop.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::error::{During, ServerError};
use crate::folder::Folder;
use crate::launch::Launch;
use crate::options::Limits;

/// Time between two looks at whether a server is up or gone.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Lines of the log that an error shows.
const LOG_TAIL_LINES: usize = 20;

/// Results of a stopped server.
#[derive(Debug)]
pub struct Stopped {
    /// Exit status of the started command (the wrapping one if there was one); `None` for an adopted server.
    pub status: Option<ExitStatus>,
    /// All that it wrote to its output and error streams; empty for an adopted server unless its starter sent them to
    /// the server's log file.
    pub log: String,
}

/// Properties in which running servers differ.
#[derive(Debug)]
pub(crate) struct Identity {
    /// Name for messages.
    pub name: &'static str,
    /// File in which the server writes its process id, first thing on the first line, while it runs.
    pub pid_file: PathBuf,
    /// File for both standard streams.
    pub log: PathBuf,
    /// Signal that makes it end at once but in order.
    pub stop_signal: Signal,
    /// Time limits.
    pub limits: Limits,
}

/// A started server in its folder. Dropping it stops the server and removes the folder.
#[derive(Debug)]
pub(crate) struct Running {
    identity: Identity,
    // Declared before the folder: processes end before their files go.
    child: Option<Child>,
    status: Option<ExitStatus>,
    folder: Folder,
}

impl Running {
    fn new(identity: Identity, folder: Folder) -> Self {
        Self {
            identity,
            child: None,
            status: None,
            folder,
        }
    }

    /// Starts `launch` behind `wrap` with both streams in the log file and waits until `ready`.
    pub(crate) fn start(
        identity: Identity,
        folder: Folder,
        launch: Launch,
        wrap: Option<&[OsString]>,
        ready: &dyn Fn() -> bool,
    ) -> Result<Self, ServerError> {
        let mut running = Self::new(identity, folder);
        running.spawn(launch, wrap)?;
        running.wait_until(ready)?;
        Ok(running)
    }

    /// Ends the server and starts `launch` behind `wrap` in the same folder, so on the same data.
    pub(crate) fn restart(
        &mut self,
        launch: Launch,
        wrap: Option<&[OsString]>,
        ready: &dyn Fn() -> bool,
    ) -> Result<(), ServerError> {
        if !self.end() {
            return Err(ServerError::StopTimeout {
                server: self.identity.name,
                limit: self.identity.limits.stop,
                log: tail(&self.log()),
            });
        }
        self.status = None;
        self.spawn(launch, wrap)?;
        self.wait_until(ready)
    }

    fn spawn(&mut self, launch: Launch, wrap: Option<&[OsString]>) -> Result<(), ServerError> {
        let mut command = launch.wrapped(wrap.unwrap_or_default()).command();
        let path = &self.identity.log;
        let log = File::create(path).during(|| format!("make {}", path.display()))?;
        let again = log
            .try_clone()
            .during(|| format!("open {}", path.display()))?;
        // A separate process group: Ctrl-C at a terminal is for the caller, who then stops the server in order.
        command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(again)
            .process_group(0);
        let child = command
            .spawn()
            .during(|| format!("start {}", command.get_program().display()))?;
        self.child = Some(child);
        Ok(())
    }

    /// Takes charge of a server that the caller started itself, once it is `ready`.
    pub(crate) fn adopt(
        identity: Identity,
        folder: Folder,
        ready: &dyn Fn() -> bool,
    ) -> Result<Self, ServerError> {
        let mut running = Self::new(identity, folder);
        running.wait_until(ready)?;
        Ok(running)
    }

    fn wait_until(&mut self, ready: &dyn Fn() -> bool) -> Result<(), ServerError> {
        let limit = self.identity.limits.start;
        let begin = Instant::now();
        while !(self.pid().is_some() && ready()) {
            if let Some(status) = self.child_status() {
                return Err(ServerError::EndedAtStart {
                    server: self.identity.name,
                    status: status.to_string(),
                    log: tail(&self.log()),
                });
            }
            if begin.elapsed() > limit {
                let log = tail(&self.log());
                return Err(ServerError::StartTimeout {
                    server: self.identity.name,
                    limit,
                    log,
                });
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// The server's folder.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The process id of the server itself (not of a command it was started behind), while it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        let text = fs::read_to_string(&self.identity.pid_file).ok()?;
        let pid = text.split_whitespace().next()?.parse().ok()?;
        is_alive(pid).then_some(pid)
    }

    /// Text that the server wrote to its streams so far.
    pub(crate) fn log(&self) -> String {
        fs::read(&self.identity.log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Asks the server to end, waits for it and for the command it was started behind, and kills what is left after
    /// the limit.
    pub(crate) fn stop(mut self) -> Result<Stopped, ServerError> {
        let in_time = self.end();
        let log = self.log();
        if in_time {
            return Ok(Stopped {
                status: self.status,
                log,
            });
        }
        Err(ServerError::StopTimeout {
            server: self.identity.name,
            limit: self.identity.limits.stop,
            log: tail(&log),
        })
    }

    /// The started command's exit status once it ended.
    fn child_status(&mut self) -> Option<ExitStatus> {
        if let Some(child) = &mut self.child
            && let Ok(Some(status)) = child.try_wait()
        {
            self.status = Some(status);
            self.child = None;
        }
        self.status
    }

    /// Whether the server or the command it was started behind still runs.
    fn is_running(&mut self) -> bool {
        // The child first: a server that is our child stays a zombie until it is waited for.
        self.child_status();
        self.child.is_some() || self.pid().is_some()
    }

    /// False if something had to be killed.
    fn end(&mut self) -> bool {
        // A command that has not come so far as to run the server gets the request itself.
        if let Some(pid) = self.pid().or_else(|| self.child.as_ref().map(Child::id)) {
            signal(pid, self.identity.stop_signal);
        }
        let begin = Instant::now();
        while self.is_running() {
            if begin.elapsed() > self.identity.limits.stop {
                self.kill();
                return false;
            }
            thread::sleep(POLL_INTERVAL);
        }
        true
    }

    fn kill(&mut self) {
        if let Some(pid) = self.pid() {
            signal(pid, Signal::KILL);
        }
        if let Some(mut child) = self.child.take() {
            if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                // An error means that the group is gone, which is what is wanted.
                let _ = kill_process_group(group, Signal::KILL);
            }
            self.status = child.wait().ok();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sends a signal; a process that is gone already is what is wanted.
fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Whether the process exists and is more than an exit status waiting to be read (state `Z` or `X` in
/// `/proc/<pid>/stat`, see proc(5)). The name before the state, in parentheses, may contain any character.
fn is_alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let state = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().next());
    !matches!(state, Some("Z" | "X") | None)
}

fn tail(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(folder: &Folder, script: &str) -> (Identity, Launch) {
        let identity = Identity {
            name: "shell",
            pid_file: folder.path().join("pid"),
            log: folder.path().join("log"),
            stop_signal: Signal::TERM,
            limits: Limits {
                start: Duration::from_secs(60),
                stop: Duration::from_secs(60),
            },
        };
        let launch = Launch {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            env: Vec::new(),
            account: None,
            working_directory: folder.path().to_owned(),
        };
        (identity, launch)
    }

    #[test]
    fn an_end_at_start_shows_status_and_log() {
        let folder = Folder::create(None, None).unwrap();
        let (identity, launch) = shell(&folder, "echo no such setting; exit 5");
        let error = Running::start(identity, folder, launch, None, &|| false).unwrap_err();
        match &error {
            ServerError::EndedAtStart { status, log, .. } => {
                assert_eq!(
                    (status.as_str(), log.as_str()),
                    ("exit status: 5", "no such setting")
                );
            }
            other => panic!("expected EndedAtStart, got {other:?}"),
        }
    }

    #[test]
    fn a_process_that_ignores_the_request_is_killed_and_its_folder_removed() {
        let folder = Folder::create(None, None).unwrap();
        let path = folder.path().to_owned();
        let (mut identity, launch) = shell(
            &folder,
            "trap '' TERM; echo $$ >pid; while :; do sleep 1; done",
        );
        identity.limits.stop = Duration::from_millis(100);
        let running = Running::start(identity, folder, launch, None, &|| true).unwrap();
        let pid = running.pid().unwrap();
        assert!(matches!(
            running.stop(),
            Err(ServerError::StopTimeout { .. })
        ));
        assert!(!is_alive(pid) && !path.exists());
    }

    #[test]
    fn a_wrapped_server_is_asked_itself_and_its_wrapper_ends_after_it() {
        let folder = Folder::create(None, None).unwrap();
        let (identity, launch) = shell(
            &folder,
            "echo $$ >pid; trap 'exit 0' TERM; while :; do sleep 0.05; done",
        );
        let wrapper =
            ["/bin/sh", "-c", "\"$@\"; echo wrapper saw $?", "wrapper"].map(OsString::from);
        let running = Running::start(identity, folder, launch, Some(&wrapper), &|| true).unwrap();
        assert_ne!(running.pid(), running.child.as_ref().map(Child::id));
        let stopped = running.stop().unwrap();
        assert_eq!(stopped.log, "wrapper saw 0\n");
        assert!(stopped.status.unwrap().success());
    }

    #[test]
    fn the_tail_of_a_log_is_its_last_twenty_lines() {
        let log: String = (1..=25).map(|line| format!("{line}\n")).collect();
        assert_eq!(tail(&log).lines().next(), Some("6"));
        assert_eq!(tail("one"), "one");
    }
}
