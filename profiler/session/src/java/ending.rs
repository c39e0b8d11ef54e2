//! The end of a session in a JVM: classes are restored, and the report is made, or an error says why not.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::Instant;

use evenkeel_analysis::findings::reasons::NotSplit;
use evenkeel_analysis::findings::unseen::Unopened;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::{Options, RunFacts};
use evenkeel_recording::Meta;

use super::problem::Problem;
use super::session::{Session, Subject};
use crate::error::Error;
use crate::launch::Ending;
use crate::profile::{Outcome, host};

impl Session<'_> {
    pub(super) fn finish(mut self, interrupted: &AtomicBool) -> Result<Outcome, Error> {
        let ending = self.end();
        let ending = match ending {
            // A terminal sends Ctrl-C to the command, too, which may be faster than we are.
            Ending::Exited(_) | Ending::Killed(libc::SIGINT | libc::SIGTERM | libc::SIGHUP)
                if interrupted.load(Relaxed) =>
            {
                Ending::Stopped
            }
            ending => ending,
        };
        if let Some(analysis) = &mut self.records.sink.analysis {
            analysis.ended();
        }
        self.write_sites();
        let mut meta = self.meta(true);
        if self.records.sink.sums_only {
            if let Some(writer) = &mut self.records.sink.writer {
                writer.meta(&meta);
            }
            self.records.sink.keep_sums();
        }
        if let Some(writer) = self.records.sink.writer.take()
            && let Err(error) = writer.finish(&meta)
        {
            let incomplete = Warning::RecordingIncomplete(error.to_string());
            meta.facts.warnings.push(incomplete);
        }
        let analysis = self.records.sink.analysis.take();
        let Some(analysis) = analysis.filter(|analysis| analysis.intervals_seen() > 0) else {
            return Err(self.nothing_profiled());
        };
        let options = Options {
            ticks_per_ns: meta.ticks_per_ns,
            started: meta.started,
            ..self.options()
        };
        let profile = analysis.finished(&self.plan.sites, &options, &meta.facts);
        Ok(Outcome { profile, ending })
    }

    fn nothing_profiled(&self) -> Error {
        let intervals = self.virtual_intervals();
        let problem = match intervals {
            0 => Problem::NotCalled {
                name: self.interval.clone(),
            },
            intervals => Problem::OnlyVirtual { intervals },
        };
        problem.into()
    }

    fn virtual_intervals(&self) -> u64 {
        let control = self.records.arena.control();
        control.virtual_intervals.load(Relaxed)
    }

    /// Removes the probes, and stops the command if the session started it.
    fn end(&mut self) -> Ending {
        if !self.is_running() {
            self.records.pass(true);
            return self.ending().unwrap_or(Ending::Gone);
        }
        self.leave();
        self.records.pass(true);
        if self.settings.keep || matches!(self.target, Subject::Process { .. }) {
            return Ending::Kept;
        }
        self.stop();
        Ending::Stopped
    }

    /// Stops the command if the session started it.
    pub(super) fn stop(&mut self) {
        let (signal, records) = (self.settings.stop_signal, &mut self.records);
        if let Subject::Command(target) = &mut self.target {
            target.stop(signal, || records.pass(true));
            self.records.pass(true);
        }
    }

    /// Probes are off, and classes as they were.
    pub(super) fn leave(&mut self) {
        let classes = self.plan.classes();
        let left = self.talk(|talk| {
            talk.leave()?;
            match classes[..] {
                [] => Ok(None),
                _ => talk.rewrite(&classes, |_, _, _| None).map(Some),
            }
        });
        match left {
            Ok(pause) => self.pauses.extend(pause.map(|pause| pause.at_most)),
            Err(error) if self.is_running() => {
                self.warnings.push(Warning::HooksLeft {
                    processes: 1,
                    first: error.to_string(),
                });
            }
            Err(_) => {}
        }
    }

    /// Makes the recording good up to now; one of sums now and then.
    pub(super) fn checkpoint(&mut self) {
        if let Some(period) = self.settings.summary {
            if self.summed.is_some_and(|at| at.elapsed() < period) {
                return;
            }
            self.summed = Some(Instant::now());
        }
        let meta = self.records.sink.writer.is_some().then(|| self.meta(false));
        if let (Some(writer), Some(meta)) = (&mut self.records.sink.writer, meta) {
            writer.meta(&meta);
        }
        if self.records.sink.sums_only {
            self.records.sink.keep_sums();
        }
        if let Some(writer) = &mut self.records.sink.writer {
            writer.flush();
        }
    }

    fn meta(&mut self, complete: bool) -> Meta {
        let (options, cost) = (self.options(), self.records.probe_cost());
        Meta {
            target: options.target,
            interval: options.interval,
            root: self.plan.sites.root.clone(),
            root_height: self.plan.sites.root_height,
            ticks_per_ns: options.ticks_per_ns,
            outer_256: cost.outer_256,
            inner_256: cost.inner_256,
            waits: false,
            summary: self.settings.summary.is_some(),
            facts: self.facts(),
            complete,
            options: self.settings.options.clone(),
            host: host(),
            build: String::new(),
            server: String::new(),
            started: Some(self.records.clock.started()),
        }
    }

    /// What is known of the run beside its records.
    pub(super) fn facts(&self) -> RunFacts {
        let unopened = |probe| Unopened {
            probe: Some(probe),
            why: NotSplit::NotOpened,
            waits_tell: false,
        };
        RunFacts {
            missed: self.records.drain.missed,
            sampled_out: self.records.drain.skipped,
            unplanned: self.records.drain.unplanned,
            unpatched: self.plan.unpatched(),
            unopened: Some(self.plan.not_opened().into_iter().map(unopened).collect()),
            listen_queues: self.listening.seen(),
            warnings: self.all_warnings(),
            ..RunFacts::default()
        }
    }

    fn all_warnings(&self) -> Vec<Warning> {
        let control = self.records.arena.control();
        let mut all = self.warnings.clone();
        let mut warn = |condition: bool, warning: Warning| {
            if condition {
                all.push(warning);
            }
        };
        let longest = self.pauses.iter().max().copied().unwrap_or_default();
        let total: std::time::Duration = self.pauses.iter().sum();
        warn(
            !self.pauses.is_empty(),
            Warning::JavaStopped {
                times: self.pauses.len(),
                longest_ns: longest.as_nanos() as u64,
                total_ns: total.as_nanos() as u64,
            },
        );
        let intervals = self.virtual_intervals();
        warn(intervals > 0, Warning::VirtualThreads(intervals));
        if let Some(too_long) = &self.too_long {
            warn(true, too_long.clone());
        }
        let threads = control.threads_without_ring.load(Relaxed).into();
        let refused = self.records.arena.rings_refused();
        warn(
            threads > 0,
            Warning::ThreadsWithoutRing { threads, refused },
        );
        let (records, intervals) = (self.records.drain.dropped, self.records.drain.missed);
        warn(
            records + intervals > 0,
            Warning::NotDrained { records, intervals },
        );
        let deep = control.shadow_full.load(Relaxed);
        warn(deep > 0, Warning::NestedTooDeeply(deep));
        let is_calibrated = control.probe_outer_ticks_256.load(Relaxed) > 0;
        warn(!is_calibrated, Warning::NotCalibrated);
        all
    }
}
