//! Reading a recording, and replaying it through the analysis.

use std::ops::Range;
use std::path::Path;

use evenkeel_analysis::SLOWEST;
use evenkeel_analysis::fleet::minutes::{Between, Minute};
use evenkeel_analysis::profile::Profile;
use evenkeel_analysis::rounds::plans::PlanChange;
use evenkeel_analysis::sites::SiteTable;
use evenkeel_analysis::{Analysis, Options};
use evenkeel_wire::Record;

use crate::chunks::{Chunk, Chunks};
use crate::error::Error;
use crate::progress::Progress;
use crate::translation::Translation;
use crate::{Meta, SiteEntry, bodies, put_site};

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

/// One recording of a file, as far as its chunks have been taken.
struct Reading<'t> {
    keeps: Keeps,
    translation: &'t Translation,
    /// Others were taken into the analysis before.
    is_joint: bool,
    meta: Meta,
    sites: SiteTable,
    analysis: Option<Analysis>,
    /// Those that have begun and that the analysis does not know yet.
    rounds: Vec<PlanChange>,
    /// What the next round is beside its numbers.
    beside: PlanChange,
    /// When the next minute began.
    minute_began: Option<u64>,
    /// Which minutes count, where not all do.
    between: Option<Between>,
    /// Then: intervals that were not recorded in the minute whose sums come next, each with the largest latency so far.
    unrecorded: Vec<(Vec<(usize, u64)>, u64)>,
    /// Then: how many were in the minutes that count.
    sampled_out: u64,
    records: Vec<Record>,
}

