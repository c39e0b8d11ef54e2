//! The whole analysis of a run: records in, profile out.

mod intake;
mod last_minute;
mod observing;
mod recordings;

use evenkeel_wire::Record;

use crate::critical::slowest::Slowest;
use crate::facts::RunFacts;
use crate::fleet::joint::RoundLog;
use crate::inputs::{self, Options};
use crate::intervals::assembler::Assembler;
use crate::intervals::assembler::reader::{Crowded, Lost};
use crate::intervals::assembler::spans::SwitchedOut;
use crate::intervals::interval::Reason;
use crate::profile::{Bin, Node, Profile};
use crate::rounds::combine::Together;
use crate::rounds::evidence::{self, Recent};
use crate::rounds::other_rounds::RoundFindings;
use crate::rounds::plans::PlanChange;
use crate::sites::SiteTable;
use crate::slow::SlowStack;
use crate::summary;
use crate::sums::Sums;
use crate::sums::accumulate::Accumulator;
use crate::sums::blocks::Blocks;
use crate::sums::moments::mean;
use crate::sums::node_names::NodeNames;
use crate::sums::parts::VarianceTree;
use crate::sums::round_sums::RoundSums;
use crate::sums::self_cost::Measured;
use crate::sums::vectors::ProbeCost;
use intake::Intake;
pub use last_minute::LastMinute;

/// Intervals after which their mean and spread say from when on one is slow.
const SLOW_AFTER_INTERVALS: u64 = 100;
/// An interval is slow if it exceeds the mean by this part of the standard deviation. Such intervals have nearly all
/// of the variance, both of latencies with a long tail and of those with two peaks. With a long tail the bound is
/// beyond the 99th percentile.
const SLOW_DEVIATIONS: f64 = 0.5;

/// Takes the records of all threads of a run and keeps what a profile needs: sums, not records.
#[derive(Debug, Default)]
pub struct Analysis {
    assembler: Assembler,
    /// Sums of a round when refinement looked last.
    looked_at: Option<(usize, Sums)>,
    intake: Intake,
}

/// What refinement decides on.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// What came since the last look, where that is of the same round, as a profile of one block: without errors.
    pub profile: Profile,
    /// Shares of the same, with their errors (`crate::rounds::evidence`).
    pub recent: Node,
    /// Shares over all of the newest round, with their errors.
    pub round: Node,
    /// Intervals kept in each round so far, in order: the last is the one that is looked at.
    pub intervals_by_round: Vec<u64>,
    /// Recorded intervals against bypassed ones, over the newest round. Where recent intervals take longer than those of
    /// the round, it is a smaller fraction of them.
    pub self_cost: Option<Measured>,
    /// Intervals since the last look that had more calls than there is room for.
    pub crowded: Crowded,
    /// What these are of the squares of all latencies.
    pub crowded_part: f64,
}

impl Snapshot {
    /// The part of all intervals kept that the newest round has.
    pub fn part_of_run(&self) -> f64 {
        let kept: u64 = self.intervals_by_round.iter().sum();
        let newest = self.intervals_by_round.last().copied();
        newest.unwrap_or_default() as f64 / kept.max(1) as f64
    }
}

/// What a profile says of other rounds than the one it rests on.
#[derive(Default)]
struct Others<'a> {
    elsewhere: Vec<(usize, RoundFindings)>,
    together: Option<&'a Together>,
}

impl Analysis {
    /// An analysis that subtracts this cost for each probed call.
    pub fn new(cost: ProbeCost) -> Analysis {
        Analysis {
            intake: Intake {
                cost,
                ..Intake::default()
            },
            ..Analysis::default()
        }
    }

    /// Sets how many of the slowest intervals are kept whole. To be called before the first record.
    pub fn keep_slowest(&mut self, most: usize) {
        self.intake.slowest = Slowest::of(most);
    }

    /// From now on intervals are followed across threads (see `crate::intervals::assembler`, also for what the caller
    /// has to do). To be called before the first record.
    pub fn follow_waits(&mut self) {
        self.assembler.follow_waits();
    }

    /// Whether intervals are followed across threads.
    pub fn follows_waits(&self) -> bool {
        self.assembler.follows_waits()
    }

    /// Remembers which intervals each round rests on, for [`Analysis::scouted`]. To be called before the first record.
    pub fn log_rounds(&mut self) {
        self.intake.log = Some(RoundLog::default());
    }

