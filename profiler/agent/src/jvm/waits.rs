//! Waits of threads that are in intervals: for a monitor, in `Object.wait`, and parked.
//!
//! Such a wait is a call of a [`reserved`] probe. A wait of `evenkeel_wire::waits` goes with it, so that time blocked is told from time
//! running, and the thread that unparked is known.

use core::sync::atomic::{AtomicU32, Ordering::*};

use evenkeel_patch::thread;
use evenkeel_wire::jvm::JavaWait;
use evenkeel_wire::waits::OPEN_MAX;
use evenkeel_wire::{ObjectKind, Open, now_ticks};

use crate::jvm::environment::jvmti;
use crate::jvm::stack::{self, Call, JavaStack, Waiting};
use crate::jvm::vm::{Jni, Jvmti, Object};
use crate::jvm::{pauses, reserved};
use crate::waits::groups;
use crate::waits::objects::local;
use crate::waits::waiting::SLEPT_TICKS_MIN;

/// Threads of intervals that are parked, by their number in Java: whether it is worth while to record an unpark.
static PARKED: [AtomicU32; 1024] = [const { AtomicU32::new(0) }; 1024];

/// The calling thread, which is in an interval, begins to wait for an object: a token. `key` distinguishes the object from others.
pub fn enter(
    stack: &mut JavaStack,
    wait: JavaWait,
    key: u64,
    signature: impl FnOnce() -> Option<Vec<u8>>,
) -> Option<i32> {
    if !stack.is_open() || thread::current().active == 0 {
        return None;
    }
    let now = now_ticks();
    pauses::note(stack, || now);
    let id = reserved::probe(wait, signature())?;
    let token = stack.push(Call { start: now, id })?;
    stack.start_last(now);
    stack.wait_begins(Waiting { token, key });
    Some(token)
}

/// The signature of an object's class; that of the class itself behind `=` where the object is one.
pub fn class_name(jni: Jni, jvmti: Jvmti, object: Object) -> Option<Vec<u8>> {
    let signature = jvmti.class_signature(jni.class_of(object)?)?;
    if signature != b"Ljava/lang/Class;" {
        return Some(signature);
    }
    let mut own = jvmti.class_signature(object)?;
    own.insert(0, b'=');
    Some(own)
}

/// The calling thread is about to be parked: a token.
pub fn park(jni: Jni, stack: &mut JavaStack) -> Option<i32> {
    if !reserved::are_there() {
        return None;
    }
    let thread = jvmti().current_thread()?;
    let number = jni.thread_number(thread)?;
    let signature = || class_name(jni, jvmti(), jni.park_blocker(thread)?);
    let token = enter(stack, JavaWait::Parked, number, signature)?;
    parked(number).fetch_add(1, SeqCst);
    Some(token)
}

/// The calling thread is about to unpark another one, which is recorded if that is parked in an interval.
pub fn unpark(jni: Jni, other: Object) {
    if !reserved::are_there() {
        return;
    }
    let number = jni.thread_number(other);
    let Some(number) = number.filter(|&number| parked(number).load(SeqCst) > 0) else {
        return;
    };
    let now = now_ticks();
    let mut open = [Open { start: 0, probe: 0 }; OPEN_MAX];
    let mut len = 0;
    let calls = stack::own().filter(|stack| stack.is_open());
    for (place, call) in open
        .iter_mut()
        .zip(calls.iter().flat_map(|stack| stack.calls()))
    {
        (place.start, place.probe) = (call.start, call.id);
        len += 1;
    }
    groups::wake_in(ObjectKind::Park, local(number), now, &open[..len]);
}

fn parked(number: u64) -> &'static AtomicU32 {
    &PARKED[number as usize % PARKED.len()]
}

/// Records what goes with a call that is left, if that is a wait: before the call.
pub fn leave(stack: &mut JavaStack, call: Call, now: u64) {
    let Some(wait) = reserved::kind(call.id) else {
        return;
    };
    let Some(Waiting { key, .. }) = stack.wait_ends() else {
        return;
    };
    if wait == JavaWait::Parked {
        // Beyond zero only for a thread that was parked in two sessions.
        let less = |count: u32| count.checked_sub(1);
        let _ = parked(key).fetch_update(SeqCst, SeqCst, less);
    }
    if now.wrapping_sub(call.start) >= SLEPT_TICKS_MIN {
        groups::wait(&[(object(wait), local(key))], call.start, now);
    }
}

fn object(wait: JavaWait) -> ObjectKind {
    match wait {
        JavaWait::Collection => ObjectKind::Collection,
        JavaWait::Monitor => ObjectKind::Monitor,
        JavaWait::Notified => ObjectKind::Condition,
        JavaWait::Parked => ObjectKind::Park,
    }
}
