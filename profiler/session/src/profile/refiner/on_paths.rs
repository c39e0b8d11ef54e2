//! Calls in which slow intervals were seen. Those on the path of a stack are timed at once, each in its place,
//! through pointers, the loops of interpreters and linkage tables. A search from the top would need a slow interval
//! for each level.
//!
//! Of the functions on a path only the calls that continue it are timed. Their other calls follow like any step of
//! refinement, if their time is worth it.

use std::collections::HashMap;
use std::time::Instant;

use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_symbols::{Callee, Module, Site};
use evenkeel_wire::Wanted;

use super::search::Below;
use super::trapping::is_discovered_only;
use super::{Action, Code, Decision, Refiner, Then};
use crate::location::Location;
use crate::modules::Modules;
use crate::plan::Untimed;
use crate::refine::known::{Again, Callees, Calls};
use crate::refine::policy::{MUCH, ON_PATHS_MAX, PLANTED_MAX};
use crate::slow::{SlowStack, Step};

/// A call on the path of a slow interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OnPath {
    /// The function that makes it.
    pub(crate) caller: Location,
    /// An address inside of the call's instruction.
    pub(crate) at: u64,
    /// The function that it has led to, if that is known.
    pub(crate) callee: Option<Location>,
    /// A function of the system was called, or generated code, and has called that one.
    pub(crate) calls_back: bool,
}

/// Calls in which slow intervals were seen.
#[derive(Debug, Default)]
pub(crate) struct SlowPaths {
    calls: HashMap<OnPath, Seen>,
    /// Time of all stacks, weighted by the ages of their intervals, ticks squared.
    weight: f64,
    /// Something was added since it was last decided.
    has_new: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    weight: f64,
    is_timed: bool,
}

impl SlowPaths {
    /// Adds the stack of an interval.
    fn add(&mut self, stack: &SlowStack, scope: &[Location]) {
        let begins = stack.path.first().and_then(|step| step.function);
        // Where the interval runs is not known: what is further out may be the whole server.
        if !begins.is_some_and(|function| scope.contains(&function)) {
            return;
        }
        let weight = stack.unseen as f64 * stack.age as f64;
        self.weight += weight;
        self.has_new = true;
        let mut on_path: Vec<OnPath> = Vec::new();
        let calls = stack
            .path
            .iter()
            .zip(1..)
            .filter(|(_, next)| *next < stack.path.len());
        for (step, next) in calls {
            // Where it was called from is not known: the interval's own function is expanded instead.
            let Some(caller) = step
                .function
                .filter(|_| next == 1 || !step.goes_on_elsewhere)
            else {
                continue;
            };
            let is_of_file = |step: &&Step| !step.goes_on_elsewhere;
            let mut below = stack.path[next..].iter().filter(is_of_file);
            let called = &stack.path[next];
            let call = OnPath {
                caller,
                at: step.at,
                callee: below.find_map(|step| step.function),
                calls_back: called.function.is_none() || called.goes_on_elsewhere,
            };
            // In a recursion a call is on the path several times.
            if !on_path.contains(&call) {
                on_path.push(call);
            }
        }
        for call in on_path {
            let has_room = self.calls.len() < ON_PATHS_MAX;
            if has_room || self.calls.contains_key(&call) {
                self.calls.entry(call).or_default().weight += weight;
            }
        }
    }

    /// The calls to time that have much of the slow intervals' time, in order of their callers; once each.
    fn due(&mut self) -> Vec<OnPath> {
        if !std::mem::take(&mut self.has_new) {
            return Vec::new();
        }
        let least = MUCH * self.weight;
        let due = self.calls.iter_mut().filter_map(|(call, seen)| {
            let is_due = seen.weight >= least && !seen.is_timed;
            seen.is_timed |= is_due;
            is_due.then_some(*call)
        });
        let mut due: Vec<OnPath> = due.collect();
        due.sort_by_key(|call| (call.caller, call.at));
        due
    }
}

impl Refiner {
    /// Takes in a stack of a slow interval.
    pub(crate) fn note_slow(&mut self, stack: &SlowStack) {
        let begin = self.begin_paths().to_vec();
        self.slow_paths.add(stack, &begin);
    }

    /// The functions with which a path of calls may begin. Around those that do the work of intervals with keys is an
    /// event loop.
    pub(crate) fn begin_paths(&self) -> &[Location] {
        match self.is_keyed {
            true => &self.works,
            false => &self.scope,
        }
    }

    /// The calls to time in which slow intervals were seen.
    pub(crate) fn decide_on_paths(&mut self) -> Decision {
        if !matches!(self.planting, super::Planting::Refine) {
            return Decision::default();
        }
        let due = self.slow_paths.due();
        let then = match due.is_empty() {
            true => Then::Same,
            false => Then::Go(self.search.pace().awake()),
        };
        Decision {
            actions: due.into_iter().map(Action::TimeOnPath).collect(),
            then,
            ..Decision::default()
        }
    }

