//! A few stalls far below pointers, an interpreter's loop and the C library: the report names the function, by stacks that were seen while
//! they lasted, and by probes on the path that these showed.

mod support;

use serde_json::Value;

use support::build::own_program;
use support::run::Place;

/// Stalls: each lasts a quarter of a second.
const STALLS: &str = "8";

/// Whether a tree has a function of this name.
fn has(node: &Value, name: &str) -> bool {
    let mut below = node["children"].as_array().into_iter().flatten();
    node["name"] == name || below.any(|child| has(child, name))
}

/// Whether stacks of slow intervals show the function, below the interval's.
fn is_seen(profile: &Value, name: &str) -> bool {
    let paths = profile["slow_stacks"]["paths"].as_array();
    let mut paths = paths.into_iter().flatten();
    paths.any(|path| {
        let functions = path["functions"].as_array();
        let mut functions = functions.into_iter().flatten();
        functions.next().is_some_and(|first| first == "request")
            && functions.any(|function| function == name)
    })
}

#[track_caller]
fn is_named(kind: &str, options: &[&str]) {
    let function = format!("stall_in_{kind}");
    let place = Place::new();
    let program = own_program("stalls", include_str!("slow/stalls.c"));
    let options = [&["--interval", "request"], options].concat();
    let run = place.profile(&options, &program, &[kind, STALLS]);
    let run = run.ended(0);
    let profile = place.json("run.json");
    assert!(is_seen(&profile, &function), "{}", run.stderr);
    assert!(has(&profile["tree"], &function), "{}", run.stderr);
    // The recording has them, too.
    let again = place.run(["report", "run.keel", "--json"]).ended(0);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["slow_stacks"], profile["slow_stacks"]);
    let merged = place.run(["merge", "run.keel", "run.keel", "-o", "both.keel"]);
    merged.ended(0);
    let both = place.run(["report", "both.keel", "--json"]).ended(0);
    let both: Value = serde_json::from_str(&both.stdout).unwrap();
    let stacks = |profile: &Value| profile["slow_stacks"]["stacks"].as_u64().unwrap();
    assert_eq!(stacks(&both), 2 * stacks(&profile));
}

#[test]
fn a_stall_in_a_sleep() {
    is_named("sleep", &[]);
}

#[test]
fn a_stall_at_a_lock() {
    is_named("lock", &[]);
}

#[test]
fn a_stall_in_a_read_with_waits_followed() {
    is_named("read", &["--waits"]);
}

#[test]
fn a_stall_of_a_thread_that_runs() {
    is_named("spin", &[]);
}
