//! A few stalls far below pointers, an interpreter's loop and the C library. The report names the function: stacks
//! taken during the stalls find it, and probes time the path that these stacks show.

mod support;

use std::path::Path;

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

/// Whether stacks of slow intervals show the function, below the one that a path begins with.
fn is_seen(profile: &Value, begins: &str, name: &str) -> bool {
    let paths = profile["slow_stacks"]["paths"].as_array();
    let mut paths = paths.into_iter().flatten();
    paths.any(|path| {
        let functions = path["functions"].as_array();
        let mut functions = functions.into_iter().flatten();
        functions.next().is_some_and(|first| first == begins)
            && functions.any(|function| function == name)
    })
}

/// Whether a finding says that stacks show the function inside of what was timed.
fn is_seen_inside(profile: &Value, name: &str) -> bool {
    let mut findings = profile["findings"].as_array().into_iter().flatten();
    findings.any(|finding| {
        let functions = finding["seen_inside"]["functions"].as_array();
        functions
            .into_iter()
            .flatten()
            .any(|function| function == name)
    })
}

/// Stacks name the function, and probes time it. Where only few stalls came later, a finding still names it.
#[track_caller]
fn is_named(kind: &str, options: &[&str]) {
    let options = [&["--interval", "request"], options].concat();
    let (profile, log) = is_found(kind, &options, "request");
    let function = format!("stall_in_{kind}");
    let is_timed = has(&profile["tree"], &function);
    assert!(is_timed || is_seen_inside(&profile, &function), "{log}");
}

/// Stacks name the function, in the recording and in a merged one too. Returns the profile and the messages.
#[track_caller]
fn is_found(kind: &str, options: &[&str], begins: &str) -> (Value, String) {
    let function = format!("stall_in_{kind}");
    let place = Place::new();
    let program = own_program("stalls", include_str!("slow/stalls.c"));
    let run = place.profile(options, &program, &[kind, STALLS]);
    let run = run.ended(0);
    let profile = place.json("run.json");
    assert!(is_seen(&profile, begins, &function), "{}", run.stderr);
    // The recording has them, too.
    let again = place.run(["report", "run.keel", "--json"]).ended(0);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["slow_stacks"], profile["slow_stacks"]);
    std::fs::copy(place.file("run.keel"), place.file("copy.keel")).unwrap();
    let merged = place.run(["merge", "run.keel", "copy.keel", "-o", "both.keel"]);
    merged.ended(0);
    let both = place.run(["report", "both.keel", "--json"]).ended(0);
    let both: Value = serde_json::from_str(&both.stdout).unwrap();
    let stacks = |profile: &Value| profile["slow_stacks"]["stacks"].as_u64().unwrap();
    assert_eq!(stacks(&both), 2 * stacks(&profile));
    (profile, run.stderr)
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
    // It asks for the time again and again: with probes on that, more records come than can be taken in.
    is_found("spin", &["--interval", "request"], "request");
}

/// Stalls of a millisecond and a half are met, and sampled before they are over.
#[test]
fn a_short_stall_of_a_thread_that_runs() {
    let place = Place::new();
    let program = own_program("stalls", include_str!("slow/stalls.c"));
    let run = place.profile(&["--interval", "request"], &program, &["moment", "100"]);
    let run = run.ended(0);
    let profile = place.json("run.json");
    let is_seen = is_seen(&profile, "request", "stall_in_moment");
    assert!(is_seen, "{}", run.stderr);
}

/// The interval belongs to no thread. A thread is looked at that does its work.
#[test]
fn a_stall_in_the_work_for_an_interval_with_a_key() {
    let options = [
        "--interval",
        "new_job..end_job,key=returned:0",
        "--work",
        "serve,key=0",
        "--waits",
    ];
    is_found("sleep", &options, "serve");
}

/// Where slow requests of a program stood: at least one path.
#[track_caller]
fn paths_of_requests(program: &Path) -> Vec<Value> {
    let place = Place::new();
    let run = place.profile(&["--interval", "request"], program, &[STALLS]);
    let run = run.ended(0);
    let profile = place.json("run.json");
    let paths = profile["slow_stacks"]["paths"].as_array().unwrap();
    assert!(!paths.is_empty(), "{}", run.stderr);
    paths.clone()
}

/// A function with a frame pointer is left by its own return address, not by a copy of it among its locals.
#[test]
fn a_copy_of_a_return_address_is_no_frame() {
    let program = own_program("copies", include_str!("slow/copies.c"));
    for path in paths_of_requests(&program) {
        let functions = path["functions"].as_array().unwrap().iter();
        let times = functions.filter(|&name| name == "request").count();
        assert_eq!(times, 1, "{path}");
    }
}

/// Frames of calls that have returned are no way out.
#[test]
fn what_earlier_calls_left_on_the_stack_is_not_followed() {
    let program = own_program("leftovers", include_str!("slow/leftovers.c"));
    for path in paths_of_requests(&program) {
        let shown = path["functions"].to_string();
        assert!(shown.contains(r#""request","wait_here""#), "{path}");
        assert!(!shown.contains("earlier"), "{path}");
    }
}

/// The lock of a file is held by a process that the target knows nothing of.
#[test]
fn the_holder_of_a_files_lock_is_named() {
    let place = Place::new();
    let program = own_program("locked", include_str!("slow/locked.c"));
    let file = place.file("lock");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let holding = "while :; do flock \"$0\" sleep 0.25; done";
    let mut holder = std::process::Command::new("sh");
    let mut holder = holder.args(["-c", holding, file]).spawn().unwrap();
    let run = place.profile(&["--interval", "request"], &program, &[file, STALLS]);
    holder.kill().unwrap();
    holder.wait().unwrap();
    let run = run.ended(0);
    let profile = place.json("run.json");
    let is_named = is_seen(&profile, "request", "held by flock");
    assert!(is_named, "{}", run.stderr);
    let report = &run.stderr;
    assert!(report.contains("held by process flock"), "{report}");
}

/// While a request has left its stack, the thread is in other code, which is not the request's.
#[test]
fn a_stack_without_the_interval_shows_nothing() {
    let place = Place::new();
    let program = own_program("switched", include_str!("slow/switched.c"));
    let run = place.profile(&["--interval", "request"], &program, &[STALLS]);
    let run = run.ended(0);
    let profile = place.json("run.json");
    let paths = profile["slow_stacks"]["paths"].as_array();
    let shown = serde_json::to_string(&paths).unwrap();
    assert!(!shown.contains("\"rest\""), "{shown} {}", run.stderr);
}

/// Generated code has no frame descriptions. What it calls is found by the hook around it, and timed.
#[test]
fn what_generated_code_calls_is_named() {
    let program = own_program("generated", include_str!("slow/generated.c"));
    for how in ["called", "jumped"] {
        let place = Place::new();
        let run = place.profile(&["--interval", "request"], &program, &[how, STALLS]);
        let run = run.ended(0);
        let profile = place.json("run.json");
        assert!(is_seen(&profile, "request", "library"), "{}", run.stderr);
        assert!(has(&profile["tree"], "look_up"), "{}", run.stderr);
    }
}
