//! The end of a session: hooks out, command stopped, and the result, or the reason for its absence.

use std::sync::atomic::Ordering::*;
use std::time::Duration;

use evenkeel_analysis::findings::warnings::{FrozenBy, Warning};
use evenkeel_analysis::{Analysis, Options};
use evenkeel_wire::{Control, FAULT_IN_FUNCTION, Frozen};

use super::{Outcome, Session};
use crate::error::Error;
use crate::launch::Ending;
use crate::no_profile::Reason;
use evenkeel_recording::Meta;

/// After so long the kernel has written all its records.
const KERNEL_LATE: Duration = Duration::from_millis(5);

/// Number of left intervals, and of ends on threads without a beginning, that is no mistake of the target.
const LEFT_FEW: u64 = 20;

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
            ..self.meta(true)
        };
        let analysis = self.records.sink.finish(&mut meta);
        let Some(analysis) = analysis.filter(|analysis| analysis.intervals_seen() > 0) else {
            return Err(self.nothing_profiled(ending));
        };
        let intervals = self
            .records
            .arena
            .control()
            .intervals_switched
            .load(Relaxed);
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
            started: meta.started,
            ..self.options()
        };
        let profile = analysis.finished(&self.refiner.plan.sites, &options, &meta.facts);
        Ok(Outcome { profile, ending })
    }

    fn stop(&mut self) -> Ending {
        self.note_rare_intervals();
        self.await_calibration();
        self.target.filters.watch_all(&self.records.arena);
        self.records.detach();
        if let Some(ending) = self.target.ending().filter(|_| !self.target.is_running()) {
            self.records.pass(true);
            return ending;
        }
        if !self.target.is_launched() {
            self.target.leave(&mut self.records);
            self.records.pass(true);
            return Ending::Kept;
        }
        if self.settings.keep {
            std::thread::sleep(Duration::from_millis(50));
            self.records.pass(true);
            return Ending::Kept;
        }
        let (signal, records) = (self.settings.stop_signal, &mut self.records);
        self.target.stop(signal, || records.pass(true));
        self.records.pass(true);
        Ending::Stopped
    }

    /// A message about the agent's instructions that failed in the target; empty without any.
    pub(super) fn failed(&self) -> String {
        let control = self.records.arena.control();
        let probe = control.fault_probe.load(Acquire);
        let Some(id) = probe.checked_sub(1) else {
            return String::new();
        };
        let place = match self.refiner.plan.sites.sites.get(id as usize) {
            _ if probe == FAULT_IN_FUNCTION => {
                let bytes = control.fault_function.iter().map(|byte| byte.load(Relaxed));
                let name: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
                format!(
                    "what it runs before and after {}",
                    String::from_utf8_lossy(&name)
                )
            }
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

    /// Warnings for the user as of now: events of the session, and counts.
    pub(super) fn all_warnings(&self) -> Vec<Warning> {
        let control = self.records.arena.control();
        let mut all = self.warnings.clone();
        all.extend(self.target.left_out.warnings());
        all.extend(self.refiner.sampled_warning());
        all.extend(self.stacks.slow.refused().map(|refused| Warning::NoStacks {
            pid: refused.pid,
            why: refused.why.clone(),
        }));
        all.extend(self.slowdown.clone());
        all.extend(self.records.warnings());
        let mut warn = |condition: bool, warning: Warning| {
            if condition {
                all.push(warning);
            }
        };
        for note in &self.modules.notes {
            warn(true, Warning::DebugFile(note.clone()));
        }
        let deep = control.shadow_full.load(Relaxed);
        warn(deep > 0, Warning::NestedTooDeeply(deep));
        let switched = control.intervals_switched.load(Relaxed);
        warn(switched > 0, Warning::StacksSwitched(switched));
        let left = self
            .records
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
        all
    }
}

/// Warnings about processes whose code could not be changed from some time on.
fn frozen(control: &Control) -> impl Iterator<Item = Warning> {
    let reasons = [
        (Frozen::Filter, FrozenBy::Filter),
        (Frozen::Runtime, FrozenBy::Runtime),
        (Frozen::WriteExecute, FrozenBy::WriteExecute),
        (Frozen::Unseen, FrozenBy::Unseen),
        (Frozen::Loader, FrozenBy::Loader),
    ];
    let counted = reasons.map(|(why, by)| (control.frozen[why as usize].load(Relaxed), by));
    let frozen = counted.into_iter().filter(|&(processes, _)| processes > 0);
    frozen.map(|(processes, why)| Warning::Frozen {
        processes: processes.into(),
        why,
    })
}
