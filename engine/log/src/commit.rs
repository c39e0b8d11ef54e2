//! Group commit: who wants a record durable writes and syncs what its stream has collected, for all who wait for it.
//!
//! There is no thread of the log in this. While a stream's leader writes one batch, the next batch collects. The
//! leader then wakes all committers of its batch, and one of the next batch to lead that. A committer that may lead
//! waits a moment for [others](crate::delay) first.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::delay::Caller;
use crate::error::LogError;
use crate::files::{Batch, Written};
use crate::log::Log;
use crate::record::Lsn;
use crate::settings::FlushPolicy;
use crate::state::{Collected, Level, State, Stream, Whereabouts};
use crate::sync::{Condvar, MutexGuard};

impl Log {
    /// Brings a record to `level`; whether that took any waiting.
    pub(crate) fn reach<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        lsn: Lsn,
        level: Level,
        caller: Caller,
    ) -> Result<bool, LogError> {
        if lsn > state.last {
            return Err(LogError::Unknown(lsn));
        }
        let mut waited = false;
        // Its number among the committers of its batch, once it is counted.
        let mut arrived = None;
        loop {
            state.check()?;
            let (stream, index) = match state.find(lsn) {
                Whereabouts::Closed => return Ok(waited),
                Whereabouts::Batch(stream, index) => (stream, index),
                Whereabouts::Open => {
                    let stream = self.choose(&mut state);
                    state.give_open_to(stream);
                    continue;
                }
            };
            if caller == Caller::Committer
                && arrived.is_none()
                && index > state.streams[stream].sealed
            {
                arrived = Some(state.streams[stream].delay.arrive());
            }
            let lagging = state.lagging(stream, index, level);
            // What can be done comes before waiting: whoever was woken to lead a stream must find it.
            let can_lead = |&&(stream, upto): &&(usize, u64)| {
                upto > state.streams[stream].sealed && !state.streams[stream].busy
            };
            let own = lagging.iter().find(|(lags, _)| *lags == stream);
            let Some(&(lags, upto)) = lagging.iter().find(can_lead).or(own).or(lagging.first())
            else {
                return Ok(waited);
            };
            waited = true;
            let delayed = arrived
                .filter(|_| lags == stream && level == Level::Durable)
                .and_then(|arrived| Some((arrived, state.group_commit_delay(stream, upto)?)));
            state = match delayed {
                Some((arrived, delay)) => self.delay_batch(state, lags, upto, arrived, delay),
                None => self.advance(state, lags, upto, level),
            };
        }
    }

    /// Waits for others to join batch `upto`; whoever completes it leads it.
    fn delay_batch<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        stream: usize,
        upto: u64,
        arrived: usize,
        delay: Duration,
    ) -> MutexGuard<'a, State> {
        let place = &self.streams[stream].batch[(upto & 1) as usize];
        state.streams[stream].waiters += 1;
        let (mut state, passed) = place.wait_for(&self.state, state, delay);
        let at = &mut state.streams[stream];
        at.waiters -= 1;
        if passed && upto > at.sealed && !at.busy {
            at.delay.give_up(arrived);
        }
        state
    }

    /// Does the next thing that brings a stream closer to having batch `upto` at `level`: writes, syncs, or waits for
    /// the thread that does.
    pub(crate) fn advance<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        stream: usize,
        upto: u64,
        level: Level,
    ) -> MutexGuard<'a, State> {
        let at = &mut state.streams[stream];
        if upto > at.sealed && !at.busy {
            return self.lead(state, stream, level);
        }
        if at.written >= upto && !at.syncing {
            return self.sync(state, stream);
        }
        let io = &self.streams[stream];
        let place = if at.written >= upto {
            &io.synced
        } else {
            &io.batch[(upto & 1) as usize]
        };
        at.waiters += 1;
        state = place.wait(state);
        state.streams[stream].waiters -= 1;
        state
    }

    /// Writes the batch a stream has collected, for all who wait for it.
    pub(crate) fn lead<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        stream: usize,
        level: Level,
    ) -> MutexGuard<'a, State> {
        let sync = level == Level::Durable || state.settings.policy == FlushPolicy::EagerFlush;
        let block_bytes = state.settings.block_bytes as u64;
        let (index, collected, durable) = state.seal(stream);
        drop(state);
        let begun = Instant::now();
        let batch = Batch {
            index,
            first: collected.first,
            last: collected.last,
            needs: &collected.needs,
            durable: &durable,
            payload: &collected.bytes,
        };
        let result = self.write(stream, &batch, block_bytes, sync);
        let mut state = self.state.lock();
        state.streams[stream].busy = false;
        match result {
            Ok(done) => {
                let at = &mut state.streams[stream];
                at.written = index;
                if sync {
                    at.delay.released(begun.elapsed().as_nanos() as u64);
                    at.durable = at.durable.max(index);
                } else if done.written.new_file {
                    at.durable = at.durable.max(index - 1);
                }
                self.pending_bytes
                    .fetch_sub(done.payload_bytes as u64, Ordering::Relaxed);
                at.reuse(collected);
                let statistics = &mut state.statistics.streams[stream];
                statistics.batches += 1;
                statistics.bytes += done.written.bytes as u64;
                statistics.padding_bytes += (done.written.bytes - done.payload_bytes) as u64;
                statistics.syncs += u64::from(sync);
                statistics.write_ns += (done.written_at - begun).as_nanos() as u64;
                statistics.sync_ns += done.written_at.elapsed().as_nanos() as u64;
                state.advance();
                let io = &self.streams[stream];
                io.batch[(index & 1) as usize].notify_all();
                if !state.streams[stream].collecting.bytes.is_empty() {
                    io.batch[(index & 1) as usize ^ 1].notify_one();
                }
            }
            Err(cause) => self.fail(&mut state, format!("writing to stream {stream}"), cause),
        }
        state
    }

    fn write(
        &self,
        stream: usize,
        batch: &Batch<'_>,
        block_bytes: u64,
        sync: bool,
    ) -> io::Result<WriteDone> {
        let (written, file, wants_spare) = {
            let mut files = self.streams[stream].files.lock();
            let written = files.write(batch, block_bytes)?;
            self.streams[stream].note_room(&files);
            (written, files.current(), files.wants_spare())
        };
        if wants_spare {
            self.flusher.wake();
        }
        let written_at = Instant::now();
        if let Some(file) = file.filter(|_| sync) {
            file.sync()?;
        }
        Ok(WriteDone {
            written,
            written_at,
            payload_bytes: batch.payload.len(),
        })
    }

    /// Syncs what has been written to a stream, while others may go on writing to it.
    fn sync<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        stream: usize,
    ) -> MutexGuard<'a, State> {
        let at = &mut state.streams[stream];
        at.syncing = true;
        let upto = at.written;
        drop(state);
        let begun = Instant::now();
        // Files before the current one were synced when they were left.
        let file = self.streams[stream].files.lock().current();
        let result = file.map_or(Ok(()), |file| file.sync());
        let mut state = self.state.lock();
        let at = &mut state.streams[stream];
        at.syncing = false;
        match result {
            Ok(()) => {
                at.durable = at.durable.max(upto);
                let statistics = &mut state.statistics.streams[stream];
                statistics.syncs += 1;
                statistics.sync_ns += begun.elapsed().as_nanos() as u64;
                state.advance();
                self.streams[stream].synced.notify_all();
            }
            Err(cause) => self.fail(&mut state, format!("syncing stream {stream}"), cause),
        }
        state
    }

    /// After a failed write or sync nobody knows what is on the disk: nothing is tried again, and everybody gets the error.
    fn fail(&self, state: &mut State, doing: String, cause: io::Error) {
        let error = LogError::io(doing)(cause).into_failure();
        state.failed.get_or_insert(error);
        for stream in &self.streams {
            stream
                .batch
                .iter()
                .chain([&stream.synced])
                .for_each(Condvar::notify_all);
        }
    }
}

/// A batch written.
struct WriteDone {
    written: Written,
    written_at: Instant,
    payload_bytes: usize,
}

impl Stream {
    /// Takes back the memory of a batch, so that the next one needs no new.
    fn reuse(&mut self, mut batch: Collected) {
        if self.collecting.bytes.capacity() == 0 {
            batch.bytes.clear();
            self.collecting.bytes = batch.bytes;
        }
    }
}
