//! The pool: finding pages in memory, bringing them in, and finding room for them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use evenkeel_disk::{Background, Directory};
use evenkeel_log::{Log, LogError, Lsn};

use crate::dirty::DirtyFrames;
use crate::double_write::{BATCH_PAGES, Batch, DoubleWrite};
use crate::error::PageError;
use crate::file::PageFile;
use crate::frame::Frame;
use crate::guards::{PageRead, PageWrite};
use crate::id::PageId;
use crate::page::PageContent;
use crate::replacement::Replacer;
use crate::settings::{PoolSettings, Replacement};
use crate::statistics::PoolStatistics;
use crate::sync::{AtomicU64, Condvar, Mutex, back_off, yield_now};
use crate::table::PageTable;
use crate::writer;

/// Frames that are searched for a clean one before dirty ones are written.
const SEARCH_FRAMES: usize = 256;
/// How often a thread that finds every frame in use yields before it gives up: for a second in all.
const ATTEMPTS_MAX: usize = 1000;

/// The write-ahead rule: before a page is written, the log is durable up to the page's LSN.
pub trait LogBarrier: Send + Sync {
    /// Returns when the record with this LSN, and all it depends on, is durable. Smaller LSNs are asked for by
    /// themselves.
    ///
    /// # Errors
    /// If it cannot be made so; the page is not written then.
    fn flush_log_to(&self, lsn: Lsn) -> Result<(), LogError>;
}

impl LogBarrier for Log {
    fn flush_log_to(&self, lsn: Lsn) -> Result<(), LogError> {
        self.flush_to(lsn)
    }
}

/// A buffer pool over one page file. See the [crate's documentation](crate).
pub struct Pool {
    pub(crate) page_bytes: usize,
    pub(crate) frames: Box<[Frame]>,
    pub(crate) table: PageTable,
    pub(crate) replacer: Replacer,
    pub(crate) dirty: DirtyFrames,
    /// Frames without a page.
    free: Mutex<Vec<u32>>,
    pub(crate) file: PageFile,
    pub(crate) double: Mutex<DoubleWrite>,
    pub(crate) barrier: Arc<dyn LogBarrier>,
    /// Memory for batches, so that few are made.
    pub(crate) batches: Mutex<Vec<Batch>>,
    /// Waiting for pages that others are writing.
    pub(crate) writing: Mutex<()>,
    /// Number of pages being written.
    pub(crate) writing_pages: AtomicU64,
    pub(crate) writing_ended: Condvar,
    /// No page before this one is free.
    pub(crate) first_free: AtomicU64,
    pub(crate) writer: Background,
    repaired: u64,
    pub(crate) evicted: AtomicU64,
    pub(crate) written: AtomicU64,
    pub(crate) write_batches: AtomicU64,
    foreground_batches: AtomicU64,
}

/// Purpose of fetching a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageUse {
    /// Shared latch.
    Read,
    /// Exclusive latch.
    Write,
}

/// Treatment of a page that has never been written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// An error.
    Refused,
    /// A page of zeros.
    Zeros,
    /// It comes into use now: the file is not even asked.
    New,
}

impl Pool {
    /// Opens the page file `name` in `directory`, made if missing, and repairs pages torn by a power failure.
    ///
    /// # Errors
    /// If the settings or the file do not fit, or the disk refuses.
    pub fn open(
        directory: &dyn Directory,
        name: &str,
        settings: PoolSettings,
        barrier: Arc<dyn LogBarrier>,
    ) -> Result<Arc<Pool>, PageError> {
        let (frames, page_bytes) = (settings.frames, settings.page_bytes);
        Pool::check_files(directory, name, &settings)?;
        let file = PageFile::open(directory, name, page_bytes)?;
        let double = double_name(name);
        let (double, repaired) = DoubleWrite::open(directory, &double, &file, page_bytes)?;
        let pool = Arc::new(Pool {
            page_bytes,
            frames: (0..frames).map(|_| Frame::new()).collect(),
            table: PageTable::new(),
            replacer: Replacer::new(frames, settings.replacement, settings.lazy_wait),
            dirty: DirtyFrames::new(),
            free: Mutex::new((0..frames as u32).rev().collect()),
            file,
            double: Mutex::new(double),
            barrier,
            batches: Mutex::new(Vec::new()),
            writing: Mutex::new(()),
            writing_pages: AtomicU64::new(0),
            writing_ended: Condvar::default(),
            first_free: AtomicU64::new(0),
            writer: Background::default(),
            repaired,
            evicted: AtomicU64::new(0),
            written: AtomicU64::new(0),
            write_batches: AtomicU64::new(0),
            foreground_batches: AtomicU64::new(0),
        });
        if settings.writer {
            writer::start(&pool.writer, &pool, settings.writer_interval)
                .map_err(PageError::io("starting the background writer"))?;
        }
        Ok(pool)
    }

