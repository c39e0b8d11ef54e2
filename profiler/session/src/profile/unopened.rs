//! Why the time at calls is not split further when a session ends.

use std::collections::BTreeMap;

use evenkeel_analysis::findings::unseen::Unopened;
use evenkeel_analysis::profile::Unpatched;
use evenkeel_symbols::{Unpatchable, unversioned};
use evenkeel_wire::{Form, Role};

use super::{IntervalSelector, Session};
use crate::location::Location;
use crate::modules::Modules;
use crate::refine::known::{Calls, Pointers};
use evenkeel_intervals::calling_back;
use evenkeel_intervals::spec::Shape;

/// One sentence for each reason: what hides there, and what would show it.
const NOT_OPENED: &str = "the calls that it makes were not timed: it did not explain enough, or not surely, while there was time to go on; profile for longer (--for), lower --threshold, or name it as --interval";
const TOO_COSTLY: &str = "to time the calls that it makes would cost more than --max-overhead: raise it, or name it as --interval";
const NO_ROOM: &str =
    "some of the calls that it makes had to make room for others: raise --max-probes";
const POINTERS: &str =
    "it calls through pointers that were not all looked at: profile for longer (--for)";
const ELSEWHERE: &str = "it goes on in the middle of another function by a jump, as what is written in assembly does (an interpreter): which calls it makes there is not known; name a function that it calls as --interval";
const SYSTEM: &str = "it is in the C library or the loader, which are not opened: what it waits for is all that can be said (--waits)";
const SYSTEM_CALLING_BACK: &str = "it is in the C library, which is not opened; the function of the program that it calls back was not found, or to time it would cost more than --max-overhead: name that one as --interval";
const NOWHERE: &str = "which functions it runs in was not found out, as no stack of a thread could be followed where it begins and ends: name one of them with within=FUNCTION";
const NO_CALLEE: &str = "whom it calls was not found out: profile for longer (--for), or install the debug symbols of what it calls";
const IN_NO_FILE: &str = "it leads to code that lies in no file which the loader names, made at run time (a JIT compiler) or loaded into a namespace of its own (dlmopen), which is not opened: name a function that this code calls as --interval";
const UNDER_ENTRY: &str = "whom it calls cannot be found out, as it lies under the hook at the function's entry: name the interval by its call, as caller>function";

impl Session<'_> {
    /// Calls whose inside was not timed, or not all of it, each with the reason.
    pub(super) fn unopened(&mut self) -> Vec<Unopened> {
        let refused = refused_by_function(&self.refiner.plan.unpatched(&self.arena));
        let scope = self.refiner.scope.clone();
        let mut all: Vec<Unopened> = Vec::new();
        let probes: Vec<(Option<u32>, Vec<Location>)> = self
            .refiner
            .plan
            .probes()
            .iter()
            .enumerate()
            .filter(|(_, planned)| {
                matches!(
                    planned.role,
                    Role::Inner | Role::Label | Role::Gate | Role::End
                )
            })
            .map(|(id, planned)| (Some(id as u32), planned.callees.clone()))
            .chain([(None, scope)])
            .collect();
        for (probe, callees) in probes {
            let refused = self.why_refused(probe, &callees, &refused);
            let of_callees = callees.iter().find_map(|&callee| self.why_unopened(callee));
            let nowhere = (probe.is_none() && self.runs_nowhere()).then_some(NOWHERE);
            let of_callees = nowhere.or(of_callees);
            let unknown = probe.filter(|_| callees.is_empty());
            let unknown = unknown.and_then(|id| self.why_unknown(id));
            let why = of_callees.or(unknown).map(str::to_owned).or(refused);
            all.extend(why.map(|why| Unopened {
                probe,
                waits_tell: why == SYSTEM,
                why,
            }));
        }
        all
    }

    /// Whether the interval is what lies between two calls, and nobody knows in which functions.
    fn runs_nowhere(&self) -> bool {
        let IntervalSelector::Spec(spec) = &self.settings.selector else {
            return false; // a preset knows them
        };
        let is_call = matches!(spec.shape, Shape::Call(_));
        self.refiner.refines()
            && !is_call
            && spec.within.is_empty()
            && !self.stacks.have_shown_around()
    }

    /// The same for a call of which the search has not asked whom it leads to. An import is followed only when it is opened, so until
    /// then it may be of any library, or of the program itself.
    fn why_unknown(&mut self, probe: u32) -> Option<&'static str> {
        let planned = &self.refiner.plan.probes()[probe as usize];
        let Some(import) = &planned.import else {
            let leads_nowhere = self.refiner.plan.leads_nowhere(&self.arena, probe);
            return Some(match planned.is_fixed {
                true => UNDER_ENTRY,
                false if leads_nowhere => IN_NO_FILE,
                false if self.refiner.known.probe(probe).too_costly => TOO_COSTLY,
                false => NO_CALLEE,
            });
        };
        let name = unversioned(import);
        let Some(module) = self.modules.defining(&self.arena, name) else {
            return Some(NO_CALLEE);
        };
        if !Modules::may_open(&self.arena, module) {
            let calls_back = calling_back::calls_back(name);
            return Some(if calls_back {
                SYSTEM_CALLING_BACK
            } else {
                SYSTEM
            });
        }
        match self.modules.definition(&self.arena, name) {
            Some(callee) => self.why_unopened(callee),
            None => Some(NO_CALLEE),
        }
    }

    /// What was refused in the functions that a call leads to. One through a pointer is named by that, so that the sentence names whom it
    /// was found to call.
    fn why_refused(
        &mut self,
        probe: Option<u32>,
        callees: &[Location],
        refused: &BTreeMap<String, String>,
    ) -> Option<String> {
        let named = probe.map(|id| self.refiner.plan.sites.sites[id as usize].callee.as_str());
        if let Some(why) = named.and_then(|name| refused.get(name)) {
            return Some(why.clone());
        }
        callees.iter().find_map(|&callee| {
            let name = self.name_of(callee)?;
            let why = refused.get(&name)?;
            Some(match probe {
                Some(_) => format!("it calls {name}: {why}"),
                None => why.clone(),
            })
        })
    }

    pub(super) fn name_of(&mut self, function: Location) -> Option<String> {
        let module = self.modules.get(&self.arena, function.module).ok()?;
        Some(module.name(function.address))
    }

    /// Whether a call through a pointer that is too short to be timed was met to lead into no file.
    fn calls_into_no_file(&self, function: Location) -> bool {
        let mut probes = self.refiner.plan.probes().iter().enumerate();
        probes.any(|(id, planned)| {
            let is_short = matches!(planned.form, Form::ShortIndirectCall | Form::IndirectJump);
            is_short
                && planned.holder == function
                && self.refiner.plan.leads_nowhere(&self.arena, id as u32)
        })
    }

    fn why_unopened(&mut self, function: Location) -> Option<&'static str> {
        if !Modules::may_open(&self.arena, function.module) {
            return Some(SYSTEM);
        }
        let known = self.refiner.known.function(function);
        match (known.calls, known.pointers) {
            (Calls::NotOpened, _) => {
                let module = self.modules.get(&self.arena, function.module).ok()?;
                let makes_calls = !module.call_sites(function.address).is_empty();
                let why = if known.too_costly {
                    TOO_COSTLY
                } else {
                    NOT_OPENED
                };
                makes_calls.then_some(why)
            }
            (Calls::PartiallyOpened(_), _) => Some(NO_ROOM),
            (_, Pointers::Unexplored { .. }) if known.too_costly => Some(TOO_COSTLY),
            (_, Pointers::Unexplored { .. }) => Some(POINTERS),
            _ if self.calls_into_no_file(function) => Some(IN_NO_FILE),
            // Beside the calls that it makes where it is, too: LuaJIT's `lua_resume` makes some when it fails.
            (Calls::NoneToTime | Calls::Opened, _) => {
                let module = self.modules.get(&self.arena, function.module).ok()?;
                let goes_on = module.jumps_into_another(function.address);
                goes_on.then_some(ELSEWHERE)
            }
        }
    }
}

