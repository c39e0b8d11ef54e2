//! The files of one stream, as whoever leads the stream writes them.
//!
//! Files are named `SS-NNNNNNNNNNNNNNNN.log` after stream and number. A file gets this name only when its header is
//! durable, so a crash never tears the header of a `.log`. Before and after its use the file is called `.spare`.
//! Nothing is written to a file before the one before it is durable as a whole.
//!
//! All of a file's blocks are allocated before it is used, and spare files are kept ahead ([`StreamFiles::room`]). So
//! even on a full disk appended records can be written, transactions be undone and the log be opened again. Opening
//! takes a spare file only if another is left. Otherwise it [continues](StreamFiles::go_on) in the last file.

use std::io;
use std::sync::Arc;

use evenkeel_disk::{Access, Create, Directory, File, is_full};

use crate::Lsn;
use crate::closure::{NONE, Vector};
use crate::ends::{OldFile, StreamEnd, Tail};
use crate::format::{BatchHeader, FILE_HEADER_BYTES, FILE_MAGIC, FileHeader};
use crate::names::{log_name, new_name, prepared_name};
use crate::sync::Mutex;

/// Most files that are kept to be used again.
pub(crate) const MAX_SPARES: usize = 2;
/// Zeros are written in pieces of this size.
const FILL_BYTES: usize = 1 << 20;

/// A batch ready to be written.
pub(crate) struct Batch<'a> {
    pub index: u64,
    pub first: Lsn,
    pub last: Lsn,
    pub needs: &'a Vector,
    pub durable: &'a Vector,
    pub payload: &'a [u8],
}

/// Result of writing a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub bytes: usize,
    /// A new file was begun, so all batches before this one are durable.
    pub new_file: bool,
}

/// Data common to all files that a stream writes until the log is closed.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub directory: Arc<dyn Directory>,
    pub stream: usize,
    pub streams: usize,
    pub epoch: u64,
    /// The part of the previous epoch that recovery kept.
    pub kept: Vector,
    pub segment_bytes: u64,
}

