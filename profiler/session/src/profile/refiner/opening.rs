//! Expands a function: its calls are timed in their places, or at the entries of their callees, or else by the
//! callees' own calls.

use std::time::Instant;

use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_symbols::{Callee, Module, Site, Unpatchable, unversioned};
use evenkeel_wire::{Form, Wanted};

use super::search::{AtEntry, Below};
use super::trapping::is_discovered_only;
use super::{Code, Refiner};
use crate::arena::Arena;
use crate::location::Location;
use crate::modules::Modules;
use crate::plan::{Untimed, by_code, is_timed};
use crate::refine::known::{Again, Callees, Calls, Pointers};
use crate::refine::policy::PLANTED_MAX;
use evenkeel_intervals::calling_back;

impl Refiner {
    /// Times the calls that a function makes: all of them, since which of them run is not known before, and those that
    /// do not cost nothing. False if it was known before, and nothing more was planted.
    pub(super) fn open(&mut self, function: Location, code: &mut Code<'_>) -> bool {
        let now = Instant::now();
        let Ok(module) = code.module(function.module) else {
            self.known.function_mut(function).calls = Calls::NoneToTime;
            return true;
        };
        let was = self.known.function(function).calls;
        let (mut planted, mut any, mut crowded) = (false, false, false);
        for site in module.call_sites(function.address) {
            if is_discovered_only(&site) {
                any = true;
                self.note_pointer(function, &module, &site, code.arena);
                continue;
            }
            let room = self.plan.planted().count() < PLANTED_MAX;
            if let Some((callee, reason)) = jumps_to(function, &site, code) {
                any = true;
                crowded |= !room;
                planted |= room && self.time_jump(function, &module, &site, (callee, reason), code);
                continue;
            }
            let id = self
                .plan
                .add_site(code.arena, function.module, &module, &site);
            let Some(id) = id else {
                any |= room && self.time_under_entry(function, &module, &site, code);
                continue;
            };
            if self.known.probe(id).taken_out.is_out() {
                continue;
            }
            any = true;
            crowded |= !room;
            if room && self.plan.probes()[id as usize].wanted == Wanted::Off {
                planted = true;
                self.plan.want(code.arena, id, Wanted::On);
            }
        }
        let again = match was {
            Calls::PartiallyOpened(again) => again.later(now),
            _ => Again::first(now),
        };
        self.known.function_mut(function).calls = match (any, crowded) {
            (false, _) => Calls::NoneToTime,
            (true, true) => Calls::PartiallyOpened(again),
            // What had to make room once may have to again: then it is tried later and later.
            (true, false) if matches!(was, Calls::PartiallyOpened(_)) => {
                Calls::PartiallyOpened(again)
            }
            (true, false) => Calls::Opened,
        };
        planted || was == Calls::NotOpened
    }

    /// Times the target of such a jump. Returns false if it was timed already. If frame descriptions do not show that
    /// the stack at the jump is as at a call (as in assembly), the target may not be a function's entry. Then only the
    /// calls that it makes are timed.
    fn time_jump(
        &mut self,
        holder: Location,
        module: &Module,
        site: &Site,
        (callee, reason): (Location, Unpatchable),
        code: &mut Code<'_>,
    ) -> bool {
        let call = Untimed::call(code.arena, holder.module, module, site.address);
        self.plan.note_unpatched(call, by_code(reason), false);
        let jump = Below::Jump {
            holder,
            site: Location::new(holder.module, site.address),
            reason,
        };
        match module.stack_is_as_called(site.address) {
            true => self.time_at_entry(jump, callee, code),
            false => self.open_below(jump, callee, code),
        }
    }

    /// Times a function at its entry, or else by the calls that it makes. False if it was timed before, or may not be.
    pub(super) fn time_at_entry(
        &mut self,
        below: Below,
        callee: Location,
        code: &mut Code<'_>,
    ) -> bool {
        if !Modules::may_open(code.arena, callee.module) {
            return false;
        }
        let Ok(module) = code.module(callee.module) else {
            return false;
        };
        let Some(entry) = self.plan.add_entry(code.arena, callee, &module) else {
            return self.open_below(below, callee, code);
        };
        if self.known.probe(entry).taken_out.is_out() {
            return false;
        }
        self.entries.push(AtEntry {
            below,
            callee,
            entry,
        });
        let is_new = self.plan.probes()[entry as usize].wanted == Wanted::Off;
        if is_new {
            self.plan.want(code.arena, entry, Wanted::On);
        }
        is_new
    }

