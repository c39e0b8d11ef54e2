//! From looks at a profile to what is timed.

use evenkeel_analysis::analysis::Snapshot;
use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_analysis::profile::{Node, Profile};
use evenkeel_intervals::interval::resolve;
use evenkeel_intervals::spec::IntervalSpec;
use evenkeel_wire::Wanted;

use super::example::{LIMITS, node};
use super::program::Announced;
use crate::profile::Planting;
use crate::profile::refiner::{Action, Code, Moment, Refiner};
use crate::refine::known::Calls;
use crate::refine::{Limits, Step};

/// Intervals of `main>caller`, with the calls that `caller` makes timed.
fn begun(program: &mut Announced, planting: Planting, limits: Limits) -> Refiner {
    let spec: IntervalSpec = "main>caller".parse().unwrap();
    let interval = resolve(&spec, &program.module).unwrap();
    let mut refiner = Refiner::new(planting, limits);
    let begun = refiner.begin(program.index, &interval, &[], &mut code(program));
    begun.unwrap();
    refiner
}

fn code(program: &mut Announced) -> Code<'_> {
    Code {
        arena: &mut program.arena,
        modules: &mut program.modules,
    }
}

/// A look at 1,000 intervals in which the call of `callee` explains this share, and runs so often.
fn look(refiner: &Refiner, share: f64, calls: f64) -> Snapshot {
    let mut probes = refiner.plan.probes().iter();
    let inner = probes.position(|planned| planned.role == evenkeel_wire::Role::Inner);
    let mut callee = node("callee", inner.unwrap() as u32, share, 0, Vec::new());
    callee.calls_mean = calls;
    let tree = Node {
        children: vec![callee],
        ..Node::default()
    };
    let mut profile = Profile {
        tree: tree.clone(),
        mean_ns: 1000.0,
        ..Profile::default()
    };
    profile.overhead.probe_ns = 10.0;
    profile.overhead.estimated_fraction = calls * 0.01;
    Snapshot {
        profile,
        recent: tree.clone(),
        round: tree,
        intervals_by_round: vec![1000],
        ..Snapshot::default()
    }
}

const MOMENT: Moment = Moment {
    intervals: 1000,
    paths: 2,
    is_late: false,
    measured: None,
    passed_ns: 0.0,
};

#[test]
fn what_explains_the_variance_is_opened_and_then_there_is_nothing_left() {
    let mut program = Announced::new();
    let mut refiner = begun(&mut program, Planting::Refine, LIMITS);
    let callee = program.function("callee");
    let seen = look(&refiner, 0.9, 1.0);
    let decision = refiner.decide(&seen, &MOMENT);
    let [Action::Take(step)] = &decision.actions[..] else {
        panic!("{decision:?}");
    };
    assert_eq!(step.step, Step::Open(callee));
    assert_eq!(decision.news.as_ref().map(Vec::len), Some(1));
    refiner.carry_out(decision, &mut code(&mut program));
    assert_ne!(refiner.known.function(callee).calls, Calls::NotOpened);
    let decision = refiner.decide(&seen, &MOMENT);
    assert!(decision.actions.is_empty(), "{decision:?}");
}

/// 400 calls at a hundredth of the latency each cost more than 3 %, for a share of zero.
#[test]
fn what_costs_much_and_explains_little_is_taken_out() {
    let mut program = Announced::new();
    let mut refiner = begun(&mut program, Planting::Refine, LIMITS);
    let seen = look(&refiner, 0.0, 400.0);
    let decision = refiner.decide(&seen, &MOMENT);
    let [Action::Close(id, _)] = decision.actions[..] else {
        panic!("{decision:?}");
    };
    refiner.carry_out(decision, &mut code(&mut program));
    assert_eq!(refiner.plan.probes()[id as usize].wanted, Wanted::Off);
    let unpatched = refiner.plan.unpatched(&program.arena);
    assert!(
        unpatched
            .iter()
            .any(|noted| noted.reason == NotTimed::CalledTooOften)
    );
}

/// Calls of a few nanoseconds, 300 in an interval of a microsecond, explain everything. Where unrecorded intervals
/// take 0.2 ns longer for each call (6 %, with 3 % allowed), the probes are removed. Where unrecorded ones cost
/// nothing, fewer intervals are recorded instead.
#[test]
fn tiny_calls_are_taken_out_whose_hooks_alone_cost_too_much() {
    let mut program = Announced::new();
    let mut refiner = begun(&mut program, Planting::Refine, LIMITS);
    let mut seen = look(&refiner, 0.9, 300.0);
    seen.profile.overhead.probe_ns = 0.5;
    seen.profile.overhead.estimated_fraction = 0.15;
    let mut at = |passed_ns| {
        refiner.decide(
            &seen,
            &Moment {
                passed_ns,
                ..MOMENT
            },
        )
    };
    let is_closing = |action: &Action| matches!(action, Action::Close(..));
    assert!(!at(0.0).actions.iter().any(is_closing));
    let decision = at(0.2);
    assert!(decision.actions.iter().any(is_closing), "{decision:?}");
    refiner.carry_out(decision, &mut code(&mut program));
    let unpatched = refiner.plan.unpatched(&program.arena);
    let mut reasons = unpatched.iter().map(|noted| &noted.reason);
    assert!(reasons.any(|reason| *reason == NotTimed::CalledTooOften));
}

#[test]
fn a_person_chooses_among_the_steps() {
    let mut program = Announced::new();
    let mut refiner = begun(&mut program, Planting::Manual, LIMITS);
    let callee = program.function("callee");
    let seen = look(&refiner, 0.9, 1.0);
    let decision = refiner.decide(&seen, &MOMENT);
    assert!(decision.actions.is_empty(), "{decision:?}");
    refiner.carry_out(decision, &mut code(&mut program));
    assert!(refiner.search.is_offering());
    assert_eq!(refiner.known.function(callee).calls, Calls::NotOpened);
    refiner.take_chosen(&[0], &mut code(&mut program));
    assert!(!refiner.search.is_offering());
    assert_ne!(refiner.known.function(callee).calls, Calls::NotOpened);
}

#[test]
fn a_fixed_plan_stays_as_it_is() {
    let mut program = Announced::new();
    let mut refiner = begun(&mut program, Planting::Every, LIMITS);
    let seen = look(&refiner, 0.9, 400.0);
    let decision = refiner.decide(&seen, &MOMENT);
    assert!(decision.actions.is_empty() && decision.offered.is_empty());
}
