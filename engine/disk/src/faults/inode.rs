//! A file of the simulated disk: what is durable, what is visible, and what lies between.

use rand::RngExt;

use super::Rng;

/// A change of a file since its last successful sync.
#[derive(Clone)]
enum Change {
    Write { offset: usize, data: Vec<u8> },
    SetLen(usize),
}

impl Change {
    fn apply(&self, contents: &mut Vec<u8>) {
        match self {
            Change::Write { offset, data } => put(contents, data, *offset),
            Change::SetLen(len) => contents.resize(*len, 0),
        }
    }
}

/// The unit that a disk writes atomically, in bytes.
const SECTOR_BYTES: usize = 512;

/// The parts of `len` bytes from `offset` that lie in different sectors, relative to `offset`.
fn sectors(offset: usize, len: usize, sector: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let upto = (((offset + from) / sector + 1) * sector - offset).min(len);
        let part = (from < len).then_some((from, upto));
        from = upto;
        part
    })
}

/// Contents of one file.
#[derive(Clone, Default)]
pub(super) struct Inode {
    /// Content that a power failure cannot remove.
    durable: Vec<u8>,
    /// Content that reads see.
    visible: Vec<u8>,
    /// In order; a power failure keeps any part of it.
    pending: Vec<Change>,
}

impl Inode {
    pub(super) fn visible(&self) -> &[u8] {
        &self.visible
    }

    pub(super) fn write(&mut self, data: &[u8], offset: usize) {
        put(&mut self.visible, data, offset);
        self.pending.push(Change::Write {
            offset,
            data: data.to_vec(),
        });
    }

    pub(super) fn set_len(&mut self, len: usize) {
        self.visible.resize(len, 0);
        self.pending.push(Change::SetLen(len));
    }

    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Models Linux when writing back fails: a part may have reached the disk, and all pages are marked clean. So the
    /// rest stays visible and never reaches the disk unless it is written again.
    pub(super) fn fail_sync(&mut self, rng: &mut Rng) {
        self.durable = self.after_power_failure(rng).durable;
        self.pending.clear();
    }

    /// A write that fails: by chance, some of its sectors are written.
    pub(super) fn write_part(&mut self, data: &[u8], offset: usize, rng: &mut Rng) {
        for (from, upto) in sectors(offset, data.len(), SECTOR_BYTES) {
            if rng.random_range(0..2) == 0 {
                self.write(&data[from..upto], offset + from);
            }
        }
    }

    /// Memory is short: pages marked clean leave the cache, including those that a failed sync did not write.
    pub(super) fn evict(&mut self) {
        self.visible.clone_from(&self.durable);
        for change in &self.pending {
            change.apply(&mut self.visible);
        }
    }

    /// Changes one byte of the file silently, as decaying media do.
    pub(super) fn damage(&mut self, offset: usize, mask: u8) {
        for contents in [&mut self.durable, &mut self.visible] {
            if let Some(byte) = contents.get_mut(offset) {
                *byte ^= mask;
            }
        }
    }

    /// The file after a power failure: of the pending changes none, all, a prefix torn in its last write, or each
    /// sector by chance.
    pub(super) fn after_power_failure(&self, rng: &mut Rng) -> Inode {
        let mut left = self.durable.clone();
        let sector = if rng.random_range(0..2) == 0 {
            SECTOR_BYTES
        } else {
            4096
        };
        let count = self.pending.len() as u64;
        let (whole, odds) = match rng.random_range(0..4) {
            0 => (0, None),
            1 => (count, None),
            2 => (rng.random_range(0..=count), Some((1, false))),
            _ => (0, Some((1 + rng.random_range(0..7), true))),
        };
        for (index, change) in self.pending.iter().enumerate() {
            let index = index as u64;
            // Number of sectors kept, of eight, of a partly kept change.
            let eighths = match odds {
                _ if index < whole => 8,
                Some((eighths, true)) => eighths,
                Some((_, false)) if index == whole => 4,
                _ => 0,
            };
            keep_part(&mut left, change, eighths, sector, rng);
        }
        Inode {
            durable: left.clone(),
            visible: left,
            pending: Vec::new(),
        }
    }
}

