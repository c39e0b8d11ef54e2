//! What a store goes through, drawn by a seed.

use std::fmt::Write;

use evenkeel_store::{FlushPolicy, Release, Settings};

/// A chain of events.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Decides what the work is, and what failed operations leave on the disk.
    pub seed: u64,
    pub setting: Setting,
    pub events: Vec<Event>,
}

/// What is the same for the whole chain.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    pub streams: usize,
    pub policy: FlushPolicy,
    pub release: Release,
    /// Of the buffer pool. The data has ten times as many pages, or more.
    pub frames: usize,
    /// Whether page writer and log flusher run.
    pub threads: bool,
}

/// Something that happens to a store. Where it is not open, it is opened first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    /// So many transactions.
    Work(u64),
    /// So many times 40 rows, or a table with many indexes: the page file gets longer.
    Grow(u64),
    Checkpoint,
    /// A clean close, and opening.
    Close,
    /// Dropped without a close, and opened.
    Reopen,
    /// The same while a thread of the store is in the midst of a sync, if it has any.
    CloseWhileWriting,
    ReopenWhileWriting,
    /// The process ends so many disk operations after the activity has begun.
    Kill(During, u64),
    /// The power fails then, and leaves this image.
    PowerFailure(During, u64, u64),
    /// This sync of a file whose name has this in it fails.
    FailedSync(During, &'static str, u64),
    /// This write fails after writing some of its sectors.
    TornWrite(During, &'static str, u64),
    /// The disk has so many bytes left.
    DiskFull(During, u64),
    /// On a disk with so many bytes left a transaction is left running and the process killed, and then so many openings are cut
    /// short one after the other: each so many disk operations after the one before would have been, by a power failure with
    /// the image 0 by a kill.
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
}

/// In the midst of what a fault comes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum During {
    Working,
    Growing,
    Checkpointing,
    Closing,
    /// Dropped without a close before.
    Opening,
}

/// A generator of numbers that need not be good, only the same each time (SplitMix64).
pub struct Draws(pub u64);

impl Draws {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

impl Plan {
    pub fn draw(seed: u64) -> Plan {
        let mut draws = Draws(seed);
        let setting = Setting {
            streams: draws.of(&[1, 2, 4]),
            policy: draws.of(&[
                FlushPolicy::EagerFlush,
                FlushPolicy::LazyFlush,
                FlushPolicy::LazyWrite,
            ]),
            release: draws.of(&[Release::WhenLogged, Release::WhenDurable]),
            frames: draws.of(&[16, 24, 48]),
            threads: draws.below(4) == 0,
        };
        let count = 3 + draws.below(6);
        let events = (0..count).map(|_| Event::draw(&mut draws)).collect();
        Plan {
            seed,
            setting,
            events,
        }
    }

    /// The plan as a test to be pasted into `tests/chains.rs`.
    pub fn as_test(&self) -> String {
        let mut text = String::new();
        let _ = write!(
            text,
            "#[test]\nfn found_by_search_{}() {{\n    replay(Plan {{\n        seed: {},\n        setting: {:?},\n        \
             events: vec!{:?},\n    }});\n}}\n",
            self.seed, self.seed, self.setting, self.events
        );
        text
    }
}

impl Setting {
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
    fn draw(draws: &mut Draws) -> Event {
        let during = During::draw(draws);
        let file = draws.of(&["", "log", "pages", "pages", "double", "checkpoint"]);
        // Opening and a checkpoint have some tens of operations, a transaction has a few.
        let after = 1 + draws.of(&[8, 40, 120]) * draws.below(16) / 16;
        match draws.below(24) {
            0..2 => Event::Work(1 + draws.below(12)),
            2..4 => Event::Grow(1 + draws.below(3)),
            4 => Event::Checkpoint,
            5 => Event::Close,
            6 => Event::Reopen,
            7 => Event::CloseWhileWriting,
            8 => Event::ReopenWhileWriting,
            9..12 => Event::Kill(during, after),
            12..15 => Event::PowerFailure(during, after, draws.below(1000)),
            15 | 16 => Event::FailedSync(during, file, draws.below(6)),
            17 => Event::TornWrite(during, file, draws.below(12)),
            18 | 20 => match draws.below(4) {
                0 => Event::FreeSpace,
                _ => Event::DiskFull(during, draws.of(&[0, 4 << 10, 64 << 10, 256 << 10])),
            },
            19 => Event::EvictCache,
            21 => Event::KilledWhileFull {
                room: draws.of(&[0, 4 << 10, 64 << 10, 256 << 10]),
                openings: 1 + draws.below(8),
                after,
                image: draws.of(&[0, after]),
            },
            22 => Event::RacingOpens,
            _ => Event::ReadOnly,
        }
    }
}

impl During {
    fn draw(draws: &mut Draws) -> During {
        draws.of(&[
            During::Working,
            During::Working,
            During::Growing,
            During::Checkpointing,
            During::Closing,
            During::Opening,
        ])
    }
}
