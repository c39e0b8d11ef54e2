//! The files of one stream, as whoever leads the stream writes them.
//!
//! Files are named `SS-NNNNNNNNNNNNNNNN.log` after stream and number. A file gets this name only when its header is
//! durable; before and after its use it is called `.spare`, so the header of a `.log` is never torn by a crash.
//! Nothing is written to a file before the one before it is durable as a whole.
//!
//! All of a file's blocks are taken from the disk before it is used, and spare files are kept ahead ([`StreamFiles::room`]), so that
//! what has been appended can be written, transactions be undone and the log be opened again though the disk be full. Opening takes a
//! spare file only if another is left; if not it [goes on](StreamFiles::go_on) in the last file.

use std::io;
use std::sync::Arc;

use evenkeel_disk::{Access, Create, Directory, File};

use crate::Lsn;
use crate::closure::{NONE, Vector};
use crate::format::{BatchHeader, FILE_HEADER_BYTES, FileHeader};
use crate::recovery::{StreamEnd, Tail};
use crate::sync::Mutex;

/// How many files are kept to be used again.
pub(crate) const MAX_SPARES: usize = 2;
/// Zeros are written in pieces of this size.
const FILL_BYTES: usize = 1 << 20;

/// The name of a file in use.
pub(crate) fn log_name(stream: usize, number: u64) -> String {
    format!("{stream:02}-{number:016x}.log")
}

/// The name of a file that is prepared ahead of need.
pub(crate) fn prepared_name(stream: usize, number: u64) -> String {
    format!("{stream:02}-prepared-{number}.spare")
}

/// The name of the file that a leader makes because there is no spare one. Another name than the flusher's: both may
/// be at it at the same time.
fn new_name(stream: usize) -> String {
    format!("{stream:02}-new.spare")
}

/// Stream and number of a file in use, by its name.
pub(crate) fn parse_log_name(name: &str) -> Option<(usize, u64)> {
    let (stream, number) = name.strip_suffix(".log")?.split_once('-')?;
    Some((stream.parse().ok()?, u64::from_str_radix(number, 16).ok()?))
}

/// Whether a file is one of the stream's spares, by its name.
pub(crate) fn is_spare_of(stream: usize, name: &str) -> bool {
    name.ends_with(".spare") && name.starts_with(&format!("{stream:02}-"))
}

/// A batch ready to be written.
pub(crate) struct Batch<'a> {
    pub index: u64,
    pub first: Lsn,
    pub last: Lsn,
    pub needs: &'a Vector,
    pub durable: &'a Vector,
    pub payload: &'a [u8],
}

/// What writing a batch came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub bytes: usize,
    /// A new file was begun, so all batches before this one are durable.
    pub new_file: bool,
}

/// What is the same for all files a stream writes until the log is closed.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub directory: Arc<dyn Directory>,
    pub stream: usize,
    pub streams: usize,
    pub epoch: u64,
    /// What recovery kept of the epoch before.
    pub kept: Vector,
    pub segment_bytes: u64,
}

/// A file that is not written any more.
#[derive(Clone, Debug)]
pub(crate) struct OldFile {
    pub number: u64,
    /// No record in it or before it is later.
    pub last: Lsn,
}

/// The file that a stream writes to. Its syncs are made one after the other: the one that comes after a failed one
/// finds the operating system's pages clean and succeeds, though what they held is lost.
#[derive(Debug)]
pub(crate) struct CurrentFile {
    file: Arc<dyn File>,
    failed: Mutex<bool>,
}

impl CurrentFile {
    fn new(file: Arc<dyn File>) -> Arc<CurrentFile> {
        let failed = Mutex::new(false);
        Arc::new(CurrentFile { file, failed })
    }

    /// Makes durable what has been written to it, unless an earlier sync has failed.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let mut failed = self.failed.lock();
        if *failed {
            return Err(io::Error::other("an earlier sync of the file failed"));
        }
        self.file.sync_data().inspect_err(|_| *failed = true)
    }
}

/// The files of a stream.
#[derive(Debug)]
pub(crate) struct StreamFiles {
    place: Place,
    /// None while there was no room for it since the log was opened.
    current: Option<Arc<CurrentFile>>,
    /// Of the current file, or of the one before it if there is none.
    number: u64,
    /// Where the next batch goes.
    offset: u64,
    size: u64,
    /// The last LSN written.
    last: Lsn,
    older: Vec<OldFile>,
    spares: Vec<String>,
    /// Number of the next spare file to be prepared.
    next_prepared: u64,
    batch: Vec<u8>,
}

