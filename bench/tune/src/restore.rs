//! Putting back what a run that was cut short has left.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use evenkeel_drive::settings::Settings as Bench;
use evenkeel_drive::target::Target;
use rustix::process::{Pid, Signal, kill_process};

use crate::error::Error;
use crate::journal::{self, Found, Private};
use crate::server::{put_back, restart_by};
use crate::tune::kind_of;

/// How long a private server may take to end.
const STOP_LIMIT: Duration = Duration::from_secs(60);
/// How the folders of private servers are called.
const FOLDERS: &str = "evenkeel-";

/// Puts back what earlier runs left on the target of `bench`, or, with `all`, on every target that can be reached without a
/// password. Returns what was done, a line each.
///
/// # Errors
/// A server does not answer or refuses; its journal stays.
pub fn restore(
    bench: &Bench,
    all: bool,
    restart_command: Option<&str>,
) -> Result<Vec<String>, Error> {
    let named = journal::without_password(&bench.target.to_string()).0;
    let mut lines = Vec::new();
    for found in journal::found(&journal::directory()?)? {
        if !all && found.header.target != named {
            continue;
        }
        lines.push(match &found.header.private {
            Some(private) => stopped(private)?,
            None if found.changes.is_empty() => {
                format!("{}: nothing had been changed", found.header.target)
            }
            None if all && found.header.password => {
                lines.push(format!(
                    "{}: needs its password; give --restore --target URL with it",
                    found.header.target
                ));
                continue;
            }
            None => reset(bench, all, &found, restart_command)?,
        });
        fs::remove_file(&found.path).map_err(|source| Error::System {
            action: format!("remove {}", found.path.display()),
            source,
        })?;
    }
    if lines.is_empty() {
        lines.push("nothing was left changed".to_owned());
    }
    Ok(lines)
}

/// Puts the settings of a server back.
fn reset(
    bench: &Bench,
    all: bool,
    found: &Found,
    restart_command: Option<&str>,
) -> Result<String, Error> {
    let mut bench = bench.clone();
    bench.target_settings.clear();
    if all {
        bench.target = found.header.target.parse()?;
    }
    let kind = kind_of(&bench.target)?;
    let target: Target = bench.open_target()?;
    for change in &found.changes {
        target.rows(&put_back(kind, &change.name, change.before.as_deref()))?;
    }
    if kind == crate::knobs::Kind::Postgres {
        target.rows("SELECT pg_reload_conf()")?;
    }
    let names: Vec<&str> = found
        .changes
        .iter()
        .map(|change| change.name.as_str())
        .collect();
    let mut line = format!("{}: put back {}", found.header.target, names.join(", "));
    if found.changes.iter().any(|change| change.restart) {
        match restart_command {
            Some(command) => restart_by(command)?,
            None => line += "; some hold from the server's next restart on: restart it",
        }
    }
    Ok(line)
}

/// Stops a private server that its run has left, and removes its folder.
fn stopped(private: &Private) -> Result<String, Error> {
    let lives = || start_ticks(private.pid).is_some_and(|ticks| ticks == private.start_ticks);
    let pid = i32::try_from(private.pid).ok().and_then(Pid::from_raw);
    // A restart gave it another process: that one says so in its folder.
    let again = successor(&private.folder).and_then(Pid::from_raw);
    let targets = [pid.filter(|_| lives()), again];
    let begin = Instant::now();
    for pid in targets.into_iter().flatten() {
        let ended = || {
            fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
                .map_or(true, |stat| is_zombie(&stat))
        };
        // Both servers take it for a request to end in order.
        let _ = kill_process(pid, Signal::TERM);
        let _ = kill_process(pid, Signal::INT);
        while !ended() {
            if begin.elapsed() > STOP_LIMIT {
                return Err(Error::Setting(format!(
                    "the private server (process {}) does not end; end it yourself, and remove {}",
                    pid.as_raw_nonzero(),
                    private.folder.display()
                )));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let is_ours = private
        .folder
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(FOLDERS));
    if is_ours && private.folder.is_dir() {
        fs::remove_dir_all(&private.folder).map_err(|source| Error::System {
            action: format!("remove {}", private.folder.display()),
            source,
        })?;
    }
    Ok(format!(
        "stopped the private server that an earlier run left, and removed {}",
        private.folder.display()
    ))
}

/// The process of a server in this folder of ours, if its program's arguments name the folder.
fn successor(folder: &Path) -> Option<i32> {
    let text = ["data/postmaster.pid", "pid"]
        .iter()
        .find_map(|name| fs::read_to_string(folder.join(name)).ok())?;
    let pid: i32 = text.lines().next()?.trim().parse().ok()?;
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let arguments = String::from_utf8_lossy(&arguments).into_owned();
    arguments
        .contains(&*folder.to_string_lossy())
        .then_some(pid)
}

fn is_zombie(stat: &str) -> bool {
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_whitespace()
        .next()
        .is_none_or(|state| state == "Z" || state == "X")
}

/// When a process began, in the kernel's ticks: field 22 of `/proc/PID/stat`, see proc(5).
#[must_use]
pub fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest = stat.rsplit_once(')')?.1;
    rest.split_whitespace().nth(19)?.parse().ok()
}
