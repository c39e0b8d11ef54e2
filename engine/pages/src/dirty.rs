//! Which frames have pages that differ from the file, in the order of their recovery LSNs.
//!
//! Updated when a page becomes clean or dirty, so that no thread has to look at all frames. The number of dirty
//! pages, the oldest one and those that a checkpoint needs are found in time that depends on the dirty pages alone.
//! InnoDB's flush list serves the same end.
//!
//! A frame is in its shard exactly while it has a recovery LSN, and under that LSN; both change under the shard's
//! lock. *Announced* frames are clean and latched exclusively by a thread that may have appended a record but not
//! marked the page yet. Whoever wants to know all dirty pages waits for those.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::Ordering::Relaxed;

use evenkeel_log::Lsn;
use rustc_hash::FxBuildHasher;

use crate::frame::Frame;
use crate::sync::{AtomicU64, Mutex};

/// Number of independently locked parts.
const SHARDS: usize = 16;

/// The dirty frames of a pool.
pub(crate) struct DirtyFrames {
    shards: Box<[Mutex<Shard>]>,
    count: AtomicU64,
}

#[derive(Default)]
struct Shard {
    by_lsn: BTreeSet<(Lsn, u32)>,
    announced: HashSet<u32, FxBuildHasher>,
}

impl DirtyFrames {
    pub(crate) fn new() -> DirtyFrames {
        DirtyFrames {
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect(),
            count: AtomicU64::new(0),
        }
    }

    fn shard(&self, frame: u32) -> &Mutex<Shard> {
        &self.shards[frame as usize % SHARDS]
    }

    /// The caller has latched the frame exclusively and may change its page; false if the page has unwritten changes already.
    /// Otherwise [`mark`](DirtyFrames::mark) or [`withdraw`](DirtyFrames::withdraw) follows.
    pub(crate) fn announce(&self, number: u32, frame: &Frame) -> bool {
        if frame.has_unwritten_changes() {
            return false;
        }
        self.shard(number).lock().announced.insert(number);
        true
    }

    /// The page was not changed.
    pub(crate) fn withdraw(&self, number: u32) {
        self.shard(number).lock().announced.remove(&number);
    }

    /// The page was changed; the caller holds the latch exclusively.
    pub(crate) fn mark(&self, number: u32, frame: &Frame, lsn: Lsn) {
        let mut shard = self.shard(number).lock();
        shard.announced.remove(&number);
        self.update(&mut shard, number, frame, || frame.mark_dirty(lsn));
    }

    /// An image of the page was written, or could not be.
    pub(crate) fn end_writing(&self, number: u32, frame: &Frame, written: bool) {
        let mut shard = self.shard(number).lock();
        self.update(&mut shard, number, frame, || frame.end_writing(written));
    }

    fn update(&self, shard: &mut Shard, number: u32, frame: &Frame, change: impl FnOnce()) {
        let before = frame.recovery_lsn();
        change();
        let after = frame.recovery_lsn();
        if before == after {
            return;
        }
        if let Some(lsn) = before {
            shard.by_lsn.remove(&(lsn, number));
            self.count.fetch_sub(1, Relaxed);
        }
        if let Some(lsn) = after {
            shard.by_lsn.insert((lsn, number));
            self.count.fetch_add(1, Relaxed);
        }
    }

    /// Number of dirty frames.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Relaxed) as usize
    }

    /// Clean frames that somebody may be about to mark.
    pub(crate) fn announced(&self) -> Vec<u32> {
        let shards = self.shards.iter();
        shards
            .flat_map(|shard| shard.lock().announced.iter().copied().collect::<Vec<_>>())
            .collect()
    }

    /// All dirty frames with their recovery LSNs.
    pub(crate) fn all(&self) -> Vec<(Lsn, u32)> {
        let shards = self.shards.iter();
        shards
            .flat_map(|shard| shard.lock().by_lsn.iter().copied().collect::<Vec<_>>())
            .collect()
    }

    /// The `count` frames that have been dirty longest, the oldest first.
    pub(crate) fn oldest(&self, count: usize) -> Vec<u32> {
        let mut oldest: Vec<(Lsn, u32)> = Vec::with_capacity(count * SHARDS);
        for shard in &self.shards {
            oldest.extend(shard.lock().by_lsn.iter().take(count));
        }
        oldest.sort_unstable();
        oldest
            .into_iter()
            .take(count)
            .map(|(_, frame)| frame)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FRAMES: u32 = 40;

    proptest! {
        /// Against what the frames themselves say.
        #[test]
        fn as_the_frames_say(steps in proptest::collection::vec((0..4u8, 0..FRAMES), 1..300)) {
            let frames: Vec<Frame> = (0..FRAMES).map(|_| Frame::new()).collect();
            let dirty = DirtyFrames::new();
            for (at, (what, number)) in steps.into_iter().enumerate() {
                let frame = &frames[number as usize];
                match what {
                    0 => dirty.mark(number, frame, Lsn(1 + at as u64)),
                    1 if frame.begin_writing() => drop(frame.take_image()),
                    2 | 3 if frame.is_writing() => dirty.end_writing(number, frame, what == 2),
                    _ => {
                        let unwritten = frame.has_unwritten_changes();
                        prop_assert_eq!(dirty.announce(number, frame), !unwritten);
                        prop_assert_eq!(dirty.announced().contains(&number), !unwritten);
                        dirty.withdraw(number);
                    }
                }
                let mut expected: Vec<(Lsn, u32)> = (0..FRAMES)
                    .filter_map(|number| Some((frames[number as usize].recovery_lsn()?, number)))
                    .collect();
                expected.sort_unstable();
                let mut all = dirty.all();
                all.sort_unstable();
                prop_assert_eq!(&all, &expected);
                prop_assert_eq!(dirty.count(), expected.len());
                let oldest: Vec<u32> = expected.iter().take(5).map(|&(_, number)| number).collect();
                prop_assert_eq!(dirty.oldest(5), oldest);
                prop_assert!(dirty.announced().is_empty());
            }
        }
    }
}