impl StreamFiles {
    /// The files of a stream as they were found, at their `end`. `place` is that of the last epoch.
    pub(crate) fn found(place: Place, end: StreamEnd) -> StreamFiles {
        let mut spares = end.spares;
        spares.retain(|name| place.is_whole_spare(name));
        StreamFiles {
            place,
            current: None,
            number: end.number,
            offset: 0,
            size: 0,
            last: end.last,
            older: end.older,
            spares,
            next_prepared: 0,
            batch: Vec::new(),
        }
    }

    /// Whether no spare file would be left if another was begun.
    pub(crate) fn has_no_second_spare(&self) -> bool {
        self.spares.len() < 2
    }

    /// Begins the first file of a new epoch, unless the disk is full: then it is begun with the first batch. Of the last epoch `kept`
    /// was kept.
    pub(crate) fn begin_epoch(&mut self, kept: Vector) -> io::Result<()> {
        self.place.epoch += 1;
        self.place.kept = kept;
        match self.next_file(1, &NONE, 0) {
            Err(error) if error.kind() != io::ErrorKind::StorageFull => Err(error),
            _ => Ok(()),
        }
    }

    /// Goes on with the last epoch where what is kept ends. What is behind that is made zeros first, so that it is never taken for a
    /// part of what will be written.
    pub(crate) fn go_on(&mut self, tail: Option<Tail>) -> io::Result<()> {
        let Some(Tail { file, offset }) = tail else {
            return Ok(());
        };
        self.size = file.len()?;
        self.offset = offset;
        clear(&*file, offset, self.size)?;
        file.sync_data()?;
        self.current = Some(CurrentFile::new(file));
        self.older.pop();
        Ok(())
    }

    /// Writes a batch, padded so that it ends at a multiple of `block_bytes`; does not sync it.
    pub(crate) fn write(&mut self, batch: &Batch<'_>, block_bytes: u64) -> io::Result<Written> {
        let needed = (BatchHeader::bytes(self.place.streams) + batch.payload.len()) as u64;
        let mut padded = (self.offset + needed).next_multiple_of(block_bytes) - self.offset;
        let fits = self.offset + padded <= self.size;
        let new_file = !fits && (self.offset > FILE_HEADER_BYTES || self.current.is_none());
        if new_file {
            padded = (FILE_HEADER_BYTES + needed).next_multiple_of(block_bytes) - FILE_HEADER_BYTES;
            self.next_file(batch.index, batch.durable, padded)?;
        }
        let file = self.current.clone().expect("a file was begun");
        let header = BatchHeader {
            stream: self.place.stream,
            streams: self.place.streams,
            number: self.number,
            index: batch.index,
            first: batch.first,
            last: batch.last,
            payload_bytes: batch.payload.len(),
            batch_bytes: padded as usize,
            needs: *batch.needs,
            durable: *batch.durable,
        };
        header.encode(batch.payload, &mut self.batch);
        file.file.write_at(&self.batch, self.offset)?;
        self.offset += padded;
        self.last = self.last.max(batch.last);
        Ok(Written {
            bytes: self.batch.len(),
            new_file,
        })
    }

    /// Begins the next file with batch `index`, when the streams are `durable` so far.
    fn next_file(&mut self, index: u64, durable: &Vector, batch_bytes: u64) -> io::Result<()> {
        let mut durable = *durable;
        if let Some(current) = &self.current {
            current.sync()?;
            durable[self.place.stream] = index - 1;
        }
        let header = self
            .place
            .header(self.number + 1, index, self.last, &durable);
        let spare = self.spares.last().map(String::as_str);
        let (file, size) = self.place.new_file(&header, spare, batch_bytes)?;
        self.spares.pop();
        if self.current.is_some() {
            self.older.push(OldFile {
                number: self.number,
                last: self.last,
            });
        }
        (self.current, self.size) = (Some(CurrentFile::new(file)), size);
        self.number += 1;
        self.offset = FILE_HEADER_BYTES;
        Ok(())
    }

