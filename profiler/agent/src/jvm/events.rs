//! What the JVM reports by itself while waits are recorded: contended monitors, `Object.wait`, and garbage collections.

use core::ffi::c_void;

use evenkeel_wire::jvm::JavaWait;

use crate::intervals;
use crate::jvm::stack;
use crate::jvm::vm::{Jni, Jvmti, Object, VmEvent};
use crate::jvm::{pauses, probes, waits};

/// The events, and the functions that the JVM calls for them.
pub fn callbacks() -> [(VmEvent, *const c_void); 6] {
    [
        (VmEvent::MonitorWait, waits_to_be_notified as *const c_void),
        (VmEvent::MonitorWaited, was_notified as *const c_void),
        (VmEvent::ContendedEnter, waits_for_monitor as *const c_void),
        (VmEvent::ContendedEntered, has_monitor as *const c_void),
        (VmEvent::CollectionStart, collection_begins as *const c_void),
        (VmEvent::CollectionFinish, collection_ends as *const c_void),
    ]
}

/// Whether the JVM reports them.
pub fn hear(jvmti: Jvmti, hear: bool) {
    for (event, _) in callbacks() {
        jvmti.hear(event, hear);
    }
}

unsafe extern "system" fn waits_for_monitor(
    jvmti: *mut c_void,
    jni: *mut c_void,
    _thread: Object,
    object: Object,
) {
    wait_begins(JavaWait::Monitor, Jvmti(jvmti), Jni(jni), object);
}

unsafe extern "system" fn has_monitor(
    _jvmti: *mut c_void,
    _jni: *mut c_void,
    _thread: Object,
    _object: Object,
) {
    wait_ends();
}

unsafe extern "system" fn waits_to_be_notified(
    jvmti: *mut c_void,
    jni: *mut c_void,
    _thread: Object,
    object: Object,
    _timeout: i64,
) {
    wait_begins(JavaWait::Notified, Jvmti(jvmti), Jni(jni), object);
}

unsafe extern "system" fn was_notified(
    _jvmti: *mut c_void,
    _jni: *mut c_void,
    _thread: Object,
    _object: Object,
    _timed_out: u8,
) {
    wait_ends();
}

fn wait_begins(wait: JavaWait, jvmti: Jvmti, jni: Jni, object: Object) {
    let Some(stack) = stack::own().filter(|stack| stack.is_open()) else {
        return;
    };
    let key = jvmti.identity_hash(object).into();
    waits::enter(stack, wait, key, || waits::class_name(jni, jvmti, object));
}

fn wait_ends() {
    if let Some(waiting) = stack::own().and_then(|stack| stack.waiting()) {
        probes::leave(waiting.token, intervals::finish);
    }
}

unsafe extern "system" fn collection_begins(_jvmti: *mut c_void) {
    pauses::begin();
}

unsafe extern "system" fn collection_ends(_jvmti: *mut c_void) {
    pauses::end();
}
