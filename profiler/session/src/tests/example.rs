//! The profile that the tests of refinement decide over.

use std::time::Instant;

use evenkeel_analysis::profile::{Node, Profile};
use evenkeel_analysis::sites::Kind;
use evenkeel_wire::{Form, Role, Wanted};

use crate::location::Location;
use crate::plan::Planned;
use crate::refine::known::Known;
use crate::refine::{Limits, State};

/// A function of the only module.
pub(crate) fn at(address: u64) -> Location {
    Location::new(0, address)
}

impl<'a> State<'a> {
    /// The state now.
    pub(crate) fn of(probes: &'a [Planned], scope: &'a [Location], known: &'a Known) -> State<'a> {
        State {
            probes,
            scope,
            known,
            now: Instant::now(),
        }
    }
}

pub(crate) fn planned(callee: Option<Location>, form: Form) -> Planned {
    Planned {
        callees: callee.into_iter().collect(),
        import: None,
        place: Location::new(0, 0),
        holder: at(0),
        form,
        role: Role::Inner,
        wanted: Wanted::On,
        is_fixed: false,
        was_taken_out: false,
    }
}

pub(crate) fn node(
    name: &str,
    probe: u32,
    variance: f64,
    height: u32,
    children: Vec<Node>,
) -> Node {
    Node {
        name: name.into(),
        probe: Some(probe),
        variance_fraction: variance,
        share: variance,
        calls_mean: 1.0,
        height,
        children,
        ..Node::default()
    }
}

pub(crate) fn body(variance: f64) -> Node {
    Node {
        name: "body".into(),
        kind: Kind::Body,
        variance_fraction: variance,
        share: variance,
        ..Node::default()
    }
}

pub(crate) const LIMITS: Limits = Limits {
    probes_max: 4,
    overhead_max: 0.03,
    threshold: 0.05,
    specificity: 2,
    opened_at_once: 3,
};

/// root > a (opened) > b, pointer; root > c; a's body holds a short pointer.
pub(crate) fn example() -> (Profile, Vec<Planned>) {
    let a = node(
        "a",
        0,
        0.9,
        4,
        vec![
            node("b", 1, 0.3, 1, vec![]),
            node("p", 2, 0.4, 3, vec![]),
            body(0.2),
        ],
    );
    let c = node("c", 3, 0.02, 0, vec![]);
    let tree = Node {
        children: vec![a, c, body(0.01)],
        ..Node::default()
    };
    let probes = vec![
        planned(Some(at(0xa)), Form::Call),
        planned(Some(at(0xb)), Form::Call),
        planned(None, Form::IndirectCall),
        planned(Some(at(0xc)), Form::Call),
    ];
    let mut profile = Profile {
        tree,
        mean_ns: 1000.0,
        ..Profile::default()
    };
    profile.overhead.probe_ns = 10.0;
    profile.overhead.estimated_fraction = 0.039;
    (profile, probes)
}
