//! What is done with a run's samples and slices while it goes on.

use crate::Error;
use crate::accounts::{Accounts, Window};
use crate::raw::RawFile;
use crate::run::Observer;
use crate::sample::Sample;
use crate::terminal::Line;

/// Shows the course of a run and keeps raw latencies, as wished.
pub(super) struct Watcher<'a> {
    /// The moving line.
    pub line: &'a Line,
    /// What is going on, in front of the course.
    pub what: &'a str,
    /// The file for raw latencies and the window they are related to.
    pub raw: Option<(RawFile, Window)>,
}

impl Observer for Watcher<'_> {
    fn samples(&mut self, samples: &[Sample]) -> Result<(), Error> {
        self.raw
            .as_mut()
            .map_or(Ok(()), |(file, window)| file.write(*window, samples))
    }

    fn slice(&mut self, accounts: &Accounts) {
        self.line.running(accounts, self.what);
    }
}
