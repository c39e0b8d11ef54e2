//! Decides what to open and what to close next: a pure decision over the present profile.
//!
//! The paper's refinement (dissertation 2.3.3.4, algorithm 3) adds the children of the top-k factors and runs again.
//! Here the same choice is made at each look during one run. A function is **opened** by timing the calls it makes. A
//! call through a pointer is first **discovered**, to learn its callees.
//!
//! Score and threshold are the paper's (equations 2.3 and 2.4), with two deviations. A node's contribution is the
//! larger of Var(X)/Var(L) and |Cov(X, L)|/Var(L). So a function that varies little by itself, but always together with
//! the rest, is opened, too. And a contribution must be distinguishable from chance (`patience`).

mod closing;
mod cost;
pub(crate) mod known;
pub(crate) mod patience;
pub(crate) mod policy;
mod step;
mod taken_out;
mod thinning;
mod visit;

use std::collections::HashMap;
use std::time::Instant;

use evenkeel_analysis::profile::Node;

use crate::location::Location;
use crate::plan::Planned;

pub use closing::Closing;
pub(crate) use closing::{to_close, without};
pub(crate) use cost::Cost;
use known::Known;
use patience::Patience;
use policy::MUCH;
use step::Turns;
pub use step::{Candidate, Step};
pub(crate) use thinning::to_thin;
use visit::visit;

/// Limits of a session.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Call sites that run and are timed at a time. Sites that never run cost nothing and are not counted.
    pub probes_max: usize,
    /// Probe cost as a fraction of the latency.
    pub overhead_max: f64,
    /// Contribution below which nothing is opened.
    pub threshold: f64,
    /// Exponent of the specificity.
    pub specificity: u32,
    /// Functions opened in one round.
    pub opened_at_once: usize,
}

/// The session's knowledge apart from the profile.
#[derive(Clone, Copy)]
pub struct State<'a> {
    /// All probes.
    pub probes: &'a [Planned],
    /// Functions whose calls lie directly below the root.
    pub scope: &'a [Location],
    /// Knowledge about functions and probes.
    pub known: &'a Known,
    /// The current time.
    pub now: Instant,
}

impl State<'_> {
    /// Whether a callee of this probe is opened.
    pub(crate) fn has_opened(&self, probe: u32) -> bool {
        let callees = &self.probes[probe as usize].callees;
        callees.iter().any(|&callee| self.known.is_open(callee))
    }
}

/// The steps that follow from a look.
#[derive(Debug, Default)]
pub(crate) struct DueSteps {
    /// The steps to take, best first.
    pub(crate) steps: Vec<Candidate>,
    /// Steps that cost too much.
    pub(crate) too_costly: Vec<Step>,
}

/// The steps to take after a look. `trees` are the trees that it saw; each is judged separately.
pub(crate) fn worth_a_round(
    trees: &[&Node],
    root_height: u32,
    limits: &Limits,
    state: &State<'_>,
    patience: &Patience,
    cost: Cost,
) -> DueSteps {
    let mut worth = DueSteps::default();
    for tree in trees {
        for candidate in candidates(tree, root_height, limits, state) {
            let is_new = |other: &Candidate| other.step != candidate.step;
            if !worth.steps.iter().all(is_new) || !patience.admits(&candidate, limits.threshold) {
                continue;
            }
            if cost.admits(&candidate, limits) {
                worth.steps.push(candidate);
            } else {
                worth.too_costly.push(candidate.step);
            }
        }
    }
    sort(&mut worth.steps);
    worth
}

/// All steps that may be worth a round, best first.
pub fn candidates(
    tree: &Node,
    root_height: u32,
    limits: &Limits,
    state: &State<'_>,
) -> Vec<Candidate> {
    let mut found: HashMap<Step, Candidate> = HashMap::new();
    visit(
        tree,
        state.scope,
        Turns::ONCE,
        state,
        &mut |node, turns, step| {
            let by_share = (node.share.abs(), node.se);
            let by_variance = (node.variance_fraction, node.variance_se);
            let (contribution, se) = if by_variance.0 >= by_share.0 {
                by_variance
            } else {
                by_share
            };
            let height = f64::from(root_height.saturating_sub(node.height));
            let score = height.powi(limits.specificity as i32) * contribution;
            let candidate = found.entry(step).or_insert_with(|| Candidate {
                step,
                name: node.name.clone(),
                within: Vec::new(),
                contribution: 0.0,
                same_work: 0.0,
                se: 0.0,
                score: 0.0,
                calls: 0.0,
                again: state.known.was_taken(step),
            });
            candidate.within.push(turns.call);
            candidate.contribution += contribution;
            candidate.same_work += node.variance_fraction * (1.0 - turns.explained);
            candidate.calls += turns.mean;
            // Times on different paths replace each other, so their errors are not added linearly.
            candidate.se = candidate.se.hypot(se);
            candidate.score += score;
        },
    );
    let mut list: Vec<Candidate> = found
        .into_values()
        .filter_map(|candidate| anew(candidate, state))
        .filter(|c| c.contribution >= limits.threshold)
        .collect();
    sort(&mut list);
    list
}

