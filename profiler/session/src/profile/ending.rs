//! The end of a session: hooks out, command stopped, result or reason why there is none.

use std::sync::atomic::Ordering::*;
use std::time::Duration;

use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::{Analysis, Options};
use evenkeel_wire::{Control, Frozen};

use super::kernel::Kernel;
use super::{Outcome, Session};
use crate::error::Error;
use crate::launch::Ending;
use crate::target::Target;
use evenkeel_recording::Meta;

/// After so long the kernel has written all its records.
const KERNEL_LATE: Duration = Duration::from_millis(5);

/// So many intervals that were left, and as many ends on threads that had begun none, are no mistakes of the target's.
const LEFT_FEW: u64 = 20;

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
        if let Some(analysis) = &mut self.sink.analysis {
            analysis.ended();
        }
        self.collect_warnings();
        let meta = Meta {
            unopened: Some(self.unopened()),
            names: self.names_elsewhere(),
            ..self.meta(true)
        };
        if self.sink.sums_only {
            // Before the sums, for the cost of a probe is read there.
            if let Some(writer) = &mut self.sink.writer {
                writer.meta(&meta);
            }
            self.sink.keep_sums();
        }
        if let Some(writer) = self.sink.writer.take()
            && let Err(error) = writer.finish(&meta)
        {
            self.warnings
                .push(Warning::RecordingIncomplete(error.to_string()));
        }
        let analysis = self.sink.analysis.take();
        let Some(analysis) = analysis.filter(|analysis| analysis.intervals_seen() > 0) else {
            return Err(self.nothing_profiled(ending));
        };
        let switched = self.arena.control().intervals_switched.load(Relaxed);
        if 2 * switched > analysis.intervals_seen() {
            return Err(stacks_switched(switched));
        }
        let left = analysis.intervals_left_early();
        if 2 * left > analysis.intervals_seen()
            && let Some(reason) = self.ends_elsewhere(left)
        {
            return Err(Error::NothingProfiled(reason.to_string()));
        }
        // The clock's speed as recorded, so that a replay says the same to the last digit.
        let options = Options {
            ticks_per_ns: meta.ticks_per_ns,
            ..self.options()
        };
        let mut profile = analysis.profile(&self.refiner.plan.sites, &options);
        Meta {
            warnings: self.warning_texts(),
            ..meta
        }
        .complete(&mut profile);
        Ok(Outcome { profile, ending })
    }

    fn stop(&mut self) -> Ending {
        self.await_calibration();
        self.filters.watch_all(&self.arena);
        self.detach();
        if let Some(ending) = self.target.ending().filter(|_| !self.target.is_running()) {
            self.pass(true);
            return ending;
        }
        if let Target::Attached(_) = self.target {
            self.leave();
            self.pass(true);
            return Ending::Kept;
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
            sink,
            kernel,
            ..
        } = self;
        target.stop(self.settings.stop_signal, || {
            drain.run(arena, sink, true);
            if let Some(kernel) = kernel {
                kernel.run(drain, sink);
            }
            sink.pass_ended();
        });
        drain.run(arena, sink, true);
        Ending::Stopped
    }

    /// What to say of instructions of the agent's that failed in the target; nothing if there were none.
    pub(super) fn failed(&self) -> String {
        let control = self.arena.control();
        let Some(id) = control.fault_probe.load(Acquire).checked_sub(1) else {
            return String::new();
        };
        let place = match self.refiner.plan.sites.sites.get(id as usize) {
            Some(site) if site.site.is_empty() => {
                format!("the hook at the entry of {}", site.callee)
            }
            Some(site) => format!("the hook of the call of {} at {}", site.callee, site.site),
            None => "a hook".to_owned(),
        };
        let signal = match control.fault_signal.load(Relaxed) as i32 {
            libc::SIGBUS => "SIGBUS",
            libc::SIGILL => "SIGILL",
            _ => "SIGSEGV",
        };
        let times = control.faults.load(Relaxed);
        format!(
            "evenkeel failed inside of the target, which went on without it: {signal} in {place}, {times} times. The hooks of the processes \
             concerned were taken out, and their intervals from then on are missing. Please report this"
        )
    }

    fn collect_warnings(&mut self) {
        let control = self.arena.control();
        let mut warn = |condition: bool, warning: Warning| {
            if condition {
                self.warnings.push(warning);
            }
        };
        if let Some(slowdown) = &self.slowdown {
            warn(true, slowdown.clone());
        }
        let threads = control.threads_without_ring.load(Relaxed).into();
        let no_memory = self.arena.rings_exhausted();
        warn(
            threads > 0,
            Warning::ThreadsWithoutRing { threads, no_memory },
        );
        let (records, intervals) = (self.drain.dropped, self.drain.missed);
        warn(
            records + intervals > 0,
            Warning::NotDrained { records, intervals },
        );
        let lost = self.kernel.as_ref().map_or(0, Kernel::lost);
        warn(lost > 0, Warning::KernelEventsLost(lost));
        for note in self.modules.notes.drain(..) {
            warn(true, Warning::DebugFile(note));
        }
        let deep = control.shadow_full.load(Relaxed);
        warn(deep > 0, Warning::NestedTooDeeply(deep));
        let switched = control.intervals_switched.load(Relaxed);
        warn(switched > 0, Warning::StacksSwitched(switched));
        let left = self
            .sink
            .analysis
            .as_ref()
            .map_or(0, Analysis::intervals_left_early);
        let ends = control.ends_elsewhere.load(Relaxed);
        warn(
            left >= LEFT_FEW && ends >= LEFT_FEW,
            Warning::EndedElsewhere { left, ends },
        );
        let suspended = control.calls_suspended.load(Relaxed);
        warn(suspended > 0, Warning::CallsSuspended(suspended));
        let left = control.calls_left_unseen.load(Relaxed);
        warn(left > 0, Warning::CallsLeftUnseen(left));
        for warning in frozen(control) {
            warn(true, warning);
        }
        let unread = control.labels_unread.load(Relaxed);
        warn(unread > 0, Warning::LabelsUnread(unread));
        warn(
            control.probe_outer_ticks_256.load(Relaxed) == 0,
            Warning::NotCalibrated,
        );
    }
}

