//! The log as its users see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use evenkeel_disk::{Background, Directory};

use crate::delay::Caller;
use crate::ends::OldFile;
use crate::error::LogError;
use crate::files::{Recycled, StreamFiles};
use crate::flusher::{self, Flushed};
use crate::found::{has_files, holds_records};
use crate::limits::STREAMS_MAX;
use crate::opening::begin_files;
use crate::record::{Lsn, NewRecord, PAYLOAD_BYTES_MAX};
use crate::recovery::{check, inspect};
use crate::scan::Recovered;
use crate::settings::{FlushPolicy, LogSettings};
use crate::state::{Level, State};
use crate::statistics::{LogStatistics, StreamStatistics};
use crate::sync::{Condvar, Mutex};

/// A write-ahead log. See the [crate's documentation](crate).
#[derive(Debug)]
pub struct Log {
    pub(crate) state: Mutex<State>,
    /// The LSN given out last, as in `state`: every transaction that begins to write asks for it.
    last: AtomicU64,
    pub(crate) streams: Vec<StreamIo>,
    commits: AtomicU64,
    commits_without_waiting: AtomicU64,
    commit_wait_ns: AtomicU64,
    pub(crate) flusher: Background,
    /// Bytes appended and not yet written.
    pub(crate) pending_bytes: AtomicU64,
    active_streams: AtomicUsize,
    /// Bytes that may be appended even on a full disk.
    reserved: AtomicU64,
    /// Held while room is made.
    reserving: Mutex<()>,
}

/// A stream's files, and where its committers wait.
#[derive(Debug)]
pub(crate) struct StreamIo {
    pub files: Mutex<StreamFiles>,
    /// Waiting for batches with even and odd index: those of the batch being written, and those of the one
    /// collecting.
    pub batch: [Condvar; 2],
    /// Waiting for the end of a sync that somebody else runs.
    pub synced: Condvar,
    /// Bytes that can certainly be written to it, with a spare file left.
    room: AtomicU64,
    /// Bytes that can be written with no spare file left.
    left: AtomicU64,
}

impl StreamIo {
    fn new(files: StreamFiles) -> StreamIo {
        StreamIo {
            room: AtomicU64::new(files.room()),
            left: AtomicU64::new(files.left()),
            files: Mutex::new(files),
            batch: [Condvar::default(), Condvar::default()],
            synced: Condvar::default(),
        }
    }

    fn add_spares(&self, spares: impl IntoIterator<Item = String>) {
        let mut files = self.files.lock();
        files.add_spares(spares);
        self.note_room(&files);
    }

    fn take_in(&self, recycled: &mut Recycled, left: Vec<OldFile>) {
        let mut files = self.files.lock();
        files.take_in(recycled, left);
        self.note_room(&files);
    }

    /// Called with the current files, before their lock is released.
    pub(crate) fn note_room(&self, files: &StreamFiles) {
        self.room.store(files.room(), Ordering::Release);
        self.left.store(files.left(), Ordering::Relaxed);
    }
}

impl Log {
    /// Opens the log in `directories`, one for each stream, and finds what is there. Directories may be the same; to
    /// gain anything they should be on devices of their own.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] if something durable is missing, [`LogError::MissingStreams`] if directories are,
    /// [`LogError::Io`] if the disk is read-only, full or broken.
    pub fn open(
        directories: Vec<Arc<dyn Directory>>,
        mut settings: LogSettings,
    ) -> Result<(Arc<Log>, Recovered), LogError> {
        let count = directories.len();
        if !(1..=STREAMS_MAX).contains(&count) {
            return Err(LogError::BadStreams(count));
        }
        settings.check()?;
        settings.active_streams = settings.active_streams.clamp(1, count);
        let found = inspect(&directories)?;
        let begun = begin_files(
            directories,
            found.epoch,
            found.streams,
            settings.segment_bytes,
        )
        .map_err(LogError::io("beginning a log file"))?;
        let streams = begun.files.into_iter().map(StreamIo::new).collect();
        let has_flusher = settings.flusher;
        let active_streams = AtomicUsize::new(settings.active_streams);
        let last = AtomicU64::new(found.newest.0);
        let mut state = State::new(settings, count, found.newest, &begun.batches);
        state.statistics.streams = vec![StreamStatistics::default(); count];
        let log = Arc::new(Log {
            state: Mutex::new(state),
            last,
            streams,
            commits: AtomicU64::new(0),
            commits_without_waiting: AtomicU64::new(0),
            commit_wait_ns: AtomicU64::new(0),
            flusher: Background::default(),
            pending_bytes: AtomicU64::new(0),
            active_streams,
            reserved: AtomicU64::new(0),
            reserving: Mutex::new(()),
        });
        if begun.is_unmarked {
            log.mark()?;
        }
        if has_flusher {
            flusher::start(&log.flusher, &log).map_err(LogError::io("starting the flusher"))?;
        }
        Ok((log, found.recovered))
    }

