//! Filters of system calls (seccomp(2)) that processes of the target install unnoticed by their agents, seen from
//! outside.

use std::collections::HashMap;
use std::sync::atomic::Ordering::*;

use evenkeel_attach::{namespace, process};
use evenkeel_wire::{Frozen, RingState};

use crate::arena::Arena;

/// Threads whose processes are looked at in one pass; the others follow.
const LOOKED_AT: usize = 16;

/// The filters of each process when it was first examined.
#[derive(Debug, Default)]
pub struct Filters {
    /// Filters that were there before the program ran are its surroundings' (a container), and let through what is
    /// tried at start.
    at_first: HashMap<u32, u32>,
    /// The ring at which the next pass begins.
    next: usize,
    /// Processes that installed one since.
    installed: u32,
}

impl Filters {
    /// Remembers what a process has that is about to be attached to. Whatever it has then is judged; what comes later
    /// may be more.
    pub fn before(&mut self, pid: i32) {
        if let Some(now) = filters(pid) {
            self.at_first.insert(pid as u32, now);
        }
    }

    /// Lets all agents be silent once a process has a filter that its agent does not know of.
    pub fn watch(&mut self, arena: &Arena) {
        self.watch_some(arena, LOOKED_AT);
    }

    /// Examines all threads, before the hooks go out: an agent that did not know about a filter would end its process
    /// by removing them.
    pub fn watch_all(&mut self, arena: &Arena) {
        self.watch_some(arena, usize::MAX);
    }

    fn watch_some(&mut self, arena: &Arena, most: usize) {
        if !self.look(arena, most) {
            return;
        }
        let control = arena.control();
        let known = [Frozen::Filter, Frozen::Unseen];
        let known = known.map(|why| control.frozen[why as usize].load(Relaxed));
        if known.iter().sum::<u32>() == 0 && control.filter_seen.swap(1, Relaxed) == 0 {
            control.frozen[Frozen::Filter as usize].fetch_add(1, Relaxed);
        }
    }

    /// Examines this many threads' processes. True if one has installed a filter for the first time.
    fn look(&mut self, arena: &Arena, most: usize) -> bool {
        let rings = arena.control().rings.load(Relaxed) as usize;
        let before = self.installed;
        let (mut passed, mut looked_at) = (0, 0);
        while passed < rings && looked_at < most {
            let ring = arena.ring((self.next + passed) % rings);
            passed += 1;
            // Most are nobody's yet, and cost nothing.
            if ring.state.load(Acquire) != RingState::Live as u32 {
                continue;
            }
            looked_at += 1;
            let pid = ring.pid.load(Relaxed);
            let Some(now) = filters(pid as i32) else {
                continue;
            };
            let first = *self.at_first.entry(pid).or_insert(now);
            if now > first {
                self.at_first.insert(pid, now);
                self.installed += 1;
            }
        }
        self.next = (self.next + passed) % rings.max(1);
        self.installed > before
    }
}

fn filters(pid: i32) -> Option<u32> {
    counted(&process::read(&namespace::file(pid, "status")).ok()?)
}

/// How many filters a process has; where the kernel does not count them (before 5.9), whether it has any. Both lines
/// are of one look: a process that ends between two would seem to have another number of filters.
fn counted(status: &str) -> Option<u32> {
    let number = |name: &str| {
        let mut lines = status.lines();
        lines.find_map(|line| {
            line.strip_prefix(name)?
                .strip_prefix(':')?
                .trim()
                .parse()
                .ok()
        })
    };
    number("Seccomp_filters").or_else(|| number("Seccomp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_counted_where_the_kernel_counts_them() {
        assert_eq!(counted("Seccomp:\t2\nSeccomp_filters:\t1\n"), Some(1));
        assert_eq!(counted("Seccomp:\t2\n"), Some(2));
        assert_eq!(counted("Name:\tx\n"), None);
    }

    /// Processes end all the time while they are looked at.
    #[test]
    fn a_process_that_ends_installs_no_filter() {
        let plain = filters(std::process::id() as i32).expect("its own status");
        for _ in 0..200 {
            let mut child = std::process::Command::new("true").spawn().expect("true");
            let pid = child.id() as i32;
            while child.try_wait().expect("a child").is_none() {
                let now = filters(pid);
                assert!(now.is_none_or(|now| now == plain), "{now:?} of {plain}");
            }
        }
    }
}
