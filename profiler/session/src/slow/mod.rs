//! Stacks of intervals that are slow already. They are read while the interval lasts, from outside and without stopping
//! it.
//!
//! A thread's ring says when its open interval began. The session checks which intervals exceed the latency that most of
//! the variance lies above ([`evenkeel_analysis::Analysis::slow_from_ticks`]), the more often the shorter that is. It
//! reads the stacks of the longest ones:
//!
//! - The kernel shows a **blocked** thread (`/proc/PID/task/TID/syscall`), and its stack is read (`/proc/PID/mem`). The
//!   stack is discarded if the thread has moved on since.
//! - A perf event with user registers and user stack samples a **running** thread. Where the system does not permit
//!   such events, the thread is seen at its next system call.
//!
//! One stall shows the whole path from the interval's function to the present call, through pointers, interpreter loops
//! and linkage tables. Refinement times the calls along it at once, and reports name it.
//!
//! ```text
//! due          which intervals are looked at, and when again
//! open_stacks  their stacks, until they have ended
//! stack_read   the stack of a thread
//! file_locks   the holder of the file's lock that it waits for
//! subject      what is looked at: intervals, or work for those with keys
//! paths        the functions on it
//! ```

mod due;
mod file_locks;
mod open_stacks;
mod paths;
mod stack_read;
mod subject;

use std::io;
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

use evenkeel_kernel::user_stacks;
use evenkeel_wire::now_ticks;

use crate::arena::Arena;
use crate::clock::{TickClock, own_time};
use crate::location::Location;
use crate::modules::Modules;
use crate::processes::Processes;
use due::{Due, DueIntervals};
use file_locks::LockHolder;
use open_stacks::OpenStacks;
pub use paths::{Files, Step};
use stack_read::{Running, StackRead};
pub use subject::Subject;

/// Time between two polls, at least and at most. Within these it is half of the age from which on an interval is slow.
/// A poll then meets every interval that lasts half as long again.
const PERIODS: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(20)];
/// Stacks of this number of intervals tell where slow ones stand: a share of a half is known to ±6 %. From then on polls
/// are as far apart as permitted, because each wakes a processor that the target may be using.
const ENOUGH_INTERVALS: u64 = 64;
/// Looking takes at most one part in this many of a processor's time.
const PART_OF_TIME: u32 = 100;
/// Longest time between two polls: the first look at a program reads its files.
const REST_MAX: Duration = Duration::from_millis(200);
/// Threads that are sampled at a time.
const RUNNING_MAX: usize = 4;
/// How long a poll waits for the first sample of a running thread: its interval may be over at the next.
const FIRST_SAMPLE: Duration = Duration::from_nanos(2 * user_stacks::PERIOD_NS);

/// A stack of an interval that is slow already.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowStack {
    /// The functions, outermost first.
    pub path: Vec<Step>,
    /// Number of the interval among those that were looked at, from 0.
    pub interval: u64,
    /// How long it has lasted, ticks.
    pub age: u64,
    /// The part of this time since the last look.
    pub unseen: u64,
}

/// Intervals that are slow, and what is needed to look at them.
#[derive(Default)]
pub struct SlowIntervals {
    subject: Subject,
    due: DueIntervals,
    held: OpenStacks,
    files: Files,
    running: Vec<Running>,
    /// When to poll again.
    next: Option<Instant>,
    /// Processor time since the last poll.
    spent: Duration,
    refused: Option<Refused>,
}

/// The reason why stacks cannot be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The process.
    pub pid: u32,
    /// The system's error.
    pub why: String,
}

/// What a look has shown: the interval, the calls on its stack, and the holder of the file's lock that it waits for.
type Seen = (Due, evenkeel_attach::Calls, Option<LockHolder>);

/// Results of a poll.
#[derive(Default)]
pub struct Polled {
    /// Stacks of intervals that have ended.
    pub ended: Vec<SlowStack>,
    /// Stacks to expand along: new ones, if the intervals are likely to end.
    pub promising: Vec<SlowStack>,
}

impl SlowIntervals {
    /// Nothing has been looked at.
    pub fn of(subject: Subject) -> SlowIntervals {
        SlowIntervals {
            subject,
            ..SlowIntervals::default()
        }
    }

