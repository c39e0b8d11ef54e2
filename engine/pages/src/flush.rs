//! Writing dirty pages.
//!
//! Images of pages are taken under shared latches, then written in batches through the [double-write
//! area](crate::double_write) after the log. During that time a frame is pinned and marked as being written, so its
//! page is neither replaced nor written by two threads out of order. A thread with the double-write area, or with
//! frames marked as being written, never waits for a latch: the latch holder may need these to find a frame.

use evenkeel_log::Lsn;

use crate::Pool;
use crate::double_write::Batch;
use crate::error::PageError;
use crate::id::PageId;
use crate::page::{lsn, seal};
use crate::writer::Cleaned;
use std::sync::atomic::Ordering::Relaxed;

/// A page that differs from the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirtyPage {
    /// The page.
    pub page: PageId,
    /// LSN of the first change that may not be in the file: redo starts at the smallest of these.
    pub recovery_lsn: Lsn,
}

/// Whether taking images may wait for latches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LatchWait {
    /// The caller may hold latches itself.
    Never,
    /// The caller holds none.
    Allowed,
}

/// Result of taking an image.
enum Taken {
    /// It is in the batch, with this LSN; the frame stays pinned and marked as being written.
    Image(Lsn),
    /// The page is clean, gone, or being written by another thread.
    Nothing,
    /// The latch was not to be had.
    Latched,
}

/// Most frames at the list's tail that the background writer keeps clean.
const TAIL_FRAMES: usize = 256;

impl Pool {
    /// The pages that may differ from the file, for a checkpoint. Every change with an LSN from before the call is in
    /// the file or in a page of the result. Waits for exclusive latches, so the caller must hold none; read the log's
    /// last LSN for the checkpoint *before*.
    pub fn dirty_pages(&self) -> Vec<DirtyPage> {
        // A holder of a clean page's latch may have appended a record and not marked the page yet. If the page was
        // dirty when it was latched it is among the dirty ones until an image with the change is written.
        for frame in self.dirty.announced() {
            let latch = &self.frames[frame as usize].latch;
            if latch.is_exclusive() {
                latch.lock_shared();
                // SAFETY: just taken.
                unsafe { latch.unlock_shared() }
            }
        }
        let dirty = self.dirty.all().into_iter();
        dirty
            .filter_map(|(recovery_lsn, frame)| {
                // A page that was written and replaced since is in the file; its successor in the frame became dirty
                // later.
                let page = self.frames[frame as usize].page()?;
                Some(DirtyPage { page, recovery_lsn })
            })
            .collect()
    }

    /// Writes all pages that are dirty now. The caller must hold no latch.
    ///
    /// # Errors
    /// [`PageError::Log`], [`PageError::Io`] if there is no room (nothing is lost, and it can be tried again), else
    /// [`PageError::Failed`].
    pub fn flush_all(&self) -> Result<(), PageError> {
        self.flush_before(Lsn::MAX)
    }

    /// Writes all pages with a recovery LSN below `lsn`, so that redo can start there. The caller must hold no latch.
    ///
    /// # Errors
    /// As [`flush_all`](Pool::flush_all).
    pub fn flush_before(&self, lsn: Lsn) -> Result<(), PageError> {
        let mut pages = self.dirty_pages();
        pages.retain(|page| page.recovery_lsn < lsn);
        pages.sort_unstable_by_key(|page| page.page);
        let frames: Vec<u32> = pages
            .iter()
            .filter_map(|page| self.frame_of(page.page))
            .collect();
        self.flush_frames(&frames, LatchWait::Allowed)?;
        // An image that another thread was writing may lack newer changes, so its page is written again. Once this
        // thread has written it, only changes are left that were made after the call.
        for page in pages {
            while let Some(frame) = self.frame_of(page.page) {
                let at = &self.frames[frame as usize];
                let wanted = at.recovery_lsn().is_some_and(|from| from < lsn);
                if !wanted
                    || !at.holds(page.page)
                    || self.flush_frames(&[frame], LatchWait::Allowed)? > 0
                {
                    break;
                }
                self.await_writing(frame);
            }
        }
        Ok(())
    }

    /// Writes up to `count` of the dirty pages that would be replaced next; how many. Skips pages that are latched
    /// exclusively.
    ///
    /// # Errors
    /// As [`flush_all`](Pool::flush_all).
    pub fn flush_some(&self, count: usize) -> Result<usize, PageError> {
        let depth = TAIL_FRAMES.max(4 * count).min(self.frames.len());
        let mut dirty: Vec<u32> = {
            let list = self.replacer.lock();
            let tail = list.backwards().take(depth);
            tail.filter(|&frame| !self.frames[frame as usize].is_clean())
                .take(count)
                .collect()
        };
        // Each page is read once: a frame's page may be replaced at any time, and the order must not change during
        // the sort.
        dirty.sort_by_cached_key(|&frame| self.frames[frame as usize].page());
        self.flush_frames(&dirty, LatchWait::Never)
    }

