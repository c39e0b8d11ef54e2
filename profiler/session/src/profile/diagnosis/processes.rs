//! What `/proc` says of the target's processes.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use evenkeel_wire::ARENA_BYTES;

use crate::launch::children;

/// Processes looked at, at most.
const PROCESSES_MAX: usize = 256;

/// One process.
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
    /// Its environment names the agent.
    pub names_agent: bool,
    /// Its limit of address space leaves less than the shared memory of a session takes.
    pub lacks_room: bool,
    /// Processor time that it used.
    pub used_seconds: f64,
}

impl Process {
    /// These and what descends from them; those that may not be looked at are left out. `agent`: the agent's file name.
    pub fn trees(mut numbers: Vec<i32>, agent: &str) -> Vec<Process> {
        let mut at = 0;
        while at < numbers.len() && numbers.len() < PROCESSES_MAX {
            numbers.extend(children(numbers[at]));
            at += 1;
        }
        let processes = numbers.into_iter();
        processes
            .filter_map(|pid| Process::read(pid, agent))
            .collect()
    }

    fn read(pid: i32, agent: &str) -> Option<Process> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        let files: BTreeSet<String> = maps
            .lines()
            .filter_map(|line| Some(line[line.find('/')?..].to_owned()))
            .collect();
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mut variables = environment.split(|&byte| byte == 0);
        let names_agent = variables.any(|variable| {
            let text = String::from_utf8_lossy(variable);
            text.starts_with("LD_PRELOAD=") && text.contains(agent)
        });
        Some(Process {
            pid,
            program: fs::read_link(format!("/proc/{pid}/exe")).ok()?,
            has_agent: files
                .iter()
                .any(|file| file.ends_with(agent) || evenkeel_attach::is_agent(file)),
            files,
            names_agent,
            lacks_room: room(pid).is_some_and(|bytes| bytes < ARENA_BYTES as u64),
            used_seconds: used_seconds(pid)?,
        })
    }
}

/// Address space that a limited process may still take, bytes (setrlimit(2), RLIMIT_AS).
fn room(pid: i32) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let limits = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = limits.split_ascii_whitespace().next()?.parse().ok()?;
    let sizes = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = sizes.split_ascii_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages * rustix::param::page_size() as u64))
}

/// User and system time: fields 14 and 15 of proc_pid_stat(5), counted behind the name, which may hold anything.
fn used_seconds(pid: i32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let behind = &stat[stat.rfind(')')? + 1..];
    let fields: Vec<&str> = behind.split_ascii_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    Some((ticks(14)? + ticks(15)?) / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This process has used some time, has its program mapped, and no agent.
    #[test]
    fn this_process() {
        let own = std::process::id() as i32;
        let processes = Process::trees(vec![own], "libevenkeel_agent.so");
        let this = &processes[0];
        assert_eq!(this.pid, own);
        assert!(!this.has_agent && !this.names_agent);
        let program = this.program.to_str().unwrap();
        assert!(this.files.contains(program), "{:?}", this.files);
        let before = this.used_seconds;
        while used_seconds(own).unwrap() <= before {
            std::hint::black_box(fs::read("/proc/self/maps").ok());
        }
    }
    /// Two shells that wait to be told to go on, one with a limit of a gigabyte, which is less than the shared memory takes.
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
