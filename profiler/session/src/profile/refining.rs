//! Carrying out what refinement decides, round by round.

use std::time::{Duration, Instant};

use evenkeel_analysis::Analysis;
use evenkeel_analysis::analysis::Look;
use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_wire::{Form, Role, Wanted};

use super::Session;
use super::{Event, Observer, Planting};
use crate::refine::known::{Again, Calls};
use crate::refine::patience::{Patience, SURE_ERRORS, part_since_long};
use crate::refine::{self, Candidate, Closing, Cost, State, Step, Worth};

/// Functions in which intervals are found to run, at most.
const SCOPE_MAX: usize = 64;

impl Session<'_> {
    /// Called often; acts when the present round is ripe.
    pub(super) fn refine(&mut self, observer: &mut dyn Observer) {
        let seen = self
            .sink
            .analysis
            .as_ref()
            .map_or(0, Analysis::intervals_seen);
        if seen > 0 && self.steps.first_interval.is_none() {
            self.steps.first_interval = Some(Instant::now());
        }
        if self.steps.trapping.is_some() {
            self.trap_again();
            if self.has_trapped_enough(seen) {
                self.end_discovery();
            }
            self.publish();
            return;
        }
        if self.settings.planting == Planting::Manual
            && let Some(probe) = observer.closing()
        {
            self.close_by_hand(probe);
            self.publish();
        }
        if !self.steps.offered.is_empty() {
            if let Some(chosen) = observer.choice() {
                let offered = std::mem::take(&mut self.steps.offered);
                let picked: Vec<Candidate> = chosen
                    .iter()
                    .filter_map(|&i| offered.get(i).cloned())
                    .collect();
                self.steps.settled = picked.is_empty();
                self.take(&picked);
                self.publish();
            }
            return;
        }
        let paths = self.sink.analysis.as_ref().map_or(0, Analysis::paths_met);
        if self.steps.is_ripe(seen, paths) {
            self.judge_round(observer);
        }
    }

    fn judge_round(&mut self, observer: &mut dyn Observer) {
        let options = self.options();
        let Some(analysis) = &mut self.sink.analysis else {
            return;
        };
        let look = analysis.look(&self.plan.sites, &options);
        let seen = analysis.intervals_seen();
        let new = seen - self.steps.seen_then;
        let paths = analysis.paths_met();
        let patience = Patience {
            searched: self.steps.searched(seen),
            part_of_run: look.part_of_run(),
            part_since_long: part_since_long(&look.intervals_by_round),
            is_late: self.is_late(),
            is_early_look: self.steps.is_early_look(seen),
        };
        // What has just begun has little time yet: it is looked at once more.
        let has_new = paths > std::mem::replace(&mut self.steps.paths_then, paths);
        self.limit_by_cost(&look);
        if self.refines() && self.thin(&look, new) {
            // What is left out is no sample: it is looked at again when nothing is.
            self.steps.look_from(seen);
            self.publish();
            return;
        }
        if self.refines() && self.bring_back(look.profile.mean_ns) {
            self.steps.look_from(seen);
            self.steps.settled = false;
            self.publish();
            return;
        }
        self.open_below_refused_entries();
        self.measure_left(&look);
        let Worth {
            steps: next,
            too_costly,
        } = self.next_steps(&look, &patience);
        let closings = self.closings(&look, patience.is_round_cheap() || !next.is_empty());
        self.steps.follows = self.refines() && Patience::is_led_by(&next);
        let makes_room = self.has_room_for(&too_costly, &closings);
        let may_find_more = self.may_find_more(&look, &patience);
        let is_undecided =
            self.refines() && (patience.is_early_look || may_find_more || makes_room);
        self.report_steps(&look, &next, !has_new && !is_undecided, observer);
        self.steps.look_from(seen);
        if !self.refines() {
            self.steps.settled = true;
            return;
        }
        let mean_ns = look.profile.mean_ns;
        closings
            .iter()
            .for_each(|closing| self.close(closing, mean_ns));
        if self.settings.planting == Planting::Manual && !next.is_empty() {
            self.steps.offered = next;
        } else {
            self.steps.settled = !self.take(&next) && !has_new && !is_undecided;
        }
        self.publish();
    }

    /// Whether half of the time is over that the user gave, from the first interval on.
    fn is_late(&self) -> bool {
        let times = (
            self.settings.duration,
            self.hooked,
            self.steps.first_interval,
        );
        let (Some(limit), Some(hooked), Some(first)) = times else {
            return false;
        };
        let idle = first.saturating_duration_since(hooked);
        2 * first.elapsed() > limit.saturating_sub(idle)
    }

    /// Takes in what threads were in that held intervals up, or on which intervals began and ended.
    pub(super) fn note_stacks(&mut self) {
        if !self.refines() {
            return;
        }
        let seen = self.stacks.take(&self.arena, &mut self.modules);
        for function in seen.wakers {
            if self.steps.known.add_waker(function) {
                self.steps.settled = false;
            }
        }
        let Some((_, scope)) = &mut self.interval else {
            return;
        };
        for function in seen.around {
            if scope.len() < SCOPE_MAX && !scope.contains(&function) {
                scope.push(function);
                self.steps.settled = false;
            }
        }
    }

    /// Reports steps, and once that there are none left.
    fn report_steps(
        &mut self,
        look: &Look,
        next: &[Candidate],
        rests: bool,
        observer: &mut dyn Observer,
    ) {
        let is_news = !next.is_empty() || (rests && !self.steps.rest_reported);
        if is_news {
            let first = self.steps.first_interval;
            let next: Vec<Candidate> = next.iter().map(|step| self.named(step)).collect();
            observer.event(&Event::Ranking {
                profile: &look.profile,
                next: &next,
                seconds: first.map_or(0.0, |first| first.elapsed().as_secs_f64()),
            });
            self.steps.rest_reported = next.is_empty();
        }
    }

    /// A step under the name of the function that it looks into, whatever the time was that gave reason to it.
    fn named(&mut self, candidate: &Candidate) -> Candidate {
        let mut named = candidate.clone();
        if let Step::Open(function) | Step::DiscoverIn(function) = candidate.step
            && let Some(name) = self.name_of(function)
        {
            named.name = name;
        }
        named
    }

    pub(super) fn refines(&self) -> bool {
        matches!(self.settings.planting, Planting::Refine | Planting::Manual)
    }

    /// What refinement knows beside what it sees.
    fn state(&self, now: Instant) -> State<'_> {
        let scope = self.interval.as_ref().map(|(_, scope)| scope.as_slice());
        State {
            probes: self.plan.probes(),
            scope: scope.unwrap_or_default(),
            known: &self.steps.known,
            now,
        }
    }

    /// The steps that a look gives reason to; all that a person may choose from.
    fn next_steps(&self, look: &Look, patience: &Patience) -> Worth {
        let (limits, state) = (&self.settings.limits, self.state(Instant::now()));
        let root_height = self.plan.sites.root_height;
        match self.settings.planting {
            Planting::Manual => Worth {
                steps: refine::candidates(&look.profile.tree, root_height, limits, &state),
                too_costly: Vec::new(),
            },
            Planting::Refine => {
                let trees = [&look.recent, &look.round];
                let cost = self.cost(look);
                let mut next =
                    refine::worth_a_round(&trees, root_height, limits, &state, patience, cost);
                // Late, each look that opens something ends a long round.
                if patience.is_early() {
                    next.steps.truncate(limits.opened_at_once);
                }
                next
            }
            Planting::First(_) | Planting::Every => Worth::default(),
        }
    }

    /// Takes note of what would cost too much. Whether what is taken out makes room for some of it.
    fn has_room_for(&mut self, too_costly: &[Step], closings: &[Closing]) -> bool {
        let known = &mut self.steps.known;
        for step in too_costly {
            match *step {
                Step::Open(function) | Step::DiscoverIn(function) => {
                    known.function_mut(function).too_costly = true;
                }
                Step::Discover(probe) | Step::Follow(probe) => {
                    known.probe_mut(probe).too_costly = true;
                }
            }
        }
        !too_costly.is_empty() && closings.iter().any(|closing| closing.over_budget)
    }

    /// Whether there is something to open that may yet turn out to contribute enough.
    fn may_find_more(&self, look: &Look, patience: &Patience) -> bool {
        let state = self.state(Instant::now());
        let root_height = self.plan.sites.root_height;
        let limits = &self.settings.limits;
        let is_too_costly = |step| match step {
            Step::Open(function) | Step::DiscoverIn(function) => {
                self.steps.known.function(function).too_costly
            }
            Step::Discover(probe) | Step::Follow(probe) => self.steps.known.probe(probe).too_costly,
        };
        refine::candidates(&look.round, root_height, limits, &state)
            .iter()
            .any(|candidate| patience.waits_for(candidate) && !is_too_costly(candidate.step))
    }

    /// What probes cost, as it was measured where that is told apart from chance.
    fn cost(&self, look: &Look) -> Cost {
        Cost::of(&look.profile, self.duty_cycle.told_apart(look.self_cost))
    }

    /// Probes to take out; those that only make room, `if_room_is_needed`.
    fn closings(&self, look: &Look, if_room_is_needed: bool) -> Vec<Closing> {
        let (limits, state) = (&self.settings.limits, self.state(Instant::now()));
        let planted: Vec<u32> = self.plan.planted().collect();
        let spent = self.cost(look);
        let mut closings =
            refine::to_close(&look.profile, spent, &look.round, limits, &state, &planted);
        closings.retain(|closing| closing.over_budget || if_room_is_needed);
        closings
    }

    /// Takes note of what is left of the time that steps were to explain, or of functions whose calls have made room: that it is not small is
    /// no news.
    fn measure_left(&mut self, look: &Look) {
        let unmeasured = std::mem::take(&mut self.steps.unmeasured);
        if unmeasured.is_empty() {
            return;
        }
        // As if the time for a second look had come.
        let state = self.state(Instant::now() + Duration::from_secs(1 << 20));
        let root_height = self.plan.sites.root_height;
        let all = refine::candidates(&look.round, root_height, &self.settings.limits, &state);
        for step in unmeasured {
            let left = all.iter().find(|candidate| candidate.step == step);
            let left = left.map_or(0.0, at_most);
            // More than there was to be explained is of another load, which began meanwhile.
            let before = match step {
                Step::Open(_) => None,
                _ => self.steps.known.left_by(step),
            };
            let left = before.map_or(left, |before| left.min(before));
            self.steps.known.set_left(step, Some(left));
        }
    }

    /// Takes out what makes intervals lose records. False if none do.
    fn thin(&mut self, look: &Look, seen: u64) -> bool {
        let probes = self.plan.probes();
        let is_planted = |id: u32| {
            probes
                .get(id as usize)
                .is_some_and(|planned| planned.wanted == Wanted::On && planned.role == Role::Inner)
        };
        let (lost, calls) = (look.crowded.intervals, &look.crowded.calls);
        let thinned = refine::to_thin(seen, lost, calls, is_planted);
        for &id in &thinned {
            self.steps.known.probe_mut(id).taken_out.for_good();
            self.take_out(id, NotTimed::LosesRecords);
        }
        !thinned.is_empty()
    }

    /// Takes a probe out for a reason.
    fn take_out(&mut self, id: u32, reason: NotTimed) {
        self.plan.want(&self.arena, id, Wanted::Off);
        let callee = &self.plan.sites.sites[id as usize].callee;
        let call = self.plan.probe(id).of_callee(callee);
        self.plan.note_unpatched(call, reason, true);
    }

    /// What was taken out for what it cost is timed again once intervals are so slow that it costs little. Whether anything is.
    fn bring_back(&mut self, mean_ns: f64) -> bool {
        let back = self.steps.known.coming_back(mean_ns);
        for &id in &back {
            self.plan.want(&self.arena, id, Wanted::On);
            let holder = self.plan.probes()[id as usize].holder;
            let known = self.steps.known.function_mut(holder);
            if known.calls == Calls::NoneToTime {
                known.calls = Calls::Opened;
            }
        }
        !back.is_empty()
    }

    /// Takes a probe out. Its caller stays a candidate for when there is room again, or intervals are slower (`mean_ns`: now).
    fn close(&mut self, closing: &Closing, mean_ns: f64) {
        let id = closing.id;
        if closing.over_budget {
            self.steps.known.probe_mut(id).taken_out.at(mean_ns);
            self.take_out(id, NotTimed::CalledTooOften);
            return;
        }
        self.plan.want(&self.arena, id, Wanted::Off);
        let holder = self.plan.probes()[id as usize].holder;
        let known = self.steps.known.function_mut(holder);
        if known.calls == Calls::Opened {
            known.calls = Calls::PartiallyOpened(Again::first(Instant::now()));
        }
        let opening = Step::Open(holder);
        self.steps.known.set_left(opening, None);
        if !self.steps.unmeasured.contains(&opening) {
            self.steps.unmeasured.push(opening);
        }
    }

    /// Takes out the calls that the callees of a probe make. What there is to open is looked for anew.
    fn close_by_hand(&mut self, probe: u32) {
        let Some(planned) = self.plan.probes().get(probe as usize) else {
            return;
        };
        for callee in planned.callees.clone() {
            let planted: Vec<u32> = self.plan.planted().collect();
            for id in planted {
                let below = &self.plan.probes()[id as usize];
                if below.holder == callee && below.form != Form::Entry && !below.is_fixed {
                    self.plan.want(&self.arena, id, Wanted::Off);
                }
            }
            self.steps.known.function_mut(callee).calls = Calls::NotOpened;
        }
        self.steps.offered.clear();
        self.steps.settled = false;
    }

    /// Takes the steps. False if nothing was learned that could lead to another.
    fn take(&mut self, candidates: &[Candidate]) -> bool {
        let mut progress = false;
        for candidate in candidates {
            progress |= match candidate.step {
                Step::Open(function) => self.open(function),
                Step::Follow(id) => {
                    self.follow(id);
                    true
                }
                Step::Discover(id) => {
                    self.discover(&[id]);
                    true
                }
                Step::DiscoverIn(function) => {
                    let ids = self.pointer_probes(function);
                    self.discover(&ids);
                    true
                }
            };
            if matches!(candidate.step, Step::Discover(_) | Step::DiscoverIn(_)) {
                let left = Some(at_most(candidate));
                self.steps.known.set_left(candidate.step, left);
                self.steps.unmeasured.push(candidate.step);
            }
        }
        progress
    }

    /// Records fewer intervals where those that are recorded take longer than the user allows: by what was measured, where that
    /// is told apart from chance, or by what is estimated.
    fn limit_by_cost(&mut self, look: &Look) {
        let estimated = look.profile.overhead.estimated_fraction;
        let measured = self.duty_cycle.told_apart(look.self_cost);
        let slowed = measured.unwrap_or(0.0).max(estimated);
        let recorded = self.duty_cycle.limit_by_slowdown(slowed);
        self.slowdown = (recorded < 1.0).then_some(Warning::RecordedLess {
            measured: measured.is_some(),
            fraction: slowed,
            recorded,
        });
    }
}

/// What a step may explain at most.
fn at_most(candidate: &Candidate) -> f64 {
    candidate.contribution + (SURE_ERRORS * candidate.se).min(candidate.contribution)
}