impl<'t> Reading<'t> {
    fn new(keeps: Keeps, translation: &'t Translation, joint: Option<Analysis>) -> Reading<'t> {
        Reading {
            keeps,
            translation,
            is_joint: joint.is_some(),
            meta: Meta::default(),
            sites: SiteTable::default(),
            analysis: joint,
            rounds: Vec::new(),
            beside: PlanChange::default(),
            minute_began: None,
            between: keeps
                .between
                .map(|[since, until]| Between::new(since..until)),
            unrecorded: Vec::new(),
            sampled_out: 0,
            records: Vec::new(),
        }
    }

    /// Takes a chunk; what is wrong with it otherwise.
    fn take(&mut self, tag: u8, body: &[u8]) -> Result<(), String> {
        match tag {
            b'M' => self.meta = json(body)?,
            b'S' => put_site(&mut self.sites, json::<SiteEntry>(body)?),
            b'R' => self.take_round(body).ok_or("a round of odd length")?,
            b'C' => self.beside = bodies::change(body).ok_or("a change of odd length")?,
            b'O' => {
                let toggled = bodies::numbers(body).ok_or("probes of odd length")?;
                self.beside.toggled = Some(toggled);
            }
            b'D' => self.take_records(body).ok_or("records of odd length")?,
            b'L' => self
                .take_unrecorded(body)
                .ok_or("latencies that are none")?,
            b'W' => self
                .take_slow_stack(body)
                .ok_or("a stack of no functions")?,
            b'E' => self.take_end(body).ok_or("a thread of odd length")?,
            b'T' => {
                let began = body.try_into().map_err(|_| "a time of odd length")?;
                self.minute_began = Some(u64::from_le_bytes(began));
            }
            b'U' => self.take_minute(body).ok_or("sums that are none")?,
            b'P' => self.begun().pass_ended(),
            b'K' => self.take_spans(body).ok_or("spans of odd length")?,
            b'N' => self.take_name(body).ok_or("a name without its thread")?,
            _ => {}
        }
        Ok(())
    }

    fn take_round(&mut self, body: &[u8]) -> Option<()> {
        let [generation, probes] = bodies::words(body)?;
        let change = PlanChange {
            generation,
            probes,
            ..std::mem::take(&mut self.beside)
        };
        // What is taken together has one round.
        if !self.is_joint {
            self.rounds.push(change);
        }
        Some(())
    }

    fn take_records(&mut self, body: &[u8]) -> Option<()> {
        // They are no sums of a minute.
        if self.between.is_some() {
            return Some(());
        }
        let mut records = std::mem::take(&mut self.records);
        let thread = self
            .translation
            .thread(bodies::records(body, &mut records)?);
        self.translation.records(&mut records);
        self.begun().push(thread, &records);
        self.records = records;
        Some(())
    }

    fn take_unrecorded(&mut self, body: &[u8]) -> Option<()> {
        let (max_ticks, mut by_class) = bodies::unrecorded(body)?;
        let max_ticks = self.translation.latencies(max_ticks, &mut by_class);
        if self.between.is_some() {
            self.unrecorded.push((by_class, max_ticks));
            return Some(());
        }
        self.begun().count_unrecorded(&by_class, max_ticks);
        Some(())
    }

    fn take_slow_stack(&mut self, body: &[u8]) -> Option<()> {
        let stack = bodies::slow_stack(body)?;
        if self.between.is_some() {
            return Some(());
        }
        let ratio = self.translation.ratio.unwrap_or(1.0);
        self.begun().slow_stack(&stack, ratio);
        Some(())
    }

    fn take_end(&mut self, body: &[u8]) -> Option<()> {
        let [low, high] = bodies::words(body)?;
        let thread = self
            .translation
            .thread(u64::from(high) << 32 | u64::from(low));
        self.begun().thread_ended(thread);
        Some(())
    }

    fn take_minute(&mut self, body: &[u8]) -> Option<()> {
        let mut minute = Minute::read(body, self.minute_began.take()?)?;
        if let Some(between) = &mut self.between {
            let unrecorded = std::mem::take(&mut self.unrecorded);
            if between.cut(&mut minute) {
                for (by_class, max_ticks) in unrecorded {
                    self.sampled_out += by_class.iter().map(|(_, count)| count).sum::<u64>();
                    self.begun().count_unrecorded(&by_class, max_ticks);
                }
            }
        }
        let Translation { probes, ratio, .. } = self.translation;
        self.begun().add_minute(&minute, probes, *ratio)
    }

    fn take_spans(&mut self, body: &[u8]) -> Option<()> {
        let (thread, mut spans) = bodies::spans(body)?;
        let (thread, spans) = (
            self.translation.thread(thread),
            self.translation.spans(&mut spans),
        );
        self.begun().switched_out(thread, spans);
        Some(())
    }

    fn take_name(&mut self, body: &[u8]) -> Option<()> {
        let (thread, name) = body.split_first_chunk()?;
        let thread = self.translation.thread(u64::from_le_bytes(*thread));
        let name = String::from_utf8_lossy(name).into_owned();
        self.begun().name_thread(thread, name);
        Some(())
    }

    /// The analysis, with the rounds that have begun. It is made for the first record, not for the first round: that may begin
    /// before the cost of a probe is calibrated.
    fn begun(&mut self) -> &mut Analysis {
        let (meta, keeps) = (&self.meta, self.keeps);
        let analysis = self.analysis.get_or_insert_with(|| {
            let mut analysis = Analysis::new(meta.cost());
            if meta.waits && !keeps.without_waits {
                analysis.follow_waits();
            }
            analysis.keep_slowest(keeps.whole.slowest);
            if let Some(id) = keeps.whole.id {
                analysis.keep_interval(id);
            }
            if keeps.pieces {
                analysis.observe_pieces();
            } else if keeps.all {
                analysis.observe();
            }
            analysis.log_rounds();
            analysis
        });
        for change in self.rounds.drain(..) {
            analysis.plan_changed(change);
        }
        analysis
    }

    fn finished(mut self, cut: bool) -> Replayed {
        self.sites.root.clone_from(&self.meta.root);
        self.sites.root_height = self.meta.root_height;
        let covered = self.between.as_ref().and_then(Between::covered);
        if self.between.is_some() {
            self.meta.facts.sampled_out = self.sampled_out;
            if let (Some(machine), Some(covered)) = (&mut self.meta.facts.machine, &covered) {
                machine.seconds = (covered.end - covered.start) as f64 / 1e9;
            }
        }
        Replayed {
            cut: cut || !self.meta.complete,
            covered,
            analysis: self.analysis.expect("begun at the end at the latest"),
            meta: self.meta,
            sites: self.sites,
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
    use evenkeel_wire::Marker;

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
