//! Whether a process may be traced and is of a kind that can be attached to, before it is touched.

use std::fs;

use crate::error::Refused;
use crate::{arch, process};

/// Checks everything that can be known beforehand.
///
/// # Errors
/// Says what stands against it, and what to do.
pub fn check(pid: i32) -> Result<(), Refused> {
    if !arch::SUPPORTED {
        return Err(Refused::Architecture(std::env::consts::ARCH));
    }
    if process::started(pid).is_none() {
        return Err(Refused::Gone { pid });
    }
    if pid == std::process::id() as i32 {
        return unfit(pid, "it is evenkeel itself");
    }
    traced(pid)?;
    // What the system says of a process it says to those alone who may trace it.
    process::mappings(pid).map_err(|_| not_permitted(pid))?;
    fit(pid)
}

fn unfit<T>(pid: i32, why: impl Into<String>) -> Result<T, Refused> {
    let why = why.into();
    Err(Refused::Unfit { pid, why })
}

fn traced(pid: i32) -> Result<(), Refused> {
    let tracer = process::status(pid, "TracerPid").and_then(|text| text.parse().ok());
    match tracer.filter(|&tracer: &i32| tracer != 0) {
        None => Ok(()),
        Some(tracer) => {
            let name = process::name(tracer).unwrap_or_default();
            unfit(
                pid,
                format!(
                    "process {tracer} ({name}) traces it already, and there can be one tracer; end that one first"
                ),
            )
        }
    }
}

fn fit(pid: i32) -> Result<(), Refused> {
    if process::status(pid, "NSpid").is_some_and(|ids| ids.split_ascii_whitespace().count() > 1) {
        return unfit(
            pid,
            "it has process numbers of its own (a container); run evenkeel with its numbers: `nsenter --target PID --pid --mount evenkeel attach ...`, or inside of the container",
        );
    }
    // Filters of both are their surroundings' (a container), under which evenkeel itself runs.
    let filters = |pid| ["Seccomp", "Seccomp_filters"].map(|name| process::status(pid, name));
    if process::status(pid, "Seccomp").is_some_and(|mode| mode != "0")
        && filters(pid) != filters(std::process::id() as i32)
    {
        return unfit(
            pid,
            "it has installed a filter of system calls (seccomp), which may end it at a call that it does not make itself; start it with `evenkeel profile`, or without the filter",
        );
    }
    let shadow = process::status(pid, "x86_Thread_features");
    if shadow.is_some_and(|features| {
        features
            .split_ascii_whitespace()
            .any(|name| name == "shstk")
    }) {
        return unfit(
            pid,
            "the processor guards its return addresses (shadow stacks); start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off",
        );
    }
    Ok(())
}

/// Why the system refuses this process to us.
pub fn not_permitted(pid: i32) -> Refused {
    let refused = |why: String| Refused::NotPermitted { pid, why };
    // SAFETY: no arguments.
    let own = unsafe { libc::geteuid() };
    let owner = process::status(pid, "Uid");
    let owner = owner.and_then(|ids| ids.split_ascii_whitespace().next()?.parse::<u32>().ok());
    if own == 0 {
        return refused("even root lacks CAP_SYS_PTRACE here (a container?); give it to the container (--cap-add SYS_PTRACE), or run evenkeel on the host".to_owned());
    }
    if owner.is_some_and(|owner| owner != own) {
        return refused(format!(
            "it runs as user {}; run evenkeel as root (sudo evenkeel attach {pid} ...)",
            owner.unwrap_or_default()
        ));
    }
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        "1" | "2" => refused(format!(
            "kernel.yama.ptrace_scope is {}; run evenkeel as root (sudo), or `sysctl kernel.yama.ptrace_scope=0`",
            scope.trim()
        )),
        "3" => refused("kernel.yama.ptrace_scope is 3, which lets nobody trace until the machine starts again; start the program with `evenkeel profile`".to_owned()),
        _ => refused("its program changes its rights (setuid, setgid or file capabilities), or it has forbidden it (PR_SET_DUMPABLE); run evenkeel as root (sudo)".to_owned()),
    }
}