fn keep_part(left: &mut Vec<u8>, change: &Change, eighths: u64, sector: usize, rng: &mut Rng) {
    match change {
        Change::SetLen(len) => {
            if rng.random_range(0..8) < eighths {
                left.resize(*len, 0);
            }
        }
        Change::Write { offset, data } => {
            for (from, upto) in sectors(*offset, data.len(), sector) {
                if rng.random_range(0..8) < eighths {
                    put(left, &data[from..upto], offset + from);
                }
            }
        }
    }
}

fn put(contents: &mut Vec<u8>, data: &[u8], offset: usize) {
    let end = offset + data.len();
    if contents.len() < end {
        contents.resize(end, 0);
    }
    contents[offset..end].copy_from_slice(data);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, proptest};
    use rand::SeedableRng;

    proptest! {
        /// Every sector of an image is one of the versions it had since the last sync, and what was synced before
        /// stays.
        #[test]
        fn images_hold_versions_only(
            synced in proptest::collection::vec(any::<u8>(), 0..9000),
            writes in proptest::collection::vec((0usize..8, 1usize..5, 1u8..), 0..6),
            seed: u64,
        ) {
            let mut inode = Inode::default();
            inode.write(&synced, 0);
            inode.sync();
            let mut versions = vec![inode.visible().to_vec()];
            for (sector, sectors, byte) in writes {
                inode.write(&vec![byte; sectors * 512], sector * 512);
                versions.push(inode.visible().to_vec());
            }
            let image = inode.after_power_failure(&mut Rng::seed_from_u64(seed));
            prop_assert!(image.visible().len() >= synced.len());
            for (index, left) in image.visible().chunks(512).enumerate() {
                let held = |version: &Vec<u8>| {
                    let at = |offset: usize| version.get(index * 512 + offset).copied().unwrap_or(0);
                    left.iter().enumerate().all(|(offset, &byte)| byte == at(offset))
                };
                prop_assert!(versions.iter().any(held), "sector {}", index);
            }
        }
    }

    /// Data that a failed sync did not write, a later sync does not write either, though reads see it until it leaves
    /// the cache.
    #[test]
    fn a_failed_sync_loses_what_was_pending() {
        let mut lost = 0;
        for seed in 0..20 {
            let mut inode = Inode::default();
            inode.write(b"old", 0);
            inode.sync();
            inode.write(b"new", 0);
            inode.fail_sync(&mut Rng::seed_from_u64(seed));
            inode.sync();
            assert_eq!(inode.visible(), b"new");
            let durable = inode.durable.clone();
            for seed in 0..20 {
                let image = inode.after_power_failure(&mut Rng::seed_from_u64(seed));
                assert_eq!(image.visible(), durable);
            }
            inode.evict();
            assert_eq!(inode.visible(), durable);
            lost += usize::from(durable == b"old");
        }
        assert!(lost > 5 && lost < 20, "{lost} of 20 lost");
    }

    /// A failed write leaves any of its sectors, and nothing else.
    #[test]
    fn a_failed_write_is_torn_between_sectors() {
        let mut torn = 0;
        for seed in 0..20 {
            let mut inode = Inode::default();
            inode.write(&[1; 4096], 0);
            inode.write_part(&[2; 2048], 300, &mut Rng::seed_from_u64(seed));
            let whole = |sector: &[u8]| sector.windows(2).filter(|pair| pair[0] != pair[1]).count();
            let breaks: usize = inode.visible().chunks(512).map(whole).sum();
            assert!(breaks <= 2, "within the first and the last sector only");
            let new = inode.visible().iter().filter(|&&byte| byte == 2).count();
            torn += usize::from(new > 0 && new < 2048);
        }
        assert!(torn > 10, "{torn} of 20 torn");
    }

    /// All kinds of images occur: nothing, all, torn.
    #[test]
    fn images_differ_by_seed() {
        let mut inode = Inode::default();
        inode.write(&[1; 8192], 0);
        let kept = |seed| {
            let image = inode.after_power_failure(&mut Rng::seed_from_u64(seed));
            image.visible().iter().filter(|&&byte| byte == 1).count()
        };
        let counts: Vec<usize> = (0..50).map(kept).collect();
        assert!(counts.contains(&0) && counts.contains(&8192));
        assert!(counts.iter().any(|&count| count > 0 && count < 8192));
    }
}
