//! Filters of system calls (seccomp(2)) of a process: whether they let through what an attach and the agent need.
//!
//! A filter answers a call with an error, or ends the process. So each filter is read and evaluated for every call of
//! an attach before the first is made. Reading filters takes root, and a thread that is stopped for a moment.

use std::collections::{BTreeMap, HashSet};
use std::io;

use crate::error::Refused;
use crate::process;
use crate::tracer::Tracee;

mod bpf;
mod calls;

use bpf::{Data, INSTRUCTIONS_MAX, Instruction};
use calls::{CALLS, Call, LOCKED, Need};

/// Threads whose filters are read one by one; of more than that, one for each number of filters.
const THREADS_MAX: usize = 64;
/// Filters of one thread, at most.
const FILTERS_MAX: usize = 256;
const PTRACE_SECCOMP_GET_FILTER: libc::c_uint = 0x420c;
const SECCOMP_MODE_FILTER: &str = "2";
#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xc000_00b7;
/// Values of arguments that are not known beforehand: descriptors and addresses.
const SAMPLES: [u64; 3] = [0, 3, 0x7f12_3456_7000];

/// The numbers of all system calls that an attached process makes for the profiler's sake.
pub fn system_calls() -> impl Iterator<Item = i64> {
    CALLS.iter().chain(LOCKED).map(|call| call.number)
}

/// The kernel's action on a call: of several filters' answers, the first one in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    /// The process or the thread ends, or gets SIGSYS.
    End,
    /// An error.
    Error,
    /// Another process decides.
    Asked,
    Allowed,
}

/// The filters of a thread, newest first.
type Filters = Vec<Vec<Instruction>>;

/// Checks that the filters of a process let an attach through.
///
/// # Errors
/// They do not, or cannot be read; what to do.
pub fn check(pid: i32) -> Result<(), Refused> {
    let threads = confined(pid);
    let unfit = |why: String| Err(Refused::Unfit { pid, why });
    if threads.is_empty() || are_ours(&threads) {
        return Ok(());
    }
    if threads
        .iter()
        .any(|thread| thread.mode != SECCOMP_MODE_FILTER)
    {
        return unfit("it has given up all system calls but reading and writing (seccomp's strict mode); start it with `evenkeel profile`".into());
    }
    let has_locked = process::status(pid, "VmLck").is_some_and(|amount| !amount.starts_with("0 "));
    let locked = if has_locked { LOCKED } else { &[] };
    let mut seen = HashSet::new();
    for thread in sample(threads) {
        let filters = match read(thread.tid) {
            Ok(Some(filters)) => filters,
            // It has ended.
            Ok(None) => continue,
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                let why =
                    "the system does not let its threads be stopped; run evenkeel as root (sudo)";
                return Err(Refused::NotPermitted {
                    pid,
                    why: why.to_owned(),
                });
            }
            Err(error) => return unfit(unreadable(&error)),
        };
        if !seen.contains(&filters) {
            permits_all(&filters, locked).or_else(unfit)?;
            seen.insert(filters);
        }
    }
    Ok(())
}

fn unreadable(error: &io::Error) -> String {
    let remedy = match error.raw_os_error() {
        Some(libc::EACCES) => "run evenkeel as root of the machine, outside of containers",
        _ => "start it with `evenkeel profile`, or without the filter",
    };
    format!(
        "it has a filter of system calls (seccomp), which may end it at a call that it does not make itself, and which cannot be read ({error}); {remedy}"
    )
}

/// How many filters the threads of a process have.
pub(crate) fn counts(pid: i32) -> HashSet<Option<String>> {
    let threads = process::threads(pid).unwrap_or_default().into_iter();
    threads.map(count).collect()
}

/// How many filters a thread has; where the kernel does not count them (before 5.9), whether it has any.
pub(crate) fn count(tid: i32) -> Option<String> {
    let counted = process::status(tid, "Seccomp_filters");
    counted.or_else(|| process::status(tid, "Seccomp"))
}

/// A thread with filters.
#[derive(Clone, Debug)]
struct Thread {
    tid: i32,
    mode: String,
    count: Option<String>,
}

fn confined(pid: i32) -> Vec<Thread> {
    let threads = process::threads(pid).unwrap_or_default().into_iter();
    let of = |tid| {
        Some(Thread {
            tid,
            mode: process::status(tid, "Seccomp").filter(|mode| mode != "0")?,
            count: process::status(tid, "Seccomp_filters"),
        })
    };
    threads.filter_map(of).collect()
}