    /// Times a call in which slow intervals were seen, and the function that it has led to, where the instruction does
    /// not name it.
    pub(super) fn time_on_path(&mut self, call: &OnPath, code: &mut Code<'_>) {
        let OnPath {
            caller, at, callee, ..
        } = *call;
        if !Modules::may_open(code.arena, caller.module)
            || self.plan.planted().count() >= PLANTED_MAX
        {
            return;
        }
        let Ok(module) = code.module(caller.module) else {
            return;
        };
        let sites = module.call_sites(caller.address);
        let is_it = |site: &&Site| (site.address..site.address + u64::from(site.len)).contains(&at);
        let Some(site) = sites.iter().find(is_it) else {
            // It continues in another function by a jump, or the instruction was moved.
            self.open(caller, code);
            return;
        };
        let callee = callee.filter(|callee| Modules::may_open(code.arena, callee.module));
        if let Callee::Function(named) = site.callee {
            let named = Location::new(caller.module, named);
            if !call.calls_back && callee.is_some_and(|callee| callee != named) {
                // That one continues in the other by a jump.
                self.open(named, code);
            }
        }
        let is_new = self.known.function(caller).calls == Calls::NotOpened;
        let id = self.plan.add_site(code.arena, caller.module, &module, site);
        let Some(id) = id else {
            self.open(caller, code);
            return;
        };
        if self.known.probe(id).taken_out.is_out() {
            return;
        }
        match is_discovered_only(site) {
            true => self.note_pointer(caller, &module, site, code.arena),
            false => self.plan.want(code.arena, id, Wanted::On),
        }
        if let Some(callee) = callee {
            self.lead_to(id, site, callee, call.calls_back, code);
        }
        if is_new {
            self.known.function_mut(caller).calls = Calls::OnPath;
        }
        self.note_beside(caller, &module, &sites, code);
    }

    /// Notes the function that a call has led to.
    fn lead_to(
        &mut self,
        id: u32,
        site: &Site,
        callee: Location,
        calls_back: bool,
        code: &mut Code<'_>,
    ) {
        match site.callee {
            Callee::Function(_) | Callee::Import(_) if calls_back => {
                self.time_at_entry(Below::Probe(id), callee, code);
            }
            Callee::Function(_) => {}
            Callee::Import(_) => {
                if let Ok(module) = code.module(callee.module) {
                    let height = module.height(callee.address).unwrap_or(0);
                    self.plan.add_callee(id, callee, height);
                    self.known.probe_mut(id).callees =
                        Callees::Sought(Again::first(Instant::now()));
                }
            }
            Callee::Pointer => {
                self.time_at_entry(Below::Probe(id), callee, code);
            }
        }
    }

    /// The time of a function's other calls is not its own: one of them has a note of that until all are timed.
    fn note_beside(
        &mut self,
        function: Location,
        module: &Module,
        sites: &[Site],
        code: &mut Code<'_>,
    ) {
        if self.known.function(function).calls != Calls::OnPath {
            return;
        }
        let is_beside = |site: &&Site| {
            let place = Location::new(function.module, site.address);
            site.unpatchable().is_none() && !self.plan.is_planted_at(place)
        };
        match sites.iter().find(is_beside) {
            Some(site) => {
                let call = Untimed::call(code.arena, function.module, module, site.address);
                self.plan.note_unpatched(call, NotTimed::BesidePath, true);
            }
            // There are no others.
            None => {
                self.open(function, code);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: u64) -> Location {
        Location::new(0, address)
    }

    fn stack(path: &[u64], age: u64) -> SlowStack {
        let step = |&address: &u64| Step {
            name: address.to_string(),
            function: Some(at(address)),
            at: address + 4,
            goes_on_elsewhere: false,
        };
        SlowStack {
            path: path.iter().map(step).collect(),
            interval: 0,
            age,
            unseen: age,
        }
    }

    fn call(caller: u64, callee: u64) -> OnPath {
        OnPath {
            caller: at(caller),
            at: caller + 4,
            callee: Some(at(callee)),
            calls_back: false,
        }
    }

    /// One stall of a second shows three calls at once; hundreds of short intervals show others that have no part of
    /// the time.
    #[test]
    fn one_stall_shows_all_calls_of_its_path() {
        let mut paths = SlowPaths::default();
        paths.add(&stack(&[1, 20, 30, 40], 1_000_000), &[at(1)]);
        assert_eq!(paths.due(), [call(1, 20), call(20, 30), call(30, 40)]);
        assert!(paths.due().is_empty(), "once");
        for _ in 0..300 {
            paths.add(&stack(&[1, 50, 60], 10_000), &[at(1)]);
        }
        assert!(paths.due().is_empty());
        for _ in 0..3 {
            paths.add(&stack(&[1, 50, 70], 1_000_000), &[at(1)]);
        }
        assert_eq!(paths.due(), [call(1, 50), call(50, 70)]);
    }

    /// Outside of the interval's function there may be the whole server.
    #[test]
    fn a_path_from_elsewhere_is_left_alone() {
        let mut paths = SlowPaths::default();
        paths.add(&stack(&[2, 20, 30], 1_000), &[at(1)]);
        assert!(paths.due().is_empty());
    }

    #[test]
    fn a_recursion_counts_once() {
        let mut paths = SlowPaths::default();
        paths.add(&stack(&[1, 20, 20, 20], 1_000), &[at(1)]);
        assert_eq!(paths.due(), [call(1, 20), call(20, 20)]);
        assert_eq!(paths.calls[&call(20, 20)].weight, 1e6);
    }
    /// The function calls one of the C library's, which calls another back.
    #[test]
    fn what_the_system_calls_back_is_led_to() {
        let mut stack = stack(&[1, 20, 30], 1_000);
        stack.path[1].function = None;
        let mut paths = SlowPaths::default();
        paths.add(&stack, &[at(1)]);
        let back = OnPath {
            calls_back: true,
            ..call(1, 30)
        };
        assert_eq!(paths.due(), [back]);
    }

    /// The function continues in generated code, which calls another: that is timed below the call of the first one.
    #[test]
    fn what_generated_code_calls_is_led_to() {
        let mut stack = stack(&[1, 20, 30, 40], 1_000);
        (stack.path[1].goes_on_elsewhere, stack.path[1].at) = (true, 0);
        let mut paths = SlowPaths::default();
        paths.add(&stack, &[at(1)]);
        let through = OnPath {
            calls_back: true,
            ..call(1, 30)
        };
        assert_eq!(paths.due(), [through, call(30, 40)]);
    }
}
