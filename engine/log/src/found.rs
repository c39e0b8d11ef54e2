//! Contents of a stream's files after a crash, each file examined by itself.

use std::io;
use std::sync::Arc;

use evenkeel_disk::{Access, Create, Directory, File, is_blank};

use crate::closure::Vector;
use crate::error::LogError;
use crate::format::{BatchHeader, FILE_HEADER_BYTES, FILE_MAGIC, FileHeader, VERSION};
use crate::limits::{BLOCK_BYTES_MIN, STREAMS_MAX};
use crate::names::{is_spare_of, log_name, parse_log_name};
use crate::{Lsn, closure};

/// Bytes looked at together when searching for batches.
const SEARCH_BYTES: usize = 1 << 20;

/// An intact batch.
#[derive(Debug)]
pub(crate) struct FoundBatch {
    pub needs: Vector,
    pub last: Lsn,
    pub bytes: u64,
}

impl FoundBatch {
    /// Whether it has records. A batch without is a mark that says how far the streams are durable.
    pub(crate) fn has_records(&self) -> bool {
        self.last > Lsn::ZERO
    }
}

/// A file, and the batches in it up to the first that is missing or broken.
#[derive(Debug)]
pub(crate) struct FoundFile {
    pub file: Arc<dyn File>,
    pub header: FileHeader,
    /// The intact batches in a row from the start.
    pub batches: Vec<FoundBatch>,
    /// How far each stream was durable, as far as the file shows.
    pub durable: Vector,
    /// The largest LSN in anything in the file.
    pub newest: Lsn,
    /// Bytes of intact batches after the first gap.
    pub stray_bytes: u64,
}

impl FoundFile {
    /// The batches in a row, with their indices.
    pub(crate) fn indexed(&self) -> impl Iterator<Item = (u64, &FoundBatch)> {
        (self.header.first_index..).zip(&self.batches)
    }

    /// Index of the last batch in a row.
    pub(crate) fn last_index(&self) -> u64 {
        self.header.first_index - 1 + self.batches.len() as u64
    }
}

/// A stream's files in order, and its spares' names.
#[derive(Debug, Default)]
pub(crate) struct FoundStream {
    pub files: Vec<FoundFile>,
    pub spares: Vec<String>,
}

/// Looks at the beginnings of all files of a stream, and changes nothing.
pub(crate) fn check(directory: &dyn Directory, stream: usize) -> Result<(), LogError> {
    let (numbers, spares) = names_of(directory, stream)?;
    for number in numbers {
        let name = log_name(stream, number);
        let file = open(directory, &name)?;
        header_of(&*file, stream, number)?;
    }
    for name in spares {
        let file = open(directory, &name)?;
        let mut start = [0; FILE_MAGIC.len()];
        let count = file
            .read_at(&mut start, 0)
            .map_err(LogError::io(format!("reading {name}")))?;
        // What was prepared begins with the magic number, unless that was cut short, and what was in use before with its old header.
        let is_own = start[..count] == FILE_MAGIC
            || is_blank(&*file).map_err(LogError::io(format!("reading {name}")))?;
        if !is_own {
            return Err(LogError::NotALogFile(name));
        }
    }
    Ok(())
}

/// Whether there is any of a stream's files, spare ones aside.
pub(crate) fn has_files(directory: &dyn Directory, stream: usize) -> Result<bool, LogError> {
    let (numbers, _) = names_of(directory, stream)?;
    Ok(!numbers.is_empty())
}

