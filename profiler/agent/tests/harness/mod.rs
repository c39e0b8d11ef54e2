//! A session small enough to read: an arena, a program run under the agent, and what its threads recorded.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod arena;
pub mod build;
pub mod events;
pub mod plan;

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use arena::Arena;
use evenkeel_wire::{KeepRate, ObjectKind};
use events::{Event, Stream};
use plan::Hooks;

/// Result of a program's run.
pub struct Run {
    pub output: Output,
    pub streams: Vec<Stream>,
    /// Slots of the table of waiters in which somebody still waits.
    pub still_announced: usize,
    /// Counts of the intervals that each thread did not record.
    pub unrecorded: Vec<Unrecorded>,
}

/// Intervals of a thread that are not recorded.
#[derive(Debug)]
pub struct Unrecorded {
    pub intervals: u64,
    pub max_ticks: u64,
    pub by_class: Vec<u64>,
}

/// Options of a program's run.
#[derive(Default)]
pub struct How<'a> {
    pub waits: bool,
    /// Sampling skips every interval.
    pub skips_all: bool,
    /// Weight of intervals that end, by their latency in ticks.
    pub keep: Option<fn(u64) -> KeepRate>,
    /// A process was killed while it added to the table of modules.
    pub table_held: bool,
    pub hooks: Hooks<'a>,
    pub arguments: &'a [&'a str],
}

/// Runs a program of `tests/programs` with waits on.
#[track_caller]
pub fn record(program: &str) -> Run {
    run(
        program,
        &How {
            waits: true,
            ..How::default()
        },
    )
}

/// Runs a program of `tests/programs` to its end, which must be a success.
#[track_caller]
pub fn run(program: &str, how: &How<'_>) -> Run {
    let path = build::program(program);
    let run = run_path(&path, how);
    assert!(
        run.output.status.success(),
        "{program}: {:?}\n{}\n{}",
        run.output.status,
        String::from_utf8_lossy(&run.output.stdout),
        String::from_utf8_lossy(&run.output.stderr)
    );
    run
}

pub fn run_path(path: &Path, how: &How<'_>) -> Run {
    let arena = Arena::create(how.waits);
    arena.skip(how.skips_all);
    if let Some(keep) = how.keep {
        arena.keep(keep);
    }
    if how.table_held {
        arena.control().modules_lock.take(|| {});
    }
    let mut child = Command::new(path)
        .args(how.arguments)
        .env("LD_PRELOAD", build::agent())
        .env(evenkeel_wire::ARENA_VARIABLE, arena.variable())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // Pipes hold what these programs print.
    while child.try_wait().expect("a child of ours").is_none() {
        arena.judge(path, &how.hooks);
        std::thread::sleep(Duration::from_micros(200));
    }
    let output = child.wait_with_output().expect("it has ended");
    let streams = arena.streams();
    Run {
        output,
        streams,
        still_announced: arena.announced(),
        unrecorded: arena.unrecorded(),
    }
}

impl Run {
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// The streams of a process' threads in the order in which the process created them: the main thread first.
    pub fn threads(&self) -> Vec<&Stream> {
        let mut streams: Vec<&Stream> = self.streams.iter().collect();
        streams.sort_by_key(|stream| stream.first_ticks());
        streams
    }

    /// All events of all threads with the thread's index in `streams`.
    pub fn all(&self) -> impl Iterator<Item = (usize, &Event)> {
        let streams = self.streams.iter().enumerate();
        streams.flat_map(|(index, stream)| stream.events.iter().map(move |event| (index, event)))
    }

    /// The only wait of a kind, and whose it is.
    #[track_caller]
    pub fn the_wait(&self, kind: ObjectKind) -> (usize, Wait) {
        let found: Vec<_> = self.waits(kind).collect();
        assert_eq!(found.len(), 1, "{kind:?}: {found:?} of {:#?}", self.streams);
        found[0]
    }

    pub fn waits(&self, kind: ObjectKind) -> impl Iterator<Item = (usize, Wait)> {
        self.all().filter_map(move |(thread, event)| match event {
            Event::Wait {
                objects,
                start,
                end,
            } if objects[0].0 == kind => Some((
                thread,
                Wait {
                    key: objects[0].1,
                    start: *start,
                    end: *end,
                },
            )),
            _ => None,
        })
    }

    pub fn wakes(&self, kind: ObjectKind) -> impl Iterator<Item = (usize, Wake)> {
        self.all().filter_map(move |(thread, event)| match event {
            Event::Wake {
                object, at, opens, ..
            } if object.0 == kind => Some((
                thread,
                Wake {
                    key: object.1,
                    at: *at,
                    opens: opens.len(),
                },
            )),
            _ => None,
        })
    }

    /// The wake that a wait is paired with (`evenkeel_wire::waits`), and its thread.
    pub fn waker_of(&self, kind: ObjectKind, waiter: usize, wait: Wait) -> Option<(usize, Wake)> {
        let kinds = ObjectKind::ALL
            .into_iter()
            .filter(|&other| kind.woken_by(other));
        let wakes = kinds.flat_map(|other| self.wakes(other));
        wakes
            .filter(|(thread, wake)| {
                *thread != waiter && wake.key == wait.key && wake.at <= wait.end
            })
            .max_by_key(|(_, wake)| wake.at)
    }

    /// Asserts that the wait ended by a wake of `waker`, which came during the wait, give or take the time between
    /// its record and the release.
    #[track_caller]
    pub fn assert_woken(&self, kind: ObjectKind, waiter: usize, wait: Wait, waker: usize) -> Wake {
        let found = self.waker_of(kind, waiter, wait);
        let Some((thread, wake)) = found else {
            panic!("nobody woke {wait:?} of {waiter}: {:#?}", self.streams)
        };
        assert_eq!(
            thread, waker,
            "{kind:?} {wait:?} by {wake:?}: {:#?}",
            self.streams
        );
        wake
    }

    /// Index of the thread that said what `index`th thread's creation was.
    pub fn by_tid(&self) -> HashMap<u32, usize> {
        let streams = self.streams.iter().enumerate();
        streams.map(|(index, stream)| (stream.tid, index)).collect()
    }
}

/// A wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub key: u64,
    pub start: u64,
    pub end: u64,
}

/// A wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    pub key: u64,
    pub at: u64,
    pub opens: usize,
}
