//! Inputs and options of a profile.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::critical::exemplars::Exemplar;
use crate::critical::slowest::{PathsOf, SlowOne, Slowest};
use crate::facts::RunFacts;
use crate::intervals::assembler::reader::Lost;
use crate::intervals::attributes::AttributeTable;
use crate::intervals::classes::ClassTable;
use crate::intervals::counts::RunCounts;
use crate::intervals::pick::Pick;
use crate::profile::Round;
use crate::rounds::Rounds;
use crate::rounds::combine::Together;
use crate::rounds::other_rounds::RoundFindings;
use crate::sites::SiteTable;
use crate::slow::Evidence;
use crate::sums::latencies::Latencies;
use crate::sums::paths::Paths;
use crate::sums::round_sums::RoundSums;
use crate::sums::vectors::ProbeCost;

/// The beginning of a session, in two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The records' clock.
    pub ticks: u64,
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
}

/// How to make a profile.
#[derive(Clone, Debug)]
pub struct Options {
    /// Factors reported, at most.
    pub k: usize,
    /// Contribution of a reported factor, at least, as a fraction of Var(L).
    pub threshold: f64,
    /// Exponent of the specificity: 1, 2 (the paper's) or 3.
    pub specificity: u32,
    /// Speed of the target's time stamp counter.
    pub ticks_per_ns: f64,
    /// When the session began; nothing where nobody says.
    pub started: Option<Started>,
    /// [`crate::profile::Profile::target`].
    pub target: String,
    /// [`crate::profile::Profile::interval`].
    pub interval: String,
    /// Intervals whose critical path is drawn.
    pub timelines: Vec<Pick>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            k: 10,
            threshold: 0.01,
            specificity: 2,
            ticks_per_ns: 1.0,
            started: None,
            target: String::new(),
            interval: String::new(),
            timelines: vec![Pick::Rank(1), Pick::Percentile(0.99), Pick::Percentile(0.5)],
        }
    }
}

/// The slowest intervals of a run, with the rounds that they were in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowestOf<'a> {
    pub(crate) slowest: &'a Slowest,
    pub(crate) rounds: &'a Rounds,
    /// When the session began; nothing of several recordings, whose clocks differ.
    pub(crate) started: Option<Started>,
}

impl<'a> SlowestOf<'a> {
    /// Those whose call paths are still known, slowest first, with the index of their round and its call paths.
    pub(crate) fn all(self) -> impl Iterator<Item = (&'a Exemplar, usize, &'a Paths)> {
        let all = self.slowest.all().iter();
        all.filter_map(move |slow| self.known(slow))
    }

    /// The interval with this number, if it was kept.
    pub(crate) fn find(self, id: u64) -> Option<(&'a Exemplar, usize, &'a Paths)> {
        self.known(self.slowest.find(id)?)
    }

    fn known(self, slow: &'a SlowOne) -> Option<(&'a Exemplar, usize, &'a Paths)> {
        let PathsOf::Round(round) = slow.paths_of else {
            return None;
        };
        let paths = &self.rounds.sums(round)?.paths;
        Some((&slow.whole, round, paths))
    }
}

/// What a profile is made of.
#[derive(Debug)]
pub struct Inputs<'a> {
    /// The round it rests on.
    pub round: &'a RoundSums,
    /// The round's index, from 0.
    pub round_index: usize,
    /// Findings of the other rounds, with their index, the newest first.
    pub elsewhere: Vec<(usize, RoundFindings)>,
    /// Probes that were planted all the time in the rounds that it rests on; nothing where that is not known.
    pub planted_throughout: Option<BTreeSet<u32>>,
    /// Where `round` is the sums of several.
    pub together: Option<&'a Together>,
    /// Counts over the whole run.
    pub run: &'a RunCounts,
    /// Durations of the intervals that lost records in the rounds it rests on.
    pub lost: Lost,
    /// Latencies of all intervals of the run.
    pub latencies: &'a Latencies,
    /// Stacks of intervals that were slow already.
    pub slow: &'a Evidence,
    /// All rounds.
    pub rounds: Vec<Round>,
    /// Names of classes.
    pub classes: &'a ClassTable,
    /// Names of attributes.
    pub attributes: &'a AttributeTable,
    /// Cost subtracted for each call.
    pub cost: ProbeCost,
    /// The probes.
    pub sites: &'a SiteTable,
    /// Options of the profile.
    pub options: &'a Options,
    /// Intervals were followed across threads.
    pub follows_waits: bool,
    /// The session's facts; `None` where the profile is made of the records alone.
    pub facts: Option<&'a RunFacts>,
    /// The slowest intervals of the run.
    pub(crate) slowest: SlowestOf<'a>,
    /// Names of threads, by key.
    pub names: &'a FxHashMap<u64, String>,
}
