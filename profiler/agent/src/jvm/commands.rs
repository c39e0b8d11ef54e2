//! Requests of the session, executed on the thread on which the JVM has called the agent.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicI32, Ordering::*};
use core::time::Duration;
use std::sync::Mutex;
use std::time::Instant;

use evenkeel_wire::jvm::{Answer, Fields, JAVA_PROBES_MAX, Message, PROTOCOL, Request};

use crate::jvm::classes::Classes;
use crate::jvm::link::Link;
use crate::jvm::samples::{Looks, Samples};
use crate::jvm::vm::{ClassHook, Jni, Jvmti, Object, Vm, VmEvent};
use crate::jvm::{environment, events, helper, joining, library_waits, reserved, switches};
use crate::{arena, code_state, threads};

/// The class whose methods park threads.
const PARKER: &CStr = c"java/util/concurrent/locks/LockSupport";
/// The classes that have numbers.
static CLASSES: Mutex<Classes> = Mutex::new(Classes::new());
/// The connection, while the JVM loads classes again for it.
static REWRITING: Mutex<Option<Rewriting>> = Mutex::new(None);

/// The thread on which that is; 0: none.
static REWRITER: AtomicI32 = AtomicI32::new(0);

struct Rewriting {
    link: Link,
    /// Time that the session took, and the way to it.
    taken: Duration,
}

/// Connects to the session at `path`, and does what it asks for.
pub fn serve(vm: Vm, jni: Jni, path: &str) -> Result<(), &'static str> {
    let mut link = Link::to(path).map_err(|_| "the session's socket cannot be reached")?;
    let jvmti = match environment(vm) {
        Ok(jvmti) => jvmti,
        Err(why) => {
            link.say_failed(why);
            return Ok(());
        }
    };
    loop {
        let Some(message) = link.next() else {
            return Ok(());
        };
        let Some((kind, fields)) = Fields::of(&message) else {
            return Ok(());
        };
        let goes_on = match Request::of(kind) {
            Some(Request::Rewrite) => {
                let (back, goes_on) = rewrite(jvmti, link, fields);
                link = match back {
                    Some(link) => link,
                    None => return Ok(()),
                };
                goes_on
            }
            Some(request) => jni.in_frame(|| answer(request, jni, jvmti, &mut link, fields)),
            None => false,
        };
        if !goes_on {
            return Ok(());
        }
    }
}

fn environment(vm: Vm) -> Result<Jvmti, &'static str> {
    let known = environment::jvmti();
    if !known.0.is_null() {
        return Ok(known);
    }
    let jvmti = vm.jvmti().ok_or(
        "the JVM has no JVMTI of version 11: it is too old, or its module jdk.attach is missing",
    )?;
    let loads = (VmEvent::ClassFileLoad, hook as ClassHook as *const c_void);
    let callbacks = events::callbacks().into_iter().chain([loads]);
    jvmti.prepare(callbacks).map_err(
        |_| "the JVM does not permit that classes are rewritten (JVMTI: can_retransform_classes)",
    )?;
    environment::set_jvmti(jvmti);
    Ok(jvmti)
}

/// Answers all requests but [`Request::Rewrite`]. False where there is nothing more to answer.
fn answer(
    request: Request,
    jni: Jni,
    jvmti: Jvmti,
    link: &mut Link,
    mut fields: Fields<'_>,
) -> bool {
    let Ok(mut classes) = CLASSES.lock() else {
        return false;
    };
    match request {
        Request::Join => match join(jni, jvmti, link, &mut fields, &mut classes) {
            Ok(joined) => link.say(joined),
            Err(why) => link.say_failed(why),
        },
        Request::Find => {
            let mut names = Vec::new();
            while let Some(name) = fields.bytes() {
                names.push(name.to_vec());
            }
            let found = classes.loaded(jni, jvmti, &names);
            let mut message = Message::new(Answer::Classes as u8);
            for (number, name, is_modifiable) in found {
                message.number(number).number(name as u32);
                message.byte(u8::from(is_modifiable));
            }
            link.say(message)
        }
        Request::Switch => switch(&mut fields).is_some() && link.say_ok(),
        Request::Suspend => {
            code_state::set_changing();
            link.say_ok()
        }
        Request::Sample => {
            let numbers = (fields.number(), fields.number(), fields.number());
            let (Some(times), Some(period_us), Some(frames)) = numbers else {
                return false;
            };
            let looks = Looks {
                times,
                period: Duration::from_micros(period_us.into()),
                frames: frames as usize,
            };
            let samples = Samples::take(jni, jvmti, looks, &listed(&classes, fields));
            link.say(samples.message(jni, jvmti, &mut classes))
        }
        Request::Waits => match begin_waits(jni, jvmti, &mut fields) {
            Some(Ok(())) => link.say_ok(),
            Some(Err(why)) => link.say_failed(why),
            None => false,
        },
        Request::WaitNames => link.say(reserved::names()),
        Request::Leave => {
            stop_waits(jvmti);
            joining::leave();
            link.say_ok()
        }
        Request::Done | Request::Rewrite | Request::Rewritten => false,
    }
}