    /// Keeps the path of the interval with this number, for [`crate::Pick::Id`]. Numbers count the intervals in
    /// order of their ends, those left out included: the same in every replay.
    pub fn keep_interval(&mut self, id: u64) {
        self.intake.wanted = Some(id);
    }

    /// What a thread is called where it is shown: a name and a number, or of a function with parentheses. Its role
    /// follows from it.
    pub fn name_thread(&mut self, thread: u64, name: String) {
        self.assembler.name_thread(thread, &name);
        self.intake.names.insert(thread, name);
    }

    /// Begins a round of refinement with this many probes planted: intervals under plan generation
    /// `first_generation` and later belong to it. Generations ascend. The first round must begin before the first
    /// record: intervals of an older plan are discarded.
    pub fn begin_round(&mut self, first_generation: u32, probes: u32) {
        self.plan_changed(PlanChange {
            generation: first_generation,
            probes,
            ..PlanChange::default()
        });
    }

    /// The plan changes; a round begins with it, or with the first call of what it adds. Otherwise as
    /// [`Analysis::begin_round`].
    pub fn plan_changed(&mut self, change: PlanChange) {
        let Intake { rounds, plans, .. } = &mut self.intake;
        let continued = plans
            .continued(&change)
            .filter(|&round| rounds.has_sums(round));
        let round = match continued {
            Some(round) => {
                rounds.go_on(round, change.probes);
                round
            }
            None => rounds.begin(change.probes, !change.trapping),
        };
        plans.add(change, round);
    }

    /// Call paths met so far in the newest round: where it grows, the target does what it did not do before.
    pub fn paths_met(&self) -> usize {
        let Intake { rounds, plans, .. } = &self.intake;
        let newest = plans.newest().and_then(|round| rounds.detail(round));
        newest.map_or(0, |detail| detail.paths.all().len())
    }

    /// Whether a probe was called in the round of a generation of the plan: the newest may be one in which calls are
    /// trapped.
    pub fn was_called(&self, generation: u32, probe: u32) -> bool {
        let Intake { rounds, plans, .. } = &self.intake;
        let is_called = |detail: &RoundSums| {
            let mut paths = detail.paths.all().iter();
            paths.any(|path| path.probe == Some(probe))
        };
        // Of a round whose sums were dropped nobody knows.
        plans
            .of(generation)
            .is_some_and(|round| rounds.sums(round).is_none_or(is_called))
    }

    /// Takes the next records of a thread, in the order of its ring. `thread` is any key that is unique among the
    /// threads alive.
    pub fn push(&mut self, thread: u64, records: &[Record]) {
        let Analysis {
            assembler, intake, ..
        } = self;
        assembler.push(thread, records, &mut |timeline, finished| {
            intake.take(finished, intake::Source::Segment(timeline));
        });
        intake.leave_out(assembler);
    }

    /// Counts intervals that ended and were not recorded: how many of each class of latency
    /// ([`evenkeel_wire::latency_class`]), and the largest latency among them, ticks.
    pub fn count_unrecorded(&mut self, by_class: &[(usize, u64)], max_ticks: u64) {
        self.intake.latencies.add_classes(by_class, max_ticks);
    }

    /// All intervals so far, recorded or not, by class of latency ([`evenkeel_wire::latency_class`]).
    pub fn latencies(&self) -> &[u64] {
        self.intake.latencies.by_class()
    }

    /// The same as bins of a histogram, without empty ones.
    pub fn latency_bins(&self, ticks_per_ns: f64) -> Vec<Bin> {
        let classes = self.intake.latencies.classes();
        let bins = classes.map(|(from, to, count)| Bin {
            from_ns: from / ticks_per_ns,
            to_ns: to / ticks_per_ns,
            count,
        });
        bins.collect()
    }

    /// Intervals for which those stand that were seen so far, in the whole run.
    pub fn intervals_represented(&self) -> u64 {
        self.intake.run.represented
    }

    /// Forgets a thread that will send nothing more. An interval it left open is neither counted nor discarded.
    pub fn thread_ended(&mut self, thread: u64) {
        self.assembler.thread_ended(thread);
    }

    /// All rings have been read once more. Where waits are followed, intervals are dealt with here; else nothing
    /// happens.
    pub fn pass_ended(&mut self) {
        let Analysis {
            assembler, intake, ..
        } = self;
        for finished in assembler.pass_ended() {
            intake.take(&finished, intake::Source::Past(&assembler.past));
        }
        assembler.forget();
        intake.leave_out(assembler);
        intake.run.dropped = assembler.dropped();
    }

