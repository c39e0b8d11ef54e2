//! The target's processes in `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use evenkeel_attach::{namespace, process};
use evenkeel_wire::ARENA_BYTES;

use crate::launch::children;

/// Processes looked at, at most.
const PROCESSES_MAX: usize = 256;

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// The program that it runs.
    pub program: PathBuf,
    /// Files mapped into it.
    pub files: BTreeSet<String>,
    /// The agent is among them.
    pub has_agent: bool,
    /// Why it has no agent, if it has none.
    pub absence: Absence,
    /// Its limit of address space leaves less than the shared memory of a session takes.
    pub lacks_room: bool,
    /// Processor time that it used.
    pub used_seconds: f64,
}

impl Process {
    /// The system's view of it, if it may be inspected. `agent`: the agent's file name.
    pub fn read(pid: i32, agent: &str) -> Option<Process> {
        let maps = process::read(&namespace::file(pid, "maps")).ok()?;
        let files: BTreeSet<String> = maps
            .lines()
            .filter_map(|line| Some(line[line.find('/')?..].to_owned()))
            .collect();
        let environment = fs::read(namespace::file(pid, "environ")).ok()?;
        Some(Process {
            pid,
            program: fs::read_link(namespace::file(pid, "exe")).ok()?,
            has_agent: files
                .iter()
                .any(|file| file.ends_with(agent) || evenkeel_attach::is_agent(file)),
            files,
            absence: Absence::of(pid, &environment, agent),
            lacks_room: room(pid).is_some_and(|bytes| bytes < ARENA_BYTES as u64),
            used_seconds: used_seconds(pid)?,
        })
    }
}

/// Why a process has no agent, as far as its environment and its root directory tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// Its environment does not name the agent.
    NotNamed,
    /// The agent is not where the environment names it, since the process has another root directory.
    NotInRoot(PathBuf),
    /// It is there, and was not loaded.
    Refused,
}

impl Absence {
    fn of(pid: i32, environment: &[u8], agent: &str) -> Absence {
        let mut variables = environment.split(|&byte| byte == 0);
        let preloaded = variables.find_map(|variable| variable.strip_prefix(b"LD_PRELOAD="));
        let preloaded = String::from_utf8_lossy(preloaded.unwrap_or_default());
        let mut files = preloaded.split([':', ' ']);
        let Some(named) = files.find(|file| file.ends_with(agent)) else {
            return Absence::NotNamed;
        };
        match namespace::file(pid, &format!("root{named}")).try_exists() {
            Ok(false) => Absence::NotInRoot(named.into()),
            _ => Absence::Refused,
        }
    }
}

/// The numbers of these processes and of what descends from them.
pub fn trees(mut numbers: Vec<i32>) -> Vec<i32> {
    let mut at = 0;
    while at < numbers.len() && numbers.len() < PROCESSES_MAX {
        numbers.extend(children(numbers[at]));
        at += 1;
    }
    numbers
}

/// One program in one process: another process has begun at another time, and another program has its environment at
/// another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    started: u64,
    environment: u64,
}

impl Life {
    /// Identity of the process that has this number now: fields 22 and 50 of proc_pid_stat(5).
    pub fn of(pid: i32) -> Option<Life> {
        let stat = Stat::read(pid)?;
        Some(Life {
            started: stat.field(22)?,
            environment: stat.field(50)?,
        })
    }
}

/// The fields of proc_pid_stat(5).
struct Stat(String);

impl Stat {
    fn read(pid: i32) -> Option<Stat> {
        Some(Stat(process::read(&namespace::file(pid, "stat")).ok()?))
    }

    /// By its number there, after the name, which may contain any character.
    fn field(&self, number: usize) -> Option<u64> {
        let behind = &self.0[self.0.rfind(')')? + 1..];
        let mut fields = behind.split_ascii_whitespace().skip(number - 3);
        fields.next()?.parse().ok()
    }
}

