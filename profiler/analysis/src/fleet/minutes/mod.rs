//! What the intervals of a minute add to the sums of a round, as bytes: a recording of nothing but sums, for running
//! all day.
//!
//! Sums merge by addition and, being integers, can be subtracted exactly. A minute is the present sums less the sums
//! a minute ago (`Written::minute`). Its size depends on the number of call paths, classes and latencies, not on the
//! number of intervals. When it is read ([`Minute::read`]), a minute is one block of the jackknife, so a profile of a
//! few minutes has coarse errors. Only sums are kept: neither single intervals, nor waiters and wakers.

mod between;
mod encode;
mod numbers;
mod together;

use crate::critical::states::CALL_STEPS;
use crate::intervals::classes::{ClassSums, ClassTable};
use crate::intervals::counts::RunCounts;
use crate::rounds::Rounds;
use crate::sums::Sums;
use crate::sums::accumulate::Accumulator;
use crate::sums::histogram::Histogram;
use crate::sums::paths::{Path, Paths};
use crate::sums::round_sums::RoundSums;
use crate::sums::self_cost::Windows;
pub use between::Between;
pub(crate) use together::Renamed;

/// A minute, of all rounds that have sums.
#[derive(Clone, Debug, Default)]
pub struct Minute {
    /// Counts over the run so far.
    pub(crate) run: RunCounts,
    /// Classes met since the minute before.
    pub(crate) classes: Vec<String>,
    /// Attributes met since the minute before.
    pub(crate) attributes: Vec<String>,
    pub(crate) rounds: Vec<RoundMinute>,
    /// Its beginning in nanoseconds since 1970; it is stored separately from the minute's bytes.
    pub began_unix_ns: u64,
}

/// What a minute added to a round.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundMinute {
    pub round: usize,
    pub probes: u32,
    /// Steps of the paths discovered since the minute before: parent and step.
    pub steps: Vec<(u32, u32)>,
    /// Of the round so far.
    pub folded: u64,
    pub sums: Sums,
    pub histogram: Histogram,
    pub classes: Vec<ClassSums>,
    pub self_cost: Windows,
}

/// What has been written of a run.
#[derive(Debug, Default)]
pub(crate) struct Written {
    classes: usize,
    attributes: usize,
    rounds: Vec<Option<RoundWritten>>,
}

/// Sums of a round when its last minute was written.
#[derive(Debug, Default)]
struct RoundWritten {
    paths: usize,
    sums: Sums,
    histogram: Histogram,
    classes: Vec<ClassSums>,
    self_cost: Windows,
}

/// The step that leads to a node; those of the root and of what probes cost are in every tree.
fn step(path: &Path) -> u32 {
    match (path.probe, path.state) {
        (Some(probe), _) => probe,
        (None, Some(state)) => state.step(),
        (None, None) => CALL_STEPS - 1,
    }
}

/// Nodes of a tree without any call.
const NODES_FIRST: usize = 2;

impl Written {
    /// What came since this was last asked.
    pub fn minute(
        &mut self,
        rounds: &Rounds,
        run: &RunCounts,
        classes: &ClassTable,
        attributes: &[String],
        began_unix_ns: u64,
    ) -> Minute {
        let new_classes = classes.names()[self.classes..].to_vec();
        let new_attributes = attributes[self.attributes..].to_vec();
        self.classes += new_classes.len();
        self.attributes += new_attributes.len();
        let all = 0..rounds.list().len();
        self.rounds.resize_with(all.len(), || None);
        let minutes = all.filter_map(|at| {
            let Some(detail) = rounds.detail(at) else {
                self.rounds[at] = None;
                return None;
            };
            let written = self.rounds[at].get_or_insert_default();
            written.minute(at, rounds.probes(at), detail)
        });
        Minute {
            rounds: minutes.collect(),
            run: *run,
            classes: new_classes,
            attributes: new_attributes,
            began_unix_ns,
        }
    }
}

impl RoundWritten {
    fn minute(&mut self, round: usize, probes: u32, detail: &RoundSums) -> Option<RoundMinute> {
        let RoundSums { paths, sums, .. } = detail;
        let now = RoundWritten {
            paths: paths.all().len(),
            sums: sums.blocks.total(),
            histogram: sums.histogram.clone(),
            classes: sums.classes.clone(),
            self_cost: sums.self_cost.total(),
        };
        if now.sums.intervals == self.sums.intervals && now.self_cost == self.self_cost {
            return None;
        }
        let before = std::mem::replace(self, now);
        let mut added = self.sums.clone();
        added.subtract(&before.sums);
        let new = paths.all().iter().skip(before.paths.max(NODES_FIRST));
        let mut classes = self.classes.clone();
        for (class, before) in classes.iter_mut().zip(&before.classes) {
            class.subtract(before);
        }
        Some(RoundMinute {
            round,
            probes,
            steps: new.map(|path| (path.parent, step(path))).collect(),
            folded: paths.folded(),
            sums: added,
            histogram: self.histogram.since(&before.histogram),
            classes,
            self_cost: self.self_cost.since(&before.self_cost),
        })
    }
}

impl RoundMinute {
    /// Intervals.
    pub fn kept(&self) -> u64 {
        self.sums.kept
    }

    /// Adds the minute to what is known of its round. Nothing where its paths do not fit: the file is damaged.
    pub(crate) fn add_to(&self, paths: &mut Paths, sums: &mut Accumulator) -> Option<()> {
        self.discover(paths)?;
        self.add(sums);
        Some(())
    }

    /// Adds the minute's new paths to those that are known.
    pub fn discover(&self, paths: &mut Paths) -> Option<()> {
        for &(parent, step) in &self.steps {
            let expected = paths.all().len() as u32;
            let fits = parent < expected && paths.again(parent, step) == Some(expected);
            fits.then_some(())?;
        }
        let nodes = paths.all().len();
        let in_buckets = self.histogram.nodes().max(self.sums.nodes.len());
        let in_classes = self.classes.iter().map(|class| class.nodes.len());
        let all_fit = in_classes.fold(in_buckets, usize::max) <= nodes;
        let fits = all_fit && self.sums.pairs.len() <= paths.pairs();
        fits.then_some(())?;
        paths.count_folded(self.folded.saturating_sub(paths.folded()));
        Some(())
    }

    /// Adds sums that are over the same paths and classes.
    pub fn add(&self, sums: &mut Accumulator) {
        if self.sums.intervals > 0 {
            sums.blocks.add_block(&self.sums);
        }
        sums.histogram
            .merge(&self.histogram, |node| Some(node as u32));
        if sums.classes.len() < self.classes.len() {
            sums.classes
                .resize(self.classes.len(), ClassSums::default());
        }
        for (mine, class) in sums.classes.iter_mut().zip(&self.classes) {
            mine.merge(class, |node| node);
        }
        sums.self_cost.add_total(self.self_cost);
    }
}