/// Filters of both are their surroundings' (a container), under which evenkeel itself runs.
fn are_ours(threads: &[Thread]) -> bool {
    let (mode, count) = (
        process::own_status("Seccomp"),
        process::own_status("Seccomp_filters"),
    );
    let is_ours = |thread: &Thread| mode.as_ref() == Some(&thread.mode) && count == thread.count;
    threads.iter().all(is_ours)
}

/// All threads, or one for each number of filters.
fn sample(threads: Vec<Thread>) -> Vec<Thread> {
    if threads.len() <= THREADS_MAX {
        return threads;
    }
    let by_count: BTreeMap<_, _> = threads
        .into_iter()
        .rev()
        .map(|thread| (thread.count.clone(), thread))
        .collect();
    by_count.into_values().collect()
}

/// The filters of a thread; `None` if it has ended.
fn read(tid: i32) -> io::Result<Option<Filters>> {
    let Some(thread) = Tracee::stop(tid)? else {
        return Ok(None);
    };
    let mut filters = Vec::new();
    while filters.len() < FILTERS_MAX {
        match filter(thread.number, filters.len()) {
            Ok(filter) => filters.push(filter),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(Some(filters)),
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// A filter of a stopped thread.
fn filter(number: i32, index: usize) -> io::Result<Vec<Instruction>> {
    let mut program = vec![Instruction::default(); INSTRUCTIONS_MAX];
    // SAFETY: the kernel writes no more instructions than it takes of a program.
    let len = unsafe {
        libc::ptrace(
            PTRACE_SECCOMP_GET_FILTER,
            number,
            index,
            program.as_mut_ptr(),
        )
    };
    match usize::try_from(len) {
        Ok(len) => {
            program.truncate(len);
            Ok(program)
        }
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Whether filters let everything through that is needed, and these calls; why not, and what to do.
fn permits_all(filters: &Filters, besides: &[Call]) -> Result<(), String> {
    let refused = |call: &Call, how: &str, what: &str| {
        Err(format!(
            "its filter of system calls (seccomp) {how} {}, which {what}; allow it, or start it with `evenkeel profile`",
            call.name
        ))
    };
    let mut has_executable = true;
    let mut has_in_place = true;
    for call in CALLS.iter().chain(besides) {
        match (answer(filters, call), call.need) {
            (Answer::Allowed, _) => {}
            (Answer::End, _) => return refused(call, "ends it at", "the agent makes"),
            (Answer::Asked, _) => {
                return refused(call, "lets another process decide on", "the agent makes");
            }
            (Answer::Error, Need::Always(what)) => {
                return refused(call, "refuses", &format!("is needed for {what}"));
            }
            (Answer::Error, Need::Executable) => has_executable = false,
            (Answer::Error, Need::InPlace) => has_in_place = false,
            (Answer::Error, Need::Spared) => {}
        }
        if !has_executable && !has_in_place {
            return refused(
                call,
                "refuses mprotect with PROT_EXEC and",
                "could do without it",
            );
        }
    }
    Ok(())
}

fn answer(filters: &Filters, call: &Call) -> Answer {
    let samples = SAMPLES.iter().map(|&sample| {
        let data = data(call, sample);
        let answers = filters
            .iter()
            .map(|program| meaning(bpf::run(program, &data)));
        answers.min().unwrap_or(Answer::Allowed)
    });
    samples.min().unwrap_or(Answer::Allowed)
}

fn data(call: &Call, sample: u64) -> Data {
    let mut data = [0; 16];
    data[0] = call.number as u32;
    data[1] = AUDIT_ARCH;
    for (at, argument) in call.arguments.iter().enumerate() {
        let value = argument.unwrap_or(sample);
        data[4 + 2 * at] = value as u32;
        data[5 + 2 * at] = (value >> 32) as u32;
    }
    data
}

/// The meaning of a filter's answer (`SECCOMP_RET_ACTION_FULL`).
fn meaning(answer: Option<u32>) -> Answer {
    match answer.map(|answer| answer & 0xffff_0000) {
        // SECCOMP_RET_ALLOW, SECCOMP_RET_LOG
        Some(0x7fff_0000 | 0x7ffc_0000) => Answer::Allowed,
        // SECCOMP_RET_ERRNO; SECCOMP_RET_TRACE, which is one where the tracer does not ask for such stops
        Some(0x0005_0000 | 0x7ff0_0000) => Answer::Error,
        // SECCOMP_RET_USER_NOTIF
        Some(0x7fc0_0000) => Answer::Asked,
        _ => Answer::End,
    }
}

#[cfg(test)]
mod tests;
