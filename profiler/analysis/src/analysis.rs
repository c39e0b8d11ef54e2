//! The whole analysis of a run: records in, profile out.

use evenkeel_wire::Record;
use rustc_hash::FxHashMap;

use crate::classes::ClassTable;
use crate::intervals::{Assembler, Outcome, RawInterval, Reason};
use crate::profile::Profile;
use crate::rounds::{Detail, Rounds};
use crate::sites::SiteTable;
use crate::summary::{self, Options};
use crate::vectors::{ProbeCost, Vectoriser};

/// Takes the records of all threads of a run and keeps what a profile needs: sums, not records.
#[derive(Debug, Default)]
pub struct Analysis {
    threads: FxHashMap<u64, Assembler>,
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

    /// Begins a round of refinement with this many probes planted: intervals under plan generation
    /// `first_generation` and later belong to it. Generations ascend. The first round must begin before the first
    /// record: intervals of an older plan are discarded.
    pub fn begin_round(&mut self, first_generation: u32, probes: u32) {
        self.intake.rounds.begin(first_generation, probes);
    }

    /// Takes the next records of a thread, in the order of its ring. `thread` is any key that is unique among the
    /// threads alive.
    pub fn push(&mut self, thread: u64, records: &[Record]) {
        let Analysis { threads, intake } = self;
        threads
            .entry(thread)
            .or_default()
            .push(records, &mut |outcome| intake.take(outcome));
    }

    /// Forgets a thread that will send nothing more. An interval it left open is neither counted nor discarded.
    pub fn thread_ended(&mut self, thread: u64) {
        self.threads.remove(&thread);
    }

    /// Intervals that have begun and not ended, over all threads.
    pub fn in_flight(&self) -> u64 {
        self.threads
            .values()
            .filter(|thread| thread.is_open())
            .count() as u64
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
        let Intake {
            cost,
            classes,
            rounds,
            run,
            ..
        } = &self.intake;
        summary::profile(&summary::Inputs {
            round,
            run,
            rounds: rounds.list(),
            classes,
            cost: *cost,
            sites,
            options,
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
        let Some(Detail { paths, sums }) = self.rounds.detail_mut(round) else {
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
}
