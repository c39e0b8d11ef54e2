//! What threads run that held intervals up and are called as their program is: the outermost function on their stacks
//! that says what the thread is for.

use std::collections::{BTreeMap, HashMap};

use evenkeel_analysis::findings::plumbing::says_what_runs;

use crate::arena::Arena;
use crate::location::Location;
use crate::modules::Modules;
use crate::profile::records::thread_names::is_unnamed_worker;

/// Threads that are remembered.
const THREADS_MAX: usize = 1024;
/// Functions reported, at most.
const FUNCTIONS_MAX: usize = 3;

/// Their functions.
#[derive(Debug, Default)]
pub struct UnnamedThreads {
    /// By process and thread. None for a thread with a name of its own, and where no function says anything.
    functions: HashMap<(u32, u32), Option<String>>,
}

impl UnnamedThreads {
    /// A thread held intervals up. `active`: the functions on its stack, innermost first.
    pub fn note(
        &mut self,
        thread: (u32, u32),
        active: &[Location],
        arena: &Arena,
        modules: &mut Modules,
    ) {
        if self.functions.contains_key(&thread) || self.functions.len() >= THREADS_MAX {
            return;
        }
        let mut name = |function: &Location| {
            let module = modules.get(arena, function.module).ok()?;
            Some(module.name(function.address)).filter(|name| says_what_runs(name))
        };
        let outermost = || active.iter().rev().find_map(&mut name);
        let function = is_unnamed_worker(thread.0, thread.1).then(outermost);
        self.functions.insert(thread, function.flatten());
    }

    /// The functions, that of most threads first.
    pub fn functions(&self) -> Vec<String> {
        let mut threads: BTreeMap<&str, usize> = BTreeMap::new();
        for function in self.functions.values().flatten() {
            *threads.entry(function).or_default() += 1;
        }
        let mut most_first: Vec<(&str, usize)> = threads.into_iter().collect();
        most_first.sort_by_key(|&(_, threads)| std::cmp::Reverse(threads));
        let names = most_first.into_iter().take(FUNCTIONS_MAX);
        names.map(|(name, _)| name.to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_of_most_threads_comes_first() {
        let of = |tid, function: Option<&str>| ((1, tid), function.map(str::to_owned));
        let known = [
            of(2, Some("flush")),
            of(3, Some("work")),
            of(4, None),
            of(5, Some("work")),
            of(6, Some("purge")),
            of(7, Some("scan")),
        ];
        let threads = UnnamedThreads {
            functions: known.into_iter().collect(),
        };
        assert_eq!(threads.functions(), ["work", "flush", "purge"]);
    }
}
