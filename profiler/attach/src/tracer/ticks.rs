//! A wait for another thread that ends in time: waitpid(2) has no limit, so a timer interrupts it now and then.

use std::cell::OnceCell;
use std::io;
use std::time::Duration;

/// Pause between two ticks.
pub(super) const TICK: Duration = Duration::from_millis(5);

thread_local! {
    /// This thread's timer; it is stopped between two waits. Absent where the system has no more of them.
    static TIMER: OnceCell<Option<Timer>> = const { OnceCell::new() };
}

/// A timer of the system's, whose signal does nothing but interrupt the thread that made it.
struct Timer(libc::timer_t);

/// While this exists, system calls of this thread that wait are interrupted at each tick.
pub(super) struct Ticking;

impl Ticking {
    /// Begins. `None` where there is no timer.
    pub(super) fn begin() -> Option<Ticking> {
        set(TICK).then_some(Ticking)
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        set(Duration::ZERO);
    }
}

/// Lets the timer of this thread tick, or stops it with a period of zero.
fn set(period: Duration) -> bool {
    TIMER.with(|timer| match timer.get_or_init(|| Timer::new().ok()) {
        Some(timer) => timer.set(period),
        None => false,
    })
}

impl Timer {
    fn new() -> io::Result<Timer> {
        let signal = libc::SIGRTMAX() - 1;
        // SAFETY: a handler that does nothing, without SA_RESTART; structures of zeros are valid; the timer is fresh.
        unsafe {
            // Whoever started this program may have blocked all signals.
            let mut ticks: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&raw mut ticks, signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const ticks, std::ptr::null_mut());
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ignore as extern "C" fn(libc::c_int) as usize;
            if libc::sigaction(signal, &raw const action, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal;
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = std::mem::zeroed();
            match libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) {
                0 => Ok(Timer(timer)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    fn set(&self, period: Duration) -> bool {
        let period = libc::timespec {
            tv_sec: period.as_secs() as i64,
            tv_nsec: period.subsec_nanos().into(),
        };
        let times = libc::itimerspec {
            it_interval: period,
            it_value: period,
        };
        // SAFETY: a timer of this thread's, and a local structure.
        unsafe { libc::timer_settime(self.0, 0, &raw const times, std::ptr::null_mut()) == 0 }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: a timer that this has made; nobody uses it any more.
        unsafe { libc::timer_delete(self.0) };
    }
}

extern "C" fn ignore(_: libc::c_int) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A child that does not end is waited for until the first tick, and the timer stands still afterwards.
    #[test]
    fn a_wait_ends_with_the_next_tick() {
        // SAFETY: the child waits for a signal.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: without arguments.
            unsafe { libc::pause() };
        }
        let wait = || {
            // SAFETY: no status is asked for.
            let answer = unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::__WALL) };
            (answer, io::Error::last_os_error().raw_os_error())
        };
        for _ in 0..3 {
            let ticking = Ticking::begin().expect("a timer");
            assert_eq!(wait(), (-1, Some(libc::EINTR)));
            drop(ticking);
        }
        // SAFETY: a child of this process.
        unsafe { libc::kill(child, libc::SIGKILL) };
        assert_eq!(wait().0, child, "no tick interrupts it any more");
    }
}
