//! The limit on traps while the callees of calls through pointers are learned.
//!
//! A trap costs microseconds, and an interpreter's dispatch makes millions of calls a second. So the session grants a number of traps for
//! all processes ([`Control::traps_left`]), which grows with time as `--max-overhead` allows. The agent takes a call's breakpoint out once the
//! call was trapped [`SITE_TRAPS_MAX`] times, or no traps are left, even in the middle of an interval. The session asks for the call again
//! later, so that its callees are sampled.

use core::sync::atomic::Ordering::*;

use evenkeel_wire::{Control, Form, Probe, Wanted};

use crate::patcher::Patcher;
use crate::plan::Plan;

/// Traps of one call before its breakpoint is taken out: by then its frequent callees are known, and other calls need traps, too.
pub const SITE_TRAPS_MAX: u32 = 512;

/// Counts a trap of a call. Returns whether its breakpoint may stay; if not, [`Patcher::withdraw`] is due.
pub fn may_stay(control: &Control, probe: &Probe) -> bool {
    if probe.form == Form::Entry as u8 {
        return true; // not trapped to learn anything
    }
    if probe.wanted.load(Acquire) != Wanted::Discover as u32 {
        return false; // the session, or another process, has enough of it
    }
    let has_part = probe.traps.fetch_add(1, Relaxed) + 1 < SITE_TRAPS_MAX;
    let is_granted = control.traps_left.fetch_sub(1, Relaxed) > 1;
    if has_part && is_granted {
        return true;
    }
    let (discover, off) = (Wanted::Discover as u32, Wanted::Off as u32);
    let _ = probe
        .wanted
        .compare_exchange(discover, off, AcqRel, Relaxed);
    false
}

impl Patcher {
    /// Puts the original instruction of a call back that is trapped. Does nothing where it is not.
    ///
    /// # Safety
    /// As for [`Patcher::apply`]; the call's code is mapped. May be called in the handler of SIGTRAP.
    pub unsafe fn withdraw(&mut self, plan: &Plan<'_>, id: u32) {
        self.untrap_at_once(plan, id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call that the session wants trapped, and the number of traps left for all.
    fn granted(left: i64) -> (Box<Control>, Box<Probe>) {
        // SAFETY: all zeros are a control page and a probe.
        let (control, mut probe): (Box<Control>, Box<Probe>) =
            unsafe { (Box::new(core::mem::zeroed()), Box::new(core::mem::zeroed())) };
        control.traps_left.store(left, Relaxed);
        probe.form = Form::ShortIndirectCall as u8;
        probe.wanted.store(Wanted::Discover as u32, Relaxed);
        (control, probe)
    }

    fn traps(control: &Control, probe: &Probe) -> u32 {
        (1..).find(|_| !may_stay(control, probe)).expect("it ends")
    }

    #[test]
    fn a_call_is_left_alone_when_it_has_had_its_part() {
        let (control, probe) = granted(1_000_000);
        assert_eq!(traps(&control, &probe), SITE_TRAPS_MAX);
        assert_eq!(probe.wanted.load(Relaxed), Wanted::Off as u32);
        // Another process still has its breakpoint.
        assert!(!may_stay(&control, &probe));
        assert_eq!(
            control.traps_left.load(Relaxed),
            1_000_000 - i64::from(SITE_TRAPS_MAX)
        );
    }

    #[test]
    fn all_are_left_alone_when_no_traps_are_left() {
        let (control, probe) = granted(10);
        assert_eq!(traps(&control, &probe), 10);
        let (_, other) = granted(0);
        assert!(!may_stay(&control, &other));
    }

    #[test]
    fn a_hook_that_is_a_breakpoint_stays() {
        let (control, mut probe) = granted(0);
        probe.form = Form::Entry as u8;
        probe.wanted.store(Wanted::On as u32, Relaxed);
        assert!(may_stay(&control, &probe));
    }
}
