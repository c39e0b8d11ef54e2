//! Finds the nodes of a tree that a step would explain, with the mean number of calls per interval.

use evenkeel_analysis::profile::Node;
use evenkeel_analysis::sites::Kind;
use evenkeel_wire::Form;

use super::State;
use super::known::{Callees, Calls, Pointers};
use super::step::{Step, Turns};
use crate::location::Location;
use crate::plan::Planned;
use evenkeel_intervals::calling_back;

/// Calls `found` for each node that some step would explain. `holders`: the functions whose calls may lie directly
/// below a node that is not a call. `turns`: how often the call runs that contains the node.
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
            // A wait outside of timed calls belongs to an untimed call. Cost of probes, time in a queue, and time in
            // which the thread is busy for others belong to no function.
            let is_no_call = matches!(
                child.kind,
                Kind::Preempted | Kind::Probe | Kind::Queued | Kind::Turn
            );
            if is_open && !is_no_call {
                look_into_own_time(child, &inside, turns, state, found);
            }
            // Other threads' activity during a wait contains no calls of this function. It may contain calls of the
            // functions in which those threads were seen.
            let theirs: &[Location] = match child.kind {
                Kind::Others | Kind::Helper => state.known.wakers(),
                _ => &[],
            };
            visit(child, theirs, turns, state, found);
        } else if is_open {
            // None of these functions makes this call itself, so it came through one of their pointers.
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
    // A function without executed timed calls has no body in the tree.
    if is_open && node.children.is_empty() {
        look_into_own_time(node, &inside, turns, state, found);
    }
}

/// Reports the step that would explain a call, if any. Returns whether the calls that it makes are timed.
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
        // A call through the slot of an import, as with `-fno-plt`, is a call of that import.
        Form::IndirectCall => planned.import.is_none(),
        Form::ShortIndirectCall | Form::IndirectJump => true,
        _ => false,
    };
    // Code under the hook at the function's entry cannot be trapped.
    let can_be_trapped = through_pointer && !planned.is_fixed;
    let calls_back = planned
        .import
        .as_deref()
        .is_some_and(calling_back::calls_back);
    match state.known.probe(id).callees {
        Callees::AsCoded if planned.callees.is_empty() && can_be_trapped => {
            found(node, turns, Step::Discover(id));
        }
        // It may have another callee than when it was trapped.
        Callees::Sought(_) if can_be_trapped || calls_back => {
            found(own_time(node), turns, Step::Discover(id));
        }
        Callees::AsCoded if planned.import.is_some() && node.kind == Kind::Call => {
            found(node, turns, Step::Follow(id));
        }
        _ => {}
    }
    // A callee through a pointer, or called back by the C library, is timed at its own entry.
    let was_followed =
        planned.import.is_some() && state.known.probe(id).callees != Callees::AsCoded;
    is_open || through_pointer || was_followed
}

/// The own time of a node.
fn own_time(node: &Node) -> &Node {
    let body = node.children.iter().find(|child| child.kind == Kind::Body);
    body.unwrap_or(node)
}

/// Whether a node is a thread's state instead of a call, such as a wait, or other threads' activity in it.
fn is_state(node: &Node) -> bool {
    node.probe.is_none() && node.kind != Kind::Body
}

/// The own time of these functions may be time of calls that are not timed yet.
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
            // A callee through a pointer whose entry cannot be hooked, or a function with a few timed calls.
            Calls::NotOpened | Calls::OnPath => found(node, turns, Step::Open(function)),
            _ => {}
        }
    }
}

/// Short pointer calls in these functions may take the node's time.
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
