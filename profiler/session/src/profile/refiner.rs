//! The plan of probes, knowledge about functions and calls, and the state of the search.
//!
//! A look at the profile gives [`Refiner::decide`] reason to [`Action`]s; [`Refiner::carry_out`] changes the plan
//! accordingly. Between the two nothing happens, so that a decision can be shown, and tested, without a target.

mod code;
mod on_paths;
mod opening;
mod planting;
mod search;
mod trapping;
mod unopened;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use evenkeel_analysis::analysis::Snapshot;
use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_wire::{Form, Role, Wanted};

use super::Planting;
use super::records::Records;
use crate::arena::Arena;
use crate::location::Location;
use crate::plan::Plan;
use crate::refine::known::{Again, Calls, Known};
use crate::refine::patience::{Patience, part_since_long};
use crate::refine::policy::{SCOPE_MAX, SURE_ERRORS};
use crate::refine::{self, Candidate, Closing, Cost, DueSteps, Limits, State, Step};
pub(crate) use code::Code;
use on_paths::{OnPath, SlowPaths};
pub(crate) use search::Search;
use search::{AtEntry, Pace};

/// A change of what is timed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Take a step of refinement.
    Take(Candidate),
    /// Take out a probe.
    Close(u32, Cause),
    /// Time a call again that was taken out for what it cost.
    BringBack(u32),
    /// Time a call in which slow intervals were seen.
    TimeOnPath(OnPath),
}

/// Why a probe is taken out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cause {
    /// Intervals lose records because of it.
    LostRecords,
    /// It costs too much for what it explains.
    OverBudget {
        /// Mean latency with it, ns: it may come back once intervals are much slower.
        mean_ns: f64,
    },
    /// Others need its room.
    Room,
}

/// The decision after a look.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    /// Changes to make.
    pub(crate) actions: Vec<Action>,
    /// The steps among which a person is to choose.
    pub(crate) offered: Vec<Candidate>,
    /// News to report: steps, or that none are left.
    pub(crate) news: Option<Vec<Candidate>>,
    /// Cost of the probes that stay.
    pub(crate) cost: Cost,
    /// The next state until the next look.
    then: Then,
}

/// How the search continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Then {
    /// As it did.
    #[default]
    Same,
    /// At this pace, or, if no action leads on, at rest.
    RestElse(Pace),
    /// At this pace.
    Go(Pace),
}

/// The search's knowledge of a run when it looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Intervals up to now.
    pub(crate) intervals: u64,
    /// Call paths up to now.
    pub(crate) paths: usize,
    /// Half of the time is over that the user gave.
    pub(crate) is_late: bool,
    /// By what part of the latency recorded intervals were measured to take longer, where that is told apart from
    /// chance.
    pub(crate) measured: Option<f64>,
    /// Cost of a probe where nothing is recorded, nanoseconds.
    pub(crate) passed_ns: f64,
}

/// The plan, what is known, and the search.
pub(crate) struct Refiner {
    planting: Planting,
    limits: Limits,
    pub(crate) plan: Plan,
    /// Functions whose calls lie directly below the root.
    pub(crate) scope: Vec<Location>,
    /// The interval has keys.
    is_keyed: bool,
    /// Functions that do the work of intervals with keys.
    works: Vec<Location>,
    pub(crate) known: Known,
    pub(crate) search: Search,
    /// Hooked entries whose agents may yet refuse them.
    entries: Vec<AtEntry>,
    /// Steps that were taken, and functions whose calls had to make room (to open them), since the last look: what they
    /// left is not known yet.
    unmeasured: Vec<Step>,
    /// Calls that may be trapped.
    allowance: trapping::Allowance,
    /// Probes of calls with only a sample trapped.
    sampled_calls: BTreeSet<u32>,
    /// Calls in which slow intervals were seen.
    slow_paths: SlowPaths,
}

impl Refiner {
    pub(crate) fn new(planting: Planting, limits: Limits) -> Refiner {
        Refiner {
            planting,
            limits,
            plan: Plan::new("", 0),
            scope: Vec::new(),
            is_keyed: false,
            works: Vec::new(),
            known: Known::default(),
            search: Search::default(),
            entries: Vec::new(),
            unmeasured: Vec::new(),
            allowance: trapping::Allowance::new(limits.overhead_max),
            sampled_calls: BTreeSet::new(),
            slow_paths: SlowPaths::default(),
        }
    }

