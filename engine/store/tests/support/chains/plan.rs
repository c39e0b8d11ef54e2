//! The events of a store, drawn by a seed.

use std::fmt::Write;

use evenkeel_disk::faults::Operation;
use evenkeel_store::{FlushPolicy, Release, Settings};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A chain of events.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Decides what the work is, and what failed operations leave on the disk.
    pub seed: u64,
    pub setting: StoreSetup,
    pub events: Vec<Event>,
}

/// Settings for opening the store.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StoreSetup {
    pub streams: usize,
    pub policy: FlushPolicy,
    pub release: Release,
    /// Frames of the buffer pool. The data has ten times as many pages, or more.
    pub frames: usize,
    /// Whether page writer and log flusher run.
    pub threads: bool,
}

/// Something that happens to a store. Where it is not open, it is opened first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    /// Number of transactions.
    Work(u64),
    /// This many times 40 rows, or a table with many indexes: the page file gets longer.
    Grow(u64),
    /// A transaction with a row of up to a mebibyte.
    LongRow,
    Checkpoint,
    /// A clean close, and opening.
    Close,
    /// Dropped without a close, and opened.
    Reopen,
    /// Like `Close`, during a sync of one of the store's threads, if it has any.
    CloseWhileWriting,
    ReopenWhileWriting,
    /// The process ends this many disk operations after the activity has begun.
    Kill(During, u64),
    /// The power fails then, and leaves this image.
    PowerFailure(During, u64, u64),
    /// After the first number of operations of this kind, on files whose names contain the text, the second number
    /// fails. A failed sync writes a part, a failed write is torn, and a failed name is not made, changed or durable.
    Failure(During, Operation, &'static str, u64, u64),
    /// Bytes that the disk has left.
    DiskFull(During, u64),
    /// On a disk with this many bytes left, a transaction is left running and the process killed. Then this many
    /// openings are cut short, one after the other. Each ends this many disk operations later than the one before: by
    /// a power failure, or with the image 0 by a kill.
    KilledWhileFull {
        room: u64,
        openings: u64,
        after: u64,
        image: u64,
    },
    FreeSpace,
    /// Two open the directory at the same time, and a third later.
    RacingOpens,
    /// An opening while nothing can be written.
    ReadOnly,
    /// The page cache forgets what it takes for clean.
    EvictCache,
    /// Continues with this many streams of the log, another policy and another pool. They change while the store runs
    /// (except for the pool), or from the next opening on.
    Change {
        running: bool,
        streams: usize,
        policy: FlushPolicy,
        frames: usize,
    },
}

/// In the midst of what a fault comes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum During {
    Working,
    Growing,
    /// A row that takes hundreds of pages is inserted, changed or deleted.
    WritingLong,
    Checkpointing,
    Closing,
    /// Dropped without a close before.
    Opening,
}

const STREAMS: [usize; 3] = [1, 2, 4];
const POLICIES: [FlushPolicy; 3] = [
    FlushPolicy::EagerFlush,
    FlushPolicy::LazyFlush,
    FlushPolicy::LazyWrite,
];
/// One in this many plans has long rows: it takes as long as six others.
const LONG_ROWS_EVERY: u64 = 24;
/// Disk operations of a transaction with a long row.
const LONG_ROW_OPERATIONS: u64 = 1000;
/// All much smaller than the data.
const FRAMES: [usize; 3] = [16, 24, 48];

/// One of several choices.
fn one_of<T: Copy>(rng: &mut Pcg64Mcg, choices: &[T]) -> T {
    choices[rng.random_range(0..choices.len())]
}

impl Plan {
    pub fn draw(seed: u64) -> Plan {
        let rng = &mut Pcg64Mcg::seed_from_u64(seed);
        let setting = StoreSetup {
            streams: one_of(rng, &STREAMS),
            policy: one_of(rng, &POLICIES),
            release: one_of(rng, &[Release::WhenLogged, Release::WhenDurable]),
            frames: one_of(rng, &FRAMES),
            threads: rng.random_range(0..4) == 0,
        };
        let count = 3 + rng.random_range(0..6);
        let mut events: Vec<Event> = (0..count).map(|_| Event::draw(rng)).collect();
        if rng.random_range(0..LONG_ROWS_EVERY) == 0 {
            let first = rng.random_range(0..events.len());
            for event in events[first..].iter_mut().take(2) {
                *event = Event::draw_long(rng);
            }
        }
        Plan {
            seed,
            setting,
            events,
        }
    }

