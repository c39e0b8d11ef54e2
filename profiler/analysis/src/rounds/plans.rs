//! Which round an interval belongs to, by the generation of the plan under which it began.
//!
//! Intervals with different probes are never mixed. But most changes of a plan have no visible effect: an added call
//! site never runs, a trapped pointer call reveals no callee, or a removed probe was never called. Such a plan
//! **continues** the previous plan's round until the first interval that calls an added probe. A new round begins with
//! that interval. So a change without effect does not discard what the round has measured.

use std::collections::BTreeSet;

use crate::sums::paths::Path;

/// A change of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanChange {
    /// The first generation that has this plan.
    pub generation: u32,
    /// Probes planted.
    pub probes: u32,
    /// An earlier generation whose round this plan continues until an `added` probe is called; `None` if a round begins
    /// at once.
    pub continues: Option<u32>,
    /// Ids of the probes that the plan of that generation did not have, ascending.
    pub added: Vec<u32>,
    /// Calls through pointers are being trapped: intervals are counted, not summed.
    pub trapping: bool,
    /// Ids of the probes that were added or removed since the last plan without traps, ascending. `None` if not known:
    /// the plan traps calls, or the recording is older than this field.
    pub toggled: Option<Vec<u32>>,
}

#[derive(Debug)]
struct Plan {
    first_generation: u32,
    round: usize,
    /// Ids of added probes. The plan shares its round with an earlier plan until one of them is called.
    added: Vec<u32>,
    /// As [`PlanChange::trapping`].
    traps: bool,
    /// As [`PlanChange::toggled`].
    toggled: Option<Vec<u32>>,
}

/// All plans of a run, in order.
#[derive(Debug, Default)]
pub struct Plans {
    plans: Vec<Plan>,
}

impl Plans {
    /// The round that a change continues, if any.
    pub(crate) fn continued(&self, change: &PlanChange) -> Option<usize> {
        self.of(change.continues?)
    }

    /// Adds a change whose intervals belong to `round`. Generations must ascend.
    pub fn add(&mut self, change: PlanChange, round: usize) {
        let mut added = change.added;
        let continued = change.continues.and_then(|since| self.position(since));
        match continued.filter(|&at| self.plans[at].round == round) {
            // The probes that the continued plan added were not called yet, either.
            Some(at) => added.extend(&self.plans[at].added),
            None => added.clear(),
        }
        added.sort_unstable();
        added.dedup();
        self.plans.push(Plan {
            first_generation: change.generation,
            round,
            added,
            traps: change.trapping,
            toggled: change.toggled,
        });
    }

    /// Ids of the probes that were planted under all plans of these rounds; `None` if that is not known.
    pub fn planted_throughout(&self, rounds: &[usize]) -> Option<BTreeSet<u32>> {
        let mut planted = BTreeSet::new();
        let mut throughout: Option<BTreeSet<u32>> = None;
        for plan in self.plans.iter().filter(|plan| !plan.traps) {
            for &probe in plan.toggled.as_ref()? {
                if !planted.remove(&probe) {
                    planted.insert(probe);
                }
            }
            if rounds.contains(&plan.round) {
                throughout = Some(match throughout {
                    Some(before) => &before & &planted,
                    None => planted.clone(),
                });
            }
        }
        throughout
    }

    /// The round of the newest plan.
    pub fn newest(&self) -> Option<usize> {
        self.plans.last().map(|plan| plan.round)
    }

    /// The round of intervals of this generation: that of the last plan that begins at or before it.
    pub fn of(&self, generation: u32) -> Option<usize> {
        Some(self.plans[self.position(generation)?].round)
    }

    /// Index of the first plan that added a probe which is called on one of the paths `met`. These paths are seen for
    /// the first time in the round of `generation`, and only plans that share this round are considered.
    pub fn beginning(&self, generation: u32, met: &[Path]) -> Option<usize> {
        if met.is_empty() {
            return None;
        }
        let last = self.position(generation)?;
        let shared = self.plans[last].round;
        (0..=last).find(|&at| {
            let Plan { round, added, .. } = &self.plans[at];
            let calls = |probe: u32| added.binary_search(&probe).is_ok();
            *round == shared && met.iter().any(|path| path.probe.is_some_and(calls))
        })
    }

