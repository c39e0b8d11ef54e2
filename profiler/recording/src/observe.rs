//! Recordings replayed twice: every interval of their profile is available by itself, on the profile's call paths.
//! For recordings of sums it is every minute.

use std::path::PathBuf;

use evenkeel_analysis::Analysis;
use evenkeel_analysis::fleet::observed::{Observed, ObservedMinute};
use evenkeel_analysis::intervals::classes::ClassTable;
use evenkeel_analysis::sites::SiteTable;
use evenkeel_analysis::sums::paths::Paths;

use crate::Meta;
use crate::error::Error;
use crate::progress::Progress;
use crate::read::Replayed;
use crate::several::{Recordings, Wanted, scout};
use crate::translation::clock;

/// Recordings that have been replayed once.
pub struct Observation {
    recordings: Recordings,
}

/// A recording among them.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The file that it is in.
    pub path: PathBuf,
    /// Its facts; its beginning is on the clock of all.
    pub meta: Meta,
}

/// An interval that the profile rests on, with what its numbers mean.
#[derive(Debug)]
pub struct Interval<'a> {
    /// Which recording it is of.
    pub recording: usize,
    /// The interval, on the clock of all recordings.
    pub observed: Observed,
    /// Call paths of the profile met so far.
    pub paths: &'a Paths,
    /// Call sites.
    pub sites: &'a SiteTable,
    /// Names of classes.
    pub classes: &'a ClassTable,
}

/// A minute of sums that the profile rests on, with what its numbers mean.
#[derive(Debug)]
pub struct Minute<'a> {
    /// Which recording it is of.
    pub recording: usize,
    /// The minute, on the clock of all recordings.
    pub observed: ObservedMinute,
    /// Call paths of the profile met so far.
    pub paths: &'a Paths,
    /// Call sites.
    pub sites: &'a SiteTable,
    /// Names of classes.
    pub classes: &'a ClassTable,
}

impl Observation {
    /// Replays the recordings of the files for the first time, as [`crate::replay_files`] does.
    ///
    /// # Errors
    /// As [`crate::replay_files`].
    pub fn open(paths: &[PathBuf]) -> Result<Observation, Error> {
        Observation::open_counted(paths, &Progress::default())
    }

    /// Like [`Self::open`]; `progress` counts the bytes read, then and later.
    ///
    /// # Errors
    /// As [`Observation::open`].
    pub fn open_counted(paths: &[PathBuf], progress: &Progress) -> Result<Observation, Error> {
        let wanted = Wanted {
            again: true,
            ..Wanted::default()
        };
        let recordings = scout(paths, &wanted, progress)?;
        Ok(Observation { recordings })
    }

    /// Hands over the intervals that belong to a span of a trace with their critical paths, where waits were
    /// followed.
    pub fn with_paths_in_time(mut self) -> Observation {
        self.recordings.pieces = true;
        self
    }

    /// Whether the recordings hold sums and no intervals.
    pub fn is_of_sums(&self) -> bool {
        let metas = self.recordings.metas();
        metas.iter().any(|(_, meta)| meta.summary)
    }

    /// Ticks a nanosecond of the clock of all.
    pub fn ticks_per_ns(&self) -> f64 {
        self.recordings.first().ticks_per_ns
    }

    /// The recordings, in order.
    pub fn recordings(&self) -> Vec<Recorded> {
        let of_all = self.ticks_per_ns();
        let recorded = |(path, meta): (&std::path::Path, &Meta)| {
            let mut meta = meta.clone();
            if let Some(clock) = clock(of_all, meta.ticks_per_ns) {
                let ticks = &mut meta.started.ticks;
                *ticks = ((u128::from(*ticks) * u128::from(clock)) >> 32) as u64;
            }
            Recorded {
                path: path.to_owned(),
                meta,
            }
        };
        self.recordings.metas().into_iter().map(recorded).collect()
    }

    /// Replays them again; `each` is given every interval that their profile rests on. What is returned is what
    /// [`crate::replay_files`] returns.
    ///
    /// # Errors
    /// A file cannot be read, or has changed; and what `each` returns.
    pub fn replay(
        &self,
        each: &mut dyn FnMut(Interval<'_>) -> Result<(), Error>,
    ) -> Result<Replayed, Error> {
        match self.recordings.only() {
            Some(first) => self.replay_one(first, each),
            None => {
                let mut hand_on = |recording: u64, sites: &SiteTable, analysis: &mut _| {
                    joint(recording as usize, sites, analysis, each)
                };
                self.recordings.together(None, Some(&mut hand_on))
            }
        }
    }

    /// Replays recordings of sums: `each` gets every minute.
    ///
    /// # Errors
    /// As [`Observation::replay`].
    pub fn replay_sums(
        &self,
        each: &mut dyn FnMut(Minute<'_>) -> Result<(), Error>,
    ) -> Result<Replayed, Error> {
        // A single one, too: together with no other it is itself.
        let mut hand_on = |recording: u64, sites: &SiteTable, analysis: &mut Analysis| {
            for observed in analysis.take_minutes() {
                let Some(paths) = analysis.joint_paths() else {
                    continue;
                };
                each(Minute {
                    recording: recording as usize,
                    observed,
                    paths,
                    sites,
                    classes: analysis.classes(),
                })?;
            }
            Ok(())
        };
        self.recordings.together(None, Some(&mut hand_on))
    }

    /// A single recording's profile may rest on several rounds, and then on the paths that they share.
    fn replay_one(
        &self,
        first: &Replayed,
        each: &mut dyn FnMut(Interval<'_>) -> Result<(), Error>,
    ) -> Result<Replayed, Error> {
        let metas = self.recordings.metas();
        let (path, _) = metas[0];
        let basis = first.analysis.basis();
        let mut replay = self.recordings.reopen(path)?;
        match self.recordings.pieces {
            true => replay.observe_pieces(),
            false => replay.observe(),
        }
        let replayed = replay.next_observed(None, &mut |analysis| {
            for observed in analysis.take_observed() {
                let round = observed.round;
                let Some(basis) = &basis else { continue };
                let Some(observed) = basis.place(observed) else {
                    continue;
                };
                let Some(paths) = basis.paths().or_else(|| analysis.paths_of(round)) else {
                    continue;
                };
                each(Interval {
                    recording: 0,
                    observed,
                    paths,
                    sites: &first.sites,
                    classes: analysis.classes(),
                })?;
            }
            Ok(())
        })?;
        replayed.ok_or_else(|| crate::several::changed(path))
    }
}

/// With several recordings every summed interval counts.
fn joint(
    recording: usize,
    sites: &SiteTable,
    analysis: &mut Analysis,
    each: &mut dyn FnMut(Interval<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    for observed in analysis.take_observed() {
        let Some(paths) = analysis.paths_of(observed.round) else {
            continue;
        };
        each(Interval {
            recording,
            observed,
            paths,
            sites,
            classes: analysis.classes(),
        })?;
    }
    Ok(())
}
