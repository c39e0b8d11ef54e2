//! The whole analysis of a run: records in, profile out.

use evenkeel_wire::Record;
use rustc_hash::FxHashMap;

use crate::attributes::AttributeTable;
use crate::classes::ClassTable;
use crate::critical::kept::Kept;
use crate::critical::path::Path;
use crate::critical::spans::SwitchedOut;
use crate::critical::walk::Walk;
use crate::critical::{Critical, Finished, Past};
use crate::intervals::{Assembler, Outcome, RawInterval, Reason, latency};
use crate::profile::Profile;
use crate::rounds::{Detail, Rounds};
use crate::sites::SiteTable;
use crate::summary::{self, Options};
use crate::vectors::{ProbeCost, Vectoriser};

/// Takes the records of all threads of a run and keeps what a profile needs: sums, not records.
#[derive(Debug, Default)]
pub struct Analysis {
    threads: FxHashMap<u64, Assembler>,
    /// Instead of the assemblers, with edges on.
    critical: Option<Box<Critical>>,
    intake: Intake,
}

/// Everything behind the assemblers.
#[derive(Debug, Default)]
struct Intake {
    cost: ProbeCost,
    vectoriser: Vectoriser,
    classes: ClassTable,
    rounds: Rounds,
    run: RunCounts,
    path: Path,
    /// Number of the interval whose path is kept in any case.
    wanted: Option<u64>,
    /// Names of threads, by key.
    names: FxHashMap<u64, String>,
}

/// Counts over the whole run, all rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunCounts {
    /// Intervals seen to their end or to the loss that cost them.
    pub seen: u64,
    /// Left out, by index into [`Reason::ALL`].
    pub discarded: [u64; Reason::ALL.len()],
    /// Vectors whose closure was checked.
    pub closure_checked: u64,
    /// Largest closure error, ticks.
    pub closure_error_max: u64,
    /// With edges on: calls, marks and releases dropped to stay within the bounds.
    pub dropped: u64,
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

    /// From now on intervals are followed across threads (see [`crate::critical`], also for what the caller has to do). To
    /// be called before the first record.
    pub fn follow_edges(&mut self) {
        self.critical = Some(Box::default());
    }

    /// Whether intervals are followed across threads.
    pub fn follows_edges(&self) -> bool {
        self.critical.is_some()
    }

    /// Keeps the path of the interval with this number, for [`crate::summary::Pick::Id`]. Numbers count the intervals in
    /// order of their ends, those left out included: the same in every replay.
    pub fn keep_interval(&mut self, id: u64) {
        self.intake.wanted = Some(id);
    }

    /// What a thread is called where it is shown.
    pub fn name_thread(&mut self, thread: u64, name: String) {
        self.intake.names.insert(thread, name);
    }

    /// Begins a round of refinement with this many probes planted: intervals under plan generation
    /// `first_generation` and later belong to it. Generations ascend. The first round must begin before the first
    /// record: intervals of an older plan are discarded.
    pub fn begin_round(&mut self, first_generation: u32, probes: u32) {
        self.intake.rounds.begin(first_generation, probes);
    }

    /// Takes the next records of a thread, in the order of its ring. `thread` is any key that is unique among the
    /// threads alive.
    pub fn push(&mut self, thread: u64, records: &[Record]) {
        let Analysis {
            threads,
            critical,
            intake,
        } = self;
        if let Some(critical) = critical {
            critical.push(thread, records, &mut intake.classes);
            intake.leave_out(critical);
            return;
        }
        threads
            .entry(thread)
            .or_default()
            .push(records, &mut |outcome| intake.take(outcome));
    }

    /// Forgets a thread that will send nothing more. An interval it left open is neither counted nor discarded.
    pub fn thread_ended(&mut self, thread: u64) {
        match &mut self.critical {
            Some(critical) => critical.thread_ended(thread, &mut self.intake.classes),
            None => drop(self.threads.remove(&thread)),
        }
    }

    /// All rings have been read once more. With edges on, intervals are dealt with here; without, nothing happens.
    pub fn pass_ended(&mut self) {
        let Some(critical) = &mut self.critical else {
            return;
        };
        for finished in critical.pass_ended() {
            self.intake.take_finished(&critical.past, &finished);
        }
        critical.forget();
        self.intake.leave_out(critical);
        self.intake.run.dropped = critical.dropped();
    }

    /// There is nothing more to come.
    pub fn ended(&mut self) {
        // What waits for a later pass, because a waker's records may come after those of whom it wakes.
        self.pass_ended();
        self.pass_ended();
        if let Some(critical) = &mut self.critical {
            critical.ended();
            self.intake.leave_out(critical);
        }
    }

    /// Takes what the kernel says about when a thread did not run, in order of time; each span at the latest in the pass
    /// that reads the thread's records of the same time. A sleep that no thread of the target says it ended is followed to the one
    /// that the kernel saw end it. Without edges all of it is ignored.
    pub fn switched_out(&mut self, thread: u64, spans: &[SwitchedOut]) {
        if let Some(critical) = &mut self.critical {
            critical.switched_out(thread, spans);
        }
    }

    /// Intervals that have begun and not ended, over all threads.
    pub fn in_flight(&self) -> u64 {
        if let Some(critical) = &self.critical {
            return critical.in_flight() as u64;
        }
        self.threads
            .values()
            .filter(|thread| thread.is_open())
            .count() as u64
    }

    /// With edges on: calls and marks that are kept to be looked at, of all threads; bounded (see [`crate::critical`]).
    pub fn records_kept(&self) -> usize {
        self.critical.as_ref().map_or(0, |critical| critical.kept())
    }

    /// Intervals kept so far in the newest round.
    pub fn round_intervals(&self) -> u64 {
        self.intake.rounds.newest_intervals()
    }

    /// Intervals seen so far in the whole run, those left out included.
    pub fn intervals_seen(&self) -> u64 {
        self.intake.run.seen
    }

    /// The profile of the last round with enough intervals. Sites that could not be timed, and warnings of the
    /// recording itself, are the caller's to add.
    pub fn profile(&self, sites: &SiteTable, options: &Options) -> Profile {
        self.profile_of(self.intake.rounds.chosen(), sites, options)
    }

    /// The same of the newest round, however few its intervals: what refinement decides on.
    pub fn newest_profile(&self, sites: &SiteTable, options: &Options) -> Profile {
        self.profile_of(self.intake.rounds.newest(), sites, options)
    }

    fn profile_of(&self, round: Option<&Detail>, sites: &SiteTable, options: &Options) -> Profile {
        let empty = Detail::default();
        let round = round.unwrap_or(&empty);
        let untold = AttributeTable::default();
        let critical = self.critical.as_ref();
        let attributes = critical.map_or(&untold, |critical| &critical.attributes);
        let Intake {
            cost,
            classes,
            rounds,
            run,
            names,
            ..
        } = &self.intake;
        summary::profile(&summary::Inputs {
            round,
            run,
            rounds: rounds.list(),
            classes,
            attributes,
            cost: *cost,
            sites,
            options,
            follows_edges: self.critical.is_some(),
            names,
        })
    }
}

