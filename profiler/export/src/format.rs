//! The interface of a format, and its input.

use std::io::{self, Write};

use evenkeel_analysis::profile::{Profile, Timeline};
use thiserror::Error;

use crate::weights::{Leaf, Weight, leaves};

/// A format of files that another tool reads.
pub trait Format: Sync {
    /// Name on the command line.
    fn name(&self) -> &'static str;

    /// Its readers, in a line.
    fn about(&self) -> &'static str;

    /// It holds one weight at a time, so that the user may say which; else it holds all of them, or none.
    fn takes_weight(&self) -> bool {
        false
    }

    /// It holds critical paths.
    fn takes_timelines(&self) -> bool {
        false
    }

    /// It is bytes that no terminal should be sent.
    fn is_binary(&self) -> bool {
        false
    }

    /// Writes the profile.
    ///
    /// # Errors
    /// The profile has nothing that the format could hold, or `out` failed.
    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<(), Error>;
}

/// Data to export.
#[derive(Clone, Copy, Debug)]
pub struct Export<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// The weight that widths show, in a format that holds one at a time.
    pub weight: Weight,
    /// Origin of the clock of the profile's critical paths.
    pub started: Started,
    /// Where it was recorded, if that is known.
    pub host: &'a str,
}

/// A moment in two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Started {
    /// In that of [`evenkeel_analysis::profile::Timeline::begin_ns`].
    pub clock_ns: f64,
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
}

impl<'a> Export<'a> {
    /// A moment of the profile's clock in nanoseconds since 1970.
    fn unix_ns(&self, clock_ns: f64) -> u64 {
        let Started {
            clock_ns: then,
            unix_ns,
        } = self.started;
        unix_ns.saturating_add_signed((clock_ns - then).round() as i64)
    }

    /// Where a critical path has a moment, in nanoseconds since 1970 or since the first path began.
    pub(crate) fn moment_ns(&self, path: &Timeline, ns: u64) -> u64 {
        self.unix_ns(path.begin_ns) + ns
    }

    /// Leaves of the tree.
    pub(crate) fn leaves(&self) -> Vec<Leaf<'a>> {
        leaves(&self.profile.tree)
    }

    /// The last part of the path of the program.
    pub(crate) fn program(&self) -> &str {
        let words = self.profile.target.split_whitespace().next();
        let program = words.and_then(|word| word.rsplit('/').next());
        program
            .filter(|name| !name.is_empty())
            .unwrap_or("evenkeel")
    }

    /// Name of the whole, for a window's title.
    pub(crate) fn title(&self) -> String {
        format!("{} of {}", self.profile.interval, self.program())
    }

    /// # Errors
    /// There are no critical paths.
    pub(crate) fn needs_timelines(&self, format: &'static str) -> Result<(), Error> {
        let none = self.profile.timelines.is_empty();
        if none {
            Err(Error::NoTimelines { format })
        } else {
            Ok(())
        }
    }
}

/// Why nothing was exported.
#[derive(Debug, Error)]
pub enum Error {
    /// The format holds nothing else.
    #[error(
        "the recording keeps no interval whole, and {format} holds nothing else: record with `evenkeel profile -o FILE`, without --summary"
    )]
    NoTimelines {
        /// The format.
        format: &'static str,
    },
    /// All widths are zero.
    #[error(
        "no call path has any {weight}: the latency does not vary, or its tail is no slower than its mean; try --weight mean"
    )]
    NoWeight {
        /// The weight.
        weight: Weight,
    },
    /// The result could not be written.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Error {
        Error::Io(error.into())
    }
}
