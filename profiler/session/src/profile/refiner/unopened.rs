//! Why the time at calls is not split further when a session ends.

use std::collections::BTreeMap;

use evenkeel_analysis::findings::reasons::{NotSplit, NotTimed};
use evenkeel_analysis::findings::unseen::Unopened;
use evenkeel_analysis::profile::Unpatched;
use evenkeel_analysis::sites::Function;
use evenkeel_symbols::unversioned;
use evenkeel_wire::{Form, Role};

use super::{Code, Refiner};
use crate::arena::Arena;
use crate::location::Location;
use crate::modules::Modules;
use crate::refine::known::{Calls, Pointers};
use evenkeel_intervals::calling_back;

impl Refiner {
    /// Calls whose inside was not timed, or not all of it, each with the reason. `runs_nowhere`: nobody knows in which
    /// functions the interval runs.
    pub(in crate::profile) fn unopened(
        &self,
        runs_nowhere: bool,
        code: &mut Code<'_>,
    ) -> Vec<Unopened> {
        let refused = refused_by_function(self.plan.unpatched(code.arena));
        let mut all: Vec<Unopened> = Vec::new();
        let has_calls = |role| matches!(role, Role::Inner | Role::Label | Role::Gate | Role::End);
        let probes = self.plan.probes().iter().enumerate();
        let probes = probes.filter(|(_, planned)| has_calls(planned.role));
        let probes = probes.map(|(id, planned)| (Some(id as u32), &planned.callees));
        let interval = self.opening_scope(code.arena);
        for (probe, callees) in probes.chain([(None, &interval)]) {
            let refused = self.why_refused(probe, callees, &refused, code);
            let mut functions = callees.iter();
            let of_callees = functions.find_map(|&callee| self.why_unopened(callee, code));
            let nowhere = (probe.is_none() && runs_nowhere).then_some(NotSplit::Nowhere);
            let of_callees = nowhere.or(of_callees);
            let unknown = probe.filter(|_| callees.is_empty());
            let unknown = unknown.and_then(|id| self.why_unknown(id, code));
            let why = of_callees.or(unknown).or(refused);
            all.extend(why.map(|why| Unopened {
                probe,
                waits_tell: why == NotSplit::System,
                why,
            }));
        }
        all
    }

    /// The interval's functions. Where it lies between two of the C library's, those that are around it may be opened.
    fn opening_scope(&self, arena: &Arena) -> Vec<Location> {
        let scope = self.scope.iter().copied();
        let may_open: Vec<Location> = scope
            .filter(|function| Modules::may_open(arena, function.module))
            .collect();
        match may_open.is_empty() {
            true => self.scope.clone(),
            false => may_open,
        }
    }

    /// The reason for a call whose callee the search has not asked for. An import is followed only when it is
    /// expanded, so until then it may be of any library, or of the program itself.
    fn why_unknown(&self, probe: u32, code: &mut Code<'_>) -> Option<NotSplit> {
        let planned = &self.plan.probes()[probe as usize];
        let Some(import) = &planned.import else {
            let leads_nowhere = self.plan.leads_nowhere(code.arena, probe);
            return Some(match planned.is_fixed {
                true => NotSplit::UnderEntry,
                false if leads_nowhere => NotSplit::IntoNoFile,
                false if self.known.probe(probe).too_costly => NotSplit::TooCostly,
                false => NotSplit::NoCallee,
            });
        };
        let name = unversioned(import);
        let Some(module) = code.modules.defining(code.arena, name) else {
            return Some(NotSplit::NoCallee);
        };
        if !Modules::may_open(code.arena, module) {
            let calls_back = calling_back::calls_back(name);
            return Some(if calls_back {
                NotSplit::SystemCallingBack
            } else {
                NotSplit::System
            });
        }
        match code.definition(name) {
            Some(callee) => self.why_unopened(callee, code),
            None => Some(NotSplit::NoCallee),
        }
    }

    /// The refusals in the functions that a call leads to. A call through a pointer is named with its discovered
    /// callees.
    fn why_refused(
        &self,
        probe: Option<u32>,
        callees: &[Location],
        refused: &BTreeMap<Function, (usize, NotTimed)>,
        code: &mut Code<'_>,
    ) -> Option<NotSplit> {
        let callee = |id: u32| self.plan.sites.sites[id as usize].callee.clone();
        let callee = probe.map(callee);
        callees.iter().find_map(|&function| {
            let function = code.named(function)?;
            let is_another = callee
                .as_ref()
                .is_some_and(|callee| *callee != function.name);
            let (calls, reason) = refused.get(&function)?;
            Some(NotSplit::Refused {
                calls: *calls,
                reason: reason.clone(),
                of: is_another.then_some(function.name),
            })
        })
    }

    /// Whether a call through a pointer that is too short to be timed was met to lead into no file.
    fn calls_into_no_file(&self, function: Location, arena: &Arena) -> bool {
        let mut probes = self.plan.probes().iter().enumerate();
        probes.any(|(id, planned)| {
            let is_short = matches!(planned.form, Form::ShortIndirectCall | Form::IndirectJump);
            is_short && planned.holder == function && self.plan.leads_nowhere(arena, id as u32)
        })
    }

    fn why_unopened(&self, function: Location, code: &mut Code<'_>) -> Option<NotSplit> {
        if !Modules::may_open(code.arena, function.module) {
            return Some(NotSplit::System);
        }
        let known = self.known.function(function);
        match (known.calls, known.pointers) {
            (Calls::NotOpened | Calls::OnPath, _) => {
                let module = code.module(function.module).ok()?;
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
            _ if self.calls_into_no_file(function, code.arena) => Some(NotSplit::IntoNoFile),
            // In addition to the calls in its own code: LuaJIT's `lua_resume` makes some when it fails.
            (Calls::NoneToTime | Calls::Opened, _) => {
                let module = code.module(function.module).ok()?;
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
