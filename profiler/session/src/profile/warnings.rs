//! What a session warns its user of.

use std::sync::atomic::Ordering::*;

use evenkeel_analysis::Analysis;
use evenkeel_analysis::findings::warnings::{FrozenBy, Warning};
use evenkeel_wire::{Control, FAULT_IN_FUNCTION, Frozen};

use super::Session;

/// Number of left intervals, and of ends on threads without a beginning, that is no mistake of the target.
const LEFT_FEW: u64 = 20;

impl Session<'_> {
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
        let mut all = self.run.warnings.clone();
        all.extend(self.target.left_out.warnings());
        all.extend(self.refiner.sampled_warning());
        all.extend(self.stacks.slow.refused().map(|refused| Warning::NoStacks {
            pid: refused.pid,
            why: refused.why.clone(),
        }));
        all.extend(self.run.slowdown.clone());
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