/// Most intervals were lost because stacks were switched inside of them: what is left is no sample of all.
fn stacks_switched(intervals: u64) -> Error {
    Error::NothingProfiled(format!(
        "the thread of {intervals} intervals went on with another stack inside of them (coroutines, ucontext, boost.context): intervals that switch user-level stacks are not supported; choose an --interval that stays on one stack, such as a function that a resumed handler calls"
    ))
}

/// What there is to say of processes whose code stayed as it was from some moment on.
fn frozen(control: &Control) -> impl Iterator<Item = Warning> {
    let reasons = [
        (
            Frozen::Filter,
            "installed a filter of system calls (seccomp)",
        ),
        (
            Frozen::Runtime,
            "run Go, whose runtime meets no breakpoint but its own",
        ),
        (
            Frozen::WriteExecute,
            "gave up the right to change code (PR_SET_MDWE)",
        ),
        (
            Frozen::Unseen,
            "have instructions of their own that may install a filter of system calls (seccomp), and so were left alone from their start on",
        ),
        (
            Frozen::Loader,
            "were forked while another thread was opening or closing a library, so that the loader cannot be asked there what is mapped",
        ),
    ];
    let counted = reasons.map(|(why, text)| (control.frozen[why as usize].load(Relaxed), text));
    let frozen = counted.into_iter().filter(|&(processes, _)| processes > 0);
    frozen.map(|(processes, why)| Warning::Frozen {
        processes: processes.into(),
        why: why.to_owned(),
    })
}