    /// Writes these frames' pages where they are dirty and nobody else is writing them; how many.
    fn flush_frames(&self, frames: &[u32], latches: LatchWait) -> Result<usize, PageError> {
        if frames.is_empty() {
            return Ok(0);
        }
        let mut batch = self
            .batches
            .lock()
            .pop()
            .unwrap_or_else(|| Batch::new(self.page_bytes));
        let mut written = 0;
        let mut rest = frames;
        let mut result = Ok(());
        while result.is_ok() && !rest.is_empty() {
            let (taken, mut lsns) = self.fill_batch(&mut rest, latches, &mut batch);
            if !taken.is_empty() {
                result = self.write_batch(&mut batch, &mut lsns);
                self.end_writing(&taken, result.is_ok());
                written += taken.len();
            }
        }
        self.batches.lock().push(batch);
        result.map(|()| written)
    }

    /// Takes images of frames off `rest` until the batch is full; the frames, and their pages' LSNs.
    fn fill_batch(
        &self,
        rest: &mut &[u32],
        latches: LatchWait,
        batch: &mut Batch,
    ) -> (Vec<u32>, Vec<Lsn>) {
        batch.clear();
        let mut taken = Vec::new();
        let mut lsns = Vec::new();
        while let Some((&frame, others)) = rest.split_first().filter(|_| !batch.is_full()) {
            // The latch holder may need one of the frames already taken, so those are written first.
            let wait = latches == LatchWait::Allowed && taken.is_empty();
            match self.take_image(frame, wait, batch) {
                Taken::Image(lsn) => {
                    taken.push(frame);
                    lsns.push(lsn);
                }
                Taken::Latched if latches == LatchWait::Allowed => break,
                Taken::Latched | Taken::Nothing => {}
            }
            *rest = others;
        }
        (taken, lsns)
    }

    /// Takes an image of a frame's page into the batch.
    fn take_image(&self, frame: u32, wait: bool, batch: &mut Batch) -> Taken {
        let at = &self.frames[frame as usize];
        let Some(page) = at.page() else {
            return Taken::Nothing;
        };
        if !self.table.pin_frame(page, frame, &self.frames) {
            return Taken::Nothing;
        }
        if wait {
            at.latch.lock_shared();
        } else if !at.latch.try_lock_shared() {
            at.unpin();
            return Taken::Latched;
        }
        let claimed = at.begin_writing();
        self.writing_pages.fetch_add(u64::from(claimed), Relaxed);
        let image_lsn = (claimed && at.take_image()).then(|| {
            let image = batch.add(page);
            // SAFETY: the latch is held shared.
            image.copy_from_slice(unsafe { at.bytes() });
            lsn(image)
        });
        // SAFETY: taken above.
        unsafe { at.latch.unlock_shared() }
        if let Some(lsn) = image_lsn {
            seal(batch.last_mut(), page);
            return Taken::Image(lsn);
        }
        if claimed {
            self.end_writing(&[frame], true);
        } else {
            at.unpin();
        }
        Taken::Nothing
    }

    fn write_batch(&self, batch: &mut Batch, lsns: &mut [Lsn]) -> Result<(), PageError> {
        // Each by itself: with several streams a record may be durable before smaller ones it does not need. From the
        // newest on, as flushing it takes most of the others along.
        lsns.sort_unstable();
        for &lsn in lsns.iter().rev() {
            self.barrier.flush_log_to(lsn)?;
        }
        for page in batch.pages() {
            self.file.make_room(page)?;
        }
        self.double.lock().write(batch, &self.file)?;
        self.written.fetch_add(batch.len() as u64, Relaxed);
        self.write_batches.fetch_add(1, Relaxed);
        Ok(())
    }

    fn end_writing(&self, frames: &[u32], written: bool) {
        let waiting = self.writing.lock();
        for &frame in frames {
            let at = &self.frames[frame as usize];
            self.dirty.end_writing(frame, at, written);
            at.unpin();
        }
        self.writing_pages.fetch_sub(frames.len() as u64, Relaxed);
        drop(waiting);
        self.writing_ended.notify_all();
    }

    /// Waits until some page that is being written has been; false if no page is.
    pub(crate) fn await_any_writing(&self) -> bool {
        let waiting = self.writing.lock();
        let any = self.writing_pages.load(Relaxed) > 0;
        if any {
            drop(self.writing_ended.wait(waiting));
        }
        any
    }

    fn await_writing(&self, frame: u32) {
        let mut waiting = self.writing.lock();
        while self.frames[frame as usize].is_writing() {
            waiting = self.writing_ended.wait(waiting);
        }
    }
}

impl Cleaned for Pool {
    fn replaced(&self) -> u64 {
        self.evicted.load(Relaxed)
    }

    fn is_mostly_dirty(&self) -> bool {
        self.dirty.count() > self.frames.len() / 2
    }

    fn flush_some(&self, count: usize) -> Result<usize, PageError> {
        Pool::flush_some(self, count)
    }

    fn flush_oldest(&self, count: usize) -> Result<usize, PageError> {
        self.flush_frames(&self.dirty.oldest(count), LatchWait::Never)
    }
}
