//! From a finished interval to the sums of its round.

use rustc_hash::FxHashMap;

use crate::critical::exemplars::Exemplar;
use crate::critical::path::Path;
use crate::critical::slowest::{self, PathsOf, Slowest};
use crate::critical::walk::Walk;
use crate::fleet::joint::{JOINT_ROUND, Joint, RoundLog};
use crate::fleet::minutes::Written;
use crate::fleet::observed::Observing;
use crate::intervals::assembler::reader::Lost;
use crate::intervals::assembler::timeline::Timeline;
use crate::intervals::assembler::{Assembler, Past};
use crate::intervals::counts::RunCounts;
use crate::intervals::interval::{Extent, Finished, Reason};
use crate::rounds::Rounds;
use crate::rounds::evidence::Recent;
use crate::rounds::plans::Plans;
use crate::slow::Evidence;
use crate::sums::latencies::Latencies;
use crate::sums::paths::Paths;
use crate::sums::round_sums::RoundSums;
use crate::sums::vectors::{ProbeCost, Segment, Vectoriser};

/// Where an interval's time is found.
pub(super) enum Source<'a> {
    /// In what its thread did: it is one segment.
    Segment(&'a mut Timeline),
    /// In what all threads did.
    Past(&'a Past),
}

/// A round and, of several recordings, which of the selected ones.
type RoundOf = (usize, Option<usize>);

/// The stages after the assembler.
#[derive(Debug, Default)]
pub(super) struct Intake {
    pub(super) cost: ProbeCost,
    pub(super) vectoriser: Vectoriser,
    pub(super) rounds: Rounds,
    pub(super) plans: Plans,
    pub(super) run: RunCounts,
    /// Latencies of all intervals, recorded or not.
    pub(super) latencies: Latencies,
    /// Stacks of intervals that were slow already.
    pub(super) slow: Evidence,
    pub(super) path: Path,
    /// The slowest intervals of the run.
    pub(super) slowest: Slowest,
    /// Number of the interval whose path is kept in any case.
    pub(super) wanted: Option<u64>,
    /// What came since refinement looked last, where it looks.
    pub(super) recent: Option<Recent>,
    /// Names of threads, by key.
    pub(super) names: FxHashMap<u64, String>,
    /// Which round each interval was added to, where that is wanted.
    pub(super) log: Option<RoundLog>,
    /// Several recordings are taken together.
    pub(super) joint: Option<Joint>,
    /// What of the sums was written as minutes.
    pub(super) written: Written,
    /// Minutes read so far.
    pub(super) minutes: u64,
    /// Intervals that were added since they were last asked for, where they are wanted one by one.
    pub(super) observed: Option<Observing>,
    /// Ids of classes, and numbers of attributes, of the recording whose minutes are read.
    pub(super) class_ids: Vec<usize>,
    pub(super) attribute_numbers: Vec<Option<u16>>,
}

impl Intake {
    /// The plan with index `plan` has gone on with `round`; now a probe that it added is called for the first time.
    fn begin_round_of(&mut self, plan: usize, round: usize) {
        let probes = self.rounds.probes(round);
        let begun = self.rounds.begin(probes, true);
        self.plans.move_to(plan, begun);
    }

    /// Of several recordings, the one at hand has ended.
    pub(super) fn end_recording(&mut self) {
        self.place_observed();
        if let Some(joint) = &mut self.joint
            && let Some(all) = self.rounds.detail_mut(JOINT_ROUND)
        {
            let place = |at, pieces: &mut [_]| joint.place_pieces(at, pieces, &mut all.paths);
            self.slowest.place(JOINT_ROUND, place);
            joint.end(all);
        }
    }

    /// Number of the recording's minute of sums that begins now.
    pub(super) fn count_minute(&mut self) -> u64 {
        let minutes = match &mut self.joint {
            Some(joint) => &mut joint.minutes,
            None => &mut self.minutes,
        };
        *minutes += 1;
        *minutes - 1
    }

    /// Counts the intervals that were left out before their time was looked at.
    pub(super) fn leave_out(&mut self, assembler: &mut Assembler) {
        for reason in assembler.discarded() {
            self.run.seen += 1;
            self.run.represented += 1;
            self.run.discarded[reason as usize] += 1;
        }
        let lost = assembler.lost().values().copied();
        let lost = lost.fold(Lost::default(), Lost::and);
        if lost != self.run.lost {
            self.run.lost = lost;
            self.place_lost(assembler);
        }
    }

    /// Intervals that lost their records are missing in the rounds of their plans.
    fn place_lost(&mut self, assembler: &Assembler) {
        let mut by_round: FxHashMap<usize, Lost> = FxHashMap::default();
        for (&plan, &lost) in assembler.lost() {
            if let Some(round) = self.plans.of(plan) {
                let sum = by_round.entry(round).or_default();
                *sum = sum.and(lost);
            }
        }
        for (round, lost) in by_round {
            self.rounds.set_lost(round, lost);
        }
    }

    pub(super) fn take(&mut self, finished: &Finished, source: Source<'_>) {
        let id = self.run.seen;
        self.run.seen += 1;
        let mut weight = 1;
        // Without a latency it represents no others.
        if let Some(latency) = finished.subject.latency() {
            self.latencies.add(latency as u64);
            weight = finished.weight;
        }
        self.run.represented += weight;
        if let Err(reason) = self.add(finished, source, id) {
            self.run.discarded[reason as usize] += weight;
        }
    }

    /// The round that an interval belongs to and, of several recordings, which of the selected ones; nothing if it is
    /// not selected.
    fn round_of(&mut self, finished: &Finished, id: u64) -> Result<Option<RoundOf>, Reason> {
        match &mut self.joint {
            Some(joint) => Ok(joint.selects(id).map(|at| (JOINT_ROUND, Some(at)))),
            None => match self.plans.of(finished.generation) {
                Some(round) => Ok(Some((round, None))),
                None => Err(Reason::BeforeFirstRound),
            },
        }
    }

    /// Adds an interval to the sums of its round. `id` is its number in order of the ends.
    fn add(&mut self, finished: &Finished, mut source: Source<'_>, id: u64) -> Result<(), Reason> {
        let Some((round, selected)) = self.round_of(finished, id)? else {
            return Ok(());
        };
        let paths_of = self.paths_of(round, selected);
        let Some(detail) = sums_of(&mut self.joint, &mut self.rounds, (round, selected)) else {
            // A latecomer of a round whose sums were dropped.
            if finished.probed {
                self.rounds.count(round);
            }
            return Ok(());
        };
        let subject = finished.subject;
        let latency = subject.latency().ok_or(Reason::Malformed)?;
        if !finished.probed {
            let weighted = (latency, finished.weight);
            let self_cost = &mut detail.sums.self_cost;
            self_cost.add(false, finished.class, subject.begin, weighted);
            self.note(id, round);
            return Ok(());
        }
        let follows_waits = matches!(source, Source::Past(_));
        let wanted = self.wanted == Some(id);
        let known = detail.paths.all().len();
        let observes = self.observed.as_ref().is_some_and(|it| it.pieces);
        let is_observed = observes && finished.trace.is_some();
        let keeps = || wanted || is_observed || detail.keep.keeps(latency);
        let is_slow = self.slowest.keeps(latency);
        self.slowest.note(subject.begin);
        self.path
            .begin(is_slow || wanted || follows_waits && keeps());
        spend(
            &mut source,
            subject,
            latency,
            &mut self.vectoriser,
            &mut detail.paths,
            &mut self.path,
        )?;
        let met = &detail.paths.all()[known..];
        if let Some(plan) = self.plans.beginning(finished.generation, met) {
            self.begin_round_of(plan, round);
            return self.add(finished, source, id);
        }
        let mut vector = self
            .vectoriser
            .complete(latency, self.cost, &mut detail.paths);
        vector.weight = finished.weight;
        self.run.check_closure(vector.closure_error)?;
        let RoundSums { paths, sums, .. } = &mut *detail;
        sums.add(&vector, finished.class.into(), paths);
        sums.over_time.add(subject.end, &vector);
        sums.self_cost.add(
            true,
            finished.class,
            subject.begin,
            (latency, finished.weight),
        );
        if let Some(observed) = &mut self.observed {
            let pieces = &self.path.pieces;
            observed.add(selected.unwrap_or(round), id, finished, &vector, pieces);
        }
        if let Some(recent) = &mut self.recent
            && self.plans.newest() == Some(round)
        {
            recent.add(round, &vector);
        }
        if is_slow || wanted {
            let whole = kept(finished, id, latency);
            self.slowest.offer(paths_of, whole, &self.path, wanted);
        }
        if follows_waits {
            detail.add_waits(&self.path, kept(finished, id, latency), wanted);
        }
        self.rounds.count(round);
        self.note(id, round);
        Ok(())
    }

    /// Whose call paths an interval of a round is on.
    fn paths_of(&mut self, round: usize, selected: Option<usize>) -> PathsOf {
        let own = selected.filter(|&at| {
            let joint = self.joint.as_mut();
            joint.is_some_and(|joint| joint.own(at).is_some())
        });
        own.map_or(PathsOf::Round(round), PathsOf::Own)
    }

    fn note(&mut self, id: u64, round: usize) {
        if let Some(log) = &mut self.log {
            log.add(id, round);
        }
    }
}

/// The sums that an interval of a round is added to: of several recordings, those of the selected round if it has its
/// own.
fn sums_of<'a>(
    joint: &'a mut Option<Joint>,
    rounds: &'a mut Rounds,
    (round, selected): RoundOf,
) -> Option<&'a mut RoundSums> {
    let joint = joint.as_mut().zip(selected);
    let own = joint.and_then(|(joint, at)| joint.own(at));
    own.or_else(|| rounds.detail_mut(round))
}

/// An interval for the list of exemplars, without its pieces.
fn kept(finished: &Finished, id: u64, latency: i64) -> Exemplar {
    Exemplar {
        id,
        begin: finished.subject.begin,
        latency,
        class: finished.class,
        thread: finished.subject.thread,
        attributes: finished.attributes.clone(),
        trace: finished.trace,
        ..Exemplar::default()
    }
}

/// Begins the interval's vector and spends its time in it.
fn spend(
    source: &mut Source<'_>,
    subject: Extent,
    latency: i64,
    vectoriser: &mut Vectoriser,
    paths: &mut Paths,
    path: &mut Path,
) -> Result<(), Reason> {
    match source {
        Source::Segment(timeline) => {
            let (calls, open) = timeline.all();
            let segment = Segment {
                start: subject.begin,
                end: subject.end,
                calls,
                open,
            };
            vectoriser
                .segment(&segment, latency, paths)
                .map_err(|_| Reason::Malformed)?;
            if path.keeps_pieces() {
                slowest::pieces_of(&segment, subject.thread, paths, path);
            }
            Ok(())
        }
        Source::Past(past) => Walk::run(past, subject, paths, vectoriser, path),
    }
}
