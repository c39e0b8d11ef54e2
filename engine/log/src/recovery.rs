//! Which batches count after a crash, and whether a crash explains what is missing.
//!
//! Per epoch the batches found in a row give a limit for each stream, and the [largest closed](crate::closure) vector
//! below it is kept. Batches beyond it, torn, lost, or needing a lost one, were never acknowledged as durable. If
//! something *durable* is missing, that is damage, and an error. Recovery recognises it by the durable vectors that
//! every batch and file carries, and by what an earlier recovery recorded as kept.
//!
//! Kept batches must not get lost later, and reading them does not prove that they are on the disk. After a failed
//! sync the operating system's cache has them and marks them clean. So the batches that nothing says are durable are
//! written and synced [again](FoundFile::write_again) before anything is built on them. They are all in the last file
//! of their stream, because a file is begun when the one before it is durable as a whole.
//!
//! New records begin an epoch in new files, so the discarded batches can stay where they are. Without enough spare
//! files the last epoch [continues](StreamEnd::tail), and discarded batches are overwritten with zeros first. That
//! takes no room, so that openings on a full disk can be cut short and tried again without end. What is kept is
//! written down by the new files' headers, else by a batch without records ([`LastEpoch::is_unmarked`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use evenkeel_disk::Directory;

use crate::Lsn;
use crate::closure::{NONE, Vector, largest_closed, raise};
use crate::ends::{OldFile, StreamEnd, Tail};
use crate::error::LogError;
use crate::format::FILE_HEADER_BYTES;
use crate::found::{self, FoundBatch, FoundFile, FoundStream, find};
use crate::names::parse_log_name;
use crate::scan::{KeptFile, Recovered};

/// A stream's limit in an epoch whose files have all been recycled.
const ALL: u64 = u64::MAX >> 1;

/// The result of the inspection, and where the log continues.
pub(crate) struct Inspection {
    pub recovered: Recovered,
    pub epoch: LastEpoch,
    /// The largest LSN seen, kept or not.
    pub newest: Lsn,
    pub streams: Vec<StreamEnd>,
}

/// The epoch found last.
pub(crate) struct LastEpoch {
    /// 0 if there was none.
    pub number: u64,
    /// The part of it that is kept.
    pub kept: Vector,
    /// The part of the previous one that was kept.
    pub kept_before: Vector,
    /// Whether its files can be continued: every batch that was declared durable is kept.
    pub can_go_on: bool,
    /// Whether nothing says yet that all records kept are durable.
    pub is_unmarked: bool,
}

/// Whether the files are such as [`inspect`] takes, by their names and beginnings. Changes nothing.
pub(crate) fn check(directories: &[Arc<dyn Directory>]) -> Result<(), LogError> {
    let given = directories.len();
    for directory in directories {
        let names = directory
            .list()
            .map_err(LogError::io("listing a directory"))?;
        let streams = names.iter().filter_map(|name| parse_log_name(name));
        if let Some(written) = streams
            .map(|(stream, _)| stream + 1)
            .max()
            .filter(|&written| written > given)
        {
            return Err(LogError::MissingStreams { written, given });
        }
    }
    let mut streams = directories.iter().enumerate();
    streams.try_for_each(|(stream, directory)| found::check(&**directory, stream))
}

/// Looks at everything and decides what is kept.
pub(crate) fn inspect(directories: &[Arc<dyn Directory>]) -> Result<Inspection, LogError> {
    check(directories)?;
    let given = directories.len();
    let streams = directories
        .iter()
        .enumerate()
        .map(|(stream, directory)| find(&**directory, stream))
        .collect::<Result<Vec<FoundStream>, LogError>>()?;
    let files = || streams.iter().flat_map(|stream| &stream.files);
    if let Some(written) = files()
        .map(|file| file.header.streams)
        .max()
        .filter(|&written| written > given)
    {
        return Err(LogError::MissingStreams { written, given });
    }
    let newest = files().map(|file| file.newest).max().unwrap_or_default();
    let stray: u64 = files().map(|file| file.stray_bytes).sum();
    let epochs: BTreeSet<u64> = files().map(|file| file.header.epoch).collect();
    let kept = epochs
        .iter()
        .map(|&epoch| Ok((epoch, kept_of(&streams, epoch)?)))
        .collect::<Result<Vec<(u64, KeptBatches)>, LogError>>()?;
    let epoch = last_epoch(&streams, kept.last());
    for (number, stream) in streams.iter().enumerate() {
        if let Some(file) = stream.files.last() {
            let (_, kept) = kept
                .iter()
                .find(|(epoch, _)| *epoch == file.header.epoch)
                .expect("every epoch was decided");
            file.write_again(kept.durable[number], kept.kept[number])?;
        }
    }
    let kept: Vec<(u64, Vector)> = kept
        .into_iter()
        .map(|(epoch, kept)| (epoch, kept.kept))
        .collect();
    let (recovered, streams) = keep(streams, &kept, epoch.number, stray);
    Ok(Inspection {
        recovered,
        epoch,
        newest,
        streams,
    })
}

fn last_epoch(streams: &[FoundStream], last: Option<&(u64, KeptBatches)>) -> LastEpoch {
    let Some((epoch, last)) = last else {
        return LastEpoch {
            number: 0,
            kept: NONE,
            kept_before: NONE,
            can_go_on: false,
            is_unmarked: false,
        };
    };
    let is_unmarked = |(number, stream): (usize, &FoundStream)| {
        let files = stream
            .files
            .iter()
            .filter(|file| file.header.epoch == *epoch);
        let unmarked = last.durable[number] + 1..=last.kept[number];
        files
            .flat_map(FoundFile::indexed)
            .any(|(index, batch)| unmarked.contains(&index) && batch.has_records())
    };
    let mut files = streams.iter().flat_map(|stream| &stream.files);
    let file = files.find(|file| file.header.epoch == *epoch);
    let is_kept = |(durable, kept): (&u64, &u64)| durable <= kept;
    LastEpoch {
        number: *epoch,
        kept: last.kept,
        kept_before: file.map_or(NONE, |file| file.header.kept),
        can_go_on: last.durable.iter().zip(&last.kept).all(is_kept),
        is_unmarked: streams.iter().enumerate().any(is_unmarked),
    }
}

