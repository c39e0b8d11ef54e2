//! Joining a session in a process that has long been running: `evenkeel attach` brings this library in and calls it, on a thread of
//! the target that it has stopped at a safe point.
//!
//! Preloading works by the order of libraries. Here existing bindings are changed instead ([`bound`]). The same
//! library serves one session after another; the memory of the last one stays until the next takes its place.

use core::sync::atomic::{AtomicBool, Ordering::*};

use evenkeel_wire::now_ticks;

use crate::arena::{self, Arena};
use crate::bindings::{self, Which};
use crate::jvm::{library_waits, stack, switches};
use crate::verdict::is_over;
use crate::{bound, boundaries, code_state, join, next, plan, rings, signals, threads};
use evenkeel_patch::kernel;
use evenkeel_patch::thread::{OpenInterval, Thread};
use evenkeel_patch::writing;

/// Answers of [`evenkeel_attach`].
#[repr(u32)]
enum Answer {
    Joined = 0,
    NoMemory = 1,
    Frozen = 2,
    Busy = 3,
    Changing = 4,
}

/// Whether the patcher has its tables.
static PREPARED: AtomicBool = AtomicBool::new(false);

/// Joins the session whose arena `descriptor` leads to; [`evenkeel_poll`] then applies its plan. `memory` is `/proc/self/mem` of this process,
/// where it may not open that itself; otherwise negative. The `count` descriptors at `handed` brought it here, and are closed in any case.
/// The session would need a further call for each of them, and the thread would stand still for it.
///
/// # Safety
/// `handed` has `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evenkeel_attach(
    descriptor: i32,
    memory: i32,
    handed: *const i32,
    count: usize,
) -> u32 {
    threads::notice_fork();
    let answer = attach(descriptor, memory);
    // SAFETY: by the contract.
    let handed = unsafe { core::slice::from_raw_parts(handed, count) };
    handed.iter().copied().for_each(kernel::close);
    answer as u32
}

/// Looks at the plan, as every beginning of an interval does: applies what is new, takes the hooks out if the session is over.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_poll() -> u32 {
    threads::notice_fork();
    let arena = arena::get();
    if arena.is_mapped() {
        plan::poll(arena);
    }
    0
}

fn attach(descriptor: i32, memory: i32) -> Answer {
    if code_state::is_frozen() {
        return Answer::Frozen;
    }
    if let Err(answer) = leave_last_session() {
        return answer;
    }
    writing::take(memory);
    let Some(arena) = arena::attach(descriptor) else {
        return Answer::NoMemory;
    };
    next::look_up_first();
    // Before there is a trampoline: its unwind information is kept from the unwinder's own list if they ask the loader.
    bindings::bind(Which::Unwinders);
    arena.control().processes.fetch_add(1, Relaxed);
    if !plan::renew() {
        return Answer::Changing;
    }
    let executable = if PREPARED.load(Relaxed) {
        plan::announce(arena)
    } else {
        plan::prepare(arena, boundaries::BOUNDARIES)
    };
    if executable.is_none() {
        return Answer::NoMemory;
    }
    PREPARED.store(true, Relaxed);
    join::belong(arena);
    bound::bind(arena);
    // What other threads install from now on goes through ours.
    signals::open_handlers();
    code_state::set_detached(false);
    bound::joined();
    Answer::Joined
}

/// Hooks of the session before are out, and no thread writes to its memory any more.
fn leave_last_session() -> Result<(), Answer> {
    let arena = arena::get();
    if !arena.is_mapped() {
        return Ok(());
    }
    if code_state::is_java() {
        return leave_java(arena);
    }
    PREPARED.store(true, Relaxed);
    if !is_over(arena, now_ticks()) {
        return Err(Answer::Busy);
    }
    if !plan::poll_patiently(arena) {
        return Err(Answer::Changing);
    }
    if !code_state::detached() {
        return Err(Answer::Busy);
    }
    forget_threads();
    Ok(())
}

/// The last session was about methods of Java.
fn leave_java(arena: Arena) -> Result<(), Answer> {
    if !code_state::detached() {
        if !is_over(arena, now_ticks()) {
            return Err(Answer::Busy);
        }
        switches::end();
    }
    library_waits::leave();
    stack::begin_session();
    forget_threads();
    code_state::set_java(false);
    Ok(())
}

/// No thread is in an interval, or has a ring, of the session before, whose hooks are out.
pub fn forget_threads() {
    // SAFETY: all hooks are out.
    unsafe {
        Thread::end_all(|thread| {
            thread.active = 0;
            thread.interval = OpenInterval::None;
            thread.admitted = false;
            thread.root = core::ptr::null_mut();
            thread.retry_ticks = 0;
            thread.work = 0;
            rings::discard_records(thread);
        });
    }
}
