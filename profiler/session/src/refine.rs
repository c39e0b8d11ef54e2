//! What to open and what to close next: a pure decision over the present profile.
//!
//! The paper's refinement (dissertation 2.3.3.4, algorithm 3) adds the children of the top-k factors and runs again.
//! Here the same choice is made every second of one run. A function is **opened** by timing the calls it makes; a call
//! through a pointer is first **discovered**, to learn whom it calls.
//!
//! Score and threshold are the paper's (equations 2.3 and 2.4). What is deviated from, and why: a node's contribution is
//! the larger of Var(X)/Var(L) and |Cov(X, L)|/Var(L), so that a function which varies little by itself but always
//! together with the rest is opened, too.

mod closing;
#[cfg(test)]
mod example;

use std::collections::{HashMap, HashSet};

use evenkeel_analysis::profile::{Node, Profile};
use evenkeel_analysis::sites::Kind;
use evenkeel_wire::Form;

use crate::plan::{Function, Planned};

pub use closing::{Closing, to_close};

/// Limits of a session.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Probes planted at a time.
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

/// What the session knows beside the profile.
#[derive(Clone, Copy)]
pub struct State<'a> {
    /// All probes.
    pub probes: &'a [Planned],
    /// Functions whose calls lie directly below the root.
    pub scope: &'a [Function],
    /// Functions whose calls are timed.
    pub opened: &'a HashSet<Function>,
    /// Of them, those with calls that were never timed: there was no room for all at once.
    pub partly: &'a HashSet<Function>,
    /// Functions that have no calls to time, or none that may be.
    pub barren: &'a HashSet<Function>,
    /// Functions with calls through short pointers that were not yet discovered.
    pub pointers: &'a HashSet<Function>,
    /// Probes of pointers whose callees are known, or were looked for.
    pub discovered: &'a HashSet<u32>,
    /// Calls of imports whose definition was looked for and is not to be opened.
    pub closed_imports: &'a HashSet<u32>,
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Time the calls that a function makes.
    Open(Function),
    /// Learn the callees of the short pointer calls of a function.
    DiscoverIn(Function),
    /// Learn the callees of a timed pointer call.
    Discover(u32),
    /// Find the definition of an import, to open it.
    Follow(u32),
}

/// A step with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// What to do.
    pub step: Step,
    /// Name of the function it explains.
    pub name: String,
    /// Fraction of Var(L) that it may explain.
    pub contribution: f64,
    /// specificity x contribution.
    pub score: f64,
}

/// Everything worth a step, best first.
pub fn candidates(
    profile: &Profile,
    root_height: u32,
    limits: &Limits,
    state: &State<'_>,
) -> Vec<Candidate> {
    let mut found: HashMap<Step, Candidate> = HashMap::new();
    visit(&profile.tree, state.scope, state, &mut |node, step| {
        let contribution = node.variance_fraction.max(node.share.abs());
        let height = f64::from(root_height.saturating_sub(node.height));
        let score = height.powi(limits.specificity as i32) * contribution;
        let candidate = found.entry(step).or_insert_with(|| Candidate {
            step,
            name: node.name.clone(),
            contribution: 0.0,
            score: 0.0,
        });
        candidate.contribution += contribution;
        candidate.score += score;
    });
    let mut list: Vec<Candidate> = found
        .into_values()
        .filter(|c| c.contribution >= limits.threshold)
        .collect();
    list.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.name.cmp(&b.name))
    });
    list
}

/// Calls `found` for each node that some step would explain. `holders`: the functions whose calls may lie directly below a
/// node that is no call itself.
fn visit(
    node: &Node,
    holders: &[Function],
    state: &State<'_>,
    found: &mut impl FnMut(&Node, Step),
) {
    if node.kind == Kind::Client {
        return; // think time has nothing to open
    }
    if node.kind == Kind::Body {
        discover_in(node, holders, state, found);
        open_the_rest(node, holders, state, found);
        return;
    }
    let planned = node.probe.and_then(|id| state.probes.get(id as usize));
    let callee = planned.and_then(|planned| planned.callee);
    let inside = if node.probe.is_some() {
        callee.as_slice()
    } else {
        holders
    };
    let is_open = match (node.probe, planned) {
        (Some(id), Some(planned)) => step_of(node, id, planned, state, found),
        _ => true,
    };
    for child in &node.children {
        if is_state(child) {
            // A wait of no timed call is one of a call that is not timed.
            if is_open && child.kind != Kind::Preempted {
                discover_in(child, inside, state, found);
                open_the_rest(child, inside, state, found);
            }
            // What others did while this one waited: none of this one's calls.
            visit(child, &[], state, found);
        } else if is_open {
            // A call that none of these functions makes itself came through one of their pointers.
            if let Some(planned) = child.probe.and_then(|id| state.probes.get(id as usize))
                && planned.form != Form::Entry
                && !inside.contains(&planned.holder)
            {
                discover_in(child, inside, state, found);
            }
            visit(child, inside, state, found);
        }
    }
    // A function with short pointer calls only has no timed call, hence no body of its own in the tree.
    if is_open && node.children.is_empty() {
        discover_in(node, inside, state, found);
        open_the_rest(node, inside, state, found);
    }
}