    /// Whether a batch without records fits into the current file.
    pub(crate) fn has_room_for_mark(&self, block_bytes: u64) -> bool {
        let mark = BatchHeader::bytes(self.place.streams) as u64;
        self.current.is_some() && (self.offset + mark).next_multiple_of(block_bytes) <= self.size
    }

    /// Whether there is none to write to, or none for when that is full.
    pub(crate) fn are_too_few(&self) -> bool {
        self.current.is_none() || self.spares.is_empty()
    }

    /// The file being written, if one was begun.
    pub(crate) fn current(&self) -> Option<Arc<CurrentFile>> {
        self.current.clone()
    }

    /// How many bytes can certainly be written, in batches and with one spare file left for the next opening.
    pub(crate) fn room(&self) -> u64 {
        let spare = self.place.segment_bytes - FILE_HEADER_BYTES;
        match self.spares.len() as u64 {
            0 => 0,
            spares => self.size.saturating_sub(self.offset) + (spares - 1) * spare,
        }
    }

    /// A name for a spare file to be prepared.
    pub(crate) fn next_prepared_name(&mut self) -> String {
        loop {
            let name = prepared_name(self.place.stream, self.next_prepared);
            self.next_prepared += 1;
            if !self.spares.contains(&name) {
                return name;
            }
        }
    }

    /// Whether there are too few spare files: one stays for the next opening, and one more for when the current one is full.
    pub(crate) fn wants_spare(&self) -> bool {
        let soon = usize::from(self.offset > self.size / 2);
        self.spares.len() < 1 + soon
    }

    /// Where the files are.
    pub(crate) fn place(&self) -> Place {
        self.place.clone()
    }

    /// Takes in files ready to be used again.
    pub(crate) fn add_spares(&mut self, spares: impl IntoIterator<Item = String>) {
        self.spares.extend(spares);
    }

    /// Takes out the files without records from `keep` on, with how many of them may be kept as spares.
    pub(crate) fn take_older(&mut self, keep: Lsn) -> (Vec<OldFile>, usize) {
        let count = self
            .older
            .iter()
            .take_while(|file| file.last < keep)
            .count();
        let files = self.older.drain(..count).collect();
        let wanted = MAX_SPARES.saturating_sub(self.spares.len());
        (files, wanted)
    }

    /// Number of files in use and of spare ones.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (
            usize::from(self.current.is_some()) + self.older.len(),
            self.spares.len(),
        )
    }
}

impl Place {
    fn header(&self, number: u64, first_index: u64, base: Lsn, durable: &Vector) -> FileHeader {
        FileHeader {
            number,
            epoch: self.epoch,
            first_index,
            base,
            stream: self.stream,
            streams: self.streams,
            durable: *durable,
            kept: self.kept,
        }
    }

    /// Whether a file found is a spare one with all its blocks; if not it is removed, as making it was cut short.
    fn is_whole_spare(&self, name: &str) -> bool {
        let file = self.directory.open(name, Access::Buffered, Create::Never);
        let whole = file
            .and_then(|file| file.len())
            .is_ok_and(|len| len >= self.segment_bytes);
        if !whole {
            // It is in nobody's way.
            let _ = self.directory.remove(name);
        }
        whole
    }

    /// Makes a file with this header and room for a batch of `batch_bytes`, of a spare one if there is one; its size.
    fn new_file(
        &self,
        header: &FileHeader,
        spare: Option<&str>,
        batch_bytes: u64,
    ) -> io::Result<(Arc<dyn File>, u64)> {
        let name = spare.map_or_else(|| new_name(self.stream), str::to_owned);
        let size = self.segment_bytes.max(FILE_HEADER_BYTES + batch_bytes);
        let file = self.filled(&name, size)?;
        file.write_at(&header.encode(), 0)?;
        file.sync_data()?;
        self.directory
            .rename(&name, &log_name(self.stream, header.number))?;
        self.directory.sync()?;
        Ok((file, size))
    }

    /// Makes a spare file ahead of need.
    pub(crate) fn prepare_spare(&self, name: &str) -> io::Result<()> {
        let file = self.filled(name, self.segment_bytes)?;
        file.sync_data().inspect_err(|_| {
            let _ = self.directory.remove(name);
        })
    }

