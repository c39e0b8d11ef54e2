//! The limit on traps while the callees of calls through pointers are learned.
//!
//! A trap costs microseconds, and an interpreter's dispatch makes millions of calls a second. So the session grants a number of traps for
//! all processes ([`Control::traps_left`]), which grows with time as `--max-overhead` allows. The agent takes a call's breakpoint out once the
//! call was trapped [`SITE_TRAPS_MAX`] times, or no traps are left, even in the middle of an interval. The session asks for the call again
//! later, so that its callees are sampled.

use core::sync::atomic::Ordering::*;

use evenkeel_wire::{Control, Form, Probe, Wanted};

use crate::module::LoadedModule;
use crate::patcher::{Patcher, Plan};

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
    /// As for [`Patcher::apply`]; the probe is of this module. May be called in the handler of SIGTRAP.
    pub unsafe fn withdraw(&mut self, plan: &Plan<'_>, id: u32, module: &LoadedModule) {
        if self.is_trapped(id) {
            // SAFETY: the caller's contract.
            unsafe { self.untrap(plan, id, module) };
        }
    }
}
