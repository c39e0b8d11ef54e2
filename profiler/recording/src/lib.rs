//! Recordings: one file, written as the run goes, readable up to where it ends.
//!
//! ```text
//! 0   magic "EVENKEEL", version (u32), zero (u32)
//! 16  chunk, chunk, ...
//!
//! chunk:  tag (u8) | length of the body (u32) | CRC-32 of tag and body (u32) | body
//! M  meta: JSON, see `Meta`; the last one counts
//! S  site: JSON of a probe, in order of ids; a repeated id replaces the first
//! R  round: first generation (u32), probes (u32)
//! C  what the next R is beside: trapping (u32: 0 or 1), the generation it continues (u32, 0 for none), then each probe it
//!        adds to that (u32)
//! O  beside the next R, too: each probe (u32) that the last plan without traps had and this one has not, or the other way round. Optional
//! D  records of a thread: key (u64), number (u32), then each as variable-length integers
//!        start, as the difference to the previous record's (zigzag) | duration | id
//! L  intervals that were not recorded: their largest latency, then each a class of latency and how many (variable-length integers)
//! W  a stack of an interval that was slow already: number of the interval, ticks that it had lasted, ticks of those since it was
//!        seen before (variable-length integers), then the functions, outermost first, each with a zero behind it
//! E  thread ended: key (u64)
//! P  pass ended: all rings have been read once more (this and the next two: with waits)
//! K  when a thread did not run: key (u64), number (u32), then each as variable-length integers
//!        start, as the difference to the previous one's (zigzag) | length | why
//!    why: 0 blocked, 1 preempted, 2 blocked for a device, 3 for a page; plus 4: and the key of who woke it follows
//! N  a thread's name: key (u64), then text
//! J  another recording begins, as if in a file of its own (`evenkeel merge`)
//! T  when the minute of the next U began, on the wall clock: nanoseconds since 1970 (u64)
//! U  sums of a minute, instead of records (`evenkeel profile --summary`): see `evenkeel_analysis::fleet::minutes`
//! ```
//! All numbers are little-endian. Readers skip tags they do not know. A file that ends inside a chunk was cut by a crash:
//! what comes before is good.

mod bodies;
mod chunks;
mod compared;
mod error;
mod identity;
mod merge;
mod observe;
mod part;
mod progress;
mod read;
mod several;
mod translation;
mod union;
mod varint;
mod write;

pub use compared::{Compared, compared};
pub use error::Error;
pub use evenkeel_analysis::Started;
pub use merge::merge;
pub use observe::{Interval, Minute, Observation, Recorded};
pub use progress::Progress;
pub use read::{KeptWhole, Replay, Replayed};
pub use several::{attributes, first_meta, replay_between, replay_files, replay_some};
pub use write::Writer;

use evenkeel_analysis::sites::{Site, SiteTable};
use evenkeel_analysis::{Off, ProbeCost, RunFacts};
use evenkeel_wire::{Marker, Record};
use serde::{Deserialize, Serialize};

/// First bytes of a recording.
pub const MAGIC: &[u8; 8] = b"EVENKEEL";
/// The version of the format that this program reads and writes.
pub const VERSION: u32 = 7;

/// What explains the records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// The command.
    pub target: String,
    /// The interval's name.
    pub interval: String,
    /// Root of the site table.
    pub root: String,
    /// Its height.
    pub root_height: u32,
    /// Speed of the clock.
    pub ticks_per_ns: f64,
    /// Calibrated cost of a probe outside its record, 1/256 tick.
    pub outer_256: u32,
    /// Inside its record.
    pub inner_256: u32,
    /// Facts of the run that are not in records.
    #[serde(flatten)]
    pub facts: RunFacts,
    /// Intervals were followed across threads.
    #[serde(default, rename = "edges")]
    pub waits: bool,
    /// It has sums instead of records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub summary: bool,
    /// Whether this is the last word: the run ended and was not cut.
    pub complete: bool,
    /// Name of the machine; empty where the file does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Build id of the file that has the interval's functions, in hexadecimal; empty where it has none or the file does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build: String,
    /// Version of the server, as its file says; empty where no preset knows how to find it or the file does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub server: String,
    /// Options that it was made with, as they were written; empty where there were none or the file does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub options: String,
    /// When that was.
    pub started: Started,
}

impl Meta {
    /// File name of the program.
    pub fn program(&self) -> &str {
        let word = self.target.split_whitespace().next().unwrap_or_default();
        word.rsplit('/').next().unwrap_or(word)
    }

    /// Takes in what is known of another recording, whose profile is added to this one's.
    pub(crate) fn merge(&mut self, other: &Meta) {
        self.facts.merge(&other.facts);
        self.complete &= other.complete;
        for (mine, other) in [
            (&mut self.host, &other.host),
            (&mut self.build, &other.build),
            (&mut self.server, &other.server),
            (&mut self.options, &other.options),
        ] {
            if !other.is_empty() && !mine.split(", ").any(|one| one == other) {
                let between = if mine.is_empty() { "" } else { ", " };
                *mine = format!("{mine}{between}{other}");
            }
        }
    }

    /// The calibrated cost.
    pub fn cost(&self) -> ProbeCost {
        ProbeCost {
            outer_256: self.outer_256,
            inner_256: self.inner_256,
        }
    }
}

/// A site with its id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SiteEntry {
    id: u32,
    #[serde(flatten)]
    site: Site,
}

/// Whether a record's `start` is a time, near those of its neighbours, and not a text or a key.
fn starts_at_a_time(record: &Record) -> bool {
    !matches!(
        record.as_marker(),
        Some(Marker::Label | Marker::Object | Marker::Attribute)
    )
}

/// Why a thread did not run, by its number in a recording.
const OFFS: [Off; 4] = [Off::Blocked, Off::Preempted, Off::Device, Off::Fault];
/// Added to that number: the key of the thread that woke it follows.
const WOKEN_BY: u64 = 4;

fn put_site(table: &mut SiteTable, entry: SiteEntry) {
    let id = entry.id as usize;
    if table.sites.len() <= id {
        table.sites.resize(id + 1, Site::default());
    }
    table.sites[id] = entry.site;
}
