//! Reasons why nothing was profiled. Each text says what to do.

use std::fmt;
use std::path::PathBuf;

use evenkeel_attach::namespace;
use evenkeel_wire::{ARENA_BYTES, ARENA_VARIABLE};
use thiserror::Error;

/// Part of a processor from which processes are called busy.
const BUSY: f64 = 0.05;
/// Part of a processor up to which they are called idle: what timers take. A server that answers some requests a second
/// takes more.
const IDLE: f64 = 0.005;

/// Why nothing was profiled.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Reason {
    /// No process has loaded the agent, and none was seen without it.
    #[error(
        "the agent was never loaded: the command ended first, is statically linked, or changed its rights (setuid). Profile the server itself instead of a wrapper"
    )]
    NeverLoaded,
    /// A program runs without the agent, which its environment does not name.
    #[error("{} runs without the agent: its parent cleared its environment, and LD_PRELOAD with it (env -i, sudo, su, a server that upgrades its own program). Give that program itself as the command, let LD_PRELOAD and {arena} through, or attach to it (evenkeel attach PID)", .program.display(), arena = ARENA_VARIABLE)]
    EnvironmentCleared {
        /// Its file.
        program: PathBuf,
    },
    /// A program runs without the agent though its environment names it.
    #[error("{} runs without the agent, though its environment names it: it is statically linked, has other rights (setuid, file capabilities), or may not read the agent's file. Check with file, getcap and ls -l", .program.display())]
    AgentRefused {
        /// Its file.
        program: PathBuf,
    },
    /// A program runs without the agent, whose file is not in its root directory.
    #[error("{} runs without the agent: it has another root directory (chroot, a container) without {}. Make that file visible there (mount --bind, a volume), or start the program without evenkeel and attach to it (evenkeel attach PID)", .program.display(), .agent.display())]
    AgentNotInRoot {
        /// Its file.
        program: PathBuf,
        /// The agent's.
        agent: PathBuf,
    },
    /// The function is in a library.
    #[error("but {library} has it: write --interval '{library}!{name}'")]
    InLibrary {
        /// As asked for.
        name: String,
        /// File name.
        library: String,
    },
    /// Libraries have functions whose names are spelt alike.
    #[error("did you mean --interval '{}'?", .names.join("' or '"))]
    AlikeInLibrary {
        /// `library!function`, of each the closest.
        names: Vec<String>,
    },
    /// The library was loaded by a path that says nothing to another process.
    #[error(
        "{path} was loaded by a relative path (dlopen(\"./..\"), LD_LIBRARY_PATH=.), which names no file for other processes, so it was not read. Load it by its whole path"
    )]
    RelativePath {
        /// Where it lies.
        path: String,
    },
    /// No library of this name was loaded.
    #[error(
        "no library {library} was loaded (processes with the agent: {processes}). Check its name with ldd or /proc/PID/maps"
    )]
    NoLibrary {
        /// As asked for.
        library: String,
        /// Processes with the agent.
        processes: u32,
    },
    /// A process loaded the agent, and ended or went on without a verdict on its program.
    #[error(
        "the program was not examined. It was killed at its start, or evenkeel stood still for ten seconds (stopped, or without a processor), and the program went on without it. Try again"
    )]
    NotExamined,
    /// A process had too little address space left for the agent.
    #[error("a process of the command runs without the agent, for lack of address space: its limit (ulimit -v, systemd: LimitAS=) leaves less than the {} GB that profiling reserves. Most of that is never used: lift the limit for the profile", (ARENA_BYTES >> 30) + 1)]
    NoAddressSpace,
    /// None of a preset's programs ran.
    #[error(
        "the command never ran {programs}: name another --preset, or the interval with --interval"
    )]
    NoProgram {
        /// Their names.
        programs: String,
    },
    /// The code could not be changed when the interval's functions were there.
    #[error(
        "the interval {name} never ended: its process gave up the right to change its code (PR_SET_MDWE) before that function was loaded. Switch that off for the profile (systemd: MemoryDenyWriteExecute=no), or choose an --interval in the program itself, which is hooked at its start"
    )]
    NoWriteExecute {
        /// The interval.
        name: String,
    },
    /// The interval's boundaries could not be hooked.
    #[error(
        "the interval {name} never ended, because it could not be hooked: {why}. Choose another --interval, such as a function that it calls"
    )]
    Refused {
        /// The interval.
        name: String,
        /// The agent's message.
        why: String,
    },
    /// Intervals began, and none has ended.
    #[error(fmt = never_ended)]
    NeverEnded {
        /// The interval.
        name: String,
        /// Number of calls.
        in_flight: u64,
        /// Its function calls itself.
        recursive: bool,
    },
    /// Intervals began on one thread, and their ends were met on others.
    #[error(
        "the interval {name} never ended on the thread on which it began, but {ends} times or more where none was open. If its beginning is called again before its end (a read until EAGAIN), begin with a function that is called once for each. If intervals move between threads, name the value that identifies them: --interval 'BEGIN..END,key=0:0' (argument 0 of both, or returned:0). Name the functions that continue them with --work FUNCTION,key=0. Otherwise begin them with another function, which is called before each of those ends"
    )]
    EndsElsewhere {
        /// The interval.
        name: String,
        /// Ends that were met so; many more are not counted.
        ends: u64,
    },
    /// The process that was named could not be attached to.
    #[error(
        "the interval {name} was not profiled: {why}. It was tried again and again while the session lasted"
    )]
    NotAttached {
        /// The interval.
        name: String,
        /// Why not.
        why: String,
    },
    /// The process stands still.
    #[error("the interval {name} never ended while it was profiled: process {number} is stopped (SIGSTOP, or Ctrl-Z in its shell). Continue it (kill -CONT {number}), and profile it then", number = namespace::outer(*.pid))]
    Stopped {
        /// The interval.
        name: String,
        /// Its number.
        pid: i32,
    },
    /// Instructions of the agent's failed in the target.
    #[error("{failed}")]
    AgentFailed {
        /// The failure, its place, and its consequence.
        failed: String,
    },
    /// The threads of most intervals went on with another stack inside of them: what is left is no sample of all.
    #[error(
        "the thread of {intervals} intervals switched to another stack inside of them (coroutines, ucontext, boost.context): intervals that switch user-level stacks are not supported. Choose an --interval that stays on one stack, such as a function that a resumed handler calls"
    )]
    StacksSwitched {
        /// Number of intervals.
        intervals: u64,
    },
    /// Nobody has called the interval's function where it is hooked.
    #[error(fmt = not_called)]
    NotCalled {
        /// The interval.
        name: String,
        /// Processes in which it is hooked.
        processes: u32,
        /// The part of a processor that they used; nothing where they ended before.
        busy: Option<f64>,
        /// It may be called where the agent is not.
        elsewhere: Option<Box<Reason>>,
    },
}

