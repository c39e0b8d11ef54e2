//! SIGTRAP belongs to the agent while hooks may be in place: a thread that meets an instruction in change lands here.
//! What the target wants to do with the signal is kept, shown to it when it asks, and done for every trap not of ours.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::zeroed;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};

use crate::masks::{self, active};
use crate::next::{interpose, next};

struct Kept(UnsafeCell<libc::sigaction>);
// SAFETY: written under LOCK; the handler reads whole words that change together only when the target calls sigaction
// while a trap of its own is being handled, which is a race of the target's.
unsafe impl Sync for Kept {}

// SAFETY: zero is SIG_DFL with an empty mask.
static TARGET: Kept = Kept(UnsafeCell::new(unsafe { zeroed() }));
static LOCK: AtomicBool = AtomicBool::new(false);

/// Carries out the instruction at a breakpoint. False: the breakpoint is not of the plan.
pub type OnBreakpoint = fn(&mut libc::ucontext_t) -> bool;

/// An [`OnBreakpoint`]; null before SIGTRAP was taken over.
static ON_BREAKPOINT: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Takes SIGTRAP over, keeping what was there.
pub fn take_over(on_breakpoint: OnBreakpoint) {
    ON_BREAKPOINT.store(on_breakpoint as *mut (), Release);
    // SAFETY: zero is a valid `sigaction`; before the target's own code runs, or while none of it changes the action.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = on_trap as *const () as usize;
        // Not deferred: what the handler calls may itself be in change, and a trap with the signal blocked kills.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NODEFER;
        let mut before: libc::sigaction = zeroed();
        real_sigaction(libc::SIGTRAP, &action, &mut before);
        if before.sa_sigaction != action.sa_sigaction {
            *TARGET.0.get() = before;
        }
        masks::keep_trap_open();
    }
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
        let ours = (*info).si_code > 0 && carry_out(&mut *context.cast::<libc::ucontext_t>());
        if !ours {
            pass_on(signal, info, context);
        }
        *libc::__errno_location() = errno;
    }
}

fn carry_out(context: &mut libc::ucontext_t) -> bool {
    let on_breakpoint = ON_BREAKPOINT.load(Acquire);
    // SAFETY: only functions of this type are stored; it was stored before the handler was installed.
    let on_breakpoint: OnBreakpoint = unsafe { core::mem::transmute(on_breakpoint) };
    on_breakpoint(context)
}

unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the target's own handler, called as the kernel would; or the default action, which ends the process.
    unsafe {
        let action = *TARGET.0.get();
        match action.sa_sigaction {
            libc::SIG_IGN if (*info).si_code <= 0 => {}
            libc::SIG_IGN | libc::SIG_DFL => {
                let mut default: libc::sigaction = zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                real_sigaction(signal, &default, ptr::null_mut());
                libc::syscall(
                    libc::SYS_tgkill,
                    libc::getpid(),
                    libc::syscall(libc::SYS_gettid),
                    signal,
                );
            }
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

next! {
    fn real_sigaction = sigaction(signal: c_int, action: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
}

interpose! {
    /// SIGTRAP is kept aside; the masks of other handlers do not block it.
    fn sigaction(signal: c_int, action: *const libc::sigaction, old: *mut libc::sigaction) -> c_int = |real| {
        if !active() {
            return real(signal, action, old);
        }
        if signal == libc::SIGTRAP {
            // SAFETY: the caller's pointers.
            unsafe { exchange(action, old) };
            return 0;
        }
        // SAFETY: the caller's pointer.
        let Some(wanted) = (unsafe { action.as_ref() }) else {
            return real(signal, action, old);
        };
        let mut passing = *wanted;
        // SAFETY: a set of ours.
        unsafe { libc::sigdelset(&mut passing.sa_mask, libc::SIGTRAP) };
        real(signal, &passing, old)
    }

    /// With BSD semantics.
    fn signal(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t = |real| {
        if !(active() && number == libc::SIGTRAP) {
            return real(number, handler);
        }
        // SAFETY: zero is a valid `sigaction`.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            let mut old: libc::sigaction = zeroed();
            action.sa_sigaction = handler;
            action.sa_flags = libc::SA_RESTART;
            exchange(&action, &mut old);
            old.sa_sigaction
        }
    }
}

unsafe fn exchange(action: *const libc::sigaction, old: *mut libc::sigaction) {
    while LOCK
        .compare_exchange(false, true, Acquire, Relaxed)
        .is_err()
    {
        core::hint::spin_loop();
    }
    // SAFETY: the lock is held; the pointers are sigaction's.
    unsafe {
        let previous = *TARGET.0.get();
        if !action.is_null() {
            *TARGET.0.get() = *action;
        }
        if !old.is_null() {
            *old = previous;
        }
    }
    LOCK.store(false, Release);
}
