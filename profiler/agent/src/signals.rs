//! SIGTRAP belongs to the agent while hooks may be in place: a thread that meets an instruction in change lands here.
//! What the target wants to do with the signal is kept, shown to it when it asks, and done for every trap not of ours.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int, c_void};
use core::mem::zeroed;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

use crate::plan;

struct Kept(UnsafeCell<libc::sigaction>);
// SAFETY: written under LOCK; the handler reads whole words that change together only when the target calls sigaction
// while a trap of its own is being handled, which is a race of the target's.
unsafe impl Sync for Kept {}

// SAFETY: zero is SIG_DFL with an empty mask.
static TARGET: Kept = Kept(UnsafeCell::new(unsafe { zeroed() }));
static LOCK: AtomicBool = AtomicBool::new(false);
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Whether masks and handlers must leave SIGTRAP alone.
pub fn active() -> bool {
    ACTIVE.load(Relaxed)
}

/// Takes SIGTRAP over, keeping what was there.
pub fn take_over() {
    // SAFETY: before the target's own code runs.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = on_trap as *const () as usize;
        // Not deferred: what the handler calls may itself be in change, and a trap with the signal blocked kills.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NODEFER;
        real_sigaction(libc::SIGTRAP, &action, TARGET.0.get());
        let mut trap = crate::masks::empty();
        libc::sigaddset(&mut trap, libc::SIGTRAP);
        ACTIVE.store(true, Release);
        crate::masks::real_sigmask(libc::SIG_UNBLOCK, &trap, ptr::null_mut());
    }
}

extern "C" fn on_trap(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a context; errno is the interrupted code's.
    unsafe {
        let errno = *libc::__errno_location();
        let ours = (*info).si_code > 0 && plan::on_trap(&mut *context.cast::<libc::ucontext_t>());
        if !ours {
            pass_on(signal, info, context);
        }
        *libc::__errno_location() = errno;
    }
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

type SigactionFn =
    unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
type SignalFn = unsafe extern "C" fn(c_int, libc::sighandler_t) -> libc::sighandler_t;

/// The next definition of a function that this library also defines.
pub struct Next {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Next {
    /// Not looked up yet.
    pub const fn of(name: &'static CStr) -> Next {
        Next {
            name,
            address: AtomicUsize::new(0),
        }
    }

    /// Its address.
    pub fn get(&self) -> usize {
        match self.address.load(Relaxed) {
            0 => self.look_up(),
            address => address,
        }
    }

    /// Looks it up beforehand: the loader's lock must not be taken in a signal handler.
    pub fn look_up(&self) -> usize {
        // SAFETY: a constant name.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        self.address.store(address, Relaxed);
        address
    }
}

static SIGACTION: Next = Next::of(c"sigaction");
static SIGNAL: Next = Next::of(c"signal");

/// Finds the C library's functions behind ours.
pub fn look_up() {
    SIGACTION.look_up();
    SIGNAL.look_up();
    crate::masks::look_up();
}

unsafe fn real_sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the C library's function of this name and type.
    unsafe {
        let function: SigactionFn = core::mem::transmute(SIGACTION.get());
        function(signal, action, old)
    }
}

/// As the C library's. SIGTRAP is kept aside; the masks of other handlers do not block it.
///
/// # Safety
/// As sigaction(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        if !active() {
            return real_sigaction(signal, action, old);
        }
        if signal == libc::SIGTRAP {
            exchange(action, old);
            return 0;
        }
        if action.is_null() {
            return real_sigaction(signal, action, old);
        }
        let mut passing = *action;
        libc::sigdelset(&mut passing.sa_mask, libc::SIGTRAP);
        real_sigaction(signal, &passing, old)
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

/// As the C library's, with BSD semantics.
///
/// # Safety
/// As signal(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the caller's contract.
    unsafe {
        if active() && signal == libc::SIGTRAP {
            let mut action: libc::sigaction = zeroed();
            let mut old: libc::sigaction = zeroed();
            action.sa_sigaction = handler;
            action.sa_flags = libc::SA_RESTART;
            exchange(&action, &mut old);
            return old.sa_sigaction;
        }
        let function: SignalFn = core::mem::transmute(SIGNAL.get());
        function(signal, handler)
    }
}
