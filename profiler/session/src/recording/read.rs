//! Reading a recording, and replaying it through the analysis.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use evenkeel_analysis::Analysis;
use evenkeel_analysis::assembler::spans::SwitchedOut;
use evenkeel_analysis::minutes::Minute;
use evenkeel_analysis::plans::PlanChange;
use evenkeel_analysis::sites::SiteTable;
use evenkeel_wire::Record;

use super::translation::Translation;
use super::{MAGIC, Meta, OFFS, SiteEntry, VERSION, WOKEN_BY, put_site, starts_at_a_time, varint};
use crate::error::Error;

/// Longest body of a chunk; anything longer is damage.
const BODY_MAX: usize = 1 << 28;

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
}

/// Reads a recording.
pub struct Replay {
    path: PathBuf,
    file: BufReader<File>,
    at: u64,
    kept: Option<u64>,
    is_at_end: bool,
}

/// A chunk as it was found.
pub(super) enum Chunk {
    Body(u8, Vec<u8>),
    End,
    Cut,
}

impl Replay {
    /// Opens a recording.
    ///
    /// # Errors
    /// The file is no recording, or one of a newer version.
    pub fn open(path: &Path) -> Result<Replay, Error> {
        let named = |source| Error::File {
            path: path.to_owned(),
            source,
        };
        let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(named)?);
        let mut head = [0; 16];
        if file.read_exact(&mut head).is_err() || &head[..8] != MAGIC {
            return Err(Error::NotARecording {
                path: path.to_owned(),
            });
        }
        let found = u32::from_le_bytes(head[8..12].try_into().expect("four bytes"));
        if found > VERSION {
            return Err(Error::NewerRecording {
                path: path.to_owned(),
                found,
                known: VERSION,
            });
        }
        Ok(Replay {
            path: path.to_owned(),
            file,
            at: 16,
            kept: None,
            is_at_end: false,
        })
    }

    /// Keeps the critical path of the interval with this number, the last one asked for.
    pub fn keep_interval(&mut self, id: u64) {
        self.kept = Some(id);
    }

    /// Replays everything; where the file is of several recordings, all together (`super::replay_files`).
    ///
    /// # Errors
    /// The file is damaged.
    pub fn run(self) -> Result<Replayed, Error> {
        super::several::replay_files(&[self.path], self.kept)
    }

    /// Replays the next recording of the file, into `joint` if that is there; nothing after the last one.
    pub(super) fn next(
        &mut self,
        joint: Option<(Analysis, &Translation)>,
    ) -> Result<Option<Replayed>, Error> {
        if self.is_at_end {
            return Ok(None);
        }
        let (joint, translation) = joint.unzip();
        let is_joint = joint.is_some();
        let unchanged = Translation::default();
        let translation = translation.unwrap_or(&unchanged);
        let mut meta = Meta::default();
        let mut sites = SiteTable::default();
        let mut analysis: Option<Analysis> = joint;
        let mut rounds = Vec::new();
        let mut beside = PlanChange::default();
        let mut records = Vec::new();
        let cut = loop {
            let (tag, body) = match self.chunk()? {
                Chunk::Body(b'J', _) => break false,
                Chunk::Body(tag, body) => (tag, body),
                Chunk::End => {
                    self.is_at_end = true;
                    break false;
                }
                Chunk::Cut => {
                    self.is_at_end = true;
                    break true;
                }
            };
            match tag {
                b'M' => {
                    meta = serde_json::from_slice(&body)
                        .map_err(|error| self.damaged(&error.to_string()))?
                }
                b'S' => {
                    let entry: SiteEntry = serde_json::from_slice(&body)
                        .map_err(|error| self.damaged(&error.to_string()))?;
                    put_site(&mut sites, entry);
                }
                b'R' => {
                    let [generation, probes] =
                        words(&body).ok_or_else(|| self.damaged("a round of odd length"))?;
                    let change = PlanChange {
                        generation,
                        probes,
                        ..std::mem::take(&mut beside)
                    };
                    // What is taken together has one round.
                    if !is_joint {
                        rounds.push(change);
                    }
                }
                b'C' => {
                    beside = decode_change(&body)
                        .ok_or_else(|| self.damaged("a change of odd length"))?;
                }
                b'D' => {
                    let thread = decode(&body, &mut records)
                        .ok_or_else(|| self.damaged("records of odd length"))?;
                    translation.records(&mut records);
                    begun(&mut analysis, &mut rounds, &meta, self.kept)
                        .push(translation.thread(thread), &records);
                }
                b'E' => {
                    let [low, high] =
                        words(&body).ok_or_else(|| self.damaged("a thread of odd length"))?;
                    begun(&mut analysis, &mut rounds, &meta, self.kept)
                        .thread_ended(translation.thread(u64::from(high) << 32 | u64::from(low)));
                }
                b'U' => {
                    let follows = |minute| {
                        let clock = translation.clock.map(|clock| clock as f64 / 2f64.powi(32));
                        begun(&mut analysis, &mut rounds, &meta, self.kept).add_minute(
                            &minute,
                            &translation.probes,
                            clock,
                        )
                    };
                    Minute::read(&body)
                        .and_then(follows)
                        .ok_or_else(|| self.damaged("sums that are none"))?;
                }
                b'P' => begun(&mut analysis, &mut rounds, &meta, self.kept).pass_ended(),
                b'K' => {
                    let (thread, mut spans) =
                        decode_spans(&body).ok_or_else(|| self.damaged("spans of odd length"))?;
                    begun(&mut analysis, &mut rounds, &meta, self.kept)
                        .switched_out(translation.thread(thread), translation.spans(&mut spans));
                }
                b'N' => {
                    let (thread, name) = body
                        .split_first_chunk()
                        .ok_or_else(|| self.damaged("a name without its thread"))?;
                    let name = String::from_utf8_lossy(name).into_owned();
                    begun(&mut analysis, &mut rounds, &meta, self.kept)
                        .name_thread(translation.thread(u64::from_le_bytes(*thread)), name);
                }
                _ => {}
            }
        };
        let analysis_so_far = begun(&mut analysis, &mut rounds, &meta, self.kept);
        analysis_so_far.ended();
        sites.root.clone_from(&meta.root);
        sites.root_height = meta.root_height;
        let cut = cut || !meta.complete;
        Ok(Some(Replayed {
            analysis: analysis.expect("just begun"),
            meta,
            sites,
            cut,
        }))
    }

    /// Passes over the next recording of the file; what explains it, nothing after the last one.
    pub(super) fn next_meta(&mut self) -> Result<Option<Meta>, Error> {
        if self.is_at_end {
            return Ok(None);
        }
        let mut meta = Meta::default();
        loop {
            match self.chunk()? {
                Chunk::Body(b'J', _) => return Ok(Some(meta)),
                Chunk::Body(b'M', body) => {
                    meta = serde_json::from_slice(&body)
                        .map_err(|error| self.damaged(&error.to_string()))?
                }
                Chunk::Body(..) => {}
                Chunk::End | Chunk::Cut => {
                    self.is_at_end = true;
                    return Ok(Some(meta));
                }
            }
        }
    }

    pub(super) fn chunk(&mut self) -> Result<Chunk, Error> {
        let mut head = [0; 9];
        match fill(&mut self.file, &mut head) {
            Ok(0) => return Ok(Chunk::End),
            Ok(9) => {}
            Ok(_) => return Ok(Chunk::Cut),
            Err(source) => {
                return Err(Error::File {
                    path: self.path.clone(),
                    source,
                });
            }
        }
        let len = u32::from_le_bytes(head[1..5].try_into().expect("four bytes")) as usize;
        if len > BODY_MAX {
            return Err(self.damaged("a chunk of impossible length"));
        }
        let mut body = vec![0; len];
        match fill(&mut self.file, &mut body) {
            Ok(read) if read == len => {}
            Ok(_) => return Ok(Chunk::Cut),
            Err(source) => {
                return Err(Error::File {
                    path: self.path.clone(),
                    source,
                });
            }
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head[..1]);
        crc.update(&body);
        if crc.finalize().to_le_bytes() != head[5..] {
            return Err(self.damaged("a checksum does not match"));
        }
        self.at += 9 + len as u64;
        Ok(Chunk::Body(head[0], body))
    }

    fn damaged(&self, what: &str) -> Error {
        Error::DamagedRecording {
            path: self.path.clone(),
            at: self.at,
            what: what.to_owned(),
        }
    }
}