/// Call sites whose time is not known, in words, by the function in which they are. Those that take no time of their own (they never return,
/// or look up a thread's variable) are no reason.
fn refused_by_function(unpatched: &[Unpatched]) -> BTreeMap<String, String> {
    let through_pointers = [
        Unpatchable::ShortIndirectCall,
        Unpatchable::IndirectTailJump,
    ]
    .map(|reason| reason.to_string());
    let mut by_function: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for unpatched in unpatched {
        if !unpatched.hides_time && !through_pointers.contains(&unpatched.reason) {
            continue;
        }
        let site = unpatched.site.as_str();
        let site = site.rsplit_once(" at ").map_or(site, |(_, site)| site);
        let site = site.split_once('!').map_or(site, |(_, site)| site);
        if let Some((function, _)) = site.rsplit_once("+0x") {
            let entry = by_function.entry(function).or_default();
            *entry = (entry.0 + 1, &unpatched.reason);
        }
    }
    let in_words = |(count, reason): (usize, &str)| {
        let calls = match count {
            1 => "a call".to_owned(),
            many => format!("{many} calls"),
        };
        let is_through_pointer = through_pointers.iter().any(|pointer| pointer == reason);
        let remedy = if is_through_pointer {
            ": profile for longer (--for)"
        } else {
            ""
        };
        format!("{calls} in it cannot be timed: {reason}{remedy}")
    };
    by_function
        .into_iter()
        .map(|(function, refused)| (function.to_owned(), in_words(refused)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check of the stack in every function is no reason why the function's time is not known further.
    #[test]
    fn calls_that_take_no_time_are_no_reason() {
        let unpatched = |site: &str, reason: Unpatchable, hides_time| Unpatched {
            site: site.into(),
            reason: reason.to_string(),
            hides_time,
        };
        let refused = refused_by_function(&[
            unpatched("lib.so!f+0x10", Unpatchable::ShortIndirectCall, false),
            unpatched("lib.so!f+0x20", Unpatchable::NeverReturns, false),
            unpatched("g+0x10", Unpatchable::NeverReturns, false),
            unpatched("callee at h+0x10", Unpatchable::ShortTailJump, true),
        ]);
        assert_eq!(refused.keys().collect::<Vec<_>>(), ["f", "h"]);
        assert!(refused["f"].starts_with("a call in it cannot be timed: a call through a pointer"));
    }
}