    /// Moves the plan with this index to `round`, together with the later plans that continued it.
    pub(crate) fn move_to(&mut self, at: usize, round: usize) {
        let shared = self.plans[at].round;
        let added = std::mem::take(&mut self.plans[at].added);
        for plan in &mut self.plans[at..] {
            if plan.round == shared {
                plan.round = round;
                plan.added
                    .retain(|probe| added.binary_search(probe).is_err());
            }
        }
    }

    fn position(&self, generation: u32) -> Option<usize> {
        self.plans
            .iter()
            .rposition(|plan| plan.first_generation <= generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(generation: u32, continues: Option<u32>, added: &[u32]) -> PlanChange {
        PlanChange {
            generation,
            probes: 0,
            continues,
            added: added.to_vec(),
            ..PlanChange::default()
        }
    }

    fn call(probe: u32) -> Path {
        Path {
            parent: 0,
            probe: Some(probe),
            state: None,
            depth: 1,
            ordinal: 1,
            row: 0,
            children: 0,
            crossings: 0,
        }
    }

    /// All plans but the third have probe 3. The second plan, which continues the first plan's round, adds probe 7. The
    /// last plan adds probe 9.
    #[test]
    fn what_was_planted_throughout_a_round_is_known() {
        let toggles = |generation, continues, toggled: &[u32]| PlanChange {
            toggled: Some(toggled.to_vec()),
            ..change(generation, continues, &[])
        };
        let mut plans = Plans::default();
        plans.add(toggles(1, None, &[3]), 0);
        plans.add(toggles(2, Some(1), &[7]), 0);
        let traps = PlanChange {
            trapping: true,
            ..change(3, None, &[])
        };
        plans.add(traps, 1);
        plans.add(toggles(4, None, &[7]), 2);
        plans.add(toggles(5, None, &[7, 9]), 3);
        let throughout = |rounds: &[usize]| {
            let probes = plans.planted_throughout(rounds);
            probes.map(|probes| probes.into_iter().collect::<Vec<_>>())
        };
        assert_eq!(throughout(&[0]), Some(vec![3]));
        assert_eq!(throughout(&[2]), Some(vec![3]));
        assert_eq!(throughout(&[3]), Some(vec![3, 7, 9]));
        assert_eq!(throughout(&[2, 3]), Some(vec![3]));
        plans.add(change(6, None, &[]), 4);
        assert!(
            plans.planted_throughout(&[3]).is_none(),
            "one of them does not say"
        );
    }

    #[test]
    fn generations_find_their_round() {
        let mut plans = Plans::default();
        plans.add(change(2, None, &[]), 0);
        plans.add(change(4, None, &[]), 1);
        assert_eq!(
            [1, 2, 3, 4, 9].map(|generation| plans.of(generation)),
            [None, Some(0), Some(0), Some(1), Some(1)]
        );
    }

    /// Generation 5 adds probes 7 and 9, generation 6 traps calls, and generation 7 continues 5's round and adds 11. A
    /// call of 9 under generation 5 or 7 begins a round for both; earlier generations keep theirs. A call of 11 begins
    /// one for 7.
    #[test]
    fn a_round_begins_with_the_first_call_of_an_added_probe() {
        let mut plans = Plans::default();
        plans.add(change(1, None, &[]), 0);
        plans.add(change(5, Some(1), &[7, 9]), 0);
        plans.add(change(6, None, &[]), 1);
        let back = change(7, Some(5), &[11]);
        assert_eq!(plans.continued(&back), Some(0));
        plans.add(back, 0);
        assert_eq!(plans.beginning(5, &[call(3)]), None);
        assert_eq!(plans.beginning(4, &[call(9)]), None);
        assert_eq!(plans.beginning(5, &[call(3), call(9)]), Some(1));
        assert_eq!(plans.beginning(7, &[call(9)]), Some(1));
        plans.move_to(1, 2);
        assert_eq!(
            [4, 5, 6, 7].map(|generation| plans.of(generation)),
            [Some(0), Some(2), Some(1), Some(2)]
        );
        assert_eq!(plans.beginning(7, &[call(7)]), None, "it has begun");
        assert_eq!(plans.beginning(7, &[call(11)]), Some(3));
        plans.move_to(3, 3);
        assert_eq!([plans.of(5), plans.of(7)], [Some(2), Some(3)]);
    }
}