/// The kept part of an epoch, and how much of it is known to be durable.
struct KeptBatches {
    kept: Vector,
    durable: Vector,
}

fn kept_of(streams: &[FoundStream], epoch: u64) -> Result<KeptBatches, LogError> {
    let (mut known, mut present, mut durable) = (NONE, NONE, NONE);
    let mut decided = None;
    for (number, stream) in streams.iter().enumerate() {
        for file in &stream.files {
            if file.header.epoch == epoch {
                raise(&mut durable, &file.durable);
            } else if file.header.epoch == epoch + 1 {
                decided = Some(file.header.kept);
            }
        }
        (known[number], present[number]) = extent(stream, number, epoch)?;
    }
    if let Some(kept) = &decided {
        raise(&mut durable, kept);
    }
    for stream in 0..streams.len() {
        if durable[stream] > present[stream] {
            return Err(LogError::Corrupt {
                stream,
                what: format!(
                    "batches {} to {} of epoch {epoch} had been made durable and are missing or unreadable",
                    present[stream] + 1,
                    durable[stream],
                ),
            });
        }
    }
    let needs = |stream: usize, index: u64| {
        let files = &streams[stream].files;
        let holds = |file: &&FoundFile| file.header.epoch == epoch && index <= file.last_index();
        let file = files
            .iter()
            .find(holds)
            .expect("a batch within the extent of its stream");
        &file.batches[(index - file.header.first_index) as usize].needs
    };
    let kept = decided.unwrap_or_else(|| largest_closed(&known, present, needs));
    Ok(KeptBatches { kept, durable })
}

/// Up to which batch an epoch's part of a stream has been recycled, and up to which it is there.
fn extent(stream: &FoundStream, number: usize, epoch: u64) -> Result<(u64, u64), LogError> {
    let Some(oldest) = stream.files.first() else {
        return Ok((0, 0));
    };
    if oldest.header.epoch > epoch {
        return Ok((ALL, ALL));
    }
    let mut recycled = 0;
    let mut present = 0;
    for file in stream
        .files
        .iter()
        .filter(|file| file.header.epoch == epoch)
    {
        if std::ptr::eq(file, oldest) {
            recycled = file.header.first_index - 1;
            present = recycled;
        }
        if file.header.first_index != present + 1 {
            return Err(LogError::Corrupt {
                stream: number,
                what: format!(
                    "file {} begins with batch {} of epoch {epoch}, but the files before it end with {present}",
                    file.header.number, file.header.first_index,
                ),
            });
        }
        present = file.last_index();
    }
    Ok((recycled, present))
}

/// Keeps a part of each stream, for recovery to read and for the log to continue.
fn keep(
    streams: Vec<FoundStream>,
    kept: &[(u64, Vector)],
    last_epoch: u64,
    mut discarded_bytes: u64,
) -> (Recovered, Vec<StreamEnd>) {
    let mut recovered = Recovered::default();
    let mut ends = Vec::with_capacity(streams.len());
    for (number, stream) in streams.into_iter().enumerate() {
        let oldest = stream.files.first();
        recovered
            .bases
            .push(oldest.map_or(Lsn::ZERO, |file| file.header.base));
        let mut end = StreamEnd {
            older: Vec::new(),
            spares: stream.spares,
            number: 0,
            last: Lsn::ZERO,
            tail: None,
        };
        let mut files = Vec::new();
        for file in stream.files {
            let (_, kept) = kept
                .iter()
                .find(|(epoch, _)| *epoch == file.header.epoch)
                .expect("every epoch was decided");
            let count = kept[number].min(file.last_index()) + 1
                - file.header.first_index.min(kept[number] + 1);
            let (keeping, discarding) = file.batches.split_at(count as usize);
            discarded_bytes += bytes(discarding);
            files.push(end.extend(&file, keeping, last_epoch));
        }
        recovered.end = recovered.end.max(end.last);
        recovered.streams.push(files);
        ends.push(end);
    }
    recovered.discarded_bytes = discarded_bytes;
    (recovered, ends)
}

impl StreamEnd {
    /// Adds the stream's next file, with these batches kept.
    fn extend(&mut self, file: &FoundFile, keeping: &[FoundBatch], last_epoch: u64) -> KeptFile {
        let header = &file.header;
        let last = keeping.iter().map(|batch| batch.last).max();
        let last = last.unwrap_or_default();
        self.last = self.last.max(last).max(header.base);
        self.number = header.number;
        self.tail = (header.epoch == last_epoch).then(|| Tail {
            file: file.file.clone(),
            offset: FILE_HEADER_BYTES + bytes(keeping),
        });
        // The file begun next remembers what it held, kept or not: until that is not needed it must not be the oldest.
        if let Some(before) = self.older.last_mut() {
            before.last = before.last.max(header.base);
        }
        self.older.push(OldFile {
            number: header.number,
            epoch: header.epoch,
            last: self.last,
            has_unkept: keeping.len() < file.batches.len() || file.stray_bytes > 0,
        });
        KeptFile {
            file: file.file.clone(),
            number: header.number,
            batches: keeping.len(),
            last,
        }
    }
}

fn bytes(batches: &[FoundBatch]) -> u64 {
    batches.iter().map(|batch| batch.bytes).sum()
}
