//! Intervals with keys: they begin on one thread, wait in a queue, and end on another.
//!
//! Objects of Java have no address that stays, so a key is a number. The object's identity hash code gets one when the interval begins, and
//! leads to it when another thread takes the object up. A task may be put into a queue again while a thread works on it: this begins another
//! interval.
//!
//! A thread that works on an interval has its calls in flight on its [`JavaStack`], as in an interval that stays on its thread. An interval
//! that is not recorded is followed to its end as well: its latency counts, and samples of stacks show it.

use core::sync::atomic::{AtomicU64, Ordering::*};
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use evenkeel_patch::thread;
use evenkeel_wire::jvm::QUEUES;
use evenkeel_wire::{LabelValue, ObjectKind, Role, now_ticks};

use crate::jvm::environment::watched;
use crate::jvm::stack::{self, Call, JavaStack, Working};
use crate::jvm::vm::Jni;
use crate::jvm::{pauses, switches};
use crate::verdict::is_over;
use crate::waits::annotations;
use crate::waits::groups;
use crate::waits::objects::local;
use crate::{arena, code_state, rings};

/// Intervals in flight that are known, at most.
const IN_FLIGHT_MAX: usize = 1 << 18;
/// Parts of the table, so that threads seldom wait for each other.
const PARTS: usize = 16;

/// An interval in flight.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    key: u64,
    /// How many began before.
    number: u64,
    /// When it began, ticks.
    begun: u64,
    /// It is recorded, and not only counted.
    is_recorded: bool,
    /// A thread has begun to work on it.
    is_taken: bool,
}

/// Intervals in flight, by the identity of their object; of one object, in the order of their beginnings.
type Part = HashMap<u64, VecDeque<InFlight>>;

static TABLE: [Mutex<Option<Part>>; PARTS] = [const { Mutex::new(None) }; PARTS];
/// Number of the last interval.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Another session begins: nothing is in flight.
pub fn begin_session() {
    for part in &TABLE {
        if let Ok(mut part) = part.lock() {
            *part = None;
        }
    }
}

fn with<R>(identity: u64, work: impl FnOnce(&mut Part) -> R) -> Option<R> {
    let mut part = TABLE[identity as usize % PARTS].lock().ok()?;
    Some(work(part.get_or_insert_default()))
}

/// Gives an object's interval a key. Where too many are in flight, the older half is not known any more: most of them will never end.
fn add(identity: u64, begun: u64) -> u64 {
    let number = 1 + LAST.fetch_add(1, Relaxed);
    let key = local(number);
    with(identity, |part| {
        if part.len() >= IN_FLIGHT_MAX / PARTS {
            let oldest = number.saturating_sub(IN_FLIGHT_MAX as u64 / 2);
            part.retain(|_, intervals| {
                intervals.retain(|interval| interval.number >= oldest);
                !intervals.is_empty()
            });
        }
        let interval = InFlight {
            key,
            number,
            begun,
            is_recorded: true,
            is_taken: false,
        };
        part.entry(identity).or_default().push_back(interval);
    });
    key
}

/// Takes up an object: the first of its intervals that no thread works on, else its first one. `is_taken` says whether another thread
/// has begun to work on it.
fn take_up(identity: u64) -> Option<InFlight> {
    let taken = with(identity, |part| {
        let intervals = part.get_mut(&identity)?;
        let fresh = intervals.iter().position(|interval| !interval.is_taken);
        let interval = intervals.get_mut(fresh.unwrap_or(0))?;
        let taken = *interval;
        interval.is_taken = true;
        Some(taken)
    });
    taken.flatten()
}

/// The interval of this key is not recorded.
fn count_only(identity: u64, key: u64) {
    with(identity, |part| {
        let intervals = part.get_mut(&identity).into_iter().flatten();
        intervals
            .filter(|interval| interval.key == key)
            .for_each(|interval| interval.is_recorded = false);
    });
}

/// The interval of this key is over: as it was.
fn remove(identity: u64, key: u64) -> Option<InFlight> {
    let removed = with(identity, |part| {
        let intervals = part.get_mut(&identity)?;
        let at = intervals.iter().position(|interval| interval.key == key)?;
        let removed = intervals.remove(at);
        if intervals.is_empty() {
            part.remove(&identity);
        }
        removed
    });
    removed.flatten()
}

