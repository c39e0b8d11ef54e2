//! A session begins in this JVM, or ends.

use core::sync::atomic::Ordering::*;
use core::time::Duration;

use evenkeel_patch::thread;
use evenkeel_wire::now_ticks;

use crate::jvm::environment::Watched;
use crate::jvm::helper::Helper;
use crate::jvm::vm::Jni;
use crate::jvm::{calibrating, keyed, stack, switches};
use crate::verdict::is_over;
use crate::{arena, attached, code_state, join, rings, threads};

/// Longest time that a thread may be in the middle of a probe when one session replaces another.
const GRACE: Duration = Duration::from_millis(5);

/// Joins the session whose arena `descriptor` leads to. The number in Java code of its probe 0.
pub fn join(
    jni: Jni,
    helper: Helper,
    descriptor: i32,
    watch: impl FnOnce() -> Option<Watched>,
) -> Result<u32, &'static str> {
    leave_last_session()?;
    let arena = arena::attach(descriptor).ok_or("there is no memory for the records, or this agent is of another version than evenkeel: restart the JVM")?;
    let control = arena.control();
    control.processes.fetch_add(1, Relaxed);
    code_state::renew();
    code_state::set_java(true);
    // Intervals begin when the session switches its first probes on.
    code_state::set_changing();
    arena.publish();
    threads::watch(&join::LIFE);
    rings::discard_records(thread::current());
    let base = switches::begin_session();
    if control.calibration_claimed.swap(1, Relaxed) == 0 {
        calibrating::calibrate(jni, helper, control, watch);
    }
    control.processes_hooked.fetch_add(1, Relaxed);
    code_state::set_detached(false);
    Ok(base)
}

/// The session is over: probes are off.
pub fn leave() {
    switches::end();
}

fn leave_last_session() -> Result<(), &'static str> {
    let arena = arena::get();
    if arena.is_mapped() && !code_state::detached() {
        if !is_over(arena, now_ticks()) || !code_state::is_java() {
            return Err(
                "another session is at work there: wait until it is over, or its lease is out (10 s)",
            );
        }
        switches::end();
    }
    stack::begin_session();
    keyed::begin_session();
    if arena.is_mapped() {
        std::thread::sleep(GRACE);
        attached::forget_threads();
    }
    Ok(())
}