/// The step that would explain a call, if there is one; whether the calls that it makes are timed.
fn step_of(
    node: &Node,
    id: u32,
    planned: &Planned,
    state: &State<'_>,
    found: &mut impl FnMut(&Node, Step),
) -> bool {
    let through_pointer = matches!(
        planned.form,
        Form::IndirectCall | Form::ShortIndirectCall | Form::IndirectJump
    );
    match planned.callee {
        Some(function) if state.opened.contains(&function) => return true,
        Some(function) if state.barren.contains(&function) => {}
        Some(function) => found(node, Step::Open(function)),
        None if through_pointer => {
            if !state.discovered.contains(&id) {
                found(node, Step::Discover(id));
            }
            return true;
        }
        None if node.kind == Kind::Call && !state.closed_imports.contains(&id) => {
            found(node, Step::Follow(id));
        }
        None => {}
    }
    false
}

/// Whether a node is no call but what a thread did, or did not do, as its waits and the work of others in them.
fn is_state(node: &Node) -> bool {
    node.probe.is_none() && node.kind != Kind::Body
}

/// Short calls through pointers in these functions may be what the node's time goes to.
fn discover_in(
    node: &Node,
    functions: &[Function],
    state: &State<'_>,
    found: &mut impl FnMut(&Node, Step),
) {
    for function in functions
        .iter()
        .filter(|function| state.pointers.contains(function))
    {
        found(node, Step::DiscoverIn(*function));
    }
}

/// Calls that had no room yet may be what the time of these functions' own goes to.
fn open_the_rest(
    node: &Node,
    functions: &[Function],
    state: &State<'_>,
    found: &mut impl FnMut(&Node, Step),
) {
    for function in functions
        .iter()
        .filter(|function| state.partly.contains(function))
    {
        found(node, Step::Open(*function));
    }
}

#[cfg(test)]
mod tests {
    use super::example::{LIMITS, body, example, node, nothing_known, planned};
    use super::*;

    #[test]
    fn the_best_score_is_opened_first() {
        let (profile, probes) = example();
        let opened = HashSet::from([(0, 0xa)]);
        let pointers = HashSet::from([(0, 0xa)]);
        let state = State {
            opened: &opened,
            pointers: &pointers,
            ..nothing_known(&probes)
        };
        let list = candidates(&profile, 5, &LIMITS, &state);
        // Scores by hand: body of a (5-0)^2 x 0.2 = 5; b (5-1)^2 x 0.3 = 4.8; p (5-3)^2 x 0.4 = 1.6; c is below 5 %.
        let steps: Vec<Step> = list.iter().map(|candidate| candidate.step).collect();
        assert_eq!(
            steps,
            [
                Step::DiscoverIn((0, 0xa)),
                Step::Open((0, 0xb)),
                Step::Discover(2)
            ]
        );
        assert!((list[1].score - 4.8).abs() < 1e-12);
    }

    /// The time of a's own may be that of calls for which there was no room: (5-0)^2 x 0.2, the best score.
    #[test]
    fn calls_without_room_get_their_turn() {
        let (profile, probes) = example();
        let opened = HashSet::from([(0, 0xa)]);
        let state = State {
            opened: &opened,
            partly: &opened,
            ..nothing_known(&probes)
        };
        let list = candidates(&profile, 5, &LIMITS, &state);
        assert_eq!(list[0].step, Step::Open((0, 0xa)));
    }

    /// With edges, what a's untimed calls wait for is no time of a's own: 30 % in waits, directly below it.
    #[test]
    fn waits_of_calls_without_room_give_them_their_turn() {
        let (mut profile, probes) = example();
        let a = &mut profile.tree.children[0];
        *a.children.last_mut().unwrap() = body(0.01);
        let opened = HashSet::from([(0, 0xa)]);
        let state = State {
            opened: &opened,
            partly: &opened,
            ..nothing_known(&probes)
        };
        let asks = |profile: &Profile| {
            let list = candidates(profile, 5, &LIMITS, &state);
            let mut steps = list.iter().map(|candidate| candidate.step);
            steps.any(|step| step == Step::Open((0, 0xa)))
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

    /// Below b, which nobody opened, another thread's call of d while b waited: both are worth opening, d for its 30 %.
    #[test]
    fn what_others_did_in_a_wait_is_opened() {
        let (mut profile, mut probes) = example();
        probes.push(planned(Some((0, 0xd)), Form::Call));
        let wait = Node {
            kind: Kind::Lock,
            children: vec![node("d", 4, 0.3, 0, Vec::new())],
            ..body(0.3)
        };
        profile.tree.children[0].children[0].children.push(wait);
        let opened = HashSet::from([(0, 0xa)]);
        let state = State {
            scope: &[(0, 0xa)],
            opened: &opened,
            pointers: &opened,
            ..nothing_known(&probes)
        };
        let list = candidates(&profile, 5, &LIMITS, &state);
        let steps: Vec<Step> = list.iter().map(|candidate| candidate.step).collect();
        assert!(steps.contains(&Step::Open((0, 0xb))) && steps.contains(&Step::Open((0, 0xd))));
    }
}