    /// A call under the hook at its function's entry, which carries it out, is not timed in its place. Its callee is
    /// timed at the entry, or else by the callee's own calls. So is the target of a function that only jumps, if
    /// frame descriptions say that the stack is empty. Returns false if the call does not lie there, or leads to a
    /// function that is not expanded.
    fn time_under_entry(
        &mut self,
        function: Location,
        module: &Module,
        site: &Site,
        code: &mut Code<'_>,
    ) -> bool {
        if !self.plan.is_under_entry(function, site.address) {
            return false;
        }
        let callee = match &site.callee {
            Callee::Function(entry) => Some(Location::new(function.module, *entry)),
            Callee::Import(import) => {
                let name = unversioned(import);
                code.definition(name)
            }
            Callee::Pointer => None,
        };
        let is_open = |callee: &Location| Modules::may_open(code.arena, callee.module);
        let Some(callee) = callee.filter(is_open) else {
            return false;
        };
        let place = Location::new(function.module, site.address);
        self.plan.note_at_entry(place);
        let below = Below::UnderEntry {
            holder: function,
            site: place,
        };
        let is_call = site.form != Ok(Form::TailJump);
        match is_call || module.stack_is_as_called(site.address) {
            true => self.time_at_entry(below, callee, code),
            false => self.open_below(below, callee, code),
        };
        true
    }

    /// A call through a pointer that is too short to be timed where it is.
    pub(super) fn note_pointer(
        &mut self,
        function: Location,
        module: &Module,
        site: &Site,
        arena: &Arena,
    ) {
        let pointers = &mut self.known.function_mut(function).pointers;
        if *pointers == Pointers::None {
            *pointers = Pointers::Unexplored { next: 0 };
        }
        if let Some(reason) = site.unpatchable() {
            let call = Untimed::call(arena, function.module, module, site.address);
            self.plan.note_unpatched(call, by_code(reason), false);
        }
    }

    /// Finds where an import leads.
    pub(super) fn follow(&mut self, id: u32, code: &mut Code<'_>) {
        let now = Instant::now();
        self.known.probe_mut(id).callees = Callees::Sought(Again::first(now));
        let Some(import) = self.plan.probes()[id as usize].import.clone() else {
            return;
        };
        let name = unversioned(&import);
        if let Some(callee) = code.definition(name) {
            self.open_below(Below::Probe(id), callee, code);
        } else if calling_back::calls_back(name) {
            self.discover(&[id], code.arena);
        }
    }

    /// Expands a function whose calls are to lie below the call that leads to it. Below a jump the search does that,
    /// where the time of the jumping function is worth it. Returns false if nothing was expanded.
    pub(super) fn open_below(
        &mut self,
        below: Below,
        callee: Location,
        code: &mut Code<'_>,
    ) -> bool {
        let Ok(module) = code.module(callee.module) else {
            return false;
        };
        match below {
            Below::Probe(id) if is_timed(self.plan.probes()[id as usize].form) => {
                let height = module.height(callee.address).unwrap_or(0);
                self.plan.add_callee(id, callee, height);
            }
            Below::Probe(_) => self.open_through(below, callee, &module, code),
            Below::Jump { .. } | Below::UnderEntry { .. } => {
                self.open_through(below, callee, &module, code);
                return false;
            }
        }
        self.known.function(callee).calls == Calls::NotOpened && self.open(callee, code)
    }

    /// A function may be timed neither where it is called nor at its entry. Its calls then lie below its caller's,
    /// and its own time, with calls that cannot be timed, is part of the caller's own time.
    fn open_through(
        &mut self,
        below: Below,
        callee: Location,
        module: &Module,
        code: &mut Code<'_>,
    ) {
        let (holder, call, what) = match below {
            Below::Probe(id) => (
                self.plan.probes()[id as usize].holder,
                Some(self.plan.probe(id)),
                NotTimed::ShortPointerCall,
            ),
            Below::Jump {
                holder,
                site,
                reason,
            } => (holder, call_at(site, code), by_code(reason)),
            Below::UnderEntry { holder, site } => {
                (holder, call_at(site, code), NotTimed::UnderInnerEntry)
            }
        };
        let is_new = self.known.function_mut(holder).calls_through(callee);
        if let Some(call) = call.filter(|_| is_new) {
            let name = module.name(callee.address);
            let reason = NotTimed::NeitherEnd(Box::new(what), name);
            self.plan.note_hidden(call, reason);
        }
    }
}

/// The function in which another continues by a jump that cannot be redirected, and the reason.
fn jumps_to(
    function: Location,
    site: &Site,
    code: &mut Code<'_>,
) -> Option<(Location, Unpatchable)> {
    let reason = site.form.err()?;
    let is_jump = matches!(
        reason,
        Unpatchable::ShortTailJump | Unpatchable::ConditionalTailJump
    );
    let callee = match &site.callee {
        _ if !is_jump => None,
        Callee::Function(entry) => Some(Location::new(function.module, *entry)),
        Callee::Import(import) => {
            let name = unversioned(import);
            code.definition(name)
        }
        Callee::Pointer => None,
    };
    Some((callee?, reason))
}

/// The call at an instruction, for a note.
fn call_at(site: Location, code: &mut Code<'_>) -> Option<Untimed> {
    let module = code.module(site.module).ok()?;
    Some(Untimed::call(
        code.arena,
        site.module,
        &module,
        site.address,
    ))
}
