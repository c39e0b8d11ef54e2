//! The settings of a session, and its events.

use std::path::PathBuf;
use std::time::Duration;

use evenkeel_analysis::profile::{Bin, Profile, SamplingRule};
use evenkeel_attach::{namespace, process};

use crate::ending::Ending;
use crate::error::Error;
use crate::launch::CommandLine;
use crate::refine::{Candidate, Limits};
use evenkeel_intervals::presets::{KnownInterval, Preset};
use evenkeel_intervals::spec::{IntervalSpec, NamedCall};

/// Which interval to profile.
#[derive(Clone, Debug)]
pub enum IntervalSelector {
    /// As the user typed it.
    Spec(IntervalSpec),
    /// One that a preset knows.
    Preset(&'static Preset, &'static KnownInterval),
}

impl IntervalSelector {
    /// The library that defines the interval, if it is not the executable.
    pub(super) fn library(&self) -> Option<&str> {
        match self {
            IntervalSelector::Spec(spec) => spec.library.as_deref(),
            IntervalSelector::Preset(..) => None,
        }
    }

    /// Whether its intervals have keys and may move between threads, so that these have to be followed.
    pub fn is_keyed(&self) -> bool {
        match self {
            IntervalSelector::Spec(spec) => spec.is_keyed(),
            IntervalSelector::Preset(_, interval) => interval.keyed,
        }
    }
}

/// Which probes to plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planting {
    /// Those that refinement chooses.
    Refine,
    /// Those that a person chooses at each step.
    Manual,
    /// This many call sites, breadth first from the interval's functions; for measuring overhead.
    First(usize),
    /// Every call site of the program; for testing that nothing breaks.
    Every,
}

/// What to profile.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A command, which is started.
    Command(CommandLine),
    /// A process that runs already, with everything that descends from it.
    Process(i32),
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Subject::Command(command) => command.fmt(f),
            Subject::Process(pid) => {
                let inner = namespace::inner(*pid).unwrap_or(*pid);
                write!(f, "{} (process {pid})", process::command_line(inner))
            }
        }
    }
}

/// The settings of a session.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What to profile.
    pub subject: Subject,
    /// The interval.
    pub selector: IntervalSelector,
    /// How long to profile, from the moment the first process is hooked; `None`: until it ends.
    pub duration: Option<Duration>,
    /// Leave the command running afterwards.
    pub keep: bool,
    /// Signal that asks the command to stop.
    pub stop_signal: i32,
    /// Longest permitted stop of a Java virtual machine, to time further methods.
    pub pause_max: Option<Duration>,
    /// Which probes.
    pub planting: Planting,
    /// Limits of refinement.
    pub limits: Limits,
    /// How intervals are chosen if not all are recorded.
    pub sampling: SamplingRule,
    /// Number of the slowest intervals that are kept whole.
    pub slowest: usize,
    /// Follow intervals to the threads that they wait for.
    pub waits: bool,
    /// Functions named for what they do with locks, tasks and intervals.
    pub named: Vec<NamedCall>,
    /// Factors reported.
    pub k: usize,
    /// Where to record.
    pub recording: Option<PathBuf>,
    /// The options as the user wrote them; recordings contain them.
    pub options: String,
    /// Record sums only, each over this time ([`evenkeel_analysis::fleet::minutes`]).
    pub summary: Option<Duration>,
}

/// What happens during a session.
#[derive(Debug)]
pub enum Event<'a> {
    /// The command runs.
    Started {
        /// Its process id.
        pid: i32,
    },
    /// A running process has the agent: the first one, and then whenever their number has doubled.
    Attached {
        /// Its process id.
        pid: i32,
        /// How many have it.
        processes: u64,
        /// How long one of its threads was stopped.
        stood_still: Duration,
    },
    /// A Java virtual machine has not loaded classes of the intervals yet.
    Awaiting {
        /// Their names, or those of their methods.
        names: &'a [String],
        /// For how long they are waited for.
        within: Duration,
    },
    /// Classes were loaded again in a Java virtual machine, with probes.
    Reloaded {
        /// How many.
        classes: usize,
        /// Number of this reload in the session.
        batch: u32,
        /// How long the virtual machine was stopped, at most.
        stood_still: Duration,
    },
    /// A process or a class through which intervals may pass has no probes.
    LeftOut {
        /// Why, and what to do.
        why: &'a str,
    },
    /// The first process is hooked.
    Hooked {
        /// Seconds since the start.
        seconds: f64,
    },
    /// A program without the interval's functions runs; its children may have them.
    Passing(&'a Error),
    /// A round is complete.
    Ranking {
        /// The profile so far.
        profile: &'a Profile,
        /// Steps that the next round takes, or that a person may choose from.
        next: &'a [Candidate],
        /// Seconds since the first interval.
        seconds: f64,
    },
    /// The answer to [`Observer::wants_profile`].
    Now {
        /// The present profile of the round that the report would rest on.
        profile: &'a Profile,
    },
    /// A minute has ended, or the time of [`Settings::summary`]. Sent if [`Observer::wants_minutes`] is true.
    Minute {
        /// The profile of its intervals alone.
        profile: &'a Profile,
        /// The latencies of all its intervals, also of those that were not recorded.
        latencies: &'a [Bin],
    },
    /// A short time has passed.
    Tick {
        /// Intervals seen.
        intervals: u64,
        /// Records read.
        records: u64,
        /// Probes planted.
        probes: usize,
        /// Seconds since the first process was hooked.
        seconds: f64,
    },
}

/// Receives events, and makes the choices of a person.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: &Event<'_>);

    /// In [`Planting::Manual`]: the chosen candidates of the last ranking, by index. `None` while the person thinks;
    /// the target is drained in the meantime.
    fn choice(&mut self) -> Option<Vec<usize>> {
        None
    }

    /// Whether the present profile is wanted, as [`Event::Now`]. Asked ten times a second. Making it takes
    /// milliseconds, and longer if the variance tree is large.
    fn wants_profile(&mut self) -> bool {
        false
    }

    /// Whether the profile of each minute is wanted, as [`Event::Minute`]. Asked once, at the beginning.
    fn wants_minutes(&self) -> bool {
        false
    }

    /// In [`Planting::Manual`]: a probe whose callee is to be closed, so that the callee's calls are not timed any
    /// more.
    fn closing(&mut self) -> Option<u32> {
        None
    }
}

/// How a session ended.
#[derive(Debug)]
pub struct Outcome {
    /// The result.
    pub profile: Profile,
    /// How the command ended.
    pub ending: Ending,
}
