//! Records of the log.

use std::fmt;

/// Log sequence number: the position of a record in the order of all records, over all streams. Larger is later.
/// After a recovery some may be missing, and new records get larger ones than any that was found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Before every record; "none".
    pub const ZERO: Lsn = Lsn(0);
    /// After every record.
    pub const MAX: Lsn = Lsn(u64::MAX);
}

impl fmt::Debug for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The records, besides the previous one of its transaction, that must survive a power failure for a record to count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depends<'a> {
    /// All with a smaller LSN. Always right.
    Everything,
    /// These; [`Lsn::ZERO`] among them is ignored. For a change of a page: the LSN the page had before. For a commit
    /// that may have read what another transaction had not yet made durable: that transaction's commit record.
    On(&'a [Lsn]),
}

/// A record to append.
#[derive(Clone, Copy, Debug)]
pub struct NewRecord<'a> {
    /// The transaction it belongs to; the log gives no meaning to it.
    pub txn: u64,
    /// The record before it of the same transaction, or [`Lsn::ZERO`].
    pub prev: Lsn,
    /// Its kind; the log gives no meaning to it.
    pub kind: u8,
    /// The records that it depends on.
    pub depends: Depends<'a>,
    /// Its contents, at most [`PAYLOAD_BYTES_MAX`].
    pub payload: &'a [u8],
}

/// The longest payload, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 16 << 20;

/// A record read back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Its place.
    pub lsn: Lsn,
    /// As appended.
    pub txn: u64,
    /// As appended.
    pub prev: Lsn,
    /// As appended.
    pub kind: u8,
    /// As appended.
    pub payload: Vec<u8>,
}

/// Bytes before a payload: length (4), kind (1), LSN (8), transaction (8), prev (8), little endian.
pub(crate) const RECORD_HEADER_BYTES: usize = 29;

/// Appends the record's bytes to `batch`.
pub(crate) fn encode(lsn: Lsn, record: &NewRecord<'_>, batch: &mut Vec<u8>) {
    batch.extend_from_slice(&(record.payload.len() as u32).to_le_bytes());
    batch.push(record.kind);
    batch.extend_from_slice(&lsn.0.to_le_bytes());
    batch.extend_from_slice(&record.txn.to_le_bytes());
    batch.extend_from_slice(&record.prev.0.to_le_bytes());
    batch.extend_from_slice(record.payload);
}

/// Takes the first record off `batch`; `None` if it is malformed, which a checksum has ruled out before.
pub(crate) fn decode(batch: &mut &[u8]) -> Option<Record> {
    let (header, rest) = batch.split_first_chunk::<RECORD_HEADER_BYTES>()?;
    let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    let len = u32::from_le_bytes(header[..4].try_into().expect("four bytes")) as usize;
    let payload = rest.get(..len)?;
    *batch = &rest[len..];
    Some(Record {
        lsn: Lsn(word(5)),
        txn: word(13),
        prev: Lsn(word(21)),
        kind: header[4],
        payload: payload.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_decode_as_encoded(txn: u64, prev: u64, kind: u8, payload in proptest::collection::vec(any::<u8>(), 0..99)) {
            let mut batch = Vec::new();
            let depends = Depends::Everything;
            let record = NewRecord { txn, prev: Lsn(prev), kind, depends, payload: &payload };
            encode(Lsn(5), &record, &mut batch);
            encode(Lsn(6), &record, &mut batch);
            let mut rest = &batch[..];
            let expected = Record { lsn: Lsn(5), txn, prev: Lsn(prev), kind, payload: payload.clone() };
            prop_assert_eq!(decode(&mut rest), Some(expected));
            prop_assert_eq!(decode(&mut rest).map(|record| record.lsn), Some(Lsn(6)));
            prop_assert!(rest.is_empty());
            let mut cut = &batch[..batch.len() / 2 - 1];
            prop_assert_eq!(decode(&mut cut), None);
        }
    }
}
