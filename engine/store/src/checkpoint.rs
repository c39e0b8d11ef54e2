//! The checkpoint file: where recovery begins.
//!
//! A checkpoint is not a log record but a small file, replaced atomically:
//!
//! ```text
//! magic (8)  version (4)  crc (4, over the rest)         these in all versions
//! scan-from (8)      first record recovery reads: whatever is older is in the pages and of no running transaction
//! begin (8)          last record when the checkpoint began
//! next number (8)    of transactions
//! catalog (8)        page of the catalog's root, 0 before there is one
//! count (4), then each dirty page: page (8), LSN of its first change not in the file (8)
//! ```

use evenkeel_disk::{
    Access, Create, Directory, is_blank, reserve_atomic_write, temporary, write_atomically,
};
use evenkeel_log::Lsn;
use evenkeel_pages::PageId;
use std::io;

use crate::codec::{Reader, Write};
use crate::error::StoreError;

const FILE: &str = "checkpoint";
const MAGIC: &[u8; 8] = b"evenkeel";
const VERSION: u32 = 2;
/// Room kept for the next checkpoint: with more dirty pages than fit there, a full disk has them written first.
const RESERVED_BYTES: usize = 64 << 10;
/// Magic, version and checksum.
const HEADER_BYTES: usize = 16;

/// Where recovery begins.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Checkpoint {
    pub(crate) scan_from: Lsn,
    /// Smaller than every LSN that is given out after it ([`Log::skip_to`](evenkeel_log::Log::skip_to)).
    pub(crate) begin: Lsn,
    pub(crate) next_number: u64,
    pub(crate) catalog: Option<PageId>,
    /// Pages that differed from the file, and their first change that may not be in it.
    pub(crate) dirty: Vec<(PageId, Lsn)>,
}

/// State that is kept from checkpoint to checkpoint.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct CheckpointState {
    /// When the last one began.
    pub(crate) begin: Lsn,
    /// Bytes of log records written until then, in this run.
    pub(crate) record_bytes: u64,
}

impl Checkpoint {
    /// The checkpoint of a store; `None` if it has none.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub(crate) fn read(directory: &dyn Directory) -> Result<Option<Checkpoint>, StoreError> {
        let file = match directory.open(FILE, Access::Buffered, Create::Never) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io("opening the checkpoint")(error)),
        };
        let reading = || StoreError::io("reading the checkpoint");
        let mut bytes = vec![0; file.len().map_err(reading())? as usize];
        let len = file.read_at(&mut bytes, 0).map_err(reading())?;
        match Checkpoint::decode(&bytes[..len]) {
            Some(Ok(checkpoint)) => Ok(Some(checkpoint)),
            Some(Err(found)) => Err(StoreError::Version {
                found,
                known: VERSION,
            }),
            None if !bytes.starts_with(MAGIC) => Err(StoreError::NotAStore(
                "the file \"checkpoint\" is not a store's".to_owned(),
            )),
            None => Err(StoreError::Corrupt(
                "the checkpoint file is damaged".to_owned(),
            )),
        }
    }

    /// # Errors
    /// What the disk says; the checkpoint before is then still there.
    pub(crate) fn write(&self, directory: &dyn Directory) -> Result<(), StoreError> {
        write_atomically(directory, FILE, &self.encode())
            .map_err(StoreError::io("writing the checkpoint"))
    }

    /// Takes room for the next one. If the disk is full already the next one finds out.
    pub(crate) fn reserve(directory: &dyn Directory) {
        let _ = reserve_atomic_write(directory, FILE, RESERVED_BYTES);
    }

    /// Whether a file of this name is one that was to become the checkpoint.
    pub(crate) fn is_new(name: &str) -> bool {
        name == temporary(FILE)
    }

    /// Whether the next checkpoint may be written over the file that is kept for it; changes nothing. Such a file
    /// begins like a checkpoint, or holds zeros if nothing was written to it.
    ///
    /// # Errors
    /// If it is somebody else's, or cannot be read.
    pub(crate) fn check_new(directory: &dyn Directory) -> Result<(), StoreError> {
        let name = temporary(FILE);
        let file = match directory.open(&name, Access::Buffered, Create::Never) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(StoreError::io("opening the next checkpoint")(error)),
        };
        let mut start = [0; MAGIC.len()];
        let count = file
            .read_at(&mut start, 0)
            .map_err(StoreError::io("reading the next checkpoint"))?;
        let is_own = start[..count] == *MAGIC
            || is_blank(&*file).map_err(StoreError::io("reading the next checkpoint"))?;
        match is_own {
            true => Ok(()),
            false => Err(StoreError::NotAStore(format!(
                "the file {name:?} is not a store's"
            ))),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(40 + 16 * self.dirty.len());
        body.u64(self.scan_from.0);
        body.u64(self.begin.0);
        body.u64(self.next_number);
        body.u64(self.catalog.map_or(0, |page| page.0));
        body.u32(self.dirty.len() as u32);
        for (page, lsn) in &self.dirty {
            body.u64(page.0);
            body.u64(lsn.0);
        }
        let mut bytes = MAGIC.to_vec();
        bytes.u32(VERSION);
        bytes.u32(crc32fast::hash(&body));
        bytes.extend_from_slice(&body);
        bytes
    }

    /// The checkpoint, or the version it was written in; `None` if it is neither.
    fn decode(bytes: &[u8]) -> Option<Result<Checkpoint, u32>> {
        let (header, body) = bytes.split_at_checked(HEADER_BYTES)?;
        let mut header = Reader(header);
        let (magic, version, crc) = (header.take(8)?, header.u32()?, header.u32()?);
        if magic != MAGIC || crc != crc32fast::hash(body) {
            return None;
        }
        if version != VERSION {
            return Some(Err(version));
        }
        let mut body = Reader(body);
        let (scan_from, begin) = (Lsn(body.u64()?), Lsn(body.u64()?));
        let next_number = body.u64()?;
        let catalog = Some(body.u64()?).filter(|&page| page != 0).map(PageId);
        let count = body.u32()?;
        let dirty: Option<_> = (0..count)
            .map(|_| Some((PageId(body.u64()?), Lsn(body.u64()?))))
            .collect();
        let whole = body.is_empty();
        let dirty = dirty.filter(|_| whole)?;
        Some(Ok(Checkpoint {
            scan_from,
            begin,
            next_number,
            catalog,
            dirty,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_disk::faults::FaultDisk;

    #[test]
    fn a_checkpoint_is_read_back_and_every_damage_is_noticed() {
        let disk = FaultDisk::new();
        assert_eq!(Checkpoint::read(&*disk.root()).unwrap(), None);
        let checkpoint = Checkpoint {
            scan_from: Lsn(5),
            begin: Lsn(9),
            next_number: 3,
            catalog: Some(PageId(2)),
            dirty: vec![(PageId(7), Lsn(5)), (PageId(8), Lsn(6))],
        };
        checkpoint.write(&*disk.root()).unwrap();
        assert_eq!(
            Checkpoint::read(&*disk.root()).unwrap(),
            Some(checkpoint.clone())
        );
        let bytes = checkpoint.encode();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            let decoded = Checkpoint::decode(&damaged);
            let is_version = (8..12).contains(&at);
            assert!(
                matches!(decoded, Some(Err(_))) == is_version && !matches!(decoded, Some(Ok(_))),
                "byte {at}: {decoded:?}"
            );
            assert_eq!(Checkpoint::decode(&bytes[..at]), None);
        }
    }
}