    pub(super) fn refines(&self) -> bool {
        matches!(self.planting, Planting::Refine | Planting::Manual)
    }

    /// Lets agents see the plan if it changed, and begins the round that it makes.
    pub(super) fn publish(&mut self, records: &mut Records) {
        let plan = &mut self.plan;
        if let Some(generation) = plan.publish(&records.arena) {
            records.sink.write_sites(&plan.sites);
            let mut probes = plan.probes().iter();
            let traps = probes.any(|planned| planned.wanted == Wanted::Discover);
            let planted = plan.planted().collect();
            records.sink.plan_changed(generation, planted, traps);
            self.search.look_from(records.intervals());
        }
    }

    /// Takes in functions that were seen on threads that held intervals up, and in which intervals were seen to run.
    pub(super) fn note_seen(&mut self, wakers: Vec<Location>, around: Vec<Location>) {
        for function in wakers {
            if self.known.add_waker(function) {
                self.search.wake();
            }
        }
        for function in around {
            if self.scope.len() < SCOPE_MAX && !self.scope.contains(&function) {
                self.scope.push(function);
                self.search.wake();
            }
        }
    }

    /// From a look at the profile to what is changed.
    pub(crate) fn decide(&mut self, look: &Snapshot, at: &Moment) -> Decision {
        let patience = Patience {
            searched: self.search.searched(at.intervals),
            part_of_run: look.part_of_run(),
            part_since_long: part_since_long(&look.intervals_by_round),
            is_late: at.is_late,
            is_early_look: self.search.is_early_look(at.intervals),
        };
        // What has just begun has little time yet: it is looked at once more.
        let has_new = self.search.meets_new(at.paths);
        let decision = match self.refines() {
            true => self.repairs(look),
            false => None,
        };
        let cost = Cost::of(&look.profile, at.measured, at.passed_ns);
        let decision = match decision {
            Some(repairs) => Decision { cost, ..repairs },
            None => self.steps(look, cost, &patience, has_new),
        };
        self.search.look_from(at.intervals);
        decision
    }

    /// Repairs come first: intervals must keep their records, and a call that was too costly is timed once it is not.
    /// Until the next look the observations are no sample.
    fn repairs(&mut self, look: &Snapshot) -> Option<Decision> {
        let thinned = self.to_thin(look);
        if !thinned.is_empty() {
            let close = |id| Action::Close(id, Cause::LostRecords);
            return Some(Decision {
                actions: thinned.into_iter().map(close).collect(),
                ..Decision::default()
            });
        }
        let back = self.known.coming_back(look.profile.mean_ns);
        (!back.is_empty()).then(|| Decision {
            actions: back.into_iter().map(Action::BringBack).collect(),
            then: Then::Go(self.search.pace().awake()),
            ..Decision::default()
        })
    }

    /// The steps of refinement, and what makes room for them.
    fn steps(
        &mut self,
        look: &Snapshot,
        cost: Cost,
        patience: &Patience,
        has_new: bool,
    ) -> Decision {
        self.measure_left(look);
        let DueSteps {
            steps: next,
            too_costly,
        } = self.next_steps(look, cost, patience);
        let closings = self.closings(look, cost, patience.is_round_cheap() || !next.is_empty());
        self.note_too_costly(&too_costly);
        let may_find_more = self.may_find_more(look, patience);
        let is_undecided = self.refines() && (patience.is_early_look || may_find_more);
        let is_at_end = !has_new && !is_undecided;
        let news = self.search.news(&next, is_at_end);
        if !self.refines() {
            return Decision {
                news,
                cost,
                then: Then::Go(Pace::Rest),
                ..Decision::default()
            };
        }
        let pace = match Patience::is_led_by(&next) {
            true => Pace::Follow,
            false => Pace::Usual,
        };
        let mean_ns = look.profile.mean_ns;
        let close = |closing: &Closing| match closing.over_budget {
            true => Action::Close(closing.id, Cause::OverBudget { mean_ns }),
            false => Action::Close(closing.id, Cause::Room),
        };
        let mut actions: Vec<Action> = closings.iter().map(close).collect();
        let mut offered = Vec::new();
        match self.planting {
            Planting::Manual => offered = next,
            _ => actions.extend(next.into_iter().map(Action::Take)),
        }
        Decision {
            actions,
            offered,
            news,
            cost: refine::without(cost, &closings),
            then: match is_at_end {
                true => Then::RestElse(pace),
                false => Then::Go(pace),
            },
        }
    }

