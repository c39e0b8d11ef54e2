//! State shared by all users of a log, under one mutex: records not yet given to a stream, and the progress of each
//! stream.

use std::collections::VecDeque;
use std::time::Duration;

use crate::closure::{NONE, Vector, largest_closed, raise, smallest_closed};
use crate::delay::GroupCommitDelay;
use crate::error::LogError;
use crate::limits::STREAMS_MAX;
use crate::record::{Depends, Lsn, NewRecord, encode};
use crate::settings::LogSettings;
use crate::statistics::LogStatistics;

/// Shared state of a log.
#[derive(Debug)]
pub(crate) struct State {
    pub settings: LogSettings,
    pub statistics: LogStatistics,
    pub failed: Option<LogError>,
    /// The last LSN given out.
    pub last: Lsn,
    /// Records no stream has yet.
    open: Collected,
    pub streams: Vec<Stream>,
    /// For each level, the batches that have reached it with everything they need.
    closed: [Vector; 2],
    /// Which batch has which LSNs, ascending, for those not durable with what they need.
    ranges: VecDeque<Range>,
    /// Where to look for a free stream first, so that equally free streams are used alike.
    next_stream: usize,
}

/// Records on their way.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub bytes: Vec<u8>,
    pub first: Lsn,
    pub last: Lsn,
    pub needs: Vector,
}

/// Progress of a stream. Its batch `sealed + 1` is the one collecting records.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Somebody is writing a batch.
    pub busy: bool,
    /// Somebody is syncing, and not writing.
    pub syncing: bool,
    pub waiters: usize,
    pub delay: GroupCommitDelay,
    pub collecting: Collected,
    /// The last batch whose writing has begun.
    pub sealed: u64,
    pub written: u64,
    pub durable: u64,
    /// Dependencies of the sealed batches that are not yet durable with all their dependencies.
    needs: VecDeque<Vector>,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    first: Lsn,
    last: Lsn,
    stream: usize,
    index: u64,
}

/// Progress that a record must have made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// The operating system has it.
    Written,
    /// It is durable.
    Durable,
}

/// Where a record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whereabouts {
    /// Durable with everything it needs.
    Closed,
    /// In no stream yet.
    Open,
    /// In a batch of a stream.
    Batch(usize, u64),
}

impl State {
    /// State of a log with these `batches` in each of its `streams`, durable with all they need, and with the last
    /// LSN `last`.
    pub(crate) fn new(settings: LogSettings, streams: usize, last: Lsn, batches: &Vector) -> State {
        let stream = |&batches: &u64| Stream {
            sealed: batches,
            written: batches,
            durable: batches,
            ..Stream::default()
        };
        State {
            settings,
            statistics: LogStatistics::default(),
            failed: None,
            last,
            open: Collected::default(),
            streams: batches.iter().take(streams).map(stream).collect(),
            closed: [*batches; 2],
            ranges: VecDeque::new(),
            next_stream: 0,
        }
    }