/// The function that may be meant where a program does not have the interval's function.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Hint {
    /// Where the function is instead, or why it may not have been looked for where it is.
    #[error("{0}")]
    Reason(Reason),
    /// Where the names are that the program lacks: in the words of the reader of its file.
    #[error("{0}")]
    Names(String),
}

fn never_ended(
    name: &str,
    in_flight: &u64,
    recursive: &bool,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let times = match in_flight {
        1 => "one has begun and still runs".to_owned(),
        many => format!("{many} have begun and still run"),
    };
    write!(
        f,
        "the interval {name} never ended while it was profiled, though "
    )?;
    if *recursive {
        write!(
            f,
            "{times}: its function calls itself, and an interval is the outermost call, which has not returned. Name the inner calls as --interval CALLER>FUNCTION, name a function below, or profile for longer (--for)"
        )
    } else {
        write!(
            f,
            "{times}: it is a loop that always runs, or it takes longer than the profile. Choose another --interval, a function that it calls for each piece of work, or profile for longer (--for)"
        )
    }
}

fn not_called(
    name: &str,
    processes: &u32,
    busy: &Option<f64>,
    elsewhere: &Option<Box<Reason>>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(
        f,
        "the interval {name} never ended while it was profiled: nobody called it, in {processes} {} it hooked",
        if *processes == 1 {
            "process that has"
        } else {
            "processes that have"
        }
    )?;
    if let Some(elsewhere) = elsewhere {
        return write!(f, "; {elsewhere}");
    }
    match busy {
        Some(busy) if *busy >= BUSY => write!(
            f,
            ". They were busy ({:.0} % of a processor) with something else: choose another --interval that this load runs through, or profile for longer (--for)",
            100.0 * busy
        ),
        Some(busy) if *busy >= IDLE => write!(
            f,
            ". They did little ({:.1} % of a processor): if that was your load, it does not run through that function: choose another --interval. If there was no load yet, put them under load while they are profiled, for longer (--for)",
            100.0 * busy
        ),
        Some(busy) => write!(
            f,
            ". They were idle ({:.0} % of a processor): put them under load while they are profiled, for longer (--for), or choose another --interval",
            100.0 * busy
        ),
        None => write!(
            f,
            ". They ended, or the time was over, before they could be examined: give them more work, profile for longer (--for), or choose another --interval"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_called(busy: Option<f64>, elsewhere: Option<Reason>) -> String {
        let reason = Reason::NotCalled {
            name: "work".into(),
            processes: 2,
            busy,
            elsewhere: elsewhere.map(Box::new),
        };
        reason.to_string()
    }

    #[test]
    fn only_the_idle_are_to_be_put_under_load() {
        assert!(not_called(Some(0.001), None).contains("They were idle"));
        assert!(!not_called(Some(0.9), None).contains("put them under load"));
        assert!(!not_called(None, None).contains("put them under load"));
        // Twenty requests a second are a load, whose functions may be others.
        let little = not_called(Some(0.02), None);
        assert!(
            little.contains("2.0 % of a processor") && little.contains("choose another --interval")
        );
        assert!(!little.contains("idle"));
        let program = "/srv/server".into();
        let elsewhere = not_called(Some(0.01), Some(Reason::EnvironmentCleared { program }));
        assert!(elsewhere.contains("/srv/server runs without the agent"));
        assert!(!elsewhere.contains("put them under load"));
    }
}
