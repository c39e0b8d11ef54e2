//! Which frame has which page.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use crate::frame::Frame;
use crate::id::PageId;
use crate::sync::Mutex;

/// Number of independently locked parts; a power of two, so that threads seldom meet.
const SHARDS: usize = 64;

/// The page table. Pages are pinned and unmapped under the lock of their shard, so none is unmapped while pinned.
pub(crate) struct PageTable {
    shards: Box<[Mutex<Shard>]>,
}

#[derive(Default)]
struct Shard {
    frames: HashMap<PageId, u32, FxBuildHasher>,
    hits: u64,
    misses: u64,
}

impl PageTable {
    pub(crate) fn new() -> PageTable {
        PageTable {
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect(),
        }
    }

    fn shard(&self, page: PageId) -> &Mutex<Shard> {
        // Fibonacci hashing: neighbouring pages go to different shards.
        let hash = page.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.shards[(hash >> 58) as usize]
    }

    /// The frame of a page, pinned, if it has one; counts a hit or a miss.
    pub(crate) fn pin(&self, page: PageId, frames: &[Frame]) -> Option<u32> {
        let mut shard = self.shard(page).lock();
        let frame = shard.frames.get(&page).copied();
        match frame {
            Some(frame) => {
                frames[frame as usize].pin();
                shard.hits += 1;
            }
            None => shard.misses += 1,
        }
        frame
    }

    /// Pins a frame if it still has this page; counts nothing.
    pub(crate) fn pin_frame(&self, page: PageId, frame: u32, frames: &[Frame]) -> bool {
        let shard = self.shard(page).lock();
        let there = shard.frames.get(&page) == Some(&frame);
        if there {
            frames[frame as usize].pin();
        }
        there
    }

    /// The frame of a page, if it has one.
    pub(crate) fn frame_of(&self, page: PageId) -> Option<u32> {
        self.shard(page).lock().frames.get(&page).copied()
    }

    /// Gives a page a frame, unless it has one.
    pub(crate) fn map(&self, page: PageId, frame: u32) -> bool {
        let mut shard = self.shard(page).lock();
        let absent = !shard.frames.contains_key(&page);
        if absent {
            shard.frames.insert(page, frame);
        }
        absent
    }

    /// Takes a page's frame away.
    pub(crate) fn unmap(&self, page: PageId) {
        self.shard(page).lock().frames.remove(&page);
    }

    /// Takes the frame of an unpinned, clean page away from it; whether it was so.
    pub(crate) fn unmap_if_idle(&self, page: PageId, frame: u32, frames: &[Frame]) -> bool {
        let mut shard = self.shard(page).lock();
        let at = &frames[frame as usize];
        let idle = shard.frames.get(&page) == Some(&frame) && at.pins() == 0 && at.is_clean();
        if idle {
            shard.frames.remove(&page);
            at.set_page(None);
        }
        idle
    }

    /// Hits, misses and pages in memory.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let mut sum = (0, 0, 0);
        for shard in &self.shards {
            let shard = shard.lock();
            sum = (
                sum.0 + shard.hits,
                sum.1 + shard.misses,
                sum.2 + shard.frames.len() as u64,
            );
        }
        sum
    }
}
