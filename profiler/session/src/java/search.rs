//! Chooses the methods to expand next: those in which slow intervals were seen to spend their time. All levels are
//! expanded at once, since each reload of classes stops the JVM.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::stacks::{Caller, Method, Stacks};
use crate::refine::policy::MUCH;

/// Times that classes are loaded again in a run to open methods, at most.
pub(super) const BATCHES_MAX: u32 = 4;
/// Stacks without which nothing is opened.
const STACKS_FEW: u64 = 20;
/// Stacks that a method must be on: fewer are chance, and one of a slow interval weighs as much as many others.
const STACKS_OF_METHOD: u64 = 3;
/// Stacks that one of the methods of a further step must be on.
const STACKS_OF_STEP: u64 = 5;

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

/// Whether these are worth a further step: the JVM is slow for seconds after it.
pub(super) fn are_worth_a_step(next: &[(Rc<Method>, Caller)]) -> bool {
    next.iter()
        .any(|(_, caller)| caller.share >= MUCH && caller.stacks >= STACKS_OF_STEP)
}

#[cfg(test)]
mod tests {
    use super::super::stacks::tests::message_of;
    use super::*;

    /// `seldom` is on two stacks of ages that are most of the time, `often` on nineteen.
    #[test]
    fn what_few_stacks_show_is_chance() {
        let mut stacks = Stacks::default();
        let names = ["request", "often", "seldom", "leaf"];
        let often = (10, vec![3, 1, 0]);
        let seldom = (1000, vec![3, 2, 0]);
        let all: Vec<_> = std::iter::repeat_n(often, 19)
            .chain([seldom.clone(), seldom.clone()])
            .collect();
        let is_root = |method: &Method| method.name == "request";
        stacks.add(&message_of(&all, &names), is_root);
        let opened = |stacks: &Stacks| -> Vec<String> {
            let next = next(stacks, &BTreeSet::new(), 0.02, 100);
            next.iter().map(|(method, _)| method.name.clone()).collect()
        };
        assert_eq!(opened(&stacks), ["request", "often"]);
        stacks.add(&message_of(&[seldom], &names), is_root);
        assert_eq!(opened(&stacks), ["request", "seldom", "often"]);
    }

    #[test]
    fn a_step_is_made_for_much() {
        let method = Rc::new(Method {
            class_number: 0,
            class: String::new(),
            name: String::new(),
            descriptor: String::new(),
            is_modifiable: true,
        });
        let of = |share, stacks| {
            let caller = Caller {
                share,
                stacks,
                ..Caller::default()
            };
            [(method.clone(), caller)]
        };
        assert!(are_worth_a_step(&of(0.1, 5)));
        assert!(!are_worth_a_step(&of(0.09, 5)) && !are_worth_a_step(&of(0.1, 4)));
    }
}
