//! Signals between processes of the target, as messages: sent, and waited for.

use core::ffi::c_int;

use evenkeel_patch::kernel;
use evenkeel_wire::ObjectKind;
use libc::{pid_t, pthread_t, siginfo_t, sigset_t, sigval, timespec};

use super::objects::{self, Object};
use super::releasing::record_release;
use super::switch::table;
use super::waiting::{Ended, sleeping};
use crate::interpose::interpose;
use crate::masks::passing;
use evenkeel_wire::now_ticks;

/// A signal may end a wait of any kind, so each one that is sent is recorded. Signal 0 only asks. A negative or zero
/// process means many processes, which are not named.
fn send(process: pid_t, signal: c_int, real: impl FnOnce() -> c_int) -> c_int {
    if signal != 0 && process > 0 && table().is_some() {
        let key = objects::signal_key_of(process);
        record_release(Object::of(ObjectKind::Signal, key), now_ticks());
    }
    real()
}

fn receive(real: impl FnOnce() -> c_int, ended: impl FnOnce(&c_int) -> Ended) -> c_int {
    let Some(table) = table() else { return real() };
    let own = Object::of(ObjectKind::Signal, objects::signal_key());
    sleeping(table, &[own], real, ended)
}

/// A wait in functions that only a signal ends.
pub fn receive_any(real: impl FnOnce() -> c_int) -> c_int {
    receive(real, |_| Ended::Woken)
}

interpose! {
    fn kill(process: pid_t, signal: c_int) -> c_int = |real| {
        send(process, signal, || real(process, signal))
    }

    fn tgkill(process: pid_t, thread: pid_t, signal: c_int) -> c_int = |real| {
        send(process, signal, || real(process, thread, signal))
    }

    fn sigqueue(process: pid_t, signal: c_int, value: sigval) -> c_int = |real| {
        send(process, signal, || real(process, signal, value))
    }

    fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int = |real| {
        send(kernel::process_id(), signal, || real(thread, signal))
    }

    fn pthread_sigqueue(thread: pthread_t, signal: c_int, value: sigval) -> c_int = |real| {
        send(kernel::process_id(), signal, || real(thread, signal, value))
    }

    fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int = |real| {
        receive(|| real(set, signal), |&result| Ended::by_number(result))
    }

    fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int = |real| {
        receive(|| real(set, info), |&result| Ended::by_errno(result as isize))
    }

    fn sigtimedwait(set: *const sigset_t, info: *mut siginfo_t, limit: *const timespec) -> c_int = |real| {
        receive(|| real(set, info, limit), |&result| Ended::by_errno(result as isize))
    }

    fn pause() -> c_int = |real| {
        receive_any(real)
    }

    /// The mask during the wait does not block SIGTRAP while hooks may be in place.
    fn sigsuspend(set: *const sigset_t) -> c_int = |real| {
        let mut copy = crate::masks::empty();
        // SAFETY: the caller's set.
        let set = unsafe { passing(set, &mut copy) };
        receive_any(|| real(set))
    }
}
