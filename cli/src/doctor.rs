//! `evenkeel doctor`.

use std::fs;
use std::process::ExitCode;

use clap::Args;
use evenkeel_kernel::{KernelEvents, Watched};
use evenkeel_session::agent::Agent;
use evenkeel_symbols::{DebugSources, Module};

use crate::output::{self, Failure};

/// Say what this machine permits, and how to get what is missing
///
/// With a process id also whether `evenkeel attach` can attach to it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  evenkeel doctor
  sudo evenkeel doctor 4711")]
pub struct Arguments {
    /// A process that is to be attached to
    #[arg(value_name = "PID")]
    pid: Option<i32>,
}

/// What was found of one thing.
enum Finding {
    Good(String),
    /// What is missing, and what to do.
    Missing(String),
}

use Finding::{Good, Missing};

/// A bit of CapEff in /proc/PID/status (include/uapi/linux/capability.h).
const CAP_SYS_PTRACE: u64 = 1 << 19;

/// Looks, and says.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let rights = rights();
    let [events, wakers] = kernel_events();
    let findings = [
        ("agent", agent()),
        ("changing code of running threads", barrier()),
        ("attaching", attaching(rights)),
        ("kernel's events", events),
        ("who ends a sleep", wakers),
        ("names of functions", names()),
    ];
    for (name, finding) in findings {
        finding.print(name)?;
    }
    let Some(pid) = arguments.pid else {
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(finding) = names_of(pid) {
        finding.print(&format!("names of process {pid}"))?;
    }
    let (finding, code) = match evenkeel_attach::check(pid) {
        Ok(()) => (Good("it can be attached to".to_owned()), ExitCode::SUCCESS),
        Err(why) => (Missing(why.to_string()), ExitCode::from(2)),
    };
    finding.print(&format!("process {pid}"))?;
    Ok(code)
}

impl Finding {
    fn print(&self, name: &str) -> Result<(), Failure> {
        output::print(&match self {
            Good(text) => format!("ok       {name}: {text}\n"),
            Missing(text) => format!("missing  {name}: {text}\n"),
        })
    }
}

fn rights() -> u64 {
    let own = std::process::id() as i32;
    let text = evenkeel_attach::process::status(own, "CapEff").unwrap_or_default();
    u64::from_str_radix(&text, 16).unwrap_or(0)
}

fn number(path: &str) -> Option<i64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn agent() -> Finding {
    let found = Agent::find().and_then(|agent| Ok((agent.path()?, agent)));
    match found {
        Ok((path, agent @ Agent::Carried(_))) => {
            Good(format!("{agent}, preloaded from {}", path.display()))
        }
        Ok((_, agent)) => match agent.bytes() {
            Ok(_) => Good(agent.to_string()),
            Err(error) => Missing(format!("{agent} cannot be read: {error}")),
        },
        Err(error) => Missing(error.to_string()),
    }
}

fn barrier() -> Finding {
    const SYNC_CORE: libc::c_long = 1 << 5;
    // SAFETY: a question (MEMBARRIER_CMD_QUERY) without effect.
    let offered = unsafe { libc::syscall(libc::SYS_membarrier, 0, 0, 0) };
    if offered >= 0 && offered & SYNC_CORE != 0 {
        Good("the kernel has membarrier".to_owned())
    } else {
        Missing("the kernel has no membarrier for that, so that processes with several threads stay unhooked; Linux 4.16 or newer has it".to_owned())
    }
}

fn attaching(rights: u64) -> Finding {
    if rights & CAP_SYS_PTRACE != 0 {
        return Good("to processes of every user".to_owned());
    }
    match number("/proc/sys/kernel/yama/ptrace_scope").unwrap_or(0) {
        0 => Good("to processes of this user; run evenkeel as root for those of others".to_owned()),
        3 => Missing("kernel.yama.ptrace_scope is 3: nobody may trace until the machine starts again; `evenkeel profile` works".to_owned()),
        scope => Missing(format!(
            "kernel.yama.ptrace_scope is {scope}: run evenkeel as root (sudo), or `sysctl kernel.yama.ptrace_scope=0`; `evenkeel profile` works without"
        )),
    }
}

/// Of the machine's events, those that this process may have: what is said is what was tried.
fn kernel_events() -> [Finding; 2] {
    let everybody = KernelEvents::watch(Watched::Everybody);
    let is_root = everybody.is_ok();
    let watched = everybody.or_else(|_| KernelEvents::watch(Watched::Children));
    let sees_wakers = watched.as_ref().is_ok_and(KernelEvents::sees_wakers);
    let events = match watched {
        Ok(_) if is_root => Good("of every process (--waits)".to_owned()),
        Ok(_) => Good(
            "of what evenkeel starts (`evenkeel profile --waits`); for `attach --waits` run it as root"
                .to_owned(),
        ),
        Err(why) => Missing(format!(
            "with --waits, preemption and blocking are not told apart: {why}"
        )),
    };
    let wakers = if sees_wakers {
        Good("the tracepoint sched_waking can be read (--waits)".to_owned())
    } else {
        Missing("tracepoints are shown to root alone, outside of containers: with --waits, sleeps that no call announces stay without the thread that ended them; run evenkeel as root on the machine itself".to_owned())
    };
    [events, wakers]
}

fn names() -> Finding {
    let on_path = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    match std::env::var("DEBUGINFOD_URLS") {
        Ok(urls) if !urls.trim().is_empty() && on_path("debuginfod-find") => {
            Good(format!("debug files are fetched from {}", urls.trim()))
        }
        _ => Missing("debug files are not fetched: install the server's symbols package (Debian: -dbgsym, -dbg; RPM: -debuginfo), or debuginfod-find (package debuginfod) and set DEBUGINFOD_URLS (https://debuginfod.elfutils.org/)".to_owned()),
    }
}

/// Whether the program of a process has its names; nothing where its file cannot be read, which attaching says.
fn names_of(pid: i32) -> Option<Finding> {
    let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let module = Module::load(&program, &DebugSources::from_environment()).ok()?;
    Some(match module.names_elsewhere() {
        None => Good("they are there".to_owned()),
        Some(text) => Missing(text),
    })
}
