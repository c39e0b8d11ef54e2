//! Java methods, in a process that is a Java virtual machine: the library as an agent of JVMTI.
//!
//! ```text
//! the JVM  >  Agent_OnAttach   commands   what the session asks for, over a socket   (link: the connection)
//!             (of load)        joining    the process belongs to a session           (calibrating: what a probe costs)
//!                              classes    classes by number
//!                              samples    stacks of threads in intervals
//! Java     >  helper class     probes     a call or an interval is entered and left  (stack: those in flight)
//!                              keyed      intervals that move from thread to thread
//!                              switches   which probes are on   (labels: the text of an interval's label)
//!                              recording  which threads record   (both are looked at before the agent is called)
//! the JVM  >  Agent_OnLoad     own_socket  a thread that takes the session's requests where the JVM takes none
//! the JVM  >  events           waits  pauses   what threads wait for, and stops of all   (reserved: their probes)
//! the C library   library_waits   what native methods wait for
//! vm       functions of JNI and JVMTI      environment   the agent's own
//! ```
//!
//! The session rewrites class files, so that little of the work runs here. Everything but the probes runs on the
//! JVM's thread that serves attaching. The agent has a thread only where the JVM was started with it. A session that disappears lets its lease run out: the
//! next call of any probe then turns all off. The next session restores the rewritten classes.

mod calibrating;
mod classes;
mod commands;
mod environment;
mod events;
mod helper;
mod joining;
mod keyed;
mod labels;
pub mod library_waits;
mod link;
mod own_socket;
mod pauses;
mod probes;
pub mod recording;
mod reserved;
mod samples;
pub mod stack;
pub mod switches;
mod vm;
mod waits;

use core::ffi::{CStr, c_char, c_void};
use core::mem::MaybeUninit;

use crate::intervals;
use crate::labels::FoundLabel;
use evenkeel_wire::jvm::UNPARKS;
use vm::{Jni, Object, Vm};

/// The function that the JVM's `load` command calls. The options are the path of the session's socket. Without
/// options the library is only loaded, so that the JVM finds its functions by their names.
///
/// # Safety
/// The JVM's arguments.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut c_void,
    options: *const c_char,
    reserved: *mut c_void,
) -> i32 {
    const FAILED: i32 = 1;
    if options.is_null() {
        return 0;
    }
    // SAFETY: the JVM's text.
    let path = unsafe { CStr::from_ptr(options) };
    let Some(path) = path.to_str().ok().filter(|path| !path.is_empty()) else {
        return 0;
    };
    let Some(jni) = Vm(vm).jni() else {
        return FAILED;
    };
    let own = Agent_OnAttach as *const () as usize;
    if let Some(other) = helper::agent(jni).filter(|&other| other != 0 && other != own) {
        // SAFETY: the same function of another copy of this library, which the helper class calls.
        unsafe {
            let other: unsafe extern "system" fn(*mut c_void, *const c_char, *mut c_void) -> i32 =
                core::mem::transmute(other);
            return other(vm, options, reserved);
        }
    }
    match commands::serve(Vm(vm), jni, path) {
        Ok(()) => 0,
        Err(_) => FAILED,
    }
}

/// The function that the JVM calls first where it is started with the agent.
///
/// # Safety
/// The JVM's arguments.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut c_void,
    _options: *const c_char,
    _reserved: *mut c_void,
) -> i32 {
    // An agent that fails here would end the JVM.
    own_socket::open_later(Vm(vm));
    0
}

/// The function that the JVM calls at its end.
///
/// # Safety
/// The JVM's argument.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnUnload(_vm: *mut c_void) {
    own_socket::close();
}

/// Native method of the helper class.
#[unsafe(export_name = "Java_java_lang_EvenkeelProbe_switches")]
extern "system" fn switches_at(_jni: *mut c_void, _class: Object) -> i64 {
    switches::address() as i64
}

/// Native method of the helper class.
#[unsafe(export_name = "Java_java_lang_EvenkeelProbe_recording")]
extern "system" fn recording_at(_jni: *mut c_void, _class: Object) -> i64 {
    recording::address() as i64
}

/// Native method of the helper class.
#[unsafe(export_name = "Java_java_lang_EvenkeelProbe_agent")]
extern "system" fn agent_at(_jni: *mut c_void, _class: Object) -> i64 {
    Agent_OnAttach as *const () as i64
}

/// Native method of the helper class.
#[unsafe(export_name = "Java_java_lang_EvenkeelProbe_enter0")]
extern "system" fn enter(jni: *mut c_void, _class: Object, probe: i32) -> i32 {
    probes::enter(Jni(jni), probe as u32, || FoundLabel::Nothing)
}

/// Native method of the helper class.
#[unsafe(export_name = "Java_java_lang_EvenkeelProbe_number0")]
extern "system" fn enter_with_number(
    jni: *mut c_void,
    _class: Object,
    probe: i32,
    label: i64,
) -> i32 {
    probes::enter_with_number(Jni(jni), probe as u32, label as u64)
}

/// Native method of the helper class. The text is copied only for an interval that is recorded.
#[unsafe(export_name = "Java_java_lang_EvenkeelProbe_text0")]
extern "system" fn enter_with_text(
    jni: *mut c_void,
    _class: Object,
    probe: i32,
    label: Object,
) -> i32 {
    let jni = Jni(jni);
    let mut buffer = [MaybeUninit::uninit(); labels::BUFFER];
    probes::enter(jni, probe as u32, || labels::text(jni, label, &mut buffer))
}

/// Native method of the helper class: a method is called with a thread, which it unparks, or which is no label.
#[unsafe(export_name = "Java_java_lang_EvenkeelProbe_thread0")]
extern "system" fn enter_with_thread(
    jni: *mut c_void,
    class: Object,
    probe: i32,
    thread: Object,
) -> i32 {
    /// No probe was entered.
    const NOTHING: i32 = -1;
    if switches::state(probe as u32) == UNPARKS {
        waits::unpark(Jni(jni), thread);
        return NOTHING;
    }
    enter_with_text(jni, class, probe, core::ptr::null_mut())
}

/// Native method of the helper class.
#[unsafe(export_name = "Java_java_lang_EvenkeelProbe_exit0")]
extern "system" fn exit(_jni: *mut c_void, _class: Object, token: i32) {
    probes::leave(token, intervals::finish);
}

/// Native method of the helper class.
#[unsafe(export_name = "Java_java_lang_EvenkeelProbe_fail0")]
extern "system" fn fail(_jni: *mut c_void, _class: Object, token: i32) {
    probes::leave(token, intervals::fail);
}

/// Native method of the helper class.
#[unsafe(export_name = "Java_java_lang_EvenkeelProbe_virtual0")]
extern "system" fn on_virtual(_jni: *mut c_void, _class: Object, probe: i32) -> i32 {
    probes::count_virtual(probe as u32);
    -1
}