/// Whether a stream's files hold any record, kept or not, or did. Changes nothing.
pub(crate) fn holds_records(directory: &dyn Directory, stream: usize) -> Result<bool, LogError> {
    let (numbers, _) = names_of(directory, stream)?;
    for number in numbers {
        let file = open(directory, &log_name(stream, number))?;
        if look_at(file, stream, number)?.newest > Lsn::ZERO {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The numbers of a stream's files, ascending, and the names of its spares.
fn names_of(directory: &dyn Directory, stream: usize) -> Result<(Vec<u64>, Vec<String>), LogError> {
    let names = directory
        .list()
        .map_err(LogError::io("listing a directory"))?;
    let logs = names.iter().filter_map(|name| parse_log_name(name));
    let mut numbers: Vec<u64> = logs
        .filter_map(|(of, number)| (of == stream).then_some(number))
        .collect();
    numbers.sort_unstable();
    let mut spares = names;
    spares.retain(|name| is_spare_of(stream, name));
    Ok((numbers, spares))
}

fn open(directory: &dyn Directory, name: &str) -> Result<Arc<dyn File>, LogError> {
    directory
        .open(name, Access::Buffered, Create::Never)
        .map_err(LogError::io(format!("opening {name}")))
}

/// Looks at all files of a stream and syncs what is found, names included: after a kill it may be in the operating
/// system's cache only.
pub(crate) fn find(directory: &dyn Directory, stream: usize) -> Result<FoundStream, LogError> {
    let (numbers, spares) = names_of(directory, stream)?;
    let mut found = FoundStream {
        files: Vec::with_capacity(numbers.len()),
        spares,
    };
    for number in numbers {
        let name = log_name(stream, number);
        let file = open(directory, &name)?;
        file.sync_data()
            .map_err(LogError::io(format!("syncing {name}")))?;
        found.files.push(look_at(file, stream, number)?);
    }
    directory
        .sync()
        .map_err(LogError::io("syncing a directory"))?;
    Ok(found)
}

/// The header of a file, which must be this one of the stream.
fn header_of(file: &dyn File, stream: usize, number: u64) -> Result<FileHeader, LogError> {
    let name = log_name(stream, number);
    let mut bytes = vec![0; FILE_HEADER_BYTES as usize];
    file.read_at(&mut bytes, 0)
        .map_err(LogError::io(format!("reading {name}")))?;
    let fits = |header: &FileHeader| {
        header.stream == stream && header.number == number && header.first_index > 0
    };
    if let Some(found) = FileHeader::version(&bytes).filter(|&found| found != VERSION) {
        return Err(LogError::Version { name, found });
    }
    let Some(header) = FileHeader::decode(&bytes).filter(fits) else {
        return Err(LogError::Corrupt {
            stream,
            what: format!("the header of {name} is not readable"),
        });
    };
    if header.streams > STREAMS_MAX {
        return Err(LogError::BadStreams(header.streams));
    }
    Ok(header)
}

fn look_at(file: Arc<dyn File>, stream: usize, number: u64) -> Result<FoundFile, LogError> {
    let name = log_name(stream, number);
    let reading = || LogError::io(format!("reading {name}"));
    let header = header_of(&*file, stream, number)?;
    let mut found = FoundFile {
        durable: header.durable,
        newest: header.base,
        batches: Vec::new(),
        stray_bytes: 0,
        file,
        header,
    };
    let mut offset = FILE_HEADER_BYTES;
    let mut batch = Vec::new();
    while let Some(header) =
        read_batch(&*found.file, offset, number, &mut batch).map_err(reading())?
    {
        if header.index != found.last_index() + 1 {
            break;
        }
        found.take_in(&header);
        let bytes = header.batch_bytes as u64;
        found.batches.push(FoundBatch {
            needs: header.needs,
            last: header.last,
            bytes,
        });
        offset += bytes;
    }
    found.search(offset).map_err(reading())?;
    Ok(found)
}

impl FoundFile {
    /// Writes the batches after `durable` up to `kept` to their places again and syncs the file.
    pub(crate) fn write_again(&self, durable: u64, kept: u64) -> Result<(), LogError> {
        let name = log_name(self.header.stream, self.header.number);
        let again = || LogError::io(format!("writing the end of {name} again"));
        let mut offset = FILE_HEADER_BYTES;
        let mut bytes = Vec::new();
        for (index, batch) in (self.header.first_index..=kept).zip(&self.batches) {
            if index > durable {
                let read = read_batch(&*self.file, offset, self.header.number, &mut bytes);
                if read.map_err(again())?.is_none() {
                    return Err(LogError::Corrupt {
                        stream: self.header.stream,
                        what: format!("{name} changed while it was read"),
                    });
                }
                self.file.write_at(&bytes, offset).map_err(again())?;
            }
            offset += batch.bytes;
        }
        self.file.sync_data().map_err(again())
    }

    fn take_in(&mut self, header: &BatchHeader) {
        closure::raise(&mut self.durable, &header.durable);
        self.newest = self.newest.max(header.last);
    }

    /// Reads the durable vectors of intact batches after the first gap.
    fn search(&mut self, from: u64) -> io::Result<()> {
        let len = self.file.len()?;
        let mut piece = vec![0; SEARCH_BYTES];
        let mut batch = Vec::new();
        let mut start = from;
        while start < len {
            let count = self.file.read_at(&mut piece, start)?;
            for (block, bytes) in piece[..count].chunks(BLOCK_BYTES_MIN).enumerate() {
                if BatchHeader::decode(bytes)
                    .is_none_or(|header| header.number != self.header.number)
                {
                    continue;
                }
                let offset = start + (block * BLOCK_BYTES_MIN) as u64;
                let number = self.header.number;
                if let Some(header) = read_batch(&*self.file, offset, number, &mut batch)? {
                    self.take_in(&header);
                    self.stray_bytes += header.batch_bytes as u64;
                }
            }
            start += SEARCH_BYTES as u64;
        }
        Ok(())
    }
}

/// Reads the batch at `offset` into `batch`; `None` if there is no intact one of the file's present life.
pub(crate) fn read_batch(
    file: &dyn File,
    offset: u64,
    number: u64,
    batch: &mut Vec<u8>,
) -> io::Result<Option<BatchHeader>> {
    batch.resize(BLOCK_BYTES_MIN, 0);
    let count = file.read_at(batch, offset)?;
    let Some(header) =
        BatchHeader::decode(&batch[..count]).filter(|header| header.number == number)
    else {
        return Ok(None);
    };
    let covered = BatchHeader::bytes(header.streams) + header.payload_bytes;
    if covered > count {
        if offset + covered as u64 > file.len()? {
            return Ok(None);
        }
        batch.resize(covered, 0);
        file.read_at(&mut batch[count..], offset + count as u64)?;
    }
    Ok(header.payload(batch).is_some().then_some(header))
}
