//! Joining the session, once per program image.

use core::sync::atomic::Ordering::*;

use evenkeel_patch::arch::fault;
use evenkeel_patch::writing;
use evenkeel_wire::now_ticks;
use evenkeel_wire::{Fixed, Frozen, ModuleState};

use crate::arena::{self, Arena};
use crate::jvm::stack;
use crate::threads::Handlers;
use crate::verdict::{is_over, verdict};
use crate::{
    bound, boundaries, calibrate, code_state, confinement, loader, plan, rings, signals, threads,
    waits,
};

/// Finds the session and stays with it if this process is wanted; otherwise leaves no trace but this library.
pub fn join() {
    if has_sanitizer() {
        evenkeel_patch::region::stay_with_libraries();
    }
    let Some(arena) = arena::open() else { return };
    let control = arena.control();
    control.processes.fetch_add(1, Relaxed);
    let unwanted = is_over(arena, now_ticks()) || {
        let executable = plan::prepare(arena, boundaries::BOUNDARIES);
        executable.is_none_or(|index| verdict(arena, index, u32::MAX) != ModuleState::Wanted as u32)
    };
    if unwanted {
        arena.unmap();
        return;
    }
    // The interval may lie in a library: the plan is complete when all that is loaded has been judged.
    for index in plan::loaded() {
        verdict(arena, index, u32::MAX);
    }
    belong(arena);
    bound::joined();
    plan::start(arena);
    if plan::has(arena, Fixed::Unseen) {
        plan::expect_filter(arena);
    } else if plan::has(arena, Fixed::Runtime) {
        confinement::freeze(Frozen::Runtime);
    }
}

/// The process belongs to the session from now on.
pub fn belong(arena: Arena) {
    let control = arena.control();
    arena.publish();
    rings::release_inherited(arena);
    // Sanitizers' runtimes bring handlers of their own, and explain every fault.
    signals::take_over(ANSWERS, !has_sanitizer());
    threads::watch(&LIFE);
    rings::discard_records(evenkeel_patch::thread::current());
    if control.calibration_claimed.swap(1, Relaxed) == 0 {
        calibrate::calibrate(control);
    }
    control.processes_hooked.fetch_add(1, Relaxed);
    waits::follow(arena);
}

/// Whether the program is built with a sanitizer that lays out the address space (`-fsanitize=address`, `thread`, `memory`).
fn has_sanitizer() -> bool {
    [
        c"__asan_init",
        c"__tsan_init",
        c"__msan_init",
        c"__hwasan_init",
    ]
    .into_iter()
    // SAFETY: constant names.
    .any(|name| unsafe { !libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).is_null() })
}

/// Answers to signals.
const ANSWERS: signals::Answers = signals::Answers {
    breakpoint: plan::on_trap,
    fault: on_fault,
};

/// A thread's instruction has failed. If the thread continues, its waits in the functions that it leaves are over.
fn on_fault(context: &mut libc::ucontext_t, info: &libc::siginfo_t) -> bool {
    let goes_on = plan::on_fault(context, info);
    if goes_on {
        let thread = evenkeel_patch::thread::current();
        waits::waiting::drop_left(thread, fault::stack_pointer(context));
    }
    goes_on
}

/// Actions of every part when a thread ends and when the process forks, in the required order.
pub const LIFE: Handlers = Handlers {
    thread_ends,
    before_fork,
    after_fork_in_parent,
    after_fork_in_child,
};

fn thread_ends() {
    waits::creation::before_end();
    stack::release();
    let thread = evenkeel_patch::thread::current();
    thread.close();
    rings::release(thread);
}

fn before_fork() {
    // Children inherit the newest plan, instead of each applying it.
    plan::poll(arena::get());
    plan::lock_for_fork();
    waits::creation::before_fork();
}

fn after_fork_in_parent() {
    plan::after_fork_in_parent();
}

fn after_fork_in_child() {
    writing::drop_taken();
    confinement::after_fork_in_child();
    plan::after_fork_in_child();
    let thread = evenkeel_patch::thread::current();
    thread.after_fork();
    rings::discard_records(thread);
    thread.retry_ticks = 0;
    let is_free = loader::is_free_after_fork();
    if !is_free {
        code_state::set_frozen(true);
    }
    if !code_state::detached() {
        let control = arena::get().control();
        control.processes_hooked.fetch_add(1, Relaxed);
        control.frozen[Frozen::Loader as usize].fetch_add(u32::from(!is_free), Relaxed);
        waits::creation::after_fork_in_child();
    }
}
