//! Layout of a stream's files, version 1. Integers are little endian.
//!
//! ```text
//! file     0        4096
//!          | header | batch | batch | ...                 old bytes of a recycled file, or zeros
//! spare    | magic 8 | zeros ...                          prepared; one that was in use before is as it was
//!
//! header   magic 8 | crc 4 | version 4 | number 8 | epoch 8 | first index 8 | base LSN 8 | stream 2 | streams 2 | 4
//!          | durable 8 x 16 | kept 8 x 16                  crc: over everything after it
//! batch    magic 4 | crc 4 | stream 2 | streams 2 | payload bytes 4 | batch bytes 4 | 4 | number 8 | index 8
//!          | first LSN 8 | last LSN 8 | (needs 8, durable 8) x streams | records | padding
//!                                                          crc: over everything after it but the padding
//! ```
//! A file's *number* counts up within its stream and is repeated in its batches, so what an earlier life of a
//! recycled file left is never taken for new. *Index* counts a stream's batches of one *epoch*: the time from one
//! opening of the log to the next. An opening that finds too few spare files continues the last epoch in its files.
//! *Durable* is how far each stream was known to be durable when the header was written: less than that being there
//! is damage, not a crash. *Kept* is what recovery kept of the epoch before.

use crate::Lsn;
use crate::closure::{NONE, Vector};
use crate::limits::{BLOCK_BYTES_MIN, STREAMS_MAX};

/// Bytes before a file's first batch.
pub(crate) const FILE_HEADER_BYTES: u64 = 4096;
pub(crate) const FILE_MAGIC: [u8; 8] = *b"KeelLog\x01";
const BATCH_MAGIC: u32 = 0x4B42_4C31;
/// Version of the format. Magic, checksum, its range and the version are the same in all versions, so that a file of
/// another version is not mistaken for a damaged one.
pub(crate) const VERSION: u32 = 1;
const BATCH_FIXED_BYTES: usize = 56;

/// The header of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileHeader {
    pub number: u64,
    pub epoch: u64,
    /// Index of the file's first batch.
    pub first_index: u64,
    /// The stream's earlier files hold records up to here.
    pub base: Lsn,
    pub stream: usize,
    pub streams: usize,
    pub durable: Vector,
    pub kept: Vector,
}

impl FileHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FILE_HEADER_BYTES as usize);
        bytes.extend_from_slice(&FILE_MAGIC);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        for word in [self.number, self.epoch, self.first_index, self.base.0] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&(self.stream as u16).to_le_bytes());
        bytes.extend_from_slice(&(self.streams as u16).to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        for word in self.durable.iter().chain(&self.kept) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.resize(FILE_HEADER_BYTES as usize, 0);
        let crc = crc32fast::hash(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The version of an intact header, of whatever version it is.
    pub(crate) fn version(bytes: &[u8]) -> Option<u32> {
        let bytes = bytes.get(..FILE_HEADER_BYTES as usize)?;
        let intact = bytes[..8] == FILE_MAGIC && u32_at(bytes, 8) == crc32fast::hash(&bytes[12..]);
        intact.then(|| u32_at(bytes, 12))
    }

    /// `None` if `bytes` are no intact header of this version.
    pub(crate) fn decode(bytes: &[u8]) -> Option<FileHeader> {
        let bytes = bytes.get(..FILE_HEADER_BYTES as usize)?;
        if FileHeader::version(bytes) != Some(VERSION) {
            return None;
        }
        let vector = |at: usize| std::array::from_fn(|stream| u64_at(bytes, at + 8 * stream));
        Some(FileHeader {
            number: u64_at(bytes, 16),
            epoch: u64_at(bytes, 24),
            first_index: u64_at(bytes, 32),
            base: Lsn(u64_at(bytes, 40)),
            stream: usize::from(u16_at(bytes, 48)),
            streams: usize::from(u16_at(bytes, 50)),
            durable: vector(56),
            kept: vector(56 + 8 * STREAMS_MAX),
        })
    }
}

/// The header of a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BatchHeader {
    pub stream: usize,
    pub streams: usize,
    /// Number of the file it was written to.
    pub number: u64,
    pub index: u64,
    /// [`Lsn::ZERO`] in a batch without records.
    pub first: Lsn,
    pub last: Lsn,
    pub payload_bytes: usize,
    /// With header and padding.
    pub batch_bytes: usize,
    pub needs: Vector,
    pub durable: Vector,
}

impl BatchHeader {
    /// Bytes of a batch's header.
    pub(crate) fn bytes(streams: usize) -> usize {
        BATCH_FIXED_BYTES + 16 * streams
    }

