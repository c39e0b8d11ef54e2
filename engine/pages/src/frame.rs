//! A place for a page in memory.

use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use evenkeel_disk::AlignedBuffer;
use evenkeel_log::Lsn;

use crate::id::PageId;
use crate::latch::Latch;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64};

const NO_PAGE: u64 = u64::MAX;

/// A frame. Its page changes only while it is unpinned and taken out of the page table by one thread. Frames
/// do not share cache lines: pinning one is not to slow down the use of its neighbour.
#[repr(align(64))]
pub(crate) struct Frame {
    pub(crate) latch: Latch,
    pins: AtomicU32,
    page: AtomicU64,
    /// LSN of the first change that is in no image of the page being written or written; 0 without such a change.
    dirty_from: AtomicU64,
    /// Like `dirty_from`, for the image being written.
    writing_from: AtomicU64,
    /// Whether an image is being written.
    writing: AtomicBool,
    memory: UnsafeCell<AlignedBuffer>,
}

// SAFETY: `memory` is read under a shared or exclusive `latch`, and changed under an exclusive one.
unsafe impl Sync for Frame {}

impl Frame {
    /// A frame without memory, see [`Frame::make_memory`].
    pub(crate) fn new() -> Frame {
        Frame {
            latch: Latch::new(),
            pins: AtomicU32::new(0),
            page: AtomicU64::new(NO_PAGE),
            dirty_from: AtomicU64::new(0),
            writing_from: AtomicU64::new(0),
            writing: AtomicBool::new(false),
            memory: UnsafeCell::new(AlignedBuffer::zeroed(0)),
        }
    }

    /// Called under the lock of the page's shard, or by the only user of the frame.
    pub(crate) fn pin(&self) {
        self.pins.fetch_add(1, Relaxed);
    }

    pub(crate) fn unpin(&self) {
        self.pins.fetch_sub(1, Release);
    }

    pub(crate) fn pins(&self) -> u32 {
        self.pins.load(Acquire)
    }

    pub(crate) fn page(&self) -> Option<PageId> {
        Some(self.page.load(Acquire))
            .filter(|&page| page != NO_PAGE)
            .map(PageId)
    }

    pub(crate) fn holds(&self, page: PageId) -> bool {
        self.page.load(Acquire) == page.0
    }

    pub(crate) fn set_page(&self, page: Option<PageId>) {
        self.page
            .store(page.map_or(NO_PAGE, |page| page.0), Release);
    }

    /// Gives the frame memory for a page, unless it has some: a large pool takes as much as it uses.
    ///
    /// # Safety
    /// The caller holds the latch exclusively and no reference to the bytes.
    pub(crate) unsafe fn make_memory(&self, page_bytes: usize) {
        // SAFETY: nobody else reads or changes the memory.
        let memory = unsafe { &mut *self.memory.get() };
        if memory.is_empty() {
            *memory = AlignedBuffer::zeroed(page_bytes);
        }
    }

    /// # Safety
    /// The caller holds the latch at least shared for as long as it uses the result.
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: nobody changes the memory while the latch is held shared.
        unsafe { &*self.memory.get() }
    }

    /// # Safety
    /// The caller holds the latch exclusively for as long as it uses the result, and has no other reference to the
    /// bytes.
    #[allow(clippy::mut_from_ref, reason = "the latch is the exclusive borrow")]
    pub(crate) unsafe fn bytes_mut(&self) -> &mut [u8] {
        // SAFETY: nobody else reads or changes the memory.
        unsafe { &mut *self.memory.get() }
    }

    /// Notes a change; the caller holds the latch exclusively.
    pub(crate) fn mark_dirty(&self, lsn: Lsn) {
        // Only an image that failed to be written changes this at the same time, and to something smaller.
        let _ = self.dirty_from.compare_exchange(0, lsn.0, AcqRel, Acquire);
    }

    /// LSN of the first change the file may lack, if there is one.
    pub(crate) fn recovery_lsn(&self) -> Option<Lsn> {
        // In this order: a change moves from the first to the second when an image of it is taken.
        let dirty = self.dirty_from.load(Acquire);
        let writing = self.writing_from.load(Acquire);
        [dirty, writing]
            .into_iter()
            .filter(|&lsn| lsn > 0)
            .min()
            .map(Lsn)
    }

    /// Whether there is a change that is in no image; the caller holds the latch exclusively, so that no image is being taken.
    pub(crate) fn has_unwritten_changes(&self) -> bool {
        self.dirty_from.load(Acquire) > 0
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.recovery_lsn().is_none()
    }

    /// Claims the right to write an image; false if one is being written.
    pub(crate) fn begin_writing(&self) -> bool {
        !self.writing.swap(true, AcqRel)
    }

    /// An image is being taken, under the shared latch; false if the page is clean.
    pub(crate) fn take_image(&self) -> bool {
        let from = self.dirty_from.load(Acquire);
        self.writing_from.store(from, Release);
        self.dirty_from.store(0, Release);
        from > 0
    }

    /// The image has been written, or could not be.
    pub(crate) fn end_writing(&self, written: bool) {
        let from = self.writing_from.load(Acquire);
        if !written && from > 0 {
            // Older than any change made since.
            self.dirty_from.store(from, Release);
        }
        self.writing_from.store(0, Release);
        self.writing.store(false, Release);
    }

    pub(crate) fn is_writing(&self) -> bool {
        self.writing.load(Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recovery_lsn_is_that_of_the_first_unwritten_change() {
        let frame = Frame::new();
        assert_eq!(frame.recovery_lsn(), None);
        frame.mark_dirty(Lsn(5));
        frame.mark_dirty(Lsn(7));
        assert_eq!(frame.recovery_lsn(), Some(Lsn(5)));
        assert!(frame.begin_writing() && !frame.begin_writing());
        assert!(frame.take_image());
        assert_eq!(frame.recovery_lsn(), Some(Lsn(5)), "not written yet");
        frame.mark_dirty(Lsn(9));
        frame.end_writing(true);
        assert_eq!(frame.recovery_lsn(), Some(Lsn(9)));
        assert!(frame.begin_writing() && frame.take_image());
        frame.mark_dirty(Lsn(11));
        frame.end_writing(false);
        assert_eq!(
            frame.recovery_lsn(),
            Some(Lsn(9)),
            "the image was not written"
        );
    }
}