/// The analysis, with the rounds that have begun. It is made for the first record, not for the first round: that may begin
/// before the cost of a probe is calibrated.
fn begun<'a>(
    analysis: &'a mut Option<Analysis>,
    rounds: &mut Vec<PlanChange>,
    meta: &Meta,
    kept: Option<u64>,
) -> &'a mut Analysis {
    let analysis = analysis.get_or_insert_with(|| {
        let mut analysis = Analysis::new(meta.cost());
        if meta.edges {
            analysis.follow_waits();
        }
        if let Some(id) = kept {
            analysis.keep_interval(id);
        }
        analysis.log_rounds();
        analysis
    });
    for change in rounds.drain(..) {
        analysis.plan_changed(change);
    }
    analysis
}

/// Reads until `buffer` is full or the file ends.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read(&mut buffer[read..])? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

/// What a plan is beside its generation and its number of probes.
fn decode_change(body: &[u8]) -> Option<PlanChange> {
    let (words, []) = body.as_chunks::<4>() else {
        return None;
    };
    let [trapping, continues, added @ ..] = words else {
        return None;
    };
    let continues = u32::from_le_bytes(*continues);
    Some(PlanChange {
        trapping: u32::from_le_bytes(*trapping) != 0,
        continues: (continues != 0).then_some(continues),
        added: added.iter().map(|&id| u32::from_le_bytes(id)).collect(),
        ..PlanChange::default()
    })
}

