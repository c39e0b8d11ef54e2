//! Where in a tree there is something to open: each node that some step would explain, and how often an interval comes by it.

use evenkeel_analysis::profile::Node;
use evenkeel_analysis::sites::Kind;
use evenkeel_wire::Form;

use super::State;
use super::known::{Callees, Calls, Pointers};
use super::step::{Step, Turns};
use crate::location::Location;
use crate::plan::Planned;
use evenkeel_intervals::calling_back;

/// Calls `found` for each node that some step would explain. `holders`: the functions whose calls may lie directly below a
/// node that is no call itself. `turns`: of the call in which the node lies.
pub(super) fn visit(
    node: &Node,
    holders: &[Location],
    turns: Turns,
    state: &State<'_>,
    found: &mut impl FnMut(&Node, Turns, Step),
) {
    if node.kind == Kind::Client {
        return; // think time has nothing to open
    }
    if node.kind == Kind::Body {
        look_into_own_time(node, holders, turns, state, found);
        return;
    }
    let planned = node.probe.and_then(|id| state.probes.get(id as usize));
    let callees = planned.map_or(&[][..], |planned| &planned.callees);
    let callees = if node.probe.is_some() {
        callees
    } else {
        holders
    };
    let turns = match node.probe {
        Some(_) => Turns::of(node),
        None => turns,
    };
    let inside = state.known.with_called_through(callees);
    let is_open = match (node.probe, planned) {
        (Some(id), Some(planned)) => step_of(node, id, planned, state, found),
        _ => true,
    };
    for child in &node.children {
        if is_state(child) {
            // A wait of no timed call is one of a call that is not timed. What probes cost, and what passes in a queue or while the
            // thread is busy for others, is no function's time.
            let is_no_call = matches!(
                child.kind,
                Kind::Preempted | Kind::Probe | Kind::Queued | Kind::Turn
            );
            if is_open && !is_no_call {
                look_into_own_time(child, &inside, turns, state, found);
            }
            // What others did while this one waited: none of this one's calls, but perhaps of functions that they were seen in.
            let theirs: &[Location] = match child.kind {
                Kind::Others | Kind::Helper => state.known.wakers(),
                _ => &[],
            };
            visit(child, theirs, turns, state, found);
        } else if is_open {
            // A call that none of these functions makes itself came through one of their pointers.
            if let Some(planned) = child.probe.and_then(|id| state.probes.get(id as usize))
                && planned.form != Form::Entry
                && !is_state(node)
                && !inside.contains(&planned.holder)
            {
                discover_in(child, &inside, turns, state, found);
            }
            visit(child, &inside, turns, state, found);
        }
    }
    // A function of which no timed call has run has no body of its own in the tree.
    if is_open && node.children.is_empty() {
        look_into_own_time(node, &inside, turns, state, found);
    }
}

/// The step that would explain a call, if there is one; whether the calls that it makes are timed.
fn step_of(
    node: &Node,
    id: u32,
    planned: &Planned,
    state: &State<'_>,
    found: &mut impl FnMut(&Node, Turns, Step),
) -> bool {
    let turns = Turns::of(node);
    let mut is_open = false;
    for &callee in &planned.callees {
        match state.known.function(callee).calls {
            Calls::Opened | Calls::OnPath | Calls::PartiallyOpened(_) => is_open = true,
            Calls::NotOpened => found(node, turns, Step::Open(callee)),
            Calls::NoneToTime => {}
        }
    }
    let through_pointer = match planned.form {
        // Through the slot of an import, as in a library compiled with `-fno-plt`, it is a call of that import.
        Form::IndirectCall => planned.import.is_none(),
        Form::ShortIndirectCall | Form::IndirectJump => true,
        _ => false,
    };
    // What lies under the hook at the function's entry cannot be trapped.
    let can_be_trapped = through_pointer && !planned.is_fixed;
    let calls_back = planned
        .import
        .as_deref()
        .is_some_and(calling_back::calls_back);
    match state.known.probe(id).callees {
        Callees::AsCoded if planned.callees.is_empty() && can_be_trapped => {
            found(node, turns, Step::Discover(id));
        }
        // What it calls now may be another function than when it was trapped.
        Callees::Sought(_) if can_be_trapped || calls_back => {
            found(own_time(node), turns, Step::Discover(id));
        }
        Callees::AsCoded if planned.import.is_some() && node.kind == Kind::Call => {
            found(node, turns, Step::Follow(id));
        }
        _ => {}
    }
    // What is called through a pointer, or called back by the C library, is timed at its own entry.
    let was_followed =
        planned.import.is_some() && state.known.probe(id).callees != Callees::AsCoded;
    is_open || through_pointer || was_followed
}

/// The part of a node that is no timed call's.
fn own_time(node: &Node) -> &Node {
    let body = node.children.iter().find(|child| child.kind == Kind::Body);
    body.unwrap_or(node)
}

/// Whether a node is no call but what a thread did, or did not do, as its waits and the work of others in them.
fn is_state(node: &Node) -> bool {
    node.probe.is_none() && node.kind != Kind::Body
}

/// What these functions do outside of their timed calls may be calls that are not timed yet.
fn look_into_own_time(
    node: &Node,
    functions: &[Location],
    turns: Turns,
    state: &State<'_>,
    found: &mut impl FnMut(&Node, Turns, Step),
) {
    discover_in(node, functions, turns, state, found);
    for &function in functions {
        match state.known.function(function).calls {
            Calls::PartiallyOpened(_) => {
                found(node, turns, Step::Open(function));
            }
            // One that is called through a pointer, and cannot be hooked at its entry; or one of whose calls a few are timed.
            Calls::NotOpened | Calls::OnPath => found(node, turns, Step::Open(function)),
            _ => {}
        }
    }
}

/// Short calls through pointers in these functions may be what the node's time goes to.
fn discover_in(
    node: &Node,
    functions: &[Location],
    turns: Turns,
    state: &State<'_>,
    found: &mut impl FnMut(&Node, Turns, Step),
) {
    for &function in functions {
        if state.known.function(function).pointers != Pointers::None {
            found(node, turns, Step::DiscoverIn(function));
        }
    }
}
