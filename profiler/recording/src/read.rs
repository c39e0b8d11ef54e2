//! Reading a recording, and replaying it through the analysis.

mod reading;

use std::ops::Range;
use std::path::Path;

use evenkeel_analysis::SLOWEST;
use evenkeel_analysis::profile::Profile;
use evenkeel_analysis::sites::SiteTable;
use evenkeel_analysis::{Analysis, Options};

use crate::Meta;
use crate::chunks::{Chunk, Chunks};
use crate::error::Error;
use crate::progress::Progress;
use crate::translation::Translation;
use reading::Reading;

/// A recording, replayed.
#[derive(Debug)]
pub struct Replayed {
    /// What explains it.
    pub meta: Meta,
    /// All probes.
    pub sites: SiteTable,
    /// All records, analysed.
    pub analysis: Analysis,
    /// The file ends inside a chunk, or without a last word: the run was cut.
    pub cut: bool,
    /// Where only the minutes between two moments count: when the first began and the last ended, nanoseconds since 1970.
    pub covered: Option<Range<u64>>,
}

impl Replayed {
    /// The finished profile. What the recording says, it says whatever the options do: the clock's speed, the target and the interval.
    pub fn profile(&self, options: &Options) -> Profile {
        let options = Options {
            ticks_per_ns: self.meta.ticks_per_ns,
            started: Some(self.meta.started),
            target: self.meta.target.clone(),
            interval: self.meta.interval.clone(),
            ..options.clone()
        };
        self.analysis
            .finished(&self.sites, &options, &self.meta.facts)
    }
}

/// Which intervals are kept whole.
#[derive(Clone, Copy, Debug)]
pub struct KeptWhole {
    /// The one with this number, in any case.
    pub id: Option<u64>,
    /// So many of the slowest.
    pub slowest: usize,
}

impl Default for KeptWhole {
    fn default() -> KeptWhole {
        KeptWhole {
            id: None,
            slowest: SLOWEST,
        }
    }
}

/// What is kept of single intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Keeps {
    /// Intervals kept whole.
    whole: KeptWhole,
    /// All of them are handed on.
    all: bool,
    /// With the critical paths of intervals that belong to a span of a trace.
    pieces: bool,
    /// Waits are not followed where they could be.
    without_waits: bool,
    /// Of sums, the minutes between two moments alone, nanoseconds since 1970.
    between: Option<[u64; 2]>,
}

/// Reads a recording.
pub struct Replay {
    chunks: Chunks,
    keeps: Keeps,
    is_at_end: bool,
}

/// Sees the analysis after each chunk that may have ended intervals.
type Observer<'o> = &'o mut dyn FnMut(&mut Analysis) -> Result<(), Error>;

impl Replay {
    /// Opens a recording.
    ///
    /// # Errors
    /// The file is no recording, or one of another version.
    pub fn open(path: &Path) -> Result<Replay, Error> {
        Replay::open_counted(path, &Progress::default())
    }

    /// The same; what is read of it counts.
    pub(crate) fn open_counted(path: &Path, progress: &Progress) -> Result<Replay, Error> {
        Ok(Replay {
            chunks: Chunks::open(path, progress)?,
            keeps: Keeps::default(),
            is_at_end: false,
        })
    }

    /// Keeps the critical path of the interval with this number, the last one asked for.
    pub fn keep_interval(&mut self, id: u64) {
        self.keeps.whole.id = Some(id);
    }

    /// Keeps these intervals whole.
    pub(crate) fn keep_whole(&mut self, whole: KeptWhole) {
        self.keeps.whole = whole;
    }

    /// Replays it as if it had been recorded without waits.
    pub(crate) fn ignore_waits(&mut self) {
        self.keeps.without_waits = true;
    }

    /// Of its sums, the minutes between two moments count.
    pub(crate) fn keep_between(&mut self, between: Option<[u64; 2]>) {
        self.keeps.between = between;
    }

    pub(crate) fn path(&self) -> &Path {
        self.chunks.path()
    }

    /// The interval whose critical path is kept.
    pub(crate) fn kept(&self) -> Option<u64> {
        self.keeps.whole.id
    }

    /// Replays the next recording of the file, into `joint` if that is there; nothing after the last one.
    pub(crate) fn next(
        &mut self,
        joint: Option<(Analysis, &Translation)>,
    ) -> Result<Option<Replayed>, Error> {
        self.next_observed(joint, &mut |_| Ok(()))
    }

    /// Hands on every interval by itself, to be taken by [`Analysis::take_observed`].
    pub(crate) fn observe(&mut self) {
        self.keeps.all = true;
    }

    /// The same with critical paths ([`Analysis::observe_pieces`]).
    pub(crate) fn observe_pieces(&mut self) {
        (self.keeps.all, self.keeps.pieces) = (true, true);
    }