    /// There is nothing more to come.
    pub fn ended(&mut self) {
        // Work that waits for a later pass: a waker's records may be read after those of the waiter.
        self.pass_ended();
        self.pass_ended();
        self.assembler.ended();
        self.intake.leave_out(&mut self.assembler);
        self.intake.end_recording();
    }

    /// Takes the kernel's spans during which a thread did not run, in order of time. Each span must arrive at the
    /// latest in the pass that reads the thread's records of the same time. A sleep that no thread of the target
    /// claims to have ended is followed to the kernel's waker. Ignored where waits are not followed.
    pub fn switched_out(&mut self, thread: u64, spans: &[SwitchedOut]) {
        self.assembler.switched_out(thread, spans);
    }

    /// Intervals that have begun and not ended, over all threads.
    pub fn in_flight(&self) -> u64 {
        self.assembler.in_flight() as u64
    }

    /// Calls and marks that are kept to be looked at, of all threads; bounded (see [`crate::intervals::assembler`]).
    #[cfg(test)]
    pub(crate) fn records_kept(&self) -> usize {
        self.assembler.kept()
    }

    /// Intervals seen so far in the whole run, those left out included.
    pub fn intervals_seen(&self) -> u64 {
        // Recordings that keep sums only are counted when they are scouted.
        let joint = self.intake.joint.as_ref();
        joint.map_or(self.intake.run.seen, |joint| joint.run.seen)
    }

    /// Of those, how many were left out because another began on their thread before they ended there.
    pub fn intervals_left_early(&self) -> u64 {
        self.intake.run.discarded[Reason::LeftEarly as usize]
    }

    /// The profile of the last round with enough intervals, and of those that can be taken together with it, as far as
    /// records tell.
    pub fn profile(&self, sites: &SiteTable, options: &Options) -> Profile {
        self.made_of(sites, options, None)
    }

    /// The same with what the session knows of the run, as every report shows it.
    pub fn finished(&self, sites: &SiteTable, options: &Options, facts: &RunFacts) -> Profile {
        self.made_of(sites, options, Some(facts))
    }

    fn made_of(&self, sites: &SiteTable, options: &Options, facts: Option<&RunFacts>) -> Profile {
        let of = (sites, options, facts);
        let rounds = &self.intake.rounds;
        let Some((at, base)) = rounds.chosen(&self.intake.latencies) else {
            return self.profile_of(None, Others::default(), of);
        };
        if let Some(joint) = &self.intake.joint {
            let together = joint.together();
            let others = Others {
                together: Some(&together),
                ..Others::default()
            };
            return self.profile_of(Some((at, base)), others, of);
        }
        let combined = rounds.combined(&self.intake.plans, (at, base));
        let mut others = Others {
            elsewhere: rounds.found_elsewhere(at, &self.intake.latencies),
            together: None,
        };
        let mut detail = base;
        others.together = combined.as_ref().map(|combined| &combined.together);
        if let Some(combined) = combined
            .as_ref()
            .filter(|all| all.together.rounds.len() > 1)
        {
            detail = &combined.detail;
            // What is left out for the sake of the other rounds.
            let left_out = RoundFindings::of(base, options.threshold);
            others.elsewhere.insert(0, (at, left_out));
        }
        self.profile_of(Some((at, detail)), others, of)
    }

    /// From now on [`Analysis::look`] reports what came since it was last asked. To be called before the first record.
    pub fn keep_recent(&mut self) {
        self.intake.recent = Some(Recent::default());
    }

