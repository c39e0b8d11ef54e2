//! What `/proc` says of the target's processes.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

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
    /// Processor time that it used.
    pub used_seconds: f64,
}

impl Process {
    /// `pid` and what descends from it; those that may not be looked at are left out. `agent`: the agent's file name.
    pub fn tree(pid: i32, agent: &str) -> Vec<Process> {
        let mut numbers = vec![pid];
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
            used_seconds: used_seconds(pid)?,
        })
    }
}

fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            let pids = list.split_ascii_whitespace();
            pids.filter_map(|pid| pid.parse().ok())
                .collect::<Vec<i32>>()
        })
        .collect()
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
        let processes = Process::tree(own, "libevenkeel_agent.so");
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
}
