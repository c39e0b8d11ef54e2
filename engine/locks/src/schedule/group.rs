//! Groups of waiters that can be granted together.

use super::decision::Decision;
use crate::modes::{Mode, ModeSet};
use crate::queue::Waiter;

/// Picks, in the given order, every waiter that conflicts with none before it, granted or passed over.
pub fn grant_in_order<'a>(
    order: impl Iterator<Item = (usize, &'a Waiter)>,
    picked: &mut Vec<usize>,
) {
    let mut ahead = ModeSet::EMPTY;
    for (place, waiter) in order {
        if waiter.mode.conflicts().intersection(ahead).is_empty() {
            picked.push(place);
        }
        ahead = ahead.with(waiter.mode);
        if ahead.contains(Mode::X) {
            return;
        }
    }
}

/// Picks the waiter at `first` and, in order of arrival, everybody compatible with all picked so far: "if a shared lock
/// is granted, all shared locks on that object are granted" (section 4.6.1).
pub fn share_with(decision: &Decision<'_>, first: usize, picked: &mut Vec<usize>) {
    picked.push(first);
    let mut taken = ModeSet::EMPTY.with(decision.waiter(first).mode);
    if taken.contains(Mode::X) {
        return;
    }
    for (place, waiter) in decision.candidates() {
        if place != first && waiter.mode.conflicts().intersection(taken).is_empty() {
            taken = taken.with(waiter.mode);
            picked.push(place);
        }
    }
}

/// The place of the candidate with the greatest measure, the first to arrive of equals.
pub fn greatest<K: Ord>(decision: &Decision<'_>, measure: impl Fn(&Waiter) -> K) -> usize {
    let key = |(place, waiter): &(usize, &Waiter)| (measure(waiter), std::cmp::Reverse(*place));
    decision
        .candidates()
        .max_by_key(key)
        .expect("a decision has a candidate")
        .0
}

/// The groups worth comparing, those of shareable modes first: all `IS` with all `S`, all `IS` with all `IX`, one
/// `SIX` with all `IS`, and one `X`. Of the `SIX` and `X` requests only the one with the greatest `weight(place)` is
/// a candidate; the first to arrive wins a tie. With `S` and `X` only, the groups are all shared requests, and the
/// heaviest exclusive one.
pub fn compatible_groups(
    decision: &Decision<'_>,
    weight: impl Fn(usize) -> f64,
) -> Vec<Vec<usize>> {
    let mut of_mode: [Vec<usize>; 3] = Default::default();
    let mut solo: [Option<(f64, usize)>; 2] = [None; 2];
    for (place, waiter) in decision.candidates() {
        if waiter.mode.is_shareable() {
            of_mode[waiter.mode as usize].push(place);
            continue;
        }
        let weighed = weight(place);
        let best = &mut solo[usize::from(waiter.mode == Mode::X)];
        if best.is_none_or(|(heaviest, _)| weighed > heaviest) {
            *best = Some((weighed, place));
        }
    }
    let [intent_shared, intent_exclusive, shared] = of_mode;
    let with_intent_shared = |places: &[usize]| [places, &intent_shared].concat();
    let mut groups = Vec::with_capacity(4);
    if !shared.is_empty() || (intent_exclusive.is_empty() && !intent_shared.is_empty()) {
        groups.push(with_intent_shared(&shared));
    }
    if !intent_exclusive.is_empty() {
        groups.push(with_intent_shared(&intent_exclusive));
    }
    if let Some((_, place)) = solo[0] {
        groups.push(with_intent_shared(&[place]));
    }
    groups.extend(solo[1].map(|(_, place)| vec![place]));
    groups
}

/// Picks the heaviest of the compatible groups, where a lone request weighs what a group of it alone weighs.
pub fn pick_heaviest(
    decision: &Decision<'_>,
    weight: impl Fn(&[usize]) -> f64,
    picked: &mut Vec<usize>,
) {
    let mut candidates = decision.candidates();
    if let (Some((only, _)), None) = (candidates.next(), candidates.next()) {
        picked.push(only);
        return;
    }
    let groups = compatible_groups(decision, |place| weight(&[place]));
    picked.extend_from_slice(&best(groups, weight));
}

/// The group with the greatest score, the first of equals.
pub fn best(groups: Vec<Vec<usize>>, score: impl Fn(&[usize]) -> f64) -> Vec<usize> {
    if groups.len() == 1 {
        return groups.into_iter().next().unwrap_or_default();
    }
    let mut best: Option<(f64, Vec<usize>)> = None;
    for group in groups {
        let scored = score(&group);
        if best.as_ref().is_none_or(|(greatest, _)| scored > *greatest) {
            best = Some((scored, group));
        }
    }
    best.map(|(_, group)| group).unwrap_or_default()
}