/// The file that a stream writes to. Its syncs run one at a time. A sync after a failed one would find the operating
/// system's pages clean and succeed, although their contents are lost.
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
    /// Number of the current file, or else of the last one.
    number: u64,
    /// Where the next batch goes.
    offset: u64,
    size: u64,
    /// The last LSN written.
    last: Lsn,
    older: Vec<OldFile>,
    spares: Vec<String>,
    /// Spares have names that a power failure may take back: under the old ones they are files of the log.
    is_renaming: bool,
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
            is_renaming: false,
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
            Err(error) if !is_full(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Continues the last epoch behind its last kept batch. What is behind that is made zeros first, so that it is
    /// never taken for a part of what will be written.
    pub(crate) fn go_on(&mut self, tail: Option<Tail>) -> io::Result<()> {
        let Some(Tail { file, offset }) = tail else {
            return Ok(());
        };
        self.size = file.len()?;
        self.offset = offset;
        write_zeros(&*file, offset, self.size)?;
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
        self.end_renaming()?;
        let spare = self.spares.last().map(String::as_str);
        let (file, size) = self.place.new_file(&header, spare, batch_bytes)?;
        self.spares.pop();
        if self.current.is_some() {
            self.older.push(OldFile {
                number: self.number,
                epoch: self.place.epoch,
                last: self.last,
                has_unkept: false,
            });
        }
        (self.current, self.size) = (Some(CurrentFile::new(file)), size);
        self.number += 1;
        self.offset = FILE_HEADER_BYTES;
        Ok(())
    }

    /// Makes the spares' names durable if that failed when they were given. Nothing may be written to them before.
    fn end_renaming(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_renaming) {
            let synced = self.place.directory.sync();
            return synced.inspect_err(|_| self.is_renaming = true);
        }
        Ok(())
    }

    /// Whether a batch without records fits into the current file.
    pub(crate) fn has_room_for_mark(&self, block_bytes: u64) -> bool {
        let mark = BatchHeader::bytes(self.place.streams) as u64;
        self.current.is_some() && (self.offset + mark).next_multiple_of(block_bytes) <= self.size
    }

    /// Whether the current file or its successor is missing.
    pub(crate) fn are_too_few(&self) -> bool {
        self.current.is_none() || self.spares.is_empty()
    }

    /// The file being written, if one was begun.
    pub(crate) fn current(&self) -> Option<Arc<CurrentFile>> {
        self.current.clone()
    }

    /// Bytes that can certainly be written, in batches and with one spare file left for the next opening.
    pub(crate) fn room(&self) -> u64 {
        match self.spares.is_empty() {
            true => 0,
            false => self.left() - self.spare_bytes(),
        }
    }

    /// Like `room`, with no spare file left.
    pub(crate) fn left(&self) -> u64 {
        self.size.saturating_sub(self.offset) + self.spares.len() as u64 * self.spare_bytes()
    }

    fn spare_bytes(&self) -> u64 {
        self.place.segment_bytes - FILE_HEADER_BYTES
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

    /// Number of older files, from the first, without a record from `keep` on. The stream's last file stays even if
    /// it is not being written: it records how far the stream had come.
    fn unneeded(&self, keep: Lsn) -> usize {
        let last = usize::from(self.current.is_none());
        let some = self.older.len().saturating_sub(last);
        let mut older = self.older[..some].iter();
        older.position(|file| file.last >= keep).unwrap_or(some)
    }

    /// The first epoch with discarded batches among the files that have records from `keep` on.
    pub(crate) fn unkept_epoch(&self, keep: Lsn) -> Option<u64> {
        let mut needed = self.older[self.unneeded(keep)..].iter();
        needed.find(|file| file.has_unkept).map(|file| file.epoch)
    }

    /// Takes out the files without records from `keep` on and of an epoch up to `epoch_max`, with how many of them may be kept as spares.
    pub(crate) fn take_older(&mut self, keep: Lsn, epoch_max: u64) -> (Vec<OldFile>, usize) {
        let unneeded = self.older[..self.unneeded(keep)].iter();
        let count = unneeded.take_while(|file| file.epoch <= epoch_max).count();
        let files = self.older.drain(..count).collect();
        let wanted = MAX_SPARES.saturating_sub(self.spares.len());
        (files, wanted)
    }

    /// Takes in what became of files taken out: spares, and `left` for the next time. A later file must not go before those, as a gap
    /// among the files is what a lost one leaves.
    pub(crate) fn take_in(&mut self, recycled: &mut Recycled, left: Vec<OldFile>) {
        self.spares.append(&mut recycled.spares);
        self.is_renaming |= recycled.outcome.is_err();
        self.older.splice(0..0, left);
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

    /// Turns files into spares, or removes those beyond `wanted`, from the oldest on.
    pub(crate) fn recycle(&self, files: &[OldFile], wanted: usize) -> Recycled {
        let mut recycled = Recycled {
            spares: Vec::new(),
            count: 0,
            outcome: Ok(()),
        };
        for file in files {
            recycled.outcome = self.recycle_one(file.number, wanted, &mut recycled.spares);
            if recycled.outcome.is_err() {
                return recycled;
            }
            recycled.count += 1;
        }
        recycled.outcome = self.directory.sync();
        recycled
    }

    fn recycle_one(&self, number: u64, wanted: usize, spares: &mut Vec<String>) -> io::Result<()> {
        let name = log_name(self.stream, number);
        if spares.len() == wanted {
            return self.directory.remove(&name);
        }
        let spare = format!("{:02}-{number:016x}.spare", self.stream);
        self.directory.rename(&name, &spare)?;
        spares.push(spare);
        Ok(())
    }
}

/// Result of recycling files.
pub(crate) struct Recycled {
    /// Names of those ready to be used again.
    pub spares: Vec<String>,
    /// Number of files, from the first, that no longer belong to the log.
    pub count: usize,
    /// Unless it is `Ok` a power failure may take the new names back.
    pub outcome: io::Result<()>,
}

/// Extends a file to `size` by written zeros: syncing a write into existing blocks needs no change of the file
/// system's own data. A new one begins with the magic number, so that the next opening knows it by that alone.
fn fill(file: &dyn File, size: u64) -> io::Result<()> {
    let mut from = file.len()?;
    let mut piece = vec![0; FILL_BYTES.min(size.saturating_sub(from) as usize)];
    if let (0, Some(beginning)) = (from, piece.first_chunk_mut()) {
        *beginning = FILE_MAGIC;
    }
    while from < size {
        let count = piece.len().min((size - from) as usize);
        file.write_at(&piece[..count], from)?;
        from += count as u64;
        if let Some(beginning) = piece.first_chunk_mut() {
            *beginning = [0; FILE_MAGIC.len()];
        }
    }
    Ok(())
}

/// Overwrites the bytes between two offsets with zeros, whatever is read there. After a failed sync, zeros of an
/// earlier attempt may exist only in the operating system's cache.
fn write_zeros(file: &dyn File, from: u64, to: u64) -> io::Result<()> {
    let zeros = vec![0; FILL_BYTES.min(to.saturating_sub(from) as usize)];
    let mut at = from;
    while at < to {
        let count = zeros.len().min((to - at) as usize);
        file.write_at(&zeros[..count], at)?;
        at += count as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