fn words(body: &[u8]) -> Option<[u32; 2]> {
    let word = |at: usize| Some(u32::from_le_bytes(body.get(at..at + 4)?.try_into().ok()?));
    (body.len() == 8).then_some([word(0)?, word(4)?])
}

/// Decodes a chunk of records; the thread's key.
fn decode(body: &[u8], records: &mut Vec<Record>) -> Option<u64> {
    let thread = u64::from_le_bytes(body.get(..8)?.try_into().ok()?);
    let count = u32::from_le_bytes(body.get(8..12)?.try_into().ok()?);
    let mut rest = &body[12..];
    let mut previous = 0u64;
    records.clear();
    for _ in 0..count {
        let start = previous.wrapping_add(varint::unzigzag(varint::take(&mut rest)?) as u64);
        let duration = varint::take(&mut rest)?;
        let record = Record::new(
            start,
            duration,
            u32::try_from(varint::take(&mut rest)?).ok()?,
        );
        if starts_at_a_time(&record) {
            previous = start;
        }
        records.push(record);
    }
    rest.is_empty().then_some(thread)
}

/// Decodes when a thread did not run; the thread's key.
fn decode_spans(body: &[u8]) -> Option<(u64, Vec<SwitchedOut>)> {
    let thread = u64::from_le_bytes(body.get(..8)?.try_into().ok()?);
    let count = u32::from_le_bytes(body.get(8..12)?.try_into().ok()?);
    let mut rest = &body[12..];
    let mut previous = 0u64;
    let mut spans = Vec::new();
    for _ in 0..count {
        let start = previous.wrapping_add(varint::unzigzag(varint::take(&mut rest)?) as u64);
        let end = start.wrapping_add(varint::take(&mut rest)?);
        let why = varint::take(&mut rest)?;
        let by = match why / WOKEN_BY {
            0 => None,
            1 => Some(varint::take(&mut rest)?),
            _ => return None,
        };
        let off = *OFFS.get((why % WOKEN_BY) as usize)?;
        spans.push(SwitchedOut {
            start,
            end,
            off,
            by,
        });
        previous = start;
    }
    rest.is_empty().then_some((thread, spans))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Writer;
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

    /// When threads did not run comes back as it was told; a word that no version has is damage.
    #[test]
    fn spans_come_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.keel");
        let whys = OFFS
            .into_iter()
            .flat_map(|off| [(off, None), (off, Some(7 << 32 | 1))]);
        let span = |(at, (off, by)): (u64, (_, _))| SwitchedOut {
            start: 5000 + 10 * at,
            end: 5007 + 10 * at,
            off,
            by,
        };
        let spans: Vec<_> = (0..).zip(whys).map(span).collect();
        let mut writer = Writer::create(&path).unwrap();
        writer.switched_out(9, &spans);
        writer.finish(&Meta::default()).unwrap();
        let chunk = Replay::open(&path).unwrap().chunk().unwrap();
        let Chunk::Body(b'K', mut body) = chunk else {
            panic!("the first chunk");
        };
        assert_eq!(decode_spans(&body), Some((9, spans)));
        let last_why = body.len() - 6; // before the key's five bytes
        assert_eq!(u64::from(body[last_why]), WOKEN_BY + 3);
        body[last_why] = 8;
        assert_eq!(decode_spans(&body), None);
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
            Err(Error::NewerRecording { found: 99, .. })
        ));
    }
}
