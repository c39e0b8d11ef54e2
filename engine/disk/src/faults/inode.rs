//! A file of the simulated disk: what is durable, what is visible, and what lies between.

use super::draws::Draws;

/// What was done to a file since its last successful sync.
#[derive(Clone)]
enum Change {
    Write { offset: usize, data: Vec<u8> },
    SetLen(usize),
}

/// Contents of one file.
#[derive(Clone, Default)]
pub(super) struct Inode {
    /// What a power failure cannot take any more.
    durable: Vec<u8>,
    /// What reads see.
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
            match change {
                Change::Write { offset, data } => put(&mut self.durable, &data, offset),
                Change::SetLen(len) => self.durable.resize(len, 0),
            }
        }
    }

    /// What Linux does when writing back fails: the pages count as clean from then on, so they stay visible and never
    /// reach the disk.
    pub(super) fn fail_sync(&mut self) {
        self.pending.clear();
    }

    /// Changes one byte of the file behind the back of everybody, as decaying media do.
    pub(super) fn damage(&mut self, offset: usize, mask: u8) {
        for contents in [&mut self.durable, &mut self.visible] {
            if let Some(byte) = contents.get_mut(offset) {
                *byte ^= mask;
            }
        }
    }

    /// What a power failure leaves: of the pending changes nothing, everything, a prefix torn in its last write, or
    /// each sector by chance.
    pub(super) fn after_power_failure(&self, draws: &mut Draws) -> Inode {
        let mut left = self.durable.clone();
        let sector = if draws.below(2) == 0 { 512 } else { 4096 };
        let count = self.pending.len() as u64;
        let (whole, odds) = match draws.below(4) {
            0 => (0, None),
            1 => (count, None),
            2 => (draws.below(count + 1), Some((1, false))),
            _ => (0, Some((1 + draws.below(7), true))),
        };
        for (index, change) in self.pending.iter().enumerate() {
            let index = index as u64;
            // Of eight sectors of a partly kept change, so many are kept.
            let eighths = match odds {
                _ if index < whole => 8,
                Some((eighths, true)) => eighths,
                Some((_, false)) if index == whole => 4,
                _ => 0,
            };
            keep_part(&mut left, change, eighths, sector, draws);
        }
        Inode {
            durable: left.clone(),
            visible: left,
            pending: Vec::new(),
        }
    }
}

fn keep_part(left: &mut Vec<u8>, change: &Change, eighths: u64, sector: usize, draws: &mut Draws) {
    match change {
        Change::SetLen(len) => {
            if draws.below(8) < eighths {
                left.resize(*len, 0);
            }
        }
        Change::Write { offset, data } => {
            let mut from = 0;
            while from < data.len() {
                let upto = ((offset + from) / sector + 1) * sector - offset;
                let upto = upto.min(data.len());
                if draws.below(8) < eighths {
                    put(left, &data[from..upto], offset + from);
                }
                from = upto;
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
    use proptest::prelude::*;

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
            let image = inode.after_power_failure(&mut Draws::new(seed));
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

    /// A sync that failed has lost what it should have written, though reads still see it.
    #[test]
    fn a_failed_sync_loses_what_was_pending() {
        let mut inode = Inode::default();
        inode.write(b"old", 0);
        inode.sync();
        inode.write(b"new", 0);
        inode.fail_sync();
        inode.sync();
        assert_eq!(inode.visible(), b"new");
        for seed in 0..20 {
            let image = inode.after_power_failure(&mut Draws::new(seed));
            assert_eq!(image.visible(), b"old");
        }
    }

    /// All kinds of images occur: nothing, all, torn.
    #[test]
    fn images_differ_by_seed() {
        let mut inode = Inode::default();
        inode.write(&[1; 8192], 0);
        let kept = |seed| {
            let image = inode.after_power_failure(&mut Draws::new(seed));
            image.visible().iter().filter(|&&byte| byte == 1).count()
        };
        let counts: Vec<usize> = (0..50).map(kept).collect();
        assert!(counts.contains(&0) && counts.contains(&8192));
        assert!(counts.iter().any(|&count| count > 0 && count < 8192));
    }
}
