//! What a session warns its user of.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::*};

use evenkeel_analysis::Analysis;
use evenkeel_analysis::findings::warnings::{FrozenBy, Warning};
use evenkeel_wire::{Control, FAULT_IN_FUNCTION, Frozen};

use super::Session;
use super::records::Records;
use crate::arena::Arena;

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
        let mut all = self.run.warnings.clone();
        all.extend(self.target.left_out());
        all.extend(self.target.unseen());
        all.extend(self.refiner.sampled_warning());
        all.extend(self.stacks.slow.refused().map(|refused| Warning::NoStacks {
            pid: refused.pid,
            why: refused.why.clone(),
        }));
        all.extend(self.run.slowdown.clone());
        all.extend(self.records.warnings());
        all.extend(self.modules.notes.iter().cloned().map(Warning::DebugFile));
        all.extend(of_agent(&self.records));
        all.extend(mapped_twice(&self.records.arena));
        all
    }
}

/// Warnings about files with probes that a process has mapped twice.
fn mapped_twice(arena: &Arena) -> impl Iterator<Item = Warning> {
    let probed: BTreeSet<u32> = arena.probes().iter().map(|probe| probe.module).collect();
    let modules = arena.modules();
    let probed = probed.into_iter().filter_map(|at| modules.get(at as usize));
    let twice = probed.filter(|module| module.twice.load(Relaxed) != 0);
    twice.map(|module| Warning::MappedTwice(String::from_utf8_lossy(module.path()).into_owned()))
}

/// Warnings about what the agent counted: intervals, calls and labels that it could not follow or read.
pub fn of_agent(records: &Records) -> Vec<Warning> {
    let control = records.arena.control();
    let count = |counter: &AtomicU64| Some(counter.load(Relaxed)).filter(|&count| count > 0);
    let mut all = Vec::new();
    all.extend(count(&control.shadow_full).map(Warning::NestedTooDeeply));
    all.extend(count(&control.intervals_switched).map(Warning::StacksSwitched));
    let analysis = records.sink.analysis.as_ref();
    let left = analysis.map_or(0, Analysis::intervals_left_early);
    let ends = control.ends_elsewhere.load(Relaxed);
    let is_mistake = left >= LEFT_FEW && ends >= LEFT_FEW;
    all.extend(is_mistake.then_some(Warning::EndedElsewhere { left, ends }));
    all.extend(count(&control.calls_suspended).map(Warning::CallsSuspended));
    all.extend(count(&control.calls_left_unseen).map(Warning::CallsLeftUnseen));
    all.extend(frozen(control));
    all.extend(count(&control.labels_unread).map(Warning::LabelsUnread));
    let is_calibrated = control.probe_outer_ticks_256.load(Relaxed) > 0;
    all.extend((!is_calibrated).then_some(Warning::NotCalibrated));
    all
}

/// Warnings about processes whose code could not be changed from some time on.
fn frozen(control: &Control) -> impl Iterator<Item = Warning> {
    let reasons = [
        (Frozen::Filter, FrozenBy::Filter),
        (Frozen::Runtime, FrozenBy::Runtime),
        (Frozen::WriteExecute, FrozenBy::WriteExecute),
        (Frozen::Unseen, FrozenBy::Unseen),
        (Frozen::Loader, FrozenBy::Loader),
        (Frozen::SharedThread, FrozenBy::SharedThread),
    ];
    let counted = reasons.map(|(why, by)| (control.frozen[why as usize].load(Relaxed), by));
    let frozen = counted.into_iter().filter(|&(processes, _)| processes > 0);
    frozen.map(|(processes, why)| Warning::Frozen {
        processes: processes.into(),
        why,
    })
}