    /// Whether there is a page file `name`. Checks that [`open`](Pool::open) will accept it and its double-write
    /// file, or make them. Changes nothing.
    ///
    /// # Errors
    /// [`PageError::NoPageFile`], [`PageError::NoDoubleWriteFile`], [`PageError::Version`], [`PageError::DoubleWriteVersion`],
    /// [`PageError::PageSize`], [`PageError::BadSettings`], or what the disk says.
    pub fn check_files(
        directory: &dyn Directory,
        name: &str,
        settings: &PoolSettings,
    ) -> Result<bool, PageError> {
        let (frames, page_bytes) = (settings.frames, settings.page_bytes);
        if !settings.are_valid() {
            return Err(PageError::BadSettings { frames, page_bytes });
        }
        let is_there = PageFile::check(directory, name, page_bytes)?;
        DoubleWrite::check(directory, &double_name(name), page_bytes)?;
        Ok(is_there)
    }

    /// A page to read, latched shared. A thread must not latch a page twice.
    ///
    /// # Errors
    /// [`PageError::Corrupt`], [`PageError::NeverWritten`], [`PageError::Exhausted`], or what the disk says.
    pub fn read(&self, page: PageId) -> Result<PageRead<'_>, PageError> {
        let frame = self.fetch(page, PageUse::Read, Absent::Refused)?;
        Ok(PageRead::new(&self.frames[frame as usize], page))
    }

    /// A page to change, latched exclusively. A thread must not latch a page twice.
    ///
    /// # Errors
    /// As [`read`](Pool::read).
    pub fn write(&self, page: PageId) -> Result<PageWrite<'_>, PageError> {
        self.write_as(page, Absent::Refused)
    }

    /// As [`write`](Pool::write), but a page that has never been written comes as zeros with
    /// [`Lsn::ZERO`](evenkeel_log::Lsn::ZERO): during redo the file may lack what the log has. Its room is allocated
    /// now: a power failure may have taken it back, and on a full disk others could take it before the page is
    /// written.
    ///
    /// # Errors
    /// As [`read`](Pool::read), but for `NeverWritten`; if the disk is full.
    pub fn write_for_redo(&self, page: PageId) -> Result<PageWrite<'_>, PageError> {
        self.file.make_room(page)?;
        self.write_as(page, Absent::Zeros)
    }

    /// As [`write_for_redo`](Pool::write_for_redo), for a change that defines the whole page. The file is not read:
    /// such reads would dominate the redo of a short log. The file may have a newer version of the page; this change
    /// and those after it then make it anew. They must all be repeated.
    ///
    /// # Errors
    /// If the disk is full; [`PageError::Exhausted`].
    pub fn write_anew_for_redo(&self, page: PageId) -> Result<PageWrite<'_>, PageError> {
        self.file.make_room(page)?;
        self.write_as(page, Absent::New)
    }

    pub(crate) fn write_as(
        &self,
        page: PageId,
        absent: Absent,
    ) -> Result<PageWrite<'_>, PageError> {
        let frame = self.fetch(page, PageUse::Write, absent)?;
        let at = &self.frames[frame as usize];
        Ok(PageWrite::new(&self.dirty, frame, at, page))
    }

    /// The frame of a page, pinned and latched.
    pub(crate) fn fetch(
        &self,
        page: PageId,
        latch: PageUse,
        absent: Absent,
    ) -> Result<u32, PageError> {
        loop {
            if let Some(frame) = self.table.pin(page, &self.frames) {
                self.replacer.used(&self.frames, frame, page);
                let at = &self.frames[frame as usize];
                match latch {
                    PageUse::Read => at.latch.lock_shared(),
                    PageUse::Write => at.latch.lock_exclusive(),
                }
                if at.holds(page) {
                    return Ok(frame);
                }
                // Whoever was bringing it in failed; now it is our turn to fail, or not.
                self.release(frame, latch);
                continue;
            }
            let frame = self.free_frame()?;
            if let Some(done) = self.bring_in(page, frame, latch, absent) {
                return done;
            }
        }
    }

    /// Brings a page into a frame that is the caller's; `None` if another thread was faster.
    fn bring_in(
        &self,
        page: PageId,
        frame: u32,
        latch: PageUse,
        absent: Absent,
    ) -> Option<Result<u32, PageError>> {
        let at = &self.frames[frame as usize];
        at.latch.lock_exclusive();
        at.pin();
        at.set_page(Some(page));
        if !self.table.map(page, frame) {
            at.set_page(None);
            self.release(frame, PageUse::Write);
            self.free.lock().push(frame);
            return None;
        }
        // SAFETY: the latch is held exclusively.
        let bytes = unsafe {
            at.make_memory(self.page_bytes);
            at.bytes_mut()
        };
        if let Err(error) = self.load(page, bytes, absent) {
            self.table.unmap(page);
            at.set_page(None);
            self.release(frame, PageUse::Write);
            // Others that found it in the table leave as soon as they see that it is not there.
            while at.pins() > 0 {
                yield_now();
            }
            self.free.lock().push(frame);
            return Some(Err(error));
        }
        self.replacer.lock().insert(frame);
        if latch == PageUse::Read {
            // SAFETY: the latch is held exclusively.
            unsafe { at.latch.downgrade() }
        }
        Some(Ok(frame))
    }

    fn load(&self, page: PageId, bytes: &mut [u8], absent: Absent) -> Result<(), PageError> {
        if absent == Absent::New {
            bytes.fill(0);
            return Ok(());
        }
        match self.file.read_checked(page, bytes)? {
            PageContent::Zeros if absent == Absent::Refused => Err(PageError::NeverWritten(page)),
            _ => Ok(()),
        }
    }

    fn release(&self, frame: u32, latch: PageUse) {
        let at = &self.frames[frame as usize];
        // SAFETY: the caller holds the latch so.
        unsafe {
            match latch {
                PageUse::Read => at.latch.unlock_shared(),
                PageUse::Write => at.latch.unlock_exclusive(),
            }
        }
        at.unpin();
    }

    /// A frame without a page, unknown to everybody else.
    fn free_frame(&self) -> Result<u32, PageError> {
        for attempt in 0..ATTEMPTS_MAX {
            if let Some(frame) = self.free.lock().pop() {
                return Ok(frame);
            }
            // Pages in use gather at the tail only while they are in use: who meets nothing else looks further each time.
            let frames_max = SEARCH_FRAMES.saturating_mul(1 << attempt.min(32));
            let (victim, dirty) = self.replace(frames_max);
            if let Some(frame) = victim {
                self.evicted.fetch_add(1, Relaxed);
                return Ok(frame);
            }
            if dirty && self.flush_some(BATCH_PAGES)? > 0 {
                self.foreground_batches.fetch_add(1, Relaxed);
                self.writer.wake();
            } else if !(dirty && self.await_any_writing()) {
                back_off(attempt);
            }
        }
        let frames = self.frames.len();
        Err(PageError::Exhausted { frames })
    }

    /// Takes the clean, unpinned page nearest to the list's tail out of its frame, if there is one among `frames_max`; also whether
    /// a dirty one was seen.
    fn replace(&self, frames_max: usize) -> (Option<u32>, bool) {
        let mut dirty = false;
        let mut seen = 0;
        let mut list = self.replacer.lock();
        let victim = list.backwards().take(frames_max).find(|&frame| {
            let at = &self.frames[frame as usize];
            let clean = at.is_clean();
            dirty |= !clean;
            seen += 1;
            // Writing a batch is better than looking at a whole pool of dirty pages for each page.
            let looked_enough = dirty && seen > SEARCH_FRAMES;
            let free = clean && at.pins() == 0;
            looked_enough
                || free
                    && at
                        .page()
                        .is_some_and(|page| self.table.unmap_if_idle(page, frame, &self.frames))
        });
        let victim = victim.filter(|&frame| self.frames[frame as usize].page().is_none());
        if let Some(frame) = victim {
            list.remove(frame);
        }
        (victim, dirty)
    }

    /// The frame a page is in.
    pub(crate) fn frame_of(&self, page: PageId) -> Option<u32> {
        self.table.frame_of(page)
    }

    /// Size of a page's body, in bytes.
    pub fn body_bytes(&self) -> usize {
        self.page_bytes - crate::page::PAGE_HEADER_BYTES
    }

    /// Size of the pool, in frames.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Number of pages that were found torn and repaired when the pool was opened.
    pub fn repaired_pages(&self) -> u64 {
        self.repaired
    }

    /// Changes the replacement policy, from the next use of a page on.
    pub fn set_replacement(&self, replacement: Replacement) {
        self.replacer.set_policy(replacement);
    }

    /// Changes how long [`Replacement::LazyLru`] tries to get the list's lock.
    pub fn set_lazy_wait(&self, wait: Duration) {
        self.replacer.set_lazy_wait(wait);
    }

    /// Ends the background writer and waits for the batch it may be writing. To be called before anybody else may use the
    /// files: dropping the pool alone does not wait, as the writer may be the last one to have it.
    pub fn stop_writer(&self) {
        self.writer.stop();
    }

    /// Statistics since the pool was opened.
    pub fn statistics(&self) -> PoolStatistics {
        let (hits, misses, resident) = self.table.counts();
        PoolStatistics {
            hits,
            misses,
            promoted: self.replacer.promoted.load(Relaxed),
            deferred: self.replacer.deferred.load(Relaxed),
            dropped: self.replacer.dropped.load(Relaxed),
            promotion_wait_ns: self.replacer.promotion_wait_ns.load(Relaxed),
            replacement_wait_ns: self.replacer.replacement_wait_ns.load(Relaxed),
            evicted: self.evicted.load(Relaxed),
            written: self.written.load(Relaxed),
            write_batches: self.write_batches.load(Relaxed),
            foreground_batches: self.foreground_batches.load(Relaxed),
            dirty: self.dirty.count() as u64,
            resident,
            young: self.replacer.lock().young() as u64,
        }
    }
}

/// The name of the double-write file of the page file `name`.
fn double_name(name: &str) -> String {
    format!("{name}.double")
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Pool({} frames of {} bytes)",
            self.frames.len(),
            self.page_bytes
        )
    }
}
