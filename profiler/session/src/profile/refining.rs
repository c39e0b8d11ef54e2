//! Refinement in the loop of a session: when a look is due, what the observer hears of it, and what it costs.

use std::time::Instant;

use evenkeel_analysis::Analysis;
use evenkeel_analysis::analysis::Snapshot;
use evenkeel_analysis::sites::shown;

use super::refiner::{Code, Moment, Refiner};
use super::{Event, Observer, Planting, Session};
use crate::refine::{Candidate, Step};

impl Session<'_> {
    /// The refiner, and what it changes the plan with.
    pub(super) fn refiner(&mut self) -> (&mut Refiner, Code<'_>) {
        let code = Code {
            arena: &mut self.records.arena,
            modules: &mut self.modules,
        };
        (&mut self.refiner, code)
    }

    /// Called often; acts when the present round is ripe.
    pub(super) fn refine(&mut self, observer: &mut dyn Observer) {
        let intervals = self.records.intervals();
        let analysis = self.records.sink.analysis.as_ref();
        let paths = analysis.map_or(0, Analysis::paths_met);
        self.refiner.search.note_intervals(intervals);
        if self.refiner.search.is_trapping() {
            let arena = &self.records.arena;
            self.refiner.trap_again(arena);
            if self.refiner.has_trapped_enough(intervals, arena) {
                let (refiner, mut code) = self.refiner();
                refiner.end_discovery(&mut code);
            }
            self.refiner.publish(&mut self.records);
            return;
        }
        if self.settings.planting == Planting::Manual
            && let Some(probe) = observer.closing()
        {
            self.refiner.close_by_hand(probe, &self.records.arena);
            self.refiner.publish(&mut self.records);
        }
        if self.refiner.search.is_offering() {
            if let Some(chosen) = observer.choice() {
                let (refiner, mut code) = self.refiner();
                refiner.take_chosen(&chosen, &mut code);
                self.refiner.publish(&mut self.records);
            }
            return;
        }
        if self.refiner.search.is_ripe(intervals, paths) {
            self.look(observer);
        } else {
            let decision = self.refiner.decide_on_paths();
            let (refiner, mut code) = self.refiner();
            refiner.carry_out(decision, &mut code);
            self.refiner.publish(&mut self.records);
        }
    }

    fn look(&mut self, observer: &mut dyn Observer) {
        let options = self.options();
        let (is_late, passed_ns) = (self.is_late(), self.records.passed_ns());
        let Some(analysis) = &mut self.records.sink.analysis else {
            return;
        };
        let look = analysis.look(&self.refiner.plan.sites, &options);
        let moment = Moment {
            intervals: analysis.intervals_seen(),
            paths: analysis.paths_met(),
            is_late,
            measured: self.records.duty_cycle.told_apart(look.self_cost),
            passed_ns,
        };
        self.target.watch.mean_ns = look.profile.mean_ns;
        let (refiner, mut code) = self.refiner();
        refiner.open_below_refused_entries(&mut code);
        let decision = refiner.decide(&look, &moment);
        self.run.slowdown = self
            .records
            .limit_by_cost(decision.cost, look.profile.mean_ns);
        if let Some(next) = &decision.news {
            self.report_steps(&look, next, observer);
        }
        let (refiner, mut code) = self.refiner();
        refiner.carry_out(decision, &mut code);
        self.refiner.publish(&mut self.records);
    }

    /// Whether half of the time is over that the user gave, from the first interval on.
    fn is_late(&self) -> bool {
        let times = (
            self.settings.duration,
            self.run.hooked,
            self.refiner.search.first_interval(),
        );
        let (Some(limit), Some(hooked), Some(first)) = times else {
            return false;
        };
        let idle = first.saturating_duration_since(hooked);
        2 * first.elapsed() > limit.saturating_sub(idle)
    }

    /// Takes in what threads were in that held intervals up, or on which intervals began and ended.
    pub(super) fn note_stacks(&mut self) {
        if !self.refiner.refines() {
            return;
        }
        let arena = &self.records.arena;
        let mut seen = self.stacks.take_copied(arena, &mut self.modules);
        if self.run.interval.is_none() {
            seen.around.clear();
        }
        self.refiner.note_seen(seen.wakers, seen.around);
    }

    /// Reports steps, or that none are left.
    fn report_steps(&mut self, look: &Snapshot, next: &[Candidate], observer: &mut dyn Observer) {
        let first = self.refiner.search.first_interval();
        let next: Vec<Candidate> = next.iter().map(|step| self.named(step)).collect();
        observer.event(&Event::Ranking {
            profile: &look.profile,
            next: &next,
            seconds: first.map_or(0.0, |first: Instant| first.elapsed().as_secs_f64()),
        });
    }

    /// A step under the name of the function that it looks into, whatever the time was that gave reason to it.
    fn named(&mut self, candidate: &Candidate) -> Candidate {
        let mut named = candidate.clone();
        if let Step::Open(function) | Step::DiscoverIn(function) = candidate.step
            && let Some(function) = self.refiner().1.named(function)
        {
            named.name = shown(&function.name, function.file.as_deref());
        }
        named
    }
}
