//! The code of the target's processes, to unwind their stacks.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use evenkeel_attach::{Calls, Programs, StackWords, Stacks};

/// Processes that are remembered, each with an open descriptor; a server may have hundreds.
const PROCESSES_MAX: usize = 128;
/// Time after which the files of a process are read again, if its code is found to lie in none of them.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Processes whose stacks were unwound.
#[derive(Default)]
pub struct Processes {
    programs: Programs,
    by_pid: HashMap<u32, Process>,
}

struct Process {
    stacks: Stacks,
    read_at: Instant,
}

impl Processes {
    /// Knowledge about a process' code.
    ///
    /// # Errors
    /// It has ended, or may not be looked at.
    pub fn stacks(&mut self, pid: u32) -> io::Result<&Stacks> {
        if !self.by_pid.contains_key(&pid) {
            if self.by_pid.len() >= PROCESSES_MAX {
                self.by_pid.clear();
            }
            let stacks = self.programs.stacks_of(pid as i32)?;
            let read_at = Instant::now();
            self.by_pid.insert(pid, Process { stacks, read_at });
        }
        Ok(&self.by_pid[&pid].stacks)
    }

    /// The calls that are active on a stack of a process. None where it has ended, or may not be looked at.
    pub fn calls(&mut self, pid: u32, stack: &StackWords<'_>) -> Calls {
        let Ok(stacks) = self.stacks(pid) else {
            return Calls::default();
        };
        let calls = stacks.calls(stack);
        let read_at = self.by_pid[&pid].read_at;
        if calls.ends_in_unknown && read_at.elapsed() >= READ_AGAIN_AFTER {
            self.forget(pid);
        }
        calls
    }

    /// The process' memory has been replaced, or is gone.
    pub fn forget(&mut self, pid: u32) {
        self.by_pid.remove(&pid);
    }
}
