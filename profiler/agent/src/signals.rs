//! Signals that the agent answers first. SIGTRAP is its own while hooks may be in place: a thread that meets an instruction in change lands
//! here. So does one whose instruction fails (SIGSEGV, SIGBUS, SIGILL), since the instruction may be the agent's ([`crate::plan::on_fault`]).
//!
//! The target's handlers of these signals are stored, returned when the target asks, and called for every signal that
//! the agent did not cause. For faults the kernel has the target's flags and mask, so that its handler runs on the
//! requested stack and with the requested signals blocked. For SIGTRAP the agent blocks them before it calls the target's
//! handler. A signal that the target ignores is left alone.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::zeroed;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering::*};

use crate::interpose::interpose;
use crate::masks::{self, active};
use crate::next::next;

/// The signals; the first is SIGTRAP.
const OWNED: [c_int; 4] = [libc::SIGTRAP, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL];

struct SavedAction(UnsafeCell<libc::sigaction>);
// SAFETY: written under LOCK; a handler reads whole words. They change together only when the target calls sigaction
// while a signal of this number is being handled, which is a race of the target.
unsafe impl Sync for SavedAction {}

/// The target's wishes, by the index in [`OWNED`]. SAFETY: zero is SIG_DFL with an empty mask.
// SAFETY: zero is SIG_DFL with an empty mask.
static TARGET: [SavedAction; OWNED.len()] =
    [const { SavedAction(UnsafeCell::new(unsafe { zeroed() })) }; OWNED.len()];
/// Whether faults are answered here, too.
static FAULTS: AtomicBool = AtomicBool::new(false);
static LOCK: AtomicBool = AtomicBool::new(false);
/// How often the lock is tried: a handler of the target that interrupted the lock's holder would wait for ever.
const SPINS: u32 = 1 << 20;

/// Answers to signals.
#[derive(Clone, Copy)]
pub struct Answers {
    /// A thread has executed a breakpoint. Returns whether it was the agent's, so that the thread continues.
    pub breakpoint: fn(&mut libc::ucontext_t) -> bool,
    /// A thread's instruction has failed. Returns whether the thread continues.
    pub fault: fn(&mut libc::ucontext_t, &libc::siginfo_t) -> bool,
}

struct Installed(UnsafeCell<Option<Answers>>);
// SAFETY: written before the first handler is installed.
unsafe impl Sync for Installed {}
static ANSWERS: Installed = Installed(UnsafeCell::new(None));

/// Takes the signals over, keeping what was there; faults only if `with_faults`.
pub fn take_over(answers: Answers, with_faults: bool) {
    // SAFETY: before the target's own code runs, or again with the same.
    unsafe { *ANSWERS.0.get() = Some(answers) };
    for (index, &signal) in OWNED.iter().enumerate() {
        if index > 0 && !with_faults {
            break;
        }
        // SAFETY: zero is a valid `sigaction`; before the target's own code runs, or while none of it changes the action.
        unsafe {
            let mut before: libc::sigaction = zeroed();
            real_sigaction(signal, ptr::null(), &mut before);
            if before.sa_sigaction == handler_of(index) {
                continue;
            }
            *TARGET[index].0.get() = before;
            real_sigaction(signal, &installed(index, &before), ptr::null_mut());
        }
    }
    FAULTS.store(with_faults, Release);
    masks::keep_trap_open();
}

/// The index of a signal that is answered here.
fn owned(signal: c_int) -> Option<usize> {
    let index = OWNED.iter().position(|&owned| owned == signal)?;
    (active() && (index == 0 || FAULTS.load(Acquire))).then_some(index)
}

fn handler_of(index: usize) -> usize {
    match index {
        0 => on_trap as *const () as usize,
        _ => on_fault as *const () as usize,
    }
}

/// The kernel's action for this wish of the target.
fn installed(index: usize, target: &libc::sigaction) -> libc::sigaction {
    // SAFETY: zero is a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = handler_of(index);
    if index == 0 {
        // Not deferred: what the handler calls may itself be in change, and a trap with the signal blocked kills.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NODEFER;
        return action;
    }
    match target.sa_sigaction {
        libc::SIG_IGN => return *target,
        libc::SIG_DFL => action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER,
        _ => {
            action.sa_flags = target.sa_flags | libc::SA_SIGINFO;
            action.sa_mask = target.sa_mask;
            // SAFETY: a local set.
            unsafe { libc::sigdelset(&mut action.sa_mask, libc::SIGTRAP) };
        }
    }
    action
}

/// No handler that the target has installed so far blocks SIGTRAP while it runs.
pub fn open_handlers() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: zero is a valid `sigaction`; signals that nobody may handle answer with an error.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            let known = real_sigaction(signal, ptr::null(), &mut action) == 0;
            if known && libc::sigismember(&action.sa_mask, libc::SIGTRAP) == 1 {
                libc::sigdelset(&mut action.sa_mask, libc::SIGTRAP);
                real_sigaction(signal, &action, ptr::null_mut());
            }
        }
    }
}

