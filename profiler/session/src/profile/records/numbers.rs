//! Converts thread numbers in the kernel's events to the agents' numbers. For a target in another pid namespace (a
//! container), the kernel reports the numbers of the session's namespace.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use evenkeel_attach::namespace;

/// Time for which a number is taken to be the same thread's. The kernel reuses a number only after tens of thousands
/// of others.
const BELIEVED: Duration = Duration::from_secs(2);
/// Threads remembered.
const REMEMBERED_MAX: usize = 1 << 16;

/// Numbers looked up so far.
#[derive(Debug, Default)]
pub struct Numbers {
    known: HashMap<u32, (Option<u32>, Option<Instant>)>,
}

impl Numbers {
    /// The number of a thread in the target's namespace; `None` for one that is not in there. One that has ended is
    /// remembered.
    pub fn inner(&mut self, outer: u32) -> Option<u32> {
        if !namespace::is_entered() {
            return Some(outer);
        }
        if self.known.len() > REMEMBERED_MAX {
            self.known.clear();
        }
        let (number, since) = self.known.entry(outer).or_default();
        if since.is_none_or(|since| since.elapsed() > BELIEVED) {
            if Path::new(&format!("/proc/{outer}")).exists() {
                *number = namespace::inner(outer as i32).map(|inner| inner as u32);
            }
            *since = Some(Instant::now());
        }
        *number
    }
}
