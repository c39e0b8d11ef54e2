//! Chooses the methods to expand next: those in which slow intervals were seen to spend their time. All levels are
//! expanded at once, since each reload of classes stops the JVM.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::stacks::{Caller, Method, Stacks};

/// Times that classes are loaded again in a run to open methods, at most.
pub(super) const BATCHES_MAX: u32 = 4;
/// Stacks without which nothing is opened.
const STACKS_FEW: u64 = 20;
/// Stacks that a method must be on: fewer are chance, and one of a slow interval weighs as much as many others.
const STACKS_OF_METHOD: u64 = 3;

/// Classes that are not opened: the probes' own, and what switches virtual threads from one thread of the system to
/// another.
const NEVER_OPENED: [&str; 6] = [
    "java/lang/EvenkeelProbe",
    "java/lang/VirtualThread",
    "java/lang/ThreadBuilders",
    "java/lang/BaseVirtualThread",
    "jdk/internal/vm/",
    "jdk/internal/misc/",
];

/// Whether calls of methods of this class may be timed in it.
pub(super) fn may_open(class: &str) -> bool {
    !NEVER_OPENED.iter().any(|never| class.starts_with(never))
}

/// Whether so many stacks were seen that they say which methods are worth it.
pub(super) fn are_enough(stacks: &Stacks) -> bool {
    stacks.seen >= STACKS_FEW
}

/// The methods to open, most time first: those with at least this share that are not open yet, as long as there is
/// `room` for probes.
pub(super) fn next(
    stacks: &Stacks,
    opened: &BTreeSet<Rc<Method>>,
    share_min: f64,
    room: usize,
) -> Vec<(Rc<Method>, Caller)> {
    if !are_enough(stacks) {
        return Vec::new();
    }
    let mut left = room;
    let mut fits = |(_, caller): &(Rc<Method>, Caller)| {
        let needed = caller.calls.len();
        let fits = needed <= left;
        if fits {
            left -= needed;
        }
        fits
    };
    stacks
        .callers()
        .into_iter()
        .filter(|(method, caller)| {
            caller.share >= share_min
                && caller.stacks >= STACKS_OF_METHOD
                && method.is_modifiable
                && may_open(&method.class)
                && !opened.contains(method)
        })
        .filter(|found| fits(found))
        .collect()
}
