//! The end of a session: hooks out, command stopped, and the result, or the reason for its absence.

use std::sync::atomic::Ordering::*;
use std::time::Duration;

use evenkeel_analysis::Options;
use evenkeel_recording::Meta;

use super::{Outcome, Session};
use crate::ending::Ending;
use crate::error::Error;
use crate::no_profile::Reason;

/// After so long the kernel has written all its records.
const KERNEL_LATE: Duration = Duration::from_millis(5);

impl Session<'_> {
    /// `interrupted`: whether the user ended the run.
    pub(super) fn finish(mut self, interrupted: bool) -> Result<Outcome, Error> {
        let ending = self.stop().after(interrupted);
        if self.records.kernel.is_some() {
            std::thread::sleep(KERNEL_LATE);
            self.records.pass(true);
        }
        if let Some(analysis) = &mut self.records.sink.analysis {
            analysis.ended();
        }
        let mut meta = Meta {
            facts: self.facts(),
            complete: true,
            ..self.meta()
        };
        let analysis = self.records.sink.finish(&mut meta);
        let Some(analysis) = analysis.filter(|analysis| analysis.intervals_seen() > 0) else {
            return Err(self.nothing_profiled(ending));
        };
        let control = self.records.arena.control();
        let intervals = control.intervals_switched.load(Relaxed);
        if 2 * intervals > analysis.intervals_represented() {
            return Err(Error::NothingProfiled(Reason::StacksSwitched { intervals }));
        }
        let left = analysis.intervals_left_early();
        if 2 * left > analysis.intervals_represented()
            && let Some(reason) = self.ends_elsewhere(left)
        {
            return Err(Error::NothingProfiled(reason));
        }
        // The clock's speed as recorded, so that a replay says the same to the last digit.
        let options = Options {
            ticks_per_ns: meta.ticks_per_ns,
            started: Some(meta.started),
            ..self.options()
        };
        let profile = analysis.finished(&self.refiner.plan.sites, &options, &meta.facts);
        Ok(Outcome { profile, ending })
    }

    fn stop(&mut self) -> Ending {
        self.stacks.take_rest(&mut self.records);
        self.note_rare_intervals();
        self.await_calibration();
        self.target.filters.watch_all(&self.records.arena);
        self.records.detach();
        let ended = self.target.ending().filter(|_| !self.target.is_running());
        let (signal, records) = (self.settings.stop_signal, &mut self.records);
        let ending = match ended {
            Some(ending) => ending,
            None if !self.target.is_launched() => {
                self.target.leave(records);
                Ending::Kept
            }
            None if self.settings.keep => {
                std::thread::sleep(Duration::from_millis(50));
                Ending::Kept
            }
            None => {
                self.target.stop(signal, || records.pass(true));
                Ending::Stopped
            }
        };
        self.records.pass(true);
        ending
    }
}
