//! The agent's environment of JVMTI, and references to threads.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering::*};

use crate::jvm::vm::{Jni, Jvmti, Object};

static JVMTI: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// The environment; null before the first session.
pub fn jvmti() -> Jvmti {
    Jvmti(JVMTI.load(Acquire))
}

/// There is one from now on.
pub fn set_jvmti(jvmti: Jvmti) {
    JVMTI.store(jvmti.0, Release);
}

/// A weak reference to the calling thread; null without one.
pub fn watched(jni: Jni) -> Object {
    let thread = jvmti().current_thread();
    thread.map_or(core::ptr::null_mut(), |thread| jni.watch(thread))
}
