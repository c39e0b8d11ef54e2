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

/// How others know a thread.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// A weak reference to it; null without one.
    pub reference: Object,
    /// Its number in Java.
    pub number: u64,
}

/// The calling thread; nothing where the JVM does not know it.
pub fn watched(jni: Jni) -> Option<Watched> {
    let thread = jvmti().current_thread()?;
    Some(Watched {
        reference: jni.watch(thread),
        number: jni.thread_number(thread)?,
    })
}
