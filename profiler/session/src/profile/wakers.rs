//! What threads were in that held intervals up: their stacks, copied by the agents, are unwound here, and refinement may open the
//! functions that were active.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::Ordering::*;

use evenkeel_attach::{CodeAddress, Stacks};
use evenkeel_wire::{CopyState, StackCopy};

use crate::arena::Arena;
use crate::location::Location;
use crate::modules::Modules;

/// Processes of which the code is remembered; a server may have hundreds, of the same program.
const PROCESSES_MAX: usize = 8;

/// The code of processes whose stacks were unwound.
#[derive(Default)]
pub struct Wakers {
    stacks: HashMap<u32, Stacks>,
}

impl Wakers {
    /// The functions that were active in what agents have copied since, of those whose calls may be timed.
    pub fn find(&mut self, arena: &Arena, modules: &mut Modules) -> Vec<Location> {
        let mut found = Vec::new();
        for copy in arena.stacks() {
            if copy.state.load(Acquire) == CopyState::Full as u32 {
                found.extend(self.calls(copy));
                copy.state.store(CopyState::Free as u32, Release);
            }
        }
        let functions = found.iter();
        functions
            .filter_map(|call| function_of(call, arena, modules))
            .collect()
    }

    /// Where the calls were made that a copy shows, innermost first.
    fn calls(&mut self, copy: &StackCopy) -> Vec<CodeAddress> {
        let pid = copy.pid.load(Relaxed);
        let len = (copy.len.load(Relaxed) as usize).min(copy.words.len());
        let words: Vec<u64> = copy.words[..len]
            .iter()
            .map(|word| word.load(Relaxed))
            .collect();
        let registers = [0, 1, 2].map(|i: usize| copy.registers[i].load(Relaxed));
        if self.stacks.len() >= PROCESSES_MAX && !self.stacks.contains_key(&pid) {
            self.stacks.clear();
        }
        if let std::collections::hash_map::Entry::Vacant(entry) = self.stacks.entry(pid) {
            let Ok(stacks) = Stacks::of(pid as i32) else {
                return Vec::new();
            };
            entry.insert(stacks);
        }
        let calls = self
            .stacks
            .get_mut(&pid)
            .map(|stacks| stacks.calls(registers, &words));
        calls.unwrap_or_default()
    }
}

/// The function that an address lies in, if its calls may be timed.
fn function_of(call: &CodeAddress, arena: &Arena, modules: &mut Modules) -> Option<Location> {
    let present = arena.modules();
    let index = present.iter().position(|module| {
        match (call.file.build_id.as_deref(), module.build_id()) {
            (Some(wanted), Some(present)) => wanted == present,
            _ => module.path() == call.file.path.as_os_str().as_bytes(),
        }
    })?;
    if !Modules::may_open(arena, index) {
        return None;
    }
    let module = modules.get(arena, index).ok()?;
    let function = module.function_at(call.address)?;
    Some(Location::new(index, function.entry))
}