    /// Changes the plan as decided.
    pub(crate) fn carry_out(&mut self, decision: Decision, code: &mut Code<'_>) {
        let mut leads_on = false;
        for action in decision.actions {
            match action {
                Action::Take(candidate) => leads_on |= self.take(&candidate, code),
                Action::Close(id, cause) => self.close(id, cause, code.arena),
                Action::BringBack(id) => self.bring_back(id, code.arena),
                Action::TimeOnPath(call) => self.time_on_path(&call, code),
            }
        }
        match decision.then {
            Then::Same => {}
            Then::Go(pace) => self.search.set_pace(pace),
            Then::RestElse(pace) => {
                self.search
                    .set_pace(if leads_on { pace } else { Pace::Rest });
            }
        }
        if !decision.offered.is_empty() {
            self.search.offer(decision.offered);
        }
    }

    /// Takes the steps that a person has chosen.
    pub(crate) fn take_chosen(&mut self, chosen: &[usize], code: &mut Code<'_>) {
        let offered = self.search.take_offered();
        let picked: Vec<&Candidate> = chosen.iter().filter_map(|&i| offered.get(i)).collect();
        if picked.is_empty() {
            self.search.set_pace(Pace::Rest);
        }
        for candidate in picked {
            self.take(candidate, code);
        }
    }