/// Address space that a limited process may still take, bytes (setrlimit(2), RLIMIT_AS).
fn room(pid: i32) -> Option<u64> {
    let limits = process::read(&namespace::file(pid, "limits")).ok()?;
    let limits = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = limits.split_ascii_whitespace().next()?.parse().ok()?;
    let sizes = process::read(&namespace::file(pid, "statm")).ok()?;
    let pages: u64 = sizes.split_ascii_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages * rustix::param::page_size() as u64))
}

/// User and system time: fields 14 and 15 of proc_pid_stat(5).
fn used_seconds(pid: i32) -> Option<f64> {
    let stat = Stat::read(pid)?;
    let ticks = stat.field(14)? + stat.field(15)?;
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This process has used some time, has its program mapped, and no agent.
    #[test]
    fn this_process() {
        let own = std::process::id() as i32;
        assert_eq!(trees(vec![own])[0], own);
        let this = Process::read(own, "libevenkeel_agent.so").unwrap();
        assert_eq!(this.pid, own);
        assert!(!this.has_agent);
        assert_eq!(this.absence, Absence::NotNamed);
        let program = this.program.to_str().unwrap();
        assert!(this.files.contains(program), "{:?}", this.files);
        let before = this.used_seconds;
        while used_seconds(own).unwrap() <= before {
            std::hint::black_box(fs::read("/proc/self/maps").ok());
        }
    }

    #[test]
    fn why_it_has_no_agent() {
        let own = std::process::id() as i32;
        let absence =
            |environment: &str| Absence::of(own, environment.as_bytes(), "libevenkeel_agent.so");
        assert_eq!(absence("A=1\0LD_PRELOAD=/lib/other.so"), Absence::NotNamed);
        let place = tempfile::tempdir().unwrap();
        let agent = place.path().join("libevenkeel_agent.so");
        let environment = format!("A=1\0LD_PRELOAD=/lib/other.so:{}\0B=2", agent.display());
        assert_eq!(absence(&environment), Absence::NotInRoot(agent.clone()));
        fs::write(&agent, "").unwrap();
        assert_eq!(absence(&environment), Absence::Refused);
    }

    /// A shell becomes another program where it is told to.
    #[test]
    fn another_program_is_another_life() {
        use std::io::{Read as _, Write as _};
        use std::process::{Command, Stdio};
        let mut shell = Command::new("sh")
            .args(["-c", "echo && read line && exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let (mut stdin, mut stdout) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        let mut answer = [0];
        stdout.read_exact(&mut answer).expect("the shell is ready");
        let as_shell = Life::of(shell.id() as i32).unwrap();
        assert_eq!(Life::of(shell.id() as i32), Some(as_shell));
        stdin.write_all(b"go\n").unwrap();
        // A shell reads from a pipe byte by byte, so that what follows is the program's.
        stdin.write_all(b"a").unwrap();
        stdout.read_exact(&mut answer).expect("cat is there");
        let as_cat = Life::of(shell.id() as i32).unwrap();
        assert_eq!(as_cat.started, as_shell.started);
        assert_ne!(as_cat, as_shell);
        drop(stdin);
        let _ = shell.wait();
    }

    /// Two shells that wait to be told to go on, one with a limit of a gigabyte, which is less than the shared memory
    /// takes.
    #[test]
    fn limits_of_address_space_leave_less_room() {
        use std::io::Read as _;
        use std::process::{Command, Stdio};
        for (limit, lacks_room) in [("1000000", true), ("unlimited", false)] {
            let mut shell = Command::new("sh")
                .args(["-c", &format!("ulimit -v {limit} && echo && read line")])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("a shell");
            let mut ready = [0];
            let stdout = shell.stdout.as_mut().expect("a pipe");
            stdout.read_exact(&mut ready).expect("the shell is ready");
            let room = room(shell.id() as i32);
            drop(shell.stdin.take());
            let _ = shell.wait();
            let lacks = room.is_some_and(|bytes| bytes < ARENA_BYTES as u64);
            assert_eq!(lacks, lacks_room, "{limit}: {room:?}");
        }
    }
}