    /// The plan as a test to be pasted into `tests/chains.rs`.
    pub fn as_test(&self) -> String {
        let (mut text, seed) = (String::new(), self.seed);
        let _ = write!(
            text,
            "#[test]\nfn found_by_search_{seed}() {{\n    use chains::plan::{{During::*, Event::*, StoreSetup}};\n    \
             use evenkeel_disk::faults::Operation::*;\n    use evenkeel_store::{{FlushPolicy::*, Release::*}};\n    \
             replay(Plan {{\n        seed: {seed},\n        setting: {:?},\n        events: vec!{:?},\n    }});\n}}\n",
            self.setting, self.events
        );
        text
    }
}

impl StoreSetup {
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::default().without_threads();
        settings.pool.page_bytes = 4096;
        settings.pool.frames = self.frames;
        settings.pool.writer = self.threads;
        settings.pool.writer_interval = std::time::Duration::from_millis(1);
        settings.log.flusher = self.threads;
        settings.log.flush_interval = std::time::Duration::from_millis(1);
        settings.log.block_bytes = 512;
        settings.log.segment_bytes = 64 << 10;
        settings.log.policy = self.policy;
        settings.log_streams = self.streams;
        settings.release = self.release;
        settings.lock_timeout = Some(std::time::Duration::ZERO);
        settings
    }
}

impl Event {
    fn draw(rng: &mut Pcg64Mcg) -> Event {
        let during = During::draw(rng);
        // Opening and a checkpoint have some tens of operations, a transaction has a few.
        let after = 1 + one_of(rng, &[8, 40, 120]) * rng.random_range(0..16) / 16;
        match rng.random_range(0..29) {
            0..2 => Event::Work(1 + rng.random_range(0..12)),
            2..5 => Event::Grow(1 + rng.random_range(0..3)),
            5 => Event::Checkpoint,
            6 => Event::Close,
            7 => Event::Reopen,
            8 => Event::CloseWhileWriting,
            9 => Event::ReopenWhileWriting,
            10..13 => Event::Kill(during, after),
            13..18 => Event::PowerFailure(during, after, rng.random_range(0..1000)),
            18..20 => Event::failure(rng, during, Operation::Sync),
            20 => Event::failure(rng, during, Operation::Write),
            26 => {
                let operation = one_of(rng, &OF_NAMES);
                Event::failure(rng, during, operation)
            }
            27 => Event::Change {
                running: rng.random_range(0..2) == 0,
                streams: one_of(rng, &STREAMS),
                policy: one_of(rng, &POLICIES),
                frames: one_of(rng, &FRAMES),
            },
            21 | 22 => match rng.random_range(0..4) {
                0 => Event::FreeSpace,
                _ => Event::DiskFull(during, one_of(rng, &[0, 4 << 10, 64 << 10, 256 << 10])),
            },
            23 => Event::EvictCache,
            24 => Event::KilledWhileFull {
                room: one_of(rng, &[0, 4 << 10, 64 << 10, 256 << 10]),
                openings: 1 + rng.random_range(0..8),
                after,
                image: one_of(rng, &[0, after]),
            },
            25 => Event::RacingOpens,
            _ => Event::ReadOnly,
        }
    }

    /// A long row, and perhaps a fault while it is written.
    fn draw_long(rng: &mut Pcg64Mcg) -> Event {
        let during = During::WritingLong;
        let after = 1 + rng.random_range(0..LONG_ROW_OPERATIONS);
        match rng.random_range(0..8) {
            0..2 => Event::LongRow,
            2 => Event::Kill(during, after),
            3..5 => Event::PowerFailure(during, after, rng.random_range(0..1000)),
            5 => Event::failure(rng, during, Operation::Sync),
            6 => Event::failure(rng, during, Operation::Write),
            _ => Event::DiskFull(during, one_of(rng, &[0, 64 << 10, 1 << 20, 3 << 20])),
        }
    }

    fn failure(rng: &mut Pcg64Mcg, during: During, operation: Operation) -> Event {
        let file = one_of(rng, &["", "log", "pages", "pages", "double", "checkpoint"]);
        // There are more writes and reads than syncs, and of names hardly any change.
        let most = match operation {
            Operation::Read | Operation::Write => 12,
            Operation::Sync => 6,
            _ => 3,
        };
        let skip = rng.random_range(0..most);
        Event::Failure(during, operation, file, skip, one_of(rng, &[1, 1, 1, 4]))
    }
}

/// Operations on names and lengths, and reading.
const OF_NAMES: [Operation; 6] = [
    Operation::Rename,
    Operation::SyncDirectory,
    Operation::Create,
    Operation::Remove,
    Operation::SetLen,
    Operation::Read,
];

impl During {
    fn draw(rng: &mut Pcg64Mcg) -> During {
        one_of(
            rng,
            &[
                During::Working,
                During::Working,
                // What grows is not durable for some operations only.
                During::Growing,
                During::Growing,
                During::Checkpointing,
                During::Closing,
                During::Opening,
            ],
        )
    }
}