    /// What was seen since the last call, which should be recent. `bound`: duration from which on an interval is slow.
    /// `scope`: the functions that a path may begin with.
    pub fn poll(
        &mut self,
        bound: Duration,
        clock: &TickClock,
        scope: &[Location],
        arena: &Arena,
        modules: &mut Modules,
        processes: &mut Processes,
    ) -> Polled {
        let subject = self.subject;
        let (began, before) = (Instant::now(), own_time());
        let bound = subject.slow_from(bound);
        let is_time = self.next.is_none_or(|next| began >= next);
        let mut seen = self.sampled(arena, processes);
        if is_time {
            let open = subject.open(arena, processes);
            let ticks = bound.as_nanos() as f64 * clock.ticks_per_ns();
            for due in self.due.poll(&open, ticks as u64, now_ticks()) {
                self.expect(&due, arena);
                seen.extend(self.look(due, arena, processes));
            }
            if !self.running.is_empty() {
                std::thread::sleep(FIRST_SAMPLE);
                seen.extend(self.sampled(arena, processes));
            }
        }
        let mut polled = Polled::default();
        for (due, calls, holder) in seen {
            let mut path = self.files.path(&calls, scope, arena, modules);
            if !subject.has(&path, scope) {
                continue;
            }
            path.extend(holder.iter().flat_map(LockHolder::steps));
            let stack = SlowStack {
                interval: self.due.note_seen(&due),
                path,
                age: due.age,
                unseen: due.unseen,
            };
            polled.promising.push(stack.clone());
            match subject {
                Subject::Intervals => self.held.hold(due.ring, due.since, stack),
                Subject::Stretches => polled.ended.push(stack),
            }
        }
        polled
            .ended
            .extend(self.held.settle(|ring| arena.progress(ring)));
        if self.held.are_mostly_left() {
            polled.promising.clone_from(&polled.ended);
        }
        self.spent += own_time().saturating_sub(before);
        if is_time {
            let rest = (PART_OF_TIME * std::mem::take(&mut self.spent)).min(REST_MAX);
            self.next = Some(began + period(bound, self.due.intervals_seen()).max(rest));
        }
        polled
    }

    /// At the end: stacks of intervals that have ended since the last call, or are open yet.
    pub fn rest(&mut self, arena: &Arena) -> Vec<SlowStack> {
        let mut rest = self.held.settle(|ring| arena.progress(ring));
        rest.append(&mut self.held.rest());
        rest
    }

    /// How long to wait before the next call of [`SlowIntervals::poll`].
    pub fn pause(&self) -> Duration {
        match self.running.is_empty() {
            true => self.next.map_or(Duration::ZERO, |next| {
                next.saturating_duration_since(Instant::now())
            }),
            false => PERIODS[0], // a sample may arrive soon
        }
    }

    /// The reason why stacks of a process could not be seen.
    pub fn refused(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    /// An interval may be left: what it shows counts once it has ended.
    fn expect(&mut self, due: &Due, arena: &Arena) {
        let now = arena.progress(due.ring);
        if self.subject == Subject::Intervals && now.open_since == due.since {
            self.held.expect(due.ring, due.since, now.left);
        }
    }

    fn look(&mut self, due: Due, arena: &Arena, processes: &mut Processes) -> Option<Seen> {
        let (pid, tid) = owner(arena, due.ring);
        match stack_read::at_thread(arena, self.subject, &due, (pid, tid), processes) {
            Ok(StackRead::Stack(calls, holder)) => return Some((due, calls, holder)),
            Ok(StackRead::Runs) => {
                let is_sampled = self.running.iter().any(|running| running.is_of(&due));
                if !is_sampled && self.running.len() < RUNNING_MAX {
                    self.running.extend(Running::sample(due, pid, tid));
                }
            }
            Ok(StackRead::MovedOn) => {}
            Err(error) => {
                processes.forget(pid);
                if error.kind() == io::ErrorKind::PermissionDenied {
                    let why = error.to_string();
                    self.refused.get_or_insert(Refused { pid, why });
                }
            }
        }
        None
    }

    /// What samples of running threads have shown.
    fn sampled(&mut self, arena: &Arena, processes: &mut Processes) -> Vec<Seen> {
        let subject = self.subject;
        let mut seen = Vec::new();
        self.running.retain_mut(|running| {
            let stacks = processes.stacks(running.pid).ok();
            let since = subject.since(arena, running.due.ring, stacks);
            if since != running.due.since || running.is_late() {
                return false;
            }
            match running.stack(arena, processes) {
                None => true,
                Some(calls) => {
                    seen.push((running.due, calls, None));
                    false
                }
            }
        });
        seen
    }
}

/// Time between two polls, where an interval is slow from `bound` on, and stacks of `seen` were seen.
fn period(bound: Duration, seen: u64) -> Duration {
    match seen < ENOUGH_INTERVALS {
        true => (bound / 2).clamp(PERIODS[0], PERIODS[1]),
        false => PERIODS[1],
    }
}

/// Process and thread of a ring.
fn owner(arena: &Arena, ring: usize) -> (u32, u32) {
    let ring = arena.ring(ring);
    (ring.pid.load(Relaxed), ring.tid.load(Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slow from 10 ms on: a poll every 5 ms meets what lasts 15 ms. Some polls are always made, and not too many.
    #[test]
    fn polls_are_as_close_as_slow_intervals_are_short() {
        let ms = Duration::from_millis;
        let bounds = [ms(0), ms(1), ms(10), ms(40), ms(1_000)];
        let periods = |seen| bounds.map(|bound| period(bound, seen));
        assert_eq!(periods(63), [ms(2), ms(2), ms(5), ms(20), ms(20)]);
        assert_eq!(periods(64), [ms(20); 5]);
    }
}