    /// A file of at least `size` bytes. If there is no room for it, it is removed: others need what is left more.
    fn filled(&self, name: &str, size: u64) -> io::Result<Arc<dyn File>> {
        let file = self
            .directory
            .open(name, Access::Buffered, Create::IfMissing)?;
        let whole = file.len()? >= self.segment_bytes;
        fill(&*file, size).inspect_err(|_| {
            if !whole {
                let _ = self.directory.remove(name);
            }
        })?;
        Ok(file)
    }

    /// Turns files into spares, or removes those beyond `wanted`; the spares' names, durable.
    pub(crate) fn recycle(&self, files: &[OldFile], wanted: usize) -> io::Result<Vec<String>> {
        let mut spares = Vec::new();
        for file in files {
            let name = log_name(self.stream, file.number);
            if spares.len() < wanted {
                let spare = format!("{:02}-{:016x}.spare", self.stream, file.number);
                self.directory.rename(&name, &spare)?;
                spares.push(spare);
            } else {
                self.directory.remove(&name)?;
            }
        }
        self.directory.sync()?;
        Ok(spares)
    }
}

/// Extends a file to `size` by written zeros: syncing a write into existing blocks needs no change of the file
/// system's own data.
fn fill(file: &dyn File, size: u64) -> io::Result<()> {
    let mut from = file.len()?;
    let zeros = vec![0; FILL_BYTES.min(size.saturating_sub(from) as usize)];
    while from < size {
        let piece = zeros.len().min((size - from) as usize);
        file.write_at(&zeros[..piece], from)?;
        from += piece as u64;
    }
    Ok(())
}

/// Makes what is not zero between two offsets zeros.
fn clear(file: &dyn File, from: u64, to: u64) -> io::Result<()> {
    let mut piece = vec![0; FILL_BYTES];
    let mut at = from;
    while at < to {
        let wanted = FILL_BYTES.min((to - at) as usize);
        let count = file.read_at(&mut piece[..wanted], at)?;
        if piece[..count].iter().any(|&byte| byte != 0) {
            piece[..count].fill(0);
            file.write_at(&piece[..count], at)?;
        }
        at += wanted as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use evenkeel_disk::faults::FaultDisk;

    use super::*;

    #[test]
    fn names_are_parsed_back() {
        assert_eq!(parse_log_name(&log_name(3, 0x1f)), Some((3, 0x1f)));
        assert_eq!(parse_log_name("03-prepared-0.spare"), None);
        assert!(is_spare_of(3, &prepared_name(3, 0)) && !is_spare_of(3, &prepared_name(4, 0)));
    }

    /// Writes a batch of one block; whether to a new file.
    fn write(files: &mut StreamFiles, index: u64) -> bool {
        let batch = Batch {
            index,
            first: Lsn(index),
            last: Lsn(index),
            needs: &NONE,
            durable: &NONE,
            payload: &[0; 400],
        };
        files.write(&batch, 512).unwrap().new_file
    }

    /// While the flusher prepares a file, a leader that needs one does not take that.
    #[test]
    fn a_leader_leaves_alone_what_the_flusher_is_preparing() {
        let directory = FaultDisk::new().root();
        let place = Place {
            directory: directory.clone(),
            stream: 0,
            streams: 1,
            epoch: 0,
            kept: NONE,
            segment_bytes: FILE_HEADER_BYTES + 1024,
        };
        let nothing = StreamEnd {
            older: Vec::new(),
            spares: Vec::new(),
            number: 0,
            last: Lsn::ZERO,
            tail: None,
        };
        let mut files = StreamFiles::found(place, nothing);
        files.begin_epoch(NONE).unwrap();
        assert!(!write(&mut files, 1));
        assert!(!write(&mut files, 2));
        assert!(files.wants_spare(), "the file is more than half full");
        let place = files.place();
        let name = files.next_prepared_name();
        directory
            .open(&name, Access::Buffered, Create::New)
            .unwrap();
        assert!(write(&mut files, 3), "a new file was begun");
        assert!(directory.list().unwrap().contains(&name));

        // Ready and handed over it is taken.
        place.prepare_spare(&name).unwrap();
        files.add_spares([name.clone()]);
        assert!(!write(&mut files, 4));
        assert!(write(&mut files, 5));
        assert!(!directory.list().unwrap().contains(&name));
        assert_eq!(files.counts(), (3, 0));
    }
}
