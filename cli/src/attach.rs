//! `evenkeel attach`.

use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Args;
use evenkeel_attach::process;
use evenkeel_session::Subject;

use crate::containers::{self, Container};
use crate::output::Failure;
use crate::profile::{INTERVALS, Options};

/// Find out why the latency of a running server's intervals varies (tail latency), without restarting it
///
/// The agent is loaded into the process and into all its descendants; processes that they fork later are followed
/// too. The session ends at Ctrl-C, after --for, or when the process ends. It then prints a report on standard error
/// and leaves the server running.
#[derive(Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{INTERVALS}"))]
pub struct Arguments {
    #[command(flatten)]
    process: Process,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Process {
    /// The process; of a server with several processes the first, from which the others descend
    #[arg(value_name = "PID")]
    pid: Option<i32>,
    /// The process of this name; of several, the one that descends from no other; containers are searched too
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The main process of this unit of systemd
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
    /// The main process of this container: podman's, docker's, containerd's
    #[arg(long, value_name = "NAME|ID")]
    container: Option<String>,
}

/// Most processes listed to choose from, and columns of their command lines.
const LISTED_MAX: usize = 20;
const COMMAND_WIDTH: usize = 100;

const EXAMPLES: &str = "\
Examples:
  sudo evenkeel attach --name postgres --for 60s
  sudo evenkeel attach --unit mariadb.service --preset mariadb --for 60s --html report.html
  sudo evenkeel attach --container shop-db --preset postgres --for 60s
  evenkeel attach 4711 --interval handle_request --for 30s -o before.keel
  sudo evenkeel attach --name postgres --preset postgres --waits --live
  evenkeel attach --name java --interval com.example.Checkout.handle --for 30s

The user of the process, or root, may attach; root of the machine to processes in containers, from outside of them. `evenkeel doctor PID`
says what stands against it. Programs that the process
executes later (exec) are attached to when they are seen.";

/// Attaches.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let Process {
        pid,
        name,
        unit,
        container,
    } = &arguments.process;
    let pid = match (*pid, name, unit, container) {
        (Some(pid), ..) => of_this_machine(pid)?,
        (None, Some(name), ..) => named(name)?,
        (None, None, Some(unit), _) => main_process(unit)?,
        (None, None, None, Some(container)) => containers::main_process(container)?,
        (None, None, None, None) => unreachable!("one of them is required"),
    };
    arguments.options.profile(Subject::Process(pid), true)
}

/// The number of a process as this machine counts. One as `ps` shows it in a container is nobody's here, or a thread's of the kernel.
fn of_this_machine(pid: i32) -> Result<i32, Failure> {
    if process::started(pid).is_some() && !process::is_of_kernel(pid) {
        return Ok(pid);
    }
    let inside = containers::numbered_inside(pid);
    if inside.is_empty() {
        return Ok(pid); // What it is instead is said later.
    }
    Err(Failure::Usage(format!(
        "{pid} is no program's process here, but the number of one inside of a container; give the number that it has here:\n{}",
        listed(&inside).join("\n")
    )))
}

/// Processes to choose from, a line each.
fn listed(pids: &[i32]) -> Vec<String> {
    let line = |&pid: &i32| {
        let command = on_one_line(&process::command_line(pid));
        match Container::of(pid) {
            Some(container) => format!("  {pid}  {command}  ({container})"),
            None => format!("  {pid}  {command}"),
        }
    };
    pids.iter().take(LISTED_MAX).map(line).collect()
}

/// The one process of this name.
fn named(name: &str) -> Result<i32, Failure> {
    match process::named(name)[..] {
        [pid] => Ok(pid),
        [] => Err(Failure::Usage(format!(
            "no process is named {name}; see `ps -e`, or give its number"
        ))),
        ref several => {
            let mut lines = listed(several);
            let more = several.len().saturating_sub(LISTED_MAX);
            if more > 0 {
                lines.push(format!("  and {more} more: `ps -C {name}`"));
            }
            Err(Failure::Usage(format!(
                "several processes are named {name}; give the number of one:\n{}",
                lines.join("\n")
            )))
        }
    }
}

/// The beginning of a command line, which may hold whole scripts.
fn on_one_line(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(COMMAND_WIDTH) {
        Some((end, _)) => format!("{}..", &line[..end]),
        None => line,
    }
}

/// The main process of a unit, as systemd has it.
fn main_process(unit: &str) -> Result<i32, Failure> {
    // What sd_booted(3) looks at.
    if !Path::new("/run/systemd/system").is_dir() {
        return Err(Failure::Usage(format!(
            "there are no units such as {unit}: systemd does not run here (a container?); give the number of the process, or --name"
        )));
    }
    let asked = Command::new("systemctl")
        .args(["show", "--property=MainPID", "--value", unit])
        .output();
    let answer = asked.map_err(|error| {
        Failure::Usage(format!(
            "systemctl cannot be asked for the unit {unit} ({error}); give the number of its process"
        ))
    })?;
    let text = String::from_utf8_lossy(&answer.stdout);
    match text.trim().parse() {
        Ok(pid) if pid > 0 => Ok(pid),
        _ => Err(Failure::Usage(format!(
            "the unit {unit} has no running process; see `systemctl status {unit}`"
        ))),
    }
}
