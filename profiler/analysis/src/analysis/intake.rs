//! From a finished interval to the sums of its round.

use rustc_hash::FxHashMap;

use crate::assembler::reader::Lost;
use crate::assembler::timeline::Timeline;
use crate::assembler::{Assembler, Past};
use crate::counts::RunCounts;
use crate::critical::kept::Kept;
use crate::critical::path::Path;
use crate::critical::walk::Walk;
use crate::detail::Detail;
use crate::evidence::Recent;
use crate::interval::{Finished, Reason, Subject};
use crate::joint::{JOINT_ROUND, Joint, RoundLog};
use crate::minutes::Written;
use crate::observed::{Observed, Observing};
use crate::paths::Paths;
use crate::plans::Plans;
use crate::rounds::Rounds;
use crate::vectors::{ProbeCost, Segment, Vectoriser};

/// Where an interval's time is found.
pub(super) enum Source<'a> {
    /// In what its thread did: it is one segment.
    Segment(&'a mut Timeline),
    /// In what all threads did.
    Past(&'a Past),
}

/// Everything behind the assembler.
#[derive(Debug, Default)]
pub(super) struct Intake {
    pub(super) cost: ProbeCost,
    pub(super) vectoriser: Vectoriser,
    pub(super) rounds: Rounds,
    pub(super) plans: Plans,
    pub(super) run: RunCounts,
    pub(super) path: Path,
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
            self.run.discarded[reason as usize] += 1;
        }
        let lost = assembler.lost().values().copied();
        self.run.lost = lost.fold(Lost::default(), Lost::and);
    }

    pub(super) fn take(&mut self, finished: &Finished, source: Source<'_>) {
        let id = self.run.seen;
        self.run.seen += 1;
        if let Err(reason) = self.add(finished, source, id) {
            self.run.discarded[reason as usize] += 1;
        }
    }

    /// Adds an interval to the sums of its round. `id` is its number in order of the ends.
    fn add(&mut self, finished: &Finished, mut source: Source<'_>, id: u64) -> Result<(), Reason> {
        let mut selected = None;
        let (round, own) = match &mut self.joint {
            Some(joint) => match joint.selects(id) {
                Some(at) => {
                    selected = Some(at);
                    (JOINT_ROUND, joint.own(at))
                }
                None => return Ok(()),
            },
            None => {
                let round = self.plans.of(finished.generation);
                (round.ok_or(Reason::BeforeFirstRound)?, None)
            }
        };
        let Some(detail) = own.or_else(|| self.rounds.detail_mut(round)) else {
            // A latecomer of a round whose sums were dropped.
            if finished.probed {
                self.rounds.count(round);
            }
            return Ok(());
        };
        let subject = finished.subject;
        let latency = subject.latency().ok_or(Reason::Malformed)?;
        if !finished.probed {
            let self_cost = &mut detail.sums.self_cost;
            self_cost.add(false, subject.begin, latency);
            self.note(id, round);
            return Ok(());
        }
        let Detail {
            paths,
            sums,
            waits,
            keep,
        } = detail;
        let follows_waits = matches!(source, Source::Past(_));
        let wanted = self.wanted == Some(id);
        let known = paths.all().len();
        self.path
            .begin(follows_waits && (wanted || keep.keeps(latency)));
        spend(
            &mut source,
            subject,
            latency,
            &mut self.vectoriser,
            paths,
            &mut self.path,
        )?;
        let met = &paths.all()[known..];
        if let Some(plan) = self.plans.beginning(finished.generation, met) {
            self.begin_round_of(plan, round);
            return self.add(finished, source, id);
        }
        let vector = self.vectoriser.complete(latency, self.cost, paths);
        self.run.closure_checked += 1;
        self.run.closure_error_max = self.run.closure_error_max.max(vector.closure_error);
        if vector.closure_error != 0 {
            return Err(Reason::Malformed);
        }
        sums.add(&vector, finished.class.into(), paths);
        if let Some(observed) = &mut self.observed {
            observed.pending.push(Observed {
                round: selected.unwrap_or(round),
                id,
                class: finished.class.into(),
                begin: subject.begin,
                latency,
                spent: Observed::spent(&vector),
            });
        }
        if let Some(recent) = &mut self.recent
            && self.plans.newest() == Some(round)
        {
            recent.add(round, &vector);
        }
        sums.self_cost.add(true, subject.begin, latency);
        if follows_waits {
            waits.add(self.path.waits(), latency);
            sums.blocks.add_attributes(&finished.attributes, latency);
            let kept = Kept {
                id,
                begin: subject.begin,
                latency,
                class: finished.class,
                thread: subject.thread,
                attributes: finished.attributes.clone(),
                ..Kept::default()
            };
            keep.offer(kept, &self.path, wanted);
        }
        self.rounds.count(round);
        self.note(id, round);
        Ok(())
    }

    fn note(&mut self, id: u64, round: usize) {
        if let Some(log) = &mut self.log {
            log.add(id, round);
        }
    }
}

/// Begins the interval's vector and spends its time in it.
fn spend(
    source: &mut Source<'_>,
    subject: Subject,
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
                .map_err(|_| Reason::Malformed)
        }
        Source::Past(past) => Walk::run(past, subject, paths, vectoriser, path),
    }
}
