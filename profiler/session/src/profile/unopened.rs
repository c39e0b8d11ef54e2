//! Why the time at calls is not split further when a session ends.

use std::collections::BTreeMap;

use evenkeel_analysis::findings::reasons::{NotSplit, NotTimed};
use evenkeel_analysis::findings::unseen::Unopened;
use evenkeel_analysis::profile::Unpatched;
use evenkeel_analysis::sites::Function;
use evenkeel_symbols::unversioned;
use evenkeel_wire::{Form, Role};

use super::{IntervalSelector, Session};
use crate::location::Location;
use crate::modules::Modules;
use crate::plan::file_name;
use crate::refine::known::{Calls, Pointers};
use evenkeel_intervals::calling_back;
use evenkeel_intervals::spec::Shape;

impl Session<'_> {
    /// Calls whose inside was not timed, or not all of it, each with the reason.
    pub(super) fn unopened(&mut self) -> Vec<Unopened> {
        let refused = refused_by_function(self.refiner.plan.unpatched(&self.records.arena));
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
            let nowhere = (probe.is_none() && self.runs_nowhere()).then_some(NotSplit::Nowhere);
            let of_callees = nowhere.or(of_callees);
            let unknown = probe.filter(|_| callees.is_empty());
            let unknown = unknown.and_then(|id| self.why_unknown(id));
            let why = of_callees.or(unknown).or(refused);
            all.extend(why.map(|why| Unopened {
                probe,
                waits_tell: why == NotSplit::System,
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
            && !self.stacks.copied.have_shown_around()
    }

    /// The reason for a call whose callee the search has not asked for. An import is followed only when it is
    /// expanded, so until then it may be of any library, or of the program itself.
    fn why_unknown(&mut self, probe: u32) -> Option<NotSplit> {
        let planned = &self.refiner.plan.probes()[probe as usize];
        let Some(import) = &planned.import else {
            let leads_nowhere = self.refiner.plan.leads_nowhere(&self.records.arena, probe);
            return Some(match planned.is_fixed {
                true => NotSplit::UnderEntry,
                false if leads_nowhere => NotSplit::IntoNoFile,
                false if self.refiner.known.probe(probe).too_costly => NotSplit::TooCostly,
                false => NotSplit::NoCallee,
            });
        };
        let name = unversioned(import);
        let Some(module) = self.modules.defining(&self.records.arena, name) else {
            return Some(NotSplit::NoCallee);
        };
        if !Modules::may_open(&self.records.arena, module) {
            let calls_back = calling_back::calls_back(name);
            return Some(if calls_back {
                NotSplit::SystemCallingBack
            } else {
                NotSplit::System
            });
        }
        match self.modules.definition(&self.records.arena, name) {
            Some(callee) => self.why_unopened(callee),
            None => Some(NotSplit::NoCallee),
        }
    }

    /// The refusals in the functions that a call leads to. A call through a pointer is named with its discovered
    /// callees.
    fn why_refused(
        &mut self,
        probe: Option<u32>,
        callees: &[Location],
        refused: &BTreeMap<Function, (usize, NotTimed)>,
    ) -> Option<NotSplit> {
        let callee = |id: u32| self.refiner.plan.sites.sites[id as usize].callee.clone();
        let callee = probe.map(callee);
        callees.iter().find_map(|&function| {
            let name = self.name_of(function)?;
            let file = Some(file_name(&self.records.arena, function.module));
            let (calls, reason) = refused.get(&Function { name, file })?;
            let name = self.name_of(function)?;
            Some(NotSplit::Refused {
                calls: *calls,
                reason: reason.clone(),
                of: callee
                    .as_ref()
                    .is_some_and(|callee| *callee != name)
                    .then_some(name),
            })
        })
    }

    pub(super) fn name_of(&mut self, function: Location) -> Option<String> {
        let module = self
            .modules
            .get(&self.records.arena, function.module)
            .ok()?;
        Some(module.name(function.address))
    }

    /// Whether a call through a pointer that is too short to be timed was met to lead into no file.
    fn calls_into_no_file(&self, function: Location) -> bool {
        let mut probes = self.refiner.plan.probes().iter().enumerate();
        probes.any(|(id, planned)| {
            let is_short = matches!(planned.form, Form::ShortIndirectCall | Form::IndirectJump);
            is_short
                && planned.holder == function
                && self
                    .refiner
                    .plan
                    .leads_nowhere(&self.records.arena, id as u32)
        })
    }

    fn why_unopened(&mut self, function: Location) -> Option<NotSplit> {
        if !Modules::may_open(&self.records.arena, function.module) {
            return Some(NotSplit::System);
        }
        let known = self.refiner.known.function(function);
        match (known.calls, known.pointers) {
            (Calls::NotOpened | Calls::OnPath, _) => {
                let module = self
                    .modules
                    .get(&self.records.arena, function.module)
                    .ok()?;
                let makes_calls = !module.call_sites(function.address).is_empty();
                let why = if known.too_costly {
                    NotSplit::TooCostly
                } else {
                    NotSplit::NotOpened
                };
                makes_calls.then_some(why)
            }
            (Calls::PartiallyOpened(_), _) => Some(NotSplit::NoRoom),
            (_, Pointers::Unexplored { .. }) if known.too_costly => Some(NotSplit::TooCostly),
            (_, Pointers::Unexplored { .. }) => Some(NotSplit::Pointers),
            _ if self.calls_into_no_file(function) => Some(NotSplit::IntoNoFile),
            // In addition to the calls in its own code: LuaJIT's `lua_resume` makes some when it fails.
            (Calls::NoneToTime | Calls::Opened, _) => {
                let module = self
                    .modules
                    .get(&self.records.arena, function.module)
                    .ok()?;
                let goes_on = module.jumps_into_another(function.address);
                goes_on.then_some(NotSplit::GoesOnElsewhere)
            }
        }
    }
}

/// Number of call sites that are not timed, and the last one's reason, by their function. Sites that take no time
/// (they never return, or look up a thread's variable) are no reason.
fn refused_by_function(unpatched: Vec<Unpatched>) -> BTreeMap<Function, (usize, NotTimed)> {
    let mut by_function: BTreeMap<Function, (usize, NotTimed)> = BTreeMap::new();
    let counts = |call: &Unpatched| call.hides_time || call.reason.is_through_pointer();
    for call in unpatched.into_iter().filter(counts) {
        if let Some(function) = call.within {
            let (calls, reason) = by_function.entry(function).or_default();
            *calls += 1;
            *reason = call.reason;
        }
    }
    by_function
}

#[cfg(test)]
mod tests {
    use evenkeel_symbols::Unpatchable;

    use super::*;
    use crate::plan::by_code;

    /// The check of the stack in every function is no reason why the function's time is not known further.
    #[test]
    fn calls_that_take_no_time_are_no_reason() {
        let function = |name: &str| Function {
            name: name.to_owned(),
            file: Some("lib.so".to_owned()),
        };
        let unpatched = |within: &str, reason: Unpatchable, hides_time| Unpatched {
            within: Some(function(within)),
            reason: by_code(reason),
            hides_time,
            ..Unpatched::default()
        };
        let refused = refused_by_function(vec![
            unpatched("f", Unpatchable::ShortIndirectCall, false),
            unpatched("f", Unpatchable::NeverReturns, false),
            unpatched("g", Unpatchable::NeverReturns, false),
            unpatched("h", Unpatchable::ShortTailJump, true),
        ]);
        let (f, h) = (function("f"), function("h"));
        assert_eq!(refused.keys().collect::<Vec<_>>(), [&f, &h]);
        assert_eq!(refused[&f], (1, NotTimed::ShortPointerCall));
    }
}
