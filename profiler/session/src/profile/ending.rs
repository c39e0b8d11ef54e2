//! The end of a session: hooks out, command stopped, result or reason why there is none.

use std::sync::atomic::Ordering::*;
use std::time::Duration;

use evenkeel_analysis::Options;

use super::kernel::Kernel;
use super::{Outcome, Session, Wish};
use crate::error::Error;
use crate::launch::Ending;
use crate::recording::Meta;

/// After so long the kernel has told everything that it has to tell.
const KERNEL_LATE: Duration = Duration::from_millis(5);

impl Session<'_> {
    /// `interrupted`: whether the user ended the run.
    pub(super) fn finish(mut self, interrupted: bool) -> Result<Outcome, Error> {
        let ending = match self.stop() {
            // A terminal sends Ctrl-C to the command, too, which may be faster than we are.
            Ending::Exited(_) | Ending::Killed(libc::SIGINT | libc::SIGTERM | libc::SIGHUP)
                if interrupted =>
            {
                Ending::Stopped
            }
            ending => ending,
        };
        if self.kernel.is_some() {
            std::thread::sleep(KERNEL_LATE);
            self.pass(true);
        }
        if let Some(analysis) = &mut self.store.analysis {
            analysis.ended();
        }
        self.collect_warnings();
        let meta = self.meta(true);
        if let Some(writer) = self.store.writer.take()
            && let Err(error) = writer.finish(&meta)
        {
            self.warnings
                .push(format!("the recording is incomplete: {error}"));
        }
        let analysis = self.store.analysis.take();
        let Some(analysis) = analysis.filter(|analysis| analysis.intervals_seen() > 0) else {
            return Err(self.nothing_profiled(ending));
        };
        // The clock's speed as recorded, so that a replay says the same to the last digit.
        let options = Options {
            ticks_per_ns: meta.ticks_per_ns,
            ..self.options()
        };
        let mut profile = analysis.profile(&self.plan.sites, &options);
        Meta {
            warnings: self.warnings,
            ..meta
        }
        .complete(&mut profile);
        Ok(Outcome { profile, ending })
    }

    fn stop(&mut self) -> Ending {
        self.await_calibration();
        self.detach();
        if let Some(ending) = self.target.ending().filter(|_| !self.target.is_running()) {
            self.pass(true);
            return ending;
        }
        if self.settings.keep {
            std::thread::sleep(Duration::from_millis(50));
            self.pass(true);
            return Ending::Kept;
        }
        let Session {
            target,
            drain,
            arena,
            store,
            kernel,
            ..
        } = self;
        target.stop(self.settings.stop_signal, || {
            drain.run(arena, store, true);
            if let Some(kernel) = kernel {
                kernel.run(drain, store);
            }
            store.pass_ended();
        });
        drain.run(arena, store, true);
        Ending::Stopped
    }

    fn collect_warnings(&mut self) {
        let control = self.arena.control();
        let lost = control.threads_without_ring.load(Relaxed);
        if lost > 0 {
            let why = if self.arena.rings_exhausted() {
                "no shared memory was left"
            } else {
                "too many started at once"
            };
            self.warnings.push(format!(
                "{lost} threads were not recorded: {why}; free memory or run fewer threads"
            ));
        }
        if self.drain.dropped + self.drain.missed > 0 {
            self.warnings.push(format!(
                "the profiler did not keep up for a moment: {} records were dropped and {} intervals not recorded; they are left out. Lower --max-probes, or give the profiler more of a processor",
                self.drain.dropped, self.drain.missed
            ));
        }
        let untold = self.kernel.as_ref().map_or(0, Kernel::lost);
        if untold > 0 {
            self.warnings.push(format!(
                "{untold} events of the kernel were lost: some time off the processor counts as running; give the profiler more of a processor"
            ));
        }
        self.warnings.append(&mut self.modules.notes);
        let deep = control.shadow_full.load(Relaxed);
        if deep > 0 {
            self.warnings.push(format!(
                "{deep} calls were nested too deeply to be timed; their time is their callers'"
            ));
        }
        let unread = control.labels_unread.load(Relaxed);
        if unread > 0 {
            self.warnings.push(format!(
                "{unread} labels could not be read; check label= names a string argument"
            ));
        }
        if control.probe_outer_ticks_256.load(Relaxed) == 0 {
            self.warnings.push(
                "the cost of a probe could not be calibrated and is not subtracted".to_owned(),
            );
        }
    }

    fn nothing_profiled(&mut self, ending: Ending) -> Error {
        if let Some(error) = self.not_found.take() {
            return error;
        }
        let control = self.arena.control();
        let text = if control.processes.load(Relaxed) == 0 {
            "the agent was never loaded: the command ended first, is statically linked, or changed its rights (setuid); profile the server itself instead of a wrapper".to_owned()
        } else if let Some((name, _)) = &self.interval {
            format!(
                "the interval {name} never ended while it was profiled: put the server under load, profile for longer (--for), or choose another --interval"
            )
        } else {
            match &self.settings.wish {
                Wish::Known(preset, _) => format!(
                    "the command never ran {}; name another --preset, or the interval with --interval",
                    preset.programs.join(" or ")
                ),
                Wish::Spec(spec) => format!(
                    "no library {} was loaded, or none of its functions was called; check its name with ldd or /proc/PID/maps",
                    spec.library.as_deref().unwrap_or_default()
                ),
            }
        };
        Error::NothingProfiled(match ending {
            Ending::Exited(code) if code != 0 => {
                format!("the command failed with exit code {code}; {text}")
            }
            Ending::Killed(signal) => format!("the command was killed by signal {signal}; {text}"),
            _ => text,
        })
    }
}
