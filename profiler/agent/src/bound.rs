//! Whether this process belongs to a session, and whether functions were bound to ours by hand for it.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

use evenkeel_patch::kernel;

use crate::arena::{self, Arena};
use crate::bindings::{self, Which};

/// 1: the process belongs to a session. Read from outside.
#[unsafe(no_mangle)]
#[used]
pub static evenkeel_state: AtomicU32 = AtomicU32::new(0);

/// Whether the session attached: functions are bound to ours by hand.
static BOUND: AtomicBool = AtomicBool::new(false);

/// Binds functions to ours, for a session that attaches.
pub fn bind(arena: Arena) {
    BOUND.store(true, Relaxed);
    bindings::bind(which(arena));
}

fn which(arena: Arena) -> Which {
    if arena.control().waits.load(Relaxed) != 0 {
        Which::All
    } else {
        Which::Always
    }
}

/// Whether the session attached, and did not start the process.
pub fn is() -> bool {
    BOUND.load(Relaxed)
}

/// The process belongs to a session.
pub fn joined() {
    evenkeel_state.store(1, Release);
}

/// The session is over, and the hooks are out.
pub fn ended() {
    // Where no system call may be made the bindings stay, and lead on to the C library.
    if BOUND.swap(false, Relaxed) && !kernel::is_confined() {
        bindings::unbind();
    }
    evenkeel_state.store(0, Release);
}

/// Whether modules were still being loaded when imports were bound.
pub fn has_unbound() -> bool {
    BOUND.load(Relaxed) && bindings::is_incomplete()
}

/// Binds what came, or was still being loaded before.
pub fn bind_rest() {
    if BOUND.load(Relaxed) {
        bindings::bind(which(arena::get()));
    }
}