extern "C" fn on_trap(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a context; errno is the interrupted code's.
    unsafe {
        let errno = *libc::__errno_location();
        let is_ours = match *ANSWERS.0.get() {
            Some(answers) => (*info).si_code > 0 && (answers.breakpoint)(&mut *context.cast()),
            None => false,
        };
        if !is_ours {
            pass_on(signal, info, context);
        }
        *libc::__errno_location() = errno;
    }
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a context; errno is the interrupted code's.
    unsafe {
        let errno = *libc::__errno_location();
        let goes_on = match *ANSWERS.0.get() {
            Some(answers) if (*info).si_code > 0 => (answers.fault)(&mut *context.cast(), &*info),
            _ => false,
        };
        if !goes_on {
            pass_on(signal, info, context);
        } else if let Some(index) = owned(signal) {
            let target = *TARGET[index].0.get();
            // The kernel has taken the handler out, which the target is still to see.
            if target.sa_flags & libc::SA_RESETHAND != 0 {
                real_sigaction(signal, &installed(index, &target), ptr::null_mut());
            }
        }
        *libc::__errno_location() = errno;
    }
}

unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(index) = OWNED.iter().position(|&owned| owned == signal) else {
        return;
    };
    // SAFETY: the target's own handler, called as the kernel would; or the default action, which ends the process.
    unsafe {
        let action = *TARGET[index].0.get();
        if action.sa_flags & libc::SA_RESETHAND != 0 {
            (*TARGET[index].0.get()).sa_sigaction = libc::SIG_DFL;
        }
        let is_handled = ![libc::SIG_IGN, libc::SIG_DFL].contains(&action.sa_sigaction);
        if index == 0 && is_handled {
            // The kernel puts the interrupted mask back, from the context.
            masks::block(&action.sa_mask);
        }
        match action.sa_sigaction {
            libc::SIG_IGN if (*info).si_code <= 0 => {}
            libc::SIG_IGN | libc::SIG_DFL => end(signal, (*info).si_code > 0 && index > 0),
            handler if action.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    core::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: extern "C" fn(c_int) = core::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// The default action. An instruction that fails does so again, and the process ends there.
unsafe fn end(signal: c_int, fails_again: bool) {
    // SAFETY: zero is a valid `sigaction`; the signal is sent to this thread.
    unsafe {
        let mut default: libc::sigaction = zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        real_sigaction(signal, &default, ptr::null_mut());
        if !fails_again {
            libc::syscall(
                libc::SYS_tgkill,
                libc::getpid(),
                libc::syscall(libc::SYS_gettid),
                signal,
            );
        }
    }
}

next! {
    fn real_sigaction = sigaction(signal: c_int, action: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
}

interpose! {
    /// The actions of signals that are answered here are kept aside; the masks of other handlers do not block
    /// SIGTRAP.
    fn sigaction(signal: c_int, action: *const libc::sigaction, old: *mut libc::sigaction) -> c_int = |real| {
        if !active() {
            return real(signal, action, old);
        }
        if let Some(index) = owned(signal) {
            // SAFETY: the caller's pointers.
            return unsafe { exchange(index, action, old) };
        }
        // SAFETY: the caller's pointer.
        let Some(wanted) = (unsafe { action.as_ref() }) else {
            return real(signal, action, old);
        };
        let mut passing = *wanted;
        // SAFETY: a local set.
        unsafe { libc::sigdelset(&mut passing.sa_mask, libc::SIGTRAP) };
        real(signal, &passing, old)
    }

    /// With BSD semantics.
    fn signal(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t = |real| {
        let Some(index) = owned(number) else {
            return real(number, handler);
        };
        // SAFETY: zero is a valid `sigaction`.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            let mut old: libc::sigaction = zeroed();
            action.sa_sigaction = handler;
            action.sa_flags = libc::SA_RESTART;
            exchange(index, &action, &mut old);
            old.sa_sigaction
        }
    }
}

unsafe fn exchange(
    index: usize,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let is_free = || LOCK.compare_exchange(false, true, Acquire, Relaxed).is_ok();
    for _ in 0..SPINS {
        if is_free() {
            break;
        }
        core::hint::spin_loop();
    }
    let mut answer = 0;
    // SAFETY: the lock is held, or its holder is interrupted; the pointers are sigaction's.
    unsafe {
        let mut previous = *TARGET[index].0.get();
        if index > 0 {
            // Whoever went past this function has taken ours out.
            let mut present: libc::sigaction = zeroed();
            real_sigaction(OWNED[index], ptr::null(), &mut present);
            if present.sa_sigaction != handler_of(index) {
                previous = present;
            }
        }
        if let Some(&wanted) = action.as_ref() {
            *TARGET[index].0.get() = wanted;
            if index > 0 {
                answer = real_sigaction(OWNED[index], &installed(index, &wanted), ptr::null_mut());
            }
        }
        if !old.is_null() {
            *old = previous;
        }
    }
    LOCK.store(false, Release);
    answer
}