    /// Sums since the last call, which show the present however long the round is, and all of the newest round, which
    /// separates small shares from chance.
    pub fn look(&mut self, sites: &SiteTable, options: &Options) -> Snapshot {
        let crowded = self.assembler.crowded();
        let Intake { rounds, plans, .. } = &self.intake;
        let newest = plans.newest();
        let Some((round, detail)) = newest.and_then(|round| Some((round, rounds.detail(round)?)))
        else {
            return Snapshot {
                profile: self.profile_of(None, Others::default(), (sites, options, None)),
                crowded_part: crowded.part_beside(0.0),
                crowded,
                ..Snapshot::default()
            };
        };
        let total = detail.sums.blocks.total();
        let mut recent = total.clone();
        if let Some((_, then)) = self.looked_at.as_ref().filter(|(of, _)| *of == round) {
            recent.subtract(then);
        }
        let mean_of = |sums: &Sums| mean(sums.latency, sums.intervals);
        let lengthened = mean_of(&recent) / mean_of(&total).max(1.0);
        let self_cost = detail.sums.self_cost.measured();
        let by_round = rounds.list().into_iter().take(round + 1);
        let tree = |sums| VarianceTree::new(NodeNames::new(&detail.paths, sites), sums);
        let nothing = Recent::default();
        let blocks = self.intake.recent.as_ref().unwrap_or(&nothing);
        let mut look = Snapshot {
            recent: evidence::of_recent(&tree(&recent), blocks),
            round: evidence::of_round(&tree(&total), &detail.sums.blocks),
            intervals_by_round: by_round.map(|round| round.intervals).collect(),
            self_cost: self_cost.map(|measured| measured.of_longer(lengthened)),
            crowded_part: crowded.part_beside(recent.latency_squared as f64),
            crowded,
            ..Snapshot::default()
        };
        let recent = RoundSums {
            paths: detail.paths.clone(),
            sums: Accumulator {
                blocks: Blocks::of(recent),
                self_cost: detail.sums.self_cost.clone(),
                ..Accumulator::default()
            },
            ..RoundSums::default()
        };
        let of = (sites, options, None);
        look.profile = self.profile_of(Some((round, &recent)), Others::default(), of);
        self.looked_at = Some((round, total));
        if let Some(recent) = &mut self.intake.recent {
            recent.clear();
        }
        look
    }

    fn profile_of(
        &self,
        round: Option<(usize, &RoundSums)>,
        others: Others<'_>,
        (sites, options, facts): (&SiteTable, &Options, Option<&RunFacts>),
    ) -> Profile {
        let empty = RoundSums::default();
        let (round_index, round) = round.unwrap_or((0, &empty));
        let Intake {
            cost,
            rounds,
            run,
            names,
            joint,
            plans,
            latencies,
            slow,
            slowest,
            ..
        } = &self.intake;
        let alone = [round_index];
        let rested_on = others.together.map_or(&alone[..], |all| &all.rounds);
        let (run, lost) = match joint {
            Some(joint) => (&joint.run, joint.run.lost),
            None => (run, self.lost_in(rested_on)),
        };
        let by_round = rounds.list();
        // A look at what happens now is compared with no other round.
        let compares = !others.elsewhere.is_empty();
        summary::profile(&inputs::Inputs {
            round,
            round_index,
            run,
            lost,
            latencies,
            slow,
            rounds: by_round,
            planted_throughout: compares
                .then(|| plans.planted_throughout(rested_on))
                .flatten(),
            elsewhere: others.elsewhere,
            together: others.together,
            classes: &self.assembler.classes,
            attributes: &self.assembler.attributes,
            cost: *cost,
            sites,
            options,
            follows_waits: self.assembler.follows_waits(),
            facts,
            slowest: inputs::SlowestOf {
                slowest,
                rounds,
                started: options.started.filter(|_| joint.is_none()),
            },
            names,
        })
    }

    /// What was lost in these rounds, as far as intervals came with their plans; otherwise in all.
    fn lost_in(&self, rounds: &[usize]) -> Lost {
        let by_plan = self.assembler.lost();
        if by_plan.is_empty() {
            return self.intake.run.lost;
        }
        let belongs = |generation: u32| {
            let round = self.intake.plans.of(generation);
            round.is_some_and(|round| rounds.contains(&round))
        };
        let lost = by_plan.iter().filter(|&(&plan, _)| belongs(plan));
        lost.fold(Lost::default(), |sum, (_, &lost)| sum.and(lost))
    }

    /// Age from which an interval is slow, ticks, by the latencies of all intervals so far; `None` before there are
    /// enough.
    pub fn slow_from_ticks(&self) -> Option<u64> {
        let latencies = &self.intake.latencies;
        (latencies.intervals() >= SLOW_AFTER_INTERVALS).then(|| {
            let slow = latencies.mean() + SLOW_DEVIATIONS * latencies.standard_deviation();
            slow as u64
        })
    }

    /// Takes the stack of an interval that is slow already. `ratio`: ticks of this analysis' clock for one of the
    /// stack's.
    pub fn slow_stack(&mut self, stack: &SlowStack, ratio: f64) {
        self.intake.slow.add(stack, ratio);
    }
}
