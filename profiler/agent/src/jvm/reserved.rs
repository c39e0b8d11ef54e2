//! Probes that no code has: the session reserves them for waits, one for each kind of wait and class of the object.
//!
//! Which class a probe stands for is decided here, when the first object of it is waited for. The session asks for the names later.

use core::sync::atomic::{AtomicU32, Ordering::*};
use std::sync::RwLock;

use evenkeel_wire::jvm::{Answer, JavaWait, Message};

/// Probes that stand for a kind of wait, whatever the class.
const KINDS: u32 = JavaWait::ALL.len() as u32;
/// Waits are not recorded.
const NO_PROBES: u32 = u32::MAX;
/// The first of the reserved probes.
static FIRST: AtomicU32 = AtomicU32::new(NO_PROBES);
/// Number of them.
static COUNT: AtomicU32 = AtomicU32::new(0);
static CLASSES: RwLock<Classes> = RwLock::new(Classes {
    room: 0,
    seen: Vec::new(),
});

/// The classes whose objects were waited for, each with the kind of wait: in the order of their probes.
struct Classes {
    room: usize,
    seen: Vec<(JavaWait, Vec<u8>)>,
}

/// Records waits from now on, as calls of `count` probes from `first` on.
pub fn begin(first: u32, count: u32) {
    if let Ok(mut classes) = CLASSES.write() {
        classes.room = count.saturating_sub(KINDS) as usize;
        classes.seen.clear();
        COUNT.store(count, Relaxed);
        let is_enough = count >= KINDS;
        FIRST.store(if is_enough { first } else { NO_PROBES }, Release);
    }
}

/// Whether waits are recorded.
pub fn are_there() -> bool {
    FIRST.load(Relaxed) != NO_PROBES
}

/// Waits are not recorded any more.
pub fn end() {
    FIRST.store(NO_PROBES, Release);
}

/// What the probes stand for, as a message.
pub fn names() -> Message {
    let mut message = Message::new(Answer::WaitNames as u8);
    if let Ok(classes) = CLASSES.read() {
        for (number, (wait, signature)) in classes.seen.iter().enumerate() {
            message.number(KINDS + number as u32).byte(*wait as u8);
            message.bytes(signature);
        }
    }
    message
}

/// The probe of a wait, if waits are recorded: of an object of this class, or of all others.
pub fn probe(wait: JavaWait, signature: Option<Vec<u8>>) -> Option<u32> {
    let first = FIRST.load(Acquire);
    if first == NO_PROBES {
        return None;
    }
    let at = signature.and_then(|signature| class_number(wait, signature));
    Some(first + at.map_or(wait as u32, |at| KINDS + at as u32))
}

fn class_number(wait: JavaWait, signature: Vec<u8>) -> Option<usize> {
    let place = |classes: &Classes| {
        let is_it = |seen: &(JavaWait, Vec<u8>)| seen.0 == wait && seen.1 == signature;
        classes.seen.iter().position(is_it)
    };
    if let Some(at) = place(&*CLASSES.read().ok()?) {
        return Some(at);
    }
    let mut classes = CLASSES.write().ok()?;
    if let Some(at) = place(&classes) {
        return Some(at);
    }
    let at = classes.seen.len();
    (at < classes.room).then(|| {
        classes.seen.push((wait, signature));
        at
    })
}

/// The kind of wait that a probe stands for, if it is one of these.
pub fn kind(id: u32) -> Option<JavaWait> {
    let number = id.checked_sub(FIRST.load(Relaxed))?;
    if number < KINDS {
        return JavaWait::of(number as u8);
    }
    if number >= COUNT.load(Relaxed) {
        return None;
    }
    let classes = CLASSES.read().ok()?;
    Some(classes.seen.get((number - KINDS) as usize)?.0)
}