/// Enters the probe of a method that begins or ends intervals or works on them. The token, if there is something to leave.
pub fn enter(jni: Jni, number: u32, identity: u64) -> Option<i32> {
    let id = switches::probe_of(number)?;
    let arena = arena::get();
    if !arena.is_mapped() || code_state::detached() {
        return None;
    }
    let now = now_ticks();
    if is_over(arena, now) {
        switches::end();
        return None;
    }
    let thread = thread::current();
    if thread.closed {
        return None;
    }
    if !thread.prepare() {
        rings::count_unrecorded(thread, arena);
        return None;
    }
    let role = Role::of(arena.probes().get(id as usize)?);
    if role == Role::BeginKeyed {
        begin(identity, switches::state(number) == QUEUES, now);
        return None;
    }
    let stack = stack::ensure(|| watched(jni))?;
    match role {
        Role::Work => {
            stack.forget_works();
            turn(stack, id, identity, now);
            None
        }
        Role::EndKeyed => {
            let is_there = stack
                .working()
                .is_some_and(|work| work.identity == identity);
            let turned = is_there || turn(stack, id, identity, now);
            turned.then(|| follow(stack, id, now)).flatten()
        }
        // The method serves any interval, or several at once.
        _ => {
            groups::recorder(now)?;
            if stack.is_open() {
                return stack.push(Call { start: now, id });
            }
            stack.forget_works();
            stack.open_for_work(id, now, pauses::ended());
            stack.begin_work(Working::for_any());
            follow(stack, id, now)
        }
    }
}

/// An interval begins, and is put into a queue if the session wants to know of that.
fn begin(identity: u64, is_queued: bool, now: u64) {
    let key = add(identity, now);
    let before = thread::current().work;
    annotations::begin_planned(key, now, LabelValue::None);
    let is_recorded = thread::current().work == key;
    if is_recorded {
        if is_queued {
            groups::enqueue(ObjectKind::Task, key, now);
        }
        annotations::work_for(before, now);
    } else if code_state::applied() == code_state::CHANGING {
        remove(identity, key);
    } else {
        count_only(identity, key);
    }
}

/// Turns the thread to the interval of an object. An interval that is not known is remembered, too: the object may begin another one
/// meanwhile. False where the thread works on too many, one inside of the other.
fn turn(stack: &mut JavaStack, id: u32, identity: u64, now: u64) -> bool {
    let taken = take_up(identity);
    let recorded = taken.filter(|interval| interval.is_recorded);
    annotations::work_for(recorded.map_or(0, |interval| interval.key), now);
    if let Some(interval) = recorded.filter(|interval| !interval.is_taken) {
        groups::dequeue(ObjectKind::Task, interval.key, now);
    }
    if taken.is_some() {
        stack.open_for_work(id, now, pauses::ended());
    }
    stack.begin_work(Working {
        identity,
        key: taken.map_or(0, |interval| interval.key),
        is_recorded: recorded.is_some(),
        depth: 0,
    })
}

/// Lets the thread's present work last as long as this call: the token.
fn follow(stack: &mut JavaStack, id: u32, now: u64) -> Option<i32> {
    if stack.working()?.key == 0 && !stack.is_open() {
        stack.end_work();
        return None;
    }
    pauses::note(stack, || now);
    let token = stack.push(Call { start: now, id })?;
    stack.work_lasts_as(token);
    Some(token)
}

/// The call of this depth is left: the work that lasted as long is over.
pub fn leave(stack: &mut JavaStack, depth: usize, now: u64) {
    while let Some(work) = stack.working().filter(|work| work.depth >= depth.max(1)) {
        stack.end_work();
        if let Some(interval) = remove(work.identity, work.key) {
            end(interval, now);
        }
        if let Some(outer) = stack.working().filter(|outer| outer.is_recorded) {
            annotations::work_for(outer.key, now);
        }
    }
}

/// An interval is over.
fn end(interval: InFlight, now: u64) {
    if interval.is_recorded {
        annotations::end_interval(interval.key, now);
        return;
    }
    let thread = thread::current();
    if rings::ensure(thread, arena::get()) {
        rings::count_latency(thread, now.saturating_sub(interval.begun));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_is_queued_again_while_it_is_worked_on_is_another_interval() {
        let take_up = |identity| take_up(identity).map(|taken| (taken.key, taken.is_taken));
        let first = add(7, 1);
        assert_eq!(take_up(7), Some((first, false)));
        let second = add(7, 2);
        assert_ne!(first, second);
        assert!(remove(7, first).is_some());
        assert_eq!(take_up(7), Some((second, false)));
        // Another thread continues it.
        assert_eq!(take_up(7), Some((second, true)));
        count_only(7, second);
        let ended = remove(7, second).expect("it is known");
        assert!(!ended.is_recorded);
        assert_eq!(take_up(7), None);
    }
}
