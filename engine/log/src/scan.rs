//! Reading what recovery kept, over all streams in the order of LSNs.

use std::collections::VecDeque;
use std::sync::Arc;

use evenkeel_disk::File;

use crate::error::LogError;
use crate::format::FILE_HEADER_BYTES;
use crate::found::read_batch;
use crate::record::{Lsn, Record, decode};

/// A file, and how much of it counts.
#[derive(Clone, Debug)]
pub(crate) struct KeptFile {
    pub file: Arc<dyn File>,
    pub number: u64,
    /// Number of batches, from the first.
    pub batches: usize,
    /// Their last LSN.
    pub last: Lsn,
}

/// The records there were when the log was opened. To be used before
/// [`Log::recycle_before`](crate::Log::recycle_before), which gives files to other use.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    pub(crate) streams: Vec<Vec<KeptFile>>,
    /// Records up to here may have been in files of the stream that are gone.
    pub(crate) bases: Vec<Lsn>,
    pub(crate) end: Lsn,
    pub(crate) discarded_bytes: u64,
}

impl Recovered {
    /// The last LSN kept, or [`Lsn::ZERO`].
    pub fn end(&self) -> Lsn {
        self.end
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.streams
            .iter()
            .flatten()
            .all(|file| file.last == Lsn::ZERO)
    }

    /// Bytes of batches that were intact but not kept, as they or what they depend on had never been acknowledged as
    /// durable.
    pub fn discarded_bytes(&self) -> u64 {
        self.discarded_bytes
    }

    /// The records with an LSN of at least `from`, in ascending order; LSNs may be missing between them. Can be
    /// called again for another pass.
    ///
    /// # Errors
    /// [`LogError::Recycled`] if records from `from` on are gone. The iterator yields `Io` or `Corrupt` if a file
    /// cannot be read any more, and ends then.
    pub fn scan(&self, from: Lsn) -> Result<Scan, LogError> {
        for (stream, &first) in self.bases.iter().enumerate() {
            if first >= from && first > Lsn::ZERO {
                let wanted = from;
                return Err(LogError::Recycled {
                    wanted,
                    stream,
                    first,
                });
            }
        }
        let cursors = self
            .streams
            .iter()
            .enumerate()
            .map(|(stream, files)| Cursor::new(stream, files, from))
            .collect();
        Ok(Scan { cursors })
    }
}

/// Iterator of [`Recovered::scan`].
#[derive(Debug)]
pub struct Scan {
    cursors: Vec<Cursor>,
}

impl Iterator for Scan {
    type Item = Result<Record, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut least: Option<(Lsn, usize)> = None;
        for index in 0..self.cursors.len() {
            match self.cursors[index].peek() {
                Ok(Some(lsn)) => least = Some(least.unwrap_or((lsn, index)).min((lsn, index))),
                Ok(None) => {}
                Err(error) => {
                    self.cursors.clear();
                    return Some(Err(error));
                }
            }
        }
        let (_, index) = least?;
        self.cursors[index].records.pop_front().map(Ok)
    }
}

/// Where the scan is in one stream.
#[derive(Debug)]
struct Cursor {
    stream: usize,
    from: Lsn,
    files: VecDeque<KeptFile>,
    offset: u64,
    /// Records of the batch read last.
    records: VecDeque<Record>,
    batch: Vec<u8>,
}

impl Cursor {
    fn new(stream: usize, files: &[KeptFile], from: Lsn) -> Cursor {
        let holds = |file: &&KeptFile| file.batches > 0 && file.last >= from;
        Cursor {
            stream,
            from,
            files: files.iter().filter(holds).cloned().collect(),
            offset: FILE_HEADER_BYTES,
            records: VecDeque::new(),
            batch: Vec::new(),
        }
    }

    /// LSN of the next record, after reading what is needed to know it.
    fn peek(&mut self) -> Result<Option<Lsn>, LogError> {
        loop {
            if let Some(record) = self.records.front() {
                return Ok(Some(record.lsn));
            }
            match self.files.front_mut() {
                None => return Ok(None),
                Some(file) if file.batches == 0 => {
                    self.files.pop_front();
                    self.offset = FILE_HEADER_BYTES;
                }
                Some(file) => {
                    file.batches -= 1;
                    self.read_batch()?;
                }
            }
        }
    }

    fn read_batch(&mut self) -> Result<(), LogError> {
        let file = self.files.front().expect("the caller saw a file");
        let read = read_batch(&*file.file, self.offset, file.number, &mut self.batch);
        let header = read.map_err(LogError::io("reading a batch"))?;
        let unreadable = || LogError::Corrupt {
            stream: self.stream,
            what: format!("file {} changed while it was read", file.number),
        };
        let header = header.ok_or_else(unreadable)?;
        self.offset += header.batch_bytes as u64;
        if header.last < self.from {
            return Ok(());
        }
        let mut rest = header.payload(&self.batch).ok_or_else(unreadable)?;
        while !rest.is_empty() {
            let record = decode(&mut rest).ok_or_else(unreadable)?;
            if record.lsn >= self.from {
                self.records.push_back(record);
            }
        }
        Ok(())
    }
}
