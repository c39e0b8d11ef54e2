//! Which probes are on, and what they are: a byte each, which the helper class looks at before it calls the agent.
//!
//! The bytes are the agent's own, and at the same place for all sessions: compiled Java code has their addresses as constants. Numbers of
//! probes are not used twice as long as there are others, since code of an earlier session may still be on a thread's stack.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering::*};

use evenkeel_wire::jvm::JAVA_PROBES_MAX;

use crate::code_state;

static SWITCHES: [AtomicU8; JAVA_PROBES_MAX] = [const { AtomicU8::new(0) }; JAVA_PROBES_MAX];

/// The number in Java code of the session's probe 0.
static BASE: AtomicU32 = AtomicU32::new(0);
/// End of the numbers that were ever switched on.
static USED: AtomicU32 = AtomicU32::new(0);

/// Where they are.
pub fn address() -> usize {
    SWITCHES.as_ptr() as usize
}

/// A session begins. Its base: it starts over where the numbers are used up.
pub fn begin_session() -> u32 {
    /// Numbers that a session has at least.
    const ROOM: u32 = JAVA_PROBES_MAX as u32 / 4;
    let used = USED.load(Relaxed);
    let base = if used > JAVA_PROBES_MAX as u32 - ROOM {
        0
    } else {
        used
    };
    BASE.store(base, Relaxed);
    base
}

/// The session's probe that Java code calls by this number.
pub fn probe_of(number: u32) -> Option<u32> {
    number.checked_sub(BASE.load(Relaxed))
}

/// Turns probes on or off, from `begin` on; of the session's numbers.
pub fn set(begin: u32, states: &[u8]) {
    let begin = (BASE.load(Relaxed) as usize).saturating_add(begin as usize);
    for (switch, &state) in SWITCHES.iter().skip(begin).zip(states) {
        switch.store(state, Release);
    }
    let end = (begin + states.len()).min(JAVA_PROBES_MAX) as u32;
    USED.fetch_max(end, Relaxed);
}

/// Turns the probe of this number in Java code on or off.
pub fn set_one(number: u32, state: u8) {
    if let Some(switch) = SWITCHES.get(number as usize) {
        switch.store(state, Release);
    }
}

/// The state of a number in Java code.
pub fn state(number: u32) -> u8 {
    let switch = SWITCHES.get(number as usize);
    switch.map_or(0, |switch| switch.load(Relaxed))
}

/// The state of a probe of the session.
pub fn state_of(id: u32) -> u8 {
    state(BASE.load(Relaxed).saturating_add(id))
}

/// Turns all off: the session is over.
pub fn end() {
    code_state::set_changing();
    for switch in &SWITCHES {
        switch.store(0, Relaxed);
    }
    code_state::set_detached(true);
}
