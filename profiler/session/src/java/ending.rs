//! The end of a session in a JVM: classes are restored, and the report is made, or an error says why not.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::Duration;

use evenkeel_analysis::findings::reasons::NotSplit;
use evenkeel_analysis::findings::unseen::Unopened;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::profile::RunDetails;
use evenkeel_analysis::{Options, RunFacts};
use evenkeel_recording::Meta;

use super::problem::Problem;
use super::session::{JvmTarget, Session};
use crate::ending::Ending;
use crate::error::Error;
use crate::profile::Outcome;
use crate::profile::facts::{machine, sampling};
use crate::profile::warnings::of_agent;

/// From this time on the user is told that the JVM compiled its code again: each step waits for half a second at least.
const COMPILES_LONG: Duration = Duration::from_secs(3);

impl Session<'_> {
    pub(super) fn finish(mut self, interrupted: &AtomicBool) -> Result<Outcome, Error> {
        let ending = self.end().after(interrupted.load(Relaxed));
        if let Some(analysis) = &mut self.records.sink.analysis {
            analysis.ended();
        }
        self.write_sites();
        let mut meta = Meta {
            complete: true,
            ..self.meta()
        };
        let analysis = self.records.sink.finish(&mut meta);
        let Some(analysis) = analysis.filter(|analysis| analysis.intervals_seen() > 0) else {
            return Err(self.nothing_profiled());
        };
        let options = Options {
            ticks_per_ns: meta.ticks_per_ns,
            started: Some(meta.started),
            ..self.options()
        };
        let profile = analysis.finished(&self.plan.sites, &options, &meta.facts);
        Ok(Outcome { profile, ending })
    }

    fn nothing_profiled(&self) -> Error {
        let intervals = self.virtual_intervals();
        let problem = match intervals {
            0 => Problem::NotCalled {
                name: self.run.interval.clone().unwrap_or_default(),
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
        if self.settings.keep || matches!(self.target, JvmTarget::Process { .. }) {
            return Ending::Kept;
        }
        self.stop();
        Ending::Stopped
    }

    /// Stops the command if the session started it.
    pub(super) fn stop(&mut self) {
        let (signal, records) = (self.settings.stop_signal, &mut self.records);
        if let JvmTarget::Command(target) = &mut self.target {
            target.stop(signal, || records.pass(true));
            self.records.pass(true);
        }
    }

    /// Probes are off, and classes as they were.
    pub(super) fn leave(&mut self) {
        let classes = self.plan.classes();
        let named = self.name_waits();
        let left = self.talk(|talk| {
            talk.leave()?;
            match classes[..] {
                [] => Ok(None),
                _ => talk.rewrite(&classes, |_, _, _| None).map(Some),
            }
        });
        match left.and_then(|pause| named.map(|()| pause)) {
            Ok(pause) => self.pauses.extend(pause.map(|pause| pause.at_most)),
            Err(error) if self.is_running() => {
                self.run.warnings.push(Warning::HooksLeft {
                    processes: 1,
                    first: error.to_string(),
                });
            }
            Err(_) => {}
        }
    }

    /// Makes the recording good up to now; one of sums now and then.
    pub(super) fn checkpoint(&mut self) {
        if self.records.sink.is_checkpoint_due() {
            let is_recorded = self.records.sink.writer.is_some();
            let meta = is_recorded.then(|| self.meta());
            self.records.sink.checkpoint(meta.as_ref());
        }
    }

    fn meta(&self) -> Meta {
        Meta {
            facts: self.facts(),
            ..self
                .run
                .meta(self.settings, &self.records, &self.plan.sites)
        }
    }

    /// What is known of the run beside its records.
    pub(super) fn facts(&self) -> RunFacts {
        let unopened = |probe| Unopened {
            probe: Some(probe),
            why: NotSplit::NotOpened,
            waits_tell: false,
        };
        let counts = self.records.counts();
        RunFacts {
            unpatched: self.plan.unpatched(),
            unopened: Some(self.plan.not_opened().into_iter().map(unopened).collect()),
            sampling: Some(sampling(self.settings)),
            details: RunDetails {
                listen_queues: self.run.listening.seen(),
                machine: Some(machine(&self.records.clock)),
                ..RunDetails::default()
            },
            warnings: self.all_warnings(),
            // The report is of the others, as its warning says.
            unplanned: counts.unplanned.saturating_sub(self.compiled.intervals),
            ..counts
        }
    }

    /// What compiling again has cost, where it took long.
    fn compiled_again(&self) -> Option<Warning> {
        let compiled = self.compiled;
        let after_first = (compiled.time - compiled.first).as_secs_f64();
        let later = self.run.seconds() - after_first;
        let is_long = compiled.time >= COMPILES_LONG && later > 0.0;
        let counts = self.records.counts();
        let ended = self.records.intervals() + counts.sampled_out + counts.missed;
        is_long.then(|| Warning::JavaCompiled {
            time_ns: compiled.time.as_nanos() as u64,
            rate: compiled.intervals as f64 / compiled.time.as_secs_f64(),
            rate_later: ended as f64 / later,
        })
    }

    fn all_warnings(&self) -> Vec<Warning> {
        let longest = self.pauses.iter().max().copied().unwrap_or_default();
        let total: Duration = self.pauses.iter().sum();
        let intervals = self.virtual_intervals();
        let of_java = [
            (!self.pauses.is_empty()).then_some(Warning::JavaStopped {
                times: self.pauses.len(),
                longest_ns: longest.as_nanos() as u64,
                total_ns: total.as_nanos() as u64,
            }),
            self.compiled_again(),
            (intervals > 0).then_some(Warning::VirtualThreads(intervals)),
            self.too_long.clone(),
        ];
        let mut all = self.run.warnings.clone();
        all.extend(of_java.into_iter().flatten());
        all.extend(self.run.slowdown.clone());
        all.extend(self.records.warnings());
        all.extend(of_agent(&self.records));
        all
    }
}