    /// Refinement's knowledge other than the profile.
    fn state(&self, now: Instant) -> State<'_> {
        State {
            probes: self.plan.probes(),
            scope: &self.scope,
            known: &self.known,
            now,
        }
    }

    /// The steps that a look gives reason to; all that a person may choose from.
    fn next_steps(&self, look: &Snapshot, cost: Cost, patience: &Patience) -> DueSteps {
        let (limits, state) = (&self.limits, self.state(Instant::now()));
        let root_height = self.plan.sites.root_height;
        match self.planting {
            Planting::Manual => DueSteps {
                steps: refine::candidates(&look.profile.tree, root_height, limits, &state),
                too_costly: Vec::new(),
            },
            Planting::Refine => {
                let trees = [&look.recent, &look.round];
                let mut next =
                    refine::worth_a_round(&trees, root_height, limits, &state, patience, cost);
                // Late, each look that opens something ends a long round.
                if patience.is_early() {
                    next.steps.truncate(limits.opened_at_once);
                }
                next
            }
            Planting::First(_) | Planting::Every => DueSteps::default(),
        }
    }

    /// Notes steps that would cost too much.
    fn note_too_costly(&mut self, too_costly: &[Step]) {
        for step in too_costly {
            match *step {
                Step::Open(function) | Step::DiscoverIn(function) => {
                    self.known.function_mut(function).too_costly = true;
                }
                Step::Discover(probe) | Step::Follow(probe) => {
                    self.known.probe_mut(probe).too_costly = true;
                }
            }
        }
    }

    /// Whether there is something to open that may yet turn out to contribute enough.
    fn may_find_more(&self, look: &Snapshot, patience: &Patience) -> bool {
        let state = self.state(Instant::now());
        let root_height = self.plan.sites.root_height;
        let is_too_costly = |step| match step {
            Step::Open(function) | Step::DiscoverIn(function) => {
                self.known.function(function).too_costly
            }
            Step::Discover(probe) | Step::Follow(probe) => self.known.probe(probe).too_costly,
        };
        refine::candidates(&look.round, root_height, &self.limits, &state)
            .iter()
            .any(|candidate| patience.waits_for(candidate) && !is_too_costly(candidate.step))
    }

    /// Probes to take out; those that only make room, `if_room_is_needed`.
    fn closings(&self, look: &Snapshot, spent: Cost, if_room_is_needed: bool) -> Vec<Closing> {
        let state = self.state(Instant::now());
        let planted: Vec<u32> = self.plan.planted().collect();
        let opened = |id| state.has_opened(id);
        let mut closings = refine::to_close(&look.profile, spent, &self.limits, opened, &planted);
        closings.retain(|closing| closing.over_budget || if_room_is_needed);
        closings
    }

    /// Notes how much time is left of the steps' explanation, or of functions whose calls have made room. A large
    /// rest is no reason for another step.
    fn measure_left(&mut self, look: &Snapshot) {
        let unmeasured = std::mem::take(&mut self.unmeasured);
        if unmeasured.is_empty() {
            return;
        }
        // As if the time for a second look had come.
        let state = self.state(Instant::now() + Duration::from_secs(1 << 20));
        let root_height = self.plan.sites.root_height;
        let all = refine::candidates(&look.round, root_height, &self.limits, &state);
        for step in unmeasured {
            let left = all.iter().find(|candidate| candidate.step == step);
            let left = left.map_or(0.0, at_most);
            self.known.set_left(step, Some(left));
        }
    }

    /// Probes that make intervals lose records.
    fn to_thin(&self, look: &Snapshot) -> Vec<u32> {
        let probes = self.plan.probes();
        let is_planted = |id: u32| {
            probes
                .get(id as usize)
                .is_some_and(|planned| planned.wanted == Wanted::On && planned.role == Role::Inner)
        };
        refine::to_thin(look.crowded_part, &look.crowded, is_planted)
    }

    /// Takes a probe out. If that only makes room, its caller stays a candidate for when there is room again.
    fn close(&mut self, id: u32, cause: Cause, arena: &Arena) {
        self.plan.want(arena, id, Wanted::Off);
        let taken_out = &mut self.known.probe_mut(id).taken_out;
        match cause {
            Cause::LostRecords => {
                taken_out.for_good();
                self.note_taken_out(id, NotTimed::LosesRecords);
            }
            Cause::OverBudget { mean_ns } => {
                taken_out.at(mean_ns);
                self.note_taken_out(id, NotTimed::CalledTooOften);
            }
            Cause::Room => {
                let holder = self.plan.probes()[id as usize].holder;
                let known = self.known.function_mut(holder);
                if known.calls == Calls::Opened {
                    known.calls = Calls::PartiallyOpened(Again::first(Instant::now()));
                }
                let opening = Step::Open(holder);
                self.known.set_left(opening, None);
                if !self.unmeasured.contains(&opening) {
                    self.unmeasured.push(opening);
                }
            }
        }
    }

    fn note_taken_out(&mut self, id: u32, reason: NotTimed) {
        let callee = self.plan.sites.sites[id as usize].callee_shown();
        let call = self.plan.probe(id).of_callee(&callee);
        self.plan.note_unpatched(call, reason, true);
    }

    fn bring_back(&mut self, id: u32, arena: &Arena) {
        self.plan.want(arena, id, Wanted::On);
        let holder = self.plan.probes()[id as usize].holder;
        let known = self.known.function_mut(holder);
        if known.calls == Calls::NoneToTime {
            known.calls = Calls::Opened;
        }
    }

    /// Takes out the calls that the callees of a probe make. What there is to open is looked for anew.
    pub(super) fn close_by_hand(&mut self, probe: u32, arena: &Arena) {
        let Some(planned) = self.plan.probes().get(probe as usize) else {
            return;
        };
        for callee in planned.callees.clone() {
            let planted: Vec<u32> = self.plan.planted().collect();
            for id in planted {
                let below = &self.plan.probes()[id as usize];
                if below.holder == callee && below.form != Form::Entry && !below.is_fixed {
                    self.plan.want(arena, id, Wanted::Off);
                }
            }
            self.known.function_mut(callee).calls = Calls::NotOpened;
        }
        self.search.set_pace(Pace::Usual);
    }

    /// Takes a step. False if nothing was learned that could lead to another.
    fn take(&mut self, candidate: &Candidate, code: &mut Code<'_>) -> bool {
        if matches!(candidate.step, Step::Discover(_) | Step::DiscoverIn(_)) {
            self.known
                .set_left(candidate.step, Some(at_most(candidate)));
            self.unmeasured.push(candidate.step);
        }
        match candidate.step {
            Step::Open(function) => return self.open(function, code),
            Step::Follow(id) => self.follow(id, code),
            Step::Discover(id) => self.discover(&[id], code.arena),
            Step::DiscoverIn(function) => {
                let ids = self.pointer_probes(function, code);
                self.discover(&ids, code.arena);
            }
        }
        true
    }
}

/// The largest part that a step may explain.
fn at_most(candidate: &Candidate) -> f64 {
    candidate.contribution + (SURE_ERRORS * candidate.se).min(candidate.contribution)
}
