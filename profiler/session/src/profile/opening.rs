//! Opening a function: the calls that it makes are timed where they are, at the entries of those whom they lead to, or else by the calls
//! that these make.

use std::time::Instant;

use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_symbols::{Callee, Module, Site, Unpatchable, unversioned};
use evenkeel_wire::{Form, Wanted};

use super::Session;
use super::steps::{AtEntry, Below};
use super::trapping::is_discovered_only;
use crate::location::Location;
use crate::modules::Modules;
use crate::plan::{Untimed, by_code, is_timed};
use crate::refine::known::{Again, Callees, Calls, Pointers};
use evenkeel_intervals::calling_back;

/// Probes planted at a time, those that never run included. They cost the target nothing while it does not run them; to
/// plant one takes about 20 us, its trampoline 300 bytes.
const PLANTED_MAX: usize = 1 << 14;

impl Session<'_> {
    /// Times the calls that a function makes: all of them, since which of them run is not known before, and those that do
    /// not cost nothing. False if it was known before, and nothing more was planted.
    pub(super) fn open(&mut self, function: Location) -> bool {
        let now = Instant::now();
        let Ok(module) = self.modules.get(&self.arena, function.module) else {
            self.steps.known.function_mut(function).calls = Calls::NoneToTime;
            return true;
        };
        let was = self.steps.known.function(function).calls;
        let (mut planted, mut any, mut crowded) = (false, false, false);
        for site in module.call_sites(function.address) {
            if is_discovered_only(&site) {
                any = true;
                self.note_pointer(function, &module, &site);
                continue;
            }
            let room = self.plan.planted().count() < PLANTED_MAX;
            if let Some((callee, reason)) = self.jumps_to(function, &site) {
                any = true;
                crowded |= !room;
                planted |= room && self.time_jump(function, &module, &site, callee, reason);
                continue;
            }
            let id = self
                .plan
                .add_site(&mut self.arena, function.module, &module, &site);
            let Some(id) = id else {
                any |= room && self.time_under_entry(function, &module, &site);
                continue;
            };
            if self.steps.known.probe(id).taken_out.is_out() {
                continue;
            }
            any = true;
            crowded |= !room;
            if room && self.plan.probes()[id as usize].wanted == Wanted::Off {
                planted = true;
                self.plan.want(&self.arena, id, Wanted::On);
            }
        }
        let again = match was {
            Calls::PartiallyOpened(again) => again.later(now),
            _ => Again::first(now),
        };
        self.steps.known.function_mut(function).calls = match (any, crowded) {
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

    /// The function in which another goes on by a jump that cannot be redirected, and why it cannot.
    fn jumps_to(&mut self, function: Location, site: &Site) -> Option<(Location, Unpatchable)> {
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
                self.modules.definition(&self.arena, name)
            }
            Callee::Pointer => None,
        };
        Some((callee?, reason))
    }

    /// Times whom such a jump leads to. False if it was timed before. Where frame descriptions do not say that nothing is on the stack, as in
    /// assembly, an entry may be more than a function's, and only the calls behind it are timed.
    fn time_jump(
        &mut self,
        holder: Location,
        module: &Module,
        site: &Site,
        callee: Location,
        reason: Unpatchable,
    ) -> bool {
        let call = Untimed::call(&self.arena, holder.module, module, site.address);
        self.plan.note_unpatched(call, by_code(reason), false);
        let jump = Below::Jump {
            holder,
            site: Location::new(holder.module, site.address),
            reason,
        };
        match module.stack_is_as_called(site.address) {
            true => self.time_at_entry(jump, callee),
            false => self.open_below(jump, callee),
        }
    }

    /// Times a function at its entry, or else by the calls that it makes. False if it was timed before, or may not be.
    pub(super) fn time_at_entry(&mut self, below: Below, callee: Location) -> bool {
        if !Modules::may_open(&self.arena, callee.module) {
            return false;
        }
        let Ok(module) = self.modules.get(&self.arena, callee.module) else {
            return false;
        };
        let Some(entry) = self.plan.add_entry(&mut self.arena, callee, &module) else {
            return self.open_below(below, callee);
        };
        if self.steps.known.probe(entry).taken_out.is_out() {
            return false;
        }
        self.steps.entries.push(AtEntry {
            below,
            callee,
            entry,
        });
        let is_new = self.plan.probes()[entry as usize].wanted == Wanted::Off;
        if is_new {
            self.plan.want(&self.arena, entry, Wanted::On);
        }
        is_new
    }

    /// A call that lies under the hook at its function's entry, which carries it out, is not timed where it is: whom it leads to is timed
    /// at the entry, or else by the calls that it makes. So is the jump of a function that does nothing but go on in another, if frame
    /// descriptions say that nothing is on the stack. False if it does not lie there, or leads to what is not opened.
    fn time_under_entry(&mut self, function: Location, module: &Module, site: &Site) -> bool {
        if !self.plan.is_under_entry(function, site.address) {
            return false;
        }
        let callee = match &site.callee {
            Callee::Function(entry) => Some(Location::new(function.module, *entry)),
            Callee::Import(import) => {
                let name = unversioned(import);
                self.modules.definition(&self.arena, name)
            }
            Callee::Pointer => None,
        };
        let is_open = |callee: &Location| Modules::may_open(&self.arena, callee.module);
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
            true => self.time_at_entry(below, callee),
            false => self.open_below(below, callee),
        };
        true
    }

    /// A call through a pointer that is too short to be timed where it is.
    fn note_pointer(&mut self, function: Location, module: &Module, site: &Site) {
        let pointers = &mut self.steps.known.function_mut(function).pointers;
        if *pointers == Pointers::None {
            *pointers = Pointers::Unexplored { next: 0 };
        }
        if let Some(reason) = site.unpatchable() {
            let call = Untimed::call(&self.arena, function.module, module, site.address);
            self.plan.note_unpatched(call, by_code(reason), false);
        }
    }

    /// Finds where an import leads.
    pub(super) fn follow(&mut self, id: u32) {
        let now = Instant::now();
        self.steps.known.probe_mut(id).callees = Callees::Sought(Again::first(now));
        let Some(import) = self.plan.probes()[id as usize].import.clone() else {
            return;
        };
        let name = unversioned(&import);
        if let Some(callee) = self.modules.definition(&self.arena, name) {
            self.open_below(Below::Probe(id), callee);
        } else if calling_back::calls_back(name) {
            self.discover(&[id]);
        }
    }

    /// Opens a function whose calls are to lie below what leads to it; behind a jump it is the search that does so, where the time of the
    /// function that jumps is worth it. False if nothing was opened.
    pub(super) fn open_below(&mut self, below: Below, callee: Location) -> bool {
        let Ok(module) = self.modules.get(&self.arena, callee.module) else {
            return false;
        };
        match below {
            Below::Probe(id) if is_timed(self.plan.probes()[id as usize].form) => {
                let height = module.height(callee.address).unwrap_or(0);
                self.plan.add_callee(id, callee, height);
            }
            Below::Probe(_) => self.open_through(below, callee, &module),
            Below::Jump { .. } | Below::UnderEntry { .. } => {
                self.open_through(below, callee, &module);
                return false;
            }
        }
        self.steps.known.function(callee).calls == Calls::NotOpened && self.open(callee)
    }

    /// The calls of a function that is timed neither where it is called nor at its entry lie below its caller's. What it does itself, and in
    /// calls of it that cannot be timed, stands in the caller's own time.
    fn open_through(&mut self, below: Below, callee: Location, module: &Module) {
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
            } => (holder, self.call_at(site), by_code(reason)),
            Below::UnderEntry { holder, site } => {
                (holder, self.call_at(site), NotTimed::UnderInnerEntry)
            }
        };
        let is_new = self.steps.known.function_mut(holder).calls_through(callee);
        if let Some(call) = call.filter(|_| is_new) {
            let name = module.name(callee.address);
            let reason = NotTimed::NeitherEnd(Box::new(what), name);
            self.plan.note_hidden(call, reason);
        }
    }

    fn call_at(&mut self, site: Location) -> Option<Untimed> {
        let module = self.modules.get(&self.arena, site.module).ok()?;
        Some(Untimed::call(
            &self.arena,
            site.module,
            &module,
            site.address,
        ))
    }
}