    /// The same as [`next`](Replay::next), while somebody looks on.
    pub(crate) fn next_observed(
        &mut self,
        joint: Option<(Analysis, &Translation)>,
        observer: Observer<'_>,
    ) -> Result<Option<Replayed>, Error> {
        if self.is_at_end {
            return Ok(None);
        }
        let unchanged = Translation::default();
        let mut reading = match joint {
            Some((analysis, translation)) => Reading::new(self.keeps, translation, Some(analysis)),
            None => Reading::new(self.keeps, &unchanged, None),
        };
        let cut = loop {
            match self.chunks.next()? {
                Chunk::Body(b'J', _) => break false,
                Chunk::Body(tag, body) => {
                    let taken = reading.take(tag, &body);
                    taken.map_err(|what| self.chunks.damaged(&what))?;
                    if matches!(tag, b'D' | b'U' | b'P') {
                        observer(reading.begun())?;
                    }
                }
                Chunk::End => {
                    self.is_at_end = true;
                    break false;
                }
                Chunk::Cut => {
                    self.is_at_end = true;
                    break true;
                }
            }
        };
        reading.begun().ended();
        observer(reading.begun())?;
        Ok(Some(reading.finished(cut)))
    }

    /// What the first recording of the file says first.
    pub(crate) fn first_meta(mut self) -> Result<Option<Meta>, Error> {
        loop {
            match self.chunks.next()? {
                Chunk::Body(b'M', body) => {
                    let meta = json(&body);
                    return meta.map(Some).map_err(|what| self.chunks.damaged(&what));
                }
                Chunk::Body(..) => {}
                Chunk::End | Chunk::Cut => return Ok(None),
            }
        }
    }

    /// Passes over the next recording of the file; what explains it, nothing after the last one.
    pub(crate) fn next_meta(&mut self) -> Result<Option<Meta>, Error> {
        if self.is_at_end {
            return Ok(None);
        }
        let mut meta = Meta::default();
        loop {
            match self.chunks.next()? {
                Chunk::Body(b'J', _) => return Ok(Some(meta)),
                Chunk::Body(b'M', body) => {
                    meta = json(&body).map_err(|what| self.chunks.damaged(&what))?;
                }
                Chunk::Body(..) => {}
                Chunk::End | Chunk::Cut => {
                    self.is_at_end = true;
                    return Ok(Some(meta));
                }
            }
        }
    }
}

fn json<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;
    use evenkeel_analysis::rounds::plans::PlanChange;
    use evenkeel_wire::{Marker, Record};

    fn sample(path: &Path) -> Meta {
        let meta = Meta {
            interval: "x".into(),
            ticks_per_ns: 2.0,
            complete: true,
            ..Meta::default()
        };
        let mut writer = Writer::create(path).unwrap();
        writer.meta(&Meta {
            complete: false,
            ..meta.clone()
        });
        writer.site(
            0,
            &evenkeel_analysis::sites::Site {
                callee: "f".into(),
                ..Default::default()
            },
        );
        writer.plan_changed(&PlanChange {
            generation: 1,
            probes: 1,
            ..PlanChange::default()
        });
        for i in 0..10 {
            let at = 1_000_000 * (i + 1);
            writer.records(
                7,
                &[
                    Record::marker(Marker::Begin, at, 1 << 1 | 1),
                    Record::from_label_chunk(b"SELECT 1"),
                    Record::new(at + 10, 500 + i, 0),
                    Record::marker(Marker::End, at + 1000, 1 << 1 | 1),
                ],
            );
        }
        writer.ended(7);
        writer.finish(&meta).unwrap();
        meta
    }

    #[test]
    fn a_recording_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.keel");
        let meta = sample(&path);
        let replayed = Replay::open(&path).unwrap().run().unwrap();
        assert_eq!((&replayed.meta, replayed.cut), (&meta, false));
        assert_eq!(replayed.sites.sites[0].callee, "f");
        assert_eq!(replayed.analysis.intervals_seen(), 10);
    }

    #[test]
    fn every_cut_is_readable_and_every_flipped_bit_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.keel");
        sample(&path);
        let whole = std::fs::read(&path).unwrap();
        let part = directory.path().join("b.keel");
        for len in 16..whole.len() {
            std::fs::write(&part, &whole[..len]).unwrap();
            let replayed = Replay::open(&part).unwrap().run().unwrap();
            assert!(replayed.cut, "cut at {len}");
        }
        for at in 16..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&part, &damaged).unwrap();
            let result = Replay::open(&part).unwrap().run();
            // A flipped length may reach beyond the end, which reads as a cut.
            assert!(
                result.map_or(true, |replayed| replayed.cut),
                "bit of byte {at}"
            );
        }
    }

    #[test]
    fn strangers_are_turned_away() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.keel");
        std::fs::write(&path, b"#!/bin/sh\necho not a recording\n").unwrap();
        assert!(matches!(
            Replay::open(&path),
            Err(Error::NotARecording { .. })
        ));
        sample(&path);
        let mut newer = std::fs::read(&path).unwrap();
        newer[8] = 99;
        std::fs::write(&path, newer).unwrap();
        assert!(matches!(
            Replay::open(&path),
            Err(Error::OtherVersion { found: 99, .. })
        ));
    }
}
