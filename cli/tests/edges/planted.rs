//! Runs of the programs with critical paths and every call timed, and what holds for each.

use serde_json::Value;

use super::expect::{number, quiet, ticks_per_ns};
use crate::support::build::program;
use crate::support::run::{Place, Run, finish};

/// Intervals of each run: a whole number of the balanced design's groups of 16.
pub const INTERVALS: u64 = 800;

/// The profile of a program that ends with `code`, after the checks that hold for each; and what the profiler said. The
/// program prints the same as without.
#[track_caller]
pub fn measured(name: &str, interval: &str, code: i32) -> (Value, Run) {
    let program = program(name);
    let place = Place::new();
    let _quiet = quiet();
    let count = INTERVALS.to_string();
    let alone = finish(place.command(&program).arg(&count).spawn().unwrap()).ended(code);
    let options = ["--interval", interval, "--edges", "--plant", "every"];
    let run = place
        .profile(&options, &program, &[&count])
        .ended(i32::from(code != 0)); // it names the command's own
    assert_eq!(run.stdout, alone.stdout, "the program's output");
    let profile = place.json("run.json");
    assert_eq!(profile["closure"]["max_abs_error_ticks"], 0);
    assert_eq!(number(&profile["tree"], "share"), 1.0, "the root's share");
    assert_eq!(
        profile["intervals_seen"], INTERVALS,
        "{:?}",
        profile["warnings"]
    );
    assert_eq!(
        profile["discarded"], 0,
        "{}",
        profile["discarded_by_reason"]
    );
    let used = number(&profile, "intervals") + number(&profile, "sampled_out");
    assert_eq!(used as u64, INTERVALS, "each is used or sampled out");
    assert!(number(&profile, "intervals") >= 100.0, "hardly any sampled");
    (profile, run)
}

/// The node below `node` by the names on the way.
#[track_caller]
pub fn path<'a>(node: &'a Value, names: &[&str]) -> &'a Value {
    names.iter().fold(node, |node, name| {
        let children = node["children"].as_array().unwrap();
        children
            .iter()
            .find(|child| child["name"] == *name)
            .unwrap_or_else(|| panic!("no {name} of {names:?} below {node:#}"))
    })
}

/// The node's mean is at least nine tenths of what was planted: intervals are sampled in groups, and a waiter that was
/// preempted before it could wait has waited less.
#[track_caller]
pub fn assert_at_least(node: &Value, planted_ticks: f64) {
    let mean_ticks = number(node, "mean_ns") * ticks_per_ns();
    assert!(
        mean_ticks >= 0.9 * planted_ticks,
        "{mean_ticks} of {planted_ticks} planted ticks: {node:#}"
    );
}

/// The times below a node add up to its own.
#[track_caller]
pub fn assert_partition(node: &Value) {
    let children = node["children"].as_array().unwrap();
    let sum: f64 = children.iter().map(|child| number(child, "mean_ns")).sum();
    let whole = number(node, "mean_ns");
    assert!(
        (sum - whole).abs() <= 1e-6 * whole,
        "{sum} of {whole}: {node:#}"
    );
}
