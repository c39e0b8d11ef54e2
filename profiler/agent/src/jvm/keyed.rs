//! Intervals with keys: they begin on one thread, wait in a queue, and end on another.
//!
//! Objects of Java have no address that stays, so a key is a number. The object's identity hash code gets one when the interval begins, and
//! leads to it when another thread takes the object up. A task may be put into a queue again while a thread works on it: this begins another
//! interval.
//!
//! A thread that works on an interval has its calls in flight on its [`JavaStack`], as in an interval that stays on its thread.

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
fn add(identity: u64) -> u64 {
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
            is_taken: false,
        };
        part.entry(identity).or_default().push_back(interval);
    });
    key
}

/// Takes up an object: the key of the first of its intervals that no thread works on, else of its first one; 0 without any. And whether
/// the calling thread is the first to work on this interval.
fn take_up(identity: u64) -> (u64, bool) {
    let taken = with(identity, |part| {
        let intervals = part.get_mut(&identity)?;
        let fresh = intervals.iter().position(|interval| !interval.is_taken);
        let interval = intervals.get_mut(fresh.unwrap_or(0))?;
        Some((
            interval.key,
            !std::mem::replace(&mut interval.is_taken, true),
        ))
    });
    taken.flatten().unwrap_or((0, false))
}

/// The interval of this key is over.
fn remove(identity: u64, key: u64) {
    with(identity, |part| {
        let Some(intervals) = part.get_mut(&identity) else {
            return;
        };
        intervals.retain(|interval| interval.key != key);
        if intervals.is_empty() {
            part.remove(&identity);
        }
    });
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
    let key = add(identity);
    let before = thread::current().work;
    annotations::begin_planned(key, now, LabelValue::None);
    let is_recorded = thread::current().work == key;
    if is_recorded {
        if is_queued {
            groups::enqueue(ObjectKind::Task, key, now);
        }
        annotations::work_for(before, now);
    } else {
        remove(identity, key);
    }
}

/// Turns the thread to the interval of an object. An interval that is not recorded is remembered, too: the object may begin another one
/// meanwhile. False where the thread works on too many, one inside of the other.
fn turn(stack: &mut JavaStack, id: u32, identity: u64, now: u64) -> bool {
    let (key, is_first) = take_up(identity);
    annotations::work_for(key, now);
    if key != 0 {
        if is_first {
            groups::dequeue(ObjectKind::Task, key, now);
        }
        stack.open_for_work(id, now, pauses::ended());
    }
    stack.begin_work(Working {
        identity,
        key,
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
        if work.key != 0 {
            remove(work.identity, work.key);
            annotations::end_interval(work.key, now);
            let outer = stack.working().map_or(0, |outer| outer.key);
            if outer != 0 {
                annotations::work_for(outer, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_is_queued_again_while_it_is_worked_on_is_another_interval() {
        let first = add(7);
        assert_eq!(take_up(7), (first, true));
        let second = add(7);
        assert_ne!(first, second);
        remove(7, first);
        assert_eq!(take_up(7), (second, true));
        // Another thread continues it.
        assert_eq!(take_up(7), (second, false));
        remove(7, second);
        assert_eq!(take_up(7), (0, false));
    }
}