impl Intake {
    fn take(&mut self, outcome: Outcome<'_>) {
        self.run.seen += 1;
        let discarded = match outcome {
            Outcome::Interval(interval) => self.add(&interval).err(),
            Outcome::Discarded(reason) => Some(reason),
        };
        if let Some(reason) = discarded {
            self.run.discarded[reason as usize] += 1;
        }
    }

    fn add(&mut self, interval: &RawInterval<'_>) -> Result<(), Reason> {
        let round = self
            .rounds
            .of(interval.generation)
            .ok_or(Reason::BeforeFirstRound)?;
        let Some(Detail { paths, sums, .. }) = self.rounds.detail_mut(round) else {
            // A latecomer of a round whose sums were dropped.
            if interval.probed {
                self.rounds.count(round);
            }
            return Ok(());
        };
        if !interval.probed {
            let latency = interval.latency().ok_or(Reason::Malformed)?;
            sums.self_cost.add(false, interval.start, latency);
            return Ok(());
        }
        let vector = self
            .vectoriser
            .vector(interval, self.cost, paths)
            .map_err(|_| Reason::Malformed)?;
        self.run.closure_checked += 1;
        self.run.closure_error_max = self.run.closure_error_max.max(vector.closure_error);
        if vector.closure_error != 0 {
            return Err(Reason::Malformed);
        }
        sums.add(&vector, self.classes.class_of(interval.label), paths);
        sums.self_cost.add(true, interval.start, vector.latency);
        self.rounds.count(round);
        Ok(())
    }

    /// Counts the intervals that were left out before they came to be walked.
    fn leave_out(&mut self, critical: &mut Critical) {
        for reason in critical.discarded() {
            self.run.seen += 1;
            self.run.discarded[reason as usize] += 1;
        }
    }

    fn take_finished(&mut self, past: &Past, finished: &Finished) {
        let id = self.run.seen;
        self.run.seen += 1;
        if let Err(reason) = self.walk(past, finished, id) {
            self.run.discarded[reason as usize] += 1;
        }
    }

    fn walk(&mut self, past: &Past, finished: &Finished, id: u64) -> Result<(), Reason> {
        let round = self.rounds.of(finished.generation);
        let round = round.ok_or(Reason::BeforeFirstRound)?;
        let Some(detail) = self.rounds.detail_mut(round) else {
            if finished.probed {
                self.rounds.count(round);
            }
            return Ok(());
        };
        let subject = finished.subject;
        let latency = latency(subject.begin, subject.end).ok_or(Reason::Malformed)?;
        if !finished.probed {
            let self_cost = &mut detail.sums.self_cost;
            self_cost.add(false, subject.begin, latency);
            return Ok(());
        }
        let Detail {
            paths,
            sums,
            waits,
            keep,
        } = detail;
        let wanted = self.wanted == Some(id);
        self.path.begin(wanted || keep.keeps(latency));
        Walk::run(past, subject, paths, &mut self.vectoriser, &mut self.path)?;
        let vector = self.vectoriser.complete(latency, self.cost, paths);
        self.run.closure_checked += 1;
        self.run.closure_error_max = self.run.closure_error_max.max(vector.closure_error);
        if vector.closure_error != 0 {
            return Err(Reason::Malformed);
        }
        sums.add(&vector, finished.class.into(), paths);
        sums.self_cost.add(true, subject.begin, latency);
        waits.add(self.path.waits(), latency);
        sums.blocks.tell(&finished.attributes, latency);
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
        self.rounds.count(round);
        Ok(())
    }
}