/// The classes that an earlier session left behind come with their numbers: they are as they were when they have been loaded again.
fn join(
    jni: Jni,
    jvmti: Jvmti,
    link: &mut Link,
    fields: &mut Fields<'_>,
    classes: &mut Classes,
) -> Result<Message, &'static str> {
    let descriptor = link.descriptor();
    let descriptor = descriptor.ok_or("the session sent no descriptor")?;
    let joined = (|| {
        if fields.number() != Some(PROTOCOL) {
            return Err("this agent is of another version than evenkeel: restart the JVM");
        }
        let (old, new) = (fields.bytes(), fields.bytes());
        /// The first with virtual threads.
        const VIRTUAL: u32 = 21;
        let bytes = if jni.version() < VIRTUAL { old } else { new };
        let helper = helper::ensure(jni, bytes.unwrap_or_default())?;
        stop_waits(jvmti);
        joining::join(jni, helper, descriptor, || environment::watched(jni))
    })();
    // SAFETY: it came with the request.
    unsafe { libc::close(descriptor) };
    let base = joined?;
    let left_behind = classes.begin_session(jni);
    let mut message = Message::new(Answer::Joined as u8);
    message
        .number(base)
        .number(JAVA_PROBES_MAX as u32 - 1 - base);
    message.number(left_behind as u32);
    Ok(message)
}

/// Waits are recorded from now on.
fn begin_waits(
    jni: Jni,
    jvmti: Jvmti,
    fields: &mut Fields<'_>,
) -> Option<Result<(), &'static str>> {
    let (first, count) = (fields.number()?, fields.number()?);
    if jvmti.add_waits().is_err() {
        return Some(Err(
            "it does not report contended monitors and garbage collections (JVMTI: can_generate_monitor_events), so leave --waits out",
        ));
    }
    // The class whose methods park threads is loaded before anybody is parked.
    jni.find_class(PARKER);
    reserved::begin(first, count);
    events::hear(jvmti, true);
    library_waits::follow(arena::get());
    Some(Ok(()))
}

/// Waits are not recorded any more: a session is over, perhaps one that could not say so.
fn stop_waits(jvmti: Jvmti) {
    if reserved::are_there() {
        library_waits::leave();
    }
    events::hear(jvmti, false);
    reserved::end();
}

fn switch(fields: &mut Fields<'_>) -> Option<()> {
    let (generation, begin) = (fields.number()?, fields.number()?);
    let states = fields.bytes()?;
    code_state::set_changing();
    switches::set(begin, states);
    if reserved::are_there() {
        library_waits::bind();
    }
    code_state::set_applied(generation);
    arena::get().control().applications.fetch_add(1, Relaxed);
    Some(())
}

/// The classes whose numbers are left of a message.
fn listed(classes: &Classes, mut fields: Fields<'_>) -> Vec<Object> {
    let numbers = core::iter::from_fn(|| fields.number());
    numbers.filter_map(|number| classes.get(number)).collect()
}

/// Has the JVM load classes again. The connection, if the session is still there, and whether it was answered.
fn rewrite(jvmti: Jvmti, link: Link, fields: Fields<'_>) -> (Option<Link>, bool) {
    let classes = match CLASSES.lock() {
        Ok(classes) => listed(&classes, fields),
        Err(_) => return (None, false),
    };
    let rewriting = Rewriting {
        link,
        taken: Duration::ZERO,
    };
    match REWRITING.lock() {
        Ok(mut slot) => *slot = Some(rewriting),
        Err(_) => return (None, false),
    }
    let began = Instant::now();
    REWRITER.store(threads::thread_id(), Release);
    jvmti.hear(VmEvent::ClassFileLoad, true);
    let result = jvmti.retransform(&classes);
    jvmti.hear(VmEvent::ClassFileLoad, false);
    REWRITER.store(0, Release);
    let took = began.elapsed();
    let Some(Rewriting { mut link, taken }) =
        REWRITING.lock().ok().and_then(|mut slot| slot.take())
    else {
        return (None, false);
    };
    let answered = match result {
        Ok(()) => {
            let mut message = Message::new(Answer::Changed as u8);
            message.long(took.as_nanos() as u64);
            message.long(taken.as_nanos() as u64);
            link.say(message)
        }
        Err(error) => link.say_failed(&format!(
            "the JVM refuses to load the classes again (JVMTI error {error})"
        )),
    };
    (Some(link), answered)
}

/// Called by the JVM for each class that [`rewrite`] has it load again.
unsafe extern "system" fn hook(
    jvmti: *mut c_void,
    jni: *mut c_void,
    class: Object,
    _loader: Object,
    _name: *const c_char,
    _domain: Object,
    len: i32,
    bytes: *const u8,
    new_len: *mut i32,
    new_bytes: *mut *mut u8,
) {
    // Classes that are loaded for the first time, or again for somebody else.
    let is_own = !class.is_null() && REWRITER.load(Acquire) == threads::thread_id();
    if !is_own || bytes.is_null() || len <= 0 {
        return;
    }
    let (jvmti, jni) = (Jvmti(jvmti), Jni(jni));
    let began = Instant::now();
    let (Ok(mut classes), Ok(mut slot)) = (CLASSES.lock(), REWRITING.lock()) else {
        return;
    };
    let (Some(number), Some(rewriting)) = (classes.find(jni, class), slot.as_mut()) else {
        return;
    };
    // SAFETY: the JVM's bytes, valid during the call.
    let bytes = unsafe { core::slice::from_raw_parts(bytes, len as usize) };
    let rewritten = rewriting.link.rewritten(number, bytes);
    let copied = rewritten.and_then(|rewritten| Some((rewritten.len(), jvmti.copied(&rewritten)?)));
    classes.set_rewritten(number, copied.is_some());
    if let Some((len, copied)) = copied {
        // SAFETY: where the JVM wants them.
        unsafe {
            *new_len = len as i32;
            *new_bytes = copied;
        }
    }
    rewriting.taken += began.elapsed();
}