/// Repeats a step that was taken before, if its time has come. A contribution far above the one it left indicates a
/// load change; the step is then treated as new.
fn anew(mut candidate: Candidate, state: &State<'_>) -> Option<Candidate> {
    let left = state.known.left_by(candidate.step);
    if candidate.again {
        let is_news = left.is_some_and(|left| candidate.contribution - left >= MUCH);
        if !is_news && !state.known.is_due(candidate.step, state.now) {
            return None;
        }
        candidate.again = !is_news;
    }
    // Time of calls that made room is no reason to time them again. The callees of pointer calls, in contrast, may have
    // changed.
    if matches!(candidate.step, Step::Open(_)) {
        candidate.contribution -= left.unwrap_or(0.0);
    }
    Some(candidate)
}

fn sort(list: &mut [Candidate]) {
    list.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.name.cmp(&b.name))
    });
}

#[cfg(test)]
mod tests {
    use evenkeel_analysis::profile::Profile;
    use evenkeel_analysis::sites::Kind;
    use evenkeel_wire::Form;

    use super::known::{Again, Callees, Calls, Pointers};
    use super::*;
    use crate::tests::example::{LIMITS, at, body, example, node, planned};

    fn steps(list: &[Candidate]) -> Vec<Step> {
        list.iter().map(|candidate| candidate.step).collect()
    }

    #[test]
    fn the_best_score_is_opened_first() {
        let (profile, probes) = example();
        let mut known = Known::default();
        known.function_mut(at(0xa)).calls = Calls::Opened;
        known.function_mut(at(0xa)).pointers = Pointers::Unexplored { next: 0 };
        let state = State::of(&probes, &[], &known);
        let list = candidates(&profile.tree, 5, &LIMITS, &state);
        // Scores by hand: body of a (5-0)^2 x 0.2 = 5; b (5-1)^2 x 0.3 = 4.8; p (5-3)^2 x 0.4 = 1.6; c is below 5 %.
        assert_eq!(
            steps(&list),
            [
                Step::DiscoverIn(at(0xa)),
                Step::Open(at(0xb)),
                Step::Discover(2)
            ]
        );
        assert!((list[1].score - 4.8).abs() < 1e-12);
    }

    /// Own time of a may belong to calls that had to make room. It has the best score, (5-0)^2 x 0.2, once its time has
    /// come.
    #[test]
    fn calls_without_room_get_their_turn() {
        let (profile, probes) = example();
        let mut known = Known::default();
        let start = Instant::now();
        known.function_mut(at(0xa)).calls = Calls::PartiallyOpened(Again::first(start));
        let mut state = State::of(&probes, &[], &known);
        state.now = start;
        let early = steps(&candidates(&profile.tree, 5, &LIMITS, &state));
        assert!(!early.contains(&Step::Open(at(0xa))));
        state.now = start + std::time::Duration::from_secs(5);
        let list = candidates(&profile.tree, 5, &LIMITS, &state);
        assert_eq!(list[0].step, Step::Open(at(0xa)));
        // 18 % were already left as own time, or time of these calls, when they made room: the rest is below the
        // threshold.
        known.set_left(Step::Open(at(0xa)), Some(0.18));
        let mut state = State::of(&probes, &[], &known);
        state.now = start + std::time::Duration::from_secs(5);
        let list = candidates(&profile.tree, 5, &LIMITS, &state);
        assert!(!steps(&list).contains(&Step::Open(at(0xa))));
    }

    /// Function pointers in `a` were resolved recently, and may explain 90 % (a does not call b and p itself). If the
    /// last step left 85 %, nothing is to be resolved. If it left 5 %, the load has changed, and the step is treated as
    /// new.
    #[test]
    fn time_that_was_not_there_before_is_looked_into_at_once() {
        let (profile, probes) = example();
        let start = Instant::now();
        let after = |left| {
            let mut known = Known::default();
            let function = known.function_mut(at(0xa));
            function.calls = Calls::Opened;
            function.pointers = Pointers::Explored(Again::first(start));
            known.set_left(Step::DiscoverIn(at(0xa)), left);
            let mut state = State::of(&probes, &[], &known);
            state.now = start;
            let list = candidates(&profile.tree, 5, &LIMITS, &state);
            let found = list
                .into_iter()
                .find(|c| c.step == Step::DiscoverIn(at(0xa)));
            found.map(|candidate| candidate.again)
        };
        assert_eq!(after(None), None, "what was left is not known yet");
        assert_eq!(after(Some(0.85)), None);
        assert_eq!(after(Some(0.05)), Some(false));
    }

    /// With waits, the waits of a's untimed calls are not own time of a: 30 % are waits directly below a.
    #[test]
    fn waits_of_calls_without_room_give_them_their_turn() {
        let (mut profile, probes) = example();
        let a = &mut profile.tree.children[0];
        *a.children.last_mut().unwrap() = body(0.01);
        let mut known = Known::default();
        let start = Instant::now();
        known.function_mut(at(0xa)).calls = Calls::PartiallyOpened(Again::first(start));
        let mut state = State::of(&probes, &[], &known);
        state.now = start + std::time::Duration::from_secs(5);
        let asks = |profile: &Profile| {
            let list = candidates(&profile.tree, 5, &LIMITS, &state);
            steps(&list).contains(&Step::Open(at(0xa)))
        };
        let state_of = |kind| Node { kind, ..body(0.3) };
        let mut preempted = profile.clone();
        preempted.tree.children[0]
            .children
            .push(state_of(Kind::Preempted));
        assert!(!asks(&preempted), "no call is to blame");
        profile.tree.children[0].children.push(state_of(Kind::Lock));
        assert!(asks(&profile));
    }

