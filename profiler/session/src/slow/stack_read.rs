//! The stack of a thread: read where it is blocked, sampled where it runs.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use evenkeel_attach::{Calls, KeptReturn, StackWords, Stacks, Standing, namespace, standing};
use evenkeel_kernel::UserStacks;
use evenkeel_wire::in_flight::{
    AFTER_WORD, END_WORD, FIRST_WORD, FRAME_WORDS, FREE, HEAD_WORDS, RETURN_WORD, SLOT_WORD,
};

use super::due::Due;
use super::file_locks::{self, LockHolder};
use super::subject::Subject;
use crate::arena::Arena;
use crate::processes::Processes;

/// Words of a stack that are read.
const STACK_WORDS: usize = 4096;
/// Frames of calls in flight that are read.
const FRAMES_MAX: usize = 1024;
/// Frames that are read after the last one that may keep a return address: of calls whose trampolines know it.
const FRAMES_BEHIND: usize = 64;
/// How long a thread is sampled that does not run after all.
const SAMPLED_AT_MOST: Duration = Duration::from_millis(200);

/// What a look at a thread has shown.
pub(super) enum StackRead {
    /// The calls that are active on its stack, and the holder of the file's lock that it waits for, if any.
    Stack(Calls, Option<LockHolder>),
    /// It runs.
    Runs,
    /// It did while it was looked at, or its interval has ended.
    MovedOn,
}

/// Looks at a thread whose interval is due.
///
/// # Errors
/// It has ended, or may not be looked at.
pub(super) fn at_thread(
    arena: &Arena,
    subject: Subject,
    due: &Due,
    (pid, tid): (u32, u32),
    processes: &mut Processes,
) -> io::Result<StackRead> {
    let stands = || standing(pid as i32, tid as i32);
    let before = stands()?;
    let Standing::Blocked { pc, sp, call } = before else {
        return Ok(StackRead::Runs);
    };
    let stacks = processes.stacks(pid)?;
    let mut words = vec![0; STACK_WORDS];
    let copied = stacks.copy_words(sp, &mut words);
    words.truncate(copied);
    let in_flight = InFlight::of(arena, due.ring, stacks);
    // The interval's function is further out than what the thread is in, unless the thread has left the interval's
    // stack (coroutines).
    if in_flight
        .kept
        .first()
        .is_some_and(|outermost| outermost.slot < sp)
    {
        return Ok(StackRead::MovedOn);
    }
    if copied == 0 {
        return Err(io::ErrorKind::NotFound.into()); // it runs another program since
    }
    let holder = call.and_then(|call| file_locks::holder(pid as i32, call));
    let since = subject.since(arena, due.ring, Some(stacks));
    if stands()? != before || since != due.since {
        return Ok(StackRead::MovedOn);
    }
    let stack = StackWords {
        registers: [pc, sp, 0],
        words: &words,
        kept: &in_flight.kept,
        slots: &in_flight.slots,
    };
    Ok(StackRead::Stack(processes.calls(pid, &stack), holder))
}

/// Hooked calls in flight of a thread.
#[derive(Default)]
struct InFlight {
    /// Those whose hooks keep the return address, newest last.
    kept: Vec<KeptReturn>,
    /// The stack's slots of the others.
    slots: Vec<u64>,
}

impl InFlight {
    /// Those of a ring's thread.
    fn of(arena: &Arena, ring: usize, stacks: &Stacks) -> InFlight {
        let head_at = arena.ring(ring).in_flight_at.load(Relaxed);
        let mut head = [0; HEAD_WORDS];
        if head_at == 0 || stacks.copy_words(head_at, &mut head) < HEAD_WORDS {
            return InFlight::default();
        }
        let (first, end) = (head[FIRST_WORD], head[END_WORD]);
        let keeping = end.saturating_sub(first) as usize / (8 * FRAME_WORDS);
        let frames = keeping.min(FRAMES_MAX) + FRAMES_BEHIND;
        let mut words = vec![0; frames * FRAME_WORDS];
        let copied = stacks.copy_words(first, &mut words);
        let mut found = InFlight::default();
        for frame in words[..copied].chunks_exact(FRAME_WORDS) {
            let [returns_to, slot, after] =
                [RETURN_WORD, SLOT_WORD, AFTER_WORD].map(|at| frame[at]);
            match returns_to {
                _ if FREE.contains(&slot) => {}
                0 => found.slots.push(slot),
                _ => found.kept.push(KeptReturn {
                    slot,
                    after,
                    returns_to,
                }),
            }
        }
        found
    }
}

/// A running thread that is sampled.
pub(super) struct Running {
    pub(super) due: Due,
    pub(super) pid: u32,
    samples: UserStacks,
    since: Instant,
}

impl Running {
    /// Begins to sample a thread. Nothing where the system does not permit it: the thread is seen at its next system
    /// call.
    pub(super) fn sample(due: Due, pid: u32, tid: u32) -> Option<Running> {
        let samples = UserStacks::of_thread(namespace::outer(tid as i32)).ok()?;
        Some(Running {
            due,
            pid,
            samples,
            since: Instant::now(),
        })
    }

    /// Whether it samples the thread of this interval.
    pub(super) fn is_of(&self, due: &Due) -> bool {
        (self.due.ring, self.due.since) == (due.ring, due.since)
    }

    /// Whether the thread should have run.
    pub(super) fn is_late(&self) -> bool {
        self.since.elapsed() >= SAMPLED_AT_MOST
    }

    /// The calls that were active at the newest sample, if there is one.
    pub(super) fn stack(&mut self, arena: &Arena, processes: &mut Processes) -> Option<Calls> {
        let sample = self.samples.newest()?;
        let stacks = processes.stacks(self.pid).ok()?;
        let in_flight = InFlight::of(arena, self.due.ring, stacks);
        let stack = StackWords {
            registers: sample.registers,
            words: &sample.words,
            kept: &in_flight.kept,
            slots: &in_flight.slots,
        };
        let calls = processes.calls(self.pid, &stack);
        // It may be in code of no file at this moment, as that of a hook.
        (!calls.calls.is_empty()).then_some(calls)
    }
}
