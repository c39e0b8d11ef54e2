//! `evenkeel doctor`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use evenkeel_attach::jvm;
use evenkeel_kernel::{KernelEvents, Watched};
use evenkeel_session::agent::Agent;
use evenkeel_session::launch;
use evenkeel_symbols::{DebugSources, Module};

use crate::output::{self, Failure};

/// List what this machine permits, and how to get missing permissions
///
/// With a process id, it also checks whether `evenkeel attach` can attach to the process. Exit codes: 1 where nothing
/// can be profiled on this machine, 2 where this process cannot be attached to.
#[derive(Args)]
#[command(after_help = "\
Examples:
  evenkeel doctor
  sudo evenkeel doctor 4711")]
pub struct Arguments {
    /// The process to check
    #[arg(value_name = "PID")]
    pid: Option<i32>,
}

/// The result of one check.
enum Finding {
    Good(String),
    /// What is missing, and what to do.
    Missing(String),
}

use Finding::{Good, Missing};

mod rights;

use rights::{CAP_DAC_OVERRIDE, CAP_SYS_PTRACE};

/// Runs the checks and prints them.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let rights = effective();
    // Kernels without Yama have no such file, and no such limits.
    let scope = number("/proc/sys/kernel/yama/ptrace_scope").unwrap_or(0);
    let [events, wakers] = kernel_events();
    let agent = agent();
    let can_profile = matches!(agent, Good(_));
    let findings = [
        ("agent", agent),
        ("changing code of running threads", barrier()),
        ("attaching", attaching(rights, scope)),
        ("rights", owned(rights)),
        ("kernel's events", events),
        ("wakers", wakers),
        ("names of functions", names()),
    ];
    for (name, finding) in findings {
        finding.print(name)?;
    }
    let code = match can_profile {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    };
    let Some(pid) = arguments.pid else {
        output::print(&rights::table(scope))?;
        return Ok(code);
    };
    let (findings, refused) = of_process(pid);
    let code = if can_profile { refused } else { code };
    for (name, finding) in findings {
        finding.print(&format!("{name}process {pid}"))?;
    }
    Ok(code)
}

/// The checks of a process, each with a label, and the exit code: whether it can be attached to.
fn of_process(pid: i32) -> (Vec<(&'static str, Finding)>, ExitCode) {
    let refused = |why: String| (vec![("", Missing(why))], ExitCode::from(2));
    if let Err(why) = evenkeel_attach::check(pid) {
        return refused(why.to_string());
    }
    let module = match Module::load(&program(pid), &DebugSources::from_environment()) {
        Ok(module) => module,
        // Not for programs that are static, for another C library, or Go's, though they may be traced.
        Err(why) => return refused(why.to_string()),
    };
    let names = match module.names_elsewhere() {
        None => Good("they are there".to_owned()),
        Some(text) => Missing(text),
    };
    let attachable = Good("it can be attached to".to_owned());
    let mut findings = vec![("names of ", names), ("", attachable)];
    findings.extend(of_java(pid).map(|java| ("Java methods of ", java)));
    (findings, ExitCode::SUCCESS)
}

/// Whether methods of Java can be profiled; empty where the process runs no Java.
fn of_java(pid: i32) -> Option<Finding> {
    jvm::recognise(pid).ok()??;
    let agent = Agent::find().and_then(|agent| agent.path());
    let agent = agent.unwrap_or_else(|_| PathBuf::from(evenkeel_session::agent::file_name()));
    Some(match jvm::check(pid, &agent) {
        Ok(()) => Good("they can be profiled: --interval package.Class.method".to_owned()),
        Err(why) => Missing(why.to_string()),
    })
}

/// The program of a process, under its own name if that is still the same file.
pub fn program(pid: i32) -> PathBuf {
    let link = evenkeel_attach::process::program(pid);
    let is_same = |named: &PathBuf| {
        let (Ok(one), Ok(other)) = (fs::metadata(named), fs::metadata(&link)) else {
            return false;
        };
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    };
    fs::read_link(&link).ok().filter(is_same).unwrap_or(link)
}

impl Finding {
    fn print(&self, name: &str) -> Result<(), Failure> {
        output::print(&match self {
            Good(text) => format!("ok       {name}: {text}\n"),
            Missing(text) => format!("missing  {name}: {text}\n"),
        })
    }
}

/// The capabilities that this process has, and what each missing one would permit.
fn owned(rights: u64) -> Finding {
    let (has, lacks) = rights::own(rights);
    match lacks.is_empty() {
        true => Good(has.join(", ")),
        false => Missing(format!("{}; {}", lacks.join("; "), rights::remedy())),
    }
}

fn effective() -> u64 {
    let text = evenkeel_attach::process::own_status("CapEff").unwrap_or_default();
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

fn attaching(rights: u64, scope: i64) -> Finding {
    match scope {
        3.. => Missing(format!(
            "kernel.yama.ptrace_scope is {scope}: nobody may trace, root included, until the machine starts again; `evenkeel profile` works"
        )),
        _ if rights & CAP_SYS_PTRACE != 0 => Good(match rights & CAP_DAC_OVERRIDE {
            0 => "to processes of this user; those of others take CAP_DAC_OVERRIDE, too".to_owned(),
            _ => "to processes of every user".to_owned(),
        }),
        ..=0 => {
            Good("to processes of this user; run evenkeel as root for those of others".to_owned())
        }
        1..=2 => Missing(format!(
            "kernel.yama.ptrace_scope is {scope}: run evenkeel as root (sudo), or `sysctl kernel.yama.ptrace_scope=0`; `evenkeel profile` works without"
        )),
    }
}

/// Which of the kernel's events this process may use; each is tried.
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
            "with --waits, run-queue delay and blocking are not told apart: {why}"
        )),
    };
    let wakers = if sees_wakers {
        Good("the tracepoint sched_waking can be read (--waits)".to_owned())
    } else {
        Missing("only root outside of containers can read tracepoints: with --waits, the waker of some sleeps stays unknown. Run evenkeel as root on the machine itself".to_owned())
    };
    [events, wakers]
}

fn names() -> Finding {
    match std::env::var("DEBUGINFOD_URLS") {
        Ok(urls) if !urls.trim().is_empty() && launch::file_of("debuginfod-find").is_some() => {
            Good(format!("debug files are fetched from {}", urls.trim()))
        }
        _ => Missing("debug files are not fetched: install the server's symbols package (Debian: -dbgsym, -dbg; RPM: -debuginfo), or debuginfod-find (package debuginfod) and set DEBUGINFOD_URLS (https://debuginfod.elfutils.org/)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_attach() {
        let says = |rights, scope| match attaching(rights, scope) {
            Good(text) => format!("ok {text}"),
            Missing(text) => format!("missing {text}"),
        };
        assert!(says(0, 0).starts_with("ok to processes of this user"));
        let both = CAP_SYS_PTRACE | CAP_DAC_OVERRIDE;
        assert!(says(both, 0).starts_with("ok to processes of every user"));
        assert!(
            says(0, 1).starts_with("missing kernel.yama.ptrace_scope is 1: run evenkeel as root")
        );
        assert!(says(both, 2).starts_with("ok to processes of every user"));
        assert!(says(CAP_SYS_PTRACE, 2).contains("those of others take CAP_DAC_OVERRIDE"));
        for rights in [0, CAP_SYS_PTRACE] {
            assert!(says(rights, 3).starts_with("missing kernel.yama.ptrace_scope is 3: nobody"));
        }
    }
}