    /// The probes' cost, 30 % here, is a node below the root. Refinement must not search the root's functions for it.
    #[test]
    fn what_probes_cost_is_no_reason_to_look_into_a_function() {
        let (mut profile, probes) = example();
        profile.tree.children.push(Node {
            kind: Kind::Probe,
            ..body(0.3)
        });
        let mut known = Known::default();
        known.function_mut(at(0xf)).pointers = Pointers::Unexplored { next: 0 };
        let scope = [at(0xf)];
        let state = State::of(&probes, &scope, &known);
        let list = steps(&candidates(&profile.tree, 5, &LIMITS, &state));
        assert!(!list.contains(&Step::DiscoverIn(at(0xf))), "{list:?}");
    }

    /// b is not opened. Below it, another thread calls d while b waits. Both are opened, d for its 30 %.
    #[test]
    fn what_others_did_in_a_wait_is_opened() {
        let (mut profile, mut probes) = example();
        probes.push(planned(Some(at(0xd)), Form::Call));
        let wait = Node {
            kind: Kind::Lock,
            children: vec![node("d", 4, 0.3, 0, Vec::new())],
            ..body(0.3)
        };
        profile.tree.children[0].children[0].children.push(wait);
        let mut known = Known::default();
        known.function_mut(at(0xa)).calls = Calls::Opened;
        let scope = [at(0xa)];
        let state = State::of(&probes, &scope, &known);
        let steps = steps(&candidates(&profile.tree, 5, &LIMITS, &state));
        assert!(steps.contains(&Step::Open(at(0xb))) && steps.contains(&Step::Open(at(0xd))));
    }

    /// Below b another thread works during b's wait, outside of timed calls. A stack showed it in e, so e is opened for
    /// that time.
    #[test]
    fn what_another_thread_was_seen_in_is_opened() {
        let (mut profile, probes) = example();
        let others = Node {
            kind: Kind::Others,
            ..body(0.3)
        };
        let wait = Node {
            kind: Kind::Lock,
            children: vec![others],
            ..body(0.3)
        };
        profile.tree.children[0].children[0].children.push(wait);
        let mut known = Known::default();
        known.function_mut(at(0xa)).calls = Calls::Opened;
        let before = steps(&candidates(
            &profile.tree,
            5,
            &LIMITS,
            &State::of(&probes, &[at(0xa)], &known),
        ));
        assert!(known.add_waker(at(0xe)) && !known.add_waker(at(0xe)));
        let state = State::of(&probes, &[], &known);
        let after = steps(&candidates(&profile.tree, 5, &LIMITS, &state));
        assert!(!before.contains(&Step::Open(at(0xe))) && after.contains(&Step::Open(at(0xe))));
    }

    /// The pointer call p has the callee q, whose entry cannot be hooked: q's calls are timed below p.
    #[test]
    fn a_callee_that_cannot_be_hooked_is_opened_below_the_pointer() {
        let (profile, mut probes) = example();
        probes[2].callees.push(at(0x9));
        let mut known = Known::default();
        known.function_mut(at(0xa)).calls = Calls::Opened;
        known.probe_mut(2).callees = Callees::Sought(Again::first(Instant::now()));
        let state = State::of(&probes, &[], &known);
        let steps = steps(&candidates(&profile.tree, 5, &LIMITS, &state));
        assert!(steps.contains(&Step::Open(at(0x9))));
        assert!(!steps.contains(&Step::Discover(2)), "it was, just now");
    }

    /// The same for a pointer call that is too short to be timed. Its time is a's own, so q's calls are timed below a.
    #[test]
    fn a_callee_that_cannot_be_hooked_is_opened_below_the_caller() {
        let (profile, probes) = example();
        let mut known = Known::default();
        known.function_mut(at(0xa)).calls = Calls::Opened;
        known.function_mut(at(0xa)).through.push(at(0x9));
        let state = State::of(&probes, &[], &known);
        let steps = steps(&candidates(&profile.tree, 5, &LIMITS, &state));
        assert!(steps.contains(&Step::Open(at(0x9))));
    }

    #[test]
    fn a_call_through_the_slot_of_an_import_is_one_of_the_import() {
        let (profile, mut probes) = example();
        probes[2].import = Some("q".into());
        let mut known = Known::default();
        known.function_mut(at(0xa)).calls = Calls::Opened;
        let state = State::of(&probes, &[], &known);
        let steps = steps(&candidates(&profile.tree, 5, &LIMITS, &state));
        assert!(steps.contains(&Step::Follow(2)) && !steps.contains(&Step::Discover(2)));
    }
}