    /// Makes the batch's bytes in `batch`, padded by zeros to `batch_bytes`.
    pub(crate) fn encode(&self, payload: &[u8], batch: &mut Vec<u8>) {
        batch.clear();
        batch.reserve(self.batch_bytes);
        batch.extend_from_slice(&BATCH_MAGIC.to_le_bytes());
        batch.extend_from_slice(&[0; 4]);
        batch.extend_from_slice(&(self.stream as u16).to_le_bytes());
        batch.extend_from_slice(&(self.streams as u16).to_le_bytes());
        batch.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        batch.extend_from_slice(&(self.batch_bytes as u32).to_le_bytes());
        batch.extend_from_slice(&[0; 4]);
        for word in [self.number, self.index, self.first.0, self.last.0] {
            batch.extend_from_slice(&word.to_le_bytes());
        }
        for stream in 0..self.streams {
            batch.extend_from_slice(&self.needs[stream].to_le_bytes());
            batch.extend_from_slice(&self.durable[stream].to_le_bytes());
        }
        batch.extend_from_slice(payload);
        let crc = crc32fast::hash(&batch[8..]);
        batch[4..8].copy_from_slice(&crc.to_le_bytes());
        batch.resize(self.batch_bytes, 0);
    }

    /// Reads a header, whose checksum can only be checked with the whole batch; `None` if it cannot be one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<BatchHeader> {
        let fixed = bytes.get(..BATCH_FIXED_BYTES)?;
        if u32_at(fixed, 0) != BATCH_MAGIC {
            return None;
        }
        let streams = usize::from(u16_at(fixed, 10));
        let payload_bytes = u32_at(fixed, 12) as usize;
        let batch_bytes = u32_at(fixed, 16) as usize;
        let vectors = bytes.get(BATCH_FIXED_BYTES..BATCH_FIXED_BYTES + 16 * streams)?;
        let plausible = (1..=STREAMS_MAX).contains(&streams)
            && batch_bytes.is_multiple_of(BLOCK_BYTES_MIN)
            && payload_bytes + BatchHeader::bytes(streams) <= batch_bytes;
        if !plausible {
            return None;
        }
        let (mut needs, mut durable) = (NONE, NONE);
        for stream in 0..streams {
            needs[stream] = u64_at(vectors, 16 * stream);
            durable[stream] = u64_at(vectors, 16 * stream + 8);
        }
        Some(BatchHeader {
            stream: usize::from(u16_at(fixed, 8)),
            streams,
            number: u64_at(fixed, 24),
            index: u64_at(fixed, 32),
            first: Lsn(u64_at(fixed, 40)),
            last: Lsn(u64_at(fixed, 48)),
            payload_bytes,
            batch_bytes,
            needs,
            durable,
        })
    }

    /// The records' bytes, if `batch` is intact.
    pub(crate) fn payload<'a>(&self, batch: &'a [u8]) -> Option<&'a [u8]> {
        let header = BatchHeader::bytes(self.streams);
        let covered = batch.get(..header + self.payload_bytes)?;
        (u32_at(covered, 4) == crc32fast::hash(&covered[8..])).then(|| &covered[header..])
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> FileHeader {
        FileHeader {
            number: 3,
            epoch: 4,
            first_index: 5,
            base: Lsn(6),
            stream: 1,
            streams: 2,
            durable: [7; STREAMS_MAX],
            kept: [8; STREAMS_MAX],
        }
    }

    proptest! {
        #[test]
        fn any_changed_bit_of_a_file_header_is_noticed(bit in 0..8 * FILE_HEADER_BYTES as usize) {
            let mut bytes = header().encode();
            prop_assert_eq!(FileHeader::decode(&bytes), Some(header()));
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(FileHeader::decode(&bytes), None);
        }

        #[test]
        fn any_changed_bit_of_a_batch_is_noticed(payload in proptest::collection::vec(any::<u8>(), 0..300), bit: usize) {
            let (mut needs, mut durable) = (NONE, NONE);
            (needs[1], durable[0]) = (9, 10);
            let header = BatchHeader {
                stream: 1, streams: 2, number: 3, index: 4, first: Lsn(5), last: Lsn(6),
                payload_bytes: payload.len(), batch_bytes: 512, needs, durable,
            };
            let mut batch = Vec::new();
            header.encode(&payload, &mut batch);
            prop_assert_eq!(batch.len(), 512);
            prop_assert_eq!(BatchHeader::decode(&batch), Some(header.clone()));
            prop_assert_eq!(header.payload(&batch), Some(&payload[..]));
            let bit = bit % (8 * (BatchHeader::bytes(2) + payload.len()));
            batch[bit / 8] ^= 1 << (bit % 8);
            let noticed = BatchHeader::decode(&batch).is_none_or(|header| header.payload(&batch).is_none());
            prop_assert!(noticed);
        }
    }
}
