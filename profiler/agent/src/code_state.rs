//! The state of this process' code: the plan that it follows, whether it may still change, and whether the session is
//! over. [`crate::plan`] changes it; recording code reads it.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

static APPLIED: AtomicU32 = AtomicU32::new(0);
static DETACHED: AtomicBool = AtomicBool::new(false);
static FROZEN: AtomicBool = AtomicBool::new(false);
static LEAVES: AtomicBool = AtomicBool::new(false);
static JAVA: AtomicBool = AtomicBool::new(false);

/// Replaces a generation while the code is being changed, and once the session is over: intervals that begin or end
/// then follow no plan.
pub const CHANGING: u32 = evenkeel_wire::jvm::COUNTED_ONLY;

/// The generation of the plan that the code now follows, or [`CHANGING`].
pub fn applied() -> u32 {
    APPLIED.load(Acquire)
}

/// The code follows the plan of this generation from now on.
pub fn set_applied(generation: u32) {
    APPLIED.store(generation, Release);
}

/// The code is about to be changed: all that was written under the last plan is seen before it is.
pub fn set_changing() {
    APPLIED.store(CHANGING, SeqCst);
}

/// Whether the code must not be changed until the process ends.
pub fn is_frozen() -> bool {
    FROZEN.load(Relaxed)
}

/// Forbids or permits changes of the code.
pub fn set_frozen(frozen: bool) {
    FROZEN.store(frozen, Release);
}

/// Whether the session is over for this process.
pub fn detached() -> bool {
    DETACHED.load(Relaxed)
}

/// The session is over for this process, or another one begins.
pub fn set_detached(detached: bool) {
    DETACHED.store(detached, Release);
}

/// Whether the process leaves the session, because an instruction of the agent has failed here, or because threads begin that
/// cannot be followed. The session is over for it as soon as its hooks are out.
pub fn leaves() -> bool {
    LEAVES.load(Relaxed)
}

/// The process leaves the session from now on.
pub fn set_leaves() {
    LEAVES.store(true, Release);
}

/// Another session begins.
pub fn renew() {
    LEAVES.store(false, Release);
}

/// Whether the session is about methods of Java: the process' own code is not changed.
pub fn is_java() -> bool {
    JAVA.load(Relaxed)
}

/// The session is about methods of Java, or it is not.
pub fn set_java(java: bool) {
    JAVA.store(java, Release);
}