    pub(crate) fn check(&self) -> Result<(), LogError> {
        match &self.failed {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Collects a record.
    pub(crate) fn append(&mut self, record: &NewRecord<'_>) -> Lsn {
        let lsn = Lsn(self.last.0 + 1);
        match record.depends {
            Depends::Everything => {
                let newest = self.newest();
                raise(&mut self.open.needs, &newest);
            }
            Depends::On(lsns) => {
                for &needed in lsns.iter().chain([&record.prev]) {
                    if let Whereabouts::Batch(stream, index) = self.find(needed) {
                        let needs = &mut self.open.needs[stream];
                        *needs = (*needs).max(index);
                    }
                }
            }
        }
        let before = self.open.bytes.len();
        encode(lsn, record, &mut self.open.bytes);
        if before == 0 {
            self.open.first = lsn;
        }
        self.open.last = lsn;
        self.last = lsn;
        self.statistics.records += 1;
        self.statistics.record_bytes += (self.open.bytes.len() - before) as u64;
        lsn
    }

    /// For each stream the last batch that has any record.
    pub(crate) fn newest(&self) -> Vector {
        let mut newest = NONE;
        for (newest, stream) in newest.iter_mut().zip(&self.streams) {
            *newest = stream.sealed + u64::from(!stream.collecting.bytes.is_empty());
        }
        newest
    }

    /// Where a record that was appended is.
    pub(crate) fn find(&self, lsn: Lsn) -> Whereabouts {
        if !self.open.bytes.is_empty() && lsn >= self.open.first {
            return Whereabouts::Open;
        }
        let place = self.ranges.partition_point(|range| range.last < lsn);
        let durable = &self.closed[Level::Durable as usize];
        match self.ranges.get(place) {
            Some(range) if lsn >= range.first && range.index > durable[range.stream] => {
                Whereabouts::Batch(range.stream, range.index)
            }
            _ => Whereabouts::Closed,
        }
    }

    /// The stream for a committer's records: a free one, else the one with the fewest waiters (section 3.4.2). On a
    /// full disk, streams with too few bytes `left` are skipped while others have more: a new or inactive stream has
    /// no file ahead.
    pub(crate) fn choose(&mut self, left: impl Fn(usize) -> u64) -> usize {
        let active = self.settings.active_streams;
        // With its header and padding.
        let batch_bytes = (self.open.bytes.len() + 2 * self.settings.block_bytes) as u64;
        let has_room = |stream: usize| {
            let collecting = self.streams[stream].collecting.bytes.len() as u64;
            left(stream) >= batch_bytes + collecting
        };
        // Read once, because other threads write concurrently.
        let mut is_choice = [false; STREAMS_MAX];
        for (stream, is_choice) in is_choice[..active].iter_mut().enumerate() {
            *is_choice = has_room(stream);
        }
        if !is_choice.contains(&true) {
            is_choice = [true; STREAMS_MAX];
        }
        let is_choice = |&stream: &usize| is_choice[stream];
        let free = (0..active)
            .map(|offset| (self.next_stream + offset) % active)
            .filter(is_choice)
            .find(|&stream| {
                !self.streams[stream].busy && self.streams[stream].collecting.bytes.is_empty()
            });
        if let Some(stream) = free {
            self.next_stream = (stream + 1) % active;
            return stream;
        }
        let waiters = |&stream: &usize| self.streams[stream].waiters;
        (0..active)
            .filter(is_choice)
            .min_by_key(waiters)
            .expect("at least one stream is active")
    }

    /// Gives what has been collected to a stream, for its next batch.
    pub(crate) fn give_open_to(&mut self, stream: usize) {
        if self.open.bytes.is_empty() {
            return;
        }
        let (first, last) = (self.open.first, self.open.last);
        let index = self.streams[stream].sealed + 1;
        let collecting = &mut self.streams[stream].collecting;
        if collecting.bytes.is_empty() {
            std::mem::swap(collecting, &mut self.open);
        } else {
            collecting.bytes.extend_from_slice(&self.open.bytes);
            collecting.last = last;
            raise(&mut collecting.needs, &self.open.needs);
        }
        self.open.bytes.clear();
        self.open.needs = NONE;
        match self.ranges.back_mut() {
            Some(range) if (range.stream, range.index) == (stream, index) => range.last = last,
            _ => self.ranges.push_back(Range {
                first,
                last,
                stream,
                index,
            }),
        }
    }

    /// The time that a committer waits for others to join the batch a stream collects; `None` if it does not. With
    /// several streams the others take a free one instead.
    pub(crate) fn group_commit_delay(&self, stream: usize, upto: u64) -> Option<Duration> {
        let at = &self.streams[stream];
        let can_write = upto > at.sealed && !at.busy;
        (can_write && self.settings.active_streams == 1)
            .then(|| at.delay.delay())
            .flatten()
    }

    /// Bytes collected and not yet being written.
    pub(crate) fn collected_bytes(&self) -> usize {
        let queued: usize = self
            .streams
            .iter()
            .map(|stream| stream.collecting.bytes.len())
            .sum();
        self.open.bytes.len() + queued
    }

    /// The next batch of a stream, to be written; the stream is busy from now on. Also how far every stream is
    /// durable.
    pub(crate) fn seal(&mut self, stream: usize) -> (u64, Collected, Vector) {
        let mut durable = NONE;
        for (durable, stream) in durable.iter_mut().zip(&self.streams) {
            *durable = stream.durable;
        }
        let stream = &mut self.streams[stream];
        stream.busy = true;
        stream.sealed += 1;
        stream.delay.seal();
        let batch = std::mem::take(&mut stream.collecting);
        stream.needs.push_back(batch.needs);
        (stream.sealed, batch, durable)
    }

    /// The streams that keep a batch from having reached `level` with all its dependencies, and the batch that each
    /// must reach.
    pub(crate) fn lagging(&self, stream: usize, index: u64, level: Level) -> Vec<(usize, u64)> {
        let known = &self.closed[level as usize];
        if index <= known[stream] {
            return Vec::new();
        }
        let mut wanted = NONE;
        wanted[stream] = index;
        let wanted = smallest_closed(known, wanted, |stream, index| self.needs(stream, index));
        let lags = |&stream: &usize| self.streams[stream].reached(level) < wanted[stream];
        (0..self.streams.len())
            .filter(lags)
            .map(|stream| (stream, wanted[stream]))
            .collect()
    }

    fn needs(&self, stream: usize, index: u64) -> &Vector {
        let closed = self.closed[Level::Durable as usize][stream];
        let stream = &self.streams[stream];
        if index > stream.sealed {
            return &stream.collecting.needs;
        }
        &stream.needs[(index - closed - 1) as usize]
    }

    /// Draws the conclusions from streams having come further.
    pub(crate) fn advance(&mut self) {
        let before = self.closed[Level::Durable as usize];
        for level in [Level::Written, Level::Durable] {
            let mut reached = NONE;
            for (reached, stream) in reached.iter_mut().zip(&self.streams) {
                *reached = stream.reached(level);
            }
            let known = &self.closed[level as usize];
            let closed = largest_closed(known, reached, |stream, index| {
                &self.streams[stream].needs[(index - before[stream] - 1) as usize]
            });
            self.closed[level as usize] = closed;
        }
        let durable = self.closed[Level::Durable as usize];
        for (index, stream) in self.streams.iter_mut().enumerate() {
            stream
                .needs
                .drain(..(durable[index] - before[index]) as usize);
        }
        while self
            .ranges
            .front()
            .is_some_and(|range| range.index <= durable[range.stream])
        {
            self.ranges.pop_front();
        }
    }
}

impl Stream {
    fn reached(&self, level: Level) -> u64 {
        match level {
            Level::Written => self.written,
            Level::Durable => self.durable,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Another thread takes the last room while a stream is chosen: whatever it reads when, there is a stream.
    #[test]
    fn room_that_disappears_leaves_a_choice() {
        for reads_with_room in 0..=8 {
            let settings = LogSettings {
                active_streams: 2,
                ..LogSettings::default()
            };
            let mut state = State::new(settings, 2, Lsn::ZERO, &NONE);
            state
                .streams
                .iter_mut()
                .for_each(|stream| stream.busy = true);
            let reads = Cell::new(0);
            let left = |_| {
                reads.set(reads.get() + 1);
                if reads.get() <= reads_with_room {
                    u64::MAX
                } else {
                    0
                }
            };
            assert!(state.choose(left) < 2);
        }
    }
}