    /// Whether [`open`](Log::open) will take the files in the directories for a log's, as far as their names and beginnings say. Makes no
    /// file and changes none.
    ///
    /// # Errors
    /// [`LogError::Version`], [`LogError::NotALogFile`], [`LogError::Corrupt`], [`LogError::MissingStreams`], or what the disk says.
    pub fn check_files(directories: &[Arc<dyn Directory>]) -> Result<(), LogError> {
        check(directories)
    }

    /// Whether the directories hold a file that was in use: each stream that ever had a record has one. Changes nothing.
    ///
    /// # Errors
    /// What the disk says.
    pub fn has_files(directories: &[Arc<dyn Directory>]) -> Result<bool, LogError> {
        for (stream, directory) in directories.iter().enumerate() {
            if has_files(&**directory, stream)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the directories hold records. Makes no file and changes none: for whoever must not go on if they do.
    ///
    /// # Errors
    /// As [`check_files`](Log::check_files).
    pub fn holds_records(directories: &[Arc<dyn Directory>]) -> Result<bool, LogError> {
        for (stream, directory) in directories.iter().enumerate() {
            if holds_records(&**directory, stream)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Appends a record in memory and gives it its number. Writes only when more than `buffer_bytes` are
    /// collected.
    ///
    /// # Errors
    /// [`LogError::TooLong`], or [`LogError::Failed`] if the log has failed; then the record has no number.
    pub fn append(&self, record: &NewRecord<'_>) -> Result<Lsn, LogError> {
        if record.payload.len() > PAYLOAD_BYTES_MAX {
            return Err(LogError::TooLong(record.payload.len()));
        }
        let mut state = self.state.lock();
        state.check()?;
        let before = state.statistics.record_bytes;
        let lsn = state.append(record);
        self.last.store(lsn.0, Ordering::Release);
        self.pending_bytes
            .fetch_add(state.statistics.record_bytes - before, Ordering::Relaxed);
        if state.collected_bytes() > state.settings.collected_bytes_max() {
            // If it fails, the record is appended nevertheless, and the caller that needs it durable gets the error.
            let _ = self.reach(state, lsn, Level::Written, Caller::Other);
        }
        Ok(lsn)
    }

    /// Waits until the record and what it depends on have come as far as the [`FlushPolicy`] demands, and sees to it.
    ///
    /// # Errors
    /// [`LogError::Failed`]: whether the record is durable is unknown until the log is reopened;
    /// [`LogError::Unknown`].
    pub fn commit(&self, lsn: Lsn) -> Result<(), LogError> {
        let start = Instant::now();
        self.commits.fetch_add(1, Ordering::Relaxed);
        let state = self.state.lock();
        state.check()?;
        let policy = state.settings.policy;
        let waited = match policy {
            FlushPolicy::EagerFlush => self.reach(state, lsn, Level::Durable, Caller::Committer)?,
            FlushPolicy::LazyFlush => self.reach(state, lsn, Level::Written, Caller::Committer)?,
            FlushPolicy::LazyWrite => false,
        };
        if waited {
            let waited_ns = start.elapsed().as_nanos() as u64;
            self.commit_wait_ns.fetch_add(waited_ns, Ordering::Relaxed);
        } else {
            self.commits_without_waiting.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Waits until the record and what it depends on are durable, whatever the policy, and sees to it. Not all
    /// records before it: with several streams some may come later, see [`flush_all`](Log::flush_all).
    ///
    /// # Errors
    /// As [`commit`](Log::commit).
    pub fn flush_to(&self, lsn: Lsn) -> Result<(), LogError> {
        self.reach(self.state.lock(), lsn, Level::Durable, Caller::Other)
            .map(drop)
    }

    /// Makes everything appended durable.
    ///
    /// # Errors
    /// As [`commit`](Log::commit).
    pub fn flush_all(&self) -> Result<(), LogError> {
        let mut state = self.state.lock();
        let stream = self.choose(&mut state);
        state.give_open_to(stream);
        let newest = state.newest();
        for (stream, &newest) in newest.iter().enumerate().take(self.streams.len()) {
            while state.streams[stream].durable < newest {
                state.check()?;
                state = self.advance(state, stream, newest, Level::Durable);
            }
        }
        state.check()
    }

    /// The stream for what has been collected.
    pub(crate) fn choose(&self, state: &mut State) -> usize {
        state.choose(|stream| self.streams[stream].left.load(Ordering::Relaxed))
    }

    /// Gives files whose records all have an LSN below `keep` to new use; how many. Call it after the checkpoint is
    /// durable that makes recovery begin at `keep`.
    ///
    /// # Errors
    /// [`LogError::Io`] if a file cannot be renamed or removed; log and file stay usable.
    pub fn recycle_before(&self, keep: Lsn) -> Result<usize, LogError> {
        self.state.lock().check()?;
        // The files of the next epoch, in any stream, record that batches were discarded: they are recycled after
        // those batches.
        let streams = self.streams.iter();
        let unkept = streams.filter_map(|stream| stream.files.lock().unkept_epoch(keep));
        let epoch_max = unkept.min().unwrap_or(u64::MAX);
        let mut count = 0;
        for stream in &self.streams {
            let (place, (mut files, wanted)) = {
                let mut files = stream.files.lock();
                (files.place(), files.take_older(keep, epoch_max))
            };
            if files.is_empty() {
                continue;
            }
            let mut recycled = place.recycle(&files, wanted);
            let left = files.split_off(recycled.count);
            stream.take_in(&mut recycled, left);
            recycled
                .outcome
                .map_err(LogError::io("recycling log files"))?;
            count += recycled.count;
        }
        Ok(count)
    }

    /// Reserves room: `bytes` more can be appended and written even if the disk is full by then. Nobody else is given them before they are
    /// [released](Log::release). A change reserves what its records take, and what undoing it may take.
    ///
    /// # Errors
    /// [`LogError::Io`] if there is no room; nothing is reserved, and the log stays usable.
    #[inline]
    pub fn reserve(&self, bytes: u64) -> Result<(), LogError> {
        // First, so that of several threads that reserve at the same time none overlooks the others.
        let reserved = self.reserved.fetch_add(bytes, Ordering::AcqRel) + bytes;
        // As much again for what is lost where batches end, and files.
        let needed = 2 * (reserved + self.pending_bytes.load(Ordering::Acquire));
        let active = self.active_streams.load(Ordering::Relaxed);
        let short = |stream: &&StreamIo| stream.room.load(Ordering::Acquire) < needed;
        match self.streams[..active].iter().any(|stream| short(&stream)) {
            true => self
                .make_room(needed, active)
                .inspect_err(|_| self.release(bytes)),
            false => Ok(()),
        }
    }

    /// Gives reserved room back: its records are appended, or will not be.
    #[inline]
    pub fn release(&self, bytes: u64) {
        self.reserved.fetch_sub(bytes, Ordering::AcqRel);
    }

    #[cold]
    fn make_room(&self, needed: u64, active: usize) -> Result<(), LogError> {
        let _reserving = self.reserving.lock();
        for stream in &self.streams[..active] {
            loop {
                let (place, name) = {
                    let mut files = stream.files.lock();
                    if files.room() >= needed {
                        break;
                    }
                    (files.place(), files.next_prepared_name())
                };
                let doing = || format!("taking {} bytes for further records", place.segment_bytes);
                place
                    .prepare_spare(&name)
                    .map_err(|cause| LogError::io(doing())(cause))?;
                stream.add_spares([name]);
            }
        }
        Ok(())
    }

    /// Whether the disk was too full for a stream's files when the log was opened, and is since.
    pub fn lacks_files(&self) -> bool {
        self.streams
            .iter()
            .any(|stream| stream.files.lock().are_too_few())
    }

    /// Marks the end of what was found, if there is room: what disappears of it later is damage then.
    fn mark(&self) -> Result<(), LogError> {
        let state = self.state.lock();
        let block_bytes = state.settings.block_bytes as u64;
        let has_room = |stream: &usize| {
            let files = self.streams[*stream].files.lock();
            files.has_room_for_mark(block_bytes)
        };
        match (0..self.streams.len()).find(has_room) {
            Some(stream) => self.lead(state, stream, Level::Durable).check(),
            None => Ok(()),
        }
    }

    /// Flushes everything and marks the end, so that later damage to the last batches is distinguished from a crash. The log
    /// can be used on.
    ///
    /// # Errors
    /// As [`commit`](Log::commit).
    pub fn close(&self) -> Result<(), LogError> {
        self.flusher.stop();
        self.flush_all()?;
        let mut state = self.state.lock();
        // The mark is an empty batch: every batch says how far the streams are durable.
        while state.streams[0].busy {
            let writing = state.streams[0].sealed;
            state = self.streams[0].batch[(writing & 1) as usize].wait(state);
            state.check()?;
        }
        self.lead(state, 0, Level::Durable).check()
    }

    /// Ends the flusher and waits for what it may be writing. To be called before anybody else may use the files:
    /// dropping the log alone does not wait, as the flusher may be the last one to have it.
    pub fn stop_flusher(&self) {
        self.flusher.stop();
    }

    /// Gives out larger LSNs only, from now on. Call it before appending if LSNs are remembered elsewhere. The files
    /// found may know smaller ones only, since all files of a stream may have been recycled.
    pub fn skip_to(&self, lsn: Lsn) {
        let mut state = self.state.lock();
        state.last = state.last.max(lsn);
        self.last.store(state.last.0, Ordering::Release);
    }

    /// The LSN given out last.
    pub fn last_lsn(&self) -> Lsn {
        Lsn(self.last.load(Ordering::Acquire))
    }

    /// The settings in force.
    pub fn settings(&self) -> LogSettings {
        self.state.lock().settings.clone()
    }

    /// Changes when commits are acknowledged, from the next one on.
    pub fn set_policy(&self, policy: FlushPolicy) {
        self.state.lock().settings.policy = policy;
    }

    /// Changes the block size, in bytes, from the next batch on.
    ///
    /// # Errors
    /// [`LogError::BadBlock`], or [`LogError::BadSegment`] if the files are too small for such blocks.
    pub fn set_block_bytes(&self, bytes: usize) -> Result<(), LogError> {
        let settings = &mut self.state.lock().settings;
        settings.check_block(bytes)?;
        settings.block_bytes = bytes;
        Ok(())
    }

    /// Changes how many streams committers choose from.
    ///
    /// # Errors
    /// [`LogError::BadStreams`] if fewer were opened.
    pub fn set_active_streams(&self, count: usize) -> Result<(), LogError> {
        if !(1..=self.streams.len()).contains(&count) {
            return Err(LogError::BadStreams(count));
        }
        self.state.lock().settings.active_streams = count;
        self.active_streams.store(count, Ordering::Relaxed);
        Ok(())
    }

    /// Changes how often the flusher runs.
    pub fn set_flush_interval(&self, interval: Duration) {
        self.state.lock().settings.flush_interval = interval;
        self.flusher.wake();
    }

    /// Statistics since the log was opened.
    pub fn statistics(&self) -> LogStatistics {
        let (mut statistics, waiters) = {
            let state = self.state.lock();
            let waiters: Vec<usize> = state.streams.iter().map(|stream| stream.waiters).collect();
            (state.statistics.clone(), waiters)
        };
        statistics.commits = self.commits.load(Ordering::Relaxed);
        statistics.commits_without_waiting = self.commits_without_waiting.load(Ordering::Relaxed);
        statistics.commit_wait_ns = self.commit_wait_ns.load(Ordering::Relaxed);
        for ((statistics, io), waiters) in statistics
            .streams
            .iter_mut()
            .zip(&self.streams)
            .zip(waiters)
        {
            statistics.waiters = waiters;
            (statistics.files, statistics.spare_files) = io.files.lock().counts();
        }
        statistics
    }
}

impl Flushed for Log {
    fn settings(&self) -> LogSettings {
        Log::settings(self)
    }

    fn prepare_spares(&self) {
        let active = self.active_streams.load(Ordering::Relaxed);
        for stream in &self.streams[..active] {
            loop {
                let _reserving = self.reserving.lock();
                let (place, name) = {
                    let mut files = stream.files.lock();
                    if !files.wants_spare() {
                        break;
                    }
                    (files.place(), files.next_prepared_name())
                };
                // Should it fail, whoever needs the room tries again, and reports.
                match place.prepare_spare(&name) {
                    Ok(()) => stream.add_spares([name]),
                    Err(_) => break,
                }
            }
        }
    }

    fn flush_all(&self) -> Result<(), LogError> {
        Log::flush_all(self)
    }
}
