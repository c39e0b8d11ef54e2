//! Functions of threads that delayed intervals, or on which intervals began and ended that are no single call. The
//! agents copy their stacks, which are unwound here, and refinement may expand the functions that were active.

use std::collections::HashMap;
use std::sync::atomic::Ordering::*;

use evenkeel_attach::{CodeAddress, StackWords};
use evenkeel_wire::{CopiedAt, CopyState, StackCopy};

use super::around::{ActiveCall, around};
use super::unnamed::UnnamedThreads;
use crate::arena::Arena;
use crate::location::Location;
use crate::modules::Modules;
use crate::processes::Processes;
use crate::slow::Files;

/// Number of threads whose interval's beginning is remembered; a thread that ends leaves its entry behind.
const BEGUN_MAX: usize = 256;

/// Results of unwound stacks.
#[derive(Default)]
pub struct Seen {
    /// Functions that were active on threads that held others up, none of whose calls were timed.
    pub wakers: Vec<Location>,
    /// Functions that were active where an interval began or ended, and in which it ran.
    pub around: Vec<Location>,
}

/// Where intervals began.
#[derive(Default)]
pub struct CopiedStacks {
    files: Files,
    /// By process and thread, the last.
    begun: HashMap<(u32, u32), Vec<ActiveCall>>,
    /// Whether it was ever seen in which functions an interval runs.
    has_around: bool,
    pub unnamed: UnnamedThreads,
}

impl CopiedStacks {
    /// Stacks that agents have copied since.
    pub fn take(
        &mut self,
        arena: &Arena,
        modules: &mut Modules,
        processes: &mut Processes,
    ) -> Seen {
        let mut seen = Seen::default();
        let full = |copy: &&StackCopy| copy.state.load(Acquire) == CopyState::Full as u32;
        // Where an interval began is known before where it ended.
        let mut copies: Vec<&StackCopy> = arena.stacks().iter().filter(full).collect();
        copies.sort_by_key(|copy| copy.at.load(Relaxed) == CopiedAt::End as u32);
        for copy in copies {
            let calls = calls(copy, processes);
            let (at, pid, tid) = (
                copy.at.load(Relaxed),
                copy.pid.load(Relaxed),
                copy.tid.load(Relaxed),
            );
            copy.state.store(CopyState::Free as u32, Release);
            let calls = calls.iter();
            let active: Vec<ActiveCall> = calls
                .filter_map(|call| {
                    let function = self.files.function(call, arena, modules)?;
                    let at = call.address;
                    Some(ActiveCall { function, at })
                })
                .collect();
            if at == CopiedAt::Release as u32 {
                let functions: Vec<Location> = active.iter().map(|call| call.function).collect();
                self.unnamed.note((pid, tid), &functions, arena, modules);
                seen.wakers.extend(functions);
            } else if at == CopiedAt::Begin as u32 {
                if self.begun.len() >= BEGUN_MAX {
                    self.begun.clear();
                }
                self.begun.insert((pid, tid), active);
            } else {
                // Of this interval or another on the thread; none where it began on another thread.
                let begun = self.begun.get(&(pid, tid));
                let around = around(begun.map_or(&[], Vec::as_slice), &active);
                self.has_around |= !around.is_empty();
                seen.around.extend(around);
            }
        }
        seen
    }

    /// Whether any have shown in which functions an interval runs.
    pub fn have_shown_around(&self) -> bool {
        self.has_around
    }
}

/// Where the calls were made that a copy shows, innermost first.
fn calls(copy: &StackCopy, processes: &mut Processes) -> Vec<CodeAddress> {
    let len = (copy.len.load(Relaxed) as usize).min(copy.words.len());
    let words = copy.words[..len].iter();
    let words: Vec<u64> = words.map(|word| word.load(Relaxed)).collect();
    let stack = StackWords {
        registers: [0, 1, 2].map(|i: usize| copy.registers[i].load(Relaxed)),
        words: &words,
        kept: &[],
        slots: &[],
    };
    processes.calls(copy.pid.load(Relaxed), &stack).calls
}
